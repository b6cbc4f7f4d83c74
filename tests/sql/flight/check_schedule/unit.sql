-- A plan's records need a day each, and the requested one where one was requested.
begin;
\ir ../../flights.psql
select plan(6);

create function pg_temp.judged(p_day date, variadic p_records jsonb[]) returns text
language plpgsql as $fn$
declare
  v_id constant bigint := pg_temp.stage('SCHD_RESP', p_records);
  v_message inbox.stage_message;
  v_constraint text;
begin
  select * into v_message from inbox.stage_message s where s.msg_id = v_id;
  perform flight.check_schedule(v_message, flight.incoming_records(v_message, (select s from core.setting s)), p_day);
  return 'sound';
exception
  when others then
    get stacked diagnostics v_constraint = constraint_name;
    return concat_ws(' ', sqlstate, v_constraint || sqlerrm);
end
$fn$;

select is(pg_temp.judged(null, pg_temp.p(1), pg_temp.p(2, '2026-03-11')), 'sound', 'any days, where none was requested');
select is(pg_temp.judged('2026-03-10', pg_temp.p(1), pg_temp.p(2)), 'sound', 'the requested day');
select is(pg_temp.judged('2026-03-10', variadic '{}'), 'sound', 'an empty answer');
select is(pg_temp.judged('2026-03-10', pg_temp.p(1), pg_temp.p(3, '2026-03-11'), pg_temp.p(2, '2026-03-09')),
  'MX001 DAY_MISMATCHSCHD-RESP 4 answers the request for 2026-03-10 with flights of other days: 2 (2026-03-09), 3 (2026-03-11)', 'others are named');
select is(pg_temp.judged(null, pg_temp.p(1), pg_temp.f(3), pg_temp.f(2, '{"sodt": null}')), 'MX001 SCHD-RESP 5 has no SODT for flights 2, 3, so their operational day is unknown', 'no day');
select cmp_ok(length(pg_temp.judged('2026-03-10', variadic array(select pg_temp.p(i, '2026-03-11') from generate_series(1, 3000) i))), '<', 800, 'three thousand are not all named');
select * from finish();
rollback;

-- The next state of a flight, computed and not written: what is absent stays, null clears, a new life starts from nothing (im 11.3, 12.3).
begin;
\ir ../../flights.psql
select plan(9);
select pg_temp.dnld(pg_temp.p(1, '2026-03-10', '{"estt": "2026-03-10T11:00:00+08:00", "maxp": 170}', '{}', '{"RUNW": "01"}'), pg_temp.p(2, '2026-03-10', '{"remc": "old"}'));
select pg_temp.fdel(2);
create function pg_temp.next(p_flid bigint, p_scalars jsonb, p_extra jsonb default '{}', p_clear boolean default false) returns flight.transition
language sql as $fn$
  select (flight.next_states(array[row(p_flid, '2026-03-11', p_scalars, p_extra, '{}', '{}')::flight.incoming], p_clear, 77, core.now()))[1]
$fn$;
select is(((pg_temp.next(1, '{"maxp": null}')).after).maxp, null, 'null clears');
select is(((pg_temp.next(1, '{"maxp": null}')).after).estt, '2026-03-10 11:00:00+08'::timestamptz, 'absent keeps');
select is(((pg_temp.next(1, '{}', '{}', true)).after).estt, null, 'absent clears where the plan is the whole truth');
select is(((pg_temp.next(1, '{}', '{"RUNW": null, "FLAB": "x"}')).after).extra, '{"FLAB": "x"}'::jsonb, 'site scalars likewise');
select is(row(((pg_temp.next(1, '{}')).after).state_version, ((pg_temp.next(1, '{}')).after).last_message_id)::text, '(2,77)', 'one version on, by this message');
select is(((pg_temp.next(1, '{}')).after).operation_day, '2026-03-10'::date, 'the day it has');
select is(row((pg_temp.next(2, '{}')).fresh, ((pg_temp.next(2, '{}')).after).remc, ((pg_temp.next(2, '{}')).after).state_version)::text, '(t,,3)', 'a new life: nothing but the version');
select is(row((pg_temp.next(3, '{}')).fresh, ((pg_temp.next(3, '{}')).after).state_version, ((pg_temp.next(3, '{}')).after).operation_day)::text, '(t,1,2026-03-11)', 'a new flight');
select is((select string_agg(f.flid || ' v' || f.state_version, ' ' order by f.flid) from flight.flight_schd f), '1 v1 2 v2', 'nothing was written');
select * from finish();
rollback;

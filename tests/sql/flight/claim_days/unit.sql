-- A record that would move a flight to another day is refused; a deleted row that an earlier policy kept goes where rows go.
begin;
\ir ../../flights.psql
select plan(11);

create function pg_temp.judged(variadic p_records jsonb[]) returns text
language plpgsql as $fn$
declare
  v_id constant bigint := pg_temp.stage('SCHD_DNLD', p_records);
  v_message inbox.stage_message;
  v_setting core.setting;
  v_constraint text;
begin
  select * into v_message from inbox.stage_message s where s.msg_id = v_id;
  select * into v_setting from core.setting;
  perform flight.claim_days(flight.incoming_records(v_message, v_setting), v_message, v_setting, core.now());
  return 'sound';
exception
  when others then
    get stacked diagnostics v_constraint = constraint_name;
    return concat_ws(' ', sqlstate, v_constraint);
end
$fn$;

select pg_temp.dnld(pg_temp.p(1), pg_temp.p(2));
select pg_temp.adft(pg_temp.f(3));
select pg_temp.fdel(2);
select is(pg_temp.judged(pg_temp.p(1), pg_temp.p(99, '2026-03-11')), 'sound', 'its own day; a new flight');
select is(pg_temp.judged(pg_temp.p(3, '2026-03-11')), 'sound', 'a flight without a day');
select is(pg_temp.judged(pg_temp.f(1)), 'sound', 'a record without a day');
select is(pg_temp.judged(pg_temp.p(1, '2026-03-11')), 'MX001 SAME_FLID_ACROSS_OPERATION_DAYS', 'another day');
select is(pg_temp.judged(pg_temp.p(2, '2026-03-11')), 'MX001 SAME_FLID_ACROSS_OPERATION_DAYS', 'retain: of a deleted flight as well');
select is(pg_temp.judged(pg_temp.p(2)), 'sound', 'retain: its day');
select is(pg_temp.life(2), 'DELETED v2 of 2026-03-10', 'retain: the row stays');
update core.setting set policy_deletion = 'REMOVE';
select is(pg_temp.judged(pg_temp.p(1, '2026-03-11')), 'MX001 SAME_FLID_ACROSS_OPERATION_DAYS', 'ledger: another day of a living flight');
select is(pg_temp.judged(pg_temp.p(2, '2026-03-11')), 'sound', 'ledger: any day after a deletion');
select is(pg_temp.life(2), null, 'ledger: the row goes');
select is((select g.state_version from flight.flid_version g where g.flid = 2), 2::bigint, 'ledger: its version is remembered');
select * from finish();
rollback;

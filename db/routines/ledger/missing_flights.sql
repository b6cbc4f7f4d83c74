-- O - N: active flights that a covered day's old roster names and the plan does not. The roster and the main table must agree on the
-- day of each; where they do not the data is damaged. Under DELETE nothing of the plan may then be applied (flight-state.md 5.5); under KEEP
-- the roster decides nothing, so the plan goes on and the damage is only told.
-- Reads:  ledger.schd_gen, ledger.schd_gen_flid, flight.flight_schd
-- Writes: core.alert
-- Locks:  ledger.schd_gen of the covered days
-- Raises: MX001 with constraint ROSTER_CONTRADICTION, the alert to raise
create or replace function ledger.missing_flights(
  p_days date[], p_records flight.incoming[], p_message_id bigint, p_setting core.setting)
returns bigint[]
language plpgsql
volatile
set search_path to ''
as $fn$
declare
  v_contradictions text;
begin
  perform from ledger.schd_gen g where g.operation_day = any (p_days) order by g.operation_day for update;

  select string_agg(format('%s (roster %s, flight %s)', o.flid, o.operation_day, coalesce(f.operation_day::text, 'none')), ', ' order by o.flid)
  into v_contradictions
  from ledger.schd_gen_flid o
  join flight.flight_schd f on f.flid = o.flid and f.state = 'ACTIVE'
  where o.operation_day = any (p_days) and f.operation_day is distinct from o.operation_day;
  if v_contradictions is not null and p_setting.policy_absent_flight = 'KEEP' then
    perform core.raise_alert(
      'ROSTER_CONTRADICTION',
      format('Plan %s: roster and flights disagree on the day of %s. The plan was applied; mend ledger.schd_gen_flid before ledger is switched on.',
             p_message_id, left(v_contradictions, 1000)),
      p_message_id);
  elsif v_contradictions is not null then
    raise exception using
      errcode = 'MX001',
      constraint = 'ROSTER_CONTRADICTION',
      message = format('plan %s was not applied: roster and flights disagree on the day of %s', p_message_id, left(v_contradictions, 1000)),
      hint = 'This is damage in our own tables, not in the plan. Mend ledger.schd_gen_flid or the flights, then msgx replay the plan.';
  end if;

  return array(
    select o.flid
    from ledger.schd_gen_flid o
    join flight.flight_schd f on f.flid = o.flid and f.state = 'ACTIVE'
    where o.operation_day = any (p_days) and f.operation_day = o.operation_day
      and not exists (select from unnest(p_records) r where r.flid = o.flid)
    order by o.flid);
end
$fn$;

comment on function ledger.missing_flights(date[], flight.incoming[], bigint, core.setting) is 'Active flights of the covered days'' rosters that the plan does not name';

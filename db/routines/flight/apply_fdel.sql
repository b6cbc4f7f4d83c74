-- FDEL: ends a flight. An unknown or already deleted one is idempotent success (implementation.md 12.3; flight-state.md 6.2).
-- Reads:  inbox.stage_record, flight.flight_schd
-- Writes: through flight.merge
-- Locks:  the flight's row; the caller holds PIPELINE
-- Raises: nothing
create or replace function flight.apply_fdel(p_message inbox.stage_message, p_setting core.setting, p_now timestamptz)
returns flight.outcome
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
declare
  v_flid bigint;
begin
  select r.flid into v_flid from inbox.stage_record r where r.msg_id = p_message.msg_id;
  if not exists (select from flight.flight_schd f where f.flid = v_flid and f.state = 'ACTIVE') then
    return row('SUCCEEDED', 'no-active-flight', null)::flight.outcome;
  end if;
  perform flight.merge('{}', false, array[v_flid], p_message, p_setting, p_now);
  return row('SUCCEEDED', null, null)::flight.outcome;
end
$fn$;

comment on function flight.apply_fdel(inbox.stage_message, core.setting, timestamptz) is 'FDEL: ends a flight';

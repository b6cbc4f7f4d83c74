-- A flight keeps its operational day for life (INV-12, flight-state.md 5.3). Where rows are removed on deletion, a deleted row that an
-- earlier policy kept counts as gone, and goes now, so that its FLID may live again on any day.
-- Reads:  flight.flight_schd
-- Writes: through flight.remove_flights
-- Locks:  the rows removed
-- Raises: MX001 with constraint SAME_FLID_ACROSS_OPERATION_DAYS, the alert to raise
create or replace function flight.claim_days(
  p_records flight.incoming[], p_message inbox.stage_message, p_setting core.setting, p_now timestamptz)
returns void
language plpgsql
volatile
set search_path to ''
as $fn$
declare
  v_conflicts text;
begin
  select string_agg(format('%s (%s, now said to be %s)', f.flid, f.operation_day, r.operation_day), ', ' order by f.flid)
  into v_conflicts
  from unnest(p_records) r
  join flight.flight_schd f on f.flid = r.flid
  where f.operation_day <> r.operation_day and not (f.state = 'DELETED' and p_setting.policy_deletion = 'REMOVE');
  if v_conflicts is not null then
    raise exception using
      errcode = 'MX001',
      constraint = 'SAME_FLID_ACROSS_OPERATION_DAYS',
      message = format('%s-%s %s moves flights to another operational day: %s', p_message.type, p_message.styp, p_message.msg_id,
        left(v_conflicts, 1000)),
      hint = 'Nothing of the message was applied. A flight never changes its day: ask the AODB whether it reused these FLIDs.';
  end if;

  if p_setting.policy_deletion = 'REMOVE' then
    perform flight.remove_flights(
      array(select f.flid from unnest(p_records) r join flight.flight_schd f on f.flid = r.flid where f.state = 'DELETED'), p_now);
  end if;
end
$fn$;

comment on function flight.claim_days(flight.incoming[], inbox.stage_message, core.setting, timestamptz) is
  'MX001 if a record would move a flight to another operational day';

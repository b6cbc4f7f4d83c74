-- Ends the lives of active flights: one more version each, and what there is to tell: a main's notice names the children that end with
-- it, and children tell nothing themselves (implementation.md 12.3; flight-state.md 6.2).
-- Reads:  flight.flight_schd
-- Writes: flight.flight_schd and, where rows are removed, all that belongs to them
-- Locks:  the flights' rows
-- Raises: nothing
create or replace function flight.end_flights(p_flids bigint[], p_message_id bigint, p_setting core.setting, p_now timestamptz)
returns outbox.news[]
language plpgsql
volatile
set search_path to ''
as $fn$
declare
  v_linked constant boolean := p_setting.policy_code_share = 'LINKED';
  v_news outbox.news[];
begin
  with ended as (
    update flight.flight_schd f
    set state = 'DELETED', state_version = f.state_version + 1, updated_at = p_now, last_message_id = p_message_id
    where f.flid = any (p_flids)
    returning f.flid, f.state_version, f.maid)
  select array_agg(
    row(
      e.flid, 'TOMBSTONE', e.state_version, null,
      (select array_agg(c.flid order by c.flid) from ended c where v_linked and e.maid is null and c.maid = e.flid and c.flid <> e.flid),
      v_linked and e.maid is not null and e.maid <> e.flid
    )::outbox.news
    order by array_position(p_flids, e.flid))
  into v_news
  from ended e;
  if p_setting.policy_deletion = 'REMOVE' then
    perform flight.remove_flights(p_flids, p_now);
  end if;
  return v_news;
end
$fn$;

comment on function flight.end_flights(bigint[], bigint, core.setting, timestamptz) is 'Ends active flights; returns what to tell, in the order given';

-- Ends the lives of active flights: one more version each, a deletion told for each, and, where code shares are linked, a main
-- flight's active children end with it and a deleted child's main is told (implementation.md 12.3; flight-state.md 6.2).
-- Reads:  flight.flight_schd
-- Writes: flight.flight_schd and its detail tables, flight.flid_version, ledger.schd_gen_flid, outbox.msg_event
-- Locks:  the flights' rows; the caller holds PIPELINE
-- Raises: nothing
create or replace function flight.delete_flights(
  p_flids bigint[], p_message inbox.stage_message, p_setting core.setting, p_now timestamptz)
returns integer
language plpgsql
volatile
set search_path to ''
as $fn$
declare
  v_linked constant boolean := p_setting.policy_code_share = 'LINKED';
  v_doomed bigint[];
  v_mains bigint[];
  v_mafl_before jsonb := '{}';
  v_news outbox.news[];
begin
  select array_agg(d.flid order by d.flid) into v_doomed
  from (
    select f.flid from flight.flight_schd f where f.flid = any (p_flids) and f.state = 'ACTIVE'
    union
    select child.flid
    from flight.flight_schd main
    join flight.flight_schd child on child.maid = main.flid and child.flid <> main.flid and child.state = 'ACTIVE'
    where v_linked and main.flid = any (p_flids) and main.state = 'ACTIVE' and main.maid is null) d;
  if v_doomed is null then
    return 0;
  end if;

  if v_linked then
    select array_agg(distinct f.maid) into v_mains
    from flight.flight_schd f where f.flid = any (v_doomed) and f.maid <> all (v_doomed);
    select coalesce(jsonb_object_agg(m.flid, m.mafl), '{}') into v_mafl_before from flight.mafl(v_mains) m;
  end if;

  -- What is named comes first, what falls with it after; children tell nothing themselves.
  select array_agg(
    row(
      f.flid, 'TOMBSTONE', f.state_version + 1, null,
      (select array_agg(child.flid order by child.flid)
       from flight.flight_schd child
       where v_linked and f.maid is null and child.maid = f.flid and child.flid = any (v_doomed) and child.flid <> f.flid),
      v_linked and f.maid is not null and f.maid <> f.flid
    )::outbox.news
    order by array_position(p_flids, f.flid) nulls last, f.flid)
  into v_news
  from flight.flight_schd f
  where f.flid = any (v_doomed);

  update flight.flight_schd f
  set state = 'DELETED', state_version = f.state_version + 1, updated_at = p_now, last_message_id = p_message.msg_id
  where f.flid = any (v_doomed);
  if p_setting.policy_deletion = 'REMOVE' then
    perform flight.remove_flights(v_doomed, p_now);
  end if;

  if v_mains is not null then
    v_news := v_news || flight.propagate_mafl(v_mains, v_mafl_before, p_message.msg_id, p_now);
  end if;
  perform outbox.publish(v_news, p_message, p_setting, p_now);
  return cardinality(v_doomed);
end
$fn$;

comment on function flight.delete_flights(bigint[], inbox.stage_message, core.setting, timestamptz) is
  'Deletes active flights, tells it, and returns how many ended (children included)';

-- What each flight of a message becomes, computed from the stored row and what the message says of it; nothing is written. A flight that
-- is new, or was deleted and lives again, starts from nothing but its version and, where the row stayed, its day.
-- Reads:  flight.flight_schd, flight.flid_version
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace function flight.next_states(p_records flight.incoming[], p_clear boolean, p_message_id bigint, p_now timestamptz)
returns flight.transition[]
language plpgsql
stable
set search_path to ''
set plan_cache_mode to force_generic_plan
set enable_seqscan to off  -- a flight is found by its key, whatever the tables held when the plan was made
set enable_hashjoin to off
set enable_mergejoin to off
as $fn$
begin
  return array(
    select row(i.place, i.flid, i.scalars, i.sets, i.sections, c, n, w.fresh, w.fresh or p_clear)::flight.transition
    from unnest(p_records) with ordinality i(flid, operation_day, scalars, extra, sets, sections, place)
    left join flight.flight_schd c on c.flid = i.flid
    left join flight.flid_version g on g.flid = i.flid and c.flid is null
    cross join lateral (select c.flid is null or c.state = 'DELETED' as fresh) w
    cross join lateral jsonb_populate_record(
      case when w.fresh or p_clear then null::flight.flight_schd else c end,
      i.scalars || jsonb_build_object(
        'flid', i.flid,
        'state', 'ACTIVE',
        'state_version', coalesce(c.state_version, g.state_version, 0) + 1,
        'updated_at', p_now,
        'operation_day', coalesce(c.operation_day, i.operation_day),
        'last_message_id', p_message_id,
        'created_at', case when w.fresh then p_now else c.created_at end,
        'extra', jsonb_strip_nulls(case when w.fresh or p_clear then '{}' else c.extra end || i.extra))) n
    order by i.place);
end
$fn$;

comment on function flight.next_states(flight.incoming[], boolean, bigint, timestamptz) is 'The step that a message makes each of its flights take';

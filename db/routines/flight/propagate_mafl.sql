-- A main flight whose MAFL has another value than before moves, and is told, in the transaction that changed it (INV-22).
-- Reads:  flight.flight_schd
-- Writes: flight.flight_schd
-- Locks:  the main flights' rows
-- Raises: nothing
create or replace function flight.propagate_mafl(
  p_mains bigint[], p_before jsonb, p_after jsonb, p_message_id bigint, p_now timestamptz)
returns outbox.news[]
language plpgsql
volatile
set search_path to ''
as $fn$
declare
  v_news outbox.news[];
begin
  with moved as (
    update flight.flight_schd f
    set state_version = f.state_version + 1, updated_at = p_now, last_message_id = p_message_id
    where f.flid = any (p_mains) and f.state = 'ACTIVE' and f.maid is null
      and p_before -> f.flid::text is distinct from p_after -> f.flid::text
    returning f.flid, f.state_version
  )
  select array_agg(row(m.flid, 'UPSERT', m.state_version, array['MAFL'], null, false)::outbox.news order by m.flid)
  into v_news
  from moved m;
  return coalesce(v_news, '{}');
end
$fn$;

comment on function flight.propagate_mafl(bigint[], jsonb, jsonb, bigint, timestamptz) is
  'Moves the main flights among p_mains whose MAFL ({FLID: MAFL}) differs; returns what to tell';

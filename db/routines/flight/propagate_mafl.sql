-- A main flight whose MAFL has another value than before moves, and is told, in the transaction that changed it (INV-22).
-- Reads:  flight.flight_schd
-- Writes: flight.flight_schd
-- Locks:  the main flights' rows
-- Raises: nothing
create or replace function flight.propagate_mafl(p_candidates bigint[], p_before jsonb, p_message_id bigint, p_now timestamptz)
returns outbox.news[]
language plpgsql
volatile
set search_path to ''
as $fn$
declare
  v_after jsonb;
  v_news outbox.news[];
begin
  select coalesce(jsonb_object_agg(m.flid, m.mafl), '{}') into v_after from flight.mafl(p_candidates) m;
  with moved as (
    update flight.flight_schd f
    set state_version = f.state_version + 1, updated_at = p_now, last_message_id = p_message_id
    where f.flid = any (p_candidates) and f.state = 'ACTIVE' and f.maid is null
      and p_before -> f.flid::text is distinct from v_after -> f.flid::text
    returning f.flid, f.state_version
  )
  select array_agg(row(m.flid, 'UPSERT', m.state_version, array['MAFL'], null, false)::outbox.news order by m.flid)
  into v_news
  from moved m;
  return coalesce(v_news, '{}');
end
$fn$;

comment on function flight.propagate_mafl(bigint[], jsonb, bigint, timestamptz) is 'Moves the main flights among the candidates whose MAFL differs from p_before ({FLID: MAFL}); returns what to tell';

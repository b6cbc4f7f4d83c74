-- Full states of all active flights, page by page in order of FLID: the next page starts after the last FLID of the one before.
-- Reads:  flight.flight_schd and, through flight.document, all that belongs to a flight
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace function flight.document_page(p_after_flid bigint default -1, p_limit integer default 500)
returns table (flid bigint, document json)
language sql
stable
security definer
set search_path to ''
as $fn$
  select d.flid, d.document
  from flight.document(array(
    select f.flid from flight.flight_schd f where f.flid > p_after_flid and f.state = 'ACTIVE' order by f.flid limit p_limit)) d
  order by d.flid
$fn$;

comment on function flight.document_page(bigint, integer) is 'A page of the full states of all active flights, by FLID';
grant execute on function flight.document_page(bigint, integer) to msgx_app, msgx_operator, msgx_reader;

-- Where the elements of a set live. ROUT and ERUT share a table and are told apart by their kind.
-- Reads:  nothing
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace function flight.set_table(p_tag text)
returns text
language sql
immutable
set search_path to ''
as $fn$
  select case p_tag
    when 'GTDT' then 'flight_gate'
    when 'CKDT' then 'flight_checkin'
    when 'CLDT' then 'flight_belt'
    when 'CHDT' then 'flight_chute'
    when 'PSDT' then 'flight_stand'
    when 'CHOT' then 'flight_chock'
    when 'DELY' then 'flight_delay'
    when 'ABTM' then 'flight_bridge'
    when 'ROUT' then 'flight_route_point'
    when 'ERUT' then 'flight_route_point'
  end
$fn$;

comment on function flight.set_table(text) is 'Detail table of a set; null for a tag that is no set';

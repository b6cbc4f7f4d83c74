-- MAFL, derived on read (implementation.md 11.4): the active code-share flights of each active main flight, by FLID. Only a flight
-- without MAID is a main, so chains stay flat; a flight that names itself is nobody's child.
-- Reads:  flight.flight_schd
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace function flight.mafl(p_flids bigint[])
returns table (flid bigint, mafl jsonb)
language sql
stable
set search_path to ''
set enable_seqscan to off  -- a flight is found by its key, whatever the tables held when the plan was made
set enable_hashjoin to off
set enable_mergejoin to off
as $fn$
  select main.flid, jsonb_agg(jsonb_build_object('FLID', child.flid, 'FLNO', child.flno) order by child.flid)
  from (select distinct u.flid from unnest(p_flids) u(flid)) wanted
  join flight.flight_schd main on main.flid = wanted.flid and main.maid is null and main.state = 'ACTIVE'
  join flight.flight_schd child on child.maid = main.flid and child.flid <> main.flid and child.state = 'ACTIVE'
  group by main.flid
$fn$;

comment on function flight.mafl(bigint[]) is 'Children of main flights; no row for a flight without';

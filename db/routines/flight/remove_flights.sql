-- Takes rows out of the current state for good: their last version is remembered, so that a FLID never repeats one, and they leave
-- their roster (flight-state.md 6.2).
-- Reads:  flight.flight_schd
-- Writes: flight.flight_schd and its detail tables, flight.flight_section, flight.flid_version, ledger.schd_gen_flid
-- Locks:  the flights' rows
-- Raises: nothing
create or replace function flight.remove_flights(p_flids bigint[], p_now timestamptz)
returns void
language sql
volatile
set search_path to ''
as $fn$
  insert into flight.flid_version (flid, state_version, removed_at)
  select f.flid, f.state_version, p_now from flight.flight_schd f where f.flid = any (p_flids)
  on conflict (flid) do update set state_version = excluded.state_version, removed_at = excluded.removed_at;
  delete from flight.flight_section where flid = any (p_flids);
  delete from flight.flight_schd where flid = any (p_flids);
  delete from ledger.schd_gen_flid where flid = any (p_flids);
$fn$;

comment on function flight.remove_flights(bigint[], timestamptz) is 'Removes rows, remembers their versions, takes them off their rosters';

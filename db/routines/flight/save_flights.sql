-- Saves the main rows of any number of flights in one statement. Planned once: a custom plan for each message costs more than it runs.
-- Reads:  nothing
-- Writes: flight.flight_schd
-- Locks:  the flights' rows
-- Raises: MX013 if an operational day would change (trigger)
create or replace function flight.save_flights(p_flights flight.flight_schd[])
returns void
language plpgsql
volatile
set search_path to ''
set plan_cache_mode to force_generic_plan
as $fn$
begin
  insert into flight.flight_schd
  select n.* from unnest(p_flights) n
  on conflict (flid) do update
  set (state, state_version, updated_at, operation_day, last_message_id, created_at,
       alcd, alsc, flno, mvin, sodt, flty, flin, acft, reno,
       taop, tafl, taid, trml, csop, csft, maid,
       estt, actt, botm, lacl, fint, appt, egsr, egst, padt, naat, neat, pedt, ftss,
       stnd, phag, fhag, mhag, cncl, remc, maxp, vipp, vipr, lbno, lbwt, paxc, exsc, exsr,
       ddes, ddir, reid, extra) =
      row (excluded.state, excluded.state_version, excluded.updated_at, excluded.operation_day, excluded.last_message_id, excluded.created_at,
       excluded.alcd, excluded.alsc, excluded.flno, excluded.mvin, excluded.sodt, excluded.flty, excluded.flin, excluded.acft, excluded.reno,
       excluded.taop, excluded.tafl, excluded.taid, excluded.trml, excluded.csop, excluded.csft, excluded.maid,
       excluded.estt, excluded.actt, excluded.botm, excluded.lacl, excluded.fint, excluded.appt, excluded.egsr, excluded.egst,
       excluded.padt, excluded.naat, excluded.neat, excluded.pedt, excluded.ftss,
       excluded.stnd, excluded.phag, excluded.fhag, excluded.mhag, excluded.cncl, excluded.remc, excluded.maxp, excluded.vipp,
       excluded.vipr, excluded.lbno, excluded.lbwt, excluded.paxc, excluded.exsc, excluded.exsr,
       excluded.ddes, excluded.ddir, excluded.reid, excluded.extra);
end
$fn$;

comment on function flight.save_flights(flight.flight_schd[]) is 'Inserts or updates the main rows of flights';

-- Rows that leave for good: details and sections go, the version is remembered, the roster is left; twice is once.
begin;
\ir ../../flights.psql
select plan(9);

select pg_temp.day_plan('2026-03-10',
  pg_temp.p(1, '2026-03-10', '{}', (select jsonb_object_agg(t.tag, pg_temp.elements(t.tag, 2)) from unnest('{GTDT,CKDT,CLDT,CHDT,PSDT,CHOT,DELY,ABTM,ROUT,ERUT}'::text[]) t(tag)))
    || '{"sections": {"SRVT": ["<SRVT/>"]}}', pg_temp.p(2), pg_temp.p(3));
select pg_temp.flop(1, 'ESTT', '{"estt": null}');
select lives_ok('select flight.remove_flights(''{1,3,999}'', core.now())', 'two flights and one that is not there');
select is((select array_agg(f.flid) from flight.flight_schd f), '{2}'::bigint[], 'they are gone, the other is not');
select is(
  (select count(*) from flight.flight_gate) + (select count(*) from flight.flight_checkin) + (select count(*) from flight.flight_belt) + (select count(*) from flight.flight_chute)
  + (select count(*) from flight.flight_stand) + (select count(*) from flight.flight_chock) + (select count(*) from flight.flight_delay) + (select count(*) from flight.flight_bridge)
  + (select count(*) from flight.flight_route_point) + (select count(*) from flight.flight_section), 0::bigint, 'with all their details');
select is((select string_agg(g.flid || ':' || g.state_version, ' ' order by g.flid) from flight.flid_version g), '1:2 3:1', 'versions are remembered, none invented');
select is(pg_temp.roster('2026-03-10'), '{2}'::bigint[], 'the roster is left');
select lives_ok('select flight.remove_flights(''{1,3}'', core.now() + interval ''1 h'')', 'again');
select is((select string_agg(g.flid || ':' || g.state_version, ' ' order by g.flid) from flight.flid_version g), '1:2 3:1', 'nothing is forgotten');
select is(pg_temp.adft(pg_temp.p(1)) || pg_temp.life(1), 'SUCCEEDEDACTIVE v3 of 2026-03-10', 'a new life goes on');
select flight.remove_flights('{1}', core.now());
select is((select g.state_version from flight.flid_version g where g.flid = 1), 3::bigint, 'and its end is remembered in turn');
select * from finish();
rollback;

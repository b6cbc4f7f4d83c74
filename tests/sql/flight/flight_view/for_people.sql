-- The view for people: one line a flight, local times, its places joined in their order.
begin;
\ir ../../flights.psql
select plan(9);

select pg_temp.dnld(pg_temp.p(1, '2026-03-10', '{"flno": "ZH9422", "mvin": "D", "reno": "B1", "estt": "2026-03-10T11:05:00+08:00"}',
  '{"GTDT": [{"gate": "G12"}, {"gate": "A1"}], "CKDT": [{"chkc": "C2"}, {"chkc": "C1"}], "CLDT": [{"belt": "9"}], "PSDT": [{"psst": "101"}], "ROUT": [{"apcd": "SZX"}, {"apcd": "PEK"}], "ERUT": [{"apcd": "XXX"}]}'),
  pg_temp.p(2, '2026-03-11', '{"stnd": "7"}', '{"PSDT": [{"psst": "8"}]}'), pg_temp.p(3, '2026-03-10', '{"maid": 1}'));
select is((select row(v.flno, v.mvin, v.route, v.operation_day)::text from flight.flight_view v where v.flid = 1), '(ZH9422,D,SZX-PEK,2026-03-10)', 'number, direction, route without ERUT, day');
select is((select v.gates || '|' || v.counters || '|' || v.belts from flight.flight_view v where v.flid = 1), 'G12 A1|C2 C1|9', 'places in their order');
select is((select v.sodt || ' ' || v.estt from flight.flight_view v where v.flid = 1), '2026-03-10 10:00:00 2026-03-10 11:05:00', 'local times');
select is((select array_agg(v.stand order by v.flid) from flight.flight_view v), '{101,7,NULL}'::text[], 'the stand in use, else the planned one');
select is((select v.maid from flight.flight_view v where v.flid = 3), 1::bigint, 'the main of a code share');
select pg_temp.fdel(2);
select is((select row(v.state, v.state_version, v.last_message_id)::text from flight.flight_view v where v.flid = 2), '(DELETED,2,2)', 'deleted ones are seen as such');
set local timezone to 'UTC';
select is((select v.sodt::text from flight.flight_view v where v.flid = 1), '2026-03-10 10:00:00', 'local to the airport, not to the reader');
update core.setting set airport_timezone = 'UTC';
select is((select v.sodt::text from flight.flight_view v where v.flid = 1), '2026-03-10 02:00:00', 'as the setting says');
select is((select count(*) from flight.flight_view), 3::bigint, 'a line a flight');
select * from finish();
rollback;

-- FLID is the only identity of a flight (implementation.md 11): number, day and direction tell nothing, and a number may change.
begin;
\ir ../../flights.psql
select plan(8);
select is(pg_temp.dnld(pg_temp.p(1, '2026-03-10', '{"flno": "CA1234", "mvin": "D"}'), pg_temp.p(2, '2026-03-10', '{"flno": "CA1234", "mvin": "D"}')), 'SUCCEEDED', 'the same number twice a day');
select is(pg_temp.flop(1, 'ESTT', '{"estt": "2026-03-10T11:00:00+08:00"}'), 'SUCCEEDED', 'an event for one of them');
select is(concat_ws(' ', pg_temp.life(1), pg_temp.life(2)), 'ACTIVE v2 of 2026-03-10 ACTIVE v1 of 2026-03-10', 'leaves the other');
select is(pg_temp.doc(2) ->> 'ESTT', null, 'untouched');
select is(pg_temp.flop(2, 'X', '{"flno": "CA9999"}'), 'SUCCEEDED', 'a number that changes at the turnaround');
select is((select string_agg(f.flid || ':' || f.flno, ' ' order by f.flid) from flight.flight_schd f), '1:CA1234 2:CA9999', 'is the same flight');
select is(pg_temp.fdel(1) || pg_temp.life(1) || pg_temp.life(2), 'SUCCEEDEDDELETED v3 of 2026-03-10ACTIVE v2 of 2026-03-10', 'a deletion ends one of them');
select is((select count(distinct e.flid) from outbox.msg_event_schd e), 2::bigint, 'one key each on the topic');
select * from finish();
rollback;

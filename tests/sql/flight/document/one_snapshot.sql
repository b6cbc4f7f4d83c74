-- A full state is one statement on one snapshot (implementation.md 12.4): main row, details and MAFL belong together, also when the same
-- statement changes the flight. The relay relies on it: version and document of a claim are those of the claim's snapshot.
begin;
\ir ../../flights.psql
select plan(4);

select is((select p.provolatile from pg_proc p where p.oid = 'flight.document(bigint[])'::regprocedure), 's', 'stable: it sees the snapshot of the statement that calls it');
select pg_temp.adft(pg_temp.p(1, '2026-03-10', '{}', '{"GTDT": [{"gate": "OLD"}]}'));
select is(
  (select concat_ws(' ', m.ending, d.document ->> 'STATE_VERSION', d.document #>> '{GTDT,0,GATE}', d.document ->> 'MAFL')
   from (select pg_temp.adft(pg_temp.f(1, '{}', '{"GTDT": [{"gate": "NEW"}]}')) || pg_temp.adft(pg_temp.p(2, '2026-03-10', '{"maid": 1}')) as ending offset 0) m
   cross join lateral flight.document(array[case when m.ending is not null then 1 end]) d),
  'SUCCEEDEDSUCCEEDED 1 OLD', 'a change within the statement shows nowhere in it');
select is(
  (select concat_ws(' ', d.document ->> 'STATE_VERSION', d.document #>> '{GTDT,0,GATE}', d.document ->> 'MAFL') from flight.document('{1}') d),
  '3 NEW [{"FLID":2,"FLNO":"CA2"}]', 'the next statement shows all of it');
select is((select count(*) from flight.document(array(select generate_series(1, 5000)))), 2::bigint, 'any number of flights in one call');
select * from finish();
rollback;

-- MAFL on read: active children of active mains, by FLID; no row for a flight without.
begin;
\ir ../../flights.psql
select plan(8);

create function pg_temp.mafl(variadic p_flids bigint[]) returns text
language sql as $fn$ select string_agg(m.flid || ' ' || m.mafl, ', ' order by m.flid) from flight.mafl(p_flids) m $fn$;
select pg_temp.dnld(pg_temp.p(1), pg_temp.p(2), pg_temp.p(13, '2026-03-10', '{"maid": 1}'), pg_temp.p(12, '2026-03-10', '{"maid": 1, "flno": null}'),
  pg_temp.p(3, '2026-03-10', '{"maid": 3}'), pg_temp.p(131, '2026-03-10', '{"maid": 13}'), pg_temp.p(41, '2026-03-10', '{"maid": 4}'));
select is(pg_temp.mafl(1), '1 [{"FLID": 12, "FLNO": null}, {"FLID": 13, "FLNO": "CA13"}]', 'by FLID, a child without a number too');
select is(pg_temp.mafl(2), null, 'no children');
select is(pg_temp.mafl(3), null, 'naming itself');
select is(pg_temp.mafl(13), null, 'a child carries none: chains are flat');
select is(pg_temp.mafl(4), null, 'a main that is not there');
select is(pg_temp.mafl(1, 1, 2, 999), pg_temp.mafl(1), 'asked twice, told once');
select pg_temp.fdel(13);
select is(pg_temp.mafl(1), '1 [{"FLID": 12, "FLNO": null}]', 'a deleted child leaves');
select is((select d.document ->> 'MAFL' from flight.document('{1}') d), '[{"FLID":12}]', 'in the document: no value, no key');
select * from finish();
rollback;

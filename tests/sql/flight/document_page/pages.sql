-- Pages of all active flights, by FLID: none twice, none left out, deleted ones not among them.
begin;
\ir ../../flights.psql
select plan(8);

select pg_temp.send('SCHD_DNLD', array(select pg_temp.p(i) from generate_series(0, 24) i));
select pg_temp.fdel(3), pg_temp.fdel(24);
select is((select array_agg(p.flid) from flight.document_page(-1, 10) p), '{0,1,2,4,5,6,7,8,9,10}'::bigint[], 'the first page, in order');
select is((select array_agg(p.flid) from flight.document_page(10, 10) p), '{11,12,13,14,15,16,17,18,19,20}'::bigint[], 'the next starts after the last');
select is((select array_agg(p.flid) from flight.document_page(20, 10) p), '{21,22,23}'::bigint[], 'the last one is shorter');
select is((select count(*) from flight.document_page(23, 10)), 0::bigint, 'then nothing');
select is((select count(*) from flight.document_page()), 23::bigint, 'from the beginning by default, FLID 0 too');
select is((select count(*) from flight.document_page(-1, 0)), 0::bigint, 'a page of none');
select is((select p.document::text from flight.document_page(6, 1) p), (select d.document::text from flight.document('{7}') d), 'the same bytes as the document');
select pg_temp.flop(7, 'ESTT', '{"estt": null}');
select is((select p.document ->> 'STATE_VERSION' from flight.document_page(6, 1) p), '2', 'the current state');
select * from finish();
rollback;

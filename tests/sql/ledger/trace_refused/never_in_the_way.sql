-- The trace of a refused plan may not stand in the way of the message's ending: an error in it gives no trace.
begin;
\ir ../../flights.psql
select plan(5);

select is(pg_temp.send('SCHD_DNLD', array[pg_temp.p(1)], '{"declared": "2"}'), 'DEAD(PROTOCOL)', 'refused');
select is(pg_temp.traces(), '2026-03-10 ROLLED_BACK -->- 1 recs {}', 'and traced');
alter table ledger.schd_gen_flid rename column flid to broken;
select is(pg_temp.send('SCHD_DNLD', array[pg_temp.p(1)], '{"declared": "2"}'), 'DEAD(PROTOCOL)', 'refused while traces are broken');
select is(pg_temp.traces(), null, 'not traced');
alter table ledger.schd_gen_flid rename column broken to flid;
select is(pg_temp.send('SCHD_DNLD', array[pg_temp.p(1)]), 'SUCCEEDED', 'the queue went on');
select * from finish();
rollback;

-- A request is done when its answer was applied, in the same transaction; a refused or failed answer leaves it open (implementation.md 7.2).
begin;
\ir ../../flights.psql
select plan(11);

create function pg_temp.requests() returns text
language sql as $fn$ select string_agg(concat_ws(' ', q.operation_day, q.state, q.done_message_id), ', ' order by q.request_id) from request.req_track q $fn$;
select request.open_plan('2026-03-10', 'AODB'), request.open_plan('2026-03-11', 'AODB');
select is(pg_temp.send('SCHD_RESP', array[pg_temp.p(1)], '{"declared": "9"}') || ' ' || pg_temp.requests(), 'DEAD(PROTOCOL) 2026-03-10 PENDING, 2026-03-11 PENDING', 'refused: open');
alter table flight.flight_schd add constraint only_for_this_test check (flid <> 1);
select is(pg_temp.resp(pg_temp.p(1)) || ' ' || pg_temp.requests(), 'FAILED(INFRA) 2026-03-10 PENDING, 2026-03-11 PENDING', 'failed: open');
alter table flight.flight_schd drop constraint only_for_this_test;
set local msgx.now to '2026-03-10 06:00:02+08';
select pg_temp.step();
select is(pg_temp.requests(), '2026-03-10 DONE 2, 2026-03-11 PENDING', 'applied: done, by that message; the other stays open');
select is((select q.done_at = core.now() from request.req_track q order by q.request_id limit 1), true, 'at that time');
select is(pg_temp.resp(pg_temp.p(1)) || ' ' || pg_temp.note(), 'SKIPPED no-open-request', 'the same answer again finds none');
select is(pg_temp.dnld(pg_temp.p(11, '2026-03-11')) || ' ' || pg_temp.requests(), 'SUCCEEDED 2026-03-10 DONE 2, 2026-03-11 DONE 4', 'a DNLD of the day asked for answers as well');
select request.open_plan('2026-03-10', 'AODB');
select is(pg_temp.dnld(pg_temp.p(1), pg_temp.p(11, '2026-03-11')) || ' ' || (select q.state from request.req_track q order by q.request_id desc limit 1), 'SUCCEEDED PENDING', 'one of two days does not');
select lives_ok('select request.complete(3, 99, core.now())', 'called alone');
select is(pg_temp.requests(), '2026-03-10 DONE 2, 2026-03-11 DONE 4, 2026-03-10 DONE 99', 'it closes that one');
select lives_ok('select request.complete(12345, 99, core.now())', 'or none');
select pg_temp.policy('ledger');
select is(pg_temp.resp(pg_temp.p(1)) || ' ' || pg_temp.requests(), 'SUCCEEDED 2026-03-10 DONE 2, 2026-03-11 DONE 4, 2026-03-10 DONE 99', 'ledger: an unasked answer closes none');
select * from finish();
rollback;

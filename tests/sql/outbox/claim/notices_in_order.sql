-- Notices: one event a flight at a time, in EVENT_ID order; nothing overtakes an earlier event of its flight (implementation.md 8.1).
begin;
\ir ../common.psql
select plan(18);
select pg_temp.msg(1, 7), pg_temp.msg(2, 7), pg_temp.msg(3, 8), pg_temp.msg(4, 7), pg_temp.msg(5, 9), pg_temp.msg(6, 8);
select results_eq('select * from outbox.claim(1, ''KAFKA:msg'', 10)',
  $$values (1::bigint, 7::bigint, 'UPSERT', 1::bigint, 1::bigint, core.now(), 'notice 1'), (3, 8, 'UPSERT', 1, 3, core.now(), 'notice 3'), (5, 9, 'UPSERT', 1, 5, core.now(), 'notice 5')$$,
  'the first of each flight, with what to tell');
select is(pg_temp.row(1), 'PENDING|0|next 06:00:00|epoch 1', 'the claim is written down; it is no try');
select is(pg_temp.row(2), 'PENDING|0|next 06:00:00', 'the next one of the flight is not in hand');
select is(pg_temp.claim('KAFKA:msg'), '1 3 5', 'a claim that got lost is taken again, not passed by');
select is(pg_temp.settle('KAFKA:msg', 1, 5), 2, 'two are confirmed');
select is(pg_temp.claim('KAFKA:msg'), '2 3', 'their flights go on, the other waits for its own');
select is(outbox.fail(1, 'KAFKA:msg', 2, 1, 'no', false), 'PENDING', 'one fails');
select is(pg_temp.claim('KAFKA:msg'), '3', 'its flight waits, the other flows');
select is(outbox.release(1, 'KAFKA:msg', array[3], 'broker down'), 1, 'one is given back');
select is(pg_temp.claim('KAFKA:msg'), '3', 'and due at once');
select pg_temp.settle('KAFKA:msg', 3);
select is(pg_temp.claim('KAFKA:msg'), '6', 'the flight that failed is still not overtaken');
select pg_temp.at('1 s');
select is(pg_temp.claim('KAFKA:msg'), '2 6', 'until its time has come');
select is(outbox.fail(1, 'KAFKA:msg', 2, 1, 'too large', true), 'DEAD', 'what can never be told');
select is(pg_temp.claim('KAFKA:msg'), '4 6', 'is passed by, visibly');
select pg_temp.msg(7, 1), pg_temp.msg(8, 2), pg_temp.msg(9, 3);
select is(pg_temp.claim('KAFKA:msg', 3), '4 6 7', 'no more than asked for, the oldest first');
select throws_ok('select * from outbox.claim(0, ''KAFKA:msg'', 1)', 'MX010', null, 'only the leader');
select throws_ok('select * from outbox.claim(1, ''KAFKA'', 1)', '22023', null, 'no such target');
select is(pg_temp.allowed('select * from outbox.claim(1, ''KAFKA:msg'', 1)'), 'app', 'only the supervisor');
select * from finish();
rollback;

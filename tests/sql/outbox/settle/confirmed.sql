-- Confirmed events are SENT, once; a state only if it is still the one that was told (implementation.md 8.2).
begin;
\ir ../common.psql
select plan(14);
select pg_temp.msg(1, 7, '{"last_error": "x", "attempts": 2}'), pg_temp.msg(2, 8), pg_temp.msg(3, 9, '{"state": "DEAD"}');
select pg_temp.schd(11, 7, '{"state_version": 3}'), pg_temp.schd(12, 8, '{"state_version": 2}');
select pg_temp.claim('KAFKA:msg');
select pg_temp.at('2 s');
select is(pg_temp.settle('KAFKA:msg', 1), 1, 'one');
select is(pg_temp.row(1), 'SENT|2|next 06:00:00|sent 06:00:02', 'SENT with its time, in one statement');
select is(pg_temp.row(2), 'PENDING|0|next 06:00:00|epoch 1', 'no other');
select pg_temp.at('3 s');
select is(pg_temp.settle('KAFKA:msg', 1, 3), 0, 'neither twice nor when it was given up');
select is(outbox.settle(1, 'KAFKA:schd', array[11], array[2]), 0, 'a state of another version');
select is(outbox.settle(1, 'KAFKA:schd', array[10], array[3]), 0, 'of another generation');
update outbox.msg_event set event_id = 21 where event_id = 11;
select is(outbox.settle(1, 'KAFKA:schd', array[11, 12], array[3, 2]), 1, 'of the same version, written anew: due again');
select is(pg_temp.row(21), 'PENDING|0|next 06:00:00', 'is left');
select is(pg_temp.row(12), 'SENT|0|next 06:00:00|sent 06:00:03', 'the other is SENT');
select is(outbox.settle(1, 'KAFKA:schd', '{}', '{}'), 0, 'nothing');
select throws_ok('select outbox.settle(1, ''KAFKA:msg'', array[1, 2], array[1])', '22023', null, 'fewer versions');
select throws_ok('select outbox.settle(1, null, array[1], array[1])', '22023', null, 'no target');
select throws_ok('select outbox.settle(0, ''KAFKA:msg'', array[2], array[1])', 'MX010', null, 'only the leader');
select is(pg_temp.allowed('select outbox.settle(1, ''KAFKA:msg'', array[2], array[1])'), 'app', 'only the supervisor');
select * from finish();
rollback;

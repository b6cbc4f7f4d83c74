-- Trouble of the whole broker is nobody's fault: no try is counted, and what was claimed is due again.
begin;
\ir ../common.psql
select plan(10);
select pg_temp.msg(1, 7, '{"attempts": 2}'), pg_temp.msg(2, 8), pg_temp.msg(3, 9, '{"state": "SENT"}'), pg_temp.schd(11, 7);
select pg_temp.flight(7);
select pg_temp.claim('KAFKA:msg'), pg_temp.claim('KAFKA:schd');
select is(outbox.release(1, 'KAFKA:msg', array[1, 3], 'no broker'), 1, 'one');
select is(pg_temp.row(1), 'PENDING|2|next 06:00:00|no broker', 'with the reason, in no hand');
select is(pg_temp.row(2), 'PENDING|0|next 06:00:00|epoch 1', 'no other');
select is(outbox.release(1, 'KAFKA:schd', array[11, 12], 'stopping'), 1, 'a state too');
select is(pg_temp.row(11), 'PENDING|0|next 06:00:00|stopping', 'with the reason');
select is(pg_temp.claim('KAFKA:msg') || ' ' || pg_temp.claim('KAFKA:schd'), '1 2 11', 'due at once');
select is(pg_temp.alerts(), null, 'no alert');
select throws_ok('select outbox.release(1, ''x'', array[1], ''x'')', '22023', null, 'no such target');
select throws_ok('select outbox.release(0, ''KAFKA:msg'', array[1], ''x'')', 'MX010', null, 'only the leader');
select is(pg_temp.allowed('select outbox.release(1, ''KAFKA:msg'', array[1], ''x'')'), 'app', 'only the supervisor');
select * from finish();
rollback;

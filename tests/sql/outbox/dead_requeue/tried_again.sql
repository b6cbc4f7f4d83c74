-- A person sends a dead event again: before the later ones of its flight that are still unsent.
begin;
\ir ../common.psql
select plan(9);
select pg_temp.msg(1, 7, '{"state": "DEAD", "attempts": 6, "last_error": "x", "next_attempt_at": "2026-03-10T09:00:00+08:00"}'), pg_temp.msg(2, 7, '{"state": "SENT"}'), pg_temp.msg(3, 7),
  pg_temp.schd(11, 7, '{"state": "DEAD", "attempts": 1}');
select pg_temp.flight(7);
update outbox.queue_head set settled_through = 2;
select is(pg_temp.claim('KAFKA:msg'), '3', 'passed by');
select outbox.dead_requeue(1), outbox.dead_requeue(11);
select is(pg_temp.row(1), 'PENDING|0|next 06:00:00|x', 'all its tries, at once');
select is((select q.settled_through from outbox.queue_head q), 0::bigint, 'where the relay finds it');
select is(pg_temp.claim('KAFKA:msg'), '1', 'before the later one');
select is(pg_temp.claim('KAFKA:schd'), '11', 'a state too');
select throws_ok('select outbox.dead_requeue(2)', 'MX013', 'event 2 is SENT, not DEAD', 'one that was sent');
select throws_ok('select outbox.dead_requeue(3)', 'MX013', null, 'one that waits');
select throws_ok('select outbox.dead_requeue(9)', 'MX012', 'there is no event 9', 'one that is none');
select is(pg_temp.allowed('select outbox.dead_requeue(1)'), 'operator', 'only operators');
select * from finish();
rollback;

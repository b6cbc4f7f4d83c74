-- The starting point of the relay's search follows, rarely, and never past an unsent notice.
begin;
\ir ../common.psql
select plan(7);
insert into outbox.msg_event (event_id, target, flid, event_type, state_version, message_id, state, next_attempt_at, created_at, updated_at)
select i, 'KAFKA:msg', 7, 'UPSERT', 1, i, case when i in (500, 1500) then 'PENDING' else 'SENT' end, core.now(), core.now(), core.now() from generate_series(1, 3000) i;
create function pg_temp.head() returns bigint language sql as $fn$ select q.settled_through from outbox.queue_head q $fn$;
select is(pg_temp.claim('KAFKA:msg'), '500', 'the first unsent one');
select is(pg_temp.head(), 0::bigint, 'near: it stays');
select pg_temp.settle('KAFKA:msg', 500);
select is(pg_temp.claim('KAFKA:msg'), '1500', 'the next one');
select is(pg_temp.head(), 1499::bigint, 'far: it follows, to just before it');
select outbox.advance_queue_head(0);
select is(pg_temp.head(), 1499::bigint, 'not by an answer that is old');
select pg_temp.settle('KAFKA:msg', 1500);
select is(pg_temp.claim('KAFKA:msg'), null, 'none');
select is(pg_temp.head(), 3000::bigint, 'then to the last notice');
select * from finish();
rollback;

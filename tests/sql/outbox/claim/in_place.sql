-- A claim updates rows in place, and its search goes by the indexes of unsent events alone.
begin;
\ir ../common.psql
select plan(6);
insert into outbox.msg_event (event_id, target, flid, event_type, state_version, message_id, state, next_attempt_at, created_at, updated_at, sent_at)
select i, 'KAFKA:msg', i % 500, 'UPSERT', 1, i, case when i <= 20000 then 'SENT' else 'PENDING' end, core.now(), core.now(), core.now(), case when i <= 20000 then core.now() end
from generate_series(1, 22000) i;
select pg_temp.flight(i) from generate_series(1, 50) i;
select pg_temp.schd(30000 + i, i) from generate_series(1, 50) i;
select is((select count(*) from outbox.claim(1, 'KAFKA:msg', 10)), 10::bigint, 'a full batch');
select is(pg_stat_get_xact_tuples_hot_updated('outbox.msg_event_msg'::regclass), 10::bigint, 'in place, as far as its page has room');
select is(pg_stat_get_xact_numscans('outbox.msg_event_msg'::regclass), 0::bigint, 'the table is never read as a whole');
select is((select count(*) from outbox.claim(1, 'KAFKA:msg', 1000)), 500::bigint, 'as many as there are flights');
select is(pg_stat_get_xact_numscans('outbox.msg_event_msg'::regclass), 0::bigint, 'nor when few flights hold the queue');
select is((select count(*) from outbox.claim(1, 'KAFKA:schd', 20)) - pg_stat_get_xact_tuples_hot_updated('outbox.msg_event_schd'::regclass), 0::bigint, 'states in place too');
select * from finish();
rollback;

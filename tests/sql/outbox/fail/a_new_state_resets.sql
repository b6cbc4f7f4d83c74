-- A new state of the flight resets its row, dead or not: only the latest is worth telling (implementation.md 8.3).
begin;
\ir ../common.psql
select plan(3);
select pg_temp.flight(7, 2);
select pg_temp.schd(11, 7);
select outbox.fail(1, 'KAFKA:schd', 11, 1, 'too large', true);
select is(pg_temp.row(11), 'DEAD|1|next 06:00:01|too large', 'dead');
select outbox.publish(array[row(7, 'UPSERT', 2, '{}', null, true)]::outbox.news[], jsonb_populate_record(null::inbox.stage_message, '{"msg_id": 43}'), s, core.now())
from core.setting s;
select is((select row(e.state, e.attempts, e.last_error, e.state_version)::text from outbox.msg_event e where e.target = 'KAFKA:schd'), '(PENDING,0,,2)', 'alive, with a clean slate');
select is((select count(*) from outbox.claim(1, 'KAFKA:schd', null)), 1::bigint, 'and due');
select * from finish();
rollback;

-- A body that could not be read is an infrastructure fault, counted once a try (implementation.md 5.2).
begin;
\ir ../common.psql
select plan(8);
create function pg_temp.m(p_id bigint) returns text
language sql as $fn$ select concat_ws('|', m.state, m.error_class, m.attempts, to_char(m.next_attempt_at, 'HH24:MI:SS'), m.last_error) from inbox.proc_state m where m.msg_id = p_id $fn$;
select pg_temp.message(1, 'PENDING'), pg_temp.message(2, 'SUCCEEDED');
select inbox.fail_unread(1, 1, 'lost connection');
select is(pg_temp.m(1), 'FAILED|INFRA|1|06:00:01|lost connection', 'FAILED, by the ladder');
select inbox.fail_unread(1, 1, 'lost connection');
select is(pg_temp.m(1), 'FAILED|INFRA|1|06:00:01|lost connection', 'not twice before it is due');
select pg_temp.at('1 s');
select inbox.fail_unread(1, 1, repeat('x', 3000));
select is(pg_temp.m(1), 'FAILED|INFRA|2|06:00:06|' || repeat('x', 2000), 'then again');
select inbox.fail_unread(1, 2, 'lost connection');
select is(pg_temp.m(2), 'SUCCEEDED|0', 'what ended stays');
select is(pg_temp.alerts(), null, 'no alert');
select throws_ok($$select inbox.fail_unread(1, 3, 'x')$$, 'MX012', 'there is no message 3', 'no such message');
select throws_ok($$select inbox.fail_unread(0, 1, 'x')$$, 'MX010', null, 'only the leader');
select is(pg_temp.allowed($$select inbox.fail_unread(1, 1, 'x')$$), 'app', 'only the supervisor');
select * from finish();
rollback;

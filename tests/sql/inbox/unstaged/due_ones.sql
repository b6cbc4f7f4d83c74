-- Messages to fetch: unfinished, up to the watermark, due, without staging; the first ones only.
begin;
\ir ../common.psql
select plan(7);
select pg_temp.message(1, 'SUCCEEDED'), pg_temp.message(2, 'PENDING'), pg_temp.message(3, 'PENDING'),
  pg_temp.message(4, 'FAILED', 'INFRA', '{"next_attempt_at": "2026-03-10T06:00:01+08:00"}'), pg_temp.message(5, 'DEAD', 'INFRA'), pg_temp.message(6, 'PENDING');
select pg_temp.staged(3);
update inbox.inbox_cursor set watermark = 5;
create function pg_temp.unstaged(p_limit integer default 10) returns text
language sql as $fn$ select string_agg(u.msg_id::text, ' ') from inbox.unstaged(p_limit) u $fn$;
select is(pg_temp.unstaged(), '2', 'not what ended, is staged, backs off, or is beyond the watermark');
select pg_temp.at('1 s');
select is(pg_temp.unstaged(), '2 4', 'a back-off that ended');
update inbox.inbox_cursor set watermark = 6;
select is(pg_temp.unstaged(), '2 4 6', 'in order');
select is(pg_temp.unstaged(2), '2 4', 'no more than asked for');
update inbox.queue_head set finished_through = 3;
select is(pg_temp.unstaged(), '4 6', 'looked for from the queue''s head');
insert into inbox.proc_state (msg_id, enqueued_at, updated_at) select i, core.now(), core.now() from generate_series(7, 3000) i;
insert into inbox.stage_message (msg_id, kind) select i, 'OTHER' from generate_series(4, 2000) i;
update inbox.inbox_cursor set watermark = 3000;
select is(pg_temp.unstaged(), null, 'not behind a thousand that are staged');
select is(pg_temp.allowed('select * from inbox.unstaged(1)'), 'app', 'only the supervisor');
select * from finish();
rollback;

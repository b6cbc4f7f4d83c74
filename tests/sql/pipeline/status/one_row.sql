-- One row of JSON says how far we are, what is stuck, what is owed and who leads.
begin;
\ir ../../outbox/common.psql
select plan(16);
create function pg_temp.s(variadic p_path text[]) returns text language sql as $fn$ select t.status #>> p_path from pipeline.status t $fn$;
update core.pipeline_lock set holder = null, expires_at = null where name = 'LEADER';
select is((select count(*) from pipeline.status), 1::bigint, 'one row, also where nothing ever was');
select is(pg_temp.s('backlog', 'head'), null, 'no head');
select is(pg_temp.s('hole'), null, 'no hole');
select is(pg_temp.s('leader', 'leads'), 'false', 'no leader');
select core.lease_acquire('host 1', '10 s');
insert into inbox.proc_state (msg_id, state, error_class, last_error, attempts, next_attempt_at, enqueued_at, updated_at, finished_at, backfill_next_at)
values (1, 'SUCCEEDED', null, null, 0, null, core.now() - interval '7 h', core.now(), core.now(), core.now()), (2, 'SKIPPED', null, 'x', 0, null, core.now(), core.now(), core.now(), core.now()),
  (3, 'DEAD', 'PROTOCOL', 'bad', 0, null, core.now(), core.now(), core.now(), null), (4, 'FAILED', 'INFRA', 'down', 2, core.now() + interval '5 s', core.now() - interval '1 min', core.now(), null, null),
  (5, 'PENDING', null, null, 0, null, core.now(), core.now(), null, null), (9, 'PENDING', null, null, 0, null, core.now(), core.now(), null, null);
update inbox.proc_state set backfill_abandoned_at = core.now(), backfill_abandoned_reason = 'MISSING_ROW' where msg_id = 3;
update inbox.inbox_cursor set watermark = 5, hole_first_id = 6, hole_since = core.now() - interval '12 s';
select pg_temp.msg(1, 7, '{"created_at": "2026-03-10T05:59:00+08:00", "next_attempt_at": "2026-03-10T07:00:00+08:00"}'), pg_temp.msg(2, 7), pg_temp.msg(3, 7, '{"state": "DEAD"}'),
  pg_temp.msg(4, 7, '{"state": "SENT"}'), pg_temp.schd(11, 7), pg_temp.schd(12, 8, '{"state": "SENT"}');
select core.raise_alert('A', 'one'), core.raise_alert('A', 'two'), core.duty_report(2, 'pump', false, 'down');
select is(pg_temp.s('watermark') || pg_temp.s('hole', 'first_id') || ' ' || pg_temp.s('hole', 'remaining_seconds'), '56 18.0', 'the hole, and how long it is still waited for');
select is((select concat_ws('|', h ->> 'msg_id', h ->> 'state', h ->> 'error_class', h ->> 'last_error', h ->> 'attempts', h ->> 'age_seconds') from (select (t.status #> '{backlog,head}') as h from pipeline.status t) x),
  '4|FAILED|INFRA|down|2|60.0', 'the head');
select is(pg_temp.s('backlog', 'count') || ' ' || pg_temp.s('backlog', 'beyond_watermark') || ' ' || pg_temp.s('backlog', 'unstaged_head'), '3 1 true', 'the backlog');
select is((select t.status::jsonb -> 'messages' from pipeline.status t), '{"PENDING": 2, "FAILED": 1, "SUCCEEDED": 1, "SKIPPED": 1, "DEAD": 1}'::jsonb, 'messages by state');
select is((select (t.status::jsonb -> 'failed_by_class') || (t.status::jsonb -> 'dead_by_class') from pipeline.status t), '{"INFRA": 1, "PROTOCOL": 1}'::jsonb, 'and class');
select is((select t.status::jsonb -> 'outbox' -> 'KAFKA:msg' from pipeline.status t), '{"PENDING": 2, "DEAD": 1, "SENT": 1, "backing_off": 1, "oldest_pending_seconds": 60.0}'::jsonb, 'notices');
select is((select t.status::jsonb -> 'outbox' -> 'KAFKA:schd' from pipeline.status t), '{"PENDING": 1, "DEAD": 0, "SENT": 1, "backing_off": 0, "oldest_pending_seconds": 0.0}'::jsonb, 'states');
select is((select t.status::jsonb -> 'marks' from pipeline.status t), '{"owed": 2, "overdue": 1, "max_attempts": 0, "abandoned": 1, "acknowledged": 0, "shadow": false}'::jsonb, 'marks');
select is(pg_temp.s('leader', 'holder') || pg_temp.s('leader', 'epoch') || pg_temp.s('leader', 'leads') || pg_temp.s('policy'), 'host 12trueretain', 'leader and policy');
select is(pg_temp.s('duties', 'pump', 'failures') || pg_temp.s('duties', 'pump', 'detail'), '1down', 'duties');
select is(pg_temp.s('alerts', 'unacknowledged_last_day') || pg_temp.s('alerts', 'by_code', 'A') || pg_temp.s('alerts', 'newest', '0', 'detail'), '22two', 'alerts');
select is(pg_temp.allowed('select * from pipeline.status'), 'app operator reader', 'everybody reads it');
select * from finish();
rollback;

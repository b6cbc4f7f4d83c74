-- What the pump leaves behind is what an operator reads: backlog, head, marks, events, ages.
begin;
\ir ../../flights.psql
select plan(24);

create function pg_temp.at(variadic p_path text[]) returns text language sql as $fn$ select s.status #>> p_path from pipeline.status s $fn$;
update core.pipeline_lock set holder = 'host:1', expires_at = core.now() + interval '10 s' where name = 'LEADER';
update inbox.inbox_cursor set watermark = 8;

select is((select count(*) from pipeline.status), 1::bigint, 'one row on an empty database');
select is(pg_temp.at('backlog', 'count') || coalesce(pg_temp.at('backlog', 'head'), ' no head'), '0 no head', 'nothing waits');
select is(pg_temp.at('backlog', 'unstaged_head'), 'false', 'no body is missed');
select is(pg_temp.at('policy') || pg_temp.at('watermark'), 'retain8', 'policy and watermark');
select is(pg_temp.at('leader', 'holder') || ' ' || pg_temp.at('leader', 'leads'), 'host:1 true', 'who leads');

select pg_temp.dnld(pg_temp.p(1)), pg_temp.flop(1, 'GTDT', '{}', '{"GTDT": []}'), pg_temp.send('OTHER', '{}', '{"type": "LDM"}'), pg_temp.send('OTHER', '{}', '{"type": "ZZZ"}');
insert into inbox.proc_state (msg_id, enqueued_at, updated_at) values (5, core.now(), core.now()), (9, core.now(), core.now());
select is(pg_temp.at('backlog', 'count'), '3', 'three unfinished');
select is(pg_temp.at('backlog', 'beyond_watermark'), '1', 'one of them beyond the watermark');
select is(pg_temp.at('backlog', 'head', 'msg_id') || ' ' || pg_temp.at('backlog', 'head', 'state') || ' ' || pg_temp.at('backlog', 'head', 'error_class') || ' ' || pg_temp.at('backlog', 'head', 'attempts'),
  '4 FAILED UNSUPPORTED 1', 'the head, and why');
select is(pg_temp.at('backlog', 'head', 'last_error'), 'there is no rule for ZZZ-OTHER yet', 'in words');
select is(pg_temp.at('messages', 'PENDING') || pg_temp.at('messages', 'FAILED') || pg_temp.at('messages', 'SUCCEEDED') || pg_temp.at('messages', 'SKIPPED') || pg_temp.at('messages', 'DEAD'), '21111', 'messages by state');
select is(pg_temp.at('failed_by_class', 'UNSUPPORTED') || pg_temp.at('dead_by_class', 'PROTOCOL'), '11', 'by class');
select is(pg_temp.at('marks', 'owed'), '3', 'every ending owes a mark');
select is(pg_temp.at('marks', 'overdue'), '0', 'none is overdue');
select is(pg_temp.at('outbox', 'KAFKA:msg', 'PENDING') || pg_temp.at('outbox', 'KAFKA:schd', 'PENDING'), '11', 'what is to be told');
set local msgx.now to '2026-03-10 06:00:30+08';
select is(pg_temp.at('backlog', 'head', 'age_seconds'), '30.0', 'the age of the head');
select is(pg_temp.at('outbox', 'KAFKA:msg', 'oldest_pending_seconds'), '30.0', 'and of the oldest notice');
select is(pg_temp.at('leader', 'leads'), 'false', 'a lease that ran out leads no more');
set local msgx.now to '2026-03-10 12:00:01+08';
select is(pg_temp.at('marks', 'overdue'), '3', 'overdue after R');
select core.raise_alert('RECS_DROP', 'a detail');
select is(pg_temp.at('alerts', 'by_code', 'RECS_DROP') || pg_temp.at('alerts', 'newest', '0', 'detail'), '1a detail', 'alerts');
select pg_temp.step();
select is(pg_temp.at('backlog', 'unstaged_head') || pg_temp.at('backlog', 'head', 'msg_id'), 'false4', 'still the failed one, on its ladder');
update inbox.proc_state set state = 'DEAD' where msg_id = 4;
select is(pg_temp.at('backlog', 'unstaged_head') || pg_temp.at('backlog', 'head', 'msg_id'), 'true5', 'the next has no body');
update inbox.inbox_cursor set hole_first_id = 10, hole_since = core.now() - interval '10 s';
select is(pg_temp.at('hole', 'first_id') || ' ' || pg_temp.at('hole', 'remaining_seconds'), '10 20.0', 'a hole, and how long it will be waited for');
select pg_temp.policy('ledger');
select is(pg_temp.at('policy'), 'ledger', 'the policy in force');
select is(has_table_privilege('msgx_reader', 'pipeline.status', 'select'), true, 'a reader may ask');
select * from finish();
rollback;

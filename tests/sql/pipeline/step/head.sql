-- Which message is next, and why the pump stops (implementation.md 5.1): the smallest unfinished one or none; FIFO by MSG_ID alone;
-- IDLE, BEYOND_WATERMARK, HEAD_BACKOFF, HEAD_UNSTAGED; finished_through only moves past what is finished.
begin;
\ir ../../flights.psql
select plan(35);

create function pg_temp.once(p_max integer default 1000) returns text
language plpgsql as $fn$
declare
  v_step record;
begin
  select * into v_step from pipeline.step(1, p_max);
  return concat_ws(' ', v_step.processed, v_step.stopped, 'head', v_step.head, 'until ' || to_char(v_step.until at time zone 'Asia/Shanghai', 'HH24:MI:SS'));
end
$fn$;
create function pg_temp.finished() returns bigint language sql as $fn$ select q.finished_through from inbox.queue_head q $fn$;
update core.setting set pipeline_commit_interval = '1 s';

select is(pg_temp.once(), '0 IDLE head', 'nothing at all');
select pg_temp.stage('SCHD_ADFT', array[pg_temp.f(1)]), pg_temp.stage('SCHD_ADFT', array[pg_temp.f(2)]), pg_temp.stage('SCHD_ADFT', array[pg_temp.f(3)]);
select is(pg_temp.once(2), '2 head 2', 'as many as asked; no reason to stop: there may be more');
select is(pg_temp.finished(), 1::bigint, 'the last one finished is looked at again, no more');
select is(pg_temp.once(), '1 IDLE head', 'the rest');
select is((select string_agg(f.flid || ':' || f.last_message_id, ' ' order by f.last_message_id) from flight.flight_schd f), '1:1 2:2 3:3', 'in the order of their ids');
select is(pg_temp.once(0), '0 head', 'none asked, none done');

-- beyond the watermark
update inbox.inbox_cursor set watermark = 3;
select pg_temp.stage('SCHD_ADFT', array[pg_temp.f(4)]);
select is(pg_temp.once(), '0 BEYOND_WATERMARK head 4', 'registered ahead of the watermark: it waits');
select is(pg_temp.life(4), null, 'untouched');
update inbox.inbox_cursor set watermark = 1000000;
select is(pg_temp.once(), '1 IDLE head', 'until the watermark comes up');

-- unstaged
insert into inbox.proc_state (msg_id, enqueued_at, updated_at) values (5, core.now(), core.now());
select pg_temp.stage('SCHD_ADFT', array[pg_temp.f(6)]);
select is(pg_temp.once(), '0 HEAD_UNSTAGED head 5', 'no body yet');
select is(pg_temp.life(6), null, 'nobody overtakes it');
insert into inbox.stage_message (msg_id, kind, sndr, type, styp, seqn, record_count) values (5, 'SCHD_ADFT', 'AODB', 'SCHD', 'ADFT', '5', 1);
insert into inbox.stage_record (msg_id, ordinal, flid) values (5, 1, 5);
select is(pg_temp.once(), '2 IDLE head', 'staged last, processed first');
select is((select string_agg(f.flid || ':' || f.last_message_id, ' ' order by f.flid) from flight.flight_schd f where f.flid > 4), '5:5 6:6', 'by id alone');

-- back-off
alter table flight.flight_schd add constraint only_for_this_test check (flid <> 7);
select pg_temp.stage('SCHD_ADFT', array[pg_temp.f(7)]), pg_temp.stage('SCHD_ADFT', array[pg_temp.f(8)]);
select is(pg_temp.once(), '1 HEAD_BACKOFF head 7 until 06:00:01', 'it failed, and keeps the queue');
select is(pg_temp.finished(), 6::bigint, 'finished_through stands before it');
select is(pg_temp.once(), '0 HEAD_BACKOFF head 7 until 06:00:01', 'again: it waits');
select is(pg_temp.life(8), null, 'nobody overtakes it');
set local msgx.now to '2026-03-10 06:00:01+08';
select is(pg_temp.once(), '1 HEAD_BACKOFF head 7 until 06:00:06', 'the second try');
alter table flight.flight_schd drop constraint only_for_this_test;
set local msgx.now to '2026-03-10 06:00:06+08';
select is(pg_temp.once(), '2 IDLE head', 'the third succeeds, and the next follows');

-- exhausted, with its successor in the same step
update core.setting set pipeline_ladder_infra = '{}', pipeline_attempts_infra = 1;
alter table flight.flight_schd add constraint only_for_this_test check (flid <> 9);
select pg_temp.stage('SCHD_ADFT', array[pg_temp.f(9)]), pg_temp.stage('SCHD_ADFT', array[pg_temp.f(10)]);
select is(pg_temp.once(), '3 IDLE head', 'tried, exhausted, and the next');
select is(pg_temp.state(9) || pg_temp.state(10), 'DEAD(EXHAUSTED)SUCCEEDED', 'each with its ending');
-- its attempts are used up while its next try is not due yet
insert into inbox.proc_state (msg_id, state, error_class, last_error, attempts, next_attempt_at, enqueued_at, updated_at) values (11, 'FAILED', 'INFRA', 'why', 6, core.now() + interval '1 h', core.now(), core.now());
select is(pg_temp.once() || ' ' || pg_temp.state(11) || pg_temp.note(11), '1 IDLE head DEAD(EXHAUSTED)why', 'tries used up: it does not wait any more, and needs no body');

-- 32 a commit
select pg_temp.stage('OTHER', '{}', '{"type": "LDM"}') from generate_series(1, 40);
select is(pg_temp.once(), '32 head 43', 'at most 32 share a commit');
select is(pg_temp.once(), '8 IDLE head', 'the rest');
select throws_ok('update core.setting set pipeline_commit_messages = 33', '23514', null, 'the setting allows no more');
update core.setting set pipeline_commit_messages = 2;
select pg_temp.stage('OTHER', '{}', '{"type": "LDM"}') from generate_series(1, 3);
select is(pg_temp.once(), '2 head 53', 'but fewer');
update core.setting set pipeline_commit_interval = '0';
select pg_temp.stage('OTHER', '{}', '{"type": "LDM"}');
select is(pg_temp.once(), '1 head 54', 'a commit that is due at once has one message');
select is(pg_temp.step(), 'IDLE', 'done');

-- terminal and archived rows never come back
update inbox.proc_state set state = 'ARCHIVED' where msg_id in (1, 2);
update inbox.queue_head set finished_through = 0;
select is(pg_temp.once(), '0 IDLE head', 'from the beginning: nothing unfinished');

-- a replay moves finished_through back
update inbox.proc_state set state = 'PENDING', error_class = null, attempts = 0, next_attempt_at = null where msg_id = 9;
update inbox.queue_head set finished_through = 8;
select is(pg_temp.once(), '0 HEAD_UNSTAGED head 9', 'a message sent through again is the head');

-- fenced
update core.pipeline_lock set epoch = 5 where name = 'LEADER';
create temp table before as select pg_temp.fingerprint() as print;
select throws_ok('select pipeline.step(4, 10)', 'MX010', 'leader epoch 4 is over', 'a stale epoch');
select throws_ok('select pipeline.step(6, 10)', 'MX010', null, 'one that is not yet');
select throws_ok('select pipeline.step(null, 10)', 'MX010', 'leader epoch (none) is over', 'none');
select is(pg_temp.fingerprint(), (select b.print from before b), 'did nothing');
select is(pg_temp.step(5), 'HEAD_UNSTAGED', 'the present one may');
select * from finish();
rollback;

-- The pump commits as it goes, so this file has no transaction of its own and leaves its database behind. Budget, reasons to stop, the
-- commits themselves, traces in transactions of their own, and MX010.
update core.pipeline_lock set epoch = 1 where name = 'LEADER';
update inbox.inbox_cursor set watermark = 1000000;
update core.setting set pipeline_commit_interval = '1 s';
create schema pump_test;
create table pump_test.answer (answer_id integer generated always as identity, processed integer, stopped text, head bigint, until timestamptz, trace_failures integer);
create procedure pump_test.call(p_max integer, p_ms integer)
language plpgsql as $fn$
declare
  v_answer pump_test.answer;
begin
  call pipeline.pump(1, p_max, p_ms, v_answer.processed, v_answer.stopped, v_answer.head, v_answer.until, v_answer.trace_failures);
  insert into pump_test.answer (processed, stopped, head, until, trace_failures)
  values (v_answer.processed, v_answer.stopped, v_answer.head, v_answer.until, v_answer.trace_failures);
end
$fn$;
create function pump_test.latest() returns text
language sql as $fn$ select concat_ws(' ', a.processed, a.stopped, a.head, a.trace_failures) from pump_test.answer a order by a.answer_id desc limit 1 $fn$;
create function pump_test.adft(p_from integer, p_to integer) returns void
language sql as $fn$
  insert into inbox.proc_state (msg_id, enqueued_at, updated_at) select i, now(), now() from generate_series(p_from, p_to) i;
  insert into inbox.stage_message (msg_id, kind, sndr, type, styp, seqn, dttm, digest, record_count)
  select i, 'SCHD_ADFT', 'AODB', 'SCHD', 'ADFT', i, now(), '\x01', 1 from generate_series(p_from, p_to) i;
  insert into inbox.stage_record (msg_id, ordinal, flid) select i, 1, i from generate_series(p_from, p_to) i;
$fn$;
create function pump_test.plan(p_id integer) returns void
language sql as $fn$
  insert into inbox.proc_state (msg_id, enqueued_at, updated_at) values (p_id, now(), now());
  insert into inbox.stage_message (msg_id, kind, sndr, type, styp, seqn, dttm, digest, declared, record_count)
  values (p_id, 'SCHD_DNLD', 'AODB', 'SCHD', 'DNLD', p_id, now(), '\x01', 1, 1);
  insert into inbox.stage_record (msg_id, ordinal, flid, scalars) values (p_id, 1, p_id, '{"sodt": "2026-03-10T10:00:00+08:00"}');
$fn$;

select plan(23);
call pump_test.call(100, 10000);
select is(pump_test.latest(), '0 IDLE 0', 'nothing to do');
select pump_test.adft(1, 100);
call pump_test.call(70, 60000);
select is(pump_test.latest(), '70 BUDGET 70 0', 'as many as the budget allows');
select cmp_ok((select count(distinct f.xmin::text) from flight.flight_schd f), '>=', 3::bigint, 'committed in pieces');
select cmp_ok((select max(q.finished_through) from inbox.queue_head q), '>=', 69::bigint, 'finished_through is kept with the commits');
call pump_test.call(1000, 60000);
select is(pump_test.latest(), '30 IDLE 0', 'the rest');
select is((select count(*) from inbox.proc_state m where m.state = 'SUCCEEDED'), 100::bigint, 'all have ended');

-- the smallest budget in time still does a batch
select pump_test.adft(101, 200);
update core.setting set pipeline_commit_messages = 10;
call pump_test.call(1000, 0);
select is(pump_test.latest(), '10 BUDGET 110 0', 'time is up after one commit');
call pump_test.call(25, 60000);
select is(pump_test.latest(), '25 BUDGET 135 0', 'a budget that is no multiple of a commit');
call pump_test.call(0, 60000);
select is(pump_test.latest(), '0 BUDGET 0', 'none asked, none done');

-- an error in a later batch takes nothing of an earlier one
alter table flight.flight_schd add constraint only_for_this_test check (flid <> 150);
call pump_test.call(1000, 60000);
select is(regexp_replace(pump_test.latest(), ' 0$', ''), '15 HEAD_BACKOFF 150', 'up to the one that fails');
select is((select a.until > clock_timestamp() - interval '5 s' from pump_test.answer a order by a.answer_id desc limit 1), true, 'until when it waits');
select is((select max(f.flid) from flight.flight_schd f), 149::bigint, 'what came before is committed');
alter table flight.flight_schd drop constraint only_for_this_test;
update inbox.proc_state set next_attempt_at = clock_timestamp() where msg_id = 150;
call pump_test.call(1000, 60000);
select is(pump_test.latest(), '51 IDLE 0', 'and the rest goes on');

-- traces follow the commit of their plan
select pump_test.plan(201);
call pump_test.call(1000, 60000);
select is(pump_test.latest(), '1 IDLE 0', 'a plan');
select is((select t.xmin::text <> f.xmin::text from ledger.schd_snap_log t, flight.flight_schd f where f.flid = 201), true, 'its trace is of another transaction');
alter table ledger.schd_snap_log add constraint only_for_this_test check (msg_id <> 202);
select pump_test.plan(202);
call pump_test.call(1000, 60000);
select is(pump_test.latest(), '1 IDLE 1', 'a trace that cannot be written is counted');
select is((select m.state from inbox.proc_state m where m.msg_id = 202), 'SUCCEEDED', 'and the plan stands');

-- beyond the watermark, unstaged
insert into inbox.proc_state (msg_id, enqueued_at, updated_at) values (203, now(), now());
call pump_test.call(1000, 60000);
select is(pump_test.latest(), '0 HEAD_UNSTAGED 203 0', 'no body');
update inbox.inbox_cursor set watermark = 202;
call pump_test.call(1000, 60000);
select is(pump_test.latest(), '0 BEYOND_WATERMARK 203 0', 'ahead of the watermark');

-- fenced
\set ON_ERROR_STOP off
call pipeline.pump(0, 1000, 1000);
\set stale :SQLSTATE
begin;
call pipeline.pump(1, 1000, 1000);
\set in_transaction :SQLSTATE
rollback;
\set ON_ERROR_STOP on
select is(:'stale'::text, 'MX010', 'a stale epoch');
select is(:'in_transaction'::text, '2D000', 'not inside a transaction: it has to commit');
select is((select p.prosecdef or p.proconfig is not null from pg_proc p where p.oid = 'pipeline.pump'::regproc), false, 'a procedure that commits has neither SET nor SECURITY DEFINER');
select is(has_function_privilege('msgx_app', 'pipeline.pump(bigint, integer, integer, integer, text, bigint, timestamptz, integer)', 'execute')
  and not has_function_privilege('msgx_reader', 'pipeline.pump(bigint, integer, integer, integer, text, bigint, timestamptz, integer)', 'execute'), true, 'the supervisor''s to call, nobody else''s');
select * from finish();

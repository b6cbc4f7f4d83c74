-- One commit's worth of the pump: messages from the smallest unfinished one on (implementation.md 5.1), until the commit is due or the
-- head cannot be processed now. Says why it stopped; null means there may be more.
--   IDLE              nothing unfinished
--   BEYOND_WATERMARK  the head was registered ahead of W and waits for it
--   HEAD_BACKOFF      the head failed and waits until p_until; not under a clock that was set back to before it failed
--   HEAD_UNSTAGED     the head has no staging row; its body must be fetched
--   BUDGET            a time-out cancelled the head
-- Reads:  core.setting, inbox.inbox_cursor, inbox.queue_head, inbox.proc_state, inbox.stage_message
-- Writes: inbox.queue_head; through process_message all that messages change
-- Locks:  LEADER for key share, PIPELINE for update, to the end of the transaction
-- Raises: MX010
create or replace function pipeline.step(
  p_epoch bigint, p_max_messages integer,
  out processed integer, out stopped text, out head bigint, out until timestamptz, out trace ledger.schd_snap_log[])
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
declare
  v_setting core.setting;
  v_watermark bigint;
  v_finished_before bigint;
  v_finished_through bigint;
  v_head inbox.proc_state;
  v_message inbox.stage_message;
  v_result record;
  v_commit_due timestamptz;
begin
  perform core.require_epoch(p_epoch);
  perform from core.pipeline_lock l where l.name = 'PIPELINE' for update;
  select * into v_setting from core.setting;
  select c.watermark into v_watermark from inbox.inbox_cursor c;
  select q.finished_through into v_finished_before from inbox.queue_head q;
  v_finished_through := v_finished_before;
  v_commit_due := clock_timestamp() + v_setting.pipeline_commit_interval;  -- real time also under a test's clock
  processed := 0;

  while processed < least(p_max_messages, v_setting.pipeline_commit_messages) loop
    exit when processed > 0 and clock_timestamp() >= v_commit_due;
    select * into v_head
    from inbox.proc_state m
    where m.msg_id > v_finished_through and m.state in ('PENDING', 'FAILED')
    order by m.msg_id
    limit 1;
    head := v_head.msg_id;
    if head is null then
      stopped := 'IDLE';
      exit;
    elsif head > v_watermark then
      stopped := 'BEYOND_WATERMARK';
      exit;
    elsif v_head.state = 'FAILED' and v_head.attempts >= (
      case v_head.error_class
        when 'UNSUPPORTED' then v_setting.pipeline_attempts_unsupported
        when 'CODEC_ERROR' then v_setting.pipeline_attempts_codec_error
        else v_setting.pipeline_attempts_infra
      end) then
      perform inbox.finish_message(head, 'DEAD', 'EXHAUSTED', v_head.last_error, core.now(), v_head.error_sqlstate);
      processed := processed + 1;
      v_finished_through := head;
      continue;
    elsif v_head.state = 'FAILED' and v_head.next_attempt_at > core.now() and v_head.updated_at <= core.now() then
      stopped := 'HEAD_BACKOFF';
      until := v_head.next_attempt_at;
      exit;
    end if;

    select * into v_message from inbox.stage_message s where s.msg_id = head;
    if not found then
      stopped := 'HEAD_UNSTAGED';
      exit;
    end if;
    select * into v_result from pipeline.process_message(v_message, v_setting);
    trace := trace || v_result.trace;
    processed := processed + 1;
    if v_result.cancelled then
      stopped := 'BUDGET';
      exit;
    end if;
    -- What failed stays the head and is looked at again at once: it waits, or its tries are used up.
    v_finished_through := head - 1;
  end loop;

  if v_finished_through > v_finished_before then
    update inbox.queue_head set finished_through = v_finished_through;
  end if;
end
$fn$;

comment on function pipeline.step(bigint, integer) is 'Processes messages until a commit is due or the head cannot be processed';
grant execute on function pipeline.step(bigint, integer) to msgx_app;

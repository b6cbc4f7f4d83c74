-- Counts a failed try and says when the next one is due, by the ladder of its class (implementation.md 9.1). The message keeps the
-- queue. When the ladder is used up the pump ends it as EXHAUSTED; that is decided there, so it holds for every way to fail.
-- A body that could not be decoded is staged anew for the next try: by then we may have learnt to read it.
-- Reads:  inbox.proc_state
-- Writes: inbox.proc_state; for CODEC_ERROR also inbox.stage_message, inbox.stage_record
-- Locks:  the message's row
-- Raises: nothing
create or replace function inbox.fail_message(
  p_msg_id bigint, p_error_class text, p_reason text, p_setting core.setting, p_now timestamptz, p_sqlstate text default null)
returns void
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
declare
  v_ladder interval[] := case p_error_class
    when 'UNSUPPORTED' then p_setting.pipeline_ladder_unsupported
    when 'CODEC_ERROR' then p_setting.pipeline_ladder_codec_error
    else p_setting.pipeline_ladder_infra
  end;
begin
  update inbox.proc_state m
  set state = 'FAILED',
      error_class = p_error_class,
      last_error = p_reason,
      error_sqlstate = p_sqlstate,
      attempts = m.attempts + 1,
      next_attempt_at = p_now + coalesce(v_ladder[m.attempts + 1], interval '0'),
      updated_at = p_now
  where m.msg_id = p_msg_id;
  if p_error_class = 'CODEC_ERROR' then
    delete from inbox.stage_record where msg_id = p_msg_id;
    delete from inbox.stage_message where msg_id = p_msg_id;
  end if;
end
$fn$;

comment on function inbox.fail_message(bigint, text, text, core.setting, timestamptz, text) is 'Counts a failed try of a message and schedules the next';

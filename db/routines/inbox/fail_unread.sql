-- The raw message could not be read (not: is missing): an infrastructure fault, retried on its ladder (implementation.md 5.2). A message
-- that ended, or whose next try is not due, is left alone, so that one fault is not counted twice.
-- Reads:  core.setting, inbox.proc_state
-- Writes: through inbox.fail_message
-- Locks:  LEADER for key share, the message's row
-- Raises: MX010 stale leader epoch; MX012 no such message
create or replace function inbox.fail_unread(p_epoch bigint, p_msg_id bigint, p_reason text)
returns void
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
declare
  v_now constant timestamptz := core.now();
  v_setting core.setting;
  v_message inbox.proc_state;
begin
  perform core.require_epoch(p_epoch);
  select * into v_message from inbox.proc_state m where m.msg_id = p_msg_id for no key update;
  if not found then
    raise exception using
      errcode = 'MX012',
      message = format('there is no message %s', p_msg_id),
      hint = 'Only a message that was taken in can fail.';
  end if;
  if v_message.state in ('PENDING', 'FAILED') and coalesce(v_message.next_attempt_at <= v_now or v_message.updated_at > v_now, true) then
    select * into strict v_setting from core.setting;
    perform inbox.fail_message(p_msg_id, 'INFRA', left(p_reason, 2000), v_setting, v_now);
  end if;
end
$fn$;

comment on function inbox.fail_unread(bigint, bigint, text) is 'FAILED(INFRA): the raw message could not be read';
grant execute on function inbox.fail_unread(bigint, bigint, text) to msgx_app;

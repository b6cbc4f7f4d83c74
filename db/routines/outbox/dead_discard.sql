-- An operator gives a DEAD event up for good. The row goes; who, why and what it was stay as an alert that is acknowledged already.
-- Reads:  outbox.msg_event
-- Writes: outbox.msg_event, core.alert
-- Locks:  the event's row
-- Raises: MX012 no such event; MX013 it is not DEAD; 22023 no reason
create or replace function outbox.dead_discard(p_event_id bigint, p_reason text)
returns void
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
declare
  v_now constant timestamptz := core.now();
  v_event outbox.msg_event;
begin
  if btrim(coalesce(p_reason, '')) = '' then
    raise exception using
      errcode = 'invalid_parameter_value',
      message = 'an event is not discarded without a reason',
      hint = 'Say why its consumers need not hear of it.';
  end if;
  v_event := outbox.lock_dead(p_event_id);
  delete from outbox.msg_event e where e.target = v_event.target and e.event_id = p_event_id;
  insert into core.alert (code, detail, raised_at, message_id, acknowledged_at, acknowledged_by)
  values (
    'EVENT_DISCARDED',
    format('%s discarded %s event %s of flight %s, version %s, which had failed with: %s. Reason: %s',
      session_user, v_event.target, p_event_id, v_event.flid, v_event.state_version, coalesce(v_event.last_error, '(nothing)'),
      left(btrim(p_reason), 2000)),
    v_now, v_event.message_id, v_now, session_user);
end
$fn$;

comment on function outbox.dead_discard(bigint, text) is 'Gives a DEAD event up, with the reason';
grant execute on function outbox.dead_discard(bigint, text) to msgx_operator;

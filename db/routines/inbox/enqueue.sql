-- The HTTP entry's second step (implementation.md 4.4): registers a mailbox row without reading or moving the watermark. Beyond it the
-- message waits until intake has caught up, so no smaller id is overtaken. Returns whether it is beyond the watermark.
-- A row at or below W that is not known yet got an id that W had passed. It is entered all the same, as what was just accepted may not
-- be lost, and a person is told: MAILBOX_ID_REUSE. An operator enters one that the audit found in the same way.
-- Reads:  inbox.inbox_cursor, inbox.proc_state
-- Writes: inbox.proc_state, inbox.queue_head, core.alert
-- Locks:  for an id at or below W: PIPELINE, the row of inbox.queue_head
-- Raises: 22023 an id that is none
create or replace function inbox.enqueue(p_msg_id bigint, p_received_at timestamptz default null)
returns boolean
language plpgsql
volatile
security definer
set search_path to ''
set lock_timeout to '15s'
as $fn$
declare
  v_now constant timestamptz := core.now();
  v_watermark bigint;
  v_new boolean;
begin
  if p_msg_id is null or p_msg_id <= 0 then
    raise exception using
      errcode = 'invalid_parameter_value',
      message = format('%s is no id of a mailbox row', coalesce(p_msg_id::text, '(none)')),
      hint = 'Give the id that the mailbox gave the row.';
  end if;
  insert into inbox.proc_state (msg_id, received_at, enqueued_at, updated_at) values (p_msg_id, p_received_at, v_now, v_now)
  on conflict (msg_id) do nothing;
  v_new := found;
  select c.watermark into strict v_watermark from inbox.inbox_cursor c;
  if v_new and p_msg_id <= v_watermark then
    perform from core.pipeline_lock l where l.name = 'PIPELINE' for update;
    update inbox.queue_head q set finished_through = p_msg_id - 1 where q.finished_through >= p_msg_id;
    perform core.raise_alert(
      'MAILBOX_ID_REUSE',
      format('Message %s was entered although the watermark %s had passed its id: it came late, or the mailbox gives ids out again. It is '
             'processed next, after messages with greater ids.', p_msg_id, v_watermark),
      p_msg_id,
      'MAILBOX_ID_REUSE:entered ' || p_msg_id);
  end if;
  return p_msg_id > v_watermark;
end
$fn$;

comment on function inbox.enqueue(bigint, timestamptz) is 'Registers a mailbox row without moving the watermark; returns whether it is beyond it';
grant execute on function inbox.enqueue(bigint, timestamptz) to msgx_app, msgx_operator;

-- Ends a message: terminal state, reason and the mark it is owed in one statement (implementation.md 5.2), and its staging rows go. A
-- dead message keeps the flights it named, so that a replay can say what has happened to them since. A replayed message whose mark
-- was confirmed before is owed none.
-- Reads:  inbox.stage_record
-- Writes: inbox.proc_state, inbox.stage_message, inbox.stage_record
-- Locks:  the message's row
-- Raises: nothing
create or replace function inbox.finish_message(
  p_msg_id bigint, p_state text, p_error_class text, p_reason text, p_now timestamptz, p_sqlstate text default null)
returns void
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
begin
  update inbox.proc_state m
  set state = p_state,
      error_class = p_error_class,
      last_error = p_reason,
      error_sqlstate = p_sqlstate,
      next_attempt_at = null,
      updated_at = p_now,
      finished_at = p_now,
      backfill_next_at = case when m.backfill_at is null then p_now end
  where m.msg_id = p_msg_id;
  if p_state = 'DEAD' then
    update inbox.proc_state
    set flids = array(select distinct r.flid from inbox.stage_record r where r.msg_id = p_msg_id and r.flid is not null)
    where msg_id = p_msg_id;
  end if;
  delete from inbox.stage_record where msg_id = p_msg_id;
  delete from inbox.stage_message where msg_id = p_msg_id;
end
$fn$;

comment on function inbox.finish_message(bigint, text, text, text, timestamptz, text) is 'Ends a message and registers the mark it is owed';

-- An operator has marks tried again that were given up (implementation.md 6.2). All of the ids, or none of them. Beyond R the next fault
-- gives a mark up again at once.
-- Reads:  inbox.proc_state
-- Writes: inbox.proc_state
-- Locks:  the messages' rows
-- Raises: MX012 no such message; MX013 its mark was not given up
create or replace function inbox.backfill_reopen(p_ids bigint[])
returns integer
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
declare
  v_now constant timestamptz := core.now();
  v_count integer;
begin
  perform inbox.lock_abandoned(p_ids);
  update inbox.proc_state m
  set backfill_abandoned_at = null,
      backfill_abandoned_reason = null,
      backfill_acknowledged_at = null,
      backfill_acknowledged_by = null,
      backfill_acknowledged_note = null,
      backfill_attempts = 0,
      backfill_next_at = v_now,
      updated_at = v_now
  where m.msg_id = any (p_ids);
  get diagnostics v_count = row_count;
  return v_count;
end
$fn$;

comment on function inbox.backfill_reopen(bigint[]) is 'Has abandoned marks tried again; returns how many';
grant execute on function inbox.backfill_reopen(bigint[]) to msgx_operator;

-- A person has reconciled marks that were given up: the row may count as settled from now on, for clearing and for archiving
-- (implementation.md 6.2, 9.3). All of the ids, or none; one that was acknowledged before keeps its first name, time and note. Returns how
-- many were new.
-- Reads:  inbox.proc_state
-- Writes: inbox.proc_state
-- Locks:  the messages' rows
-- Raises: MX012 no such message; MX013 its mark was not given up; 22023 no note
create or replace function inbox.backfill_acknowledge(p_ids bigint[], p_note text)
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
  if btrim(coalesce(p_note, '')) = '' then
    raise exception using
      errcode = 'invalid_parameter_value',
      message = 'an abandoned mark is not acknowledged without a note',
      hint = 'Say what was found: the note is the evidence for clearing the mailbox row.';
  end if;
  perform inbox.lock_abandoned(p_ids);
  update inbox.proc_state m
  set backfill_acknowledged_at = v_now,
      backfill_acknowledged_by = session_user,
      backfill_acknowledged_note = left(btrim(p_note), 2000),
      updated_at = v_now
  where m.msg_id = any (p_ids) and m.backfill_acknowledged_at is null;
  get diagnostics v_count = row_count;
  return v_count;
end
$fn$;

comment on function inbox.backfill_acknowledge(bigint[], text) is 'Notes that a person reconciled abandoned marks; returns how many were new';
grant execute on function inbox.backfill_acknowledge(bigint[], text) to msgx_operator;

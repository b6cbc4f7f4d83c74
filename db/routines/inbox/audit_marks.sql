-- Tells that rows of the mailbox whose mark was confirmed bear none: they are other rows, given an id a second time (a mailbox that was
-- emptied and filled anew between two looks, or whose newest rows went), or somebody took the marks off. Their messages are not processed,
-- for the watermark is past them; a person decides (design section 4). The ids are told once, by the greatest of them.
-- Returns how many there are.
-- Reads:  inbox.inbox_cursor, inbox.proc_state
-- Writes: core.alert
-- Locks:  LEADER for key share
-- Raises: MX010 stale leader epoch
create or replace function inbox.audit_marks(p_epoch bigint, p_unmarked bigint[])
returns integer
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
declare
  v_ids bigint[];
begin
  perform core.require_epoch(p_epoch);
  v_ids := array(
    select m.msg_id from inbox.proc_state m
    where m.msg_id = any (p_unmarked) and m.backfill_at is not null  -- a replay may have changed it since
    order by m.msg_id);
  if v_ids <> '{}' then
    perform core.raise_alert(
      'MAILBOX_ID_REUSE',
      format('The rows %s of the mailbox bear no mark, though it was written. If their ids were given out a second time (TRUNCATE, a reload, '
             'AUTO_INCREMENT set back), the new rows at or below the watermark %s are NOT processed: ask the mailbox owner, and have them '
             'sent anew with new ids.', core.id_list(v_ids), (select c.watermark from inbox.inbox_cursor c)),
      v_ids[1],
      'MAILBOX_ID_REUSE:unmarked ' || v_ids[cardinality(v_ids)]);
  end if;
  return cardinality(v_ids);
end
$fn$;

comment on function inbox.audit_marks(bigint, bigint[]) is 'Alerts where rows that were marked bear no mark; returns how many';
grant execute on function inbox.audit_marks(bigint, bigint[]) to msgx_app;

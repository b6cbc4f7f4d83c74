-- Appends the traces of plans, in a transaction of their own after the plans' commit. A trace that cannot be written costs a metric and
-- nothing else (flight-state.md 5.6), so every error ends here but one: a leader that was deposed must hear of it.
-- Reads:  nothing
-- Writes: ledger.schd_snap_log
-- Locks:  LEADER for key share
-- Raises: MX010 stale leader epoch
create or replace function ledger.append_trace(p_epoch bigint, p_trace ledger.schd_snap_log[])
returns integer
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
begin
  perform core.require_epoch(p_epoch);
  insert into ledger.schd_snap_log (
    operation_day, msg_id, recv_at, recs, covering, old_version, new_version, deleted_count, would_delete_count, would_delete,
    result, flags, reason, old_flid_digest, new_flid_digest, archive_key, duration_ms)
  select
    t.operation_day, t.msg_id, t.recv_at, t.recs, t.covering, t.old_version, t.new_version, t.deleted_count, t.would_delete_count,
    t.would_delete, t.result, t.flags, t.reason, t.old_flid_digest, t.new_flid_digest, t.archive_key, t.duration_ms
  from unnest(p_trace) t;
  return 0;
exception
  when sqlstate 'MX010' then
    raise;
  when others then
    raise log 'trace of % plan rows not written: % (%)', cardinality(p_trace), sqlerrm, sqlstate;
    return cardinality(p_trace);
end
$fn$;

comment on function ledger.append_trace(bigint, ledger.schd_snap_log[]) is 'Appends plan traces; returns how many were lost';
grant execute on function ledger.append_trace(bigint, ledger.schd_snap_log[]) to msgx_app;

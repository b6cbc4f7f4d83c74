-- The trace of a plan that was rolled back (flight-state.md 5.6). It may not stand in the way of the message's ending, so an error in
-- it gives no trace.
-- Reads:  inbox.stage_record, request.req_track, ledger.*
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace function ledger.trace_refused(
  p_message inbox.stage_message, p_reason text, p_rule text, p_setting core.setting, p_now timestamptz)
returns ledger.schd_snap_log[]
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
declare
  v_records flight.incoming[];  -- set below: what fails up here is not caught
  v_days date[];
  v_covered date[];
  v_trace ledger.schd_snap_log[];
begin
  v_records := flight.incoming_records(p_message, p_setting);
  v_days := array(select distinct r.operation_day from unnest(v_records) r where r.operation_day is not null);
  v_covered := ledger.covered_days(
    p_message, (request.match_plan(p_message, v_days, p_setting, p_now)).operation_day, p_setting);
  v_trace := ledger.trace_plan(p_message, v_records, v_covered, '{}', 'ROLLED_BACK', left(p_reason, 2000), p_setting, p_now);
  if p_rule in ('SAME_FLID_ACROSS_OPERATION_DAYS', 'DAY_MISMATCH') then
    for i in 1 .. cardinality(v_trace) loop
      v_trace[i].flags := v_trace[i].flags || 'DAY_MISMATCH'::text;
    end loop;
  end if;
  return v_trace;
exception
  when query_canceled or others then
    raise log 'no trace of refused plan %: % (%)', p_message.msg_id, sqlerrm, sqlstate;
    return null;
end
$fn$;

comment on function ledger.trace_refused(inbox.stage_message, text, text, core.setting, timestamptz) is 'Trace rows of a plan that was rolled back';

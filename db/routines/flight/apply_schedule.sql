-- DNLD and RESP: a day plan is applied whole or not at all (implementation.md 7.1, 12.1; flight-state.md 5). Every flight it carries
-- gets its new state. Where it covers whole operational days (ledger.covered_days) those days' rosters are replaced as well, and under
-- DELETE what their old rosters name and the plan does not (O - N) ends.
-- Reads:  inbox.stage_record, flight.flight_schd, ledger.*
-- Writes: through flight.merge, ledger.replace_rosters, request.complete
-- Locks:  the flights' rows, the days' rosters; the caller holds PIPELINE
-- Raises: MX001, 40001
create or replace function flight.apply_schedule(p_message inbox.stage_message, p_setting core.setting, p_now timestamptz)
returns flight.outcome
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
declare
  v_records flight.incoming[];
  v_days date[];
  v_request request.req_track;
  v_covered date[];
  v_missing bigint[];  -- O - N over all covered days
  v_trace ledger.schd_snap_log[];
begin
  v_records := flight.incoming_records(p_message, p_setting);
  v_days := array(select distinct r.operation_day from unnest(v_records) r where r.operation_day is not null order by 1);

  v_request := request.match_plan(p_message, v_days, p_setting, p_now);
  if p_message.kind = 'SCHD_RESP' and v_request.request_id is null and p_setting.policy_unasked_resp = 'SKIP' then
    return row('SKIPPED', 'no-open-request', null)::flight.outcome;
  end if;

  perform flight.check_records(p_message, true);
  perform flight.check_schedule(p_message, v_records, v_request.operation_day);

  v_covered := ledger.covered_days(p_message, v_request.operation_day, p_setting);
  if ledger.is_replay(v_covered, p_message.msg_id) then
    v_trace := ledger.trace_plan(p_message, v_records, v_covered, '{}', 'REPLAY_SKIPPED', null, p_setting, p_now);
    return row('SUCCEEDED', 'plan-replayed', v_trace)::flight.outcome;
  end if;

  perform flight.claim_days(v_records, p_message, p_setting, p_now);
  v_missing := ledger.missing_flights(v_covered, v_records, p_message.msg_id, p_setting);
  v_trace := ledger.trace_plan(p_message, v_records, v_covered, v_missing, 'COMMITTED', null, p_setting, p_now);

  perform flight.merge(
    v_records, p_setting.policy_absent_field = 'CLEAR', case p_setting.policy_absent_flight when 'DELETE' then v_missing else '{}' end,
    p_message, p_setting, p_now);
  perform ledger.replace_rosters(v_covered, v_records, p_message, v_trace, p_now);
  if v_request.request_id is not null then
    perform request.complete(v_request.request_id, p_message.msg_id, p_now);
  end if;
  return row('SUCCEEDED', null, v_trace)::flight.outcome;
end
$fn$;

comment on function flight.apply_schedule(inbox.stage_message, core.setting, timestamptz) is 'DNLD and RESP: applies a day plan as a whole';

-- What a plan's records must have beyond check_records: a usable SODT each, and, in the answer to a request, the day that was asked for
-- (implementation.md 7.1; flight-state.md 5.2).
-- Reads:  nothing
-- Writes: nothing
-- Locks:  nothing
-- Raises: MX001
create or replace function flight.check_schedule(p_message inbox.stage_message, p_records flight.incoming[], p_requested_day date)
returns void
language plpgsql
stable
set search_path to ''
as $fn$
declare
  v_flids text;
begin
  select string_agg(r.flid::text, ', ' order by r.flid) into v_flids from unnest(p_records) r where r.operation_day is null;
  if v_flids is not null then
    raise exception using
      errcode = 'MX001',
      message = format('%s-%s %s has no SODT for flights %s, so their operational day is unknown',
        p_message.type, p_message.styp, p_message.msg_id, left(v_flids, 500)),
      hint = 'Nothing of the plan was applied; the sender must send it anew.';
  end if;
  select string_agg(format('%s (%s)', r.flid, r.operation_day), ', ' order by r.flid) into v_flids
  from unnest(p_records) r where r.operation_day <> p_requested_day;
  if v_flids is not null then
    raise exception using
      errcode = 'MX001',
      constraint = 'DAY_MISMATCH',
      message = format('%s-%s %s answers the request for %s with flights of other days: %s',
        p_message.type, p_message.styp, p_message.msg_id, p_requested_day, left(v_flids, 500)),
      hint = 'Nothing of the plan was applied; ask for the day again.';
  end if;
end
$fn$;

comment on function flight.check_schedule(inbox.stage_message, flight.incoming[], date) is 'MX001 unless every record has a day, and the requested one if one was requested';

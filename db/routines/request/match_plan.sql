-- The open request that a plan answers, newest first; null if none (implementation.md 7; flight-state.md 7.1). A RESP answers by type,
-- sender and one of its days; one without a usable day answers by type and sender alone. A DNLD answers only if all of it is the day
-- that was asked for. An answer stamped before the request was sent is none; so is one after the request's expiry.
-- Reads:  request.req_track
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace function request.match_plan(p_message inbox.stage_message, p_days date[], p_setting core.setting, p_now timestamptz)
returns request.req_track
language sql
stable
set search_path to ''
as $fn$
  select q
  from request.req_track q
  where q.request_type = 'PLAN'
    and q.state in ('PENDING', 'SENT')
    and q.created_at > p_now - p_setting.request_expiry
    and q.sndr in (p_message.sndr, '')
    and (q.sent_at is null or p_message.dttm >= date_trunc('second', q.sent_at))
    and case p_message.kind
      when 'SCHD_RESP' then cardinality(p_days) = 0 or q.operation_day = any (p_days)
      else p_days = array[q.operation_day]
    end
  order by q.created_at desc, q.request_id desc
  limit 1
$fn$;

comment on function request.match_plan(inbox.stage_message, date[], core.setting, timestamptz) is 'The open plan request that a plan answers, or null';

-- Closes open requests that nothing answered in time (implementation.md 7.2). Only for the eye: match_plan already passes them over.
-- Reads:  core.setting
-- Writes: request.req_track
-- Locks:  the requests' rows
-- Raises: MX010
create or replace function request.expire(p_epoch bigint)
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
  perform core.require_epoch(p_epoch);
  update request.req_track q
  set state = 'EXPIRED', expired_at = v_now
  where q.state in ('PENDING', 'SENT')
    and q.created_at <= v_now - (select s.request_expiry from core.setting s);
  get diagnostics v_count = row_count;
  return v_count;
end
$fn$;

comment on function request.expire(bigint) is 'Closes unanswered requests; returns how many';
grant execute on function request.expire(bigint) to msgx_app;

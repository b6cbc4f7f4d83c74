-- Registers that we want the plan of one operational day from a sender (any, if none is named). An older open request for the same is
-- closed first: one is open at a time (implementation.md 7.2). Sending it to the outbound mailbox is not part of this.
-- Reads:  nothing
-- Writes: request.req_track
-- Locks:  the older request's row
-- Raises: nothing
create or replace function request.open_plan(p_day date, p_sender text default null)
returns bigint
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
declare
  v_now constant timestamptz := core.now();
  v_request_id bigint;
begin
  update request.req_track
  set state = 'EXPIRED', expired_at = v_now
  where request_type = 'PLAN' and operation_day = p_day and sndr = coalesce(p_sender, '') and state in ('PENDING', 'SENT');
  insert into request.req_track (request_type, operation_day, sndr, created_at, created_by)
  values ('PLAN', p_day, coalesce(p_sender, ''), v_now, session_user)
  returning request_id into v_request_id;
  return v_request_id;
end
$fn$;

comment on function request.open_plan(date, text) is 'Opens a request for the plan of a day; returns its id';
grant execute on function request.open_plan(date, text) to msgx_app, msgx_operator;

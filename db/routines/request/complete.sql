-- Closes a request in the transaction that applied its answer (implementation.md 7.2).
-- Reads:  nothing
-- Writes: request.req_track
-- Locks:  the request's row
-- Raises: nothing
create or replace function request.complete(p_request_id bigint, p_message_id bigint, p_now timestamptz)
returns void
language sql
volatile
set search_path to ''
as $fn$
  update request.req_track
  set state = 'DONE', done_at = p_now, done_message_id = p_message_id
  where request_id = p_request_id
$fn$;

comment on function request.complete(bigint, bigint, timestamptz) is 'Closes an answered request';

-- Deletes SENT events that are older than their retention, at most p_limit of each target, so that a call is short; the caller comes back
-- while the answer is not 0 (implementation.md 8.3). PENDING and DEAD are never touched.
-- Reads:  core.setting, outbox.msg_event
-- Writes: outbox.msg_event
-- Locks:  LEADER for key share, the events' rows (locked ones are left for the next call)
-- Raises: MX010 stale leader epoch
create or replace function outbox.prune(p_epoch bigint, p_limit integer)
returns integer
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
declare
  v_before timestamptz;
  v_notices integer;
  v_states integer;
begin
  perform core.require_epoch(p_epoch);
  select core.now() - s.pipeline_event_retention into strict v_before from core.setting s;
  with old as materialized (
    select e.event_id from outbox.msg_event_msg e
    where e.state = 'SENT' and e.sent_at < v_before
    order by e.sent_at
    limit p_limit
    for update skip locked)
  delete from outbox.msg_event_msg e using old o where e.event_id = o.event_id;
  get diagnostics v_notices = row_count;
  with old as materialized (
    select e.flid from outbox.msg_event_schd e
    where e.state = 'SENT' and e.sent_at < v_before
    limit p_limit
    for update skip locked)
  delete from outbox.msg_event_schd e using old o where e.flid = o.flid;
  get diagnostics v_states = row_count;
  return v_notices + v_states;
end
$fn$;

comment on function outbox.prune(bigint, integer) is 'Deletes SENT events past their retention; returns how many';
grant execute on function outbox.prune(bigint, integer) to msgx_app;

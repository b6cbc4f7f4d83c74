-- The broker confirmed these events: they are SENT, with their time, in one statement (implementation.md 8). A KAFKA:schd row is marked
-- only if it is still the generation and version that was told; a newer one is due in its own right. Rows that the pump is replacing at
-- this moment are left out, so it is never waited for; if its work is rolled back they are told once more. Returns how many were marked.
-- Reads:  outbox.msg_event
-- Writes: outbox.msg_event
-- Locks:  LEADER for key share, the events' rows
-- Raises: MX010 stale leader epoch; 22023 no such target, or arrays of different length
create or replace function outbox.settle(p_epoch bigint, p_target text, p_event_ids bigint[], p_state_versions bigint[])
returns integer
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
declare
  v_now timestamptz;
  v_count integer;
begin
  perform core.require_epoch(p_epoch);
  if p_target not in ('KAFKA:msg', 'KAFKA:schd') or p_target is null or cardinality(p_event_ids) <> cardinality(p_state_versions) then
    raise exception using
      errcode = 'invalid_parameter_value',
      message = format('events of target %L cannot be settled', p_target),
      hint = 'Targets are KAFKA:msg and KAFKA:schd; give each event its version.';
  end if;
  v_now := core.now();
  if p_target = 'KAFKA:msg' then
    update outbox.msg_event_msg e
    set state = 'SENT', sent_at = v_now, claim_epoch = null, claimed_at = null, last_error = null
    where e.event_id = any (p_event_ids) and e.state = 'PENDING';
  else
    with told as materialized (
      select e.flid
      from outbox.msg_event_schd e
      join unnest(p_event_ids, p_state_versions) u(event_id, state_version) on u.event_id = e.event_id and u.state_version = e.state_version
      where e.state = 'PENDING'
      for no key update of e skip locked)
    update outbox.msg_event_schd e
    set state = 'SENT', sent_at = v_now, claim_epoch = null, claimed_at = null, last_error = null
    from told t
    where e.flid = t.flid;
  end if;
  get diagnostics v_count = row_count;
  return v_count;
end
$fn$;

comment on function outbox.settle(bigint, text, bigint[], bigint[]) is 'Marks confirmed events as SENT; returns how many';
grant execute on function outbox.settle(bigint, text, bigint[], bigint[]) to msgx_app;

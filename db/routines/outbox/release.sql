-- Gives claimed events back uncounted: the broker as a whole was in trouble, or the relay stops. They are due at once; how long to leave
-- the broker alone is the relay's decision. Returns how many.
-- Reads:  outbox.msg_event
-- Writes: outbox.msg_event
-- Locks:  LEADER for key share, the events' rows (of KAFKA:schd only those that the pump is not replacing)
-- Raises: MX010 stale leader epoch; 22023 no such target
create or replace function outbox.release(p_epoch bigint, p_target text, p_event_ids bigint[], p_reason text)
returns integer
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
declare
  v_count integer;
begin
  perform core.require_epoch(p_epoch);
  if p_target = 'KAFKA:msg' then
    update outbox.msg_event_msg e
    set claim_epoch = null, claimed_at = null, last_error = left(p_reason, 2000)
    where e.event_id = any (p_event_ids) and e.state = 'PENDING';
  elsif p_target = 'KAFKA:schd' then
    with held as materialized (
      select e.flid from outbox.msg_event_schd e
      where e.event_id = any (p_event_ids) and e.state = 'PENDING'
      for no key update skip locked)
    update outbox.msg_event_schd e
    set claim_epoch = null, claimed_at = null, last_error = left(p_reason, 2000)
    from held h
    where e.flid = h.flid;
  else
    raise exception using
      errcode = 'invalid_parameter_value',
      message = format('there is no target %L', p_target),
      hint = 'Targets are KAFKA:msg and KAFKA:schd.';
  end if;
  get diagnostics v_count = row_count;
  return v_count;
end
$fn$;

comment on function outbox.release(bigint, text, bigint[], text) is 'Gives claimed events back without counting a try; returns how many';
grant execute on function outbox.release(bigint, text, bigint[], text) to msgx_app;

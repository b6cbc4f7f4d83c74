-- An operator sends a DEAD event again, with all its tries. A notice goes before the later ones of its flight that are still unsent; those
-- that were sent meanwhile stay sent, and consumers tell by (FLID, STATE_VERSION, UPDATED_AT) that this one is older.
-- Reads:  outbox.msg_event
-- Writes: outbox.msg_event, outbox.queue_head
-- Locks:  the row of outbox.queue_head, the event's row
-- Raises: MX012 no such event; MX013 it is not DEAD
create or replace function outbox.dead_requeue(p_event_id bigint)
returns void
language plpgsql
volatile
security definer
set search_path to ''
as $fn$
declare
  v_now constant timestamptz := core.now();
  v_event outbox.msg_event;
begin
  perform from outbox.queue_head q for no key update;  -- before the event turns PENDING, so that nobody moves past it
  v_event := outbox.lock_dead(p_event_id);
  update outbox.queue_head q set settled_through = p_event_id - 1 where v_event.target = 'KAFKA:msg' and q.settled_through >= p_event_id;
  update outbox.msg_event e
  set state = 'PENDING', attempts = 0, next_attempt_at = v_now
  where e.target = v_event.target and e.event_id = p_event_id;
end
$fn$;

comment on function outbox.dead_requeue(bigint) is 'Sends a DEAD event again';
grant execute on function outbox.dead_requeue(bigint) to msgx_operator;

-- Locks a DEAD event, or says what is wrong with the id. An id names one event, whatever its target: both take them from one sequence.
-- Reads:  outbox.msg_event
-- Writes: nothing
-- Locks:  the event's row
-- Raises: MX012 no such event; MX013 it is not DEAD
create or replace function outbox.lock_dead(p_event_id bigint)
returns outbox.msg_event
language plpgsql
volatile
set search_path to ''
as $fn$
declare
  v_event outbox.msg_event;
begin
  select * into v_event from outbox.msg_event e where e.event_id = p_event_id for update;
  if not found then
    raise exception using
      errcode = 'MX012',
      message = format('there is no event %s', coalesce(p_event_id::text, '(none)')),
      hint = 'outbox.dead (msgx dead) lists the events that were given up. A state''s event gets another id with each change of its flight.';
  end if;
  if v_event.state <> 'DEAD' then
    raise exception using
      errcode = 'MX013',
      message = format('event %s is %s, not DEAD', p_event_id, v_event.state),
      hint = 'outbox.dead (msgx dead) lists the events that were given up.';
  end if;
  return v_event;
end
$fn$;

comment on function outbox.lock_dead(bigint) is 'Locks a DEAD event; MX012 or MX013 if it is not such';

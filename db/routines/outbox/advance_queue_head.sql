-- Moves the starting point of the search for unsent notices up to the first of them, once that is a thousand events on; so that the row is
-- rarely written. New events always have greater ids than all that are committed (one writer at a time, under PIPELINE); an old one turns
-- PENDING again only under the lock of this row (outbox.dead_requeue), and is looked for after the lock.
-- Reads:  outbox.msg_event
-- Writes: outbox.queue_head
-- Locks:  the row of outbox.queue_head, when it moves
-- Raises: nothing
create or replace function outbox.advance_queue_head(p_from bigint)
returns void
language plpgsql
volatile
set search_path to ''
as $fn$
declare
  v_first bigint;
begin
  v_first := outbox.first_unsent(p_from);
  if v_first > p_from + 1000 then
    perform from outbox.queue_head q for no key update;
    update outbox.queue_head q set settled_through = outbox.first_unsent(p_from) - 1 where q.settled_through = p_from;
  end if;
end
$fn$;

comment on function outbox.advance_queue_head(bigint) is 'Moves the starting point of the search for unsent notices';

-- The smallest id after p_from of a notice that is PENDING; if there is none, the one after the greatest notice.
-- Reads:  outbox.msg_event
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace function outbox.first_unsent(p_from bigint)
returns bigint
language sql
volatile
set search_path to ''
as $fn$
  select coalesce(
    (select e.event_id from outbox.msg_event_msg e where e.state = 'PENDING' and e.event_id > p_from order by e.event_id limit 1),
    (select max(e.event_id) + 1 from outbox.msg_event_msg e))
$fn$;

comment on function outbox.first_unsent(bigint) is 'The first notice after an id that is not settled';

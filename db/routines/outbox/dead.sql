-- Events that were given up, and wait for a person (implementation.md 8.3). A KAFKA:schd row stands here only until its flight changes.
-- Reads:  outbox.msg_event
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace view outbox.dead as
select
  e.event_id, e.target, e.flid, e.event_type, e.state_version, e.message_id, e.attempts, e.last_error, e.created_at,
  octet_length(e.payload) as payload_bytes
from outbox.msg_event e
where e.state = 'DEAD';

comment on view outbox.dead is 'Events that were given up';
grant select on outbox.dead to msgx_app, msgx_operator, msgx_reader;

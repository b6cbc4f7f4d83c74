-- Messages that ended DEAD and wait for a person: why, whether msgx replay takes them (PROTOCOL only
-- by name), and whether the mailbox has their mark.
-- Reads:  inbox.proc_state
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace view inbox.dead as
select
  m.msg_id, m.error_class, m.last_error, m.error_sqlstate,
  m.error_class <> 'MALFORMED' as replayable,
  m.identity_key, m.sndr, m.type, m.styp, m.seqn, m.flids, m.attempts, m.replays, m.enqueued_at, m.finished_at,
  m.backfill_at as marked_at
from inbox.proc_state m
where m.state = 'DEAD';

comment on view inbox.dead is 'Messages that ended DEAD, and whether they may be sent through again';
grant select on inbox.dead to msgx_app, msgx_operator, msgx_reader;

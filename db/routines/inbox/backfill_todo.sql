-- Every mark that is owed or was given up, as people read it. DUE is tried next round, OVERDUE too, for it is older than R; WAITING backs
-- off; IN_HAND is being written; ABANDONED waits for a person; ACKNOWLEDGED was reconciled by one.
-- Reads:  inbox.proc_state, core.setting
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace view inbox.backfill_todo as
select
  m.msg_id, m.state, inbox.backfill_marker(m.state, s) as marker,
  case
    when m.backfill_acknowledged_at is not null then 'ACKNOWLEDGED'
    when m.backfill_abandoned_at is not null then 'ABANDONED'
    when m.backfill_claim_epoch = (select l.epoch from core.pipeline_lock l where l.name = 'LEADER') then 'IN_HAND'
    when m.enqueued_at < n.now - s.pipeline_mark_deadline then 'OVERDUE'
    when m.backfill_next_at > n.now then 'WAITING'
    else 'DUE'
  end as status,
  m.backfill_attempts as attempts, m.backfill_next_at as next_at, m.backfill_error as error,
  m.enqueued_at, m.finished_at, m.enqueued_at + s.pipeline_mark_deadline as deadline,
  m.backfill_abandoned_at as abandoned_at, m.backfill_abandoned_reason as abandoned_reason,
  m.backfill_acknowledged_at as acknowledged_at, m.backfill_acknowledged_by as acknowledged_by, m.backfill_acknowledged_note as acknowledged_note
from (
  select * from inbox.proc_state
  where backfill_at is null and backfill_abandoned_at is null and state in ('SUCCEEDED', 'SKIPPED', 'DEAD')
  union all
  select * from inbox.proc_state where backfill_abandoned_at is not null) m
cross join core.setting s
cross join (select core.now() as now) n;

comment on view inbox.backfill_todo is 'Marks that are owed to the mailbox or were given up';
grant select on inbox.backfill_todo to msgx_app, msgx_operator, msgx_reader;

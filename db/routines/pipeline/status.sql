-- What an operator asks first, in one row: are we behind, what is stuck, is anything owed, who leads (msgx status). Times are on the
-- database's clock, ages in seconds. Everything comes from small tables and partial indexes, but for the counts of what ended well
-- (SUCCEEDED, SKIPPED, SENT): they are exact while their table is under 64 MB, and null beyond, for counting would read it all.
-- Reads:  inbox.*, outbox.msg_event, core.*
-- Writes: nothing
-- Locks:  nothing
-- Raises: nothing
create or replace view pipeline.status as
select json_build_object(
  'at', n.now,
  'watermark', c.watermark,
  'read_at', c.read_at,
  'advanced_at', c.advanced_at,
  'seeded', case when c.seeded_at is not null then json_build_object('at', c.seeded_at, 'how', c.seeded_how, 'to', c.seeded_to) end,
  'hole', case when c.hole_first_id is not null then json_build_object(
    'first_id', c.hole_first_id,
    'since', c.hole_since,
    'remaining_seconds', greatest(0, round(extract(epoch from c.hole_since + s.pipeline_max_commit_delay - n.now), 1))) end,
  'holes_released', (select count(*) from inbox.hole),
  'backlog', json_build_object(
    'count', b.pending + b.failed,
    'beyond_watermark', b.beyond,
    'unstaged_head', h.msg_id is not null and not exists (select from inbox.stage_message t where t.msg_id = h.msg_id),
    'head', case when h.msg_id is not null then json_build_object(
      'msg_id', h.msg_id,
      'state', h.state,
      'error_class', h.error_class,
      'error_sqlstate', h.error_sqlstate,
      'last_error', h.last_error,
      'attempts', h.attempts,
      'next_attempt_at', h.next_attempt_at,
      'enqueued_at', h.enqueued_at,
      'age_seconds', round(extract(epoch from n.now - h.enqueued_at), 1)) end),
  'messages', json_build_object(
    'PENDING', b.pending,
    'FAILED', b.failed,
    'SUCCEEDED', e.succeeded,
    'SKIPPED', e.skipped,
    'DEAD', (select count(*) from inbox.proc_state m where m.state = 'DEAD')),
  'failed_by_class', (
    select coalesce(json_object_agg(f.error_class, f.count order by f.error_class), '{}')
    from (select m.error_class, count(*) from inbox.proc_state m where m.state = 'FAILED' group by 1) f),
  'dead_by_class', (
    select coalesce(json_object_agg(d.error_class, d.count order by d.error_class), '{}')
    from (select m.error_class, count(*) from inbox.proc_state m where m.state = 'DEAD' group by 1) d),
  'marks', (
    select json_build_object(
      'owed', count(*),
      'overdue', count(*) filter (where m.enqueued_at < n.now - s.pipeline_mark_deadline),
      'max_attempts', coalesce(max(m.backfill_attempts), 0),
      'abandoned', (select count(*) from inbox.proc_state a where a.backfill_abandoned_at is not null and a.backfill_acknowledged_at is null),
      'acknowledged', (select count(*) from inbox.proc_state a where a.backfill_abandoned_at is not null and a.backfill_acknowledged_at is not null),
      'shadow', s.pipeline_shadow)
    from inbox.proc_state m
    where m.backfill_at is null and m.backfill_abandoned_at is null and m.state in ('SUCCEEDED', 'SKIPPED', 'DEAD')),
  'outbox', json_build_object(
    'KAFKA:msg', (
      select json_build_object(
        'PENDING', count(*),
        'DEAD', (select count(*) from outbox.msg_event_msg d where d.state = 'DEAD'),
        'SENT', case when pg_relation_size('outbox.msg_event_msg') < 67108864 then
          (select count(*) from outbox.msg_event_msg t where t.state = 'SENT') end,
        'backing_off', count(*) filter (where p.next_attempt_at > n.now),
        'oldest_pending_seconds', round(extract(epoch from n.now - min(p.created_at)), 1))
      from outbox.msg_event_msg p
      where p.state = 'PENDING' and p.event_id > (select q.settled_through from outbox.queue_head q)),
    'KAFKA:schd', (
      select json_build_object(
        'PENDING', count(*) filter (where p.state = 'PENDING'),
        'DEAD', count(*) filter (where p.state = 'DEAD'),
        'SENT', count(*) filter (where p.state = 'SENT'),
        'backing_off', count(*) filter (where p.state = 'PENDING' and p.next_attempt_at > n.now),
        'oldest_pending_seconds', round(extract(epoch from n.now - min(p.created_at) filter (where p.state = 'PENDING')), 1))
      from outbox.msg_event_schd p)),
  'leader', json_build_object(
    'holder', l.holder,
    'epoch', l.epoch,
    'leads', coalesce(l.expires_at > n.now, false),
    'acquired_at', l.acquired_at,
    'renewed_at', l.renewed_at,
    'expires_at', l.expires_at),
  'duties', (
    select coalesce(json_object_agg(d.duty, json_build_object(
      'last_run_at', d.last_run_at,
      'last_success_at', d.last_success_at,
      'seconds_since_success', round(extract(epoch from n.now - d.last_success_at), 1),
      'failures', d.failures,
      'detail', d.detail) order by d.duty), '{}')
    from core.duty d),
  'policy', s.policy,
  'alerts', json_build_object(
    'unacknowledged_last_day', (
      select count(*) from core.alert a where a.raised_at > n.now - interval '1 day' and a.acknowledged_at is null),
    'by_code', (
      select coalesce(json_object_agg(a.code, a.count order by a.code), '{}')
      from (
        select a.code, count(*) from core.alert a
        where a.raised_at > n.now - interval '1 day' and a.acknowledged_at is null
        group by 1) a),
    'newest', (
      select coalesce(json_agg(json_build_object('alert_id', a.alert_id, 'code', a.code, 'detail', a.detail, 'raised_at', a.raised_at)
        order by a.raised_at desc, a.alert_id desc), '[]')
      from (
        select * from core.alert a
        where a.raised_at > n.now - interval '1 day' and a.acknowledged_at is null
        order by a.raised_at desc, a.alert_id desc
        limit 5) a))
) as status
from (select core.now() as now) n
cross join core.setting s
cross join inbox.inbox_cursor c
join core.pipeline_lock l on l.name = 'LEADER'
cross join lateral (
  select
    count(*) filter (where m.state = 'PENDING') as pending,
    count(*) filter (where m.state = 'FAILED') as failed,
    count(*) filter (where m.msg_id > c.watermark) as beyond
  from inbox.proc_state m
  where m.state in ('PENDING', 'FAILED') and m.msg_id > (select q.finished_through from inbox.queue_head q)) b
cross join lateral (
  select
    case when t.small then (select count(*) from inbox.proc_state m where m.state = 'SUCCEEDED') end as succeeded,
    case when t.small then (select count(*) from inbox.proc_state m where m.state = 'SKIPPED') end as skipped
  from (select pg_relation_size('inbox.proc_state') < 67108864 as small) t) e
left join lateral (
  select m.* from inbox.proc_state m
  where m.state in ('PENDING', 'FAILED') and m.msg_id > (select q.finished_through from inbox.queue_head q)
  order by m.msg_id
  limit 1) h on true;

comment on view pipeline.status is 'One row of JSON: how far we are, what is stuck, what is owed, who leads';
grant select on pipeline.status to msgx_app, msgx_operator, msgx_reader;

"""Where things stand: what ``msgx status`` shows, and what is left to do for ``msgx run --until-idle``.

Only reads, and each in one statement, so that its parts belong together. All times are the database's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from supervisor import database

if TYPE_CHECKING:
    from collections.abc import Iterator

    from supervisor.database import Connection


@dataclass(frozen=True, slots=True)
class Rest:
    """One kind of work that is left.

    Attributes:
        what: A sentence for people.
        due: When it can go on, on the database's clock; None = now.
    """

    what: str
    due: datetime | None = None


@dataclass(frozen=True, slots=True)
class Left:
    """All that is left to do at one moment.

    Attributes:
        now: The database's clock.
        watermark: How far the mailbox was read.
        rests: What is left; empty = nothing.
        fingerprint: Differs whenever something moved.
    """

    now: datetime
    watermark: int
    rests: tuple[Rest, ...]
    fingerprint: tuple[Any, ...] = field(repr=False)

    def due_by(self, moment: datetime) -> bool:
        """Whether any of it can go on by then."""
        return any(rest.due is None or rest.due <= moment for rest in self.rests)


_LEFT = """
select
  core.now() as now,
  c.watermark,
  case when c.hole_since is not null then c.hole_first_id end as hole,
  c.hole_since + s.pipeline_max_commit_delay as hole_ends,
  s.pipeline_shadow as shadow,
  h.msg_id as head, h.state as head_state, h.error_class, h.last_error, h.next_attempt_at,
  (select count(*) from inbox.proc_state m where m.state in ('PENDING', 'FAILED')) as unfinished,
  msg.events as msg_events, msg.due as msg_due,
  schd.events as schd_events, schd.due as schd_due,
  owed.marks, owed.due as marks_due
from inbox.inbox_cursor c
cross join core.setting s
left join lateral (
  select m.msg_id, m.state, m.error_class, m.last_error, m.next_attempt_at
  from inbox.proc_state m
  where m.state in ('PENDING', 'FAILED')
  order by m.msg_id
  limit 1) h on true
cross join lateral (
  -- the first waiting event of each flight is the one that may go
  select coalesce(sum(f.events), 0) as events, min(f.due) as due
  from (
    select count(*) as events, (array_agg(e.next_attempt_at order by e.event_id))[1] as due
    from outbox.msg_event e
    where e.target = 'KAFKA:msg' and e.state = 'PENDING'
    group by e.flid) f) msg
cross join lateral (
  select count(*) as events, min(e.next_attempt_at) as due
  from outbox.msg_event e
  where e.target = 'KAFKA:schd' and e.state = 'PENDING') schd
cross join lateral (
  select count(*) as marks, min(case when t.status = 'WAITING' then t.next_at else core.now() end) as due
  from inbox.backfill_todo t
  where t.status not in ('ABANDONED', 'ACKNOWLEDGED')) owed
"""


def left(connection: Connection) -> Left:
    """What is left now: messages, holes, events of both targets, marks (none are owed in shadow mode)."""
    found = database.row(connection, _LEFT)
    marks = 0 if found.shadow else found.marks
    fingerprint = (found.watermark, found.head, found.unfinished, found.msg_events, found.schd_events, marks)
    return Left(found.now, found.watermark, tuple(_rests(found, marks)), fingerprint)


def _rests(found: Any, marks: int) -> Iterator[Rest]:
    if found.hole is not None:
        yield Rest(
            f"Mailbox id {found.hole} is missing; it is waited for until {when(found.hole_ends)}.", found.hole_ends
        )
    if found.unfinished:
        many = f"{found.unfinished} messages are" if found.unfinished > 1 else "1 message is"
        if found.head_state == "FAILED":
            yield Rest(
                f"{many} unfinished; the first, {found.head}, failed ({found.error_class}: {found.last_error}) and is "
                f"tried again at {when(found.next_attempt_at)}.",
                found.next_attempt_at,
            )
        elif found.head > found.watermark:
            yield Rest(
                f"{many} unfinished; the first, {found.head}, waits for the watermark, now {found.watermark}.",
                found.hole_ends,
            )
        else:
            yield Rest(f"{many} unfinished; the first is {found.head}.")
    for target, events, due in (
        ("KAFKA:msg", found.msg_events, found.msg_due),
        ("KAFKA:schd", found.schd_events, found.schd_due),
    ):
        if events:
            yield Rest(f"{events} events of {target} wait, the next one due at {when(due)}.", due)
    if marks:
        due = f", the next one due at {when(found.marks_due)}" if found.marks_due else ""
        yield Rest(f"{marks} messages are owed their mark in the mailbox{due}.", found.marks_due)


_STATUS = """
select
  core.now() as now,
  (select jsonb_build_object(
     'watermark', c.watermark,
     'hole', c.hole_first_id, 'hole_since', c.hole_since, 'hole_ends', c.hole_since + s.pipeline_max_commit_delay,
     'holes_released', (select coalesce(sum(h.last_id - h.first_id + 1), 0) from inbox.hole h),
     'read_at', c.read_at, 'advanced_at', c.advanced_at, 'seeded', c.seeded_how)
   from inbox.inbox_cursor c cross join core.setting s) as intake,
  (select jsonb_build_object(
     'unfinished', count(*), 'head', min(m.msg_id),
     'oldest_unprocessed_seconds', coalesce(extract(epoch from core.now() - min(m.enqueued_at)), 0))
   from inbox.proc_state m where m.state in ('PENDING', 'FAILED')) as backlog,
  (select to_jsonb(h) from (
     select m.msg_id, m.state, m.error_class, m.last_error, m.attempts, m.next_attempt_at
     from inbox.proc_state m where m.state in ('PENDING', 'FAILED') order by m.msg_id limit 1) h) as head,
  (select coalesce(jsonb_agg(jsonb_build_object('state', g.state, 'class', g.error_class, 'count', g.n)
     order by g.state, g.error_class), '[]')
   from (select m.state, m.error_class, count(*) as n from inbox.proc_state m group by 1, 2) g) as messages,
  (select coalesce(jsonb_agg(jsonb_build_object('target', g.target, 'state', g.state, 'count', g.n, 'oldest', g.oldest)
     order by g.target, g.state), '[]')
   from (select e.target, e.state, count(*) as n, min(e.created_at) as oldest from outbox.msg_event e group by 1, 2)
   g) as outbox,
  (select coalesce(jsonb_object_agg(g.status, g.n), '{}')
   from (select t.status, count(*) as n from inbox.backfill_todo t group by 1) g) as marks,
  (select coalesce(jsonb_agg(jsonb_build_object(
     'duty', d.duty, 'last_run_at', d.last_run_at, 'last_success_at', d.last_success_at, 'failures', d.failures,
     'detail', d.detail) order by d.duty), '[]') from core.duty d) as duties,
  (select jsonb_build_object('holder', l.holder, 'epoch', l.epoch, 'since', l.acquired_at, 'expires_at', l.expires_at,
     'alive', l.holder is not null and l.expires_at > core.now())
   from core.pipeline_lock l where l.name = 'LEADER') as leader,
  (select jsonb_build_object('name', s.policy, 'shadow', s.pipeline_shadow) from core.setting s) as policy,
  (select coalesce(jsonb_agg(jsonb_build_object(
     'alert_id', a.alert_id, 'code', a.code, 'detail', a.detail, 'raised_at', a.raised_at, 'repeats', a.repeats)), '[]')
   from (select * from core.alert_view v where v.open limit 10) a) as alerts,
  (select count(*) from core.alert a where a.acknowledged_at is null) as open_alerts
"""


def collect(connection: Connection) -> dict[str, Any]:
    """Everything ``msgx status`` shows, as plain data; see ``status --json``."""
    found = database.dictionaries(connection, _STATUS)[0]
    found["problems"] = list(_problems(found))
    return found


def _problems(found: dict[str, Any]) -> Iterator[str]:
    """What an operator should look at first, the worst on top."""
    if not found["leader"]["alive"]:
        yield "Nobody leads: no supervisor is running, or none reaches the database. Start `msgx run`."
    head = found["head"]
    if head is not None and head["state"] == "FAILED":
        yield (
            f"Message {head['msg_id']} holds the queue: {head['error_class']}, try {head['attempts']}, "
            f"next at {head['next_attempt_at']}: {head['last_error']}"
        )
    if found["intake"]["hole"] is not None:
        yield f"Intake waits at the missing mailbox id {found['intake']['hole']} until {found['intake']['hole_ends']}."
    for duty in found["duties"]:
        if duty["failures"]:
            yield f"{duty['duty']} has failed {duty['failures']} times in a row: {duty['detail']}"
    dead = sum(one["count"] for one in found["messages"] if one["state"] == "DEAD")
    if dead:
        yield f"{dead} messages ended DEAD: `msgx dead list`."
    dead = sum(one["count"] for one in found["outbox"] if one["state"] == "DEAD")
    if dead:
        yield f"{dead} events are DEAD and were not told: `msgx dead list`."
    if found["marks"].get("ABANDONED"):
        yield f"{found['marks']['ABANDONED']} marks were given up: `msgx backfill list --status ABANDONED`."


def when(moment: datetime | None) -> str:
    """A moment for people, in the zone of this machine."""
    return "an unknown time" if moment is None else moment.astimezone().strftime("%Y-%m-%d %H:%M:%S %z")


def ago(moment: datetime | None, now: datetime) -> str:
    """How long ago, for people."""
    return "never" if moment is None else f"{duration(now - moment)} ago"


def duration(span: timedelta | float) -> str:
    """A time span for people: 3.2 s, 5 min 20 s, 2 h 5 min, 3 d 4 h."""
    seconds = span.total_seconds() if isinstance(span, timedelta) else span
    if abs(seconds) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h"

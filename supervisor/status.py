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
  (select count(*) from inbox.proc_state m
   where m.state in ('PENDING', 'FAILED') and m.msg_id > q.finished_through) as unfinished,
  msg.events as msg_events, msg.due as msg_due,
  schd.events as schd_events, schd.due as schd_due,
  owed.marks, owed.due as marks_due
from inbox.inbox_cursor c
cross join core.setting s
cross join inbox.queue_head q
left join lateral (
  select m.msg_id, m.state, m.error_class, m.last_error, m.next_attempt_at
  from inbox.proc_state m
  where m.state in ('PENDING', 'FAILED') and m.msg_id > q.finished_through
  order by m.msg_id
  limit 1) h on true
cross join lateral (
  -- the first waiting event of each flight is the one that may go
  select coalesce(sum(f.events), 0) as events, min(f.due) as due
  from (
    select count(*) as events, (array_agg(e.next_attempt_at order by e.event_id))[1] as due
    from outbox.msg_event e
    where e.target = 'KAFKA:msg' and e.state = 'PENDING'
      and e.event_id > (select t.settled_through from outbox.queue_head t)
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
        many = f"{counted(found.unfinished, 'message')} unfinished"
        if found.head_state == "FAILED":
            yield Rest(
                f"{many}; the first, {found.head}, failed ({found.error_class}: {found.last_error}) and is "
                f"tried again at {when(found.next_attempt_at)}.",
                found.next_attempt_at,
            )
        elif found.head > found.watermark:
            yield Rest(
                f"{many}; the first, {found.head}, waits for the watermark, now {found.watermark}.",
                found.hole_ends,
            )
        else:
            yield Rest(f"{many}; the first is {found.head}.")
    for target, events, due in (
        ("KAFKA:msg", found.msg_events, found.msg_due),
        ("KAFKA:schd", found.schd_events, found.schd_due),
    ):
        if events:
            yield Rest(
                f"{counted(events, 'event')} of {target} still to be told, the next one {_due(due, found.now)}.", due
            )
    if marks:
        due = _due(found.marks_due, found.now)
        yield Rest(f"{counted(marks, 'mark')} still owed to the mailbox, the next one {due}.", found.marks_due)


def _due(at: datetime | None, now: datetime) -> str:
    return "due now" if at is None or at <= now else f"due at {when(at)}"


def collect(connection: Connection) -> dict[str, Any]:
    """What ``msgx status`` shows: ``pipeline.status``, and in ``problems`` what an operator should read first."""
    found: dict[str, Any] = database.value(connection, "select status from pipeline.status")
    found["problems"] = list(_problems(found))
    return found


def _problems(found: dict[str, Any]) -> Iterator[str]:
    """What needs a look, the worst on top."""
    leader, backlog, marks = found["leader"], found["backlog"], found["marks"]
    if not leader["leads"]:
        yield "Nobody leads: no supervisor runs, or none reaches the database. Start `msgx run`."
    head = backlog["head"]
    if head is not None and head["state"] == "FAILED":
        yield (
            f"Message {head['msg_id']} holds the queue: {head['error_class']} after {head['attempts']} tries, "
            f"the next at {when(moment(head['next_attempt_at']))}: {head['last_error']}"
        )
    elif backlog["unstaged_head"]:
        yield f"Message {head['msg_id']} holds the queue: its body is fetched from the mailbox."
    hole = found["hole"]
    if hole is not None:
        rest = duration(float(hole["remaining_seconds"]))
        yield f"Intake waits at the missing mailbox id {hole['first_id']}, for {rest} more."
    for name, duty in found["duties"].items():
        if duty["failures"]:
            yield f"{name} has failed {duty['failures']} times in a row: {duty['detail']}"
    if found["messages"]["DEAD"]:
        yield f"{counted(found['messages']['DEAD'], 'message')} ended DEAD: `msgx dead list`."
    dead = sum(one["DEAD"] for one in found["outbox"].values())
    if dead:
        yield f"{counted(dead, 'event')} ended DEAD, not told: `msgx dead list`."
    if marks["max_attempts"] > 1 and not marks["overdue"]:
        yield f"A mark was tried {marks['max_attempts']} times and is not written: `msgx backfill list` says why."
    if marks["overdue"]:
        yield f"{counted(marks['overdue'], 'mark')} overdue: `msgx backfill list --status OVERDUE`."
    if marks["abandoned"]:
        yield f"{counted(marks['abandoned'], 'mark')} given up: `msgx backfill list --status ABANDONED`."


def moment(text: str | None) -> datetime | None:
    """A time of ``pipeline.status``."""
    return None if text is None else datetime.fromisoformat(text)


def when(at: datetime | None) -> str:
    """A moment for people, in the zone of this machine."""
    return "an unknown time" if at is None else at.astimezone().strftime("%Y-%m-%d %H:%M:%S %z")


def ago(at: datetime | None, now: datetime) -> str:
    """How long ago, for people."""
    return "never" if at is None else f"{duration(now - at)} ago"


def counted(number: int, what: str) -> str:
    """1 message, 2 messages."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


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

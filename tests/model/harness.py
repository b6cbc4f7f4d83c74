"""The same stream for the model and for the product, and the first place where they differ.

The product is taken as its users have it: text in a mailbox, ``loader.intake``, ``call pipeline.pump`` in a PostgreSQL
of its own, and then only what is read from outside: documents, endings, the outbox, rosters, requests, alerts. The
clock is fixed (``msgx.now``). What differs is cut down to a minimal stream and printed as Python.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any, cast
from zoneinfo import ZoneInfo

import psycopg

from loader import intake
from loader.mailbox import MailboxRow

from .messages import (
    DANGLING,
    FLIDS,
    Deliver,
    OpenRequest,
    Play,
    Replay,
    SetPolicy,
    Step,
    TrustWindow,
    Wait,
    as_source,
    to_body,
)
from .model import Attempt, Flop, Message, Model, Plan, Settings, Trace, unmapped_tags

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from loader.mailbox import Mailbox

    Databases = Callable[[], AbstractContextManager[str]]
    """Makes a deployed database of its own, and drops it in the end."""

SWITCHES = (
    ("absent-field", "KEEP", "CLEAR"),
    ("absent-flight", "KEEP", "DELETE"),
    ("deletion", "MARK", "REMOVE"),
    ("tombstone", "NULL", "JSON"),
    ("unknown-flop", "IGNORE", "CREATE"),
    ("allocation-flop", "REFUSE", "REPLACE"),
    ("unasked-resp", "SKIP", "APPLY"),
    ("code-share", "LINKED", "INDEPENDENT"),
)
"""The eight switches in the order of the design's table, and their two positions."""
MODELLED_ALERTS = ("IDENTITY_COLLISION", "SAME_FLID_ACROSS_OPERATION_DAYS", "UNMAPPED_STYP")


class Difference(Exception):
    """Model and product disagree. ``kind`` names the area, so that shrinking keeps to one finding."""

    def __init__(self, kind: str, expected: object, got: object, about: str = "") -> None:
        super().__init__(f"{kind} {about}\n  expected {expected}\n  got      {got}")
        self.kind = kind


class MemoryMailbox:
    """What intake reads of a mailbox, without a MySQL."""

    def __init__(self) -> None:
        self.rows: dict[int, MailboxRow] = {}

    def put(self, id_: int, body: str | bytes, received_at: datetime) -> None:
        size = len(body if isinstance(body, bytes) else body.encode())
        self.rows[id_] = MailboxRow(id=id_, received_at=received_at, body=body, size=size)

    def read_after(self, watermark: int, limit: int, _max_body_bytes: int | None = None) -> list[MailboxRow]:
        return [row for id_, row in sorted(self.rows.items()) if id_ > watermark][:limit]

    def read_ids(self, ids: Sequence[int], _max_body_bytes: int | None = None) -> list[MailboxRow]:
        return [self.rows[id_] for id_ in ids if id_ in self.rows]


class Product:
    """The product in a database of its own."""

    def __init__(self, url: str) -> None:
        self.connection = psycopg.connect(url, autocommit=True)
        self.mailbox = MemoryMailbox()
        row = self.one("select epoch from core.lease_acquire('model', '1000 days')")
        self.epoch: int = row[0]
        self.budget = 1000

    def close(self) -> None:
        self.connection.close()

    def rows(self, query: str, *arguments: object) -> list[Any]:
        return self.connection.execute(query, arguments).fetchall()  # type: ignore[arg-type] # our own texts

    def one(self, query: str, *arguments: object) -> Any:
        return self.rows(query, *arguments)[0]

    def set_clock(self, now: datetime) -> None:
        self.rows("select set_config('msgx.now', %s, false)", now.isoformat())

    def setting(self, key: str, value: str) -> None:
        self.rows("select * from core.setting_set(%s, %s)", key, value)

    def set_policy(self, name: str) -> None:
        if name in ("retain", "ledger"):
            self.setting("policy", name)
            return
        for (switch, *positions), digit in zip(SWITCHES, name, strict=True):
            self.setting(f"msgx.policy.{switch}", positions[int(digit)])

    def work_off(self) -> None:
        """Intake and pump until nothing is left, waiting for back-offs on the fixed clock."""
        mailbox = cast("Mailbox", self.mailbox)
        while True:
            if intake.round(mailbox, self.connection, self.epoch).admitted:
                continue
            row = self.one("call pipeline.pump(%s, %s, 60000)", self.epoch, self.budget)
            _, stop, head, until, traces_lost = row
            if traces_lost:
                raise Difference("pump", "every trace written", row)
            if stop == "IDLE":
                return
            if stop == "HEAD_BACKOFF":
                self.rows("select set_config('msgx.now', %s, false)", until.isoformat())
            elif stop == "HEAD_UNSTAGED":
                if not intake.restage(mailbox, self.connection, self.epoch, 100).staged:
                    raise Difference("pump", "a message to be staged", row)
            elif stop != "BUDGET":
                raise Difference("pump", "IDLE", row, f"at message {head}")


@dataclass
class Bench:
    """One stream on both sides."""

    product: Product
    play: Play
    seen_endings: dict[int, Any] = field(default_factory=dict)
    seen_notices: int = 0
    seen_event: int = 0
    seen_trace: int = 0
    seen_traces: int = 0
    seen_attempts: int = 0
    flids: set[int] = field(default_factory=lambda: {*FLIDS, DANGLING})
    waiting: int = 0
    compared: int = 0
    counted: int = 0
    played: int = 0

    @property
    def model(self) -> Model:
        return self.play.model

    def run(self, steps: Iterable[Step], chunk: int) -> None:
        """Raises :class:`Difference`. ``chunk``: so many messages are left in the mailbox before the pump runs."""
        self.product.budget = 2 if chunk == 5 else 1000
        for step in steps:
            self.played += 1
            self.step(step)
            if self.waiting >= chunk:
                self.flush()
        self.flush()
        self.check_topic_values()

    def step(self, step: Step) -> None:
        if not isinstance(step, Deliver):
            self.flush()
        message_id = self.play.step(step)
        match step:
            case Deliver(_, unreadable):
                assert message_id is not None
                message = self.model.received[message_id]
                self.remember_flids(message)
                body = to_body(message, unreadable=unreadable)
                self.product.mailbox.put(message_id, body, self.play.now)
                self.waiting += 1
                self.counted += 1
                if self.model.endings[message_id].error_class == "EXHAUSTED":
                    self.flush()  # its back-offs move the clock
                return
            case Replay():
                if message_id is not None:
                    body = to_body(self.model.received[message_id])
                    self.product.mailbox.put(message_id, body, self.play.now)
                    self.product.set_clock(self.play.now)
                    self.product.rows(
                        "select * from inbox.replay(p_ids => %s::bigint[], p_dry_run => false)", [message_id]
                    )
                    self.seen_endings.pop(message_id, None)
                    self.counted += 1
            case SetPolicy(name):
                self.product.set_policy(name)
            case TrustWindow(on):
                self.product.setting("msgx.schd.trust-window", str(on).lower())
            case OpenRequest(day, sender):
                self.product.set_clock(self.play.now)
                self.product.rows("select request.open_plan(%s, %s)", day, sender)
            case Wait():
                pass
        self.waiting += 1
        self.flush()

    def remember_flids(self, message: Message) -> None:
        body = message.body
        records = body.records if isinstance(body, Plan) else [body.record] if isinstance(body, Flop) else []
        self.flids |= {record.number for record in records if record.number is not None}

    def flush(self) -> None:
        if not self.waiting:
            return
        self.waiting = 0
        self.product.set_clock(self.play.now)
        self.product.work_off()
        self.play.tick(30)  # more than any ladder
        self.compare()

    # comparisons, each of what is read from outside

    def compare(self) -> None:
        self.check_endings()
        self.check_documents()
        self.check_notices()
        self.check_topic()
        self.check_rosters()
        self.check_requests()
        self.check_alerts()
        self.check_traces()
        self.compared += 1

    def check_endings(self) -> None:
        new = [id_ for id_ in self.model.endings if id_ not in self.seen_endings]
        rows = self.product.rows(
            "select msg_id, state, error_class, last_error, identity_key, unmapped from inbox.proc_state "
            "where msg_id = any(%s)",
            new,
        )
        got = {row[0]: row[1:] for row in rows}
        for id_ in new:
            ending, message = self.model.endings[id_], self.model.received[id_]
            about = f"of message {id_} {message.type}-{message.styp}"
            state, error_class, note, identity, unmapped = got.get(id_, (None,) * 5)
            if (state, error_class) != (ending.state, ending.error_class):
                raise Difference("ending", ending, (state, error_class, note), about)
            if ending.note is not None and note != ending.note:
                raise Difference("note", ending, (state, error_class, note), about)
            if ending.note is None and (note or "").startswith(("duplicate-of:", "ignored:", "unmapped:")):
                raise Difference("note", ending, (state, error_class, note), about)
            bound = self.model.identities.get(message.identity, (None,))[0] == id_
            if (identity is not None) != bound or (bound and identity != message.identity):
                raise Difference("identity", message.identity if bound else None, identity, about)
            if ending.error_class not in ("MALFORMED", "EXHAUSTED") and (unmapped or {}) != unmapped_tags(message):
                raise Difference("unmapped tags", unmapped_tags(message), unmapped, about)
            self.seen_endings[id_] = ending

    def check_documents(self) -> None:
        rows = self.product.rows("select flid, document::text from flight.document(%s::bigint[])", sorted(self.flids))
        got = dict(rows)
        for flid in sorted(self.flids):
            same_json("document", self.model.document(flid), got.get(flid), f"of {flid}")

    def check_notices(self) -> None:
        rows = self.product.rows(
            "select event_id, event_type, flid, state_version, message_id, payload from outbox.msg_event "
            "where target = 'KAFKA:msg' and event_id > %s order by event_id",
            self.seen_event,
        )
        got: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for event_id, event_type, flid, version, message_id, payload in rows:
            self.seen_event = event_id
            notice = json.loads(payload)
            same_json("notice", notice, payload, "in canonical form")
            envelope = (event_id, event_type, flid, version, message_id)
            inside = [notice.get(key) for key in ("EVENT_ID", "EVENT_TYPE", "FLID", "STATE_VERSION")]
            if (*inside, notice["MESSAGE"]["ID"]) != envelope:
                raise Difference("notice", envelope, notice, "row and payload")
            got[flid].append(without(notice, "EVENT_ID"))
        expected: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for notice in self.model.notices[self.seen_notices :]:
            expected[notice["FLID"]].append(notice)
        self.seen_notices = len(self.model.notices)
        for flid in sorted({*expected, *got}):
            if told(expected[flid]) != told(got[flid]):
                raise Difference("notice", expected[flid], got[flid], f"of {flid}")

    def check_topic(self) -> None:
        rows = self.product.rows(
            "select flid, event_type, state_version from outbox.msg_event where target = 'KAFKA:schd' order by flid"
        )
        got = {flid: (event_type, version) for flid, event_type, version in rows}
        expected = {flid: (told.event_type, told.version) for flid, told in self.model.topic.items()}
        if got != expected:
            differing = sorted(flid for flid in {*got, *expected} if got.get(flid) != expected.get(flid))
            raise Difference(
                "state topic",
                {flid: expected.get(flid) for flid in differing},
                {flid: got.get(flid) for flid in differing},
            )

    def check_topic_values(self) -> None:
        """What the relay would send now: claimed, read, and given back."""
        with self.product.connection.transaction(force_rollback=True):
            rows = self.product.rows(
                "select flid, event_type, state_version, value from outbox.claim(%s, 'KAFKA:schd', 10000)",
                self.product.epoch,
            )
        got = {flid: (kind, version, value) for flid, kind, version, value in rows}
        for flid in sorted({*got, *self.model.topic}):
            expected = self.model.state_entry(flid)
            kind, version, value = got.get(flid, (None, None, None))
            if expected is None or expected[:2] != (kind, version):
                raise Difference("state topic", expected, got.get(flid), f"of {flid}, claimed")
            same_json("state topic", expected[2], value, f"of {flid}, claimed")

    def check_rosters(self) -> None:
        rows = self.product.rows(
            "select g.operation_day, g.version, g.last_message_id, array_agg(f.flid order by f.flid) "
            "from ledger.schd_gen g left join ledger.schd_gen_flid f using (operation_day) group by g.operation_day"
        )
        got = {day: (version, message_id, [f for f in flids if f]) for day, version, message_id, flids in rows}
        expected = {
            day: (roster.version, roster.message_id, sorted(roster.flids)) for day, roster in self.model.rosters.items()
        }
        if got != expected:
            days: set[date] = {day for day in {*got, *expected} if got.get(day) != expected.get(day)}
            raise Difference("roster", {str(d): expected.get(d) for d in days}, {str(d): got.get(d) for d in days})

    def check_requests(self) -> None:
        """When one that is too old is marked EXPIRED is no matter of the stream."""
        rows = self.product.rows("select operation_day, state from request.req_track order by request_id")
        expected = [(request.day, request.state) for request in self.model.requests]
        got = [
            (day, request.state if state == "EXPIRED" and self.model.too_old(request) else state)
            for (day, state), request in zip(rows, self.model.requests, strict=True)
        ]
        if got != expected:
            raise Difference("request", expected, got)

    def check_traces(self) -> None:
        """A row a day of each attempt; the days of a refused one are not compared."""
        rows = self.product.rows(
            "select log_id, msg_id, operation_day, new_version, deleted_count, would_delete_count, result, covering, "
            "'DAY_MISMATCH' = any(flags) from ledger.schd_snap_log where log_id > %s order by log_id",
            self.seen_trace,
        )
        traces, attempts = set(), set()
        for log_id, message_id, day, version, deleted, would_delete, result, covering, mismatch in rows:
            self.seen_trace = log_id
            attempts.add(Attempt(message_id, result, mismatch))
            if covering and result == "COMMITTED":
                traces.add(Trace(message_id, day, version, deleted, would_delete))
        for kind, got, expected in (
            ("trace", traces, set(self.model.traces[self.seen_traces :])),
            ("attempt", attempts, set(self.model.attempts[self.seen_attempts :])),
        ):
            if got != expected:
                raise Difference(kind, expected - got, got - expected, "missing / too many")
        self.seen_traces, self.seen_attempts = len(self.model.traces), len(self.model.attempts)

    def check_alerts(self) -> None:
        rows = self.product.rows("select code, message_id from core.alert where code = any(%s)", list(MODELLED_ALERTS))
        got, expected = (
            Counter((code, id_ if code != "UNMAPPED_STYP" else None) for code, id_ in side)
            for side in (rows, [(alert.code, alert.message_id) for alert in self.model.alerts])
        )
        if got != expected:
            raise Difference("alert", dict(expected - got), dict(got - expected), "missing / too many")


def without(mapping: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if key not in keys}


def told(notices: list[dict[str, Any]]) -> list[str]:
    """Notices as text. Whether an empty CHANGED is a key (a deletion "has none", settled 3) is left open."""
    return [json.dumps(n if n.get("CHANGED", True) else without(n, "CHANGED")) for n in notices]


def same_json(kind: str, expected: Any, got: str | None, about: str) -> None:
    """Byte for byte in canonical form (design 8)."""
    if expected is None or got is None:
        same = expected is None and got is None
    else:
        same = json.dumps(expected, ensure_ascii=False, separators=(",", ":")) == got
    if not same:
        raise Difference(kind, json.dumps(expected, ensure_ascii=False, separators=(",", ":")), got, about)


# --- running and shrinking --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setup:
    """What holds from the start of a stream."""

    policy: str = "retain"
    cutover: str = "00:00"
    zone: str = "Asia/Shanghai"

    @contextlib.contextmanager
    def bench(self, databases: Databases) -> Iterator[Bench]:
        with databases() as url:
            product = Product(url)
            try:
                play = Play(
                    Model(settings=Settings(cutover=time.fromisoformat(self.cutover), zone=ZoneInfo(self.zone)))
                )
                bench = Bench(product, play)
                product.setting("msgx.airport.day-cutover", self.cutover)
                product.setting("msgx.airport.timezone", self.zone)
                if self.policy != "retain":
                    bench.step(SetPolicy(self.policy))
                yield bench
            finally:
                product.close()


def difference(
    databases: Databases, setup: Setup, steps: Sequence[Step], chunk: int = 1
) -> tuple[Difference | None, Bench]:
    """Plays the stream on a new database; the first difference, if there is one."""
    with setup.bench(databases) as bench:
        try:
            bench.run(steps, chunk)
        except Difference as found:
            return found, bench
        return None, bench


def check_stream(databases: Databases, setup: Setup, steps: Sequence[Step], chunk: int = 1) -> int:
    """Plays the stream; the messages compared.

    Raises:
        AssertionError: they differ; with a minimal stream as Python.
    """
    found, bench = difference(databases, setup, steps, chunk)
    if found is None:
        return bench.counted
    minimal, found, chunk = Shrinker(databases, setup, found.kind, chunk).shrink(list(steps[: bench.played]), found)
    how = f"check_stream(databases, {setup!r}, steps{f', chunk={chunk}' if chunk > 1 else ''})"
    raise AssertionError(f"{found}\n\n{how} with\nsteps = {as_source(minimal)}")


class Shrinker:
    """Cuts a stream down as long as it still differs in the same area."""

    def __init__(
        self,
        databases: Databases,
        setup: Setup,
        kind: str,
        chunk: int,
        tries: int = 600,
    ) -> None:
        self.databases, self.setup, self.kind, self.chunk, self.tries = databases, setup, kind, chunk, tries
        self.played = 0

    def fails(self, steps: Sequence[Step]) -> Difference | None:
        if self.tries <= 0:
            return None
        self.tries -= 1
        found, bench = difference(self.databases, self.setup, steps, self.chunk)
        self.played = bench.played
        return found if found and found.kind == self.kind else None

    def shrink(self, steps: list[Step], found: Difference) -> tuple[list[Step], Difference, int]:
        if self.chunk > 1:
            whole, self.chunk = self.chunk, 1
            again = self.fails(steps)
            if again:
                steps, found = steps[: self.played], again
            else:
                self.chunk = whole
        size = max(len(steps) // 2, 1)
        while True:
            start = 0
            while start < len(steps):
                fewer = steps[:start] + steps[start + size :]
                again = self.fails(fewer) if fewer else None
                if again:
                    steps, found = fewer[: self.played], again
                else:
                    start += size
            if size == 1:
                break
            size = max(size // 2, 1)
        progress = True
        while progress and self.tries > 0:
            progress = False
            for n, step in enumerate(steps):
                for simpler in simpler_steps(step):
                    again = self.fails([*steps[:n], simpler, *steps[n + 1 :]])
                    if again:
                        steps, found, progress = [*steps[:n], simpler, *steps[n + 1 :]], again, True
                        break
        return steps, found, self.chunk


def simpler_steps(step: Step) -> Iterator[Step]:
    """The same step with one thing less."""
    if isinstance(step, OpenRequest) and step.sender is not None:
        yield replace(step, sender=None)
    if not isinstance(step, Deliver):
        return
    message = step.message
    if step.unreadable:
        yield replace(step, unreadable=False)
    for plainer in (
        replace(message, layout=0),
        replace(message, seqn=""),
        replace(message, sndr="AODB"),
        replace(message, dttm=Message.dttm),
    ):
        if plainer != message or plainer.layout != message.layout:
            yield replace(step, message=plainer)
    body = message.body
    if isinstance(body, Flop):
        if body.wrapped:
            yield replace(step, message=replace(message, body=Flop(body.record)))
        for tag in body.record.fields:
            fields = {key: value for key, value in body.record.fields.items() if key != tag}
            yield replace(
                step, message=replace(message, body=replace(body, record=replace(body.record, fields=fields)))
            )
    if isinstance(body, Plan):
        counted = body.declared == str(len(body.records))
        half = len(body.records) // 2
        fewer = [body.records[:half], body.records[half:]] if half > 1 else []
        fewer += [(*body.records[:n], *body.records[n + 1 :]) for n in range(len(body.records))]
        for rest in fewer:
            yield replace(step, message=replace(message, body=Plan(str(len(rest)) if counted else body.declared, rest)))
        for n, record in enumerate(body.records):
            for tag in record.fields:
                fields = {key: value for key, value in record.fields.items() if key != tag}
                records = (*body.records[:n], replace(record, fields=fields), *body.records[n + 1 :])
                yield replace(step, message=replace(message, body=replace(body, records=records)))

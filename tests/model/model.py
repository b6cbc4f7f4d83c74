"""What msgexchange must do with a stream of messages, in plain Python.

An independent reading of the specification: no database, no XML, no code of the product. It is written to be read and
compared with the text, not to be fast. ``implementation.md`` is cited as *impl*, ``flight-state.md`` as *fs*, the
design page's settled questions (its section 11) as *settled* with their number.

A message is abstract: its META, and a body of plain dicts. In a record a tag that is absent has no key, an explicitly
empty one has the value ``None`` (a set: ``[]``), anything else is its value: ``str``, ``int``, or a naive local
``datetime``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal
from zoneinfo import ZoneInfo

# --- the catalogue (impl 11.3, settled "Types") -----------------------------------------------------------------------


def tags(*lines: str) -> tuple[str, ...]:
    return tuple(tag for line in lines for tag in line.split())


SCALARS = tags(
    "ALCD ALSC FLNO MVIN SODT FLTY FLIN ACFT RENO",
    "TAOP TAFL TAID TRML CSOP CSFT MAID",
    "ESTT ACTT BOTM LACL FINT APPT EGSR EGST PADT NAAT NEAT PEDT FTSS",
    "STND PHAG FHAG MHAG CNCL REMC MAXP VIPP VIPR LBNO LBWT PAXC EXSC EXSR",
    "DDES DDIR REID",
)
SITE_SCALARS = tags("TOBT COBT CTOT EOBT IEST RUNW FLAB")
"""Scalars a site adds without a migration; these come declared (design 5)."""

SETS: dict[str, tuple[str, ...]] = {
    "GTDT": ("GTNO", "GATE", "PGOT", "PGCT", "GOTM", "GCTM", "GTYP"),
    "CKDT": ("CKNO", "CHKC", "CCLS", "PCOT", "PCCT", "COTM", "CCTM", "CTYP"),
    "CLDT": ("CLNO", "BELT", "BCLS", "PCOT", "PCCT", "FBAG", "LBAG", "BTYP"),
    "CHDT": ("CHNO", "CHUT", "CHCLS", "PCBT", "PCET", "CBTM", "CETM", "CHTYP"),
    "PSDT": ("PSNO", "PSST", "STST", "STET"),
    "CHOT": ("CSNO", "CHTM", "CHID", "CHST"),
    "DELY": ("CODE", "STRT", "DURA", "TEXT"),
    "ABTM": ("ASNO", "ABDG", "ABOP", "AOTM"),
    "ROUT": ("RTNO", "APCD", "SCAT", "SCDT"),
    "ERUT": ("RTNO", "APCD", "SCAT", "SCDT"),
}
SET_LIMIT = {"PSDT": 9, "ROUT": 6, "ERUT": 7, "DELY": None}
"""Most elements of a set; 99 where nothing else stands (impl 11.3)."""

SECTIONS = ("SRVT", "VIPF")
"""Kept as sent, never merged, never told (impl 11.3)."""

IN_ATTRIBUTES = {"FDIV": ("DDES", "DDIR"), "FRET": ("REID",)}
"""Elements whose attributes are scalars of the flight (settled 13)."""

CATALOGUE = (*SCALARS, *SITE_SCALARS, *SETS, "MAFL")

DATE_TIMES = frozenset(
    tags(
        "SODT ESTT ACTT BOTM LACL FINT APPT PADT NAAT NEAT PEDT CNCL",
        "PGOT PGCT GOTM GCTM PCOT PCCT COTM CCTM PCBT PCET CBTM CETM STST STET CHTM AOTM SCAT SCDT",
        "TOBT COBT CTOT EOBT IEST",
    )
)
DATE_TIMES_OR_TEXT = frozenset(tags("EGSR EGST FTSS FBAG LBAG STRT ABOP"))
NUMBERS = frozenset(("TAID", "MAID", "MAXP", *(parts[0] for tag, parts in SETS.items() if tag != "DELY")))

ALLOCATIONS = ("GTDT", "CKDT", "CLDT", "CHDT", "PSDT")
"""The five sets the AODB may not send in a FLOP (impl 12.2, direction)."""

FLOP_STYPS = frozenset(
    tags(
        "ACFT ACTT BOTM CHOT FLTY CKDT CLDT CHDT CNCL ESTT FDIV FINT FLIN FRET GTDT LACL MAXP HNAG",
        "PSDT RENO ROUT TAOP TRML VIPP",
        "ABTM DELY PADT FTSS STND BDPB REMC",
    )
)
"""Sub-types of impl 12.2: its table, and the seven beside it. One named like a tag is known as well."""

REFERENCE_TYPES = frozenset(tags("COUL ARPT AIRL AIRC REGN ORGN FLTL TLST GLST SLST CLST BLST CHLT"))

# --- messages ---------------------------------------------------------------------------------------------------------

Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Record:
    """One FLTR, or what stands in a FLOP: the FLID as sent, and the tags."""

    flid: str | None
    fields: Fields = field(default_factory=dict)

    @property
    def number(self) -> int | None:
        """The FLID, if it can be one: 1 to 12 digits (fs 3.1)."""
        text = self.flid
        return int(text) if text and text.isascii() and text.isdigit() and len(text) <= 12 else None


@dataclass(frozen=True)
class Plan:
    """``<SCHD>`` of DNLD, RESP or ADFT; ``declared`` is RECS as sent, None = no such tag."""

    declared: str | None
    records: tuple[Record, ...] = ()


@dataclass(frozen=True)
class Flop:
    """``<FLOP>``; FDEL too. ``wrapped`` is layout: the tags stand in one element named like the STYP (settled 4)."""

    record: Record
    wrapped: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Reference:
    """One reference record, complete (impl 13.3)."""

    fields: Fields


@dataclass(frozen=True)
class Other:
    """A type no rule covers, or one that is ignored."""

    text: str = ""


@dataclass(frozen=True)
class Broken:
    """The sender's fault before any rule of ours: cut off, a DOCTYPE, META incomplete, no SCHD body (design 5)."""

    how: Literal["cut", "doctype", "no-seqn", "no-dttm", "no-body", "control"]


Body = Plan | Flop | Reference | Other | Broken


@dataclass(frozen=True)
class Message:
    """META and body. Its id is the mailbox's and comes with :meth:`Model.receive`."""

    type: str
    styp: str
    body: Body
    seqn: str
    sndr: str = "AODB"
    dttm: datetime = datetime(2026, 3, 28, 8, 0)  # noqa: DTZ001 - local to the airport, like all times of a message
    layout: int = 0
    """Seed of the wire layout; 0 = plain. Never changes a result (settled 15)."""

    @property
    def identity(self) -> str:
        return f"{self.sndr}|{self.type}|{self.styp}|{self.seqn}"


# --- settings ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Policy:
    """The eight switches of design section 7. True is what ``ledger`` says."""

    clears_absent_fields: bool
    deletes_absent_flights: bool
    deletion_removes_row: bool
    tombstone_is_json: bool
    flop_creates: bool
    flop_may_allocate: bool
    resp_needs_no_request: bool
    flights_stand_alone: bool


RETAIN = Policy(*[False] * 8)
LEDGER = Policy(*[True] * 8)


def policy_named(name: str) -> Policy:
    """A preset, or eight digits: 1 where the switch stands as under ``ledger``."""
    return {"retain": RETAIN, "ledger": LEDGER}.get(name) or Policy(*[digit == "1" for digit in name])


@dataclass(frozen=True)
class Settings:
    ignore: tuple[str, ...] = ("LDM-*", "REGN-*", "RSTA-*", "EROR-*")
    cutover: time = time(0, 0)
    window: timedelta = timedelta(hours=48)
    request_expiry: timedelta = timedelta(hours=24)
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("Asia/Shanghai"))


# --- what the system remembers ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Flight:
    flid: int
    version: int
    message_id: int
    updated_at: datetime
    day: date | None = None
    state: Literal["ACTIVE", "DELETED"] = "ACTIVE"
    values: Fields = field(default_factory=dict)
    """Scalars by tag and sets by tag (a list of elements); no key = no value."""

    @property
    def active(self) -> bool:
        return self.state == "ACTIVE"

    @property
    def main(self) -> int | None:
        """MAID where it refers to another flight (settled 5)."""
        maid = self.values.get("MAID")
        return maid if maid is not None and maid != self.flid else None


@dataclass(frozen=True)
class Roster:
    version: int
    message_id: int
    flids: frozenset[int]


@dataclass
class Request:
    number: int
    day: date
    sender: str | None
    opened: datetime
    state: Literal["PENDING", "DONE", "EXPIRED"] = "PENDING"


@dataclass(frozen=True)
class Trace:
    """What the trace of a plan says of a day it covered (fs 5.6, design 7)."""

    message_id: int
    day: date
    version: int
    deleted: int
    would_delete: int


@dataclass(frozen=True)
class Attempt:
    """How the trace says an attempt at a plan went, and whether it flags DAY_MISMATCH."""

    message_id: int
    result: str
    day_mismatch: bool


@dataclass(frozen=True)
class Ending:
    state: Literal["SUCCEEDED", "SKIPPED", "DEAD"]
    error_class: str | None = None
    note: str | None = None
    """Exactly what is noted; None = the specification fixes no text."""


@dataclass(frozen=True)
class Told:
    """The latest entry of the state topic for one FLID."""

    event_type: Literal["UPSERT", "TOMBSTONE"]
    version: int
    tombstone: Mapping[str, Any] | None = None
    """TOMBSTONE: the value, None = null."""


@dataclass(frozen=True)
class Alert:
    code: str
    message_id: int | None = None


class Protocol(Exception):
    """The whole message is refused: DEAD(PROTOCOL), nothing kept."""


class Malformed(Exception):
    """The sender's fault, found while decoding: DEAD(MALFORMED), no identity bound."""


class DayMismatch(Protocol):
    """A record of a day that it cannot have here; the trace flags it."""


class DayConflict(DayMismatch):
    """A flight on another operational day than its own (fs 5.3)."""


@dataclass
class Change:
    """What one message does, complete before anything is written (impl 2)."""

    upserts: dict[int, Flight] = field(default_factory=dict)
    deletions: list[int] = field(default_factory=list)
    rosters: dict[date, frozenset[int]] = field(default_factory=dict)
    answered: Request | None = None


@dataclass
class Model:
    policy: Policy = RETAIN
    settings: Settings = field(default_factory=Settings)
    trust_window: bool = False
    flights: dict[int, Flight] = field(default_factory=dict)
    gone: dict[int, int] = field(default_factory=dict)
    """Last version of FLIDs whose row was removed: they are known as deleted (settled 11)."""
    rosters: dict[date, Roster] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    endings: dict[int, Ending] = field(default_factory=dict)
    identities: dict[str, tuple[int, Body]] = field(default_factory=dict)
    received: dict[int, Message] = field(default_factory=dict)
    notices: list[dict[str, Any]] = field(default_factory=list)
    topic: dict[int, Told] = field(default_factory=dict)
    alerts: list[Alert] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    unmapped_told: set[tuple[str, date]] = field(default_factory=set)
    now: datetime = datetime(2026, 3, 28, tzinfo=UTC)
    """When the message in hand is worked on."""

    # --- steps of a stream --------------------------------------------------------------------------------------------

    def receive(self, message_id: int, message: Message, now: datetime) -> Ending:
        """Work one message off to its end, back-offs included."""
        self.received[message_id] = message
        return self._work_off(message_id, now)

    def receive_unreadable(self, message_id: int, message: Message) -> Ending:
        """A body in an encoding we do not know: CODEC_ERROR until its ladder ends (design 5, 6). What cannot be decoded
        has no identity to bind. A replay, with the codec mended, reads it."""
        self.received[message_id] = message
        self.endings[message_id] = Ending("DEAD", "EXHAUSTED")
        return self.endings[message_id]

    def replay(self, message_id: int, now: datetime) -> Ending:
        """A dead message once more; its identity stays bound (impl 9.1), and it meets the state of now."""
        return self._work_off(message_id, now)

    def open_request(self, day: date, sender: str | None, now: datetime) -> None:
        """``msgx request plan``: a new request closes the open one of the same kind (impl 7.2)."""
        for request in self.requests:
            if request.state == "PENDING" and (request.day, request.sender) == (day, sender):
                request.state = "EXPIRED"
        self.requests.append(Request(len(self.requests) + 1, day, sender, now))

    # --- one message (impl 5.2) ---------------------------------------------------------------------------------------

    def _work_off(self, message_id: int, now: datetime) -> Ending:
        self.now = now
        ending = self._end(message_id, self.received[message_id])
        self.endings[message_id] = ending
        return ending

    def _end(self, message_id: int, message: Message) -> Ending:
        try:
            check_decodable(message)
        except Malformed:
            return Ending("DEAD", "MALFORMED")
        owner, body = self.identities.setdefault(message.identity, (message_id, message.body))
        if owner != message_id:
            if body != message.body:
                self.alerts.append(Alert("IDENTITY_COLLISION", message_id))
            return Ending("SKIPPED", None, f"duplicate-of:{owner}")
        for rule in self.settings.ignore:
            if rule.upper() in (f"{message.type}-{message.styp}".upper(), f"{message.type}-*".upper()):
                return Ending("SKIPPED", None, f"ignored:{rule}")
        whole_plan = isinstance(message.body, Plan) and message.styp.upper() in ("DNLD", "RESP")
        refused: Protocol | None = None
        try:
            ending = self._dispatch(message_id, message)
        except Protocol as refusal:
            refused, ending = refusal, Ending("DEAD", "PROTOCOL")
        if isinstance(refused, DayConflict):
            self.alerts.append(Alert("SAME_FLID_ACROSS_OPERATION_DAYS", message_id))
        if whole_plan and ending.state != "SKIPPED":  # fs 5.6: a row for each attempt
            result = "COMMITTED" if ending.state == "SUCCEEDED" else "ROLLED_BACK"
            self.attempts.append(Attempt(message_id, result, isinstance(refused, DayMismatch)))
        return ending

    def _dispatch(self, message_id: int, message: Message) -> Ending:
        kind, styp = message.type.upper(), message.styp.upper()
        if kind == "SCHD" and styp in ("DNLD", "RESP"):
            return self._plan(message_id, message)
        if kind == "SCHD" and styp == "ADFT":
            return self._adft(message_id, message)
        if kind == "FDEL" or (kind == "FLOP" and styp == "FDEL"):
            return self._fdel(message_id, message)
        if kind == "FLOP":
            return self._flop(message_id, message)
        if kind in REFERENCE_TYPES and styp in ("ADD", "UPD", "DEL"):
            return Ending("SUCCEEDED")  # reference data moves no flight and tells nothing (impl 13.3)
        return Ending("DEAD", "EXHAUSTED")  # FAILED(UNSUPPORTED) until its ladder ends (impl 3)

    # --- day plans (impl 7.1, 12.1; fs 5) -----------------------------------------------------------------------------

    def _plan(self, message_id: int, message: Message) -> Ending:
        plan = message.body
        assert isinstance(plan, Plan)
        request = self._request_answered(message, plan)
        if message.styp.upper() == "RESP" and request is None and not self.policy.resp_needs_no_request:
            return Ending("SKIPPED")  # judged before its content (settled 16)
        days = self._checked_days(plan)
        if request is not None and any(day != request.day for day in days.values()):
            raise DayMismatch("a record of another day than the one asked for (fs 5.2)")
        for flid, day in days.items():
            self._check_day(flid, day)
        change, traces = Change(answered=request), []
        for record in plan.records:
            flid = record.number
            assert flid is not None
            whole = self.policy.clears_absent_fields
            change.upserts[flid] = self._next(message_id, record, day=days[flid], whole=whole)
        for day in self._covered_days(message, request):
            members = frozenset(flid for flid, its_day in days.items() if its_day == day)
            change.rosters[day] = members
            missing = self._absent(day, members)
            version = self.rosters[day].version + 1 if day in self.rosters else 1
            if self.policy.deletes_absent_flights:
                change.deletions += missing
                traces.append(Trace(message_id, day, version, len(missing), 0))
            else:
                traces.append(Trace(message_id, day, version, 0, len(missing)))
        self._apply(message_id, message, change)
        self.traces += traces
        return Ending("SUCCEEDED")

    def _checked_days(self, plan: Plan) -> dict[int, date]:
        """The checks of a whole plan (settled 16; fs 5.2); each flight's day."""
        declared = plan.declared
        if not (declared and declared.isascii() and declared.isdigit() and len(declared) <= 4):
            raise Protocol("RECS")
        if int(declared) != len(plan.records):
            raise Protocol("RECS is not the number of FLTRs")
        days: dict[int, date] = {}
        for record in plan.records:
            flid, sodt = record.number, record.fields.get("SODT")
            if flid is None or flid in days:
                raise Protocol("FLID")
            if sodt is None:
                raise Protocol("SODT")
            days[flid] = self.day_of(sodt)
        return days

    def _check_day(self, flid: int, day: date) -> None:
        """The day of a flight never changes (impl 11.2, fs 5.3). Where a deletion removes the row, a deleted flight has
        no day left; where it marks it, the row keeps its day (settled 10)."""
        flight = self.flights.get(flid)
        if flight is None or (not flight.active and self.policy.deletion_removes_row):
            return
        if flight.day is not None and flight.day != day:
            raise DayConflict(f"{flid} is of {flight.day}, not of {day}")

    def _request_answered(self, message: Message, plan: Plan) -> Request | None:
        """Type, day and sender, newest first; an answer without records by type and sender (settled 17), and so one
        whose records tell no day: it is refused for that, rather than skipped."""
        days = {self.day_of(record.fields["SODT"]) for record in plan.records if record.fields.get("SODT") is not None}
        for request in reversed(self.requests):
            if request.state != "PENDING" or request.sender not in (None, message.sndr):
                continue
            if self.too_old(request):
                continue
            if message.styp.upper() == "RESP":
                if not days or request.day in days:
                    return request
            elif days == {request.day}:
                return request  # DNLD completes a request only if the day fits (fs 7.1)
        return None

    def too_old(self, request: Request) -> bool:
        return self.now - request.opened >= self.settings.request_expiry

    def _covered_days(self, message: Message, request: Request | None) -> list[date]:
        """The days of which the plan names every flight (design 7, settled 18)."""
        if request is not None:
            return [request.day]  # an answer is no scheduled plan, whatever its window
        if message.styp.upper() != "DNLD" or not self.trust_window:
            return []
        start = self.instant(message.dttm)
        end = start + self.settings.window
        day, covered = self.day_of(message.dttm), []
        while self.begin_of(day) < end:
            if start <= self.begin_of(day) and self.begin_of(day + timedelta(days=1)) <= end:
                covered.append(day)
            day += timedelta(days=1)
        return covered

    def _absent(self, day: date, members: frozenset[int]) -> list[int]:
        """O - N (fs 5.5): what the day's last roster named and this one does not."""
        roster = self.rosters.get(day)
        missing = []
        for flid in sorted(roster.flids - members) if roster else ():
            flight = self.flights.get(flid)
            if flight is None or not flight.active:
                continue
            if flight.day != day and self.policy.deletes_absent_flights:
                raise Protocol("roster and flight disagree on the day (fs 5.5)")
            missing.append(flid)
        return missing

    # --- single flights (impl 12.2, 12.3; fs 6) -----------------------------------------------------------------------

    def _adft(self, message_id: int, message: Message) -> Ending:
        plan = message.body
        assert isinstance(plan, Plan)
        if len(plan.records) != 1:
            raise Protocol("an ADFT has one FLTR (settled 16)")
        record = plan.records[0]
        flid, sodt = record.number, record.fields.get("SODT")
        if flid is None:
            raise Protocol("FLID")
        day = self.day_of(sodt) if sodt is not None else None
        if day is not None:
            self._check_day(flid, day)
        self._apply(message_id, message, Change({flid: self._next(message_id, record, day=day)}))
        return Ending("SUCCEEDED")

    def _flop(self, message_id: int, message: Message) -> Ending:
        flop = message.body
        assert isinstance(flop, Flop)
        flid = flop.record.number
        assert flid is not None
        fields = flop.record.fields
        if not self.policy.flop_may_allocate and (
            message.styp.upper() in ALLOCATIONS or any(tag in fields for tag in ALLOCATIONS)
        ):
            raise Protocol("only the RMS allocates (impl 12.2)")
        if not any(known(tag) for tag in fields):
            self._unmapped(message.styp)
            return Ending("SUCCEEDED", None, f"unmapped:{message.styp}")
        flight = self.flights.get(flid)
        deleted = flid in self.gone or (flight is not None and not flight.active)
        if deleted or (flight is None and not self.policy.flop_creates):
            return Ending("SUCCEEDED")  # impl 12.2, settled 11
        self._apply(message_id, message, Change({flid: self._next(message_id, flop.record, flop=True)}))
        return Ending("SUCCEEDED")

    def _unmapped(self, styp: str) -> None:
        """Alert once a day for each STYP (settled 4)."""
        today = self.now.astimezone(self.settings.zone).date()
        if (styp.upper(), today) not in self.unmapped_told:
            self.unmapped_told.add((styp.upper(), today))
            self.alerts.append(Alert("UNMAPPED_STYP"))

    def _fdel(self, message_id: int, message: Message) -> Ending:
        flop = message.body
        assert isinstance(flop, Flop)
        flid = flop.record.number
        assert flid is not None
        flight = self.flights.get(flid)
        if flight is not None and flight.active:
            self._apply(message_id, message, Change(deletions=[flid]))
        return Ending("SUCCEEDED")  # a repeated or unknown one changes nothing (impl 12.3, fs 6.2)

    # --- the next state of one flight ---------------------------------------------------------------------------------

    def _next(
        self, message_id: int, record: Record, *, day: date | None = None, whole: bool = False, flop: bool = False
    ) -> Flight:
        """The flight after ``record``. ``whole``: absent clears (fs 5.4); else absent keeps (impl 11.3, 12.1)."""
        flid = record.number
        assert flid is not None
        before = self.flights.get(flid)
        if before is None or not before.active:
            # a new life starts from nothing but day (where the row was kept) and version (settled 10)
            kept_day = before.day if before and not self.policy.deletion_removes_row else None
            before = Flight(flid, self.version(flid), message_id, self.now, kept_day)
        values: dict[str, Any] = {} if whole else dict(before.values)
        for tag, value in merged(record.fields).items():
            if value is None or value == []:
                values.pop(tag, None)  # explicitly empty clears, everywhere (settled 12)
            elif tag in SETS:
                values[tag] = [self.element(tag, ordinal, parts) for ordinal, parts in enumerate(value, 1)]
            else:
                values[tag] = self.shown(value)
        if flop:
            flop_rules(record.fields, values)
        return replace(
            before,
            version=before.version + 1,
            message_id=message_id,
            updated_at=self.now,
            state="ACTIVE",
            day=before.day or (None if flop else day),
            values=values,
        )

    # --- writing, and what follows from it ----------------------------------------------------------------------------

    def _apply(self, message_id: int, message: Message, change: Change) -> None:
        before = dict(self.flights)
        children_before = {flid: self.children_shown(flid) for flid in before}

        for flight in change.upserts.values():
            if not (flight.flid in before and before[flight.flid].active):
                self._leave_rosters_of_former_life(flight)
            self.gone.pop(flight.flid, None)
            self.flights[flight.flid] = flight
        # settled 7, 8; a child that the same plan names is there, whatever became of its main
        cascades = {
            main: [child.flid for child in self._children(main) if child.flid not in change.upserts]
            for main in change.deletions
        }
        for flid in {*change.deletions, *(child for children in cascades.values() for child in children)}:
            self._delete(flid, message_id)
        for day, members in change.rosters.items():
            old = self.rosters.get(day)
            self.rosters[day] = Roster(old.version + 1 if old else 1, message_id, members)
        if change.answered is not None:
            change.answered.state = "DONE"

        # a main flight moves when the value of its MAFL changes, unless it moved anyway (settled 1, 6)
        for flid, flight in list(self.flights.items()):
            if flight.active and flid not in change.upserts and self.children_shown(flid) != children_before[flid]:
                self.flights[flid] = self._moved(flight, message_id)

        meta = {"ID": message_id, "TYPE": message.type, "STYP": message.styp}
        for flid in sorted(before.keys() | self.flights.keys()):
            old, new = before.get(flid), self.flights.get(flid)
            if new == old:
                continue
            version = self.version(flid)
            if new is not None and new.active:
                self.topic[flid] = Told("UPSERT", version)
                if not self.is_child(new):
                    old_values = dict(old.values) if old and old.active else {}
                    old_values["MAFL"] = children_before.get(flid) or None
                    new_values = {**new.values, "MAFL": self.children_shown(flid) or None}
                    changed = [tag for tag in CATALOGUE if old_values.get(tag) != new_values.get(tag)]
                    self._notice("UPSERT", flid, version, meta, CHANGED=changed)
            else:
                json = {"FLID": flid, "STATE_VERSION": version, "DELETED": True}
                self.topic[flid] = Told("TOMBSTONE", version, json if self.policy.tombstone_is_json else None)
                assert old is not None
                if not self.is_child(old):
                    cascaded = cascades.get(flid)
                    self._notice("TOMBSTONE", flid, version, meta, **({"CHILDREN": cascaded} if cascaded else {}))

    def _notice(self, event_type: str, flid: int, version: int, meta: Mapping[str, Any], **rest: Any) -> None:
        self.notices.append(
            {
                "EVENT_TYPE": event_type,
                "FLID": flid,
                "STATE_VERSION": version,
                "UPDATED_AT": self.shown(self.now),
                "MESSAGE": dict(meta),
                **rest,
            }
        )

    def _moved(self, flight: Flight, message_id: int) -> Flight:
        return replace(flight, version=flight.version + 1, message_id=message_id, updated_at=self.now)

    def _delete(self, flid: int, message_id: int) -> None:
        """A deletion is a step of its own (settled 1)."""
        flight = self.flights[flid]
        if not self.policy.deletion_removes_row:
            self.flights[flid] = replace(self._moved(flight, message_id), state="DELETED")
            return
        del self.flights[flid]
        self.gone[flid] = flight.version + 1
        if flight.day in self.rosters:  # fs 6.2: off the roster, its version stays
            roster = self.rosters[flight.day]
            self.rosters[flight.day] = replace(roster, flids=roster.flids - {flid})

    def _leave_rosters_of_former_life(self, flight: Flight) -> None:
        """A row marked as deleted counts as deleted where deletion removes rows (settled 11), so also as taken off the
        roster (fs 6.2): else a life that no plan covers, perhaps of another day, would be in that day's O - N."""
        if self.policy.deletion_removes_row:
            for day, roster in self.rosters.items():
                self.rosters[day] = replace(roster, flids=roster.flids - {flight.flid})

    # --- reading ------------------------------------------------------------------------------------------------------

    def version(self, flid: int) -> int:
        flight = self.flights.get(flid)
        return flight.version if flight else self.gone.get(flid, 0)

    def is_child(self, flight: Flight) -> bool:
        """A child sends no notice of its own (settled 5)."""
        return not self.policy.flights_stand_alone and flight.main is not None

    def _children(self, flid: int) -> list[Flight]:
        main = self.flights.get(flid)
        if self.policy.flights_stand_alone or main is None or not main.active or "MAID" in main.values:
            return []
        return sorted(
            (flight for flight in self.flights.values() if flight.active and flight.main == flid),
            key=lambda flight: flight.flid,
        )

    def children_shown(self, flid: int) -> list[dict[str, Any]]:
        """MAFL: derived on read, ordered by FLID (impl 11.4, design 7)."""
        return [
            {"FLID": child.flid, **({"FLNO": child.values["FLNO"]} if "FLNO" in child.values else {})}
            for child in self._children(flid)
        ]

    def document(self, flid: int) -> dict[str, Any] | None:
        """The full state, keys in catalogue order, absent without a value (design 3)."""
        flight = self.flights.get(flid)
        if flight is None:
            return None
        head = {
            "FLID": flid,
            "STATE": flight.state,
            "STATE_VERSION": flight.version,
            "UPDATED_AT": self.shown(flight.updated_at),
            "OPERATION_DAY": flight.day.isoformat() if flight.day else None,
            "LAST_MESSAGE_ID": flight.message_id,
        }
        values = {**flight.values, "MAFL": self.children_shown(flid) or None}
        everything = {**head, **{tag: values.get(tag) for tag in CATALOGUE}}
        return {key: value for key, value in everything.items() if value is not None}

    def state_entry(self, flid: int) -> tuple[str, int, Mapping[str, Any] | None] | None:
        """The state topic's latest entry: type, version, value (None = null)."""
        told = self.topic.get(flid)
        if told is None:
            return None
        return told.event_type, told.version, self.document(flid) if told.event_type == "UPSERT" else told.tombstone

    # --- time ---------------------------------------------------------------------------------------------------------

    def instant(self, local: datetime) -> datetime:
        """A local time of a message. One that the zone skips or doubles: the offset before the change (design 5)."""
        return local.replace(tzinfo=self.settings.zone).astimezone(UTC)

    def day_of(self, local: datetime) -> date:
        """A time before the cut-over belongs to the day before (settled 9)."""
        moment = self.instant(local).astimezone(self.settings.zone)
        return moment.date() - timedelta(days=0 if moment.time() >= self.settings.cutover else 1)

    def begin_of(self, day: date) -> datetime:
        return self.instant(datetime.combine(day, self.settings.cutover))

    def shown(self, value: Any) -> Any:
        """A value as JSON shows it: times as RFC 3339 with the airport's offset (design 8)."""
        if isinstance(value, datetime):
            moment = value if value.tzinfo else self.instant(value)
            return moment.astimezone(self.settings.zone).isoformat()
        return value

    def element(self, tag: str, ordinal: int, parts: Fields) -> dict[str, Any]:
        """One element: ORDINAL, its number, its parts in catalogue order; an empty part has no key (settled 14)."""
        return {"ORDINAL": ordinal} | {
            part: self.shown(parts[part]) for part in SETS[tag] if parts.get(part) is not None
        }


# --- rules that need no memory ----------------------------------------------------------------------------------------


def known(tag: str) -> bool:
    return tag in SCALARS or tag in SITE_SCALARS or tag in SETS or tag in SECTIONS or tag in IN_ATTRIBUTES


def unmapped_tags(message: Message) -> dict[str, int]:
    """Tags that no catalogue row names, with their number; kept with the outcome (design 5)."""
    body = message.body
    if isinstance(body, Flop) and body.wrapped and not any(known(tag) for tag in body.record.fields):
        return {message.styp: 1}  # an element with nothing known in it wraps nothing
    records = body.records if isinstance(body, Plan) else [body.record] if isinstance(body, Flop) else []
    found: dict[str, int] = {}
    for record in records:
        for tag, value in record.fields.items():
            strange = [] if known(tag) or tag == "MAFL" else [tag]
            for element in value or [] if tag in SETS else []:
                strange += [f"{tag}/{part}" for part in element if part not in SETS[tag]]
            for path in strange:
                found[path] = found.get(path, 0) + 1
    return found


def merged(fields: Fields) -> dict[str, Any]:
    """What takes part in the merge: FDIV and FRET opened into their scalars, all that is not mapped left out."""
    result: dict[str, Any] = {}
    for tag, value in fields.items():
        if tag in IN_ATTRIBUTES:
            attributes = value or {}
            # no attributes, or the first one empty: both are cleared (settled 13)
            cleared = not attributes or attributes.get(IN_ATTRIBUTES[tag][0], "") is None
            for part in IN_ATTRIBUTES[tag]:
                if cleared or part in attributes:
                    result[part] = None if cleared else attributes[part]
        elif tag in SCALARS or tag in SITE_SCALARS or tag in SETS:
            result[tag] = value
    return result


def flop_rules(fields: Fields, values: dict[str, Any]) -> None:
    """What holds in a FLOP only."""
    turnaround = ("TAOP", "TAFL", "TAID")
    if any(tag in fields and fields[tag] is None for tag in turnaround):  # impl 12.2 TAOP, settled 13
        for tag in turnaround:
            values.pop(tag, None)
    if fields.get("ROUT"):  # impl 12.2 ROUT, settled 14
        points: Sequence[Mapping[str, Any]] = values["ROUT"]
        points = points[-4:] if values.get("MVIN") == "A" else points[:4]
        values["ROUT"] = [
            {**{key: value for key, value in point.items() if key not in ("SCAT", "SCDT")}, "ORDINAL": ordinal}
            for ordinal, point in enumerate(points, 1)
        ]


def check_decodable(message: Message) -> None:
    """The sender's faults that are found while decoding (design 5: MALFORMED)."""
    body = message.body
    kind, styp = message.type.upper(), message.styp.upper()
    if isinstance(body, Broken):
        raise Malformed(body.how)
    if isinstance(body, Plan):
        if styp == "ADFT" and not body.records:
            raise Malformed("an ADFT without FLTR (settled 16)")
        for record in body.records:
            check_values(record.fields)
    if isinstance(body, Flop):
        if body.record.number is None:
            raise Malformed("a FLOP without a usable FLID")
        if kind == "FLOP" and styp != "FDEL" and not body.record.fields and (styp in FLOP_STYPS or styp in CATALOGUE):
            raise Malformed("a FLOP of a known sub-type with no payload (settled 4)")
        check_values(body.record.fields)


def check_values(fields: Fields) -> None:
    """Each value can be what the catalogue says it is, each set is within its limit (design 5)."""
    for tag, value in fields.items():
        if tag in SETS and value is not None:
            limit = SET_LIMIT.get(tag, 99)
            if limit is not None and len(value) > limit:
                raise Malformed(f"{tag} has more than {limit} elements")
            for element in value:
                check_values(element)
        elif value is not None and (
            (tag in DATE_TIMES and not isinstance(value, datetime)) or (tag in NUMBERS and not isinstance(value, int))
        ):
            raise Malformed(f"{tag} cannot hold {value!r}")

"""What an AODB says about a day, message by message: the day plan first, then each flight's own story.

Which moments are real: scheduled and actual off-block times, cancellations. When something *became known* (an estimate,
a cancellation, a boarding call) is drawn around them. Only what a FLOP may carry under the `retain` preset goes into
one: gates, counters, belts, planned stands and chutes come with the day plan or an ADFT (implementation.md section
12.2, direction of the events).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from demo.simulator import source
from demo.simulator.plan import Planned, Role, aircraft_of, generator
from demo.simulator.wire import Body, Tag, stamp, tag, texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime
    from random import Random
    from zoneinfo import ZoneInfo

_MINUTE = timedelta(minutes=1)
# IATA delay codes and what they say, as drawn for a delay's reason; the blizzard and the thunderstorms weigh most.
_DELAYS = (
    ("71", "DEPARTURE STATION WEATHER"),
    ("72", "DESTINATION STATION WEATHER"),
    ("75", "DE-ICING OF AIRCRAFT"),
    ("76", "REMOVAL OF SNOW AND ICE"),
    ("81", "ATFM RESTRICTION"),
    ("93", "AIRCRAFT ROTATION"),
    ("41", "AIRCRAFT DEFECTS"),
    ("15", "BOARDING DISCREPANCY"),
)
# What the AODB also says about a code share of a flight, in a message of its own.
_SHARED = frozenset({"ESTT", "BOTM", "LACL", "ACTT", "CNCL", "REMC"})


@dataclass(frozen=True, slots=True)
class Step:
    """One message before it has a number: when it is sent (UTC) and what it says."""

    at: datetime
    body: Body
    again: bool = False
    """The AODB sends it twice."""
    sent_at: datetime | None = None
    """Of the second sending: the time of the first, which its bytes keep."""


class Teller:
    """Tells one airport's day from `start` (UTC) on; nothing is ever sent before it."""

    def __init__(self, tz: ZoneInfo, seed: int, start: datetime) -> None:
        self._tz = tz
        self._seed = seed
        self._start = start

    # The plan

    def day_plan(self, flights: Iterable[Planned]) -> Step:
        """The one SCHD-DNLD: every flight that is not a late addition."""
        records = [self._record(flight) for flight in flights if not flight.late]
        return Step(self._start, Body("SCHD", "DNLD", (tag("SCHD", tag("RECS", text=len(records)), *records),)))

    def _record(self, flight: Planned) -> Tag:
        rng = generator(self._seed, flight.flid, "record")
        turnaround = flight.partner if rng.random() < 0.5 else None
        tail_known = flight.tail is not None and rng.random() < 0.6
        main = flight.main
        scalars: list[tuple[str, str | int | None]] = [
            ("FLID", flight.flid),
            ("ALCD", flight.carrier),
            ("FLNO", flight.flno),
            ("MVIN", "A" if flight.arriving else "D"),
            ("SODT", self._stamp(flight.scheduled)),
            ("FLTY", "P" if flight.role is Role.FERRY else "J"),
            ("FLIN", "D"),
            ("ACFT", flight.aircraft),
            ("RENO", flight.tail if tail_known else None),
            ("TAOP", turnaround.carrier if turnaround else None),
            ("TAFL", turnaround.number if turnaround else None),
            ("TAID", turnaround.flid if turnaround else None),
            ("TRML", flight.terminal),
            ("CSOP", main.carrier if main else None),
            ("CSFT", main.number if main else None),
            ("MAID", main.flid if main else None),
        ]
        return tag("FLTR", *texts(scalars), *self._resources(flight), *self._route(flight))

    def _route(self, flight: Planned) -> Iterator[Tag]:
        out, back = (flight.arrival, flight.scheduled) if flight.arriving else (flight.scheduled, flight.arrival)
        yield tag("ROUT", tag("APCD", text=flight.origin), tag("SCDT", text=self._stamp(out)), RTNO=1)
        yield tag("ROUT", tag("APCD", text=flight.destination), tag("SCAT", text=self._stamp(back)), RTNO=2)

    def _resources(self, flight: Planned) -> Iterator[Tag]:
        """The five sets that only a plan or an ADFT may bring; a code share has only counters of its own."""
        when = self._around(flight.scheduled)
        for n, counter in enumerate(flight.counters, start=1):
            yield tag(
                "CKDT",
                tag("CHKC", text=counter),
                tag("CCLS", text="F" if n == 1 else "Y"),
                tag("PCOT", text=when(-180)),
                tag("PCCT", text=when(-40)),
                tag("CTYP", text="D"),
                CKNO=n,
            )
        if flight.main:
            return
        yield tag(
            "GTDT",
            tag("GATE", text=flight.gate),
            tag("PGOT", text=when(0 if flight.arriving else -50)),
            tag("PGCT", text=when(30 if flight.arriving else -10)),
            GTNO=1,
        )
        yield tag(
            "PSDT",
            tag("PSST", text=flight.stand),
            tag("STST", text=when(5 if flight.arriving else -60)),
            tag("STET", text=when(60 if flight.arriving else 0)),
            PSNO=1,
        )
        if flight.belt:
            yield tag(
                "CLDT", tag("BELT", text=flight.belt), tag("PCOT", text=when(15)), tag("PCCT", text=when(60)), CLNO=1
            )
        if flight.chute:
            # The specification's schema and its text name these two differently; both occur.
            classes = ("CHCLS", "CHTYP") if flight.flid % 3 else ("CCLS", "CTYP")
            yield tag(
                "CHDT",
                tag("CHUT", text=flight.chute),
                tag(classes[0], text="Y"),
                tag("PCBT", text=when(-150)),
                tag("PCET", text=when(-25)),
                tag(classes[1], text="D"),
                CHNO=1,
            )

    # A flight

    def tell(self, flight: Planned) -> list[Step]:
        """Everything that is said about one flight after the plan, in order of time."""
        rng = generator(self._seed, flight.flid, "end")
        steps = list(self._shared(flight, self._story(flight.main)) if flight.main else self._story(flight))
        steps.sort(key=lambda step: step.at)
        start = self._start
        if flight.late:
            start = self._added_at(flight)
            # Not even an AODB reports on a flight that it has not told us of.
            steps = [replace(step, at=max(step.at, start + _MINUTE)) for step in steps]
            recs = tag("RECS", text=1) if flight.flid % 4 else None
            steps.insert(0, Step(start, Body("SCHD", "ADFT", (tag("SCHD", recs, self._record(flight)),))))
        if flight.withdrawn:
            gone = max(self._at(flight.scheduled, -rng.randint(50, 110)), start + 5 * _MINUTE)
            steps = [step for step in steps if step.at < gone]
            steps.append(self._flop(flight, gone, "FDEL", tag("FDEL")))
            if rng.random() < 0.5:  # crossed on the way: a deleted flight must not come back by it
                steps.append(self._flop(flight, gone + timedelta(seconds=70), "REMC", tag("REMC", text="WITHDRAWN")))
        return steps

    def _shared(self, flight: Planned, of_main: Iterable[Step]) -> Iterator[Step]:
        for step in of_main:
            if step.body.styp in _SHARED:
                said = step.body.tags[0].children[2:]  # what follows FLID and FFID
                yield self._flop(flight, step.at + timedelta(seconds=1), step.body.styp, *said)

    def _added_at(self, flight: Planned) -> datetime:
        rng = generator(self._seed, (flight.main or flight).flid, "added")
        lead = timedelta(minutes=rng.randint(180, 420))
        return self._not_before_start(flight.scheduled - lead) + (
            timedelta(seconds=20) if flight.main else timedelta(0)
        )

    def _story(self, flight: Planned) -> Iterator[Step]:
        """The flight's FLOPs, in no particular order."""
        rng = generator(self._seed, flight.flid, "story")
        match flight.role:
            case Role.FERRY:
                when = self._before(flight)
                yield self._flop(flight, when(150), "STND", tag("STND", text=flight.stand))
                yield self._flop(flight, when(120), "MAXP", tag("MAXP"))
                yield self._flop(flight, when(60), "ESTT", self._time("ESTT", flight.scheduled + timedelta(minutes=90)))
            case _:
                prepared = self._prepared(flight, rng)
                if flight.actual is None:
                    yield from self._cancelled(flight, list(prepared), rng)
                elif flight.arriving:
                    yield from (*prepared, *self._arrives(flight, flight.actual, rng))
                else:
                    yield from (*prepared, *self._departs(flight, flight.actual, rng))

    def _prepared(self, flight: Planned, rng: Random) -> Iterator[Step]:
        """What is settled in the hours before: agents, aircraft, seats, stand, turnaround."""
        when = self._before(flight)
        agents = [tag("PHAG", text=flight.agent), tag("FHAG", text=flight.agent), tag("MHAG", text=flight.carrier)]
        if rng.random() < 0.1:
            agents[1:] = [tag("FHAG")]  # freight agent withdrawn, maintenance not mentioned
        wrapped = [tag("HNAG", *agents)] if rng.random() < 0.3 else agents
        yield self._flop(flight, when(rng.randint(360, 480)), "HNAG", *wrapped)
        if flight.tail:
            if rng.random() < 0.12:  # another aircraft was meant first
                carrier_type = aircraft_of(flight.carrier, None)[0]
                yield self._flop(
                    flight, when(330), "RENO", tag("RENO", text=f"N{rng.randint(100, 999)}{flight.carrier}")
                )
                yield self._flop(flight, when(329), "ACFT", tag("ACFT", text=carrier_type))
                yield self._flop(flight, when(199), "ACFT", tag("ACFT", text=flight.aircraft))
            yield self._flop(flight, when(200), "RENO", tag("RENO", text=flight.tail))
        if rng.random() < 0.04:
            yield self._flop(flight, when(320), "FLTY", tag("FLTY", text=rng.choice("JGJ")))
        if rng.random() < 0.02:
            yield self._flop(flight, when(310), "VIPP", tag("VIPP", text="Y"), tag("VIPR", text="ESCORT"))
        yield self._flop(flight, when(180), "MAXP", tag("MAXP", text=flight.seats))
        first = flight.stand if rng.random() < 0.8 else f"R{rng.randint(1, 40):02d}"
        yield self._flop(flight, when(175), "STND", tag("STND", text=first))
        if first != flight.stand:
            yield self._flop(flight, when(rng.randint(80, 120)), "STND", tag("STND", text=flight.stand))
        if flight.partner:
            other = flight.partner
            link = (tag("TAOP", text=other.carrier), tag("TAFL", text=other.number), tag("TAID", text=other.flid))
            yield self._flop(flight, when(240), "TAOP", *link)
            if other.cancelled:  # one empty tag is enough to undo the link
                yield self._flop(flight, when(30), "TAOP", tag("TAOP"))

    def _departs(self, flight: Planned, off: datetime, rng: Random) -> Iterator[Step]:
        when = self._around(off)
        if flight.delay >= timedelta(minutes=10):
            yield from self._delayed(flight, off, rng)
        else:
            yield self._flop(flight, self._at(off, -rng.randint(55, 75)), "ESTT", self._time("ESTT", off))
        if rng.random() < (0.15 if flight.delay >= timedelta(hours=1) else 0.04):
            yield self._flop(flight, self._at(off, -140), "CNCL", self._time("CNCL", off - 140 * _MINUTE))
            yield self._flop(flight, self._at(off, -95), "CNCL", tag("CNCL"))  # empty takes it back
        yield self._flop(flight, self._at(off, -75), "CHOT", self._chock("B", off, -75))
        yield self._flop(flight, self._at(off, -72), "ABTM", self._bridge(flight, "ON", off, -72))
        boarding = rng.randint(30, 45)
        if rng.random() < 0.03:
            early = boarding + 15
            yield self._flop(flight, self._at(off, -early), "BOTM", tag("BOTM", text=when(-early)))
            yield self._flop(flight, self._at(off, -early + 8), "BOTM", tag("BOTM"))
        yield self._flop(flight, self._at(off, -boarding), "BOTM", tag("BOTM", text=when(-boarding)))
        yield self._flop(flight, self._at(off, -boarding + 1), "REMC", tag("REMC", text="BOARDING"))
        yield self._flop(flight, self._at(off, -14), "LACL", tag("LACL", text=when(-14)))
        yield self._flop(flight, self._at(off, -6), "NAAT", tag("NAAT", text=when(-6)))
        if rng.random() < 0.6:
            yield self._flop(
                flight,
                self._at(off, -3),
                "ABTM",
                self._bridge(flight, "ON", off, -72),
                self._bridge(flight, "OFF", off, -3),
            )
        yield self._flop(flight, self._at(off, 0), "CHOT", self._chock("B", off, -75), self._chock("R", off, 0))
        yield self._flop(flight, self._at(off, 1), "ACTT", self._time("ACTT", off))
        if rng.random() < 0.3:
            yield self._flop(flight, self._at(off, 3), "REMC", tag("REMC", text="DEPARTED"))

    def _delayed(self, flight: Planned, off: datetime, rng: Random) -> Iterator[Step]:
        """A delay becomes known in pieces: first too small, and always in the future."""
        minutes = flight.delay // _MINUTE
        rounds = min(4, 1 + minutes // 40)
        first = flight.scheduled - timedelta(minutes=rng.randint(45, 120))
        last = off - timedelta(minutes=rng.randint(35, 50))
        for n in range(1, rounds + 1):
            at = first + (last - first) * ((n - 1) / max(1, rounds - 1))
            guess = max(flight.scheduled + flight.delay * (n / rounds) ** 1.3, at + 20 * _MINUTE)
            known = off if n == rounds else guess
            yield self._flop(flight, self._not_before_start(at), "ESTT", self._time("ESTT", known))
        if minutes >= 15:
            yield self._flop(flight, self._not_before_start(first + 2 * _MINUTE), "REMC", tag("REMC", text="DELAYED"))
            code, text = rng.choice(_DELAYS)
            delay = tag(
                "DELY",
                text=text,
                CODE=code,
                STRT=self._stamp(flight.scheduled),
                DURA=f"{minutes // 60:02d}{minutes % 60:02d}",
            )
            yield self._flop(flight, self._at(off, -20), "DELY", delay)
            if code == "81":  # the flow manager's slot: a scalar that the site declares, not the specification
                yield self._flop(flight, self._at(off, -50), "CTOT", self._time("CTOT", off + 12 * _MINUTE))

    def _cancelled(self, flight: Planned, prepared: Iterable[Step], rng: Random) -> Iterator[Step]:
        """First it is late, then it is not going. Some cancellations are taken back, and made again."""
        called_off = flight.scheduled - timedelta(minutes=rng.randint(-60, 170))
        yield from (step for step in prepared if step.at < called_off)
        if flight.partner:
            yield self._flop(flight, self._not_before_start(called_off + 5 * _MINUTE), "TAOP", tag("TAOP"))
        guess = flight.scheduled
        for n in range(rng.randint(1, 3)):
            guess += timedelta(minutes=rng.randrange(20, 80, 5))
            at = called_off - timedelta(minutes=100 - 30 * n)
            yield self._flop(flight, self._not_before_start(at), "ESTT", self._time("ESTT", guess))
        code, text = rng.choice(_DELAYS[:5])
        yield self._flop(flight, self._not_before_start(called_off - 98 * _MINUTE), "REMC", tag("REMC", text="DELAYED"))
        delay = tag("DELY", text=text, CODE=code, STRT=self._stamp(flight.scheduled))
        yield self._flop(flight, self._not_before_start(called_off - 97 * _MINUTE), "DELY", delay)
        times = [called_off]
        if rng.random() < 0.06:
            times.insert(0, called_off - 30 * _MINUTE)
            yield self._flop(flight, self._not_before_start(called_off - 12 * _MINUTE), "CNCL", tag("CNCL"))
        for at in times:
            yield self._flop(flight, self._not_before_start(at), "CNCL", self._time("CNCL", at))
        yield self._flop(flight, self._not_before_start(called_off + _MINUTE), "REMC", tag("REMC", text="CANCELLED"))
        if rng.random() < 0.8:
            yield self._flop(flight, self._not_before_start(called_off + 2 * _MINUTE), "ESTT", tag("ESTT"))
        if rng.random() < 0.7:
            yield self._flop(flight, self._not_before_start(called_off + 15 * _MINUTE), "STND", tag("STND"))

    def _arrives(self, flight: Planned, landed: datetime, rng: Random) -> Iterator[Step]:
        when = self._around(landed)
        for lead in (rng.randint(90, 110), rng.randint(25, 40)):
            guess = landed + timedelta(minutes=rng.randint(-4, 4))
            yield self._flop(flight, self._at(landed, -lead), "ESTT", self._time("ESTT", guess))
        yield self._flop(flight, self._at(landed, -12), "FINT", tag("FINT", text=when(-12)))
        yield self._flop(flight, self._at(landed, 1), "ACTT", self._time("ACTT", landed))
        yield self._flop(flight, self._at(landed, 2), "REMC", tag("REMC", text="LANDED"))
        yield self._flop(flight, self._at(landed, 8), "CHOT", self._chock("B", landed, 8))
        yield self._flop(flight, self._at(landed, 11), "ABTM", self._bridge(flight, "ON", landed, 11))
        yield self._flop(flight, self._at(landed, 30), "NEAT", tag("NEAT", text=when(30)))

    # Pieces

    def _flop(self, flight: Planned, at: datetime, styp: str, *payload: Tag) -> Step:
        rng = generator(self._seed, flight.flid, styp, at)
        if flight.main is None:  # the same seconds for all of a flight: they must not change its order
            at += timedelta(seconds=generator(self._seed, flight.flid, "second").randint(0, 50))
        local = flight.scheduled.astimezone(self._tz)
        ffid = f"{flight.carrier}-{flight.number}-{stamp(local, self._tz)[:7]}-{'A' if flight.arriving else 'D'}"
        body = tag("FLOP", tag("FLID", text=flight.flid), tag("FFID", text=ffid), *payload)
        return Step(at, Body("FLOP", styp, (body,)), again=rng.random() < 0.003)

    def _stamp(self, at: datetime) -> str:
        return stamp(at, self._tz)

    def _time(self, name: str, at: datetime) -> Tag:
        return tag(name, text=self._stamp(at))

    def _around(self, pivot: datetime) -> _Around:
        return _Around(pivot, self._tz)

    def _before(self, flight: Planned) -> _Before:
        return _Before(flight.scheduled, self._not_before_start)

    def _at(self, pivot: datetime, minutes: int) -> datetime:
        return self._not_before_start(pivot + minutes * _MINUTE)

    def _not_before_start(self, at: datetime) -> datetime:
        """Before the plan nothing can be said.

        What would have been said then is crowded, in the same order, into the half hour after it.
        """
        earliest = self._start + 30 * _MINUTE
        if at >= earliest:
            return at
        return self._start + 2 * _MINUTE + 28 * _MINUTE * (1 / (1 + (earliest - at) / timedelta(hours=1)))

    def _chock(self, state: str, pivot: datetime, minutes: int) -> Tag:
        """B = blocks on, R = removed."""
        return tag(
            "CHOT",
            tag("CHTM", text=self._stamp(pivot + minutes * _MINUTE)),
            tag("CHID", text="MAIN"),
            tag("CHST", text=state),
            CSNO=1 if state == "B" else 2,
        )

    def _bridge(self, flight: Planned, operation: str, pivot: datetime, minutes: int) -> Tag:
        return tag(
            "ABTM",
            tag("ABDG", text=f"BR{flight.gate}"),
            tag("ABOP", text=operation),
            tag("AOTM", text=self._stamp(pivot + minutes * _MINUTE)),
            ASNO=1 if operation == "ON" else 2,
        )


@dataclass(frozen=True, slots=True)
class _Around:
    pivot: datetime
    tz: ZoneInfo

    def __call__(self, minutes: int) -> str:
        return stamp(self.pivot + minutes * _MINUTE, self.tz)


# The airport's own announcements


def registrations(flights: Iterable[Planned], at: datetime) -> Step:
    """REGN-DNLD: the aircraft that the day's flights use. On the baseline's ignore list, so it ends SKIPPED."""
    tails = sorted({flight.tail for flight in flights if flight.tail})
    records = [tag("REGN", *texts((("RNUM", tail), ("ITAT", aircraft_of("", tail)[0])))) for tail in tails]
    return Step(at, Body("REGN", "DNLD", (tag("RECS", text=len(records)), *records)))


def resource_states(flights: Iterable[Planned], tz: ZoneInfo, seed: int) -> Iterator[Step]:
    """RSTA: a few gates and stands that close for a while. On the baseline's ignore list, so they end SKIPPED."""
    departing = [flight for flight in flights if flight.role is Role.DEPARTURE]
    rng = generator(seed, departing[0].flid, "rsta")
    for flight in rng.sample(departing, k=min(len(departing), 6)):
        kind, code = rng.choice((("GATE", flight.gate), ("STND", flight.stand)))
        closed = flight.scheduled + timedelta(minutes=rng.randint(15, 60))
        record = tag(
            "RSTA",
            *texts((("RSID", code), ("RTYP", kind), ("STAT", "D"))),
            tag("STDT", text=stamp(closed, tz)),
            tag("ENDT", text=stamp(closed + timedelta(hours=2), tz)),
        )
        yield Step(closed, Body("RSTA", "DNLD", (tag("RECS", text=1), record)))


def reference_lists(flights: Iterable[Planned], at: datetime) -> Iterator[Step]:
    """AIRL, ARPT and AIRC lists. Not ignored by the baseline: until reference data is handled they end UNSUPPORTED."""
    known = tuple(flights)
    carriers = sorted({flight.carrier for flight in known})
    ports = sorted({code for flight in known for code in (flight.origin, flight.destination)})
    types = sorted({flight.aircraft for flight in known})
    lists: dict[str, list[tuple[tuple[str, str], ...]]] = {
        "AIRL": [(("ITOP", code), ("ONAM", source.airlines().get(code, code))) for code in carriers],
        "ARPT": [(("ITCD", code), ("ANAM", source.airports()[code][0])) for code in ports],
        "AIRC": [(("ITAT", code),) for code in types],
    }
    for kind, rows in lists.items():
        yield Step(at, Body(kind, "DNLD", (tag("RECS", text=len(rows)), *(tag(kind, *texts(row)) for row in rows))))
        at += timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class _Before:
    scheduled: datetime
    clamp: Callable[[datetime], datetime]

    def __call__(self, minutes: int) -> datetime:
        return self.clamp(self.scheduled - minutes * _MINUTE)

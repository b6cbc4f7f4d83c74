"""A day as a stream of mailbox messages, what it must have led to, and how it gets into a mailbox."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from demo.simulator import source, story
from demo.simulator.plan import Planned, Role, draw, generator
from demo.simulator.wire import render

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from zoneinfo import ZoneInfo

DEFAULT_AIRPORT = "JFK"
DEFAULT_DAY = date(2013, 2, 8)
SENDER = "AODB"
_PLAN_SENT = time(0, 20)  # local; the first departures leave at five


class Message(NamedTuple):
    """One row for the mailbox: when it is sent, in the airport's zone, and its body."""

    at: datetime
    xml: str


@dataclass(frozen=True, slots=True)
class Truth:
    """What must be in the database once every message is worked off, from the CSV and from nothing else.

    FLIDs throughout. A code share follows its main flight. Flights that an FDEL took out are in `withdrawn` only.
    """

    departures: frozenset[int]
    """The real departures, cancelled or not."""
    code_shares: dict[int, int]
    """Code share -> its main flight."""
    arrivals: frozenset[int]
    """Drawn arriving legs."""
    withdrawn: frozenset[int]
    """Ended by FDEL: ferry flights and a few code shares."""
    cancelled: frozenset[int]
    """Departures and code shares that never left."""
    departed: dict[int, datetime]
    """Departures and code shares that left -> actual time, in the airport's zone."""
    skipped: int
    """Messages that end SKIPPED: repeated ones, and the ignored types REGN and RSTA."""

    @property
    def cancelled_departures(self) -> frozenset[int]:
        """The real departures that were cancelled: 159 at JFK on 8 February 2013."""
        return self.cancelled & self.departures

    @property
    def alive(self) -> frozenset[int]:
        """Every flight that is there at the end."""
        return (self.departures | self.arrivals | self.code_shares.keys()) - self.withdrawn


class Stream:
    """The messages of one airport's day in the order in which they are sent. Bodies are written as they are asked for.

    Iterating again gives the same bytes again. `speed` is the pace at which :func:`write` sends them.
    """

    def __init__(
        self, airport: str, day: date, speed: float, seed: int, flights: int | None = None, *, reference: bool = False
    ) -> None:
        if flights is not None and flights < 1:
            raise ValueError("a simulated day needs at least one flight")
        if speed < 0:
            raise ValueError("speed is in simulated seconds per second, 0 = as fast as the mailbox takes them")
        self.airport = airport
        self.day = day
        self.speed = speed
        self.seed = seed
        self.zone: ZoneInfo = source.zone(airport)
        self.planned: tuple[Planned, ...] = draw(airport, day, seed, flights)
        self._reference = reference
        # Other days and airports may share the mailbox, and SEQN is part of a message's identity.
        self._first_seqn = self.planned[0].flid // 10_000 * 100_000

    def __len__(self) -> int:
        return len(self._steps)

    def __iter__(self) -> Iterator[Message]:
        for seqn, step in self._steps:
            layout = generator(self.seed, seqn, "layout")
            body = render(step.body, sender=SENDER, seqn=seqn, at=step.sent_at or step.at, tz=self.zone, layout=layout)
            yield Message(step.at.astimezone(self.zone), body)

    @cached_property
    def _steps(self) -> Sequence[tuple[int, story.Step]]:
        """Number and step of every message; a repeated one keeps its number, and with it its bytes."""
        plan_at = datetime.combine(self.day, _PLAN_SENT, self.zone).astimezone(UTC)
        teller = story.Teller(self.zone, self.seed, plan_at)
        steps = [story.registrations(self.planned, plan_at - timedelta(seconds=30)), teller.day_plan(self.planned)]
        if self._reference:
            steps[:0] = story.reference_lists(self.planned, plan_at - timedelta(seconds=60))
        steps += story.resource_states(self.planned, self.zone, self.seed)
        for flight in self.planned:
            steps += teller.tell(flight)
        steps.sort(key=lambda step: step.at)
        numbered = list(enumerate(steps, start=self._first_seqn + 1))
        for seqn, step in tuple(numbered):
            if step.again:
                later = step.at + timedelta(seconds=generator(self.seed, seqn, "again").randint(1, 40))
                numbered.append((seqn, story.Step(later, step.body, sent_at=step.at)))
        numbered.sort(key=lambda one: one[1].at)
        return numbered

    def truth(self) -> Truth:
        """What the CSV says came of this day."""
        gone = {flight.flid for flight in self.planned if flight.withdrawn}
        real = [
            flight
            for flight in self.planned
            if flight.role in (Role.DEPARTURE, Role.CODE_SHARE) and flight.flid not in gone
        ]
        repeated = len(self._steps) - len({seqn for seqn, _ in self._steps})
        ignored = sum(step.body.type in ("REGN", "RSTA") for _, step in self._steps)
        return Truth(
            departures=frozenset(flight.flid for flight in self.planned if flight.role is Role.DEPARTURE),
            code_shares={flight.flid: flight.main.flid for flight in self.planned if flight.main},
            arrivals=frozenset(flight.flid for flight in self.planned if flight.role is Role.ARRIVAL),
            withdrawn=frozenset(gone),
            cancelled=frozenset(flight.flid for flight in real if flight.cancelled),
            departed={flight.flid: flight.actual.astimezone(self.zone) for flight in real if flight.actual},
            skipped=repeated + ignored,
        )


def simulate(
    airport: str = DEFAULT_AIRPORT,
    day: date = DEFAULT_DAY,
    speed: float = 0.0,
    seed: int = 1,
    *,
    flights: int | None = None,
    reference: bool = False,
) -> Stream:
    """The messages that an AODB would have sent about the airport's departures on its local `day`.

    Args:
        airport: JFK, EWR or LGA. Message times are in its zone: the reader's `msgx.airport.timezone` must be
            America/New_York.
        day: One of the days of :func:`demo.simulator.source.available`.
        speed: Simulated seconds per second for :func:`write`; 0 = as fast as the mailbox takes them.
        seed: Same seed, same bytes.
        flights: Only the first so many departures of the day.
        reference: Also AIRL, ARPT and AIRC lists, which end UNSUPPORTED and hold up the queue for their few retries.

    Raises:
        NoSuchDayError: the data has no such airport or day.
    """
    return Stream(airport, day, speed, seed, flights, reference=reference)

"""The day as the airport plans it: the real departures, and around them what no public record has.

Drawn from the seed: FLIDs, gates, stands, counters, chutes, belts, bridges, code shares, arriving legs, ferry flights,
and which flights were not yet in the day plan. Each flight has a generator of its own, so that a shortened day tells
the same about the flights it keeps.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import Enum
from random import Random
from typing import TYPE_CHECKING

from demo.simulator import source

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date, datetime

    from demo.simulator.source import Departure

_AIRPORT_DIGIT = {"JFK": 1, "EWR": 2, "LGA": 3}

# Terminals: carrier -> where it mostly stood; "" = everyone else. The gates within are drawn.
_TERMINALS: dict[str, dict[str, str]] = {
    "JFK": {"B6": "5", "HA": "5", "AA": "8", "MQ": "8", "US": "8", "DL": "3", "9E": "2", "EV": "2", "UA": "7", "": "4"},
    "EWR": {"UA": "C", "EV": "C", "DL": "B", "9E": "B", "": "A"},
    "LGA": {"DL": "D", "9E": "D", "EV": "D", "US": "C", "YV": "C", "": "B"},
}
_GATES_A_TERMINAL = 30

_PARTNERS: dict[str, tuple[str, ...]] = {
    "AA": ("BA", "IB", "QF", "JL"),
    "MQ": ("AA", "BA", "IB"),
    "DL": ("AF", "KL", "AZ", "VS"),
    "9E": ("DL", "AF", "KL"),
    "B6": ("EI", "LH", "EK", "SA"),
    "UA": ("LH", "AC", "NH", "LX"),
    "EV": ("UA", "DL", "LH"),
    "US": ("UA", "LH", "TP"),
    "VX": ("VA", "SQ"),
    "AS": ("AA", "DL"),
    "": ("EI", "SA", "TP"),
}
_AGENTS = ("SWP", "GGS", "DGS", "ASIG", "PAL")

# Maker's model -> IATA aircraft type, by the longest prefix that fits.
_TYPES = {
    "A319": "319", "A320": "320", "A321": "321", "A330-2": "332", "A330-3": "333", "A330": "330",
    "717": "717", "737-2": "732", "737-3": "733", "737-4": "734", "737-5": "735", "737-7": "73G",
    "737-8": "738", "737-9": "739",
    "747": "744", "757-2": "752", "757-3": "753", "767-2": "762", "767-3": "763", "767-4": "764", "777": "772",
    "CL-600-2B": "CR2", "CL-600-2C": "CR7", "CL-600-2D": "CR9", "DC-9": "M80", "MD-8": "M80", "MD-9": "M90",
    "EMB-135": "ER3", "EMB-145": "ER4", "EMB": "ER4", "ERJ 170": "E70", "ERJ 190": "E90",
}  # fmt: skip
# What a carrier mostly flew here, for tails that the register does not list: (type, seats).
_USUAL = {
    "MQ": ("ER4", 50), "9E": ("CR9", 76), "EV": ("ER4", 50), "YV": ("CR9", 86), "AA": ("M80", 140), "DL": ("M80", 142),
    "B6": ("320", 150), "UA": ("752", 182), "US": ("319", 124), "VX": ("320", 149), "HA": ("332", 294),
    "WN": ("73G", 137),
    "FL": ("717", 117), "F9": ("319", 138), "AS": ("738", 157),
}  # fmt: skip


class Role(Enum):
    """What kind of flight it is, and how much of it is real."""

    DEPARTURE = "departure"
    """On record: times, tail and route are real."""
    CODE_SHARE = "code share"
    """Another carrier's number on a real departure; drawn, and follows it in everything."""
    ARRIVAL = "arrival"
    """The leg that brought back an aircraft which left earlier that day; drawn to fit between the two."""
    FERRY = "ferry"
    """A positioning flight that is added late and withdrawn again; drawn."""


@dataclass(frozen=True, slots=True)
class Planned:
    """One flight of the day as the AODB knows it. Times in UTC; `actual` None = cancelled (or withdrawn: a ferry)."""

    flid: int
    role: Role
    carrier: str
    number: str
    origin: str
    destination: str
    scheduled: datetime
    actual: datetime | None
    arrival: datetime
    """Scheduled time at the other end: arrival of a departure, departure of an arrival."""
    tail: str | None
    aircraft: str
    seats: int
    terminal: str
    gate: str
    stand: str
    counters: tuple[str, ...]
    chute: str
    belt: str
    agent: str
    late: bool
    """Not in the day plan: a single ADFT adds it later."""
    withdrawn: bool
    """Ends with an FDEL."""
    main: Planned | None = None
    partner: Planned | None = field(default=None, compare=False)
    """The other leg of the turnaround: the arrival of a departure, the departure of an arrival."""

    @property
    def arriving(self) -> bool:
        """MVIN A rather than D."""
        return self.role is Role.ARRIVAL

    @property
    def flno(self) -> str:
        """Flight number as shown, carrier and number in one."""
        return self.carrier + self.number

    @property
    def cancelled(self) -> bool:
        """Never left (a withdrawn ferry flight was not cancelled: it was taken out)."""
        return self.actual is None and self.role is not Role.FERRY

    @property
    def delay(self) -> timedelta:
        """Actual less scheduled; nothing for a cancelled flight."""
        return (self.actual or self.scheduled) - self.scheduled


def aircraft_of(carrier: str, tail: str | None) -> tuple[str, int]:
    """IATA type and seats: of the very aircraft where the register lists it, else the carrier's usual one."""
    plane = source.planes().get(tail or "")
    if plane:
        fits = [prefix for prefix in _TYPES if plane.model.startswith(prefix)]
        if fits:
            return _TYPES[max(fits, key=len)], plane.seats
    return _USUAL.get(carrier, ("320", 150))


def generator(seed: int, *what: object) -> Random:
    """A generator of its own for each thing that is drawn: same seed and name, same numbers, whatever else is drawn."""
    return Random(":".join(map(str, (seed, *what))))


def draw(airport: str, day: date, seed: int, flights: int | None = None) -> tuple[Planned, ...]:
    """The whole day, ordered by FLID. `flights` keeps only the first so many real departures and what hangs on them."""
    real = source.departures(airport, day)[:flights]
    base = (_AIRPORT_DIGIT[airport] * 1_000_000 + int(f"{day:%y%m%d}")) * 10_000
    gates = _Gates(airport)
    planned: list[Planned] = []
    last_of_tail: dict[str, Departure] = {}
    for number, departure in enumerate(real, start=1):
        rng = generator(seed, base, number)
        main = _departure(departure, base + number * 10, gates, rng)
        leg = _arriving_leg(main, last_of_tail.get(departure.tail or ""), rng)
        if leg:
            main, leg = _joined(main, leg)
            planned.append(leg)
        planned.append(main)
        if departure.tail:
            last_of_tail[departure.tail] = departure
        if rng.random() < 0.3:
            planned.append(_code_share(main, rng))
    planned += _ferries(planned, base, generator(seed, base, "ferry"))
    return tuple(sorted(planned, key=lambda flight: flight.flid))


class _Gates:
    """Hands out gates so that no gate has two aircraft at once while one is free."""

    def __init__(self, airport: str) -> None:
        self._terminals = _TERMINALS[airport]
        self._free_at: dict[str, dict[str, datetime]] = {}

    def terminal(self, carrier: str) -> str:
        return self._terminals.get(carrier, self._terminals[""])

    def take(self, terminal: str, start: datetime, end: datetime, rng: Random) -> str:
        known = self._free_at.setdefault(terminal, {})
        free = [
            gate for n in range(1, _GATES_A_TERMINAL + 1) if known.get(gate := f"{terminal}{n:02d}", start) <= start
        ]
        gate = rng.choice(free) if free else min(known, key=lambda name: known[name])
        known[gate] = end
        return gate


def _departure(real: Departure, flid: int, gates: _Gates, rng: Random) -> Planned:
    terminal = gates.terminal(real.carrier)
    off = max(real.scheduled, real.actual or real.scheduled)
    gate = gates.take(terminal, real.scheduled - timedelta(hours=1), off + timedelta(minutes=10), rng)
    aircraft, seats = aircraft_of(real.carrier, real.tail)
    first_counter = rng.randint(1, 56)
    return Planned(
        flid=flid,
        role=Role.DEPARTURE,
        carrier=real.carrier,
        number=real.number,
        origin=real.origin,
        destination=real.destination,
        scheduled=real.scheduled,
        actual=real.actual,
        arrival=real.arrival,
        tail=real.tail,
        aircraft=aircraft,
        seats=seats,
        terminal=terminal,
        gate=gate,
        stand=f"S{gate}",
        counters=tuple(f"{terminal}{n:03d}" for n in range(first_counter, first_counter + rng.randint(2, 4))),
        chute=f"CH{rng.randint(1, 24):02d}",
        belt="",
        agent=rng.choice(_AGENTS),
        late=rng.random() < 0.03,
        withdrawn=False,
    )


def _arriving_leg(main: Planned, before: Departure | None, rng: Random) -> Planned | None:
    """The flight that brought the aircraft back, if it left earlier that day and there was time for both legs."""
    if before is None or before.actual is None or before.air_time is None or main.late:
        return None
    landed_first = before.actual + before.air_time * 2 + timedelta(minutes=60)
    scheduled = main.scheduled - timedelta(minutes=rng.randrange(50, 95, 5))
    actual = max(landed_first, scheduled + timedelta(minutes=rng.randint(-15, 25)))
    if actual > max(main.scheduled, main.actual or main.scheduled) - timedelta(minutes=35):
        return None
    return Planned(
        flid=main.flid + 2,
        role=Role.ARRIVAL,
        carrier=main.carrier,
        number=str(int(before.number) + 1),
        origin=before.destination,
        destination=main.origin,
        scheduled=scheduled,
        actual=actual,
        arrival=scheduled - before.air_time - timedelta(minutes=25),
        tail=main.tail,
        aircraft=main.aircraft,
        seats=main.seats,
        terminal=main.terminal,
        gate=main.gate,
        stand=main.stand,
        counters=(),
        chute="",
        belt=f"BL{rng.randint(1, 8):02d}",
        agent=main.agent,
        late=False,
        withdrawn=False,
    )


def _joined(main: Planned, leg: Planned) -> tuple[Planned, Planned]:
    """Both flights, each knowing the other."""
    joined = replace(main, partner=leg)
    return joined, replace(leg, partner=joined)


def _code_share(main: Planned, rng: Random) -> Planned:
    return replace(
        main,
        flid=main.flid + 1,
        role=Role.CODE_SHARE,
        carrier=rng.choice(_PARTNERS.get(main.carrier, _PARTNERS[""])),
        number=str(rng.randint(3000, 8999)),
        late=main.late or rng.random() < 0.05,
        withdrawn=rng.random() < 0.04,
        main=main,
        partner=None,
    )


def _ferries(planned: Iterable[Planned], base: int, rng: Random) -> list[Planned]:
    """One flight in a hundred: an empty aircraft that was to be moved to where another flight goes, and was not."""
    mains = [flight for flight in planned if flight.role is Role.DEPARTURE]
    chosen = rng.sample(mains, k=max(1, len(mains) // 100))
    return [
        replace(
            model,
            flid=base + 9_000 + n,
            role=Role.FERRY,
            number=str(9_800 + n),
            scheduled=model.scheduled + timedelta(minutes=rng.randrange(20, 60, 5)),
            actual=None,
            arrival=model.arrival + timedelta(minutes=90),
            tail=None,
            counters=(),
            chute="",
            late=True,
            withdrawn=True,
            partner=None,
        )
        for n, model in enumerate(chosen, start=1)
    ]

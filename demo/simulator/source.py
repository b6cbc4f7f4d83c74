"""The real flights behind the simulator: what the shipped CSV files say, read once and typed.

Times are kept in UTC and turned into the airport's wall time only where a message is written, so that no sum of minutes
ever depends on a zone. Where the data comes from, and what it has no word of: `demo/data/README.md`.
"""

from __future__ import annotations

import csv
import gzip
import io
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from collections.abc import Iterator


class NoSuchDayError(LookupError):
    """The data has no departures of this airport on this day; the message lists what it has."""


@dataclass(frozen=True, slots=True)
class Departure:
    """One scheduled departure as it is on record. `actual` None = it was cancelled."""

    origin: str
    destination: str
    carrier: str
    number: str
    tail: str | None
    scheduled: datetime
    """Scheduled off-block time, UTC."""
    actual: datetime | None
    """Actual off-block time, UTC."""
    arrival: datetime
    """Scheduled arrival at the destination, UTC."""
    air_time: timedelta | None
    """Wheels up to wheels down; None if cancelled or not reported."""

    @property
    def delay(self) -> timedelta:
        """Actual less scheduled; nothing for a cancelled flight, negative for an early one."""
        return (self.actual or self.scheduled) - self.scheduled


@dataclass(frozen=True, slots=True)
class Plane:
    """An aircraft of the register. `model` is the maker's name for it."""

    model: str
    seats: int


def _rows(name: str) -> Iterator[dict[str, str]]:
    raw = files("demo").joinpath("data", name).read_bytes()
    text = (gzip.decompress(raw) if name.endswith(".gz") else raw).decode("utf-8")
    return csv.DictReader(io.StringIO(text))


@cache
def airports() -> dict[str, tuple[str, ZoneInfo]]:
    """IATA code -> (name, time zone)."""
    return {row["faa"]: (row["name"], ZoneInfo(row["tzone"])) for row in _rows("airports.csv")}


@cache
def airlines() -> dict[str, str]:
    """IATA carrier code -> name."""
    return {row["carrier"]: row["name"] for row in _rows("airlines.csv")}


@cache
def planes() -> dict[str, Plane]:
    """Tail number -> aircraft. Private planes that share a tail number with an airliner's fleet number are left out."""
    return {
        row["tailnum"]: Plane(row["model"], int(row["seats"]))
        for row in _rows("planes.csv.gz")
        if row["engine"] in ("Turbo-fan", "Turbo-jet") and int(row["seats"]) >= 30
    }


def zone(airport: str) -> ZoneInfo:
    """The airport's time zone: what `msgx.airport.timezone` has to be for its messages."""
    try:
        return airports()[airport][1]
    except KeyError:
        raise NoSuchDayError(f"no departures of {airport}; the data has {_available()}") from None


@cache
def _departures() -> dict[tuple[str, date], tuple[Departure, ...]]:
    found: dict[tuple[str, date], list[Departure]] = {}
    for row in _rows("flights.csv.gz"):
        day = date(int(row["year"]), int(row["month"]), int(row["day"]))
        found.setdefault((row["origin"], day), []).append(_departure(row))
    return {
        key: tuple(sorted(group, key=lambda f: (f.scheduled, f.carrier, int(f.number)))) for key, group in found.items()
    }


def _departure(row: dict[str, str]) -> Departure:
    # time_hour is the hour only; the minutes stand in sched_dep_time (hhmm, local).
    scheduled = datetime.fromisoformat(row["time_hour"]) + timedelta(minutes=int(row["sched_dep_time"]) % 100)
    actual = scheduled + timedelta(minutes=int(row["dep_delay"])) if row["dep_time"] else None
    return Departure(
        origin=row["origin"],
        destination=row["dest"],
        carrier=row["carrier"],
        number=row["flight"],
        tail=row["tailnum"] or None,
        scheduled=scheduled,
        actual=actual,
        arrival=_next_wall_time(scheduled, int(row["sched_arr_time"]), airports()[row["dest"]][1]),
        air_time=timedelta(minutes=int(row["air_time"])) if row["air_time"] else None,
    )


def _next_wall_time(after: datetime, hhmm: int, tz: ZoneInfo) -> datetime:
    """The first instant after `after` at which the clock in `tz` shows `hhmm` (2400 = midnight)."""
    local = after.astimezone(tz)
    hour, minute = divmod(hhmm, 100)
    at = local.replace(hour=hour % 24, minute=minute)
    if at <= local:
        at += timedelta(days=1)
    return at.astimezone(UTC)


def departures(airport: str, day: date) -> tuple[Departure, ...]:
    """Every departure of the airport that was scheduled on its local `day`, in order of schedule.

    Raises NoSuchDayError for an airport or a day that the data does not have.
    """
    try:
        return _departures()[airport, day]
    except KeyError:
        raise NoSuchDayError(f"no departures of {airport} on {day}; the data has {_available()}") from None


def available() -> dict[str, tuple[date, ...]]:
    """Airport -> the days that can be simulated."""
    days: dict[str, list[date]] = {}
    for airport, day in sorted(_departures()):
        days.setdefault(airport, []).append(day)
    return {airport: tuple(found) for airport, found in days.items()}


def _available() -> str:
    return "; ".join(f"{airport} on {', '.join(map(str, days))}" for airport, days in available().items())

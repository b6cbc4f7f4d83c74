"""The real flights: what the shipped data says, before anything is drawn."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from demo.simulator import NoSuchDayError, available, source

BLIZZARD = date(2013, 2, 8)


def test_every_airport_has_the_five_days() -> None:
    days = (date(2013, 2, 7), BLIZZARD, date(2013, 2, 9), date(2013, 7, 10), date(2013, 7, 11))
    assert available() == {"JFK": days, "EWR": days, "LGA": days}


def test_the_blizzard_at_jfk() -> None:
    flights = source.departures("JFK", BLIZZARD)
    assert len(flights) == 304
    assert sum(flight.actual is None for flight in flights) == 159


def test_all_flights_are_there() -> None:
    assert sum(len(source.departures(airport, day)) for airport, days in available().items() for day in days) == 4556


def test_schedule_is_of_the_local_day_and_in_order() -> None:
    for airport, days in available().items():
        for day in days:
            times = [flight.scheduled for flight in source.departures(airport, day)]
            assert times == sorted(times)
            assert {time.astimezone(source.zone(airport)).date() for time in times} == {day}


def test_a_departure_after_midnight_belongs_to_the_day_it_was_scheduled_on() -> None:
    (late,) = [f for f in source.departures("EWR", date(2013, 2, 7)) if (f.carrier, f.number) == ("EV", "4322")]
    assert late.scheduled == datetime(2013, 2, 8, 2, 59, tzinfo=UTC)  # 21:59 in New York
    assert late.actual == datetime(2013, 2, 8, 5, 27, tzinfo=UTC)  # 00:27 the next day
    assert late.delay == timedelta(minutes=148)


def test_midnight_written_as_2400() -> None:
    (late,) = [f for f in source.departures("JFK", date(2013, 2, 7)) if (f.carrier, f.number) == ("B6", "727")]
    assert late.actual == datetime(2013, 2, 8, 5, 0, tzinfo=UTC)
    assert late.arrival == datetime(2013, 2, 8, 8, 36, tzinfo=UTC)  # 04:36 in Puerto Rico, an hour ahead of New York


def test_arrivals_lie_after_departures_within_a_day() -> None:
    for airport, days in available().items():
        for day in days:
            for flight in source.departures(airport, day):
                assert timedelta(minutes=20) < flight.arrival - flight.scheduled < timedelta(hours=13), flight


@pytest.mark.parametrize(("airport", "day"), [("JFK", date(2013, 3, 1)), ("XXX", BLIZZARD)])
def test_what_is_not_there_is_said_with_what_is(airport: str, day: date) -> None:
    with pytest.raises(NoSuchDayError, match=r"JFK on 2013-02-07, 2013-02-08"):
        source.departures(airport, day)

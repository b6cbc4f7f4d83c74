"""Writing a stream: all of it, in order, at the pace that was asked for."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from demo.simulator import Stream, simulate, write

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime


class Sink:
    """A mailbox that notes when each batch came."""

    def __init__(self, clock: Clock) -> None:
        self.batches: list[tuple[float, list[str]]] = []
        self._clock = clock

    def send_many(self, bodies: Iterable[str | bytes], /) -> int:
        batch = [str(body) for body in bodies]
        self.batches.append((self._clock.now, batch))
        return len(batch)

    @property
    def bodies(self) -> list[str]:
        return [body for _, batch in self.batches for body in batch]


class Clock:
    """Seconds that pass only while somebody waits."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class Waiting(threading.Event):
    """An event whose waits move the clock; it sets itself at `until`."""

    def __init__(self, clock: Clock, until: float = float("inf")) -> None:
        super().__init__()
        self._passing = clock
        self._until = until

    def wait(self, timeout: float | None = None) -> bool:
        self._passing.now += timeout or 0.0
        if self._passing.now >= self._until:
            self.set()
        return self.is_set()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stream() -> Stream:
    return simulate(flights=50)


def test_as_fast_as_it_can(stream: Stream, clock: Clock) -> None:
    sink = Sink(clock)
    seen: list[tuple[int, datetime]] = []
    assert write(stream, sink, 0, clock, stop=Waiting(clock), progress=lambda *at: seen.append(at)) == len(stream)
    assert sink.bodies == [message.xml for message in stream]
    assert clock.now == 100.0
    assert len(sink.batches) == -(-len(stream) // 500)
    assert seen[-1] == (len(stream), list(stream)[-1].at)


def test_at_a_pace(stream: Stream, clock: Clock) -> None:
    sink = Sink(clock)
    messages = list(stream)
    assert write(stream, sink, 3600.0, clock, stop=Waiting(clock)) == len(messages)
    assert sink.bodies == [message.xml for message in messages]
    hours = (messages[-1].at - messages[0].at).total_seconds() / 3600
    assert clock.now - 100.0 == pytest.approx(hours)
    at = {body: when - 100.0 for when, batch in sink.batches for body in batch}
    for message in messages:
        # Never early; late only by what came in between, which here takes no time. A repeated message has one entry.
        due = (message.at - messages[0].at).total_seconds() / 3600
        assert at[message.xml] >= due - 1e-6
    assert len(sink.batches) > 100


def test_the_stream_has_a_pace_of_its_own(clock: Clock) -> None:
    sink = Sink(clock)
    write(simulate(flights=3, speed=1e6), sink, clock=clock, stop=Waiting(clock))
    assert clock.now > 100.0


def test_stops_when_it_is_told(stream: Stream, clock: Clock) -> None:
    sink = Sink(clock)
    written = write(stream, sink, 3600.0, clock, stop=Waiting(clock, until=103.0))
    assert 0 < written < len(stream)
    assert len(sink.bodies) == written


def test_a_negative_speed_is_refused(stream: Stream, clock: Clock) -> None:
    with pytest.raises(ValueError, match="simulated seconds"):
        write(stream, Sink(clock), -1.0, clock)

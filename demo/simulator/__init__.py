"""A real day's flights as mailbox messages: `simulate` makes the stream, `write` puts it into a mailbox."""

from __future__ import annotations

from demo.simulator.source import NoSuchDayError, available
from demo.simulator.stream import DEFAULT_AIRPORT, DEFAULT_DAY, Message, Stream, Truth, simulate
from demo.simulator.writer import write

__all__ = [
    "DEFAULT_AIRPORT",
    "DEFAULT_DAY",
    "Message",
    "NoSuchDayError",
    "Stream",
    "Truth",
    "available",
    "simulate",
    "write",
]

"""A real day's flights as mailbox messages: `simulate` makes the stream, `write` puts it into a mailbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demo.simulator.source import NoSuchDayError, available
from demo.simulator.stream import DEFAULT_AIRPORT, DEFAULT_DAY, Message, Stream, Truth, simulate
from demo.simulator.writer import write

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "DEFAULT_AIRPORT",
    "DEFAULT_DAY",
    "Message",
    "NoSuchDayError",
    "Stream",
    "Truth",
    "available",
    "main",
    "simulate",
    "write",
]


def main(arguments: Sequence[str]) -> int:
    """``msgx simulate``; gives its exit code. Its own imports wait until it is called: a stream needs none of them."""
    from demo.simulator.command import main as command

    return command(arguments)

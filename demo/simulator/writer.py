"""From a stream into a mailbox, as fast as it takes them or at a pace."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from demo.simulator.stream import Stream

_BATCH = 500
_LONGEST_PAUSE = 0.5  # seconds


class Sink(Protocol):
    """What is needed of :class:`loader.mailbox.Mailbox`: it fills in the receive time itself."""

    def send_many(self, bodies: Iterable[str | bytes], /) -> int:
        """Put bodies into the mailbox, in this order."""
        ...


def write(
    stream: Stream,
    mailbox: Sink,
    speed: float | None = None,
    clock: Callable[[], float] = time.monotonic,
    *,
    stop: threading.Event | None = None,
    progress: Callable[[int, datetime], None] | None = None,
) -> int:
    """Write the stream's messages in order, those that are due together in one statement; gives how many were written.

    Args:
        stream: What to write.
        mailbox: Where to.
        speed: Simulated seconds per second, 0 = as fast as it can; None = the stream's own.
        clock: Seconds that only grow.
        stop: Set it from another thread to end after the batch in hand.
        progress: Called after each batch with the number written so far and the simulated time reached.

    Raises:
        ValueError: a negative speed.
        MailboxError: as the mailbox does; what was written before stays.
    """
    pace = stream.speed if speed is None else speed
    if pace < 0:
        raise ValueError("speed is in simulated seconds per second, 0 = as fast as the mailbox takes them")
    stop = stop or threading.Event()
    written = 0
    batch: list[str] = []
    reached: datetime | None = None

    def flush() -> None:
        nonlocal written
        if batch and reached is not None:
            written += mailbox.send_many(batch)
            batch.clear()
            if progress:
                progress(written, reached)

    started = clock()
    first: datetime | None = None
    for message in stream:
        first = first or message.at
        due = started + (message.at - first).total_seconds() / pace if pace else started
        if due > clock():
            flush()
            while not stop.is_set() and (wait := due - clock()) > 0:
                stop.wait(min(wait, _LONGEST_PAUSE))
        if stop.is_set():
            return written
        batch.append(message.xml)
        reached = message.at
        if len(batch) >= _BATCH:
            flush()
    flush()
    return written

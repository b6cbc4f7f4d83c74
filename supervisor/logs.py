"""Structured logs on standard error: JSON lines for machines, short lines for a terminal.

An event is one clear sentence; ids stand beside it as fields (``message_id``, ``flid``, ``event_id``, ``duty``). A
fault that repeats is told once in a while, with how often it was met meanwhile.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import structlog

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.config import Log

Logger = structlog.typing.FilteringBoundLogger

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def configure(settings: Log) -> None:
    """Set up structlog, and quieten the libraries that would repeat us."""
    as_text = settings.format == "text" or (settings.format == "auto" and sys.stderr.isatty())
    renderer: Any = (
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
        if as_text
        else structlog.processors.JSONRenderer(ensure_ascii=False)
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[settings.level]),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),  # the stream of the moment, if it is redirected
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s %(message)s")
    # Its warnings say that a run was skipped since the last one still runs; a hung duty is told by us, with its name.
    logging.getLogger("apscheduler").setLevel(logging.CRITICAL)


def logger(**fields: Any) -> Logger:
    """A logger that carries these fields."""
    bound: Logger = structlog.get_logger().bind(**fields)
    return bound


class Limiter:
    """Lets a repeated fault through once an interval.

    Args:
        interval: Seconds between two lines about the same key.
        clock: Monotonic seconds.
    """

    def __init__(self, interval: float = 30.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval = interval
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[float, int]] = {}

    def allow(self, key: str) -> int | None:
        """None = say nothing now; else how often the key was held back since the last line."""
        now = self._clock()
        with self._lock:
            last = self._seen.get(key)
            if last is not None and now - last[0] < self._interval:
                self._seen[key] = (last[0], last[1] + 1)
                return None
            if len(self._seen) > 500:
                self._seen.clear()
            self._seen[key] = (now, 0)
            return last[1] if last else 0

    def forget(self, key: str) -> bool:
        """The fault is over: the next one is told at once. True if there was one."""
        with self._lock:
            return self._seen.pop(key, None) is not None

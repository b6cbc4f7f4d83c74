"""Leadership: one supervisor works, the others stand by (design section 9).

The database's clock judges the lease, and every routine that writes checks the epoch, so nothing wrong can be
*written* by a deposed leader. What is told to Kafka and the mailbox is not in the database, so a leader also judges
itself, on its own monotonic clock and from the moment *before* it asked: when that runs out it holds its tongue,
whether or not it could hear why.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg

from supervisor import database
from supervisor.errors import DatabaseUnreachable, StaleEpoch, one_line
from supervisor.logs import Limiter, logger

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.database import Session


@dataclass(frozen=True, slots=True)
class Leadership:
    """An epoch of ours, and until when it holds on our own monotonic clock."""

    epoch: int
    until: float


class LeaseKeeper:
    """Acquires, renews, loses and releases the lease.

    :meth:`keep` is called by one thread, again and again; the rest may be asked from any thread.

    Args:
        session: A connection for the lease alone.
        holder: Who we are: host and process.
        ttl: Seconds that the lease lasts without renewal.
        on_change: Called with the new epoch, or None when it is lost.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        session: Session,
        holder: str,
        ttl: float,
        *,
        on_change: Callable[[int | None], None] = lambda _epoch: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.session = session
        self.holder = holder
        self._ttl = ttl
        self._on_change = on_change
        self._clock = clock
        self._lock = threading.Lock()
        self._now: Leadership | None = None
        self._released = False
        self._log = logger(duty="lease")
        self._limiter = Limiter()
        self.other: str = ""  #: who leads instead, as far as we know

    @property
    def epoch(self) -> int | None:
        """Our epoch while we lead and the lease has not run out on our own clock; else None."""
        now = self._now
        return now.epoch if now is not None and self._clock() < now.until else None

    def holds(self) -> bool:
        """Whether we may tell anybody anything."""
        return self.epoch is not None

    def outlasts(self, seconds: float) -> bool:
        """Whether we lead, and for so many seconds more on our own clock even if no renewal succeeds."""
        now = self._now
        return now is not None and self._clock() + seconds < now.until

    def keep(self) -> None:
        """One step: stand by, become leader, renew, or notice that it is over.

        Raises:
            DatabaseUnreachable, psycopg.Error: the database could not be asked; an epoch we have lasts until it runs
            out.
        """
        if self._released:
            return
        asked = self._clock()
        now = self._now
        try:
            if now is None:
                self._stand_by(asked)
            else:
                database.lease_renew(self.session.connection, now.epoch, self._ttl)
                self._set(Leadership(now.epoch, asked + self._ttl))
        except StaleEpoch as error:
            self.lose(now.epoch if now else None, error.message)
        except (DatabaseUnreachable, psycopg.Error) as error:
            self.session.close()
            if now is not None and self._clock() >= now.until:
                self.lose(now.epoch, f"the lease could not be renewed in time: {one_line(error)}")
            raise

    def _stand_by(self, asked: float) -> None:
        lease = database.lease_acquire(self.session.connection, self.holder, self._ttl)
        if not lease.acquired:
            if lease.holder != self.other:
                self.other = lease.holder or ""
                self._log.info(f"Standing by: {self.other} leads", holder=self.other)
            if lease.holder is not None:
                ended = database.end_old_leader(self.session.connection, lease.holder)
                if ended:
                    self._log.warning(f"{lease.holder} is frozen: {ended} of its transactions were ended, to take over")
            return
        if self._clock() >= asked + self._ttl:
            return  # the answer took longer than the lease lasts; the next step finds it free
        self.other = ""
        self._set(Leadership(lease.epoch, asked + self._ttl))
        self._log.info(f"Leading as {self.holder} under epoch {lease.epoch}", epoch=lease.epoch)
        self._on_change(lease.epoch)

    def lose(self, epoch: int | None, why: str) -> None:
        """Stop leading under ``epoch`` at once; a duty calls this too when it meets MX010."""
        with self._lock:
            if self._now is None or (epoch is not None and self._now.epoch != epoch):
                return
            self._now = None
        self._log.warning(f"No longer leading, standing by: {why}", epoch=epoch)
        self._on_change(None)

    def release(self) -> None:
        """Give the lease back, so that another leads at once. Never raises; it runs out by itself otherwise."""
        with self._lock:
            now, self._now = self._now, None
            self._released = True
        if now is None:
            return
        try:
            database.lease_release(self.session.connection, now.epoch)
        except StaleEpoch:
            self._log.info("The lease had passed to another supervisor already", epoch=now.epoch)
        except (DatabaseUnreachable, psycopg.Error) as error:
            self._log.warning(f"The lease could not be released and runs out by itself: {one_line(error)}")
        else:
            self._log.info("The lease is released", epoch=now.epoch)

    def _set(self, leadership: Leadership) -> None:
        with self._lock:
            if not self._released:
                self._now = leadership

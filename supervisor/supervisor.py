"""The process: stands by, leads, stops.

``msgx run`` lasts until a signal; ``msgx run --until-idle`` until everything is worked off. Both are the same
process: leadership, one job a duty (:mod:`supervisor.duties`), and this thread, which watches them.

Stopping, in order, within ``stop_timeout``: no new run begins; a run that goes on ends at its next step, and its
statement is cancelled if it does not; connections and producers go; the lease is released, so that another leads at
once. Whatever had not been committed by then never happened, and whatever had been told without being settled is told
again. A second signal ends the process at once; ``kill -9`` leaves nothing else behind than either.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psycopg

from supervisor import database, deploy, relay, status
from supervisor.backfill import Backfill
from supervisor.database import Session
from supervisor.duties import Board, Housekeeping, Intake, LeaseDuty, Pump, Restage, relay_duties
from supervisor.errors import ConfigError, DatabaseUnreachable, SchemaUnknown, one_line
from supervisor.exits import Exit
from supervisor.lease import LeaseKeeper
from supervisor.logs import Limiter, logger

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from supervisor.config import Settings

WATCH_EVERY = 0.5  # seconds
PATIENCE = 5.0  # seconds without progress before --until-idle gives up what is due, however small --max-wait is
LONG_RUN = 2.0  # seconds in one run that --until-idle mentions when something is left
RELEASE_TIME = 3.0  # seconds of stop_timeout that are kept for the lease


class Supervisor:
    """One process.

    Args:
        settings: All of msgx.toml.
        clock: Monotonic seconds.
    """

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._stop = threading.Event()
        self._signals = 0
        self._log = logger()
        self._limiter = Limiter()
        self._session = Session(settings.database, "supervisor")
        holder = f"{socket.gethostname()}:{os.getpid()}:{database.PROCESS}"
        self.keeper = LeaseKeeper(
            Session(settings.database, "lease"), holder, settings.supervisor.lease_ttl, on_change=self._led, clock=clock
        )
        self.board = Board(settings, self.keeper, clock)
        self.intake = Intake(settings)
        self._http: Any = None

    def stop(self, *_: object) -> None:
        """Ask it to stop; from any thread."""
        self._stop.set()

    def run(self) -> Exit:
        """Until a signal.

        Returns:
            OK, or FORCED where a thread would not end: it keeps the interpreter, so the caller must use ``os._exit``.

        Raises:
            SchemaUnknown: the database is not on this release's schema.
            ConfigError: the login is not one that may lead.
            ConfigError: the Kafka client refuses its settings, or the web server's port is taken.
        """
        with _signals(self._on_signal):
            if self._wait_for_database(None):
                self._begin()
                while not self._stop.wait(WATCH_EVERY):
                    self.board.watch()
            return self._end()

    def run_until_idle(self, max_wait: float) -> tuple[Exit, list[str]]:
        """Until nothing is left, or nothing can go on within ``max_wait`` seconds after the last thing that moved.

        Returns:
            The exit and, if it is not OK, what is left, in sentences.

        Raises:
            SchemaUnknown: the database is not on this release's schema.
            ConfigError: the login is not one that may lead.
            DatabaseUnreachable: it could not be reached for ``max_wait`` seconds.
        """
        with _signals(self._on_signal):
            left: list[str] = []
            outcome = Exit.OK
            if self._wait_for_database(max_wait):
                self._begin()
                left = self._work_off(max_wait)
                outcome = Exit.NOT_IDLE if left else Exit.OK
            ended = self._end()
            return (ended if ended is not Exit.OK else outcome), left

    # Beginning

    def _wait_for_database(self, longest: float | None) -> bool:
        """Until it answers, and is on our schema; false if we are asked to stop before."""
        begun = self._clock()
        while not self._stop.is_set():
            try:
                connection = self._session.connection
                if connection.info.backend_pid != database.value(connection, "select pg_backend_pid()"):
                    raise SchemaUnknown(
                        "Between us and PostgreSQL stands a pooler, and our sessions need one server process each.",
                        "Give [database] url the address of PostgreSQL itself.",
                    )
                refusal = deploy.known_schema(connection)
                if refusal is not None:
                    raise SchemaUnknown(refusal)
                may_lead = "select has_function_privilege('core.lease_acquire(text, interval)', 'execute')"
                if not database.value(connection, may_lead):
                    raise ConfigError(
                        f"{connection.info.user} may not run the supervisor.",
                        f"Run `grant msgx_app to {connection.info.user}`, or give [database] url a login that has it.",
                    )
            except (DatabaseUnreachable, psycopg.OperationalError) as error:
                self._session.close()
                if longest is not None and self._clock() - begun >= longest:
                    raise DatabaseUnreachable(one_line(error)) from error
                if self._limiter.allow("database") is not None:
                    self._log.warning(f"Waiting for PostgreSQL: {one_line(error)}")
                self._stop.wait(1.0)
            else:
                return True
        return False

    def _begin(self) -> None:
        settings = self._settings
        relay.check(settings.kafka)
        self.board.add(
            [LeaseDuty(settings, self.keeper, self.board.hung), self.intake, Restage(settings), Pump(settings)]
        )
        self.board.add(relay_duties(settings, self.board.stopping, self.keeper.outlasts))
        self.board.add([Backfill(settings), Housekeeping(settings)])
        if settings.http.enabled:
            from supervisor.http import Server  # loaded only where it is wanted

            self._http = Server(settings, self.board, self.keeper)
            self._http.start()
        self._log.info(f"msgx {deploy.release()} is up as {self.keeper.holder}", holder=self.keeper.holder)
        self.board.start()

    def _led(self, epoch: int | None) -> None:
        if epoch is not None:
            self.board.lead()

    # Until idle

    def _work_off(self, max_wait: float) -> list[str]:
        moved_at = self._clock()
        before: Any = None
        confirmed_by = None  # the intake run that has to end before "nothing left" is believed
        pause = 0.05
        while not self._stop.wait(pause):
            self.board.watch()
            asked = self._clock()
            try:
                left = status.left(self._session.connection)
            except (DatabaseUnreachable, psycopg.Error) as error:
                self._session.close()
                if asked - moved_at > max_wait:
                    return [f"PostgreSQL cannot be asked what is left: {one_line(error)}."]
                pause = 1.0
                continue
            pause = min(2.0, max(0.1, 5 * (self._clock() - asked)))
            if left.fingerprint != before:
                before, moved_at, confirmed_by = left.fingerprint, asked, None
            runs = self.board.runner("intake").completed
            if not left.rests and self.keeper.holds() and self.intake.caught_up and runs:
                if confirmed_by is None:
                    confirmed_by = runs
                    self.board.nudge("intake")
                elif runs > confirmed_by:
                    return []
                continue
            confirmed_by = None
            stood = asked - moved_at
            if stood > max(max_wait, PATIENCE) or self._nothing_due(left, max_wait - stood):
                return self._what_is_left(left)
        return ["The supervisor was stopped before everything was worked off."] if self._stop.is_set() else []

    def _nothing_due(self, left: status.Left, wait: float) -> bool:
        """Whether all that is left is waiting for a time that is too far away."""
        if not left.rests or not self.keeper.holds() or any(one.trouble for one in self.board.health()):
            return False
        read = self.intake.caught_up or any("Mailbox id" in rest.what for rest in left.rests)
        return read and not left.due_by(left.now + timedelta(seconds=wait))

    def _what_is_left(self, left: status.Left) -> list[str]:
        sentences = [rest.what for rest in left.rests]
        if not self.keeper.holds():
            who = f": {self.keeper.other} does" if self.keeper.other else ""
            sentences.insert(0, f"This supervisor does not lead{who}.")
        elif not self.intake.caught_up and not sentences:
            sentences.append("The mailbox was not read to its end.")
        sentences += [
            f"{one.name} has been waiting for an answer for {one.running_for:.0f} s"
            + (", longer than its limit." if one.hung else ".")
            for one in self.board.health()
            if one.running_for is not None and (one.hung or one.running_for >= LONG_RUN)
        ]
        sentences += [f"{one.name}: {one.trouble}" for one in self.board.health() if one.trouble]
        return sentences

    # Ending

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._signals += 1
        if self._signals > 1:
            os.write(2, b"Stopped at once by a second signal.\n")
            os._exit(Exit.FORCED)
        self._stop.set()

    def _end(self) -> Exit:
        limit = self._settings.supervisor.stop_timeout
        began = self._clock()
        if self._http is not None:
            self._http.stop()
        stuck = self.board.stop(max(limit - RELEASE_TIME, limit / 2)) if self.board.started else []
        if "lease" in stuck:
            self.keeper.session = Session(self._settings.database, "lease")
        self.keeper.release()
        if "lease" not in stuck:
            self.keeper.session.close()
        self._session.close()
        took = self._clock() - began
        if not stuck:
            self._log.info(f"Stopped in {took:.1f} s")
            return Exit.OK
        self._log.error(
            f"{', '.join(stuck)} did not end within {limit:.0f} s and is cut off; what it had not committed is undone"
        )
        return Exit.FORCED


class _signals:  # noqa: N801  reads as a statement
    """SIGTERM and SIGINT go to ``handler`` inside, where this is the main thread; as before outside."""

    def __init__(self, handler: Callable[[int, FrameType | None], None]) -> None:
        self._handler = handler
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._before[number] = signal.signal(number, self._handler)

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

"""The duties of a leader, and what runs them.

A duty is one piece of work with one thread and connections of its own, so that a hung one takes nothing from the
others. APScheduler starts it: on its interval (the safety net), and at once when another duty *nudges* it, since work
wakes work: intake → pump → relay and backfill. A duty drains what is due, yields after its budget and goes on where
more is left.

Nothing that a duty raises ends it: it is told as one sentence, and the duty is tried again, later each time (up to 10
s). A run that lasts longer than its limit is *hung* from then on, in status, in ``/readyz`` and in the log, until it
comes back. It cannot be ended from outside, but where it waits for PostgreSQL its connection is cut, and it raises.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import psycopg
from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_EXECUTED, JobExecutionEvent
from apscheduler.executors.base import BaseExecutor, run_job
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler

from loader import intake
from loader.mailbox import MailboxError, MailboxUnavailable
from supervisor import database
from supervisor.database import MSG, SCHD, Session
from supervisor.errors import BrokerUnreachable, DatabaseUnreachable, MsgxError, StaleEpoch, mapped, one_line
from supervisor.logs import Limiter, logger
from supervisor.mailbox import open_mailbox
from supervisor.relay import Relay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from loader.mailbox import Mailbox
    from supervisor.config import Settings
    from supervisor.lease import LeaseKeeper

RESTAGE_BATCH = 200  # bodies fetched by id in one go
PRUNE_BATCH = 5000  # events deleted in one call
AUDITED_HOLES = 100  # the latest holes that are looked into again
AUDITED_MARKS = 100  # the latest marks that are looked at again
MAX_RETRY_DELAY = 10.0  # seconds; so much later than a service that came back we are at the latest
REPORT_EVERY = 5.0  # seconds between two reports of the same good news
CLOCK_SLACK = 5.0  # seconds after which an overdue run means that the wall clock was set back


class Trouble(Exception):
    """A service did not do its part; the duty backs off. The message is the sentence for the log."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run did.

    Attributes:
        done: Messages, events or marks that moved.
        again: More is due right now; the budget of this run is used up.
        wake_in: Seconds until something is due, if that is known.
        detail: For status, a few words.
    """

    done: int = 0
    again: bool = False
    wake_in: float | None = None
    detail: str = ""


class Work:
    """What a duty may ask during a run.

    Args:
        epoch: The epoch of this run.
        stopping: Set when the process stops.
        holds: Whether the lease still holds on our own clock.
        nudge: Wakes another duty.
        budget: Seconds after which the run should yield.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        epoch: int,
        stopping: threading.Event,
        holds: Callable[[], bool],
        nudge: Callable[..., None],
        budget: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.epoch = epoch
        self.nudge = nudge
        self._stopping = stopping
        self._holds = holds
        self._clock = clock
        self._end = clock() + budget

    @property
    def goes_on(self) -> bool:
        """Whether we still lead and are not asked to stop."""
        return not self._stopping.is_set() and self._holds()

    @property
    def has_time(self) -> bool:
        """Whether another piece may be begun in this run."""
        return self.goes_on and self._clock() < self._end


class Duty(ABC):
    """One duty. All but ``name``, ``interval`` and ``limit`` is used by its own thread alone."""

    def __init__(self, name: str, settings: Settings) -> None:
        self.name = name
        key = name.replace("-", "_")
        self.interval: float = getattr(settings.supervisor.interval, key)
        self.limit: float = getattr(settings.supervisor.limit, key)
        self.session = Session(settings.database, name)
        self.log = logger(duty=name)

    @abstractmethod
    def run(self, work: Work) -> Outcome:
        """Do what is due, until there is nothing more or ``work.has_time`` is false."""

    def interrupt(self) -> None:
        """From another thread: end what blocks, because the process cannot wait any longer."""
        self.session.cancel()

    def close(self) -> None:
        """Give all connections back."""
        self.session.close()


class MailboxDuty(Duty):
    """A duty that reads or marks the mailbox, over a connection of its own."""

    def __init__(self, name: str, settings: Settings) -> None:
        super().__init__(name, settings)
        self._settings = settings
        self._mailbox: Mailbox | None = None

    @property
    def mailbox(self) -> Mailbox:
        """The mailbox of this thread."""
        if self._mailbox is None:
            self._mailbox = open_mailbox(self._settings.mailbox, self.session.connection)
        return self._mailbox

    def close(self) -> None:
        """The mailbox too."""
        mailbox, self._mailbox = self._mailbox, None
        if mailbox is not None:
            mailbox.close()
        super().close()


class Intake(MailboxDuty):
    """Reads the mailbox on from the watermark (implementation.md 4.1)."""

    def __init__(self, settings: Settings) -> None:
        super().__init__("intake", settings)
        self.caught_up = False  #: the last round found no row behind the watermark

    def run(self, work: Work) -> Outcome:
        """Round after round while they admit something."""
        done = 0
        while work.has_time:
            with mapped():
                read = intake.round(self.mailbox, self.session.connection, work.epoch)
            if not read.admitted:
                self.caught_up = read.fetched == 0
                return Outcome(done, detail="" if self.caught_up else "waits at a hole")
            self.caught_up = False
            done += len(read.admitted)
            work.nudge("pump")
        return Outcome(done, again=work.goes_on)


class Restage(MailboxDuty):
    """Fetches by id what was admitted without its body: HTTP entry, replay, a mended codec."""

    def __init__(self, settings: Settings) -> None:
        super().__init__("restage", settings)

    def run(self, work: Work) -> Outcome:
        """Batch after batch while there is more."""
        done = 0
        while work.has_time:
            with mapped():
                restaged = intake.restage(self.mailbox, self.session.connection, work.epoch, RESTAGE_BATCH)
            done += len(restaged.staged)
            if restaged.staged or restaged.unread:
                work.nudge("pump")
            if restaged.error:
                raise Trouble(restaged.error)
            if not restaged.more:
                return Outcome(done)
        return Outcome(done, again=work.goes_on)


class Pump(Duty):
    """Calls the pump until it has nothing more to do."""

    def __init__(self, settings: Settings) -> None:
        super().__init__("pump", settings)
        self._messages = settings.supervisor.pump_messages
        self._ms = settings.supervisor.pump_ms
        self._told_watermark: int | None = None

    def run(self, work: Work) -> Outcome:
        """One call after the other while their answer is BUDGET."""
        done = 0
        while work.has_time:
            pumped = database.pump(self.session.connection, work.epoch, self._messages, self._ms)
            done += pumped.processed
            if pumped.processed:
                work.nudge("relay-msg", "backfill")
            if pumped.trace_failures:
                self.log.warning(
                    f"{pumped.trace_failures} traces of day plans could not be written; no state depends on them"
                )
            if pumped.stop == "BUDGET":
                continue
            # States are told once there is a pause, and on their interval meanwhile: versions in between cost nothing.
            if done:
                work.nudge("relay-schd")
            if pumped.stop == "HEAD_UNSTAGED":
                work.nudge("restage")
            elif pumped.stop == "BEYOND_WATERMARK":
                self._tell_beyond(pumped.head)
                work.nudge("intake")
            wake_in = None
            if pumped.until is not None:
                wake_in = database.seconds_until(self.session.connection, pumped.until)
            return Outcome(done, wake_in=wake_in, detail=pumped.stop)
        return Outcome(done, again=work.goes_on, detail="BUDGET")

    def _tell_beyond(self, head: int | None) -> None:
        """Once for each watermark (implementation.md 5.1): a message that came by HTTP waits until intake is there."""
        watermark = database.watermark(self.session.connection)
        if watermark != self._told_watermark:
            self._told_watermark = watermark
            self.log.warning(
                f"Message {head} was registered ahead of the watermark {watermark} and waits for intake to come there",
                message_id=head,
            )


class RelayDuty(Duty):
    """Tells Kafka what the outbox holds for one target.

    The client may keep a record for half a lease at most, and is given one only while the lease lasts longer than that.
    So what a frozen leader still has in its hand has expired when it wakes, after the next one has told newer things.
    """

    def __init__(
        self, settings: Settings, target: str, stopping: threading.Event, outlasts: Callable[[float], bool]
    ) -> None:
        super().__init__("relay-schd" if target == SCHD else "relay-msg", settings)
        self._aggregates = target == SCHD
        longest = min(settings.kafka.delivery_timeout, settings.supervisor.lease_ttl / 2)
        kafka = settings.kafka.model_copy(update={"delivery_timeout": longest})
        self.relay = Relay(kafka, target, stopping=stopping, may_tell=lambda: outlasts(longest))

    def run(self, work: Work) -> Outcome:
        """Claim after claim until one is empty; after a sign of trouble with the broker, the next run.

        A claim of states that is not full took all that were due: what changes meanwhile has a run of its own.
        """
        done = 0
        full = database.setting(self.session.connection, "schd_flush_limit") if self._aggregates else 1
        while work.has_time:
            told = self.relay.run_once(self.session.connection, work.epoch)
            done += told.sent + told.failed
            if told.trouble and work.goes_on:
                raise Trouble(
                    f"Kafka does not take all of {self.relay.topic} ({told.released} events given back): {told.trouble}"
                )
            if told.claimed < full:
                return Outcome(done)
        return Outcome(done, again=work.goes_on)

    def close(self) -> None:
        """The producer goes too."""
        self.relay.close()
        super().close()


class Housekeeping(MailboxDuty):
    """Clears what is past its time, looks for what should not be; each task alone, so that none stops another."""

    def __init__(self, settings: Settings) -> None:
        super().__init__("housekeeping", settings)
        self._told_alert: int | None = None
        self.mailbox_max: int | None = None  #: at the last look, for the watermark's lag

    def run(self, work: Work) -> Outcome:
        """Every task once."""
        done = 0
        failed: list[BaseException] = []
        for task in (self._tell_alerts, self._prune_events, self._expire_requests, self._audit_mailbox):
            if not work.goes_on:
                break
            try:
                done += task(work)
            except (StaleEpoch, DatabaseUnreachable):
                raise
            except (MsgxError, MailboxError, psycopg.Error) as error:
                failed.append(error)
        if len(failed) == 1:
            raise failed[0]
        if failed:
            raise Trouble("; ".join(one_line(error) for error in failed))
        return Outcome(done)

    def _tell_alerts(self, _work: Work) -> int:
        """New alerts as log lines, for those who watch logs; the first look only finds out where they begin."""
        connection = self.session.connection
        if self._told_alert is None:
            self._told_alert = database.last_alert(connection)
        for alert in database.alerts_after(connection, self._told_alert):
            self._told_alert = alert.alert_id
            self.log.warning(f"{alert.code}: {alert.detail}", alert_id=alert.alert_id, message_id=alert.message_id)
        return 0

    def _prune_events(self, work: Work) -> int:
        """In short calls, so that no lock lasts."""
        done = 0
        while work.has_time:
            pruned = database.prune_events(self.session.connection, work.epoch, PRUNE_BATCH)
            done += pruned
            if not pruned:
                break
        return done

    def _expire_requests(self, work: Work) -> int:
        return database.expire_requests(self.session.connection, work.epoch)

    def _audit_mailbox(self, work: Work) -> int:
        """Where a hole was passed over, a row may have come after all; and the mailbox's ids may have begun anew.

        Ids that were given out a second time need not show in the largest one: but what we marked bears no mark then.
        """
        connection = self.session.connection
        bounds = self.mailbox.bounds()
        if bounds is None:
            return 0
        self.mailbox_max = bounds[1]
        late = [
            row.id
            for first, last in database.recent_holes(connection, AUDITED_HOLES)
            for row in self.mailbox.read_after(first - 1, 1)
            if row.id <= last
        ]
        findings = database.audit_mailbox(connection, work.epoch, bounds, late)
        unmarked = self.mailbox.unmarked(database.marked(connection, AUDITED_MARKS))
        return findings + database.audit_marks(connection, work.epoch, unmarked)


def relay_duties(settings: Settings, stopping: threading.Event, outlasts: Callable[[float], bool]) -> list[Duty]:
    """One for each target, so that a full state topic does not delay a notice."""
    return [RelayDuty(settings, target, stopping, outlasts) for target in (MSG, SCHD)]


# What runs them ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Health:
    """How a duty is, for status, ``/readyz`` and metrics; ages in seconds.

    Attributes:
        running_for: How long the present run lasts; None between runs.
        hung: The present run has lasted longer than its limit.
        failures: Failed runs since the last success.
        success_age: Time since the last run that succeeded; None if none did since the start.
        trouble: What the last run met, if it failed.
    """

    name: str
    limit: float
    running_for: float | None
    hung: bool
    failures: int
    success_age: float | None
    trouble: str
    done: int


def _service(error: BaseException) -> str | None:
    """The service that is lost, if that is what happened: all duties that need it share one log line."""
    if isinstance(error, DatabaseUnreachable):
        return "PostgreSQL"
    if isinstance(error, MailboxUnavailable):
        return "The mailbox"
    return "Kafka" if isinstance(error, BrokerUnreachable) else None


class Runner:
    """Runs one duty: at most once at a time, backing off after failures, never losing a nudge."""

    def __init__(self, duty: Duty, board: Board) -> None:
        self.duty = duty
        self._board = board
        self._lock = threading.Lock()
        self._pending = False
        self._started_at: float | None = None
        self._ended_at = board.clock()
        self._succeeded_at: float | None = None
        self._not_before = 0.0
        self._failures = 0
        self._trouble = ""
        self._service: str | None = None
        self._done = 0
        self._last: Outcome = Outcome()
        self._reported: tuple[bool, float] = (False, float("-inf"))
        self._hung_told = False
        self._longest_delay = duty.interval if isinstance(duty, LeaseDuty) else MAX_RETRY_DELAY
        self.completed = 0  #: runs that succeeded while leading

    def execute(self) -> None:
        """What APScheduler calls, on the duty's own thread."""
        with self._lock:
            self._started_at = self._board.clock()
            self._pending = False
        outcome = Outcome()
        try:
            epoch = self._board.epoch()
            if epoch is not None and not self._board.stopping.is_set():
                outcome = self._attempt(epoch)
            elif epoch is None:
                self.duty.close()
        finally:
            with self._lock:
                self._last = outcome
                self._done += outcome.done

    def _attempt(self, epoch: int) -> Outcome:
        board = self._board
        work = Work(epoch, board.stopping, board.holds, board.nudge, board.budget, board.clock)
        try:
            outcome = self.duty.run(work)
        except StaleEpoch as error:
            board.stale(epoch, error.message)
            return Outcome()
        except BaseException as error:  # noqa: BLE001  also SystemExit of a library: a duty must outlive everything
            if board.stopping.is_set():
                return Outcome()  # cut short by the stop, which is no failure of the duty
            self._failed(error)
            if not isinstance(error, DatabaseUnreachable):
                self._report(epoch, ok=False, detail=self._trouble)
            return Outcome()
        with self._lock:
            self._succeeded_at = board.clock()
            self._not_before = 0.0
            recovered, self._failures, self._trouble = self._failures, 0, ""
            self.completed += 1
        if recovered and self._service is None:
            self.duty.log.info(f"{self.duty.name} works again after {recovered} failed runs")
        elif recovered and self._service is not None and board.limiter.forget(self._service):
            self.duty.log.info(f"{self._service} answers again")
        board.limiter.forget(self.duty.name)
        self._report(epoch, ok=True, detail=outcome.detail)
        return outcome

    def _failed(self, error: BaseException) -> None:
        board = self._board
        sentence = str(error) if isinstance(error, Trouble | MsgxError) else one_line(error)
        foreseen = isinstance(error, Trouble | MsgxError | MailboxError | psycopg.OperationalError)
        service = _service(error)
        with self._lock:
            self._failures += 1
            self._service = service
            delay = min(board.retry_delay * 2 ** min(self._failures - 1, 10), self._longest_delay)
            self._not_before = board.clock() + delay
            new = sentence != self._trouble
            self._trouble = sentence
        if isinstance(error, psycopg.Error):
            self.duty.session.close()
        key = service or self.duty.name
        if new and service is None:
            board.limiter.forget(key)
        held_back = board.limiter.allow(key)
        if held_back is not None:
            who = "" if service else f"{self.duty.name} failed and is tried again in {delay:.1f} s: "
            self.duty.log.warning(
                who + sentence,
                failures=self._failures,
                **({} if foreseen else {"exc_info": error}),
                **({"held_back": held_back} if held_back else {}),
            )

    def _report(self, epoch: int, *, ok: bool, detail: str) -> None:
        """To ``core.duty``, at once when it changes, seldom while it does not."""
        was_ok, when = self._reported
        now = self._board.clock()
        if ok == was_ok and now - when < REPORT_EVERY:
            return
        try:
            database.duty_report(self.duty.session.connection, epoch, self.duty.name, ok, detail)
            self._reported = (ok, now)
        except StaleEpoch as error:
            self._board.stale(epoch, error.message)
        except (MsgxError, psycopg.Error) as error:
            self.duty.log.debug(f"The report of {self.duty.name} could not be written: {one_line(error)}")

    def ended(self) -> None:
        """After APScheduler counts the run as over: when is the next one?"""
        now = self._board.clock()
        with self._lock:
            last, pending, not_before = self._last, self._pending, self._not_before
            self._started_at = None
            self._ended_at = now
            self._pending = False
            if self._hung_told:
                self._hung_told = False
                self.duty.log.info(f"{self.duty.name} came back after it had exceeded its limit")
        if not_before > now:
            self._board.schedule(self.duty.name, not_before - now, later=True)
        elif pending or last.again:
            self._board.schedule(self.duty.name, 0.0)
        elif last.wake_in is not None:
            self._board.schedule(self.duty.name, max(last.wake_in, 0.01))

    def nudge(self) -> None:
        """There is work: run now, or once more if a run goes on; a duty that backs off is not hurried."""
        with self._lock:
            if self._started_at is not None:
                self._pending = True
                return
            wait = self._not_before - self._board.clock()
        if wait <= 0:
            self._board.schedule(self.duty.name, 0.0)

    def hurry(self) -> None:
        """Forget the back-off, for a new leadership."""
        with self._lock:
            self._not_before = 0.0
        self.nudge()

    def watch(self) -> None:
        """Once in a while: is the run hung, or was the wall clock, which APScheduler reads, set back?"""
        now = self._board.clock()
        health = self.health()
        if health.hung:
            with self._lock:
                told, self._hung_told = self._hung_told, True
            if not told:
                done = (
                    "its connection to PostgreSQL, which does not answer, is cut"
                    if self.duty.session.sever()
                    else "it is left alone"
                )
                self.duty.log.error(
                    f"{self.duty.name} has been running for {health.running_for:.0f} s, longer than its limit of "
                    f"{self.duty.limit:.0f} s; {done}, and the other duties go on"
                )
        elif health.running_for is None:
            with self._lock:
                overdue = now - max(self._ended_at, self._not_before) > self.duty.interval + CLOCK_SLACK
                if overdue:
                    self._ended_at = now
            if overdue:
                self._board.schedule(self.duty.name, 0.0)

    @property
    def running(self) -> bool:
        """Whether its thread is busy."""
        return self._started_at is not None

    def health(self) -> Health:
        """How it is now."""
        now = self._board.clock()
        with self._lock:
            running_for = None if self._started_at is None else now - self._started_at
            return Health(
                self.duty.name,
                self.duty.limit,
                running_for,
                running_for is not None and running_for > self.duty.limit,
                self._failures,
                None if self._succeeded_at is None else now - self._succeeded_at,
                self._trouble,
                self._done,
            )


class LeaseDuty(Duty):
    """Keeps the lease; the one duty that also runs while standing by.

    Args:
        settings: Time to live and interval.
        keeper: Does it.
        hung: The duties that have exceeded their limit.
    """

    def __init__(self, settings: Settings, keeper: LeaseKeeper, hung: Callable[[], list[Health]] = list) -> None:
        super(Duty, self).__init__()
        self.name = "lease"
        self.interval = min(settings.supervisor.standby_interval, settings.supervisor.lease_ttl / 4)
        self.limit = settings.supervisor.limit.lease
        self.session = keeper.session
        self.log = logger(duty="lease")
        self._keeper = keeper
        self._hung = hung

    def run(self, work: Work) -> Outcome:  # noqa: ARG002  it needs no epoch
        """One step of the keeper; and a word in ``core.duty`` for duties that cannot speak for themselves."""
        self._keeper.keep()
        epoch = self._keeper.epoch
        for one in self._hung() if epoch is not None else ():
            says = f"has been running for {one.running_for or 0:.0f} s, longer than its limit of {one.limit:.0f} s"
            database.duty_report(self.session.connection, epoch or 0, one.name, False, says)
        return Outcome(detail="leading" if self._keeper.epoch else "standing by")


class LeaseRunner(Runner):
    """The lease's duty has no epoch to wait for, and reports only while there is one."""

    def execute(self) -> None:
        """As the base, but always."""
        with self._lock:
            self._started_at = self._board.clock()
            self._pending = False
        if not self._board.stopping.is_set():
            self._attempt(self._board.epoch() or 0)

    def _report(self, epoch: int, *, ok: bool, detail: str) -> None:
        if epoch:
            super()._report(epoch, ok=ok, detail=detail)


class OneThread(BaseExecutor):  # type: ignore[misc]  # APScheduler ships no types
    """An executor of APScheduler with one thread, for one duty.

    Its own thread pool will not do: where a run is over before the pool's future gets its callback, the listeners run
    inside the scheduler's own step, which then overwrites the next run time that they set, and a nudge is lost.
    """

    def start(self, scheduler: Any, alias: str) -> None:
        """From now on there is a thread."""
        super().start(scheduler, alias)
        self._waiting: SimpleQueue[tuple[Any, Any] | None] = SimpleQueue()
        threading.Thread(target=self._serve, name=f"msgx-{alias}", daemon=True).start()

    def shutdown(self, wait: bool = True) -> None:  # noqa: ARG002  the board waits, with a limit
        """The thread ends after the run that goes on."""
        self._waiting.put(None)

    def _do_submit_job(self, job: Any, run_times: Any) -> None:
        self._waiting.put((job, run_times))

    def _serve(self) -> None:
        while (work := self._waiting.get()) is not None:
            job, run_times = work
            events = run_job(job, job._jobstore_alias, run_times, self._logger.name)
            self._run_job_success(job.id, events)


class Board:
    """All duties of this process and the scheduler that starts them.

    Args:
        settings: Budgets and delays.
        keeper: Our leadership.
        clock: Monotonic seconds.
    """

    def __init__(self, settings: Settings, keeper: LeaseKeeper, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.budget = settings.supervisor.run_budget
        self.retry_delay = settings.supervisor.retry_delay
        self.stopping = threading.Event()
        self.started = False
        self.limiter = Limiter()
        self._keeper = keeper
        self._runners: dict[str, Runner] = {}
        self._scheduler = BackgroundScheduler(
            timezone=UTC, job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
        )
        self._scheduler.add_listener(self._after, EVENT_JOB_EXECUTED | EVENT_JOB_ERROR)

    def add(self, duties: Iterable[Duty]) -> None:
        """Give each duty its job, its thread and its runner."""
        for duty in duties:
            runner = LeaseRunner(duty, self) if isinstance(duty, LeaseDuty) else Runner(duty, self)
            self._runners[duty.name] = runner
            self._scheduler.add_executor(OneThread(), alias=duty.name)
            self._scheduler.add_job(
                runner.execute,
                "interval",
                seconds=duty.interval,
                id=duty.name,
                name=duty.name,
                executor=duty.name,
                next_run_time=datetime.now(UTC),
            )

    def start(self) -> None:
        """From now on they run."""
        self._scheduler.start()
        self.started = True

    def epoch(self) -> int | None:
        """The epoch under which a run may begin."""
        return self._keeper.epoch

    def holds(self) -> bool:
        """Whether we lead on our own clock."""
        return self._keeper.holds()

    def stale(self, epoch: int, why: str) -> None:
        """A duty met MX010."""
        self._keeper.lose(epoch, why)

    def nudge(self, *names: str) -> None:
        """Wake these duties."""
        for name in names:
            runner = self._runners.get(name)
            if runner is not None:
                runner.nudge()

    def lead(self) -> None:
        """A new leadership: everything runs at once."""
        for runner in self._runners.values():
            if runner.duty.name != "lease":
                runner.hurry()

    def schedule(self, name: str, delay: float, *, later: bool = False) -> None:
        """Have a job run in ``delay`` seconds; only ever sooner than its interval would, unless ``later``."""
        if self.stopping.is_set():
            return
        at = datetime.now(UTC) + timedelta(seconds=delay)
        try:
            job = self._scheduler.get_job(name)
            if job is None or (not later and delay > 0 and job.next_run_time is not None and job.next_run_time <= at):
                return
            job.modify(next_run_time=at)
        except JobLookupError:
            return  # the scheduler has been shut down meanwhile

    def watch(self) -> None:
        """Look after all duties; called about twice a second by the main thread."""
        for runner in self._runners.values():
            runner.watch()

    def runner(self, name: str) -> Runner:
        """The runner of a duty."""
        return self._runners[name]

    def mailbox_max(self) -> int | None:
        """The greatest id that the mailbox had when housekeeping last looked."""
        duty = self._runners["housekeeping"].duty if "housekeeping" in self._runners else None
        return duty.mailbox_max if isinstance(duty, Housekeeping) else None

    def health(self) -> list[Health]:
        """How all duties are."""
        return [runner.health() for runner in self._runners.values()]

    def hung(self) -> list[Health]:
        """Those that have exceeded their limit, but for the lease's own."""
        return [one for one in self.health() if one.hung and one.name != "lease"]

    def stop(self, timeout: float) -> list[str]:
        """No new run; wait for those that go on, end what blocks them, and name those that would not end.

        Args:
            timeout: Seconds for all of it.
        """
        self.stopping.set()
        end = self.clock() + timeout
        self._scheduler.shutdown(wait=False)
        self._wait(end - min(3.0, timeout / 3))
        for runner in self._busy():  # each in a thread: a server that is gone answers none of them
            threading.Thread(target=runner.duty.interrupt, daemon=True, name=f"cancel-{runner.duty.name}").start()
        self._wait(end - min(1.0, timeout / 6))
        for runner in self._busy():  # nor does one whose answer is lost on the way hear of the cancellation
            runner.duty.session.sever()
        self._wait(end)
        busy = self._busy()
        for runner in self._runners.values():
            if runner not in busy and runner.duty.name != "lease":
                runner.duty.close()
        return [runner.duty.name for runner in busy]

    def _busy(self) -> list[Runner]:
        return [runner for runner in self._runners.values() if runner.running]

    def _wait(self, end: float) -> None:
        while self._busy() and self.clock() < end:
            time.sleep(0.02)

    def _after(self, event: JobExecutionEvent) -> None:
        runner: Any = self._runners.get(event.job_id)
        if runner is not None:
            runner.ended()

"""Our PostgreSQL: how we connect, and one thin function for each routine that the supervisor or an operator calls.

The routines decide; these functions carry arguments there and typed rows back. None of them opens a transaction: the
connections are in autocommit, so that each call is one transaction of its own unless the caller says otherwise, and
none of them is shared between threads.
"""

from __future__ import annotations

import contextlib
import os
import socket
import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, LiteralString

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row, namedtuple_row

from supervisor.errors import ConfigError, DatabaseUnreachable, mapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date, datetime

    from supervisor.config import Database as DatabaseSettings

Connection = psycopg.Connection[Any]

PROCESS = uuid.uuid4().hex[:8]  # tells our sessions from those of another supervisor, also one with our process id


def connect(settings: DatabaseSettings, name: str) -> Connection:
    """A new connection in autocommit, bounded in every wait.

    No statement is ever prepared on the server (``prepare_threshold=None``): a migration or a replaced routine under a
    running supervisor would end in "cached plan must not change result type". The session's time zone is UTC, so that
    nothing depends on the zone of the machine.

    Args:
        settings: Address and time-outs.
        name: The duty, seen as ``application_name`` in ``pg_stat_activity``.

    Raises:
        DatabaseUnreachable: no connection within ``connect_timeout``.
        ConfigError: the session has not the limits that were asked for.
    """
    limits = {
        "statement_timeout": settings.statement_timeout,
        "lock_timeout": settings.lock_timeout,
        "idle_in_transaction_session_timeout": settings.idle_in_transaction_timeout,
    }
    options = " ".join(f"-c {key}={int(seconds * 1000)}" for key, seconds in limits.items())
    with mapped():
        try:
            given = conninfo_to_dict(settings.url).get("options") or ""
            address = make_conninfo(
                settings.url,
                application_name=f"{settings.application_name} {name} {PROCESS}",
                connect_timeout=settings.connect_timeout,
                keepalives=1,
                keepalives_idle=5,
                keepalives_interval=3,
                keepalives_count=3,
                tcp_user_timeout=int(settings.tcp_user_timeout * 1000),
                options=f"{given} {options} -c timezone=UTC -c client_encoding=UTF8".strip(),
            )
        except psycopg.ProgrammingError as error:
            raise DatabaseUnreachable(f"[database] url is no PostgreSQL address: {error}".rstrip()) from None
        connection = psycopg.connect(address, autocommit=True, prepare_threshold=None, row_factory=namedtuple_row)
        try:
            _check_limits(connection, limits)
        except BaseException:
            connection.close()
            raise
        return connection


def _check_limits(connection: Connection, limits: dict[str, float]) -> None:
    """A pooler that drops what we ask for at the start of a session would take every bound off our waits, unseen."""
    found = connection.execute(
        "select u.name, extract(epoch from current_setting(u.name)::interval) * 1000 from unnest(%s::text[]) u(name)",
        [list(limits)],
    ).fetchall()
    if {name: int(ms) for name, ms in found} != {name: int(seconds * 1000) for name, seconds in limits.items()}:
        raise ConfigError(
            "Sessions of [database] url have not the time-outs that they were opened with: a pooler stands between.",
            "Give the address of PostgreSQL itself: poolers that share or change sessions are not supported.",
        )


class Session:
    """A connection that one thread keeps, and that is made anew after it broke.

    Args:
        settings: As for :func:`connect`.
        name: As for :func:`connect`.
    """

    def __init__(self, settings: DatabaseSettings, name: str) -> None:
        self._settings = settings
        self._name = name
        self._connection: Connection | None = None

    @property
    def connection(self) -> Connection:
        """The connection, opened if there is none or the old one is closed or broken.

        Raises:
            DatabaseUnreachable: it cannot be opened.
        """
        current = self._connection
        if current is None or current.closed or current.broken:
            self.close()
            current = self._connection = connect(self._settings, self._name)
        return current

    def cancel(self, timeout: float = 2.0) -> None:
        """End the statement that runs now, from another thread; for a stop that cannot wait."""
        current = self._connection
        if current is not None and not current.closed:
            with contextlib.suppress(psycopg.Error):
                current.cancel_safe(timeout=timeout)

    def sever(self) -> bool:
        """Break the connection under a statement that waits for its answer, from another thread: it raises then.

        No time-out of the server or of TCP ends such a wait where something in between acknowledges and passes nothing
        on.

        Returns:
            Whether a statement was waiting.
        """
        current = self._connection
        if current is None or current.closed or current.info.transaction_status is not TransactionStatus.ACTIVE:
            return False
        with contextlib.suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(current.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)
        return True

    def close(self) -> None:
        """Close without a word; an open transaction is rolled back by the server."""
        current, self._connection = self._connection, None
        if current is not None:
            with contextlib.suppress(psycopg.Error):
                current.close()


def rows(connection: Connection, query: LiteralString, *arguments: object) -> list[Any]:
    """All rows of one statement, as named tuples.

    Raises:
        SqlError, DatabaseUnreachable, psycopg.Error: as :func:`supervisor.errors.mapped` says.
    """
    with mapped():
        return connection.execute(query, arguments).fetchall()


def row(connection: Connection, query: LiteralString, *arguments: object) -> Any:
    """The one row of a statement that gives exactly one, or none."""
    with mapped():
        return connection.execute(query, arguments).fetchone()


def value(connection: Connection, query: LiteralString, *arguments: object) -> Any:
    """The one value of a statement."""
    found = row(connection, query, *arguments)
    return None if found is None else found[0]


def dictionaries(connection: Connection, query: LiteralString, *arguments: object) -> list[dict[str, Any]]:
    """All rows as dictionaries, for what is shown to people or as JSON."""
    with mapped(), connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query, arguments).fetchall()


# Leadership and duties (core) --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lease:
    """The leader's lease: who has it, under which epoch, and until when on the database's clock."""

    epoch: int
    holder: str | None
    expires_at: datetime | None
    acquired: bool


def lease_acquire(connection: Connection, holder: str, ttl: float) -> Lease:
    """Try to become leader for ``ttl`` seconds; without success it says who is."""
    found = row(
        connection,
        "select epoch, holder, expires_at, acquired from core.lease_acquire(%s, %s)",
        holder,
        timedelta(seconds=ttl),
    )
    return Lease(found.epoch, found.holder, found.expires_at, found.acquired)


def lease_renew(connection: Connection, epoch: int, ttl: float) -> datetime:
    """Keep the lease for another ``ttl`` seconds.

    Raises:
        StaleEpoch: another has taken over.
    """
    renewed: datetime = value(connection, "select core.lease_renew(%s, %s)", epoch, timedelta(seconds=ttl))
    return renewed


def lease_release(connection: Connection, epoch: int) -> None:
    """Give the lease back, so that the next supervisor leads at once."""
    value(connection, "select core.lease_release(%s)", epoch)


def end_old_leader(connection: Connection, holder: str) -> int:
    """End the open transactions of a leader whose lease has run out, so that another can lead; gives their number.

    Such a leader is frozen. Where its transaction is idle, ``idle_in_transaction_session_timeout`` would end it too. In
    the middle of a COPY no time-out of the server does: it waits for the rows, for ever. Needs the same login role.
    """
    ended: int = value(
        connection,
        "select count(pg_terminate_backend(a.pid)) from core.pipeline_lock l, pg_stat_activity a"
        " where l.name = 'LEADER' and l.holder = %s and l.expires_at <= core.now()"
        " and a.datname = current_database() and a.usename = current_user and a.pid <> pg_backend_pid()"
        " and a.xact_start is not null and a.application_name like %s",
        holder,
        f"% {holder.rpartition(':')[2]}",
    )
    return ended


def duty_report(connection: Connection, epoch: int, duty: str, ok: bool, detail: str) -> None:
    """Write down that a duty ran, for ``msgx status`` from elsewhere."""
    value(connection, "select core.duty_report(%s, %s, %s, %s)", epoch, duty, ok, storable(detail))


def storable(text: str, limit: int = 2000) -> str:
    """A text that PostgreSQL can store: without NUL, and bounded."""
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()[:limit]


def setting(connection: Connection, column: str) -> Any:
    """One column of ``core.setting``, such as ``pipeline_event_batch``."""
    with mapped():
        query = sql.SQL("select {} from core.setting").format(sql.Identifier(column))
        found = connection.execute(query).fetchone()
    return None if found is None else found[0]


def seconds_until(connection: Connection, moment: datetime) -> float:
    """From now, on the database's clock, which is the only one that due times are meant on."""
    return float(value(connection, "select extract(epoch from %s - core.now())", moment))


# The pump (pipeline) -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pumped:
    """The answer of one ``CALL pipeline.pump``.

    Attributes:
        processed: Messages that ended or failed in this call.
        stop: IDLE, BUDGET, HEAD_UNSTAGED, HEAD_BACKOFF or BEYOND_WATERMARK.
        head: The smallest unfinished message, if one is.
        until: HEAD_BACKOFF: when its next try is due, on the database's clock.
        trace_failures: Plan traces that could not be written; without effect on any state.
    """

    processed: int
    stop: str
    head: int | None
    until: datetime | None
    trace_failures: int


def pump(connection: Connection, epoch: int, max_messages: int, max_ms: int) -> Pumped:
    """Work messages off, in order, until one of the limits or the end."""
    found = row(
        connection,
        "call pipeline.pump(%s, %s, %s, null, null, null, null, null)",
        epoch,
        max_messages,
        max_ms,
    )
    return Pumped(found.p_processed or 0, found.p_stop, found.p_head, found.p_until, found.p_trace_failures or 0)


def watermark(connection: Connection) -> int:
    """How far the mailbox was read."""
    found: int = value(connection, "select watermark from inbox.inbox_cursor")
    return found


# The outbox --------------------------------------------------------------------------------------------------------

MSG = "KAFKA:msg"
SCHD = "KAFKA:schd"


@dataclass(frozen=True, slots=True)
class Event:
    """An event that was claimed: what to tell, exactly as the database built it.

    Attributes:
        value: UTF-8 JSON as text; None = a record without value (tombstone).
    """

    event_id: int
    flid: int
    event_type: str
    state_version: int
    message_id: int
    updated_at: datetime
    value: str | None


def outbox_claim(connection: Connection, epoch: int, target: str, limit: int | None = None) -> list[Event]:
    """Take due events, at most one of a flight, with a write that is committed before anything is told.

    Without a limit the database's own setting holds (``msgx.pipeline.event-batch``, ``msgx.schd.flush-limit``).
    """
    return [
        Event(*found)
        for found in rows(
            connection,
            "select event_id, flid, event_type, state_version, message_id, updated_at, value"
            " from outbox.claim(%s, %s, %s)",
            epoch,
            target,
            limit,
        )
    ]


def outbox_settle(connection: Connection, epoch: int, target: str, events: Sequence[Event]) -> int:
    """The broker confirmed these; the count says how many are SENT now (a newer state may have replaced one)."""
    settled: int = value(
        connection,
        "select outbox.settle(%s, %s, %s::bigint[], %s::bigint[])",
        epoch,
        target,
        [event.event_id for event in events],
        [event.state_version for event in events],
    )
    return settled


def outbox_fail(connection: Connection, epoch: int, target: str, event: Event, reason: str, *, permanent: bool) -> str:
    """This event itself is at fault: counts a try; gives PENDING or DEAD."""
    state: str = value(
        connection,
        "select outbox.fail(%s, %s, %s, %s, %s, %s)",
        epoch,
        target,
        event.event_id,
        event.state_version,
        storable(reason),
        permanent,
    )
    return state


def outbox_release(connection: Connection, epoch: int, target: str, events: Sequence[Event], reason: str) -> int:
    """Give claimed events back uncounted: the broker was at fault, or we stop."""
    released: int = value(
        connection,
        "select outbox.release(%s, %s, %s::bigint[], %s)",
        epoch,
        target,
        [event.event_id for event in events],
        storable(reason),
    )
    return released


def dead_event_requeue(connection: Connection, event_id: int) -> None:
    """Send a DEAD event again."""
    value(connection, "select outbox.dead_requeue(%s)", event_id)


def dead_event_discard(connection: Connection, event_id: int, reason: str) -> None:
    """Give a DEAD event up, with the reason."""
    value(connection, "select outbox.dead_discard(%s, %s)", event_id, storable(reason))


# Marks (inbox) -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Owed:
    """A mark that the mailbox row of a finished message is owed."""

    msg_id: int
    marker: str


def backfill_claim(connection: Connection, epoch: int, limit: int) -> list[Owed]:
    """Marks that are due, with a write that is committed before the mailbox is touched."""
    return [
        Owed(*found)
        for found in rows(connection, "select msg_id, marker from inbox.backfill_claim(%s, %s)", epoch, limit)
    ]


def backfill_settle(connection: Connection, epoch: int, results: Sequence[tuple[int, str, str | None]]) -> int:
    """Write down what became of marks: (message, WRITTEN | ALREADY | MISSING_ROW | TRANSIENT, error)."""
    settled: int = value(
        connection,
        "select inbox.backfill_settle(%s, %s::bigint[], %s::text[], %s::text[])",
        epoch,
        [result[0] for result in results],
        [result[1] for result in results],
        [None if result[2] is None else storable(result[2]) for result in results],
    )
    return settled


def backfill_reopen(connection: Connection, ids: Sequence[int]) -> int:
    """Try marks again that were given up."""
    return _count(value(connection, "select inbox.backfill_reopen(%s::bigint[])", list(ids)))


def backfill_acknowledge(connection: Connection, ids: Sequence[int], note: str) -> int:
    """A person has reconciled marks that were given up."""
    return _count(value(connection, "select inbox.backfill_acknowledge(%s::bigint[], %s)", list(ids), storable(note)))


def _count(answer: object) -> int:
    return answer if isinstance(answer, int) else 0


# An operator's acts ------------------------------------------------------------------------------------------------


def seed(connection: Connection, how: str, value_: int | None, smallest: int | None, largest: int | None) -> int:
    """Set the watermark once, before anything was read (implementation.md 4.3); gives the watermark.

    Args:
        how: min, zero, max or id.
        value_: The id, for ``id``.
        smallest: Smallest id of the mailbox; None = it is empty.
        largest: Largest id of the mailbox.

    Raises:
        SeedingRefused: there is a watermark or a processed row.
    """
    watermark: int = value(connection, "select inbox.seed(%s, %s, %s, %s)", how, value_, smallest, largest)
    return watermark


@dataclass(frozen=True, slots=True)
class Filter:
    """Which finished messages an operator means; an empty field does not restrict."""

    ids: tuple[int, ...] = ()
    classes: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    type: str | None = None
    first: int | None = None
    last: int | None = None


def replay(connection: Connection, chosen: Filter, *, dry_run: bool) -> list[dict[str, Any]]:
    """Send messages through again (implementation.md 9.1), and tell which later ones of their flights already ran."""
    return dictionaries(
        connection,
        "select msg_id, state, error_class, later_messages"
        " from inbox.replay(%s::bigint[], %s::text[], %s::text[], %s, %s, %s, %s)",
        list(chosen.ids) or None,
        list(chosen.classes) or None,
        list(chosen.states) or None,
        chosen.type,
        chosen.first,
        chosen.last,
        dry_run,
    )


def open_plan(connection: Connection, day: date, sender: str | None) -> int:
    """Note that we ask for the plan of a day; gives the request's id."""
    request: int = value(connection, "select request.open_plan(%s, %s)", day, sender)
    return request


def prune_events(connection: Connection, epoch: int, limit: int) -> int:
    """Delete at most ``limit`` SENT events of each target that are past their retention."""
    pruned: int = value(connection, "select outbox.prune(%s, %s)", epoch, limit)
    return pruned


def skip(connection: Connection, ids: Sequence[int], reason: str) -> int:
    """End unfinished messages as SKIPPED, by an operator's word (implementation.md 5.4)."""
    skipped: int = value(connection, "select inbox.skip(%s::bigint[], %s)", list(ids), storable(reason))
    return skipped


def expire_requests(connection: Connection, epoch: int) -> int:
    """Close requests that nothing answered in time."""
    expired: int = value(connection, "select request.expire(%s)", epoch)
    return expired


def recent_holes(connection: Connection, limit: int) -> list[tuple[int, int]]:
    """The holes that were passed over last: first and last missing id."""
    return [
        (found.first_id, found.last_id)
        for found in rows(
            connection, "select first_id, last_id from inbox.hole order by released_at desc limit %s", limit
        )
    ]


def audit_mailbox(connection: Connection, epoch: int, bounds: tuple[int, int], late: Sequence[int]) -> int:
    """Have the database judge the mailbox's smallest and largest id, and rows found in holes; gives the findings."""
    findings: int = value(
        connection, "select inbox.audit_mailbox(%s, %s, %s, %s::bigint[])", epoch, *bounds, list(late)
    )
    return findings


def marked(connection: Connection, limit: int) -> list[int]:
    """The newest messages whose mark was confirmed."""
    return [found.msg_id for found in rows(connection, "select msg_id from inbox.marked(%s)", limit)]


def audit_marks(connection: Connection, epoch: int, unmarked: Sequence[int]) -> int:
    """Have the database judge rows that bear no mark though it was confirmed; gives the findings."""
    findings: int = value(connection, "select inbox.audit_marks(%s, %s::bigint[])", epoch, list(unmarked))
    return findings


def enqueue(connection: Connection, message_id: int) -> bool:
    """Register a mailbox row ahead of intake (implementation.md 4.4); true if it has to wait for the watermark."""
    beyond: bool = value(connection, "select inbox.enqueue(%s, null)", message_id)
    return beyond


def last_alert(connection: Connection) -> int:
    """Id of the newest alert, 0 if there is none."""
    last: int = value(connection, "select coalesce(max(alert_id), 0) from core.alert_view")
    return last


def alerts_after(connection: Connection, alert_id: int, limit: int = 20) -> list[Any]:
    """The next alerts: ``alert_id``, ``code``, ``detail``, ``message_id``."""
    return rows(
        connection,
        "select alert_id, code, detail, message_id from core.alert_view where alert_id > %s order by alert_id limit %s",
        alert_id,
        limit,
    )


def alert_acknowledge(connection: Connection, ids: Sequence[int]) -> int:
    """Take note of alerts; gives how many were open."""
    acknowledged: int = value(connection, "select core.alert_acknowledge(%s::bigint[])", list(ids))
    return acknowledged


def setting_set(connection: Connection, key: str, new: str) -> list[dict[str, Any]]:
    """Change a setting, or the whole policy; gives what changed."""
    return dictionaries(connection, "select key, old, new from core.setting_set(%s, %s)", key, new)


@contextlib.contextmanager
def brief(settings: DatabaseSettings, name: str) -> Iterator[Connection]:
    """A connection for one command, closed at its end."""
    connection = connect(settings, name)
    try:
        with mapped():
            yield connection
    finally:
        with contextlib.suppress(psycopg.Error):
            connection.close()

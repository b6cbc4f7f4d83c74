"""The shared mailbox in MySQL or MariaDB: rows read by id, markers written back, bodies put in.

Every statement stands alone: autocommit is on, so no snapshot outlives it and no transaction of ours is open between
two calls. A connection that kept an old view would go deaf without an error, and would hide the late commit that fills
a hole. Every wait is bounded: connect, read and write time-outs always, and a short lock wait.

A `Mailbox` has one connection, made when it is first needed and again after any error. It belongs to one thread: give
each duty its own.

The mailbox is another's house. Its clock and its receive times decide nothing; an impossible one (``0000-00-00``) is
read as none.
"""

# ruff: noqa: S608 - the only names put into statements are identifiers that MailboxConfig has checked

from __future__ import annotations

import contextlib
import re
import struct
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

import pymysql
import structlog

from loader.xmltext import MAX_BYTES, MalformedXmlError, UnknownEncodingError, text_of, without_declaration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from zoneinfo import ZoneInfo

log = structlog.get_logger(__name__)

Result = TypeVar("Result")

_URL_OPTIONS: Final = frozenset({"unix_socket", "ssl_ca", "ssl_cert", "ssl_key"})
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_$]{0,63}")
_BROKEN_STREAM: Final = (OSError, RuntimeError, ValueError, LookupError, AssertionError, struct.error)
"""What PyMySQL lets through, besides its own errors, when an answer is cut short or a way to log in is missing."""

_SERVER_GOES: Final = frozenset({1053, 1152, 1158, 1159, 1160, 1161, 1927})
"""Errors with which the server itself ends a connection; the client's own are below 1000, or 2000 to 2999."""


_BODY_AT_FAULT: Final = frozenset({1153, 1366, 1406, 3854, 3988})
"""Errors with which the server refuses what we insert: too large a packet, characters that its column cannot hold."""


class MailboxError(Exception):
    """The mailbox did not do what was asked; the text is a sentence for the operator.

    Attributes:
        code: error number of the server or the client library; None if there is none.
    """

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class MailboxUnavailable(MailboxError):
    """The mailbox cannot be reached, does not answer in time, or refuses the statement. Infrastructure; tried again."""

    @property
    def lost(self) -> bool:
        """Whether the connection failed, rather than one statement on it."""
        code = self.code
        return code is None or code < 1000 or 2000 <= code < 3000 or code in _SERVER_GOES


class BodyRefused(MailboxError):
    """A body cannot be put into the mailbox: too large, not text in the encoding it declares, or beyond its column."""


@dataclass(frozen=True, slots=True)
class MailboxConfig:
    """Where the mailbox is and what its table and columns are called.

    Args:
        url: ``mysql://user:password@host:port/database``, parts percent-encoded. Options: ``?unix_socket=/path`` for a
            server on this machine; ``?ssl_ca=/path`` for TLS with a verified server, ``ssl_cert`` and ``ssl_key`` for
            a certificate of our own.
        table: may be qualified as ``schema.table``.
        connect_timeout, read_timeout, write_timeout: seconds, each the longest wait for the network.
        lock_wait: seconds that a marker waits for a row that another session has locked.
        max_body_bytes: larger bodies are not sent, and not fetched where the caller names no limit of its own.
        client_flag: flags of the client protocol to add, as some proxies need.

    Raises:
        ValueError: the URL or a name cannot be used; says which.
    """

    url: str = field(repr=False)  # holds the password
    table: str = "CMINMSGS"
    id_column: str = "CMINMSGS_ID"
    body_column: str = "MSG_XML"
    received_column: str = "RECEIVED_AT"
    flag_column: str = "PROC_FLAG"
    flag_at_column: str = "PROC_AT"
    connect_timeout: float = 5.0
    read_timeout: float = 15.0
    write_timeout: float = 15.0
    lock_wait: int = 2
    max_body_bytes: int = MAX_BYTES
    client_flag: int = 0

    def __post_init__(self) -> None:
        for part in self.table.split("."):
            _checked(part, "table")
        for name in ("id_column", "body_column", "received_column", "flag_column", "flag_at_column"):
            _checked(getattr(self, name), name)
        if self.table.count(".") > 1:
            raise ValueError(f"table {self.table!r} is not a name or schema.name")
        for name in ("connect_timeout", "read_timeout", "write_timeout", "lock_wait", "max_body_bytes"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} of the mailbox must be more than 0")
        self.connect_arguments()

    @property
    def place(self) -> str:
        """Where it is, without the password: for logs and errors."""
        url = urlsplit(self.url)
        return f"{url.hostname or 'localhost'}:{url.port or 3306}/{unquote(url.path.lstrip('/'))}"

    def connect_arguments(self) -> dict[str, Any]:
        """Arguments of `pymysql.connect` that come from the URL."""
        url = urlsplit(self.url)
        database = unquote(url.path.lstrip("/"))
        if url.scheme not in {"mysql", "mariadb", "mysql+pymysql"} or not database:
            raise ValueError("the mailbox URL is not of the form mysql://user:password@host:3306/database")
        options = {name: values[-1] for name, values in parse_qs(url.query).items()}
        if unknown := options.keys() - _URL_OPTIONS:
            raise ValueError(f"the mailbox URL has the unknown option {min(unknown)!r}")
        verified = {"ssl_verify_cert": True, "ssl_verify_identity": True} if "ssl_ca" in options else {}
        return {
            "host": url.hostname or "localhost",
            "port": url.port or 3306,
            "user": unquote(url.username or "") or None,
            "password": unquote(url.password or ""),
            "database": database,
            **options,
            **verified,
        }


def _checked(name: str, what: str) -> str:
    if not _IDENTIFIER.fullmatch(name):
        raise ValueError(f"{what} {name!r} of the mailbox is not a plain identifier")
    return name


@dataclass(frozen=True, slots=True)
class MailboxRow:
    """A message as it stands in the mailbox.

    Attributes:
        received_at: the mailbox's receive time, aware, in the airport's zone; None if there is none that can be.
        body: as the column has it, text or bytes; None if it is NULL or was not fetched for its size.
        size: bytes of the body as stored; None if it is NULL.
    """

    id: int
    received_at: datetime | None
    body: str | bytes | None = field(repr=False)
    size: int | None


class MarkOutcome(StrEnum):
    """What became of a marker (implementation.md 6.2)."""

    WRITTEN = "WRITTEN"
    ALREADY = "ALREADY"
    """The row bears a marker, ours or another's; it is left as it is."""
    MISSING_ROW = "MISSING_ROW"
    TRANSIENT = "TRANSIENT"
    """Not known to be written; `MarkResult.error` says why. Tried again."""


@dataclass(frozen=True, slots=True)
class MarkResult:
    """The outcome of one marker."""

    id: int
    outcome: MarkOutcome
    error: str | None = None


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Mailbox:
    """The mailbox, over one connection of its own. Not for more than one thread.

    Args:
        config: where it is and what its columns are called.
        zone: the zone that its naive date-times are meant in: the airport's.
        clock: now, aware; for the times that we write.
    """

    def __init__(self, config: MailboxConfig, zone: ZoneInfo, clock: Callable[[], datetime] = _utc_now) -> None:
        self.config = config
        self.zone = zone
        self._clock = clock
        self._connection: pymysql.Connection[Any] | None = None
        self._body_is_binary: bool | None = None
        self._table = ".".join(f"`{part}`" for part in config.table.split("."))
        self._id, self._body, self._received, self._flag, self._flag_at = (
            f"`{name}`"
            for name in (
                config.id_column,
                config.body_column,
                config.received_column,
                config.flag_column,
                config.flag_at_column,
            )
        )

    def __enter__(self) -> Mailbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the connection up; the next call makes a new one. Never raises."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(Exception):
                connection.close()

    # -- reading ----------------------------------------------------------------------------------------------------

    def read_after(self, watermark: int, limit: int, max_body_bytes: int | None = None) -> list[MailboxRow]:
        """The first `limit` rows with an id above `watermark`, ascending, marked or not (implementation.md 4.1).

        Bodies larger than `max_body_bytes` (default: the configured one) stay where they are; their rows come without.

        Raises:
            MailboxUnavailable: nothing is known; the watermark stays where it is.
        """
        return self._read(f"where {self._id} > %s order by {self._id} limit %s", (watermark, limit), max_body_bytes)

    def read_ids(self, ids: Sequence[int], max_body_bytes: int | None = None) -> list[MailboxRow]:
        """The rows with these ids that exist, ascending; bodies as in `read_after`.

        Raises:
            MailboxUnavailable: nothing is known, in particular not that a row is missing.
        """
        if not ids:
            return []
        return self._read(f"where {self._id} in %s order by {self._id}", (list(ids),), max_body_bytes)

    def bounds(self) -> tuple[int, int] | None:
        """The smallest and the largest id; None if the mailbox is empty.

        Raises:
            MailboxUnavailable: it could not be read.
        """
        query = f"select min({self._id}), max({self._id}) from {self._table}"
        ((smallest, largest),) = self._select(query)
        return None if smallest is None else (int(smallest), int(largest))

    def _read(self, where: str, arguments: tuple[object, ...], max_body_bytes: int | None) -> list[MailboxRow]:
        limit = self.config.max_body_bytes if max_body_bytes is None else max_body_bytes
        query = (
            f"select {self._id}, {self._received}, length({self._body}), "
            f"if(length({self._body}) <= {limit:d}, {self._body}, null) "
            f"from {self._table} {where}"
        )
        rows = self._select(query, *arguments)
        return [MailboxRow(int(id_), self._aware(int(id_), at), body, size) for id_, at, size, body in rows]

    def _select(self, query: str, *arguments: object) -> list[tuple[Any, ...]]:
        def fetch(cursor: Any) -> list[tuple[Any, ...]]:
            cursor.execute(query, arguments)
            return list(cursor.fetchall())

        return self._run("read", fetch)

    def _aware(self, id_: int, received: object) -> datetime | None:
        """The receive time as an aware one. PyMySQL gives one that cannot be (0000-00-00, a 31st of June) as text."""
        if isinstance(received, datetime):
            return received.replace(tzinfo=self.zone)
        if received is not None:
            log.warning("impossible receive time in the mailbox, taken as none", message_id=id_, received=str(received))
        return None

    # -- marking ----------------------------------------------------------------------------------------------------

    def mark(self, entries: Sequence[tuple[int, str]]) -> list[MarkResult]:
        """Write the processed marker of each ``(id, marker)``, unless the row bears one; NULL and '' are none.

        Never raises for the mailbox's sake and never overwrites. The server's count of affected rows is believed only
        where it agrees with what was asked: whether an unchanged row counts depends on the client's flags and on
        proxies. Where it does not agree, each row is looked at.

        Returns:
            One result for each entry, in the order given.
        """
        results: dict[int, MarkResult] = {}
        deadline = time.monotonic() + self.config.read_timeout
        try:
            found = self._open_rows([id_ for id_, _ in entries])
            groups: dict[str, list[int]] = {}
            for id_, marker in entries:
                if id_ not in found:
                    results[id_] = MarkResult(id_, MarkOutcome.MISSING_ROW)
                elif not found[id_]:
                    results[id_] = MarkResult(id_, MarkOutcome.ALREADY)
                else:
                    groups.setdefault(marker, []).append(id_)
            for marker, ids in groups.items():
                self._mark_group(marker, ids, results, deadline)
        except MailboxUnavailable as error:
            reason = str(error)
        else:
            reason = "the time for this round of markers was used up"
        return [results.get(id_) or MarkResult(id_, MarkOutcome.TRANSIENT, reason) for id_, _ in entries]

    def unmarked(self, ids: Sequence[int]) -> list[int]:
        """Of these ids, those whose row exists and bears no marker, ascending; NULL and '' are none.

        Raises:
            MailboxUnavailable: nothing is known.
        """
        return sorted(id_ for id_, unmarked in self._open_rows(ids).items() if unmarked)

    def _open_rows(self, ids: Sequence[int]) -> dict[int, bool]:
        """Of these ids, the rows that exist, each with whether it is unmarked. A plain read: it locks nothing."""
        if not ids:
            return {}
        query = (
            f"select {self._id}, {self._flag} is null or {self._flag} = '' from {self._table} where {self._id} in %s"
        )
        return {int(id_): bool(unmarked) for id_, unmarked in self._select(query, list(ids))}

    def _mark_group(self, marker: str, ids: list[int], results: dict[int, MarkResult], deadline: float) -> None:
        try:
            if self._write_marker(marker, ids) == len(ids):
                results.update((id_, MarkResult(id_, MarkOutcome.WRITTEN)) for id_ in ids)
                return
        except MailboxUnavailable as error:
            if error.lost:
                raise
            # A statement failed, not the connection: one locked row must not hold up the others.
            log.info("markers are written one by one", marker=marker, reason=str(error))
        for id_ in ids:
            if time.monotonic() > deadline:
                return
            results[id_] = self._mark_one(marker, id_)

    def _mark_one(self, marker: str, id_: int) -> MarkResult:
        """Write one marker and look at the row, whatever the server said."""
        try:
            self._write_marker(marker, [id_])
        except MailboxUnavailable as error:
            if error.lost:
                raise
            return MarkResult(id_, MarkOutcome.TRANSIENT, str(error))
        query = f"select {self._flag} from {self._table} where {self._id} = %s"
        rows = self._select(query, id_)
        if not rows:
            return MarkResult(id_, MarkOutcome.MISSING_ROW)
        if not rows[0][0]:
            return MarkResult(id_, MarkOutcome.TRANSIENT, f"the mailbox took the marker of row {id_} and has it not")
        return MarkResult(id_, MarkOutcome.WRITTEN if rows[0][0] == marker else MarkOutcome.ALREADY)

    def _write_marker(self, marker: str, ids: Sequence[int]) -> int:
        query = (
            f"update {self._table} set {self._flag} = %s, {self._flag_at} = %s "
            f"where {self._id} in %s and ({self._flag} is null or {self._flag} = '')"
        )
        arguments = (marker, self._now(), list(ids))
        return self._run("marked", lambda cursor: int(cursor.execute(query, arguments)))

    def _now(self) -> datetime:
        """Now as the mailbox writes it: the airport's wall clock, to the millisecond."""
        local = self._clock().astimezone(self.zone).replace(tzinfo=None)
        return local.replace(microsecond=local.microsecond // 1000 * 1000)

    # -- sending ----------------------------------------------------------------------------------------------------

    def send(self, body: str | bytes) -> int:
        """Put one body into the mailbox, received now; gives its id.

        Raises:
            BodyRefused: too large, not text in the encoding it declares, or beyond its column. Nothing was written.
            MailboxUnavailable: it is not known whether it was written.
        """
        query, arguments = self._insert([body])

        def insert(cursor: Any) -> int:
            cursor.execute(query, arguments[0])
            return int(cursor.lastrowid)

        return self._write_bodies(insert)

    def send_many(self, bodies: Iterable[str | bytes]) -> int:
        """Put many bodies into the mailbox, in this order, in as few statements as may be; gives their number.

        Raises: as `send`. If the server fails halfway, the first part is in it.
        """
        query, arguments = self._insert(bodies)
        if arguments:
            self._write_bodies(lambda cursor: cursor.executemany(query, arguments))
        return len(arguments)

    def _write_bodies(self, action: Callable[[Any], Result]) -> Result:
        try:
            return self._run("written to", action)
        except MailboxUnavailable as error:
            if error.code in _BODY_AT_FAULT:
                raise BodyRefused(str(error), error.code) from error
            raise

    def _insert(self, bodies: Iterable[str | bytes]) -> tuple[str, list[tuple[str | bytes, datetime]]]:
        now = self._now()
        arguments = [(self._as_stored(body), now) for body in bodies]
        return f"insert into {self._table} ({self._body}, {self._received}) values (%s, %s)", arguments

    def _as_stored(self, body: str | bytes) -> str | bytes:
        """`body` as its column takes it, so that what is read back says the same.

        A text column takes characters: bytes are decoded as they declare. A binary column takes bytes: characters
        become UTF-8, without the declaration, which speaks of bytes that they are no more.
        """
        limit = self.config.max_body_bytes
        if len(body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass")) > limit:
            raise BodyRefused(f"the body is larger than {limit} bytes")
        try:
            if not self._takes_bytes():
                return text_of(body)
            return body if isinstance(body, bytes) else without_declaration(body).encode("utf-8")
        except (MalformedXmlError, UnknownEncodingError, UnicodeError) as error:
            raise BodyRefused(f"the body cannot be put into the mailbox: {error}") from None

    def _takes_bytes(self) -> bool:
        if self._body_is_binary is None:
            schema, _, table = self.config.table.rpartition(".")
            query = (
                "select character_set_name from information_schema.columns "
                "where table_schema = coalesce(%s, database()) and table_name = %s and column_name = %s"
            )
            rows = self._select(query, schema or None, table, self.config.body_column)
            if not rows:  # no such table: the statement to come will say so
                return False
            self._body_is_binary = rows[0][0] is None
        return self._body_is_binary

    # -- the connection ---------------------------------------------------------------------------------------------

    def _run(self, what: str, action: Callable[[Any], Result]) -> Result:
        """Act with a cursor (`what` names the act in an error); after any error the connection is given up.

        Raises:
            MailboxUnavailable: whatever the server or the network did.
        """
        try:
            if self._connection is None:
                self._connection = self._connect()
            with self._connection.cursor() as cursor:
                return action(cursor)
        except (pymysql.MySQLError, *_BROKEN_STREAM) as error:
            self.close()
            code = error.args[0] if error.args and isinstance(error.args[0], int) else None
            detail = " ".join(str(error.args[-1] if error.args else error).split()) or type(error).__name__
            raise MailboxUnavailable(
                f"The mailbox at {self.config.place} cannot be {what}: {detail} ({code or type(error).__name__}).", code
            ) from error
        except BaseException:  # a stop in the middle of an answer: the rest of it must not be read as the next one
            self.close()
            raise

    def _connect(self) -> pymysql.Connection[Any]:
        config = self.config
        connection = pymysql.connect(
            **config.connect_arguments(),
            charset="utf8mb4",
            autocommit=True,
            connect_timeout=config.connect_timeout,
            read_timeout=config.read_timeout,
            write_timeout=config.write_timeout,
            client_flag=config.client_flag,
            program_name="msgx",
        )
        try:
            with connection.cursor() as cursor:
                cursor.execute("set session transaction isolation level read committed")
                cursor.execute(f"set session innodb_lock_wait_timeout = {config.lock_wait:d}")
        except BaseException:
            connection.close()
            raise
        return connection

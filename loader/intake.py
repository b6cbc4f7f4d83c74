"""One intake round, and the staging of what was admitted without it.

Both work in the same three steps, none of which waits for another's machine inside a transaction of ours:

1. read what to fetch from PostgreSQL, in a transaction that ends at once;
2. fetch it from the mailbox and decode it, with no transaction open. So no lock is held, and no snapshot kept, while a
   slow mailbox answers or a plan of thousands of flights is decoded;
3. one transaction: the routine decides what is admitted, COPY stages just that, commit.

What was decoded and not admitted, because of a hole, is read again by the next round.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, LiteralString
from zoneinfo import ZoneInfo

import structlog
from psycopg.rows import tuple_row

from loader.catalogue import Catalogue
from loader.decode import Decoded, Verdict, decode
from loader.mailbox import MailboxUnavailable
from loader.staging import stage
from loader.xmltext import storable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import psycopg

    from loader.mailbox import Mailbox, MailboxRow

log = structlog.get_logger(__name__)

RAW_MISSING = Decoded(verdict=Verdict.MALFORMED, reason="raw-missing")
"""What is staged for a message whose row is no longer in the mailbox (implementation.md 5.2)."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What intake needs of `core.setting`, with the watermark that it starts from."""

    watermark: int
    claim_batch: int
    max_body_bytes: int
    zone: ZoneInfo
    catalogue: Catalogue


@dataclass(frozen=True, slots=True)
class IntakeResult:
    """What one round did.

    Attributes:
        watermark: W before the round.
        fetched: rows read from the mailbox.
        admitted: ids that `inbox.advance` let in.
        refused: how many of them are staged with a verdict.
        more: the batch was full and something was admitted, so another round at once will find work.
    """

    watermark: int
    fetched: int
    admitted: tuple[int, ...]
    refused: int
    more: bool


@dataclass(frozen=True, slots=True)
class RestageResult:
    """What one restaging did.

    Attributes:
        due: ids that had no staging.
        staged: ids that have it now.
        missing: of these, ids whose row is gone from the mailbox.
        unread: ids that the mailbox did not give; each counts as one failed try (INFRA).
        error: why, if there are any.
        more: there was more to do than `limit`.
    """

    due: tuple[int, ...] = ()
    staged: tuple[int, ...] = ()
    missing: tuple[int, ...] = ()
    unread: tuple[int, ...] = ()
    error: str | None = None
    more: bool = False


def read_settings(connection: psycopg.Connection[Any]) -> Settings:
    """Settings and watermark, read anew for every round: a change works from the next one on.

    Raises:
        CatalogueError: `msgx.catalogue.site-scalars` cannot be used.
        ZoneInfoNotFoundError: `msgx.airport.timezone` is no zone.
    """
    with connection.transaction(), connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute(
            "select c.watermark, s.pipeline_claim_batch, s.pipeline_max_body_bytes, s.airport_timezone, "
            "s.catalogue_site_scalars from inbox.inbox_cursor c cross join core.setting s"
        ).fetchone()
    if row is None:
        raise LookupError("inbox.inbox_cursor or core.setting has no row")
    watermark, claim_batch, max_body_bytes, zone, site_scalars = row
    return Settings(watermark, claim_batch, max_body_bytes, ZoneInfo(zone), Catalogue.build(site_scalars))


def decode_row(row: MailboxRow, settings: Settings) -> Decoded:
    """The content of a mailbox row; one too large to have been fetched is MALFORMED. Never raises."""
    if row.body is None and row.size is not None:
        return Decoded(
            verdict=Verdict.MALFORMED,
            reason=f"the body of {row.size} bytes is larger than {settings.max_body_bytes} bytes",
        )
    return decode(row.body, settings.catalogue, settings.zone, max_bytes=settings.max_body_bytes)


def round(mailbox: Mailbox, connection: psycopg.Connection[Any], epoch: int) -> IntakeResult:  # noqa: A001 - always called as intake.round
    """Read the mailbox once after the watermark, and admit and stage what may enter (implementation.md 4.1).

    Args:
        mailbox: of this thread.
        connection: of this thread, with no transaction open.
        epoch: of the leader; a stale one raises MX010 and nothing is written.

    Raises:
        MailboxUnavailable: nothing was read and nothing changed; that is not "no new messages".
        psycopg.Error: nothing was admitted.
    """
    settings = read_settings(connection)
    rows = mailbox.read_after(settings.watermark, settings.claim_batch, settings.max_body_bytes)
    decoded = {row.id: decode_row(row, settings) for row in rows}
    with connection.transaction():
        admitted = _ids(
            connection,
            "select msg_id from inbox.advance(%s, %s::bigint[], %s::timestamptz[])",
            epoch,
            [row.id for row in rows],
            [row.received_at for row in rows],
        )
        # A late commit may have brought, by the HTTP entry, a row that our SELECT did not see: it is restaged.
        staged = [(id_, decoded[id_]) for id_ in admitted if id_ in decoded]
        stage(connection, staged)
    _log_verdicts(staged)
    return IntakeResult(
        watermark=settings.watermark,
        fetched=len(rows),
        admitted=tuple(admitted),
        refused=sum(content.verdict is not None for _, content in staged),
        more=len(rows) >= settings.claim_batch and bool(admitted),
    )


def restage(mailbox: Mailbox, connection: psycopg.Connection[Any], epoch: int, limit: int) -> RestageResult:
    """Fetch and stage up to `limit` messages that were admitted without staging: HTTP entry, replay, a mended codec.

    A mailbox that does not answer fails only the first of them (`inbox.fail_unread`): the queue waits for that one
    anyway, and the others need not use up their tries meanwhile.

    Args, Raises: as `round`, but an unavailable mailbox is told in the result.
    """
    with connection.transaction():
        due = _ids(connection, "select msg_id from inbox.unstaged(%s) order by msg_id", limit)
    if not due:
        return RestageResult()
    settings = read_settings(connection)
    more = len(due) >= limit
    wanted = due
    try:
        rows = mailbox.read_ids(wanted, settings.max_body_bytes)
    except MailboxUnavailable:
        wanted = due[:1]  # perhaps one row among them cannot be read
        try:
            rows = mailbox.read_ids(wanted, settings.max_body_bytes)
        except MailboxUnavailable as error:
            return _fail_unread(connection, epoch, due, str(error))
    found = {row.id: decode_row(row, settings) for row in rows}
    decoded = {id_: found.get(id_, RAW_MISSING) for id_ in wanted}
    with connection.transaction():
        staged = _ids(connection, "select msg_id from inbox.restage(%s, %s::bigint[])", epoch, wanted)
        stage(connection, [(id_, decoded[id_]) for id_ in staged])
    _log_verdicts([(id_, decoded[id_]) for id_ in staged])
    return RestageResult(
        due=tuple(due),
        staged=tuple(staged),
        missing=tuple(id_ for id_ in staged if id_ not in found),
        more=more or len(wanted) < len(due),
    )


def _fail_unread(connection: psycopg.Connection[Any], epoch: int, due: Sequence[int], reason: str) -> RestageResult:
    head = due[0]
    with connection.transaction():
        connection.execute("select inbox.fail_unread(%s, %s, %s)", (epoch, head, storable(reason)))
    log.warning("the mailbox did not give a message", message_id=head, reason=reason)
    return RestageResult(due=tuple(due), unread=(head,), error=reason)


def _ids(connection: psycopg.Connection[Any], query: LiteralString, *arguments: object) -> list[int]:
    with connection.cursor(row_factory=tuple_row) as cursor:
        return [id_ for (id_,) in cursor.execute(query, arguments)]


def _log_verdicts(staged: Sequence[tuple[int, Decoded]]) -> None:
    for id_, decoded in staged:
        if decoded.verdict is not None:
            log.warning(
                "a message cannot be decoded", message_id=id_, verdict=decoded.verdict.value, reason=decoded.reason
            )

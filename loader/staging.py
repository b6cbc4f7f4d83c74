"""From decoded messages to the two staging tables, by COPY.

COPY is the one write of ours that is no routine: it carries bytes and decides nothing. It runs in the caller's
transaction, after the routine that admitted the messages, so that a message is never admitted without its staging
or staged without being admitted.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    import psycopg

    from loader.decode import Decoded

_COPY_MESSAGES: Final = (
    "copy inbox.stage_message (msg_id, kind, sndr, type, styp, seqn, dttm, digest, declared, record_count, verdict, "
    "reason, unmapped, has_payload) from stdin"
)
_COPY_RECORDS: Final = (
    "copy inbox.stage_record (msg_id, ordinal, flid, flid_text, scalars, extra, sets, sections) from stdin"
)


def message_row(msg_id: int, decoded: Decoded) -> tuple[object, ...]:
    """A row of `inbox.stage_message`, in the order of the COPY."""
    return (
        msg_id,
        None if decoded.kind is None else decoded.kind.value,
        decoded.sndr,
        decoded.type,
        decoded.styp,
        decoded.seqn,
        decoded.dttm,
        decoded.digest,
        decoded.declared,
        decoded.record_count,
        None if decoded.verdict is None else decoded.verdict.value,
        decoded.reason,
        None if decoded.unmapped is None else _json(decoded.unmapped),
        decoded.has_payload,
    )


def record_rows(msg_id: int, decoded: Decoded) -> Iterable[tuple[object, ...]]:
    """The rows of `inbox.stage_record`, in the order of the COPY; ordinals from 1 in the order of the message."""
    for ordinal, record in enumerate(decoded.records, start=1):
        yield (
            msg_id,
            ordinal,
            record.flid,
            record.flid_text,
            _json(record.scalars),
            _json(record.extra),
            _json(record.sets),
            _json(record.sections),
        )


def stage(connection: psycopg.Connection[Any], messages: Iterable[tuple[int, Decoded]]) -> int:
    """Copy messages and their records into staging, within the transaction that is open; gives the rows of both.

    Args:
        connection: in a transaction of the caller's.
        messages: mailbox id and what its body says. An id must not be staged yet.

    Raises:
        psycopg.Error: as the server says; the transaction is then lost.
    """
    staged = list(messages)
    rows = 0
    if not staged:
        return rows
    with connection.cursor() as cursor:
        with cursor.copy(_COPY_MESSAGES) as copy:
            for msg_id, decoded in staged:
                copy.write_row(message_row(msg_id, decoded))
                rows += 1
        with cursor.copy(_COPY_RECORDS) as copy:
            for msg_id, decoded in staged:
                for row in record_rows(msg_id, decoded):
                    copy.write_row(row)
                    rows += 1
    return rows


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

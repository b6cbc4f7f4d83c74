"""What can go wrong, one exception for each SQLSTATE of ours, and for each service that can be lost.

The database decides by SQLSTATE (design section 3); nothing here or elsewhere looks at a message's text, which may be
in another language. Every message is a sentence; a HINT of the database says what to do and is kept.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

import psycopg

if TYPE_CHECKING:
    from collections.abc import Iterator


class MsgxError(Exception):
    """A failure that is told to a person as one sentence, with what to do where we know it.

    Args:
        message: What happened.
        hint: What to do; empty where nothing can be done.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        message = self.message.rstrip()
        if not self.hint:
            return message
        return f"{message if message.endswith(('.', '!', '?')) else message + '.'} {self.hint.strip()}"


class ConfigError(MsgxError):
    """msgx.toml, the environment or an argument is wrong."""


class DatabaseUnreachable(MsgxError):
    """PostgreSQL did not answer, refused us, or the connection to it was lost."""


class BrokerUnreachable(MsgxError):
    """No Kafka broker answered, or it refused us."""


class SchemaUnknown(MsgxError):
    """The database's schema is missing, older or newer than what this release was made for."""


class SqlError(MsgxError):
    """A routine of ours refused, with an SQLSTATE of class MX."""

    sqlstate: ClassVar[str]


class ProtocolRefused(SqlError):
    """MX001 PROTOCOL: the message can be read, but breaks a rule of the exchange as a whole (implementation.md 3)."""

    sqlstate = "MX001"


class MalformedMessage(SqlError):
    """MX002 MALFORMED: the sender's fault, never retried."""

    sqlstate = "MX002"


class UnsupportedMessage(SqlError):
    """MX003 UNSUPPORTED: a type without a rule; retried on its own short ladder."""

    sqlstate = "MX003"


class CodecFailed(SqlError):
    """MX004 CODEC_ERROR: we cannot read it yet; retried and replayable."""

    sqlstate = "MX004"


class StaleEpoch(SqlError):
    """MX010: another supervisor has become leader since; whoever gets this stops at once (design section 9)."""

    sqlstate = "MX010"


class SeedingRefused(SqlError):
    """MX011: there is a watermark or a processed row already (implementation.md 4.3)."""

    sqlstate = "MX011"


class NoSuchObject(SqlError):
    """MX012: no message or event of that id."""

    sqlstate = "MX012"


class NotAllowed(SqlError):
    """MX013: it exists, but not in a state in which this may be done."""

    sqlstate = "MX013"


BY_SQLSTATE: dict[str, type[SqlError]] = {
    kind.sqlstate: kind
    for kind in (
        ProtocolRefused,
        MalformedMessage,
        UnsupportedMessage,
        CodecFailed,
        StaleEpoch,
        SeedingRefused,
        NoSuchObject,
        NotAllowed,
    )
}


@contextmanager
def mapped() -> Iterator[None]:
    """Turn psycopg's errors into ours, by SQLSTATE alone.

    Raises:
        SqlError: its subclass for an SQLSTATE of class MX.
        DatabaseUnreachable: no connection, or one that was lost (no SQLSTATE, class 08, 57P01 to 57P05).
        psycopg.Error: everything else, unchanged.
    """
    try:
        yield
    except psycopg.Error as error:
        kind = BY_SQLSTATE.get(error.sqlstate or "")
        if kind is not None:
            raise kind(error.diag.message_primary or kind.sqlstate, error.diag.message_hint or "") from error
        if lost(error):
            raise DatabaseUnreachable(f"PostgreSQL cannot be reached: {one_line(error)}") from error
        raise


def lost(error: psycopg.Error) -> bool:
    """Whether the connection is gone or never came to be, rather than a statement refused."""
    state = error.sqlstate
    if state is None:
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return state.startswith(("08", "28")) or state in {"57P01", "57P02", "57P03", "57P05", "53300"}


def one_line(error: BaseException) -> str:
    """An error's text as one line for a log; its class where it has no text."""
    if isinstance(error, psycopg.Error) and error.diag.message_primary:
        return f"{error.diag.message_primary} (SQLSTATE {error.sqlstate})"
    text = " ".join(str(error).split())
    return text or type(error).__name__

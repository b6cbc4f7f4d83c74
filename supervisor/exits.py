"""What the exit code of ``msgx`` says; the one place where it is written down."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of every command."""

    OK = 0  #: done, or nothing found
    FINDING = 1  #: something was found (``db verify``, ``doctor``), or the database refused what was asked
    USAGE = 2  #: wrong arguments, msgx.toml or environment
    NOT_IDLE = 3  #: ``run --until-idle``: something is left that is not due in time
    UNREACHABLE = 4  #: PostgreSQL, the mailbox or the broker could not be reached
    SCHEMA = 5  #: the database is not on the schema of this release: ``msgx db apply``
    FORCED = 6  #: stopped by a second signal, or a duty had to be cut off
    BUG = 70  #: a fault of ours; please report what was logged

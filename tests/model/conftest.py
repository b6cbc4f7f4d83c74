"""Databases for streams: a new one for each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import structlog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager


@pytest.fixture
def databases(machines: Any, pg_version: int) -> Iterator[Callable[[], AbstractContextManager[str]]]:
    """Makes a database with this release deployed, and drops it in the end."""
    with structlog.testing.capture_logs():  # thousands of warnings about messages that are meant to be bad
        yield partial(machines.database, pg_version)

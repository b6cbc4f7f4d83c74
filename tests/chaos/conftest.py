"""The chaos tests' house; each test has one of its own."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import pytest

from demo.servers import temporary_folder
from demo.simulator import simulate
from tests.chaos.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True, slots=True)
class Size:
    """How long it lasts: `MSGX_CHAOS_KILLS` kills (20; 200 in the long form), and the other faults in proportion."""

    kills: int
    seed: int

    @property
    def flights(self) -> int | None:
        """As many departures as give work for so many kills; None = the whole day."""
        return None if self.kills > 60 else 6 * self.kills


@pytest.fixture
def size() -> Size:
    """From the environment; the seed is `MSGX_CHAOS_SEED`, 1 by default."""
    return Size(int(os.environ.get("MSGX_CHAOS_KILLS", "20")), int(os.environ.get("MSGX_CHAOS_SEED", "1")))


@pytest.fixture
def make_world() -> Iterator[Callable[[int | None, int], World]]:
    """Builds a house for a day of so many departures, with a seed."""
    with contextlib.ExitStack() as stack:

        def make(flights: int | None, seed: int) -> World:
            folder = stack.enter_context(temporary_folder("msgx-chaos-"))
            return World(folder, simulate(flights=flights), Random(seed), stack)

        yield make

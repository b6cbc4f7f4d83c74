"""Leadership as it is seen from the process: its own clock, lost databases, releases."""

from __future__ import annotations

from typing import Any, cast

import pytest

from supervisor import database
from supervisor.database import Lease
from supervisor.errors import DatabaseUnreachable, StaleEpoch
from supervisor.lease import LeaseKeeper


class Session:
    connection = None

    def close(self) -> None:
        pass


class World:
    """The database's answers and the process's clock."""

    def __init__(self) -> None:
        self.now = 100.0
        self.acquire: Lease | Exception = Lease(1, "me", None, True)
        self.renew: Exception | None = None
        self.took = 0.0
        self.released: list[int] = []
        self.changes: list[int | None] = []


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World()

    def acquire(_connection: Any, _holder: str, _ttl: float) -> Lease:
        world.now += world.took
        if isinstance(world.acquire, Exception):
            raise world.acquire
        return world.acquire

    def renew(_connection: Any, _epoch: int, _ttl: float) -> None:
        world.now += world.took
        if world.renew is not None:
            raise world.renew

    monkeypatch.setattr(database, "lease_acquire", acquire)
    monkeypatch.setattr(database, "lease_renew", renew)
    monkeypatch.setattr(database, "lease_release", lambda _connection, epoch: world.released.append(epoch))
    monkeypatch.setattr(database, "end_old_leader", lambda _connection, _holder: 0)
    return world


@pytest.fixture
def keeper(world: World) -> LeaseKeeper:
    return LeaseKeeper(cast("Any", Session()), "me", 10.0, on_change=world.changes.append, clock=lambda: world.now)


def test_it_stands_by_then_leads(keeper: LeaseKeeper, world: World) -> None:
    world.acquire = Lease(4, "other", None, False)
    keeper.keep()
    assert keeper.epoch is None
    assert keeper.other == "other"
    world.acquire = Lease(5, "me", None, True)
    keeper.keep()
    assert keeper.epoch == 5
    assert world.changes == [5]


def test_it_runs_out_by_itself(keeper: LeaseKeeper, world: World) -> None:
    keeper.keep()
    world.now += 9.9
    assert keeper.holds()
    world.now += 0.2
    assert not keeper.holds()


def test_it_counts_from_before_it_asked(keeper: LeaseKeeper, world: World) -> None:
    world.took = 4.0
    keeper.keep()
    world.now += 5.9
    assert keeper.holds()
    world.now += 0.2
    assert not keeper.holds()


def test_an_answer_that_took_too_long_is_none(keeper: LeaseKeeper, world: World) -> None:
    world.took = 11.0
    keeper.keep()
    assert keeper.epoch is None
    assert world.changes == []


def test_a_short_outage_ends_nothing(keeper: LeaseKeeper, world: World) -> None:
    keeper.keep()
    world.renew = DatabaseUnreachable("away")
    world.now += 5
    with pytest.raises(DatabaseUnreachable):
        keeper.keep()
    assert keeper.epoch == 1
    world.renew = None
    keeper.keep()
    world.now += 9
    assert keeper.holds()
    assert world.changes == [1]


def test_a_long_outage_ends_it(keeper: LeaseKeeper, world: World) -> None:
    keeper.keep()
    world.renew = DatabaseUnreachable("away")
    world.now += 11
    with pytest.raises(DatabaseUnreachable):
        keeper.keep()
    assert world.changes == [1, None]
    world.acquire = Lease(2, "me", None, True)
    keeper.keep()
    assert keeper.epoch == 2


def test_a_stale_epoch_ends_it_at_once(keeper: LeaseKeeper, world: World) -> None:
    keeper.keep()
    world.renew = StaleEpoch("over")
    keeper.keep()
    assert keeper.epoch is None
    assert world.changes == [1, None]


def test_an_old_epoch_does_not_end_a_new_one(keeper: LeaseKeeper, world: World) -> None:
    keeper.keep()
    keeper.lose(1, "a duty met MX010")
    world.acquire = Lease(2, "me", None, True)
    keeper.keep()
    keeper.lose(1, "a slow duty met MX010 of before")
    assert keeper.epoch == 2


def test_release(keeper: LeaseKeeper, world: World) -> None:
    keeper.keep()
    keeper.release()
    assert world.released == [1]
    assert not keeper.holds()
    keeper.keep()
    assert not keeper.holds()  # it never leads again
    keeper.release()
    assert world.released == [1]

"""kill -9, outages and races while a real day is written: nothing is lost, invented or out of order.

Everything is real but scaled down in time: PostgreSQL (fsync on), MariaDB, a broker, two supervisors as processes of
their own. Which fault comes when is drawn from a seed, so that a run can be repeated as nearly as a race can be.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.chaos.judge import Verdict, judge, only_leaders_wrote
from tests.chaos.world import IDLE_IN_TRANSACTION, LEASE, LEASE_LIMIT, STANDBY, Supervisor, World, Writer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.chaos.conftest import Size

pytestmark = pytest.mark.timeout(3600)

# A take-over: the lease runs out, a frozen leader's open transaction is ended, the standby asks; and a loaded machine.
TAKE_OVER = LEASE + IDLE_IN_TRANSACTION + STANDBY + 3.0
SECONDS_A_KILL = 2.5


def report(world: World, writer: Writer, found: Verdict, took: float) -> None:
    """The counts, for whoever runs this with -s (and in the captured output of a failure)."""
    counts = world.counts
    takes = sorted(counts.take_overs) or world.take_overs_after_kills()
    print(f"\n{took:.0f} s: " + ", ".join(f"{count} {fault}" for fault, count in sorted(counts.faults.items())))
    print(
        f"{found.messages} messages ({', '.join(f'{n} {state}' for state, n in sorted(found.states.items()))}), "
        f"{writer.again} tries of the AODB failed; {found.notices} notices and {found.notices_again} duplicates, "
        f"{found.records} states of {found.flights} flights; {found.reigns} reigns, {found.acts} writes"
    )
    if takes:
        print(f"take-over: {len(takes)}, median {takes[len(takes) // 2]:.2f} s, longest {takes[-1]:.2f} s")
    if counts.stops:
        print(f"stop on SIGTERM: {len(counts.stops)}, longest {max(counts.stops):.2f} s")


def test_everything_at_once(make_world: Callable[[int | None, int], World], size: Size) -> None:
    """A day under kill -9 and every other fault in a random order ends as it would have without them."""
    began = time.monotonic()
    world = make_world(size.flights, size.seed)
    rng = world.rng
    writer = Writer(world.stream, world.mailbox, len(world.stream) / (size.kills * SECONDS_A_KILL), rng)
    for one in world.supervisors:
        one.start()
    world.leader()
    writer.start()

    def kill() -> None:
        leader = world.leader()
        time.sleep(rng.uniform(0, 1.2))
        world.kill(leader if rng.random() < 0.85 else world.other(leader))

    def freeze() -> None:
        with world.frozen(world.leader()):
            time.sleep(rng.uniform(0.1, 2.5 * LEASE))

    def cut() -> None:
        with world.cut_off(world.leader()):
            time.sleep(rng.uniform(0.5, 2 * LEASE))

    def terminate() -> None:
        leader = world.leader()
        time.sleep(rng.uniform(0, 0.5))
        world.terminate(leader)

    def end_lease_session() -> None:
        world.end_sessions(f"msgx-{world.leader().name} lease%", 1)

    def freeze_postgres() -> None:
        world.freeze(world.postgres, rng.uniform(0.5, 1.5 * LEASE))

    few = max(1, size.kills // 20)
    faults: list[Callable[[], object]] = [kill] * size.kills
    faults += [freeze, terminate] * (2 * few)
    faults += [lambda: world.end_sessions("msgx-%", rng.randint(1, 4))] * (3 * few)
    faults += [
        cut,
        end_lease_session,
        world.crash_postgres,
        lambda: world.restart(world.postgres),
        freeze_postgres,
        lambda: world.restart(world.mailbox),
        world.kill_mailbox,
        lambda: world.freeze(world.mailbox, rng.uniform(0.5, 4)),
        lambda: world.restart(world.broker),
        lambda: world.freeze(world.broker, rng.uniform(0.5, 6)),
        lambda: world.swallow(0, rng.uniform(0.3, 3)),
        lambda: world.swallow(1, rng.uniform(0.3, 4)),
        world.reset_connections,
    ] * few
    rng.shuffle(faults)
    for fault in faults:
        fault()
        for one in world.supervisors:
            assert one.running, f"a supervisor ended by itself\n{one.last_words()}"
        time.sleep(rng.uniform(0, 0.4))
    writer.finish()
    world.until_idle()
    found = judge(world)
    report(world, writer, found, time.monotonic() - began)


def test_a_leader_that_wakes_up_tells_nothing_old(make_world: Callable[[int | None, int], World], size: Size) -> None:
    """Frozen for longer than its lease, with records on their way, and wakes when newer ones were told."""
    began = time.monotonic()
    freezes = max(4, size.kills // 3 if size.kills > 20 else 0)
    world = make_world(size.flights, size.seed)
    writer = Writer(world.stream, world.mailbox, 120, world.rng)
    for one in world.supervisors:
        one.start()
    world.leader()
    writer.start()
    for _ in range(freezes):
        leader = world.leader()
        time.sleep(world.rng.uniform(0.3, 1.0))
        world.broker.pause()
        time.sleep(0.5)  # the leader's client has records that it could not send yet
        with world.frozen(leader):
            world.broker.resume()
            time.sleep(LEASE * world.rng.uniform(1.25, 1.6))
    writer.finish()
    world.until_idle()
    found = judge(world)
    report(world, writer, found, time.monotonic() - began)


def _killed(world: World, leader: Supervisor) -> None:
    world.counts.add("kill -9 of the leader")
    leader.kill()


def _frozen(world: World, leader: Supervisor) -> None:
    world.counts.add("SIGSTOP of a supervisor")
    leader.pause()


def _cut_off(world: World, leader: Supervisor) -> None:
    world.counts.add("network lost between a supervisor and PostgreSQL")
    world.proxies[leader.name][0].pause()


def _unplugged(world: World, leader: Supervisor) -> None:
    world.counts.add("refused connections to PostgreSQL")
    world.proxies[leader.name][0].cut()


def test_the_standby_takes_over(make_world: Callable[[int | None, int], World], size: Size) -> None:
    """Whatever takes the leader away, the standby leads within the lease, and the old one commits nothing any more."""
    began = time.monotonic()
    world = make_world(40, size.seed)
    writer = Writer(world.stream, world.mailbox, 25, world.rng)
    for one in world.supervisors:
        one.start()
    world.leader()
    writer.start()
    for gone in (_killed, _frozen, _cut_off, _unplugged):
        leader = world.leader()
        standby = world.other(leader).start()
        time.sleep(1.0)  # the standby has asked at least once
        since = time.time()
        gone(world, leader)
        took = world.take_over(leader, since, TAKE_OVER)
        assert took <= TAKE_OVER, f"{took:.1f} s after it was {gone.__name__[1:]}"
        time.sleep(1.0)  # the new leader is at work
        leader.resume()
        world.proxies[leader.name][0].resume()
        world.proxies[leader.name][0].restore()
        leader.start()
        time.sleep(1.0)  # the old one is awake, and finds out
        assert world.leader() is standby, f"{leader.name} leads again after it was {gone.__name__[1:]}"
    # Something in between swallows a question to PostgreSQL and keeps the line: the duty is cut off, and leads again.
    leader = world.leader()
    standby = world.other(leader)
    world.counts.add("question to PostgreSQL swallowed")
    proxy = world.proxies[leader.name][0]
    since = time.time()
    proxy.black_hole()
    world.take_over(leader, since, TAKE_OVER)
    proxy.resume()
    time.sleep(LEASE_LIMIT)
    since = time.time()
    _killed(world, standby)
    world.take_over(standby, since, TAKE_OVER)
    assert world.leader() is leader
    standby.start()
    # The lease is a row, not a session: whoever loses the session renews it over another.
    leader = world.leader()
    epoch = world.ask("select epoch from core.pipeline_lock where name = 'LEADER'")
    assert world.end_sessions(f"msgx-{leader.name} lease%", 1) == 1
    time.sleep(LEASE + 1)
    assert world.leader() is leader
    assert world.ask("select epoch from core.pipeline_lock where name = 'LEADER'") == epoch
    writer.finish()
    world.until_idle()
    found = judge(world)
    report(world, writer, found, time.monotonic() - began)
    # The judge has eyes: a write by the one who did not lead at that moment is seen.
    world.ask(
        "insert into chaos.act select 'msgx-' || %s || ' pump', 'inbox.proc_state', acquired_at from chaos.reign"
        " where split_part(holder, ':', 2) = %s order by epoch desc limit 1 returning 1",
        world.other(leader).name,
        str(leader.pids[-1]),
    )
    with pytest.raises(AssertionError, match="1 writes by somebody who did not lead"):
        only_leaders_wrote(world)

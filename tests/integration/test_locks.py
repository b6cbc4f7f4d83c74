"""Two sessions at once: who waits for whom, and who does not (design sections 4, 6, 8, 9).

A waiting session is seen to wait before the other one lets go, so that a test that passes has proved the wait and not
a lucky order.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.rows import tuple_row

if TYPE_CHECKING:
    from collections.abc import Iterator

Connection = psycopg.Connection[Any]

pytestmark = pytest.mark.every_pg

PATIENCE = 20.0  # seconds until something that must happen counts as not happening


class Session:
    """A connection with transactions of its own, whose statements may run in the background."""

    def __init__(self, url: str) -> None:
        self.connection: Connection = psycopg.connect(url, row_factory=tuple_row)
        self.pid = self.connection.info.backend_pid

    def __call__(self, query: str, *arguments: object) -> list[tuple[Any, ...]]:
        cursor = self.connection.execute(query.encode(), arguments)
        return cursor.fetchall() if cursor.description else []

    def one(self, query: str, *arguments: object) -> Any:
        """The first value."""
        return self(query, *arguments)[0][0]

    def commit(self) -> None:
        self.connection.commit()

    def rollback(self) -> None:
        self.connection.rollback()

    def start(self, query: str, *arguments: object) -> Pending:
        """Run it in a thread."""
        return Pending(self, query, arguments)


class Pending:
    """A statement that runs in the background."""

    def __init__(self, session: Session, query: str, arguments: tuple[object, ...]) -> None:
        self.session = session
        self._rows: list[tuple[Any, ...]] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(query, arguments), daemon=True)
        self._thread.start()

    def _run(self, query: str, arguments: tuple[object, ...]) -> None:
        try:
            self._rows = self.session(query, *arguments)
        except psycopg.Error as error:
            self._error = error

    def result(self) -> list[tuple[Any, ...]]:
        """Its rows, or its error."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the statement is still waiting"
        if self._error is not None:
            raise self._error
        return self._rows


class Stage:
    """Sessions on one database, and a view on who waits."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._sessions: list[Session] = []
        self._watch: Connection = psycopg.connect(url, autocommit=True, row_factory=tuple_row)

    def session(self) -> Session:
        self._sessions.append(Session(self._url))
        return self._sessions[-1]

    def waits(self, pending: Pending, holder: Session) -> None:
        """Return once ``pending`` waits for a lock of ``holder``."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            found = self._watch.execute("select %s = any (pg_blocking_pids(%s))", (holder.pid, pending.session.pid))
            row = found.fetchone()
            if row is not None and row[0]:
                return
            time.sleep(0.01)
        pytest.fail("nobody waits")

    def close(self) -> None:
        for session in self._sessions:
            session.connection.close()
        self._watch.close()


@contextmanager
def _stage(url: str) -> Iterator[Stage]:
    stage = Stage(url)
    try:
        yield stage
    finally:
        stage.close()


@pytest.fixture
def stage(database_url: str) -> Iterator[Stage]:
    """Sessions on a fresh database where ``first`` leads in epoch 1 for an hour."""
    with _stage(database_url) as made:
        setup = made.session()
        assert setup("select epoch, acquired from core.lease_acquire('first', '1 hour')") == [(1, True)]
        setup.commit()
        yield made


def messages(session: Session, state: str = "DEAD", error_class: str | None = "INFRA", count: int = 3) -> None:
    """Messages 1 to ``count`` in a state, their mark owed if it is terminal."""
    session(
        """insert into inbox.proc_state (msg_id, state, error_class, enqueued_at, updated_at, backfill_next_at)
           select i, %s, %s, core.now(), core.now(),
             case when %s in ('SUCCEEDED', 'SKIPPED', 'DEAD') then core.now() end
           from generate_series(1, %s) i""",
        state,
        error_class,
        state,
        count,
    )
    session.commit()


def expire(session: Session) -> None:
    session("update core.pipeline_lock set expires_at = core.now() - interval '1 s' where name = 'LEADER'")
    session.commit()


# Leadership --------------------------------------------------------------------------------------------------------


def test_a_renewal_does_not_wait_for_a_running_batch(stage: Stage) -> None:
    batch, heart = stage.session(), stage.session()
    batch("select core.require_epoch(1)")
    heart("set lock_timeout = '1s'")
    assert heart.one("select core.lease_renew(1, '2 hours') > core.now() + interval '90 min'")
    heart.commit()
    batch("select core.require_epoch(1)")
    batch.commit()


def test_a_batch_does_not_wait_for_a_renewal(stage: Stage) -> None:
    batch, heart = stage.session(), stage.session()
    heart("select core.lease_renew(1, '2 hours')")
    batch("set lock_timeout = '1s'")
    batch("select core.require_epoch(1)")
    batch.commit()
    heart.commit()


def test_a_take_over_waits_for_the_old_leaders_transaction(stage: Stage) -> None:
    old, new = stage.session(), stage.session()
    expire(old)
    old("select inbox.advance(1, array[1]::bigint[], null)")
    old("select core.lease_renew(1, '1 us')")  # the lock survives a new version of the row
    time.sleep(0.01)
    taking = new.start("select epoch, acquired from core.lease_acquire('second', '1 hour')")
    stage.waits(taking, old)
    old.commit()
    assert taking.result() == [(2, True)]
    new.commit()
    assert new.one("select count(*) from inbox.proc_state") == 1, "what the old leader committed came before"
    with pytest.raises(psycopg.Error) as stale:
        old("select inbox.advance(1, array[2]::bigint[], null)")
    assert stale.value.sqlstate == "MX010"


def test_an_old_leader_that_comes_late_meets_the_new_epoch(stage: Stage) -> None:
    old, new = stage.session(), stage.session()
    expire(old)
    assert new("select epoch, acquired from core.lease_acquire('second', '1 hour')") == [(2, True)]
    writing = old.start("select core.duty_report(1, 'pump', true, null)")
    stage.waits(writing, new)
    new.commit()
    with pytest.raises(psycopg.Error) as stale:
        writing.result()
    assert stale.value.sqlstate == "MX010"


def test_a_take_over_gives_up_on_a_frozen_leader_within_seconds_and_asks_again(stage: Stage) -> None:
    frozen, new = stage.session(), stage.session()
    expire(frozen)
    frozen("select core.require_epoch(1)")
    began = time.monotonic()
    assert new("select epoch, holder, acquired from core.lease_acquire('second', '1 hour')") == [(1, "first", False)]
    assert 1.5 < time.monotonic() - began < 10
    new.commit()
    frozen.rollback()
    assert new("select epoch, acquired from core.lease_acquire('second', '1 hour')") == [(2, True)]


def test_a_standby_asks_without_waiting_for_anybody(stage: Stage) -> None:
    leader, standby = stage.session(), stage.session()
    leader("select from core.pipeline_lock where name = 'LEADER' for update")
    standby("set lock_timeout = '1ms'")
    assert standby("select epoch, holder, acquired from core.lease_acquire('second', '1 hour')") == [
        (1, "first", False)
    ]


def test_a_renewal_that_comes_first_keeps_the_lease(stage: Stage) -> None:
    leader, standby = stage.session(), stage.session()
    expire(leader)
    leader("select core.lease_renew(1, '1 hour')")
    taking = standby.start("select epoch, holder, acquired from core.lease_acquire('second', '1 hour')")
    stage.waits(taking, leader)
    leader.commit()
    assert taking.result() == [(1, "first", False)]


def test_of_two_standbys_one_leads(stage: Stage) -> None:
    second, third = stage.session(), stage.session()
    expire(second)
    assert second("select epoch, acquired from core.lease_acquire('second', '1 hour')") == [(2, True)]
    taking = third.start("select epoch, holder, acquired from core.lease_acquire('third', '1 hour')")
    stage.waits(taking, second)
    second.commit()
    assert taking.result() == [(2, "second", False)]


# Intake ------------------------------------------------------------------------------------------------------------


def test_the_http_entry_and_intake_enter_a_message_once(stage: Stage) -> None:
    http, intake = stage.session(), stage.session()
    assert http.one("select inbox.enqueue(1)") is True
    reading = intake.start("select msg_id from inbox.advance(1, array[1, 2]::bigint[], null)")
    stage.waits(reading, http)
    http.commit()
    assert reading.result() == [(1,), (2,)], "to be staged, by whomever it was entered"
    intake.commit()
    assert http("select msg_id, state from inbox.proc_state order by 1") == [(1, "PENDING"), (2, "PENDING")]
    assert http.one("select count(*) from core.alert") == 0


def test_restaging_waits_for_the_pump_and_leaves_what_ended(stage: Stage) -> None:
    pump, intake = stage.session(), stage.session()
    messages(pump, "PENDING", None, 2)
    pump("select inbox.finish_message(1, 'SUCCEEDED', null, null, core.now())")
    staging = intake.start("select msg_id from inbox.restage(1, array[1, 2])")
    stage.waits(staging, pump)
    pump.commit()
    assert staging.result() == [(2,)]


# Marks and replay --------------------------------------------------------------------------------------------------


def test_a_replay_waits_for_a_claim_and_is_refused_until_the_mark_is_settled(stage: Stage) -> None:
    backfill, operator = stage.session(), stage.session()
    messages(backfill)
    assert len(backfill("select msg_id from inbox.backfill_claim(1, 10)")) == 3
    replaying = operator.start("select msg_id from inbox.replay(array[1, 2], p_dry_run => false)")
    stage.waits(replaying, backfill)
    backfill.commit()
    with pytest.raises(psycopg.Error) as refused:
        replaying.result()
    assert refused.value.sqlstate == "MX013"
    operator.rollback()
    backfill("select inbox.backfill_settle(1, array[1, 2, 3], array['WRITTEN', 'WRITTEN', 'WRITTEN'], null)")
    backfill.commit()
    assert operator("select msg_id from inbox.replay(array[1, 2], p_dry_run => false)") == [(1,), (2,)]


def test_a_claim_leaves_out_what_is_being_replayed(stage: Stage) -> None:
    operator, backfill = stage.session(), stage.session()
    messages(operator)
    operator("select inbox.replay(array[1, 2], p_dry_run => false)")
    backfill("set lock_timeout = '1s'")
    assert backfill("select msg_id, marker from inbox.backfill_claim(1, 10)") == [(3, "DEAD")]
    backfill.commit()
    operator.commit()
    assert backfill("select msg_id from inbox.backfill_claim(1, 10)") == []


def test_a_replay_falls_between_two_batches_of_the_pump(stage: Stage) -> None:
    pump, operator = stage.session(), stage.session()
    messages(pump)
    pump("update inbox.inbox_cursor set watermark = 3")
    pump("update inbox.queue_head set finished_through = 3")
    pump.commit()
    assert pump.one("select stopped from pipeline.step(1, 10)") == "IDLE"
    replaying = operator.start("select msg_id from inbox.replay(array[2], p_dry_run => false)")
    stage.waits(replaying, pump)
    pump.commit()
    assert replaying.result() == [(2,)]
    operator.commit()
    assert pump("select stopped, head from pipeline.step(1, 10)") == [("HEAD_UNSTAGED", 2)]


def test_a_dry_run_waits_for_nobody(stage: Stage) -> None:
    pump, operator = stage.session(), stage.session()
    messages(pump)
    pump("select from core.pipeline_lock where name = 'PIPELINE' for update")
    pump("update inbox.proc_state set updated_at = core.now()")
    operator("set lock_timeout = '1ms'")
    operator("set statement_timeout = '5s'")
    assert operator("select msg_id from inbox.replay(p_classes => array['INFRA'])") == [(1,), (2,), (3,)]


def test_a_skip_waits_for_the_message_under_way(stage: Stage) -> None:
    pump, operator = stage.session(), stage.session()
    messages(pump, "PENDING", None, 2)
    pump("select from core.pipeline_lock where name = 'PIPELINE' for update")
    skipping = operator.start("select inbox.skip(array[1, 2], 'test')")
    stage.waits(skipping, pump)
    pump("select inbox.finish_message(1, 'SUCCEEDED', null, null, core.now())")
    pump.commit()
    with pytest.raises(psycopg.Error) as refused:
        skipping.result()
    assert refused.value.sqlstate == "MX013"


def test_a_setting_changes_between_two_messages(stage: Stage) -> None:
    pump, operator = stage.session(), stage.session()
    pump("select * from pipeline.step(1, 10)")
    setting = operator.start("select new from core.setting_set('policy', 'ledger') where key = 'msgx.policy'")
    stage.waits(setting, pump)
    assert pump.one("select policy from core.setting") == "retain"
    pump.commit()
    assert setting.result() == [("ledger",)]


# The outbox --------------------------------------------------------------------------------------------------------


def publish(session: Session, flid: int, version: int) -> None:
    """A new version of a flight and its events, as the pump writes them; not committed."""
    session(
        """insert into flight.flight_schd (flid, state_version, updated_at, last_message_id, created_at)
           values (%s, %s, core.now(), 1, core.now())
           on conflict (flid) do update set state_version = excluded.state_version""",
        flid,
        version,
    )
    session(
        """select outbox.publish(array[row(%s, 'UPSERT', %s, '{}', null, false)]::outbox.news[],
             jsonb_populate_record(null::inbox.stage_message, '{"msg_id": 1}'), s, core.now()) from core.setting s""",
        flid,
        version,
    )


CLAIM = "select flid, state_version, (value::json ->> 'STATE_VERSION')::int from outbox.claim(1, 'KAFKA:schd', 10)"


def test_the_relay_never_waits_for_the_pump_nor_tells_half_a_version(stage: Stage) -> None:
    pump, relay = stage.session(), stage.session()
    publish(pump, 7, 1)
    publish(pump, 8, 1)
    pump.commit()
    publish(pump, 7, 2)
    relay("set lock_timeout = '1ms'")
    relay("set statement_timeout = '5s'")
    assert relay(CLAIM) == [(8, 1, 1)], "the flight that is being replaced waits"
    relay.commit()
    pump.commit()
    assert relay(CLAIM) == [(8, 1, 1), (7, 2, 2)], "then it is told as it is, version and state alike"


def test_what_was_told_is_not_marked_when_a_newer_state_is_on_its_way(stage: Stage) -> None:
    pump, relay = stage.session(), stage.session()
    publish(pump, 7, 1)
    publish(pump, 8, 1)
    pump.commit()
    relay("set lock_timeout = '1s'")
    events = relay("select event_id, state_version from outbox.claim(1, 'KAFKA:schd', 10)")
    relay.commit()
    publish(pump, 7, 2)
    ids, versions = [event[0] for event in events], [event[1] for event in events]
    assert relay.one("select outbox.settle(1, 'KAFKA:schd', %s::bigint[], %s::bigint[])", ids, versions) == 1
    relay.commit()
    pump.commit()
    assert relay("select flid, state, state_version from outbox.msg_event_schd order by 1") == [
        (7, "PENDING", 2),
        (8, "SENT", 1),
    ]
    assert relay(CLAIM) == [(7, 2, 2)]


def test_pump_and_relay_do_not_deadlock(stage: Stage) -> None:
    """The pump replaces 7 and then 8, the relay settles both meanwhile: neither is the other's victim."""
    pump, relay = stage.session(), stage.session()
    publish(pump, 7, 1)
    publish(pump, 8, 1)
    pump.commit()
    ids = [row[0] for row in relay("select event_id from outbox.claim(1, 'KAFKA:schd', 10)")]
    relay.commit()
    publish(pump, 7, 2)
    assert relay.one("select outbox.settle(1, 'KAFKA:schd', %s::bigint[], array[1, 1]::bigint[])", ids) == 1
    replacing = pump.start(
        """select outbox.publish(array[row(8, 'UPSERT', 2, '{}', null, true)]::outbox.news[],
             jsonb_populate_record(null::inbox.stage_message, '{"msg_id": 1}'), s, core.now()) from core.setting s"""
    )
    stage.waits(replacing, relay)
    relay.commit()
    replacing.result()
    pump.commit()


def test_a_claim_is_committed_work_of_its_leader_only(stage: Stage) -> None:
    old, new = stage.session(), stage.session()
    publish(old, 7, 1)
    old.commit()
    expire(old)
    assert old("select event_id from outbox.claim(1, 'KAFKA:msg', 10)") != []
    taking = new.start("select epoch from core.lease_acquire('second', '1 hour')")
    stage.waits(taking, old)
    old.commit()
    assert taking.result() == [(2,)]
    new.commit()
    assert new("select flid from outbox.claim(2, 'KAFKA:msg', 10)") == [(7,)], "told again rather than never"
    new.commit()
    with pytest.raises(psycopg.Error) as stale:
        old("select outbox.settle(1, 'KAFKA:msg', array[1], array[1])")
    assert stale.value.sqlstate == "MX010"


def test_a_requeued_event_is_not_lost_to_a_search_that_moves_on(stage: Stage) -> None:
    relay, operator = stage.session(), stage.session()
    relay(
        """insert into outbox.msg_event_msg (event_id, target, flid, event_type, state_version, message_id, state,
             next_attempt_at, created_at, updated_at)
           select i, 'KAFKA:msg', i, 'UPSERT', 1, i, case when i = 1000 then 'DEAD' else 'SENT' end,
             core.now(), core.now(), core.now()
           from generate_series(1, 3000) i"""
    )
    relay.commit()
    operator("select outbox.dead_requeue(1000)")
    claiming = relay.start("select event_id from outbox.claim(1, 'KAFKA:msg', 10)")
    stage.waits(claiming, operator)
    operator.commit()
    claiming.result()
    relay.commit()
    assert relay("select event_id from outbox.claim(1, 'KAFKA:msg', 10)") == [(1000,)]

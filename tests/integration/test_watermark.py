"""The watermark against a real MariaDB with real concurrent transactions, over restarts (implementation.md 4).

Ids come from AUTO_INCREMENT, as the mailbox gives them: they are taken when a row is inserted and seen when it is
committed, and a rollback leaves a hole for ever. Pitfalls 1 and 3, and what must never happen in silence.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pymysql
import pytest
from structlog.testing import capture_logs

from loader.mailbox import Mailbox, MailboxConfig, MailboxUnavailable
from supervisor import database
from supervisor.config import Database, Settings
from supervisor.config import Mailbox as MailboxSettings
from supervisor.duties import Housekeeping, Work

from .supervised import adft, flop, until
from .test_intake_mariadb import Room, mysql

if TYPE_CHECKING:
    from collections.abc import Iterator

    from demo.servers import MariaDBServer

WINDOW = 30.0  # seconds: the default of msgx.pipeline.max-commit-delay


class Airport(Room):
    """A room whose mailbox is written by others, each in a transaction of its own."""

    def __init__(self, mailbox_url: str, database_url: str) -> None:
        super().__init__(mailbox_url, database_url)
        self.mailbox_url = mailbox_url
        self._stack = contextlib.ExitStack()

    def close(self) -> None:
        self._stack.close()
        super().close()

    def restart(self) -> Airport:
        """Everything that the process held is gone; another one leads. (Its clock starts anew: see `at`.)"""
        self.admin.execute("update core.pipeline_lock set expires_at = '2000-01-01' where name = 'LEADER'")
        self.close()
        return Airport(self.mailbox_url, self.database_url)

    def clock(self, seconds: float) -> None:
        self.at(timedelta(seconds=seconds))

    def writer(self) -> Writer:
        return self._stack.enter_context(contextlib.closing(Writer(self.mailbox_url)))

    def send(self, *bodies: str, received: str | None = None) -> list[int]:
        """Committed at once; gives the ids."""
        with contextlib.closing(Writer(self.mailbox_url)) as writer:
            ids = [writer.insert(body, received) for body in bodies]
            writer.commit()
            return ids

    def lose(self, count: int = 1) -> list[int]:
        """Ids that are taken and never come: a rollback."""
        with contextlib.closing(Writer(self.mailbox_url)) as writer:
            return [writer.insert("<MSG/>") for _ in range(count)]

    def admitted(self) -> tuple[int, ...]:
        return self.round().admitted

    @property
    def watermark(self) -> int:
        return int(self.cursor["watermark"])

    @property
    def hole(self) -> tuple[Any, Any]:
        return self.cursor["hole_first_id"], self.cursor["hole_since"]

    def holes(self) -> list[tuple[int, int]]:
        return [(row["first_id"], row["last_id"]) for row in self.rows("select * from inbox.hole order by first_id")]

    def alerts(self) -> list[dict[str, Any]]:
        return self.rows("select code, message_id, detail from core.alert order by alert_id")

    def pump(self) -> None:
        database.pump(self.connection, self.epoch, 1000, 10_000)

    def housekeep(self) -> None:
        """One look after the mailbox, as the supervisor takes it once a minute."""
        settings = Settings(database=Database(url=self.database_url), mailbox=MailboxSettings(url=self.mailbox_url))
        with contextlib.closing(Housekeeping(settings)) as duty:
            duty.run(Work(self.epoch, threading.Event(), lambda: True, lambda *_names: None, 30.0))


class Writer:
    """One session of somebody who writes into the mailbox; nothing is seen before `commit`."""

    def __init__(self, mailbox_url: str) -> None:
        self._connection = mysql(mailbox_url, autocommit=False)

    def insert(self, body: str, received: str | None = None) -> int:
        with self._connection.cursor() as cursor:
            cursor.execute("insert into CMINMSGS (MSG_XML, RECEIVED_AT) values (%s, %s)", (body, received))
            return int(cursor.lastrowid)

    def commit(self) -> None:
        self._connection.commit()

    def rollback(self) -> None:
        self._connection.rollback()

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def airport(mailbox_url: str, database_url: str) -> Iterator[Airport]:
    opened = [Airport(mailbox_url, database_url)]
    opened[0].clock(0)

    yield opened[0]
    with contextlib.suppress(psycopg.Error, pymysql.Error):
        opened[0].close()


# Late commits ------------------------------------------------------------------------------------------------------


def test_a_late_commit_is_waited_for_across_a_restart(airport: Airport) -> None:
    """Pitfall 1: session A takes N and holds it; B takes N+1 and commits; we read three times and start anew."""
    airport.send(adft(1, 1))
    assert airport.admitted() == (1,)
    late = Writer(airport.mailbox_url)
    assert late.insert(flop(2, 1, 10)) == 2
    assert airport.send(flop(3, 1, 20)) == [3]
    for seconds in (0, 10, 20):
        airport.clock(seconds)
        assert airport.admitted() == ()
        assert (airport.watermark, airport.hole[0]) == (1, 2)
    with contextlib.closing(airport.restart()) as again:
        again.clock(29.9)
        assert again.admitted() == ()
        assert again.rows("select msg_id from inbox.proc_state") == [{"msg_id": 1}]
        late.commit()
        assert again.admitted() == (2, 3)
        assert (again.watermark, again.hole, again.holes(), again.alerts()) == (3, (None, None), [], [])
        again.pump()
        assert [row["message_id"] for row in again.rows("select * from outbox.msg_event_msg order by event_id")] == [
            1,
            2,
            3,
        ]
        (flight,) = again.rows("select last_message_id, estt from flight.flight_schd")
        assert (flight["last_message_id"], flight["estt"].minute) == (3, 20)
    late.close()


def test_many_writers_at_once_lose_nothing(airport: Airport) -> None:
    """Transactions of any length, committed in any order or rolled back, while rounds run: each row once, by its id."""
    airport.admin.execute("update core.setting set pipeline_max_commit_delay = '1200 ms', pipeline_claim_batch = 7")
    airport.connection.execute("set msgx.now to ''")
    committed: list[int] = []
    lost: list[int] = []
    mutex = threading.Lock()

    def write(seed: int) -> None:
        chance = random.Random(seed)
        with contextlib.closing(Writer(airport.mailbox_url)) as writer:
            for turn in range(6):
                ids = []
                rolled_back = turn == 2 and seed < 4
                for part in range(1 if rolled_back else chance.randint(1, 3)):
                    ids.append(writer.insert(adft(seed * 1000 + turn * 10 + part, seed * 100 + turn)))
                    time.sleep(chance.random() * 0.08)
                (writer.rollback if rolled_back else writer.commit)()
                with mutex:
                    (lost if rolled_back else committed).extend(ids)

    threads = [threading.Thread(target=write, args=(seed,), daemon=True) for seed in range(1, 6)]
    for thread in threads:
        thread.start()
    admitted: list[int] = []

    def taken() -> bool:
        admitted.extend(airport.admitted())
        return not any(thread.is_alive() for thread in threads) and len(admitted) >= len(committed)

    until(taken, 60, "taking in all that was committed")
    for thread in threads:
        thread.join(10)
    assert admitted == sorted(committed)
    passed_over = [id_ for first, last in airport.holes() for id_ in range(first, last + 1)]
    assert passed_over == sorted(id_ for id_ in lost if id_ < max(committed))
    airport.housekeep()
    assert airport.alerts() == []
    airport.pump()
    assert airport.rows("select state, count(*) from inbox.proc_state group by 1") == [
        {"state": "SUCCEEDED", "count": len(committed)}
    ]
    told = [row["message_id"] for row in airport.rows("select message_id from outbox.msg_event_msg order by event_id")]
    assert told == admitted


# Holes -------------------------------------------------------------------------------------------------------------


def test_a_holes_clock_outlives_restarts_and_is_its_own(airport: Airport) -> None:
    """Pitfall 3, with real rollbacks: looked at at 0, 0.4 w, (restart) 0.8 w and w."""
    airport.send(*[adft(n, n) for n in range(1, 5)])
    assert airport.admitted() == (1, 2, 3, 4)
    assert airport.lose() == [5]
    airport.send(adft(6, 6))
    assert airport.admitted() == ()
    first_seen = airport.hole
    assert first_seen[0] == 5
    airport.clock(0.4 * WINDOW)
    assert airport.admitted() == ()
    assert airport.hole == first_seen
    again = airport.restart()
    again.clock(0.8 * WINDOW)
    assert again.admitted() == ()
    assert again.hole == first_seen
    again = again.restart()
    again.clock(WINDOW)
    assert again.admitted() == ()
    assert (again.watermark, again.hole, again.holes()) == (5, (None, None), [(5, 5)])
    assert again.admitted() == (6,)

    # another hole that fills late, and one that follows it: nobody inherits a clock
    late = again.writer()
    late.insert(adft(7, 7))
    again.send(adft(8, 8))
    again.lose()
    again.send(adft(10, 10))
    assert again.admitted() == ()
    again.clock(1.9 * WINDOW)
    late.commit()
    assert again.admitted() == (7, 8)
    assert again.hole[0] == 9
    again.clock(2.0 * WINDOW)
    assert again.admitted() == ()
    again = again.restart()
    again.clock(2.89 * WINDOW)
    assert again.admitted() == ()
    again.clock(2.9 * WINDOW)
    assert again.admitted() == ()
    assert (again.watermark, again.holes()) == (9, [(5, 5), (9, 9)])
    assert again.admitted() == (10,)
    again.close()


def test_adjacent_holes_are_one_and_repeated_ones_wait_each_for_itself(airport: Airport) -> None:
    airport.send(adft(1, 1))
    assert airport.admitted() == (1,)
    airport.lose(4)
    airport.lose(6)
    airport.send(adft(12, 12))
    airport.lose()
    airport.send(adft(14, 14))
    airport.lose()
    airport.send(adft(16, 16))
    moved = []
    for seconds in range(0, 121, 5):
        airport.clock(seconds)
        before = airport.watermark
        for _ in range(2):
            holes = len(airport.holes())
            airport.round()
            assert len(airport.holes()) - holes <= 1
        if airport.watermark > before:
            moved.append((seconds, airport.watermark))
    assert moved == [(30, 12), (60, 14), (90, 16)]  # ten lost ids cost one wait, three holes three
    assert airport.holes() == [(2, 11), (13, 13), (15, 15)]
    assert airport.alerts() == []


@pytest.mark.parametrize(
    "received",
    [None, "2036-01-01 00:00:00", "2026-03-09 12:00:00", "1970-01-01 00:00:00", "0000-00-00 00:00:00"],
    ids=["none", "future", "hours old", "1970", "zero"],
)
def test_receive_times_decide_nothing(airport: Airport, received: str | None) -> None:
    """Neither when a hole began nor which row comes first nor whether a mark is overdue."""
    with airport.mysql.cursor() as cursor:
        cursor.execute("set global sql_mode = ''")
    try:
        airport.send(adft(1, 1), received=received)
        airport.lose()
        airport.send(adft(3, 3), adft(4, 4), received=received)
    finally:
        with airport.mysql.cursor() as cursor:
            cursor.execute("set global sql_mode = default")
    with capture_logs() as logs:
        assert airport.admitted() == (1,)
    assert any("impossible receive time" in line["event"] for line in logs) == (received or "").startswith("0000")
    since = airport.hole[1]
    airport.clock(WINDOW - 0.1)
    assert airport.admitted() == ()
    assert airport.hole == (2, since)
    airport.clock(WINDOW)
    assert (airport.admitted(), airport.watermark) == ((), 2)
    assert airport.admitted() == (3, 4)
    state = airport.state(3)
    kept = None if received is None or received.startswith("0000") else received
    shown = airport.rows(
        "select to_char(received_at at time zone 'Asia/Shanghai', 'YYYY-MM-DD HH24:MI:SS') as at"
        " from inbox.proc_state where msg_id = 3"
    )
    assert shown == [{"at": kept}]
    assert state["enqueued_at"] == since + timedelta(seconds=WINDOW)
    airport.pump()
    (status,) = airport.rows("select status from pipeline.status")
    assert status["status"]["marks"]["owed"] == 3
    overdue = airport.rows(
        "select count(*) as n from inbox.proc_state m, core.setting s"
        " where m.enqueued_at < %s - s.pipeline_mark_deadline",
        since,
    )
    assert overdue == [{"n": 0}]


def test_an_unreadable_mailbox_changes_nothing(airport: Airport, make_mailbox: Any, database_url: str) -> None:
    """Not the watermark, not the hole, not its clock, not when we last read; and the time away counts for the hole."""
    server: MariaDBServer = make_mailbox()
    airport.admin.execute("update core.pipeline_lock set expires_at = '2000-01-01' where name = 'LEADER'")
    with contextlib.closing(Airport(server.url, database_url)) as own:
        own.mailbox = Mailbox(MailboxConfig(url=server.url, read_timeout=0.5, connect_timeout=1), own.mailbox.zone)
        own.clock(0)
        own.send(adft(1, 1))
        own.lose()
        own.send(adft(3, 3))
        assert own.admitted() == (1,)
        cursor = own.cursor
        own.clock(10)
        with own.mysql.cursor() as root:
            root.execute("rename table CMINMSGS to CMINMSGS_OLD")
            with pytest.raises(MailboxUnavailable):
                own.round()
            root.execute("rename table CMINMSGS_OLD to CMINMSGS")

            for host in ("localhost", "127.0.0.1"):
                root.execute(f"alter user if exists 'root'@'{host}' identified by 'another'")
            own.mailbox.close()
            with pytest.raises(MailboxUnavailable):
                own.round()
            for host in ("localhost", "127.0.0.1"):
                root.execute(f"alter user if exists 'root'@'{host}' identified by '{server.password}'")

            server.pause()
            with pytest.raises(MailboxUnavailable):
                own.round()
            server.resume()
        assert own.cursor == cursor
        own.clock(WINDOW)
        assert own.admitted() == ()
        assert own.holes() == [(2, 2)]
        assert own.admitted() == (3,)


# What must not happen in silence -----------------------------------------------------------------------------------


def test_a_row_that_comes_too_late_is_told_and_can_be_entered(airport: Airport) -> None:
    """A transaction longer than the window: its row lies below the watermark. It is not taken in by itself."""
    airport.send(adft(1, 1))
    late = airport.writer()
    late.insert(flop(2, 1, 10))
    airport.send(flop(3, 1, 20))
    assert airport.admitted() == (1,)
    airport.clock(WINDOW)
    airport.round()
    assert airport.admitted() == (3,)
    airport.housekeep()
    assert airport.alerts() == []
    late.commit()
    assert airport.admitted() == ()
    airport.housekeep()
    airport.housekeep()
    (alert,) = airport.alerts()
    assert (alert["code"], alert["message_id"]) == ("MAILBOX_ID_REUSE", 2)
    assert "max-commit-delay is too short" in alert["detail"]
    airport.pump()
    assert [row["msg_id"] for row in airport.rows("select msg_id from inbox.proc_state order by 1")] == [1, 3]

    airport.admin.execute("select inbox.enqueue(2)")  # what the alert says to do
    assert airport.restage().staged == (2,)
    airport.pump()
    assert (airport.state(2)["state"], airport.state(3)["state"]) == ("SUCCEEDED", "SUCCEEDED")
    told = len(airport.alerts())
    airport.housekeep()
    assert len(airport.alerts()) == told


def settle(airport: Airport) -> None:
    """What was read is processed and marked in the mailbox."""
    airport.pump()
    owed = database.backfill_claim(airport.connection, airport.epoch, 100)
    results = airport.mailbox.mark([(one.msg_id, one.marker) for one in owed])
    database.backfill_settle(
        airport.connection, airport.epoch, [(one.id, one.outcome.value, one.error) for one in results]
    )


def execute(airport: Airport, *statements: str) -> None:
    with airport.mysql.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def test_a_mailbox_that_was_emptied_and_filled_anew_is_told(airport: Airport) -> None:
    """TRUNCATE sets AUTO_INCREMENT back: the new rows lie below the watermark and will not be read."""
    airport.send(*[adft(n, n) for n in range(1, 6)])
    assert airport.admitted() == (1, 2, 3, 4, 5)
    settle(airport)
    airport.housekeep()
    execute(airport, "truncate CMINMSGS")
    airport.housekeep()
    assert airport.alerts() == []  # empty is no sign: its owner may clear what is marked
    assert airport.send(adft(101, 101), adft(102, 102)) == [1, 2]
    assert airport.admitted() == ()
    airport.housekeep()
    alerts = airport.alerts()
    assert {alert["code"] for alert in alerts} == {"MAILBOX_ID_REUSE"}
    assert "end below the watermark 5" in alerts[0]["detail"]
    told = len(alerts)
    airport.housekeep()
    assert len(airport.alerts()) == told


@pytest.mark.parametrize("count", [5, 9], ids=["up to the watermark", "beyond it"])
def test_a_mailbox_that_was_refilled_between_two_looks_is_told(airport: Airport, count: int) -> None:
    """Its ids end where they ended before or further on, but the rows under them are others: they bear no mark."""
    airport.send(*[adft(n, n) for n in range(1, 6)])
    airport.round()
    settle(airport)
    airport.housekeep()
    execute(airport, "truncate CMINMSGS")
    airport.send(*[adft(100 + n, 100 + n) for n in range(1, count + 1)])
    airport.round()
    airport.housekeep()
    (alert,) = airport.alerts()
    assert (alert["code"], alert["message_id"]) == ("MAILBOX_ID_REUSE", 1)
    airport.housekeep()
    assert len(airport.alerts()) == 1


def test_the_newest_ids_given_out_a_second_time_are_told(airport: Airport) -> None:
    """The owner clears the newest rows, and the server forgets that they were there."""
    airport.send(*[adft(n, n) for n in range(1, 6)])
    airport.round()
    settle(airport)
    execute(airport, "delete from CMINMSGS where CMINMSGS_ID >= 4", "alter table CMINMSGS auto_increment = 4")
    assert airport.send(adft(104, 104), adft(105, 105)) == [4, 5]
    airport.round()
    airport.housekeep()
    (alert,) = airport.alerts()
    assert (alert["code"], alert["message_id"]) == ("MAILBOX_ID_REUSE", 4)
    assert "4, 5" in alert["detail"]


def test_marks_that_are_on_their_way_are_no_sign(airport: Airport) -> None:
    """Unmarked rows whose mark is owed, given up or written by another are as they should be."""
    airport.send(*[adft(n, n) for n in range(1, 5)])
    airport.round()
    airport.pump()
    airport.housekeep()
    execute(airport, "update CMINMSGS set PROC_FLAG = 'THEIRS' where CMINMSGS_ID = 1")
    settle(airport)
    airport.housekeep()
    airport.send(adft(9, 9))
    airport.round()
    airport.housekeep()
    assert airport.alerts() == []


def test_ids_below_a_seed_are_no_sign(airport: Airport) -> None:
    airport.send(*[adft(n, n) for n in range(1, 5)])
    airport.admin.execute("select inbox.seed('max', null, 1, 4)")
    airport.send(adft(5, 5))
    assert airport.admitted() == (5,)
    settle(airport)
    airport.housekeep()
    assert airport.alerts() == []

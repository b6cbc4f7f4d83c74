"""The whole flow, whatever zone each machine keeps, and with a clock that is set back (pitfall 31; design 5 and 9).

The airport's zone is a setting. The zones of the mailbox's server, of PostgreSQL, of our process and of whoever looks
decide nothing: the same messages end in the same documents, notices, endings and marks.
"""

from __future__ import annotations

import contextlib
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import psycopg
from psycopg import sql

from supervisor import database

from .supervised import Site, adft, flop, message
from .test_intake_mariadb import Room

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SHANGHAI = ZoneInfo("Asia/Shanghai")
STAMPS = re.compile(r'"UPDATED_AT": ?"[^"]*"')


def plan(styp: str, seqn: int, dttm: str, *flights: tuple[int, str, str]) -> str:
    """A day plan of (FLID, SODT, more), stamped at ``dttm``."""
    body = "".join(
        f"<FLTR><FLID>{flid}</FLID><FLNO>CA{flid}</FLNO><SODT>{sodt}</SODT>{more}</FLTR>"
        for flid, sodt, more in flights
    )
    sent = message(seqn, "SCHD", styp, f"<SCHD><RECS>{len(flights)}</RECS>{body}</SCHD>")
    return sent.replace("20260310080000", dttm)


# Around midnight of the airport, of UTC and of New York; hours that New York skips and doubles, which are plain here.
FLIGHTS = (
    (1, "10MAR260005", '<GTDT GTNO="1"><GATE>G1</GATE><PGOT>09MAR262335</PGOT></GTDT>'),
    (2, "10MAR260755", "<MAID>1</MAID>"),
    (3, "10MAR260805", '<CHOT CSNO="1"><CHTM>08MAR260230</CHTM></CHOT>'),
    (4, "10MAR262359", "<ESTT>01NOV260130</ESTT>"),
    (5, "20260311000000", "<EGSR>11MAR260001</EGSR>"),
)
DAY = [
    plan("RESP", 1, "20260310080000", *FLIGHTS[:4]),  # sent at eight, answered at eight: it counts
    plan("RESP", 2, "20260310075959", (8, "12MAR260800", "")),  # stamped before it was asked for
    plan("DNLD", 3, "20260310080001", *FLIGHTS),
    adft(4, 9).replace("10MAR261025", "10MAR262359"),
    flop(5, 1, 10),
    flop(6, 2, 20),
    message(7, "FLOP", "FDIV", "<FLOP><FLID>3</FLID><FDIV DDES='SZX'/></FLOP>"),
    message(8, "FLOP", "FDEL", "<FLOP><FLID>4</FLID></FLOP>"),
    flop(5, 1, 10),  # a duplicate
    message(10, "LDM", "X", "<LDM/>"),
    message(11, "XYZ", "NEW", "<XYZ/>"),
    "<MSG>",
    plan("DNLD", 13, "20260310080002", (1, "11MAR260005", "")),  # another day for flight 1: refused
]
RECEIVED = "2026-03-10 00:30:00.250"


def send(site: Site) -> None:
    with site.mysql() as cursor:
        cursor.executemany("insert into CMINMSGS (MSG_XML, RECEIVED_AT) values (%s, %s)", [(b, RECEIVED) for b in DAY])


def prepare(execute: Callable[[str], object]) -> None:
    """Two requests, one answered in the very second in which it was sent."""
    execute("update core.setting set pipeline_attempts_unsupported = 1, pipeline_ladder_unsupported = '{}'")
    execute("update core.setting set identity_include_day_boundary = true")
    for day in ("2026-03-10", "2026-03-12"):
        execute(f"select request.open_plan('{day}', 'AODB')")
    execute("update request.req_track set state = 'SENT', sent_at = '2026-03-10 08:00:00+08'")


def outcome(execute: Callable[[str], list[Any]]) -> dict[str, Any]:
    """Everything that was decided, without the moments at which it happened."""
    queries = {
        "documents": "select flid, document::text from flight.document(array(select flid from flight.flight_schd))"
        " order by flid",
        "days": "select flid, operation_day from flight.flight_schd order by 1",
        "endings": "select msg_id, state, error_class, last_error, identity_key, attempts,"
        " to_char(received_at at time zone 'Asia/Shanghai', 'YYYY-MM-DD HH24:MI:SS.MS')"
        " from inbox.proc_state order by 1",
        "notices": "select message_id, flid, event_type, state_version, payload from outbox.msg_event_msg"
        " order by event_id",
        "states": "select message_id, flid, event_type, state_version from outbox.msg_event_schd order by flid",
        "rosters": "select operation_day, flid from ledger.schd_gen_flid order by 1, 2",
        "requests": "select operation_day, state, done_message_id from request.req_track order by 1",
        "marks": "select msg_id, backfill_outcome, backfill_abandoned_at is null from inbox.proc_state order by 1",
        "traces": "select operation_day, msg_id, recs, result, flags, reason from ledger.schd_snap_log order by 1, 2",
        "alerts": "select code, message_id from core.alert order by alert_id",
    }
    found = {name: [tuple(map(str, row)) for row in execute(query)] for name, query in queries.items()}
    return {name: [STAMPS.sub("", "|".join(row)) for row in rows] for name, rows in found.items()}


# (MariaDB, PostgreSQL, our process)
ZONES = [
    ("+00:00", "UTC", "UTC"),
    ("+08:00", "UTC", "America/New_York"),
    ("-03:30", "Asia/Kolkata", "Pacific/Kiritimati"),
]


def test_the_zones_of_the_machines_decide_nothing(
    machines: Any, pg_version: int, tmp_path: Path, bootstrap: str, topic: Callable[[str], str]
) -> None:
    ended: list[dict[str, Any]] = []
    for number, (of_mailbox, of_database, of_process) in enumerate(ZONES):
        with contextlib.ExitStack() as stack:
            url = stack.enter_context(machines.database(pg_version))
            mailbox_url = stack.enter_context(machines.mailbox())
            (tmp_path / str(number)).mkdir()
            site = Site(
                tmp_path / str(number), url, mailbox_url, bootstrap, topic("msg"), topic("schd"), {"TZ": of_process}
            )
            stack.callback(site.stop_all)
            with psycopg.connect(url, autocommit=True) as connection:
                name = sql.Identifier(connection.info.dbname)
                connection.execute(sql.SQL("alter database {} set timezone to {}").format(name, of_database))
            prepare(site.sql)
            with site.mysql() as cursor:
                cursor.execute(f"set global time_zone = '{of_mailbox}'")
                stack.callback(reset, site)
            send(site)
            run = site.until_idle()
            assert run.process.returncode == 0, run.said

            found = outcome(site.sql)
            assert {row.split("|")[-1] for row in found["endings"]} == {RECEIVED}
            ended.append(found)
            looked_at_from_anywhere(site)
            nothing_is_early_or_late(site)
    assert [row.split("|")[:3] for row in ended[0]["endings"]] == [list(row) for row in expected_endings()]
    assert ended[1] == ended[0]
    assert ended[2] == ended[0]


def reset(site: Site) -> None:
    with site.mysql() as cursor:
        cursor.execute("set global time_zone = default")


def expected_endings() -> Iterator[tuple[str, ...]]:
    """Pinned, so that three alike are not three alike wrong."""
    states = {
        2: ("SKIPPED", "None"),
        9: ("SKIPPED", "None"),
        10: ("SKIPPED", "None"),
        11: ("DEAD", "EXHAUSTED"),
        12: ("DEAD", "MALFORMED"),
        13: ("DEAD", "PROTOCOL"),
    }
    for msg_id in range(1, len(DAY) + 1):
        yield (str(msg_id), *states.get(msg_id, ("SUCCEEDED", "None")))


def looked_at_from_anywhere(site: Site) -> None:
    """A person's own zone changes no document."""
    seen = set()
    for zone in ("UTC", "America/New_York", "Asia/Kolkata"):
        with psycopg.connect(site.database_url, autocommit=True, options=f"-c timezone={zone}") as connection:
            found = connection.execute("select document::text from flight.document('{1,3,5}'::bigint[])").fetchall()
            seen.add(str(found))
    assert len(seen) == 1


def nothing_is_early_or_late(site: Site) -> None:
    now = datetime.now(UTC)
    with site.mysql() as cursor:
        cursor.execute("select PROC_AT from CMINMSGS")
        for (at,) in cursor.fetchall():
            assert abs(at.replace(tzinfo=SHANGHAI) - now) < timedelta(minutes=3)
    ((status,),) = site.sql("select status from pipeline.status")
    assert (status["marks"]["owed"], status["marks"]["overdue"], status["marks"]["abandoned"]) == (0, 0, 0)
    assert site.sql(
        "select count(*) from inbox.proc_state where abs(extract(epoch from now() - enqueued_at)) > 180"
        " or abs(extract(epoch from now() - finished_at)) > 180"
    ) == [(0,)]


# A clock that is set back ------------------------------------------------------------------------------------------


class Shift:
    """One airport on a clock of the test's own, worked off in two halves."""

    def __init__(self, room: Room) -> None:
        self.room = room
        room.connection.execute("reset role")  # the same session also asks as others would
        prepare(lambda query: room.connection.execute(query))
        room.connection.execute("update request.req_track set created_at = '2026-03-10 07:00:00+08'")

    def take_in(self, bodies: list[str]) -> None:
        with self.room.mysql.cursor() as cursor:
            cursor.executemany(
                "insert into CMINMSGS (MSG_XML, RECEIVED_AT) values (%s, %s)", [(body, RECEIVED) for body in bodies]
            )
        assert len(self.room.round().admitted) == len(bodies)

    def pump(self) -> database.Pumped:
        return database.pump(self.room.connection, self.room.epoch, 1000, 10_000)

    def tell(self) -> list[int]:
        """Everything that is due is told and confirmed; the ids of the notices' messages, in this order."""
        told = []
        for target in (database.MSG, database.SCHD):
            while events := database.outbox_claim(self.room.connection, self.room.epoch, target):
                database.outbox_settle(self.room.connection, self.room.epoch, target, events)
                told += [event.message_id for event in events if target == database.MSG]
        return told

    def mark(self) -> int:
        owed = database.backfill_claim(self.room.connection, self.room.epoch, 100)
        results = self.room.mailbox.mark([(one.msg_id, one.marker) for one in owed])
        settled = [(one.id, one.outcome.value, one.error) for one in results]
        return database.backfill_settle(self.room.connection, self.room.epoch, settled)


def test_a_clock_that_is_set_back_changes_nothing_but_timestamps(machines: Any, pg_version: int) -> None:
    """Ten minutes back in the middle: what waited to be told and marked is not held up by it either."""
    ended = []
    for back in (timedelta(), timedelta(minutes=10)):
        with (
            machines.database(pg_version) as url,
            machines.mailbox() as mailbox_url,
            contextlib.closing(Room(mailbox_url, url)) as room,
        ):
            shift = Shift(room)
            room.at(timedelta(hours=1))
            shift.take_in(DAY[:6])
            assert shift.pump().stop == "IDLE"
            room.at(timedelta(hours=1) - back)
            assert shift.tell() != []
            assert shift.mark() == 6
            shift.take_in(DAY[6:])
            assert shift.pump().stop == "IDLE"
            shift.tell()
            shift.mark()
            assert room.rows("select count(*) as n from outbox.msg_event where state <> 'SENT'") == [{"n": 0}]
            ended.append(outcome(lambda query: room.connection.execute(query).fetchall()))
    assert ended[0] == ended[1]
    assert ended[0]["documents"]


def test_a_back_off_does_not_last_longer_for_it(mailbox_url: str, database_url: str) -> None:
    """The head failed just before the clock went back: the airport does not wait for the time to come again."""
    with contextlib.closing(Room(mailbox_url, database_url)) as room:
        shift = Shift(room)
        room.admin.execute("alter table flight.flight_schd add constraint only_for_this_test check (flid <> 9)")
        shift.take_in([adft(1, 9), adft(2, 2)])
        room.at(timedelta(hours=1))
        assert shift.pump().stop == "HEAD_BACKOFF"
        room.admin.execute("alter table flight.flight_schd drop constraint only_for_this_test")
        assert shift.pump().stop == "HEAD_BACKOFF"
        room.at(timedelta(minutes=50))
        assert shift.pump().stop == "IDLE"
        assert [row["state"] for row in room.rows("select state from inbox.proc_state")] == ["SUCCEEDED"] * 2


def test_a_body_that_waits_to_be_read_again_does_not_wait_longer_for_it(mailbox_url: str, database_url: str) -> None:
    with contextlib.closing(Room(mailbox_url, database_url)) as room:
        Shift(room).take_in([adft(1, 9)])
        room.at(timedelta(hours=1))
        room.admin.execute("delete from inbox.stage_record")
        room.admin.execute("delete from inbox.stage_message")
        room.connection.execute("select inbox.fail_unread(%s, 1, 'away')", [room.epoch])
        assert room.restage().due == ()
        room.at(timedelta(minutes=50))
        assert room.restage().staged == (1,)

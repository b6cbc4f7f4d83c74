"""Intake from a real mailbox into a real database: watermark, holes, staging, and what is staged anew."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, LiteralString
from urllib.parse import unquote, urlsplit
from zoneinfo import ZoneInfo

import psycopg
import pymysql
import pytest
from psycopg.rows import dict_row, namedtuple_row

from loader import intake
from loader.catalogue import SCALARS, SETS, CatalogueError, ValueType
from loader.mailbox import Mailbox, MailboxConfig, MailboxRow, MailboxUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from demo.servers import TcpProxy

SHANGHAI = ZoneInfo("Asia/Shanghai")
START = datetime(2026, 3, 10, tzinfo=UTC)


def message(type_: str, styp: str, body: str, seqn: int = 1) -> str:
    return (
        f"<MSG><META><SNDR>AODB</SNDR><SEQN>{seqn}</SEQN><DTTM>20260310080000</DTTM>"
        f"<TYPE>{type_}</TYPE><STYP>{styp}</STYP></META>{body}</MSG>"
    )


FLOP = message("FLOP", "ESTT", "<FLOP><FLID>7701002</FLID><ESTT>10MAR260945</ESTT></FLOP>")


class Room:
    """One airport: its mailbox, our database, and us as the leader, with the rights of the supervisor's role."""

    def __init__(self, mailbox_url: str, database_url: str) -> None:
        self.database_url = database_url
        self.admin = psycopg.connect(database_url, autocommit=True, row_factory=dict_row)
        # The row factory is the supervisor's own; the loader must not depend on it.
        self.connection: psycopg.Connection[Any] = psycopg.connect(
            database_url, autocommit=True, row_factory=namedtuple_row, prepare_threshold=None
        )
        self.connection.execute("set role msgx_app")
        lease = self.connection.execute("select epoch from core.lease_acquire('test', interval '1 day')").fetchone()
        self.epoch: int = lease[0] if lease else 0
        self.mailbox = Mailbox(MailboxConfig(url=mailbox_url, read_timeout=5), SHANGHAI)
        self.mysql = mysql(mailbox_url)

    def close(self) -> None:
        self.mailbox.close()
        self.mysql.close()
        self.connection.close()
        self.admin.close()

    def put(self, id_: int, body: str = FLOP, received: str | None = None) -> None:
        put(self.mysql, id_, body, received)

    def at(self, after: timedelta) -> None:
        """Set the clock of the database."""
        self.connection.execute("select set_config('msgx.now', %s, false)", [(START + after).isoformat()])

    def round(self) -> intake.IntakeResult:
        return intake.round(self.mailbox, self.connection, self.epoch)

    def restage(self, limit: int = 100) -> intake.RestageResult:
        return intake.restage(self.mailbox, self.connection, self.epoch, limit)

    def rows(self, query: LiteralString, *arguments: object) -> list[dict[str, Any]]:
        return self.admin.execute(query, arguments).fetchall()

    def staged(self) -> dict[int, str | None]:
        """Staged messages with their verdict."""
        return {row["msg_id"]: row["verdict"] for row in self.rows("select * from inbox.stage_message order by msg_id")}

    def state(self, id_: int) -> dict[str, Any]:
        return self.rows("select * from inbox.proc_state where msg_id = %s", id_)[0]

    @property
    def cursor(self) -> dict[str, Any]:
        return self.rows("select * from inbox.inbox_cursor")[0]


def mysql(url: str, *, autocommit: bool = True) -> pymysql.connections.Connection[Any]:
    parts = urlsplit(url)
    return pymysql.connect(
        host=str(parts.hostname),
        port=int(parts.port or 0),
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        database=unquote(parts.path[1:]),
        autocommit=autocommit,
        charset="utf8mb4",
        connect_timeout=10,
        read_timeout=30,
    )


def put(
    connection: pymysql.connections.Connection[Any], id_: int, body: str = FLOP, received: str | None = None
) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "insert into CMINMSGS (CMINMSGS_ID, MSG_XML, RECEIVED_AT) values (%s, %s, %s)", (id_, body, received)
        )


@pytest.fixture
def room(mailbox_url: str, database_url: str) -> Iterator[Room]:
    with contextlib.closing(Room(mailbox_url, database_url)) as opened:
        yield opened


# -- one round ------------------------------------------------------------------------------------------------------


def test_what_is_admitted_is_staged(room: Room) -> None:
    room.put(1, FLOP, "2026-03-10 08:40:12.345")
    room.put(2, message("SCHD", "DNLD", "<SCHD><RECS>2</RECS><FLTR><FLID>2</FLID><FLNO/></FLTR><FLTR/></SCHD>"))
    result = room.round()
    assert (result.watermark, result.fetched, result.admitted, result.refused, result.more) == (0, 2, (1, 2), 0, False)
    assert room.cursor["watermark"] == 2
    assert room.state(1)["received_at"] == datetime(2026, 3, 10, 8, 40, 12, 345000, tzinfo=SHANGHAI)
    first, second = room.rows("select * from inbox.stage_message order by msg_id")
    assert (first["kind"], first["sndr"], first["styp"], first["record_count"]) == ("FLOP", "AODB", "ESTT", 1)
    assert first["dttm"] == datetime(2026, 3, 10, 8, tzinfo=SHANGHAI)
    assert (len(first["digest"]), first["has_payload"], first["unmapped"]) == (32, True, None)
    assert (second["kind"], second["declared"], second["record_count"]) == ("SCHD_DNLD", "2", 2)
    assert room.rows("select msg_id, ordinal, flid, scalars from inbox.stage_record order by 1, 2") == [
        {"msg_id": 1, "ordinal": 1, "flid": 7701002, "scalars": {"estt": "2026-03-10T09:45:00+08:00"}},
        {"msg_id": 2, "ordinal": 1, "flid": 2, "scalars": {"flno": None}},
        {"msg_id": 2, "ordinal": 2, "flid": None, "scalars": {}},
    ]


def test_a_round_without_news_changes_nothing(room: Room) -> None:
    assert room.round() == intake.IntakeResult(watermark=0, fetched=0, admitted=(), refused=0, more=False)
    room.put(1)
    room.round()
    assert room.round() == intake.IntakeResult(watermark=1, fetched=0, admitted=(), refused=0, more=False)
    assert room.staged() == {1: None}


def test_a_batch_at_a_time(room: Room) -> None:
    room.admin.execute("update core.setting set pipeline_claim_batch = 2")
    for id_ in range(1, 6):
        room.put(id_)
    assert [(result.admitted, result.more) for result in (room.round(), room.round(), room.round())] == [
        ((1, 2), True),
        ((3, 4), True),
        ((5,), False),
    ]


HOSTILE = {
    "nul": "<MSG>\0</MSG>",
    "control": "<MSG>\x01</MSG>",
    "reference": message("FLOP", "ESTT", "<FLOP><FLID>&#1;</FLID></FLOP>"),
    "noncharacter": FLOP.replace("AODB", "AO\ufffeDB"),
    "nul in an identity": FLOP.replace("<SEQN>1", "<SEQN>1\0"),
    "trailing nul": FLOP + "\0",
    "doctype": "<!DOCTYPE MSG [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>" + FLOP,
    "empty": "",
    "long reason": message("FLOP", "ESTT", f"<FLOP><FLID>{'x' * 100_000}</FLID></FLOP>"),
    "long identity": FLOP.replace("AODB", "A" * 100_000),
    "too large": f"<MSG>{'x' * 300_000}</MSG>",
    "escapes": message("FLOP", "ESTT", "<FLOP><FLID>1\t\\N\\.\n\\u0000</FLID></FLOP>"),
}


def test_bad_bodies_never_stop_a_batch(room: Room) -> None:
    room.admin.execute("update core.setting set pipeline_max_body_bytes = 250000")
    for id_, body in enumerate(HOSTILE.values(), start=1):
        room.put(id_, body)
    last = len(HOSTILE) + 1
    room.put(last)
    result = room.round()
    assert (len(result.admitted), result.refused) == (last, len(HOSTILE))
    assert room.staged() == {**dict.fromkeys(range(1, last), "MALFORMED"), last: None}
    reasons = [row["reason"] for row in room.rows("select reason from inbox.stage_message where verdict is not null")]
    assert all(0 < len(reason) <= 2000 for reason in reasons)
    assert "the body of 300011 bytes is larger than 250000 bytes" in reasons


def test_everything_the_catalogue_knows_can_be_staged(room: Room) -> None:
    values = {ValueType.INTEGER: "7", ValueType.TEXT: "停\t\\N\"'", ValueType.DATETIME: "10MAR260945"}

    def tag(field: Any) -> str:
        return f"<{field.tag}>{values.get(field.type, 'soon')}</{field.tag}>"

    sets = "".join(f"<{kind.tag}>{''.join(map(tag, kind.parts))}</{kind.tag}>" for kind in SETS)
    room.put(1, message("SCHD", "ADFT", f"<SCHD><FLTR><FLID>1</FLID>{''.join(map(tag, SCALARS))}{sets}</FLTR></SCHD>"))
    assert room.round().refused == 0
    (record,) = room.rows("select * from inbox.stage_record")
    assert set(record["scalars"]) == {field.column for field in SCALARS}
    assert record["scalars"]["remc"] == "停\t\\N\"'"
    assert set(record["sets"]) == {kind.tag for kind in SETS}


def test_settings_work_from_the_next_round_on(room: Room) -> None:
    body = message("FLOP", "NEWT", "<FLOP><FLID>1</FLID><NEWT>10MAR260945</NEWT></FLOP>")
    room.put(1, body)
    room.round()
    room.admin.execute(
        "update core.setting set catalogue_site_scalars = '{NEWT datetime}', airport_timezone = 'America/New_York'"
    )
    room.put(2, body)
    room.round()
    assert [row["unmapped"] for row in room.rows("select unmapped from inbox.stage_message order by msg_id")] == [
        {"NEWT": 1},
        None,
    ]
    assert [row["extra"] for row in room.rows("select extra from inbox.stage_record order by msg_id")] == [
        {},
        {"NEWT": "2026-03-10T09:45:00-04:00"},
    ]


def test_a_setting_that_cannot_be_used_stops_intake_and_loses_nothing(room: Room) -> None:
    room.put(1)
    room.admin.execute("update core.setting set catalogue_site_scalars = '{FLNO text}'")
    with pytest.raises(CatalogueError, match="FLNO"):
        room.round()
    assert room.cursor["watermark"] == 0


# -- order ----------------------------------------------------------------------------------------------------------


def test_a_late_commit_is_waited_for(room: Room, mailbox_url: str) -> None:
    late = mysql(mailbox_url, autocommit=False)
    room.at(timedelta())
    put(late, 1)
    room.put(2)
    for seconds in (0, 10, 29):
        room.at(timedelta(seconds=seconds))
        assert room.round().admitted == ()
    assert room.staged() == {}
    late.commit()
    assert room.round().admitted == (1, 2)
    late.close()


def test_a_hole_is_released_after_its_time_and_alone(room: Room) -> None:
    for id_ in (1, 5, 6, 9):
        room.put(id_)
    room.at(timedelta())
    assert room.round().admitted == (1,)
    room.at(timedelta(seconds=30))
    assert room.round().admitted == ()  # from now on nothing is waited for
    assert room.cursor["watermark"] == 4
    assert room.round().admitted == (5, 6)
    room.at(timedelta(seconds=59))
    assert room.round().admitted == ()
    assert sorted(room.staged()) == [1, 5, 6]


def test_a_row_that_came_late_by_another_way_is_staged_later(room: Room) -> None:
    """It is admitted, since the hole it was in is released, but our SELECT did not see its body."""
    room.put(1)
    room.put(3)
    room.at(timedelta())
    assert room.round().admitted == (1,)
    room.at(timedelta(minutes=1))

    class Quick(Mailbox):
        def read_after(self, watermark: int, limit: int, max_body_bytes: int | None = None) -> list[MailboxRow]:
            rows = super().read_after(watermark, limit, max_body_bytes)
            room.put(2)
            room.connection.execute("select inbox.enqueue(2)")
            return rows

    with Quick(room.mailbox.config, SHANGHAI) as quick:
        assert intake.round(quick, room.connection, room.epoch).admitted == (2,)
    assert room.staged() == {1: None}
    assert room.restage().staged == (2,)
    assert room.round().admitted == (3,)
    assert room.staged() == {1: None, 2: None, 3: None}


def test_a_stale_leader_writes_nothing(room: Room) -> None:
    room.put(1)
    with pytest.raises(psycopg.Error) as caught:
        intake.round(room.mailbox, room.connection, room.epoch - 1)
    assert caught.value.sqlstate == "MX010"
    assert (room.cursor["watermark"], room.staged()) == (0, {})


def test_admission_and_staging_are_one(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    room.put(1)

    def broken(*_: object) -> int:
        raise OSError("the cable is cut")

    monkeypatch.setattr(intake, "stage", broken)
    with pytest.raises(OSError, match="cable"):
        room.round()
    assert (room.cursor["watermark"], room.staged()) == (0, {})
    monkeypatch.undo()
    assert room.round().admitted == (1,)


@pytest.mark.parametrize("autocommit", [True, False])
def test_no_transaction_waits_for_the_mailbox(room: Room, autocommit: bool) -> None:
    room.put(1)
    room.connection.autocommit = autocommit
    pid = room.connection.info.backend_pid
    seen: list[str] = []

    class Watched(Mailbox):
        def look(self) -> None:
            (row,) = room.rows("select state from pg_stat_activity where pid = %s", pid)
            seen.append(row["state"])

        def read_after(self, watermark: int, limit: int, max_body_bytes: int | None = None) -> list[MailboxRow]:
            self.look()
            return super().read_after(watermark, limit, max_body_bytes)

        def read_ids(self, ids: Sequence[int], max_body_bytes: int | None = None) -> list[MailboxRow]:
            self.look()
            return super().read_ids(ids, max_body_bytes)

    with Watched(room.mailbox.config, SHANGHAI) as watched:
        assert intake.round(watched, room.connection, room.epoch).admitted == (1,)
        room.admin.execute("delete from inbox.stage_record")
        room.admin.execute("delete from inbox.stage_message")
        assert intake.restage(watched, room.connection, room.epoch, 10).staged == (1,)
    assert seen == ["idle", "idle"]
    assert room.connection.info.transaction_status is psycopg.pq.TransactionStatus.IDLE


# -- outages --------------------------------------------------------------------------------------------------------


@pytest.fixture
def proxied(room: Room, mailbox_url: str, tcp_proxy: Callable[[int], TcpProxy]) -> TcpProxy:
    """Puts a proxy between the room and its mailbox."""
    parts = urlsplit(mailbox_url)
    proxy = tcp_proxy(int(parts.port or 0))
    url = f"mysql://{parts.username}:{parts.password}@127.0.0.1:{proxy.port}{parts.path}"
    room.mailbox.close()
    config = MailboxConfig(url=url, connect_timeout=1, read_timeout=1, write_timeout=1)
    room.mailbox = Mailbox(config, SHANGHAI)
    return proxy


def test_an_unreadable_mailbox_is_not_an_empty_one(room: Room, proxied: TcpProxy) -> None:
    room.put(1)
    proxied.cut()
    with pytest.raises(MailboxUnavailable):
        room.round()
    cursor = room.cursor
    assert (cursor["watermark"], cursor["read_at"]) == (0, None)
    proxied.restore()
    assert room.round().admitted == (1,)


# -- what has no staging --------------------------------------------------------------------------------------------


def unstage(room: Room, *ids: int) -> None:
    room.admin.execute("delete from inbox.stage_record where msg_id = any (%s)", [list(ids)])
    room.admin.execute("delete from inbox.stage_message where msg_id = any (%s)", [list(ids)])


def test_nothing_to_restage(room: Room) -> None:
    room.put(1)
    room.round()
    assert room.restage() == intake.RestageResult()


def test_messages_without_staging_are_fetched_by_id(room: Room) -> None:
    for id_ in (1, 2, 3):
        room.put(id_)
    room.round()
    unstage(room, 1, 3)
    assert room.restage(1) == intake.RestageResult(due=(1,), staged=(1,), more=True)
    assert room.restage() == intake.RestageResult(due=(3,), staged=(3,))
    assert room.staged() == {1: None, 2: None, 3: None}
    assert [row["msg_id"] for row in room.rows("select msg_id from inbox.stage_record order by 1")] == [1, 2, 3]


def test_a_row_that_is_gone_is_raw_missing(room: Room) -> None:
    room.put(1)
    room.put(2)
    room.round()
    unstage(room, 1, 2)
    with room.mysql.cursor() as cursor:
        cursor.execute("delete from CMINMSGS where CMINMSGS_ID = 1")
    assert room.restage() == intake.RestageResult(due=(1, 2), staged=(1, 2), missing=(1,))
    assert room.staged() == {1: "MALFORMED", 2: None}
    assert room.rows("select reason from inbox.stage_message where msg_id = 1") == [{"reason": "raw-missing"}]


def test_a_mailbox_that_does_not_answer_fails_the_head_only(room: Room, proxied: TcpProxy) -> None:
    room.put(1)
    room.put(2)
    room.round()
    unstage(room, 1, 2)
    proxied.cut()
    result = room.restage()
    assert (result.due, result.staged, result.unread) == ((1, 2), (), (1,))
    assert "mailbox" in (result.error or "")
    assert (room.state(1)["state"], room.state(1)["error_class"], room.state(1)["attempts"]) == ("FAILED", "INFRA", 1)
    assert room.state(2)["state"] == "PENDING"
    proxied.restore()
    assert room.restage().staged == (2,)  # the first one's next try is not due
    room.at(timedelta(days=36500))
    assert room.restage().staged == (1,)


def test_one_row_that_cannot_be_read_does_not_hold_up_the_head(room: Room) -> None:
    for id_ in (1, 2):
        room.put(id_)
    room.round()
    unstage(room, 1, 2)

    class Partial(Mailbox):
        def read_ids(self, ids: Sequence[int], max_body_bytes: int | None = None) -> list[MailboxRow]:
            if 2 in ids:
                raise MailboxUnavailable("Row 2 is broken.", 1815)
            return super().read_ids(ids, max_body_bytes)

    with Partial(room.mailbox.config, SHANGHAI) as partial:
        first = intake.restage(partial, room.connection, room.epoch, 10)
        assert (first.staged, first.unread, first.more) == ((1,), (), True)
        second = intake.restage(partial, room.connection, room.epoch, 10)
        assert (second.staged, second.unread, second.error) == ((), (2,), "Row 2 is broken.")


def test_an_ended_message_is_not_staged_again(room: Room) -> None:
    """The pump was quicker between our look and our COPY."""
    room.put(1)
    room.round()
    unstage(room, 1)

    class Slow(Mailbox):
        def read_ids(self, ids: Sequence[int], max_body_bytes: int | None = None) -> list[MailboxRow]:
            room.admin.execute("update inbox.proc_state set state = 'SUCCEEDED'")
            return super().read_ids(ids, max_body_bytes)

    with Slow(room.mailbox.config, SHANGHAI) as slow:
        assert intake.restage(slow, room.connection, room.epoch, 10).staged == ()
    assert room.staged() == {}


def test_a_stale_leader_restages_nothing(room: Room) -> None:
    room.put(1)
    room.round()
    unstage(room, 1)
    with pytest.raises(psycopg.Error) as caught:
        intake.restage(room.mailbox, room.connection, room.epoch - 1, 10)
    assert caught.value.sqlstate == "MX010"
    assert room.staged() == {}

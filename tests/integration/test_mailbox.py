"""The mailbox against a real server: what is read, what a marker comes to, and what an outage looks like."""

from __future__ import annotations

import contextlib
import time
from datetime import UTC, datetime
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit
from zoneinfo import ZoneInfo

import pymysql
import pytest
import structlog
from pymysql.constants import CLIENT

from demo.servers import NoidaMySQLServer
from loader.catalogue import Catalogue
from loader.decode import Verdict, decode
from loader.mailbox import BodyRefused, Mailbox, MailboxConfig, MailboxUnavailable, MarkOutcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from demo.servers import MariaDBServer, TcpProxy

SHANGHAI = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 3, 10, 0, 40, 12, 345678, tzinfo=UTC)
WALL = datetime(2026, 3, 10, 8, 40, 12, 345000)  # noqa: DTZ001 - as the mailbox holds it

WRITTEN, ALREADY, MISSING_ROW, TRANSIENT = (
    MarkOutcome.WRITTEN,
    MarkOutcome.ALREADY,
    MarkOutcome.MISSING_ROW,
    MarkOutcome.TRANSIENT,
)


class Other:
    """Another client of the mailbox: the AODB, an operator, the mailbox's owner."""

    def __init__(self, url: str, *, autocommit: bool = True) -> None:
        parts = urlsplit(url)
        self.connection: pymysql.connections.Connection[Any] = pymysql.connect(
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

    def __call__(self, statement: str, *arguments: object) -> list[tuple[Any, ...]]:
        with self.connection.cursor() as cursor:
            cursor.execute(statement, arguments or None)
            return list(cursor.fetchall())

    def put(self, *ids: int, body: str = "<MSG/>", flag: str | None = None) -> None:
        for id_ in ids:
            self("insert into CMINMSGS (CMINMSGS_ID, MSG_XML, PROC_FLAG) values (%s, %s, %s)", id_, body, flag)

    def flags(self) -> dict[int, str | None]:
        return dict(self("select CMINMSGS_ID, PROC_FLAG from CMINMSGS order by 1"))


@pytest.fixture
def other(mailbox_url: str) -> Iterator[Other]:
    client = Other(mailbox_url)
    yield client
    client.connection.close()


@pytest.fixture
def config(mailbox_url: str) -> MailboxConfig:
    return MailboxConfig(url=mailbox_url, read_timeout=10)


def opened(config: MailboxConfig, clock: Callable[[], datetime] = lambda: NOW) -> Mailbox:
    return Mailbox(config, SHANGHAI, clock)


@pytest.fixture
def mailbox(config: MailboxConfig) -> Iterator[Mailbox]:
    with opened(config) as box:
        yield box


@pytest.fixture(params=[0, CLIENT.FOUND_ROWS], ids=["changed rows", "found rows"])
def marking(mailbox_url: str, request: pytest.FixtureRequest) -> Iterator[Mailbox]:
    """A mailbox under both ways in which a server counts affected rows."""
    with opened(MailboxConfig(url=mailbox_url, client_flag=request.param)) as box:
        yield box


def ids(rows: Sequence[Any]) -> list[int]:
    return [row.id for row in rows]


# -- reading --------------------------------------------------------------------------------------------------------


def test_rows_come_by_id_and_whatever_their_marker(mailbox: Mailbox, other: Other) -> None:
    other.put(30, 10, 20)
    other.put(25, flag="OK")
    assert ids(mailbox.read_after(0, 10)) == [10, 20, 25, 30]
    assert ids(mailbox.read_after(10, 2)) == [20, 25]
    assert ids(mailbox.read_after(30, 10)) == []
    assert ids(mailbox.read_ids([30, 11, 10])) == [10, 30]
    assert mailbox.read_ids([]) == []


def test_bounds(mailbox: Mailbox, other: Other) -> None:
    assert mailbox.bounds() is None
    other.put(7, 12)
    assert mailbox.bounds() == (7, 12)


def test_a_new_row_is_seen_by_the_next_poll(mailbox: Mailbox, other: Other) -> None:
    assert mailbox.read_after(0, 10) == []
    other.put(1)
    assert ids(mailbox.read_after(0, 10)) == [1]


def test_a_late_commit_of_a_smaller_id_is_seen(mailbox: Mailbox, other: Other, mailbox_url: str) -> None:
    late = Other(mailbox_url, autocommit=False)
    late.put(1)
    other.put(2)
    assert [ids(mailbox.read_after(0, 10)) for _ in range(3)] == [[2], [2], [2]]
    late.connection.commit()
    assert ids(mailbox.read_after(0, 10)) == [1, 2]
    late.connection.close()


def test_no_transaction_stays_open_between_calls(mailbox: Mailbox, other: Other) -> None:
    other.put(1)
    for call in (
        lambda: mailbox.read_after(0, 10),
        lambda: mailbox.read_ids([1]),
        mailbox.bounds,
        lambda: mailbox.mark([(1, "OK"), (2, "OK")]),
        lambda: mailbox.send("<MSG/>"),
    ):
        call()
        assert other("select count(*) from information_schema.innodb_trx") == [(0,)]


@pytest.mark.parametrize("server_zone", ["+08:00", "+00:00", "-05:00"])
def test_receive_times_are_the_airports_wall_clock(
    make_mailbox: Callable[..., MariaDBServer], server_zone: str
) -> None:
    server = make_mailbox(options=[f"--default-time-zone={server_zone}"])
    other = Other(server.url)
    other("insert into CMINMSGS (MSG_XML, RECEIVED_AT) values ('<MSG/>', '2026-03-10 08:40:12.345'), ('<MSG/>', null)")
    with opened(MailboxConfig(url=server.url)) as mailbox:
        first, second = mailbox.read_after(0, 10)
        assert first.received_at is not None
        assert first.received_at.isoformat() == "2026-03-10T08:40:12.345000+08:00"
        assert second.received_at is None
        mailbox.mark([(1, "OK")])
        mailbox.send("<MSG/>")
    assert other("select PROC_AT from CMINMSGS where CMINMSGS_ID = 1") == [(WALL,)]
    assert other("select RECEIVED_AT from CMINMSGS where CMINMSGS_ID = 3") == [(WALL,)]
    other.connection.close()


@pytest.mark.parametrize("impossible", ["0000-00-00 00:00:00", "2026-00-10 00:00:00", "2026-02-31 10:00:00"])
def test_an_impossible_receive_time_is_none_and_logged(mailbox: Mailbox, other: Other, impossible: str) -> None:
    other("set sql_mode = 'ALLOW_INVALID_DATES'")
    other("insert into CMINMSGS (CMINMSGS_ID, MSG_XML, RECEIVED_AT) values (5, '<MSG/>', %s)", impossible)
    with structlog.testing.capture_logs() as logs:
        (row,) = mailbox.read_after(0, 10)
    assert (row.id, row.received_at, row.body) == (5, None, "<MSG/>")
    assert [(entry["message_id"], entry["log_level"]) for entry in logs] == [(5, "warning")]


def test_a_body_too_large_stays_where_it_is(mailbox: Mailbox, other: Other) -> None:
    other.put(1, body="镕" * 400)
    other.put(2, body="镕" * 300)
    large, small = mailbox.read_after(0, 10, 1000)
    assert (large.body, large.size) == (None, 1200)
    assert (small.body, small.size) == ("镕" * 300, 900)
    assert mailbox.read_ids([1], 1000)[0].body is None
    assert mailbox.read_after(0, 1)[0].body == "镕" * 400


# -- text and binary columns ----------------------------------------------------------------------------------------

META = "<META><SNDR>A</SNDR><SEQN>1</SEQN><DTTM>20260310080000</DTTM><TYPE>FLOP</TYPE><STYP>VIPP</STYP></META>"
DOCUMENT = f"<MSG>{META}<FLOP><FLID>1</FLID><VIPR>喆堃玥镕䶮🛬</VIPR></FLOP></MSG>"
DECLARATIONS = [
    "",
    '<?xml version="1.0"?>',
    '<?xml version="1.0" encoding="UTF-8"?>',
    "<?xml version='1.0' encoding='GB2312' standalone='yes'?>",
    '\ufeff<?xml version="1.0" encoding="UTF-16"?>',
]


def encoded(text: str) -> bytes:
    """The text in the encoding that it declares."""
    codec = "gb18030" if "GB2312" in text else "utf-16" if "UTF-16" in text else "utf-8"
    return text.removeprefix("\ufeff").encode(codec)


@pytest.mark.parametrize("column", ["longtext", "longblob", "longtext character set gbk"])
def test_a_message_reads_alike_from_any_column(config: MailboxConfig, other: Other, column: str) -> None:
    other(f"alter table CMINMSGS modify MSG_XML {column} not null")
    document = DOCUMENT.replace("䶮🛬", "") if "gbk" in column else DOCUMENT  # what GBK does not have
    bodies = [form for text in DECLARATIONS for form in (text + document, encoded(text + document))]
    with opened(config) as mailbox:
        assert [mailbox.send(body) for body in bodies] == list(range(1, len(bodies) + 1))
        assert mailbox.send_many(bodies) == len(bodies)
        rows = mailbox.read_after(0, 100)
    assert {type(row.body) for row in rows} == {bytes if "blob" in column else str}
    wanted = decode(document, Catalogue.build(), SHANGHAI)
    assert wanted.verdict is None
    assert [decode(row.body, Catalogue.build(), SHANGHAI) for row in rows] == [wanted] * (2 * len(bodies))


def test_what_cannot_be_put_in_is_refused_before_it_is_tried(config: MailboxConfig, other: Other) -> None:
    with opened(MailboxConfig(url=config.url, max_body_bytes=20)) as mailbox:
        for body in ("<MSG>镕镕镕镕</MSG>", b"x" * 21, b"\xff\xff", b"<?xml encoding='?'?>", b"<?xml encoding='x9'?>"):
            with pytest.raises(BodyRefused):
                mailbox.send(body)
        with pytest.raises(BodyRefused):
            mailbox.send_many(["<MSG/>", b"\xff"])
    assert other.flags() == {}


def test_what_the_column_cannot_hold_is_the_bodys_fault(mailbox: Mailbox, other: Other) -> None:
    other("alter table CMINMSGS modify MSG_XML varchar(9) character set latin1 not null")
    for body in ("<MSG>镕</MSG>", "<MSG>too long</MSG>"):
        with pytest.raises(BodyRefused):
            mailbox.send(body)
        with pytest.raises(BodyRefused):
            mailbox.send_many([body])
    mailbox.send("<MSG/>")
    assert len(other.flags()) == 1


def test_many_bodies_keep_their_order(mailbox: Mailbox) -> None:
    bodies = [f"<MSG>{number}{'x' * 3000}</MSG>" for number in range(1000)]
    assert mailbox.send_many(iter(bodies)) == 1000
    assert [row.body for row in mailbox.read_after(0, 2000)] == bodies
    assert mailbox.send_many([]) == 0


def test_a_null_body_is_malformed(mailbox: Mailbox, other: Other) -> None:
    other("alter table CMINMSGS modify MSG_XML longtext null")
    other("insert into CMINMSGS (MSG_XML) values (null)")
    (row,) = mailbox.read_after(0, 10)
    assert (row.body, row.size) == (None, None)
    assert decode(row.body, Catalogue.build(), SHANGHAI).verdict is Verdict.MALFORMED


def test_other_names(config: MailboxConfig, other: Other, mailbox_url: str) -> None:
    other(
        "create table `Group` (`order` bigint primary key auto_increment, `key` text, `when` datetime, "
        "`index` varchar(9), `desc` datetime)"
    )
    schema = unquote(urlsplit(mailbox_url).path[1:])
    named = MailboxConfig(
        url=mailbox_url,
        table=f"{schema}.Group",
        id_column="order",
        body_column="key",
        received_column="when",
        flag_column="index",
        flag_at_column="desc",
    )
    with opened(named) as mailbox:
        assert mailbox.send(b"<MSG/>") == 1
        assert mailbox.bounds() == (1, 1)
        assert [row.body for row in mailbox.read_after(0, 5)] == ["<MSG/>"]
        assert mailbox.mark([(1, "OK")])[0].outcome is WRITTEN
    assert other("select `index` from `Group`") == [("OK",)]


def test_the_mysql_of_the_demos_wheel_will_do(tmp_path: Path) -> None:
    """Where a machine has no MariaDB, the demo falls back on it."""
    with NoidaMySQLServer(tmp_path) as server:
        client = Other(server.url)
        for ddl in sorted(resources.files("db").joinpath("mailbox").iterdir(), key=lambda path: path.name):
            client(ddl.read_text(encoding="utf-8"))
        with opened(MailboxConfig(url=server.url)) as mailbox:
            assert mailbox.bounds() is None
            assert mailbox.send("<MSG>镕</MSG>") == 1
            assert mailbox.send_many(["<MSG/>"] * 3) == 3
            assert mailbox.bounds() == (1, 4)
            (row,) = mailbox.read_ids([1, 9])
            assert (row.body, row.size, row.received_at) == ("<MSG>镕</MSG>", 14, WALL.replace(tzinfo=SHANGHAI))
            assert ids(mailbox.read_after(1, 2, 5)) == [2, 3]
            assert outcomes(mailbox.mark([(1, "OK"), (9, "OK"), (2, "DEAD")])) == [
                (1, WRITTEN),
                (9, MISSING_ROW),
                (2, WRITTEN),
            ]
            assert outcomes(mailbox.mark([(1, "OK")])) == [(1, ALREADY)]
        client.connection.close()


# -- marking --------------------------------------------------------------------------------------------------------


def outcomes(results: Sequence[Any]) -> list[tuple[int, MarkOutcome]]:
    return [(result.id, result.outcome) for result in results]


def test_what_a_marker_comes_to(marking: Mailbox, other: Other) -> None:
    other.put(1)
    other.put(2, flag="OK")
    other.put(3, flag="THEIRS")
    other.put(4, flag="")
    other.put(6)
    assert outcomes(marking.mark([(4, "OK"), (3, "OK"), (2, "OK"), (1, "OK"), (5, "OK"), (6, "DEAD")])) == [
        (4, WRITTEN),
        (3, ALREADY),
        (2, ALREADY),
        (1, WRITTEN),
        (5, MISSING_ROW),
        (6, WRITTEN),
    ]
    assert other.flags() == {1: "OK", 2: "OK", 3: "THEIRS", 4: "OK", 6: "DEAD"}
    assert other("select CMINMSGS_ID from CMINMSGS where PROC_AT = %s order by 1", WALL) == [(1,), (4,), (6,)]
    # Again, as after a crash between the marker and our own note of it.
    assert outcomes(marking.mark([(1, "OK"), (6, "DEAD")])) == [(1, ALREADY), (6, ALREADY)]
    assert marking.mark([]) == []


def test_a_marker_set_outside_is_seen(marking: Mailbox, other: Other) -> None:
    other.put(1)
    assert ids(marking.read_after(0, 10)) == [1]
    other("update CMINMSGS set PROC_FLAG = 'THEIRS'")
    assert outcomes(marking.mark([(1, "OK")])) == [(1, ALREADY)]
    assert other.flags() == {1: "THEIRS"}


def between(mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let something happen between the look at the rows and the write."""
    write = mailbox._write_marker

    def acted(marker: str, row_ids: Sequence[int]) -> int:
        act()
        return write(marker, row_ids)

    monkeypatch.setattr(mailbox, "_write_marker", acted)


def test_someone_is_quicker(marking: Mailbox, other: Other, monkeypatch: pytest.MonkeyPatch) -> None:
    other.put(1, 2, 3, 4)

    def act() -> None:
        other("update CMINMSGS set PROC_FLAG = 'THEIRS' where CMINMSGS_ID = 2 and PROC_FLAG is null")
        other("delete from CMINMSGS where CMINMSGS_ID = 3")

    between(marking, monkeypatch, act)
    assert outcomes(marking.mark([(id_, "OK") for id_ in (1, 2, 3, 4)])) == [
        (1, WRITTEN),
        (2, ALREADY),
        (3, MISSING_ROW),
        (4, WRITTEN),
    ]
    assert other.flags() == {1: "OK", 2: "THEIRS", 4: "OK"}


@pytest.mark.parametrize("said", [0, 1, 99])
def test_a_proxy_that_miscounts_is_not_believed(
    marking: Mailbox, other: Other, monkeypatch: pytest.MonkeyPatch, said: int
) -> None:
    other.put(1, 2, 3)
    write = marking._write_marker

    def miscounted(marker: str, row_ids: Sequence[int]) -> int:
        write(marker, row_ids)
        return said

    monkeypatch.setattr(marking, "_write_marker", miscounted)
    assert outcomes(marking.mark([(1, "OK"), (2, "OK"), (3, "OK")])) == [(1, WRITTEN), (2, WRITTEN), (3, WRITTEN)]


def test_a_marker_that_does_not_stay_is_tried_again(
    marking: Mailbox, other: Other, monkeypatch: pytest.MonkeyPatch
) -> None:
    other.put(1)
    monkeypatch.setattr(marking, "_write_marker", lambda *_: 0)
    (result,) = marking.mark([(1, "OK")])
    assert result.outcome is TRANSIENT
    assert "row 1" in (result.error or "")


def test_one_locked_row_does_not_hold_up_the_others(mailbox_url: str, other: Other) -> None:
    other.put(1, 2, 3)
    holder = Other(mailbox_url, autocommit=False)
    holder("select * from CMINMSGS where CMINMSGS_ID = 2 for update")
    with opened(MailboxConfig(url=mailbox_url, lock_wait=1)) as mailbox:
        first, second, third = mailbox.mark([(1, "OK"), (2, "OK"), (3, "OK")])
        assert (first.outcome, second.outcome, third.outcome) == (WRITTEN, TRANSIENT, WRITTEN)
        assert "1205" in (second.error or "")
        holder.connection.rollback()
        assert outcomes(mailbox.mark([(2, "OK")])) == [(2, WRITTEN)]
    holder.connection.close()


def test_a_marker_that_does_not_fit_fails_alone(mailbox: Mailbox, other: Other) -> None:
    other.put(1, 2)
    long, short = mailbox.mark([(1, "X" * 99), (2, "OK")])
    assert (long.outcome, short.outcome) == (TRANSIENT, WRITTEN)
    assert "1406" in (long.error or "")
    assert other.flags() == {1: None, 2: "OK"}


# -- outages --------------------------------------------------------------------------------------------------------


def through(proxy: TcpProxy, url: str) -> MailboxConfig:
    parts = urlsplit(url)
    address = f"{parts.username}:{parts.password}@127.0.0.1:{proxy.port}"
    return MailboxConfig(
        url=f"mysql://{address}{parts.path}", connect_timeout=1, read_timeout=1, write_timeout=1, lock_wait=1
    )


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    started = time.monotonic()
    yield
    assert time.monotonic() - started < seconds


@pytest.mark.parametrize("outage", ["black_hole", "cut", "disconnect", "pause"])
def test_an_outage_is_an_error_in_time_and_then_over(
    mailbox_url: str, other: Other, tcp_proxy: Callable[[int], TcpProxy], outage: str
) -> None:
    other.put(1, 2)
    proxy = tcp_proxy(int(urlsplit(mailbox_url).port or 0))
    with opened(through(proxy, mailbox_url)) as mailbox:
        assert ids(mailbox.read_after(0, 10)) == [1, 2]
        getattr(proxy, outage)()
        with within(4), pytest.raises(MailboxUnavailable) as caught:
            mailbox.read_after(0, 10)
        assert caught.value.lost
        if outage != "disconnect":  # the others last
            with within(4):
                assert {result.outcome for result in mailbox.mark([(1, "OK"), (2, "SKIP")])} == {TRANSIENT}
            with within(4), pytest.raises(MailboxUnavailable):
                mailbox.send("<MSG/>")
        proxy.resume()
        proxy.restore()
        assert ids(mailbox.read_after(0, 10)) == [1, 2]
        assert outcomes(mailbox.mark([(1, "OK"), (2, "SKIP")])) == [(1, WRITTEN), (2, WRITTEN)]
    assert other.flags() == {1: "OK", 2: "SKIP"}


def test_a_server_that_goes_silent_while_marking(
    mailbox_url: str, other: Other, tcp_proxy: Callable[[int], TcpProxy], monkeypatch: pytest.MonkeyPatch
) -> None:
    other.put(1, 2, 3)
    proxy = tcp_proxy(int(urlsplit(mailbox_url).port or 0))
    with opened(through(proxy, mailbox_url)) as mailbox:
        between(mailbox, monkeypatch, lambda: proxy.pause("down"))
        with within(4):
            results = mailbox.mark([(1, "OK"), (2, "OK"), (3, "OK")])
        assert {result.outcome for result in results} == {TRANSIENT}
        assert all(result.error for result in results)
        monkeypatch.undo()
        proxy.resume()
        # It was written all the same: the next try finds it so.
        assert {result.outcome for result in mailbox.mark([(1, "OK"), (2, "OK"), (3, "OK")])} == {ALREADY}


def test_a_stopped_server(make_mailbox: Callable[..., MariaDBServer]) -> None:
    server = make_mailbox()
    config = MailboxConfig(url=server.url, connect_timeout=1, read_timeout=1, write_timeout=1)
    with opened(config) as mailbox:
        mailbox.send("<MSG/>")
        server.pause()
        try:
            for _ in range(2):  # on the old connection, then on a new one
                with within(4), pytest.raises(MailboxUnavailable):
                    mailbox.read_after(0, 10)
        finally:
            server.resume()
        assert ids(mailbox.read_after(0, 10)) == [1]


def test_a_killed_session_costs_one_call(mailbox: Mailbox, other: Other) -> None:
    mailbox.bounds()
    for (session,) in other("select id from information_schema.processlist where id <> connection_id()"):
        other(f"kill {session}")
    with pytest.raises(MailboxUnavailable) as caught:
        mailbox.bounds()
    assert caught.value.lost
    assert mailbox.bounds() is None


def test_refusals_are_sentences_without_the_password(config: MailboxConfig, other: Other) -> None:
    refused = MailboxConfig(url=config.url.replace("mysql://root:", "mysql://root:not-"))
    with (
        opened(refused) as mailbox,
        pytest.raises(MailboxUnavailable, match=r"^The mailbox at .* \(1045\)\.$") as caught,
    ):
        mailbox.bounds()
    assert "not-" not in str(caught.value)
    other("drop table CMINMSGS")
    with opened(config) as mailbox, pytest.raises(MailboxUnavailable, match=r"\(1146\)\.$") as caught:
        mailbox.read_after(0, 1)
    assert not caught.value.lost

"""The process as a whole: leadership, stops, outages, and ``--until-idle`` (pitfalls 25, 35, 37, 39)."""

from __future__ import annotations

import random
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest

from supervisor import database
from supervisor.config import Database, Mailbox, Settings
from supervisor.duties import Intake
from supervisor.lease import LeaseKeeper

from .supervised import Site, adft, flop, unknown, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from demo.servers import KafkaBroker, MariaDBServer, TcpProxy


@pytest.fixture
def make_site(
    tmp_path: Path, database_url: str, bootstrap: str, topic: Callable[[str], str]
) -> Iterator[Callable[..., Site]]:
    made: list[Site] = []

    def make(mailbox_url: str, **more: Any) -> Site:
        site = Site(
            tmp_path,
            **({"database_url": database_url, "bootstrap": bootstrap} | more),
            mailbox_url=mailbox_url,
            topic_msg=topic("msg"),
            topic_schd=topic("schd"),
        )
        made.append(site)
        return site

    yield make
    for site in made:
        site.stop_all()


@pytest.fixture
def site(make_site: Callable[..., Site], mailbox_url: str) -> Site:
    return make_site(mailbox_url)


def test_everything_is_worked_off(site: Site) -> None:
    site.send(*[adft(n, n) for n in range(1, 21)], *[flop(100 + n, n) for n in range(1, 21)])
    run = site.until_idle()
    assert run.process.returncode == 0, run.said
    assert site.ended() == [(n, "SUCCEEDED") for n in range(1, 41)]
    assert site.flags() == ["OK"] * 40
    assert site.sql("select target, state, count(*) from outbox.msg_event group by 1, 2 order by 1") == [
        ("KAFKA:msg", "SENT", 40),
        ("KAFKA:schd", "SENT", 20),
    ]
    assert "Traceback" not in run.said
    again = site.until_idle()
    assert again.process.returncode == 0, again.said
    assert site.sql("select holder from core.pipeline_lock where name = 'LEADER'") == [(None,)]


def test_a_hole_that_ends_in_time_is_waited_for(site: Site) -> None:
    site.set("msgx.pipeline.max-commit-delay", "1500ms")
    site.send(adft(1, 1))
    site.leave_out(2)
    site.send(adft(2, 2))
    run = site.until_idle()
    assert run.process.returncode == 0, run.said
    assert site.ended() == [(1, "SUCCEEDED"), (4, "SUCCEEDED")]
    assert site.flags() == ["OK", "OK"]


def test_a_hole_that_does_not_is_told_at_once(site: Site) -> None:
    site.set("msgx.pipeline.max-commit-delay", "1h")
    site.send(adft(1, 1))
    site.leave_out()
    site.send(adft(2, 2))
    began = time.monotonic()
    run = site.until_idle(max_wait=30)
    assert run.process.returncode == 3
    assert time.monotonic() - began < 20
    assert "Mailbox id 2 is missing" in run.said
    assert site.ended() == [(1, "SUCCEEDED")]
    assert site.flags() == ["OK", None]


def test_back_offs_are_waited_for(site: Site) -> None:
    site.set("msgx.pipeline.ladder-unsupported", "300ms 300ms 300ms")
    site.send(unknown(1), adft(2, 2))
    run = site.until_idle(max_wait=20)
    assert run.process.returncode == 0, run.said
    assert site.ended() == [(1, "DEAD"), (2, "SUCCEEDED")]
    assert site.flags() == ["DEAD", "OK"]


def test_a_back_off_that_is_too_long_is_told(site: Site) -> None:
    site.set("msgx.pipeline.ladder-unsupported", "300ms 1h 1h")
    site.send(adft(1, 1), unknown(2), adft(3, 3))
    began = time.monotonic()
    run = site.until_idle(max_wait=20)
    assert run.process.returncode == 3
    assert time.monotonic() - began < 15
    assert "the first, 2, failed (UNSUPPORTED" in run.said
    assert site.ended() == [(1, "SUCCEEDED"), (2, "FAILED"), (3, "PENDING")]
    assert site.flags() == ["OK", None, None]


def test_a_broker_that_is_away_is_told(make_site: Callable[..., Site], mailbox_url: str) -> None:
    site = make_site(mailbox_url, bootstrap="127.0.0.1:1")
    site.send(adft(1, 1))
    run = site.until_idle(max_wait=5)
    assert run.process.returncode == 3
    assert "1 event of KAFKA:msg still to be told, the next one due now" in run.said
    assert "127.0.0.1:1 does not answer" in run.said
    assert "Traceback" not in run.said
    assert site.flags() == ["OK"]  # marks do not wait for Kafka


def test_a_mailbox_that_is_away_is_told(make_site: Callable[..., Site]) -> None:
    site = make_site("mysql://nobody@127.0.0.1:1/mailbox")
    run = site.until_idle(max_wait=3)
    assert run.process.returncode == 3
    assert "127.0.0.1:1/mailbox" in run.said
    assert "Traceback" not in run.said


def test_another_leader_is_told(site: Site) -> None:
    leader = site.start("run")
    leader.wait_for("Leading as")
    until(site.settled)
    run = site.until_idle(max_wait=1)
    assert run.process.returncode == 3
    assert "This supervisor does not lead" in run.said
    assert leader.end() == 0


def test_nothing_to_wait_for_still_lets_it_work(site: Site) -> None:
    site.send(*[adft(n, n) for n in range(1, 31)])
    run = site.until_idle(max_wait=0)
    assert run.process.returncode == 0, run.said
    assert site.flags() == ["OK"] * 30


def test_a_kafka_setting_that_does_not_exist(site: Site) -> None:
    site.more = {"MSGX_KAFKA__CLIENT": '{"linger.mss": 1}'}
    run = site.start("run")
    assert run.process.wait(20) == 2
    assert "linger.mss" in run.said


def test_an_unknown_schema_is_refused(
    make_site: Callable[..., Site], mailbox_url: str, empty_database_url: str
) -> None:
    for arguments in (["run"], ["run", "--until-idle"]):
        run = make_site(mailbox_url, database_url=empty_database_url).start(*arguments)
        assert run.process.wait(30) == 5
        assert "msgx db apply" in run.said
        assert "Traceback" not in run.said


def test_a_database_that_is_away(make_site: Callable[..., Site], mailbox_url: str) -> None:
    site = make_site(mailbox_url, database_url="postgresql://nobody@127.0.0.1:1/none")
    run = site.until_idle(max_wait=2)
    assert run.process.returncode == 4
    assert "PostgreSQL cannot be reached" in run.said
    waiting = site.start("run")  # a service that starts before its database waits for it
    waiting.wait_for("Waiting for PostgreSQL")
    assert waiting.end() == 0
    assert "Traceback" not in run.said + waiting.said


def test_stops_at_any_moment_lose_and_double_nothing(site: Site) -> None:
    """Pitfall 37."""
    chance = random.Random(7)
    flights = 40
    site.send(*[adft(n, n) for n in range(1, flights + 1)])
    sent = flights
    for number in range(10):
        site.send(*[flop(1000 + sent + n, n % flights + 1, n % 60) for n in range(150)])
        sent += 150
        run = site.start("run")
        if number % 2:
            run.wait_for("Leading as")
        time.sleep(chance.uniform(0.1, 1.0))  # before that it is the interpreter that starts
        began = time.monotonic()
        code = run.end(signal.SIGTERM if number % 3 else signal.SIGINT, wait=20)
        assert time.monotonic() - began < 12
        assert code in ({0} if number % 2 else {0, -signal.SIGTERM, -signal.SIGINT, 1, 130}), run.said
        assert "Traceback" not in run.said, run.said
        assert site.sessions() == []
        assert site.sql("select holder from core.pipeline_lock where name = 'LEADER'") == [(None,)]
    began = time.monotonic()
    run = site.until_idle()
    assert run.process.returncode == 0, run.said
    assert set(dict(site.ended()).values()) == {"SUCCEEDED"}
    assert len(site.ended()) == sent
    assert site.sql("select sum(state_version)::bigint from flight.flight_schd") == [(sent,)]
    assert site.flags() == ["OK"] * sent


def test_a_stop_while_the_mailbox_hangs(
    make_site: Callable[..., Site],
    make_mailbox: Callable[..., MariaDBServer],
    tcp_proxy: Callable[[int], TcpProxy],
) -> None:
    """Pitfalls 25 and 37: everything else goes on, the stop is bounded, and later all is caught up."""
    server = make_mailbox()
    proxy = tcp_proxy(server.port)
    url = server.url.replace(f":{server.port}/", f":{proxy.port}/")
    site = make_site(url)
    site.more = {
        "MSGX_MAILBOX__READ_TIMEOUT": "2",
        "MSGX_MAILBOX__WRITE_TIMEOUT": "2",
        "MSGX_MAILBOX__CONNECT_TIMEOUT": "2",
        "MSGX_SUPERVISOR__STOP_TIMEOUT": "8",
    }
    site.send(adft(1, 1))
    run = site.start("run")
    until(site.settled, what="the first message")
    server.pause()
    run.wait_for("The mailbox at .* cannot be", wait=15)
    site.sql(
        "insert into outbox.msg_event (event_id, target, flid, event_type, state_version, message_id, payload,"
        " next_attempt_at, created_at, updated_at)"
        " values (nextval('outbox.event_id'), 'KAFKA:msg', 1, 'UPSERT', 9, 1, '{}', now(), now(), now())"
    )
    until(lambda: site.sql("select state from outbox.msg_event where state_version = 9") == [("SENT",)], 8, "the relay")
    watermark = site.sql("select watermark from inbox.inbox_cursor")
    began = time.monotonic()
    assert run.end(wait=15) == 0, run.said
    assert time.monotonic() - began < 9
    assert "Traceback" not in run.said
    assert site.sql("select watermark from inbox.inbox_cursor") == watermark
    assert site.sessions() == []
    run = site.start("run")
    run.wait_for("Leading as")
    server.resume()
    site.send(adft(2, 2))
    until(lambda: site.flags() == ["OK", "OK"], 30, "catching up")
    proxy.black_hole()  # a path that swallows everything, for old connections and new ones
    run.wait_for("The mailbox at .* cannot be", wait=15)
    proxy.resume()
    proxy.disconnect()
    site.send(adft(3, 3))
    until(lambda: site.flags() == ["OK", "OK", "OK"], 40, "catching up after the black hole")
    assert run.end() == 0


def test_a_second_signal_ends_it_at_once(
    make_site: Callable[..., Site], make_mailbox: Callable[..., MariaDBServer]
) -> None:
    server = make_mailbox()
    site = make_site(server.url)
    site.more = {"MSGX_MAILBOX__READ_TIMEOUT": "60", "MSGX_SUPERVISOR__STOP_TIMEOUT": "60"}
    run = site.start("run")
    run.wait_for("Leading as")
    until(lambda: bool(site.sql("select 1 from inbox.inbox_cursor where read_at is not null")))
    server.pause()
    time.sleep(1.0)  # intake hangs in a read now
    run.process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    assert run.process.poll() is None
    assert run.end(wait=5) == 6
    assert "Traceback" not in run.said
    server.resume()


def test_a_duty_that_will_not_end_is_cut_off(
    make_site: Callable[..., Site], make_mailbox: Callable[..., MariaDBServer]
) -> None:
    """Pitfalls 35 and 37: hung, told within its limit, and no obstacle to a stop."""
    server = make_mailbox()
    site = make_site(server.url)
    site.more = {
        "MSGX_MAILBOX__READ_TIMEOUT": "120",
        "MSGX_SUPERVISOR__STOP_TIMEOUT": "3",
        "MSGX_SUPERVISOR__LIMIT__INTAKE": "2",
    }
    run = site.start("run")
    run.wait_for("Leading as")
    until(lambda: bool(site.sql("select 1 from inbox.inbox_cursor where read_at is not null")))
    server.pause()
    run.wait_for("intake has been running for", wait=10)
    until(
        lambda: "longer than its limit" in str(site.sql("select detail from core.duty where duty = 'intake'")),
        10,
        "the report in core.duty",
    )
    began = time.monotonic()
    assert run.end(wait=10) == 6
    assert time.monotonic() - began < 5
    assert "intake did not end" in run.said
    assert "Traceback" not in run.said
    assert site.sql("select holder from core.pipeline_lock where name = 'LEADER'") == [(None,)]
    server.resume()


@pytest.mark.parametrize("how", ["killed", "frozen"])
def test_a_standby_takes_over(site: Site, how: str) -> None:
    site.send(*[adft(n, n) for n in range(1, 11)])
    first = site.start("run")
    first.wait_for("Leading as")
    second = site.start("run")
    second.wait_for("Standing by")
    site.send(*[flop(100 + n, n % 10 + 1, n % 60) for n in range(300)])
    time.sleep(0.2)
    first.process.send_signal(signal.SIGKILL if how == "killed" else signal.SIGSTOP)
    began = time.monotonic()
    second.wait_for("Leading as", wait=20)
    # Its lease, and for a frozen one idle_in_transaction_timeout if it stopped inside a transaction.
    assert time.monotonic() - began < 3 + (3 if how == "killed" else 9)
    until(lambda: len(site.ended()) == 310 and site.settled(), 30, "the rest")
    if how == "frozen":
        first.process.send_signal(signal.SIGCONT)
        first.wait_for("No longer leading", wait=10)
        site.send(adft(999, 11))
        until(lambda: len(site.ended()) == 311 and site.settled(), 30, "one more")
        assert first.end() == 0
    assert set(dict(site.ended()).values()) == {"SUCCEEDED"}
    assert site.sql("select sum(state_version)::bigint from flight.flight_schd where flid <= 10") == [(310,)]
    assert second.end() == 0
    assert "Traceback" not in first.said + second.said


def test_a_leader_frozen_in_a_copy_lets_go(site: Site) -> None:
    """The server waits for its rows, which is no idle transaction, and no time-out of the server's ends that."""
    settings = Settings(database=Database(url=site.database_url), mailbox=Mailbox(url=site.mailbox_url))
    frozen = Intake(settings).session.connection
    epoch = database.lease_acquire(frozen, f"host:1:{database.PROCESS}", 0.5).epoch
    frozen.execute("begin")
    frozen.execute("select core.require_epoch(%s)", [epoch])
    unfinished = frozen.cursor().copy("copy inbox.stage_message (msg_id) from stdin")
    unfinished.__enter__()
    standby = LeaseKeeper(database.Session(settings.database, "lease"), "host:2:standby", 5)

    def leads() -> bool:
        standby.keep()
        return standby.holds()

    until(leads, 8, "the take-over")
    standby.release()
    standby.session.close()
    frozen.close()


def test_routines_change_under_it(site: Site) -> None:
    """Pitfall 39: past the prepare threshold, then a replaced routine and a new column."""
    run = site.start("run")
    run.wait_for("Leading as")
    for n in range(1, 13):
        site.send(adft(n, n))
        until(lambda: site.settled() and len(site.ended()) == n, 10, f"message {n}")  # noqa: B023  used at once
    (text,) = site.sql("select pg_get_functiondef('outbox.claim'::regproc)")[0]
    site.sql(text)
    site.sql("alter table inbox.proc_state add column added_by_test text")
    site.sql("alter table outbox.msg_event add column added_by_test text")
    for n in range(13, 16):
        site.send(adft(n, n))
    until(lambda: len(site.ended()) == 15 and site.settled(), 20, "messages after the change")
    assert set(dict(site.ended()).values()) == {"SUCCEEDED"}
    assert "failed" not in run.said
    assert run.end() == 0


def test_a_lost_database_is_a_line_and_a_retry(
    make_site: Callable[..., Site],
    mailbox_url: str,
    database_url: str,
    tcp_proxy: Callable[[int], TcpProxy],
    postgres_server: Any,
) -> None:
    proxy = tcp_proxy(postgres_server.port)
    site = make_site(mailbox_url, database_url=database_url.replace(f":{postgres_server.port}/", f":{proxy.port}/"))
    run = site.start("run")
    run.wait_for("Leading as")
    proxy.cut()
    run.wait_for("PostgreSQL cannot be reached")
    time.sleep(4)  # longer than the lease
    proxy.restore()
    site.send(adft(1, 1))
    until(lambda: site.flags() == ["OK"], 20, "coming back")
    assert "No longer leading" in run.said
    assert run.said.count("PostgreSQL cannot be reached") <= 4  # told, not by every duty, and not again and again
    assert "PostgreSQL answers again" in run.said
    assert "Traceback" not in run.said
    assert run.end() == 0


def test_a_broker_that_comes_back(
    make_site: Callable[..., Site], mailbox_url: str, make_broker: Callable[..., KafkaBroker]
) -> None:
    broker = make_broker()
    site = make_site(mailbox_url, bootstrap=broker.bootstrap)
    run = site.start("run")
    site.send(adft(1, 1))
    until(site.settled, 20, "the first")
    broker.stop()
    site.send(*[adft(n, n) for n in range(2, 30)])
    run.wait_for("broker at .* does not answer|relay-msg failed", wait=20)
    until(lambda: site.flags() == ["OK"] * 29, 10, "the marks, which do not wait for Kafka")
    broker.start()
    until(site.settled, 60, "the rest")
    run.wait_for("Kafka answers again|relay-msg works again", wait=10)
    assert run.end() == 0
    assert "Traceback" not in run.said

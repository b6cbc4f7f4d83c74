"""The web server of a running supervisor: messages, health, metrics (implementation.md 4.4)."""

from __future__ import annotations

import re
import signal
import socket
import time
from typing import TYPE_CHECKING, Any

import httpx
import psycopg
import pytest

from .supervised import Msgx, Site, adft, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from demo.servers import MariaDBServer, PostgresServer, TcpProxy

TOKEN = "a-token-of-enough-characters"  # noqa: S105  of these tests alone
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def make_site(
    tmp_path: Path, database_url: str, bootstrap: str, topic: Callable[[str], str]
) -> Iterator[Callable[..., Site]]:
    made: list[Site] = []

    def make(mailbox_url: str, **more: str) -> Site:
        site = Site(
            tmp_path, more.pop("database_url", database_url), mailbox_url, bootstrap, topic("msg"), topic("schd")
        )
        site.more = {
            "MSGX_HTTP__ENABLED": "true",
            "MSGX_HTTP__PORT": "0",
            "MSGX_HTTP__TOKEN": TOKEN,
            "MSGX_HTTP__MAX_BODY_BYTES": "20000",
            "MSGX_MAILBOX__READ_TIMEOUT": "2",
            "MSGX_MAILBOX__CONNECT_TIMEOUT": "2",
            **more,
        }
        made.append(site)
        return site

    yield make
    for site in made:
        site.stop_all()


def address(run: Msgx) -> str:
    run.wait_for(r"Listening on http://[\d.]+:\d+")
    found = re.search(r"Listening on (http://[\d.]+:\d+)", run.said)
    assert found
    return found[1]


def test_a_message_by_http(make_site: Callable[..., Site], mailbox_url: str) -> None:
    site = make_site(mailbox_url)
    run = site.start("run")
    base = address(run)
    run.wait_for("Leading as")
    answer = httpx.post(f"{base}/cminmsgs/send", content=adft(1, 7701002).encode(), headers=AUTHORIZED, timeout=20)
    assert answer.status_code == 201, answer.text
    said = answer.json()
    assert (said["id"], said["mailbox"], said["registered"], said["waits_for_watermark"]) == (1, "written", True, True)
    until(lambda: site.ended() == [(1, "SUCCEEDED")] and site.settled(), 20)
    assert site.flags() == ["OK"]
    assert site.sql("select flno from flight.flight_schd") == [("CA7701002",)]
    assert run.end() == 0


@pytest.mark.parametrize(
    ("headers", "body", "code"),
    [
        ({}, b"<MSG/>", 401),
        ({"Authorization": "Bearer wrong"}, b"<MSG/>", 401),
        ({"Authorization": f"Basic {TOKEN}"}, b"<MSG/>", 401),
        (AUTHORIZED, b"", 400),
        (AUTHORIZED, b"   \n", 400),
        (AUTHORIZED, b"x" * 20_001, 413),
    ],
)
def test_refusals_write_nothing(shared: tuple[Site, str], headers: dict[str, str], body: bytes, code: int) -> None:
    site, base = shared
    answer = httpx.post(f"{base}/cminmsgs/send", content=body, headers=headers, timeout=20)
    assert answer.status_code == code
    assert answer.json()["message"].endswith(".")
    assert site.flags() == []


@pytest.fixture
def shared(make_site: Callable[..., Site], mailbox_url: str) -> tuple[Site, str]:
    site = make_site(mailbox_url)
    return site, address(site.start("run"))


def test_a_body_that_never_ends_is_refused(shared: tuple[Site, str]) -> None:
    site, base = shared

    def endless() -> Iterator[bytes]:
        for _ in range(1000):
            yield b"x" * 1000

    with httpx.Client(timeout=20) as client:
        try:
            code = client.post(f"{base}/cminmsgs/send", content=endless(), headers=AUTHORIZED).status_code
        except httpx.WriteError:
            code = 413  # the server closed before all was sent
    assert code == 413
    assert site.flags() == []


def test_other_routes(shared: tuple[Site, str]) -> None:
    _site, base = shared
    assert httpx.get(f"{base}/cminmsgs/send").status_code == 405
    assert httpx.get(f"{base}/nothing").status_code == 404
    assert httpx.get(f"{base}/healthz").json() == {"status": "ok"}


def test_without_a_token_the_entry_is_closed(make_site: Callable[..., Site], mailbox_url: str) -> None:
    site = make_site(mailbox_url)
    del site.more["MSGX_HTTP__TOKEN"]
    base = address(site.start("run"))
    answer = httpx.post(f"{base}/cminmsgs/send", content=b"<MSG/>", headers=AUTHORIZED)
    assert answer.status_code == 403
    assert site.flags() == []


def test_mailbox_written_database_away(
    make_site: Callable[..., Site],
    mailbox_url: str,
    database_url: str,
    postgres_server: PostgresServer,
    tcp_proxy: Callable[[int], TcpProxy],
) -> None:
    """The answer says which of the two happened; the poller takes it in later."""
    proxy = tcp_proxy(postgres_server.port)
    site = make_site(mailbox_url, database_url=database_url.replace(f":{postgres_server.port}/", f":{proxy.port}/"))
    run = site.start("run")
    base = address(run)
    run.wait_for("Leading as")
    proxy.cut()
    answer = httpx.post(f"{base}/cminmsgs/send", content=adft(1, 1).encode(), headers=AUTHORIZED, timeout=20)
    assert answer.status_code == 202, answer.text
    said = answer.json()
    assert (said["id"], said["mailbox"], said["registered"]) == (1, "written", False)
    assert "do not send it again" in said["message"]
    proxy.restore()
    until(lambda: site.flags() == ["OK"], 30)
    assert run.end() == 0
    assert "Traceback" not in run.said


def test_mailbox_away(make_site: Callable[..., Site], make_mailbox: Callable[..., MariaDBServer]) -> None:
    server = make_mailbox()
    site = make_site(server.url)
    base = address(site.start("run"))
    server.stop()
    answer = httpx.post(f"{base}/cminmsgs/send", content=adft(1, 1).encode(), headers=AUTHORIZED, timeout=20)
    assert answer.status_code == 503
    said = answer.json()
    assert (said["mailbox"], said["registered"]) == ("unknown", False)
    assert site.ended() == []


def test_readiness_names_what_is_wrong(
    make_site: Callable[..., Site], make_mailbox: Callable[..., MariaDBServer]
) -> None:
    """Pitfall 35: hung within its limit; failing at once; and well again by itself."""
    server = make_mailbox()
    site = make_site(server.url)
    site.more |= {"MSGX_MAILBOX__READ_TIMEOUT": "8", "MSGX_SUPERVISOR__LIMIT__INTAKE": "2"}
    run = site.start("run")
    base = address(run)
    run.wait_for("Leading as")
    until(lambda: httpx.get(f"{base}/readyz").status_code == 200, 10)
    ready = httpx.get(f"{base}/readyz").json()
    assert ready["role"] == "leader"
    assert set(ready["duties"]) >= {"intake", "pump", "relay-msg", "relay-schd", "backfill", "lease", "restage"}
    server.pause()
    began = time.monotonic()
    until(lambda: httpx.get(f"{base}/readyz").status_code == 503, 15)
    assert time.monotonic() - began < 4.5
    said = httpx.get(f"{base}/readyz").json()
    assert said["trouble"] == ["intake"]
    assert said["duties"]["intake"]["hung"]
    assert not said["duties"]["pump"]["hung"]
    assert 'msgx_duty_hung{duty="intake"} 1.0' in httpx.get(f"{base}/metrics").text
    until(lambda: bool(httpx.get(f"{base}/readyz").json()["duties"]["intake"]["failures"]), 20)
    server.resume()
    until(lambda: httpx.get(f"{base}/readyz").status_code == 200, 20)
    assert run.end() == 0


def test_a_standby_is_ready_too(make_site: Callable[..., Site], mailbox_url: str) -> None:
    site = make_site(mailbox_url)
    first, second = site.start("run"), None
    first.wait_for("Leading as")
    second = site.start("run")
    base = address(second)
    second.wait_for("Standing by")
    answer = httpx.get(f"{base}/readyz")
    assert answer.status_code == 200
    assert answer.json()["role"] == "standby"
    assert answer.json()["leader"]
    assert "msgx_leader 0.0" in httpx.get(f"{base}/metrics").text


def test_metrics(shared: tuple[Site, str]) -> None:
    site, base = shared
    site.send(adft(1, 1))
    until(lambda: site.flags() == ["OK"], 20)
    numbers = dict(
        line.rsplit(" ", 1) for line in httpx.get(f"{base}/metrics").text.splitlines() if not line.startswith("#")
    )
    assert float(numbers["msgx_watermark"]) == 1
    assert float(numbers["msgx_leader"]) == 1
    assert float(numbers["msgx_database_up"]) == 1
    assert float(numbers["msgx_marks_owed"]) == 0
    for name in (
        "msgx_permanent_holes_total",
        "msgx_pipeline_backlog_messages",
        "msgx_pipeline_backlog_oldest_unprocessed_seconds",
        "msgx_mailbox_read_age_seconds",
        'msgx_outbox_events{state="PENDING",target="KAFKA:msg"}',
        'msgx_outbox_oldest_pending_seconds{target="KAFKA:schd"}',
        'msgx_duty_success_age_seconds{duty="pump"}',
        'msgx_duty_running_seconds{duty="intake"}',
        'msgx_duty_done_total{duty="relay-msg"}',
    ):
        assert name in numbers
    kind = httpx.get(f"{base}/metrics").headers["content-type"]
    assert kind.startswith("text/plain; version=")


def test_metrics_without_a_database(
    make_site: Callable[..., Site],
    mailbox_url: str,
    database_url: str,
    postgres_server: PostgresServer,
    tcp_proxy: Callable[[int], TcpProxy],
) -> None:
    proxy = tcp_proxy(postgres_server.port)
    site = make_site(mailbox_url, database_url=database_url.replace(f":{postgres_server.port}/", f":{proxy.port}/"))
    base = address(site.start("run"))
    proxy.cut()
    answer = httpx.get(f"{base}/metrics", timeout=20)
    assert answer.status_code == 200
    assert "msgx_database_up 0.0" in answer.text


def test_a_port_that_is_taken_is_a_sentence(make_site: Callable[..., Site], mailbox_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        site = make_site(mailbox_url)
        site.more["MSGX_HTTP__PORT"] = str(taken.getsockname()[1])
        run = site.start("run")
        assert run.process.wait(20) == 2
    assert "cannot listen on 127.0.0.1" in run.said
    assert "Traceback" not in run.said


def test_requests_under_way_do_not_hold_up_a_stop(shared: tuple[Site, str]) -> None:
    site, base = shared
    host, _, port = base.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port))) as slow:
        head = f"POST /cminmsgs/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 100"
        slow.sendall(f"{head}\r\n\r\n".encode())
        time.sleep(0.3)
        began = time.monotonic()
        assert site.started[0].end(signal.SIGTERM, wait=20) == 0
        assert time.monotonic() - began < 10
    assert "Traceback" not in site.started[0].said
    assert site.flags() == []


def test_the_application_role_is_enough(
    make_site: Callable[..., Site], mailbox_url: str, database_url: str, postgres_server: PostgresServer, pg: Any
) -> None:
    """All of the supervisor and its entry as a member of msgx_app, without any right of its own."""
    pg.execute("drop role if exists msgx_test_app")
    pg.execute("create role msgx_test_app login in role msgx_app")
    try:
        url = postgres_server.url_for(psycopg.conninfo.conninfo_to_dict(database_url)["dbname"], "msgx_test_app")
        site = make_site(mailbox_url, database_url=url)
        run = site.start("run")
        base = address(run)
        answer = httpx.post(f"{base}/cminmsgs/send", content=adft(1, 1).encode(), headers=AUTHORIZED, timeout=20)
        assert answer.status_code == 201, answer.text
        until(lambda: site.flags() == ["OK"], 20)
        until(lambda: httpx.get(f"{base}/readyz").status_code == 200, 10)
        assert run.end() == 0
        assert "failed" not in run.said
    finally:
        pg.execute("drop role msgx_test_app")

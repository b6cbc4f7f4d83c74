"""The demo, end to end: a small day through real servers and a real supervisor, and nothing left however it ends."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pymysql
import pytest
from rich.console import Console

from demo import checks
from demo.checks import Topic
from demo.demo import main as demo_main
from demo.demo import run
from demo.servers import NoidaMySQLServer, mailbox_server
from demo.simulator import main, simulate
from loader.mailbox import Mailbox, MailboxConfig
from supervisor.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import psycopg

    from demo.servers import Server

ROOT = Path(__file__).resolve().parents[2]
SLOW_DEMO = (
    "import pathlib, sys; from demo.demo import run; sys.exit(run(pathlib.Path(sys.argv[1]), flights=30, speed=60))"
)


def processes_in(folder: Path) -> list[str]:
    """Commands of the processes that work below `folder`."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "cwd").readlink().is_relative_to(folder):
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found


def until_gone(folder: Path, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while (processes_in(folder) or any(folder.iterdir())) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert processes_in(folder) == []
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("mailbox", [mailbox_server, NoidaMySQLServer], ids=["as installed", "without MariaDB"])
def test_a_small_day(folder: Path, mailbox: Callable[..., Server], monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen(data: Path, *, fsync: bool) -> Server:
        return mailbox(data, fsync=fsync) if mailbox is mailbox_server else mailbox(data)

    monkeypatch.setattr("demo.demo.mailbox_server", chosen)
    text = io.StringIO()
    code = run(folder, flights=40, speed=0, console=Console(file=text, width=200, highlight=False))
    said = text.getvalue()
    assert code == 0, said
    assert "✗" not in said
    assert "\x1b" not in said, "no escape codes where there is no terminal"
    real = simulate(flights=40).truth()
    assert f"{len(real.cancelled_departures)} of 40 departures of JFK on 2013-02-08 are cancelled" in said
    for sentence in (
        "messages ended as they must",
        "code shares of cancelled flights are cancelled",
        "have their actual time of departure",
        "events are SENT",
        "in order for every flight",
        "byte for byte",
        "Every mailbox row is marked once",
        "What to try next",
    ):
        assert sentence in said
    assert re.search(r"Mailbox to broker +50 % .* · 90 % .* · 99 % .* · worst ", said)
    until_gone(folder, 5)


@contextlib.contextmanager
def slow_demo(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A demo in a process of its own, in the middle of its day."""
    # Text buffers would keep what it says from us.
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", SLOW_DEMO, str(folder)], stdout=subprocess.PIPE, env=environment, cwd=ROOT
    ) as process:
        try:
            assert process.stdout is not None
            said = b""
            while b"written" not in said:
                line = process.stdout.readline()
                assert line, said.decode()
                said += line
            assert len(processes_in(folder)) >= 4
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_after_a_stop(folder: Path, how: signal.Signals) -> None:
    with slow_demo(folder) as process:
        process.send_signal(how)
        assert process.wait(40) == 130
        until_gone(folder, 1)


def test_nothing_is_left_after_kill_9(folder: Path) -> None:
    with slow_demo(folder) as process:
        process.kill()
        process.wait()
        until_gone(folder, 40)


def test_an_unknown_day_is_one_sentence(tmp_path: Path) -> None:
    text = io.StringIO()
    day = simulate().day.replace(year=2020)
    assert run(tmp_path, day=day, console=Console(file=text, width=400)) == 1
    assert "no departures of JFK on 2020-02-08; the data has EWR on 2013-02-07" in text.getvalue()
    assert len(text.getvalue().splitlines()) == 1


def test_the_checks_see_what_is_missing(pg: psycopg.Connection[Any], mailbox_url: str) -> None:
    """Against an empty house every check that compares something must fail, with a sentence that says so."""
    stream = simulate(flights=12)
    with pymysql.connect(**MailboxConfig(mailbox_url).connect_arguments()) as mailbox:
        found = checks.check_all(stream, pg, mailbox, Topic(()), Topic(((1, b"{}"),)))
    wrong = [check.sentence for check in found if not check.holds]
    for part in (
        f"Of {len(stream):,} messages there are none, instead of",
        "The actual times differ from what must be",
        "The active flights differ from what must be",
        "the last state on the topic is not the database's (first: 1)",
        "Of 0 mailbox rows",
    ):
        assert any(part in sentence for sentence in wrong), (part, wrong)


def test_simulate_writes_into_the_mailbox_it_is_given(
    mailbox_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MSGX_MAILBOX_URL", mailbox_url)
    monkeypatch.setenv("MSGX_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/nothing")  # not needed, so not missed
    before = datetime.now(UTC)
    assert main(["--flights", "5", "--airport", "lga", "--day", "2013-07-10", "--json"]) == 0
    stream = simulate("LGA", date(2013, 7, 10), flights=5)
    said = json.loads(capsys.readouterr().out)
    assert said["messages"] == len(stream)
    assert said["departures"] == 5
    assert set(said["cancelled"]) == stream.truth().cancelled_departures
    with Mailbox(MailboxConfig(mailbox_url), stream.zone) as mailbox:
        rows = mailbox.read_after(0, 10_000)
    assert [row.body for row in rows] == [message.xml for message in stream]
    for row in rows:
        assert row.received_at is not None, "RECEIVED_AT is filled"
        assert before - timedelta(seconds=1) <= row.received_at <= datetime.now(UTC)


def test_simulate_says_so_where_the_database_has_another_zone(
    mailbox_url: str,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MSGX_MAILBOX_URL", mailbox_url)
    monkeypatch.setenv("MSGX_DATABASE_URL", database_url)
    assert main(["--flights", "1"]) == 0
    told = capsys.readouterr()
    assert "`msgx setting set msgx.airport.timezone America/New_York` first" in told.err
    assert "messages of JFK on 2013-02-08 are in the mailbox at 127.0.0.1" in told.out


def test_simulate_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--flights", "2", "--print"]) == 0
    assert capsys.readouterr().out.count("</MSG>") == len(simulate(flights=2))


@pytest.mark.parametrize("command", [main, demo_main])
def test_arguments_that_the_data_does_not_know(command: Callable[[list[str]], int]) -> None:
    for arguments in (["--airport", "XXX"], ["--day", "2013-03-01"]):
        with pytest.raises(ConfigError, match=r"There are no departures of .*; the data has EWR on 2013-02-07"):
            command(arguments)

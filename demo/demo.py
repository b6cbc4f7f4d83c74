"""The whole way in one command: a real day's flights, private servers, a real supervisor, and a check of the end.

`run` starts a PostgreSQL, a mailbox and a Kafka broker in one temporary folder, applies the schema, starts the
supervisor as a process of its own, lets the simulator play the AODB, and then compares database, topics and mailbox
with the record and with each other. Nothing is left behind, however it ends.
"""

from __future__ import annotations

import contextlib
import importlib.resources
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import psycopg
import pymysql
import typer
from confluent_kafka import KafkaException
from psycopg import sql
from pymysql.constants import CLIENT
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from demo import checks
from demo.servers import (
    KafkaBroker,
    MariaDBServer,
    NoidaMySQLServer,
    PostgresServer,
    Server,
    ServerError,
    mailbox_server,
    temporary_folder,
)
from demo.simulator import DEFAULT_AIRPORT, DEFAULT_DAY, NoSuchDayError, Stream, simulate, write
from demo.simulator import command as options
from loader.mailbox import Mailbox, MailboxConfig, MailboxError
from supervisor import deploy
from supervisor.config import Kafka
from supervisor.errors import MsgxError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import date, datetime

DEFAULT_SPEED = 8640.0
"""Simulated seconds per second: a day in ten seconds."""
STALL = 60.0
"""Seconds without any progress after which the run is given up."""
_LOOK = 0.25  # seconds between two looks at the progress
_LINE = 2.0  # seconds between two lines of it where there is no terminal

_QUERIES = (
    "select flno, route, sodt, cncl, gates from flight.flight_view where cncl is not null limit 9",
    "select state, last_error, count(*) from inbox.proc_state group by 1, 2",
)

FAILED = 1
INTERRUPTED = 130


class DemoError(Exception):
    """The demo cannot go on; a sentence for the person who runs it."""


class SupervisorProcess(Server):
    """`msgx run` as its own process, as in production, and with the same end as the servers: it never outlives us."""

    title = "supervisor"

    def __init__(self, data: Path, environment: Mapping[str, str], database: str) -> None:
        super().__init__(data)
        self._environment = dict(environment)
        self._database = database

    def _prepare(self) -> None:
        """It keeps nothing but its log."""

    def _command(self) -> Sequence[str]:
        return [sys.executable, "-m", "supervisor.cli.main", "run"]

    def _spawn(self, command: Sequence[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MSGX_", "PG"))}
        packages = str(Path(__file__).resolve().parent.parent)
        path = os.pathsep.join(filter(None, (packages, inherited.get("PYTHONPATH"))))
        http = {"MSGX_HTTP__ENABLED": "true", "MSGX_HTTP__PORT": str(self.port)}
        return subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=self.data,
            env=inherited | {"PYTHONPATH": path} | http | self._environment,
            start_new_session=True,
        )

    def _ask(self) -> None:
        with psycopg.connect(self._database, connect_timeout=2) as connection:
            leads = connection.execute(
                "select from core.pipeline_lock where name = 'LEADER' and expires_at > clock_timestamp()"
            ).fetchone()
        if leads is None:
            raise DemoError("nobody leads yet")

    def last_words(self) -> str:
        """The end of its log."""
        return self._log_end()


@dataclass(frozen=True, slots=True)
class _Servers:
    postgres: PostgresServer
    mailbox: MariaDBServer | NoidaMySQLServer
    broker: KafkaBroker


@dataclass(frozen=True, slots=True)
class _Reached:
    """How far the run is."""

    written: int = 0
    finished: int = 0
    events: int = 0
    told: int = 0
    marked: int = 0


def run(
    folder: Path | None = None,
    *,
    airport: str = DEFAULT_AIRPORT,
    day: date = DEFAULT_DAY,
    speed: float = DEFAULT_SPEED,
    seed: int = 1,
    flights: int | None = None,
    keep: bool = False,
    console: Console | None = None,
) -> int:
    """Run the demo; gives its exit code.

    Args:
        folder: Where the temporary folder is made; None = where temporary files go.
        airport: JFK, EWR or LGA.
        day: One of the simulator's days.
        speed: Simulated seconds per second; 0 = as fast as the mailbox takes them.
        seed: For what the record has no word of.
        flights: Only the first so many departures of the day.
        keep: Leave everything running after the summary, until Ctrl-C, which then is no interruption.
        console: Where to print; None = standard output.

    Returns:
        0 if every check holds, 1 if one does not or something failed (a sentence says what), 130 after Ctrl-C.
    """
    console = console or Console(highlight=False)
    try:
        stream = simulate(airport, day, speed, seed, flights=flights)
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        # An absolute prefix replaces the place where temporary files go.
        prefix = "msgx-demo-" if folder is None else f"{folder.resolve()}/msgx-demo-"
        with _terminated_like_interrupted(), temporary_folder(prefix) as place, contextlib.ExitStack() as stack:
            return _Demo(stream, place, console, stack).run(keep=keep)
    except KeyboardInterrupt:
        console.print("Stopped; everything is removed.")
        return INTERRUPTED
    except (DemoError, ServerError, MsgxError, MailboxError, deploy.DeployError, NoSuchDayError, ValueError) as error:
        _say(console, False, str(error))
        return FAILED
    except (psycopg.Error, pymysql.MySQLError, KafkaException, OSError) as error:
        _say(console, False, f"A server of the demo failed: {' '.join(str(error).split())} ({type(error).__name__}).")
        return FAILED


@contextlib.contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """SIGTERM and SIGHUP end the demo as Ctrl-C does: in good order."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only there can signals be taken
        return
    before = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGHUP)}
    try:
        for one in before:
            signal.signal(one, signal.default_int_handler)
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _say(console: Console, holds: bool, sentence: str) -> None:
    mark = "[green]✓[/]" if holds else "[bold red]✗[/]"
    console.print(mark, end=" ")
    console.print(sentence, markup=False, soft_wrap=True)


class _Demo:
    """One run. Everything it opens is closed by `stack`."""

    def __init__(self, stream: Stream, place: Path, console: Console, stack: contextlib.ExitStack) -> None:
        self._stream = stream
        self._place = place
        self._console = console
        self._stack = stack
        self._kafka = Kafka()
        self._stop = threading.Event()
        self._written = 0
        self._reached_at: datetime | None = None
        self._write_error: Exception | None = None

    def run(self, *, keep: bool) -> int:
        """All of it, from the first server to the last check."""
        stream = self._stream
        self._console.print(
            f"[bold]{stream.airport} on {stream.day}[/]: {len(stream.truth().departures)} departures and what hangs on "
            f"them, as {len(stream):,} messages of an AODB.",
            soft_wrap=True,
        )
        with self._step("Servers"):
            servers = self._start_servers()
        database = self._stack.enter_context(psycopg.connect(servers.postgres.url, autocommit=True, connect_timeout=10))
        with self._step("Schema and mailbox"):
            login = self._prepare(servers, database)
        environment = {
            "MSGX_DATABASE_URL": login,
            "MSGX_MAILBOX_URL": servers.mailbox.url,
            "MSGX_KAFKA_BOOTSTRAP": servers.broker.bootstrap,
        }
        with self._step("Supervisor, which makes the topics"):
            supervisor = SupervisorProcess(
                self._place / "supervisor", {**environment, "MSGX_LOG__FORMAT": "json"}, servers.postgres.url
            )
            self._stack.callback(supervisor.stop)
            supervisor.start()
        took = self._play(servers, database, supervisor)
        code = self._judge(servers, database, took)
        if keep:
            self._stay(servers, supervisor, environment)
        else:
            self._what_next()
        return code

    @contextlib.contextmanager
    def _step(self, what: str) -> Iterator[None]:
        started = time.monotonic()
        with self._console.status(f"{what} …") if self._console.is_terminal else contextlib.nullcontext():
            yield
        _say(self._console, True, f"{what} ({time.monotonic() - started:.1f} s).")

    # Before

    def _start_servers(self) -> _Servers:
        servers = _Servers(
            # A demo survives no power cut; everything else is as in production.
            PostgresServer(self._place / "postgres", fsync=False, settings={"shared_buffers": "64MB", "jit": "off"}),
            mailbox_server(self._place / "mailbox", fsync=False),
            KafkaBroker(self._place / "kafka"),
        )
        every = (servers.postgres, servers.mailbox, servers.broker)
        for server in every:
            self._stack.callback(server.stop)
        with ThreadPoolExecutor(len(every)) as pool:
            for started in [pool.submit(server.start) for server in every]:
                started.result()
        return servers

    def _prepare(self, servers: _Servers, database: psycopg.Connection[Any]) -> str:
        """Schema, settings, a login for the supervisor, the mailbox's tables; gives the login's URL."""
        deploy.apply(servers.postgres.url)
        database.execute("select core.setting_set('msgx.airport.timezone', %s)", [str(self._stream.zone)])
        password = secrets.token_urlsafe(18)
        database.execute(
            sql.SQL("create role msgx_demo login password {} in role msgx_app, msgx_operator").format(
                sql.Literal(password)
            )
        )
        with _mailbox_connection(servers.mailbox) as connection, connection.cursor() as cursor:
            for table in sorted(importlib.resources.files("db").joinpath("mailbox").iterdir(), key=lambda f: f.name):
                cursor.execute(table.read_text(encoding="utf-8"))
                while cursor.nextset():
                    pass
        self._kafka = Kafka(bootstrap=servers.broker.bootstrap)
        address = urlsplit(servers.postgres.url)
        return address._replace(netloc=f"msgx_demo:{password}@{address.hostname}:{address.port}").geturl()

    # Meanwhile

    def _play(self, servers: _Servers, database: psycopg.Connection[Any], supervisor: SupervisorProcess) -> float:
        """Let the simulator write while the supervisor works; gives the seconds it took, or raises where it hangs."""
        writer = threading.Thread(target=self._write, args=(servers.mailbox.url,), name="aodb", daemon=True)
        started = time.monotonic()
        writer.start()
        self._stack.callback(writer.join, 20)
        self._stack.callback(self._stop.set)
        with _Display(self._console, len(self._stream)) as display:
            reached, since = _Reached(), time.monotonic()
            while True:
                now = self._look(database)
                display.show(now, self._reached_at)
                if self._write_error is not None:
                    raise DemoError(f"The simulator could not write. {self._write_error}")
                if now != reached:
                    reached, since = now, time.monotonic()
                elif not supervisor.running:
                    raise DemoError(f"The supervisor ended.\n{supervisor.last_words()}")
                elif not writer.is_alive() and time.monotonic() - since > STALL:
                    raise DemoError(f"Nothing has moved for {STALL:.0f} s.\n{supervisor.last_words()}")
                if now.finished == now.marked == len(self._stream) and now.told == now.events:
                    return time.monotonic() - started
                time.sleep(_LOOK)

    def _write(self, url: str) -> None:
        try:
            with Mailbox(MailboxConfig(url), self._stream.zone) as mailbox:
                write(self._stream, mailbox, stop=self._stop, progress=self._wrote)
        except Exception as error:  # noqa: BLE001  the thread that looks on raises it
            self._write_error = error

    def _wrote(self, count: int, reached: datetime) -> None:
        self._written, self._reached_at = count, reached

    def _look(self, database: psycopg.Connection[Any]) -> _Reached:
        found = database.execute(
            """select
                 (select count(*) from inbox.proc_state where state in ('SUCCEEDED', 'SKIPPED', 'DEAD')),
                 (select count(*) from outbox.msg_event),
                 (select count(*) from outbox.msg_event where state <> 'PENDING'),
                 (select count(*) from inbox.proc_state where backfill_at is not null)"""
        ).fetchone()
        return _Reached(self._written, *(found or ()))

    # Afterwards

    def _judge(self, servers: _Servers, database: psycopg.Connection[Any], took: float) -> int:
        kafka = self._kafka
        topics = {name: checks.read_topic(kafka.bootstrap, name) for name in (kafka.topic_msg, kafka.topic_schd)}
        with _mailbox_connection(servers.mailbox) as mailbox:
            found = checks.check_all(self._stream, database, mailbox, topics[kafka.topic_msg], topics[kafka.topic_schd])
        self._print_summary(checks.summarise(database, topics), took)
        for check in found:
            _say(self._console, check.holds, check.sentence)
        wrong = sum(not check.holds for check in found)
        if wrong:
            _say(self._console, False, f"{wrong} of {len(found)} checks do not hold.")
        return FAILED if wrong else 0

    def _print_summary(self, summary: checks.Summary, took: float) -> None:
        pace = f"at {self._stream.speed:,.0f} times real time" if self._stream.speed else "written all at once"
        rows = {
            "Messages": _counted(summary.outcomes),
            **{kind: _counted(endings) for kind, endings in summary.flights.items()},
            "Events": _counted(summary.events),
            "Records": _counted(summary.records),
            "Alerts": _counted(summary.alerts),
            "Mailbox to broker": " · ".join(f"{share} {_duration(value)}" for share, value in summary.latency.items()),
            "Throughput": f"{summary.per_second:,.0f} messages/s; the day took {took:.1f} s, {pace}",
        }
        self._console.print()
        for name, value in rows.items():
            self._console.print(f"[bold]{name:<19}[/]{value or 'none'}", soft_wrap=True)
        self._console.print()

    def _what_next(self) -> None:
        other, storm = ("EWR", "2013-07-10    thunderstorms instead of snow")
        if self._stream.day.month == 7:
            other, storm = ("JFK", "2013-02-08    a blizzard instead of thunderstorms")
        self._lines(
            "What to try next:",
            "  msgx demo --keep                            leave it running and look around",
            "  msgx demo --speed 0                         the whole day at once: how fast is it?",
            f"  msgx demo --airport {other} --day {storm}",
        )

    def _stay(self, servers: _Servers, supervisor: SupervisorProcess, environment: Mapping[str, str]) -> None:
        psql = f"{servers.postgres.bin / 'psql'} $MSGX_DATABASE_URL"
        self._lines(
            "Everything keeps running until Ctrl-C. In another terminal:",
            *(f"  export {name}='{value}'" for name, value in environment.items()),
            "  msgx status",
            "  msgx setting list",
            *(f"  {psql} -c '{query}'" for query in _QUERIES),
            f"  kcat -C -e -b {servers.broker.bootstrap} -t {self._kafka.topic_schd} -K ' ' | head",
            "  msgx simulate --airport LGA --day 2013-02-09",
            f"  curl -s http://127.0.0.1:{supervisor.port}/readyz    # or /metrics",
            f"  tail -f {supervisor.log}",
        )
        with contextlib.suppress(KeyboardInterrupt):
            while supervisor.running:
                time.sleep(0.5)
            raise DemoError(f"The supervisor ended.\n{supervisor.last_words()}")

    def _lines(self, *lines: str) -> None:
        self._console.print()
        for line in lines:
            self._console.print(line, markup=False, soft_wrap=True)


@contextlib.contextmanager
def _mailbox_connection(
    server: MariaDBServer | NoidaMySQLServer,
) -> Iterator[pymysql.connections.Connection[Any]]:
    with pymysql.connect(
        **MailboxConfig(server.url).connect_arguments(),
        autocommit=True,
        connect_timeout=10,
        read_timeout=30,
        write_timeout=30,
        client_flag=CLIENT.MULTI_STATEMENTS,
    ) as connection:
        yield connection


def _counted(counts: Mapping[str, int]) -> str:
    return " · ".join(f"{count:,} {name}" for name, count in counts.items())


def _duration(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


class _Display:
    """Bars on a terminal, a line now and then elsewhere."""

    def __init__(self, console: Console, total: int) -> None:
        self._console = console
        self._total = total
        self._next_line = time.monotonic() + _LINE
        self._told_of = _Reached()
        self._bars: Progress | None = None
        if console.is_terminal:
            self._bars = Progress(
                TextColumn("{task.description:<10}"),
                BarColumn(bar_width=40),
                MofNCompleteColumn(),
                TextColumn("{task.fields[note]}"),
                TimeElapsedColumn(),
                console=console,
                transient=True,
            )
            self._written = self._bars.add_task("written", total=total, note="")
            self._finished = self._bars.add_task("processed", total=total, note="")
            self._told = self._bars.add_task("told", total=None, note="events")
            self._marked = self._bars.add_task("marked", total=total, note="")

    def __enter__(self) -> _Display:
        if self._bars:
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars:
            self._bars.stop()

    def show(self, reached: _Reached, at: datetime | None) -> None:
        """Say how far it is, and how late it is at the airport."""
        clock = f"{at:%d %b %H:%M}" if at else ""
        if self._bars:
            self._bars.update(self._written, completed=reached.written, note=clock)
            self._bars.update(self._finished, completed=reached.finished)
            self._bars.update(self._told, completed=reached.told, total=max(1, reached.events))
            self._bars.update(self._marked, completed=reached.marked)
        elif time.monotonic() >= self._next_line and reached != self._told_of:
            self._next_line = time.monotonic() + _LINE
            self._told_of = reached
            self._console.print(
                f"  {clock}: {reached.written:,} of {self._total:,} written, {reached.finished:,} processed, "
                f"{reached.told:,} of {reached.events:,} events told, {reached.marked:,} marked",
                soft_wrap=True,
            )


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(
    epilog="Exit codes: 0 every check holds, 1 one does not or something failed, 2 wrong arguments, 130 Ctrl-C."
)
def command(
    airport: options.Airport = DEFAULT_AIRPORT,
    day: options.Day = options.DEFAULT_MOMENT,
    speed: Annotated[
        float, typer.Option(min=0, help="Simulated seconds per second; 0 = as fast as the mailbox takes them.")
    ] = DEFAULT_SPEED,
    seed: options.Seed = 1,
    flights: options.Flights = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave everything running after the summary, and say how to look around.")
    ] = False,
    folder: Annotated[
        Path | None, typer.Option(file_okay=False, help="Where the demo makes its temporary folder.")
    ] = None,
) -> int:
    """A real day's flights through the whole system on private servers, with a check of every flight, event and mark.

    Needs no server and no configuration; everything is in one temporary folder that goes in the end.
    """
    airport, on = options.known(airport, day)
    return run(folder, airport=airport, day=on, speed=speed, seed=seed, flights=flights, keep=keep)


def main(arguments: Sequence[str]) -> int:
    """``msgx demo``; gives its exit code. Wrong arguments are raised: as typer's own exceptions, or ConfigError."""
    answer = typer.main.get_command(app).main(args=list(arguments), prog_name="msgx demo", standalone_mode=False)
    return int(answer or 0)

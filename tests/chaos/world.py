"""Everything that runs, and every way to hurt it: private servers, two supervisors behind proxies, a restless writer.

All servers keep what they acknowledge (fsync on), but for the broker, which may lose the last second when it is killed:
it is stopped and frozen, never killed.
"""

from __future__ import annotations

import contextlib
import importlib.resources
import itertools
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pymysql
from pymysql.constants import CLIENT

from demo.demo import SupervisorProcess
from demo.servers import KafkaBroker, MariaDBServer, PostgresServer, Server, ServerError, TcpProxy
from loader.mailbox import MailboxConfig
from supervisor import deploy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

    from demo.simulator import Stream

LEASE = 1.5  # seconds; all time-outs are scaled down alike, so that an hour of faults fits into minutes
STANDBY = 0.3
LEASE_LIMIT = 5.0
IDLE_IN_TRANSACTION = 2.0
TOPIC_MSG = "chaos.msg"
TOPIC_SCHD = "chaos.schd"

_ENVIRONMENT = {
    "MSGX_SUPERVISOR__LEASE_TTL": str(LEASE),
    "MSGX_SUPERVISOR__STANDBY_INTERVAL": str(STANDBY),
    "MSGX_SUPERVISOR__LIMIT__LEASE": str(LEASE_LIMIT),
    "MSGX_SUPERVISOR__RETRY_DELAY": "0.2",
    "MSGX_SUPERVISOR__STOP_TIMEOUT": "8",
    "MSGX_SUPERVISOR__INTERVAL__INTAKE": "0.2",
    "MSGX_SUPERVISOR__INTERVAL__RESTAGE": "1",
    "MSGX_DATABASE__CONNECT_TIMEOUT": "2",
    "MSGX_DATABASE__STATEMENT_TIMEOUT": "20",
    "MSGX_DATABASE__LOCK_TIMEOUT": "5",
    "MSGX_DATABASE__IDLE_IN_TRANSACTION_TIMEOUT": str(IDLE_IN_TRANSACTION),
    "MSGX_DATABASE__TCP_USER_TIMEOUT": "4",
    "MSGX_MAILBOX__CONNECT_TIMEOUT": "2",
    "MSGX_MAILBOX__READ_TIMEOUT": "3",
    "MSGX_MAILBOX__WRITE_TIMEOUT": "3",
    "MSGX_KAFKA__DELIVERY_TIMEOUT": "4",  # twice the lease, as by default
    "MSGX_KAFKA__REQUEST_TIMEOUT": "2",
    "MSGX_KAFKA__TOPIC_MSG": TOPIC_MSG,
    "MSGX_KAFKA__TOPIC_SCHD": TOPIC_SCHD,
    "MSGX_LOG__FORMAT": "json",
}
_LADDERS = """
update core.setting set
  pipeline_max_commit_delay = '1 s',
  pipeline_ladder_infra = array['200 ms', '500 ms', '1 s', '2 s', '4 s']::interval[],
  pipeline_event_ladder = array['200 ms', '500 ms', '1 s', '2 s', '4 s']::interval[],
  pipeline_backfill_ladder = array['200 ms', '500 ms', '1 s', '2 s', '4 s']::interval[]
"""


class Supervisor(SupervisorProcess):
    """One slot for a supervisor: a process that is replaced again and again, behind proxies of its own."""

    def __init__(self, folder: Path, name: str, environment: dict[str, str], database: str) -> None:
        super().__init__(folder / name, environment, database)
        self.name = name
        self.pids: list[int] = []

    def _ask(self) -> None:
        """Neither leadership nor services are waited for: there may be none."""

    def start(self) -> Supervisor:
        """Start another process in this slot, if none runs."""
        if not self.running:
            super().start()
            self.pids.append(self.pid)
        return self

    def terminate(self, longest: float = 15.0) -> int:
        """SIGTERM; gives the exit code."""
        process = self._process
        assert process is not None
        self.resume()
        process.terminate()
        code = process.wait(longest)
        self._forget()
        return code


@dataclass(slots=True)
class Counts:
    """What was done to the house."""

    faults: dict[str, int] = field(default_factory=dict)
    log: list[tuple[float, str]] = field(default_factory=list)  # wall clock, what
    take_overs: list[float] = field(default_factory=list)
    stops: list[float] = field(default_factory=list)

    def add(self, fault: str) -> None:
        """One more of it."""
        self.faults[fault] = self.faults.get(fault, 0) + 1
        self.note(fault)

    def note(self, what: str) -> None:
        """For the story of a failure."""
        self.log.append((time.time(), what))

    def around(self, *moments: float) -> str:
        """What happened in the seconds around some moments."""
        first, last = min(moments) - 6, max(moments) + 6
        return "\n".join(f"  {at:.3f} {what}" for at, what in self.log if first <= at <= last)


class Writer(threading.Thread):
    """The AODB: puts a day into the mailbox at a pace, over restarts of the server, each message once and in order."""

    def __init__(self, stream: Stream, mailbox: MariaDBServer, rate: float, rng: Random) -> None:
        super().__init__(name="aodb", daemon=True)
        self._bodies = [message.xml for message in stream]
        self._mailbox = mailbox
        self._rate = rate
        self._rng = rng
        self._hurry = threading.Event()
        self.written = 0
        self.again = 0  # statements of which it was not known whether they had been executed
        self.failure: Exception | None = None

    @property
    def total(self) -> int:
        """How many messages there are."""
        return len(self._bodies)

    def finish(self, timeout: float = 60.0) -> None:
        """No more pauses; wait until all is written."""
        self._hurry.set()
        self.join(timeout)
        assert self.failure is None, self.failure
        assert self.written == self.total, f"{self.written} of {self.total} messages were written"

    def run(self) -> None:
        """Write, until the end."""
        try:
            while self.written < self.total:
                size = self._rng.randint(1, 25) if not self._hurry.is_set() else 200
                self._write(self._bodies[self.written : self.written + size])
                self._hurry.wait(size / self._rate)
        except Exception as error:  # noqa: BLE001  the test's thread raises it
            self.failure = error

    def _write(self, bodies: Sequence[str]) -> None:
        target = self.written + len(bodies)
        while self.written < target:
            try:
                with mailbox_connection(self._mailbox) as connection, connection.cursor() as cursor:
                    cursor.execute("select count(*) from CMINMSGS")
                    (self.written,) = cursor.fetchone() or (0,)
                    rest = bodies[len(bodies) - (target - self.written) :]
                    # One statement, so that it is executed whole or not at all; the count tells which.
                    places = ", ".join(["(%s, now(3))"] * len(rest))
                    if rest:
                        cursor.execute(f"insert into CMINMSGS (MSG_XML, RECEIVED_AT) values {places}", rest)
                        self.written += len(rest)
            except pymysql.MySQLError:
                self.again += 1
                time.sleep(0.1)


@contextlib.contextmanager
def mailbox_connection(server: MariaDBServer) -> Iterator[pymysql.connections.Connection[Any]]:
    """A connection past all proxies."""
    config = MailboxConfig(server.url, connect_timeout=3, read_timeout=10, write_timeout=10)
    arguments = config.connect_arguments() | {"autocommit": True, "client_flag": CLIENT.MULTI_STATEMENTS}
    with pymysql.connect(**arguments) as connection:
        yield connection


class World:
    """A house with two supervisors, and its enemies.

    Args:
        folder: For all files.
        stream: The day that is written.
        rng: Chooses.
        stack: Closes everything.
    """

    def __init__(self, folder: Path, stream: Stream, rng: Random, stack: contextlib.ExitStack) -> None:
        self.folder = folder
        self.stream = stream
        self.rng = rng
        self.counts = Counts()
        settings = {"shared_buffers": "64MB", "jit": "off", "max_connections": "60"}
        self.postgres = PostgresServer(folder / "postgres", trust=True, settings=settings)
        self.mailbox = MariaDBServer(folder / "mailbox")
        self.broker = KafkaBroker(folder / "kafka")
        for server in (self.postgres, self.mailbox, self.broker):
            stack.enter_context(server)
        self._prepare_database()
        self._prepare_mailbox()
        self.supervisors: list[Supervisor] = []
        self.proxies: dict[str, tuple[TcpProxy, TcpProxy]] = {}
        for name in ("a", "b"):
            pair = (
                stack.enter_context(TcpProxy(self.postgres.port)),
                stack.enter_context(TcpProxy(self.mailbox.port)),
            )
            self.proxies[name] = pair
            self.supervisors.append(self._supervisor(name, pair[0].port, pair[1].port))
        for one in self.supervisors:
            stack.callback(one.kill)

    # Before

    def _prepare_database(self) -> None:
        deploy.apply(self.postgres.url)
        with self.sql() as connection:
            zone = str(self.stream.zone)
            connection.execute("select core.setting_set('msgx.airport.timezone', %s)", [zone])
            connection.execute(_LADDERS)
            connection.execute("create role msgx_chaos login in role msgx_app, msgx_operator")
            connection.execute((Path(__file__).parent / "audit.sql").read_text(encoding="utf-8"))

    def _prepare_mailbox(self) -> None:
        with mailbox_connection(self.mailbox) as connection, connection.cursor() as cursor:
            for table in sorted(importlib.resources.files("db").joinpath("mailbox").iterdir(), key=lambda f: f.name):
                cursor.execute(table.read_text(encoding="utf-8"))
                while cursor.nextset():
                    pass
            cursor.execute("create table MARKS (ID bigint unsigned not null, OLD varchar(16), NEW varchar(16))")
            cursor.execute(
                "create trigger MARKED after update on CMINMSGS for each row "
                "insert into MARKS values (new.CMINMSGS_ID, old.PROC_FLAG, new.PROC_FLAG)"
            )

    def _supervisor(self, name: str, postgres_port: int, mailbox_port: int) -> Supervisor:
        mailbox = re.sub(r":\d+/", f":{mailbox_port}/", self.mailbox.url)
        environment = _ENVIRONMENT | {
            "MSGX_DATABASE_URL": f"postgresql://msgx_chaos@127.0.0.1:{postgres_port}/{self.postgres.database}",
            "MSGX_DATABASE__APPLICATION_NAME": f"msgx-{name}",
            "MSGX_MAILBOX_URL": mailbox,
            "MSGX_KAFKA_BOOTSTRAP": self.broker.bootstrap,
        }
        return Supervisor(self.folder, name, environment, self.postgres.url)

    # Looking

    @contextlib.contextmanager
    def sql(self) -> Iterator[psycopg.Connection[Any]]:
        """A connection past all proxies, as superuser."""
        with psycopg.connect(
            self.postgres.url, autocommit=True, connect_timeout=5, application_name="chaos", options="-c timezone=UTC"
        ) as connection:
            yield connection

    def ask(self, query: str, *values: object) -> list[Any]:
        """All rows."""
        with self.sql() as connection:
            return connection.execute(query, values).fetchall()

    def leader(self, timeout: float = 20.0) -> Supervisor:
        """Who holds the lease now; waits for one."""
        until = time.monotonic() + timeout
        while True:
            found = self.ask(
                "select holder from core.pipeline_lock where name = 'LEADER' and expires_at > clock_timestamp()"
            )
            if found and found[0][0]:
                pid = int(found[0][0].split(":")[1])
                for one in self.supervisors:
                    if one.running and one.pid == pid:
                        return one
            assert time.monotonic() < until, f"nobody leads after {timeout:.0f} s\n{self.last_words()}"
            time.sleep(0.05)

    def other(self, one: Supervisor) -> Supervisor:
        """The other slot."""
        return next(two for two in self.supervisors if two is not one)

    def last_words(self) -> str:
        """The ends of the supervisors' logs."""
        return "\n".join(one.last_words() for one in self.supervisors)

    def take_over(self, old: Supervisor, since: float, longest: float) -> float:
        """Wait until somebody else leads; gives the seconds since `since` (wall clock)."""
        until = time.monotonic() + longest + 5
        pid = old.pids[-1]
        while time.monotonic() < until:
            rows = self.ask(
                "select extract(epoch from acquired_at)::float8 from chaos.reign"
                " where acquired_at > to_timestamp(%s) and split_part(holder, ':', 2) <> %s order by epoch limit 1",
                since,
                str(pid),
            )
            if rows:
                took = float(rows[0][0]) - since
                self.counts.take_overs.append(took)
                return took
            time.sleep(0.05)
        raise AssertionError(f"nobody took over from {old.name} within {longest + 5:.0f} s\n{self.last_words()}")

    def take_overs_after_kills(self) -> list[float]:
        """Seconds from each SIGKILL of a leader to the next leader's first moment, ascending.

        Where PostgreSQL was down in between, that is in it too.
        """
        begun = [
            row[0] for row in self.ask("select extract(epoch from acquired_at)::float8 from chaos.reign order by 1")
        ]
        killed = [at for at, what in self.counts.log if what == "kill -9 of the leader"]
        return sorted(next(b for b in begun if b > at) - at for at in killed if any(b > at for b in begun))

    # Hurting

    def kill(self, one: Supervisor) -> None:
        """SIGKILL, and another process in its place."""
        self.counts.add("kill -9 of the leader" if self._leads(one) else "kill -9 of the standby")
        one.kill()
        one.start()

    def _leads(self, one: Supervisor) -> bool:
        rows = self.ask("select holder from core.pipeline_lock where name = 'LEADER'")
        return bool(rows[0][0]) and one.running and int(rows[0][0].split(":")[1]) == one.pid

    @contextlib.contextmanager
    def frozen(self, one: Supervisor) -> Iterator[None]:
        """SIGSTOP inside, SIGCONT at the end."""
        self.counts.add("SIGSTOP of a supervisor")
        one.pause()
        try:
            yield
        finally:
            one.resume()
            self.counts.note("SIGCONT")

    @contextlib.contextmanager
    def cut_off(self, one: Supervisor) -> Iterator[None]:
        """Inside, nothing that the supervisor and PostgreSQL say to each other arrives; afterwards all of it does."""
        self.counts.add("network lost between a supervisor and PostgreSQL")
        proxy = self.proxies[one.name][0]
        proxy.pause()
        try:
            yield
        finally:
            proxy.resume()

    def terminate(self, one: Supervisor) -> None:
        """SIGTERM must end it in good order and in time; another process takes its place."""
        self.counts.add("SIGTERM")
        began = time.monotonic()
        code = one.terminate()
        self.counts.stops.append(time.monotonic() - began)
        assert code == 0, f"SIGTERM ended the supervisor with {code}\n{one.last_words()}"
        assert "Traceback" not in one.last_words(), one.last_words()
        one.start()

    def end_sessions(self, pattern: str, most: int) -> int:
        """pg_terminate_backend of random sessions of supervisors."""
        ended = self.ask(
            """select pg_terminate_backend(pid) from (
                 select pid from pg_stat_activity where application_name like %s order by random() limit %s) s""",
            pattern,
            most,
        )
        self.counts.faults["sessions terminated"] = self.counts.faults.get("sessions terminated", 0) + len(ended)
        return len(ended)

    def crash_postgres(self) -> None:
        """An immediate shutdown (SIGQUIT): recovery from the log at the next start."""
        self.counts.add("immediate shutdown of PostgreSQL")
        self._quit(self.postgres, signal.SIGQUIT)
        time.sleep(self.rng.uniform(0, 1.5))
        self._start(self.postgres)

    def restart(self, server: Server) -> None:
        """Stop in good order, a moment of absence, start."""
        self.counts.add(f"restart of the {server.title}")
        server.stop()
        time.sleep(self.rng.uniform(0, 1.5))
        self._start(server)

    def kill_mailbox(self) -> None:
        """kill -9 of MariaDB, which keeps what it committed."""
        self.counts.add("kill -9 of MariaDB")
        self.mailbox.kill()
        time.sleep(self.rng.uniform(0, 1.0))
        self._start(self.mailbox)

    def freeze(self, server: Server, seconds: float) -> None:
        """SIGSTOP for a while."""
        self.counts.add(f"SIGSTOP of the {server.title}")
        server.pause()
        time.sleep(seconds)
        server.resume()
        self.counts.note("SIGCONT")

    def swallow(self, which: int, seconds: float) -> None:
        """What anybody and PostgreSQL (0) or the mailbox (1) say to each other is lost for a while, then all is cut.

        As when something between them, a proxy or a load balancer, dies slowly: it acknowledges and passes nothing on.
        """
        self.counts.add(f"black hole to {('PostgreSQL', 'the mailbox')[which]}")
        for pair in self.proxies.values():
            pair[which].black_hole()
        time.sleep(seconds)
        for pair in self.proxies.values():
            pair[which].disconnect()
            pair[which].resume()

    def reset_connections(self) -> None:
        """RST for every connection to PostgreSQL and the mailbox."""
        self.counts.add("reset of all connections")
        for pair in self.proxies.values():
            for proxy in pair:
                proxy.disconnect()

    def _quit(self, server: Server, number: signal.Signals) -> None:
        os.kill(server.pid, number)
        until = time.monotonic() + 10
        while server.running and time.monotonic() < until:
            time.sleep(0.02)
        assert not server.running, f"the {server.title} did not end"

    def _start(self, server: Server) -> None:
        for attempt in itertools.count(1):
            try:
                server.start()
            except ServerError:  # an old child may hold the memory for a moment
                if attempt == 5:
                    raise
                time.sleep(0.3)
            else:
                return

    # The end

    def until_idle(self) -> str:
        """Stop everybody; one more supervisor works everything off. Gives what it said."""
        for pair in self.proxies.values():
            for proxy in pair:
                proxy.resume()
        for one in self.supervisors:
            if one.running:
                code = one.terminate()
                assert code == 0, f"SIGTERM ended the supervisor with {code}\n{one.last_words()}"
        last = self.supervisors[0]
        done = subprocess.run(
            [sys.executable, "-m", "supervisor.cli.main", "run", "--until-idle", "--max-wait", "60"],
            env={name: value for name, value in os.environ.items() if not name.startswith(("MSGX_", "PG"))}
            | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
            | last._environment,
            cwd=last.data,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert done.returncode == 0, f"run --until-idle ended with {done.returncode}:\n{done.stderr[-4000:]}"
        return done.stderr

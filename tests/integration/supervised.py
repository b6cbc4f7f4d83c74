"""One installation for a test: a database, a mailbox, topics, and ``msgx`` processes that work on them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import psycopg
import pymysql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def message(seqn: int, type_: str, styp: str, body: str) -> str:
    """A message of the AODB."""
    return (
        f"<MSG><META><SNDR>AODB</SNDR><SEQN>{seqn}</SEQN><DTTM>20260310080000</DTTM><TYPE>{type_}</TYPE>"
        f"<STYP>{styp}</STYP></META>{body}</MSG>"
    )


def adft(seqn: int, flid: int, more: str = "") -> str:
    """A new flight."""
    return message(
        seqn,
        "SCHD",
        "ADFT",
        f"<SCHD><FLTR><FLID>{flid}</FLID><FLNO>CA{flid}</FLNO><MVIN>D</MVIN><SODT>10MAR261025</SODT>{more}</FLTR></SCHD>",
    )


def flop(seqn: int, flid: int, minute: int = 30) -> str:
    """A new estimate for it."""
    return message(seqn, "FLOP", "ESTT", f"<FLOP><FLID>{flid}</FLID><ESTT>10MAR2610{minute:02d}</ESTT></FLOP>")


def unknown(seqn: int) -> str:
    """A type without a rule: it fails three times before it is DEAD."""
    return message(seqn, "XYZ", "NEW", "<XYZ/>")


@dataclass
class Msgx:
    """A running ``msgx`` process and what it says."""

    process: subprocess.Popen[str]
    log: Path

    @property
    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def wait_for(self, pattern: str, wait: float = 30.0) -> None:
        end = time.monotonic() + wait
        while not re.search(pattern, self.said):
            assert self.process.poll() is None, f"it ended ({self.process.returncode}):\n{self.said}"
            assert time.monotonic() < end, f"it never said {pattern!r}:\n{self.said}"
            time.sleep(0.05)

    def end(self, number: signal.Signals = signal.SIGTERM, wait: float = 30.0) -> int:
        self.process.send_signal(number)
        return self.process.wait(wait)


@dataclass
class Site:
    """Where everything is, and shortcuts to look at it."""

    folder: Path
    database_url: str
    mailbox_url: str
    bootstrap: str
    topic_msg: str
    topic_schd: str
    more: dict[str, str] = field(default_factory=dict)
    started: list[Msgx] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.upper().startswith("MSGX_")}
        return kept | {
            "MSGX_DATABASE_URL": self.database_url,
            "MSGX_MAILBOX_URL": self.mailbox_url,
            "MSGX_KAFKA_BOOTSTRAP": self.bootstrap,
            "MSGX_KAFKA__TOPIC_MSG": self.topic_msg,
            "MSGX_KAFKA__TOPIC_SCHD": self.topic_schd,
            "MSGX_KAFKA__DELIVERY_TIMEOUT": "3",
            "MSGX_KAFKA__REQUEST_TIMEOUT": "3",
            "MSGX_SUPERVISOR__LEASE_TTL": "3",
            "MSGX_SUPERVISOR__STANDBY_INTERVAL": "0.3",
            "MSGX_SUPERVISOR__RETRY_DELAY": "0.2",
            "MSGX_LOG__FORMAT": "json",
            **self.more,
        }

    def start(self, *arguments: str) -> Msgx:
        """``msgx`` as its own process."""
        log = self.folder / f"msgx-{len(self.started)}.log"
        with log.open("w") as stream:
            process = subprocess.Popen(
                [sys.executable, "-m", "supervisor.cli.main", *arguments],
                env=self.environment,
                stdout=stream,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                text=True,
                start_new_session=True,
            )
        made = Msgx(process, log)
        self.started.append(made)
        return made

    def until_idle(self, max_wait: float = 30.0, longest: float = 120.0) -> Msgx:
        """``msgx run --until-idle`` to its end."""
        run = self.start("run", "--until-idle", "--max-wait", str(max_wait))
        run.process.wait(longest)
        return run

    def stop_all(self) -> None:
        for one in self.started:
            if one.process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    one.process.send_signal(signal.SIGCONT)
                one.process.kill()
                one.process.wait(10)

    # Mailbox

    @contextlib.contextmanager
    def mysql(self) -> Iterator[pymysql.cursors.Cursor]:
        url = urlsplit(self.mailbox_url)
        with (
            pymysql.connect(
                host=url.hostname,
                port=url.port or 3306,
                user=url.username,
                password=unquote(url.password or ""),
                database=url.path.lstrip("/"),
                autocommit=True,
                connect_timeout=10,
                read_timeout=30,
                write_timeout=30,
            ) as connection,
            connection.cursor() as cursor,
        ):
            yield cursor

    def send(self, *bodies: str) -> None:
        """Messages, in this order."""
        with self.mysql() as cursor:
            cursor.executemany(
                "insert into CMINMSGS (MSG_XML, RECEIVED_AT) values (%s, now(3))", [(body,) for body in bodies]
            )

    def leave_out(self, count: int = 1) -> None:
        """Ids that are used and never seen: inserts that are rolled back."""
        with self.mysql() as cursor:
            cursor.execute("begin")
            for _ in range(count):
                cursor.execute("insert into CMINMSGS (MSG_XML) values ('x')")
            cursor.execute("rollback")

    def flags(self) -> list[str | None]:
        with self.mysql() as cursor:
            cursor.execute("select PROC_FLAG from CMINMSGS order by CMINMSGS_ID")
            return [row[0] for row in cursor.fetchall()]

    # Database

    def sql(self, query: str, *arguments: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database_url, autocommit=True, connect_timeout=10) as connection:
            cursor = connection.execute(query, arguments or None)
            return cursor.fetchall() if cursor.description else []

    def set(self, key: str, value: str) -> None:
        self.sql("select * from core.setting_set(%s, %s)", key, value)

    def ended(self) -> list[tuple[int, str]]:
        return [(id_, state) for id_, state in self.sql("select msg_id, state from inbox.proc_state order by msg_id")]

    def settled(self) -> bool:
        """Everything that was sent is told and marked."""
        return bool(
            self.sql(
                "select not exists (select from inbox.proc_state where state in ('PENDING', 'FAILED'))"
                " and not exists (select from outbox.msg_event where state = 'PENDING')"
                " and not exists (select from inbox.backfill_todo)"
            )[0][0]
        )

    def sessions(self) -> list[str]:
        """Sessions of msgx that are in a transaction."""
        found = self.sql(
            "select application_name from pg_stat_activity where datname = current_database()"
            " and application_name like 'msgx%' and state like 'idle in transaction%'"
        )
        return [name for (name,) in found]


def until(condition: Callable[[], bool], wait: float = 30.0, what: str = "it") -> None:
    """Wait for something, or fail."""
    end = time.monotonic() + wait
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen within {wait} s"
        time.sleep(0.05)


def lines(said: str) -> list[dict[str, Any]]:
    """The JSON lines of a log."""
    return [json.loads(line) for line in said.splitlines() if line.startswith("{")]

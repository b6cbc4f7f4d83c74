"""``msgx doctor``: is everything in place? One line for each check, with what to do."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import psycopg
import pymysql
from psycopg.conninfo import conninfo_to_dict

from supervisor import config, database, deploy, relay
from supervisor.cli import common
from supervisor.errors import BrokerUnreachable, ConfigError, DatabaseUnreachable, MsgxError, one_line
from supervisor.exits import Exit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from supervisor.config import Settings
    from supervisor.database import Connection

Verdict = Literal["ok", "warn", "fail"]
MAX_SKEW = 5.0  # seconds between two clocks before a person should know


@dataclass(frozen=True, slots=True)
class Check:
    """One line."""

    name: str
    verdict: Verdict
    says: str


def doctor(as_json: common.Json = False) -> int:
    """Check Python, configuration, PostgreSQL, mailbox and broker. Exit 0: nothing fails; 1: something does."""
    checks = list(examine())
    if as_json:
        common.print_json([asdict(check) for check in checks])
    else:
        mark = {"ok": "[green]ok  [/]", "warn": "[yellow]warn[/]", "fail": "[red]FAIL[/]"}
        for check in checks:
            text = check.says.replace("[", "\\[")
            common.console().print(f"{mark[check.verdict]}  {check.name:<22} {text}")
    return Exit.FINDING if any(check.verdict == "fail" for check in checks) else Exit.OK


def examine() -> Iterator[Check]:
    """All checks, in order; what cannot be asked any more is left out."""
    version = ".".join(map(str, sys.version_info[:3]))
    yield Check("python", "ok" if sys.version_info >= (3, 11) else "fail", f"Python {version}, msgx {deploy.release()}")
    try:
        settings = config.load()
    except ConfigError as error:
        yield Check("configuration", "fail", str(error))
        return
    yield Check("configuration", "ok", "msgx.toml and the environment can be used")
    yield from _guarded("postgresql", lambda: _postgresql(settings))
    yield from _guarded("mailbox", lambda: _mailbox(settings))
    yield from _guarded("kafka", lambda: _kafka(settings))


def _guarded(name: str, checks: Callable[[], Iterator[Check]]) -> Iterator[Check]:
    try:
        yield from checks()
    except (MsgxError, psycopg.Error, pymysql.MySQLError, OSError) as error:
        yield Check(name, "fail", str(error) if isinstance(error, MsgxError) else one_line(error))


def _postgresql(settings: Settings) -> Iterator[Check]:
    where = config.without_password(settings.database.url)
    try:
        connection = database.connect(settings.database, "doctor")
    except DatabaseUnreachable as error:
        user = conninfo_to_dict(settings.database.url).get("user") or "this user"
        said = str(error).rstrip(".")
        yield Check(
            "postgresql",
            "fail",
            f"{said}{'' if said.endswith('?') else '.'} Is the server up at {where}, "
            f"and may {user} log in (pg_hba.conf, password)?",
        )
        return
    with connection:
        server = connection.info.server_version
        number = f"{server // 10000}.{server % 10000}"
        if server // 10000 < deploy.OLDEST_SERVER:
            yield Check(
                "postgresql", "fail", f"PostgreSQL {number} at {where}: {deploy.OLDEST_SERVER} or later is needed"
            )
            return
        yield Check("postgresql", "ok", f"PostgreSQL {number} at {where}")
        if connection.info.backend_pid != database.value(connection, "select pg_backend_pid()"):
            yield Check("postgresql pooler", "fail", "a pooler stands between: give the address of PostgreSQL itself")
        yield from _roles(connection)
        refusal = deploy.known_schema(connection)
        yield Check("schema", "fail" if refusal else "ok", refusal or f"this release's ({deploy.release()})")
        yield _skew("postgresql clock", database.value(connection, "select clock_timestamp()"))
        if refusal is None:
            seeded = database.row(connection, "select watermark, seeded_at from inbox.inbox_cursor")
            if seeded.watermark == 0 and seeded.seeded_at is None:
                yield Check(
                    "watermark",
                    "warn",
                    "the mailbox was never read and not seeded: `msgx seed min|zero|max|ID` decides where to begin",
                )
            else:
                yield Check("watermark", "ok", f"stands at {seeded.watermark}")


def _roles(connection: Connection) -> Iterator[Check]:
    found = database.rows(
        connection,
        "select r.rolname, pg_has_role(current_user, r.oid, 'member') as mine from pg_roles r"
        " where r.rolname = any(%s)",
        list(deploy.ROLES),
    )
    missing = sorted(set(deploy.ROLES) - {role.rolname for role in found})
    if missing:
        yield Check("roles", "fail", f"missing: {', '.join(missing)}. `msgx db apply` makes them")
        return
    mine = [role.rolname for role in found if role.mine]
    who = database.value(connection, "select current_user")
    verdict: Verdict = "ok" if "msgx_app" in mine else "fail"
    todo = "" if verdict == "ok" else f". The supervisor needs: grant msgx_app to {who}"
    yield Check("roles", verdict, f"{who} is in {', '.join(sorted(mine)) or 'none of ours'}{todo}")


def _mailbox(settings: Settings) -> Iterator[Check]:
    box = settings.mailbox.for_loader()
    try:
        connection = pymysql.connect(
            **box.connect_arguments(),
            charset="utf8mb4",
            autocommit=True,
            connect_timeout=box.connect_timeout,
            read_timeout=box.read_timeout,
            write_timeout=box.write_timeout,
        )
    except (pymysql.MySQLError, OSError) as error:
        detail = error.args[-1] if error.args else error
        yield Check(
            "mailbox", "fail", f"{box.place} does not let us in: {detail}. Is it up, and are user and password right?"
        )
        return
    with connection, connection.cursor() as cursor:
        cursor.execute("select version(), utc_timestamp(3)")
        version, now = cursor.fetchone()
        yield Check("mailbox", "ok", f"{version} at {box.place}")
        schema, _, table = box.table.rpartition(".")
        cursor.execute(
            "select column_name, data_type, column_key, is_nullable from information_schema.columns"
            " where table_schema = coalesce(%s, database()) and table_name = %s",
            (schema or None, table),
        )
        columns = {row[0].lower(): row for row in cursor.fetchall()}
        wanted = (box.id_column, box.body_column, box.received_column, box.flag_column, box.flag_at_column)
        missing = [name for name in wanted if name.lower() not in columns]
        if not columns:
            yield Check(
                "mailbox table",
                "fail",
                f"{box.table} is not there, or we may not see it: check [mailbox] table, and grant select, update",
            )
            return
        if missing:
            yield Check(
                "mailbox table", "fail", f"{box.table} has no column {', '.join(missing)}: check the names in [mailbox]"
            )
            return
        id_ = columns[box.id_column.lower()]
        if "int" not in id_[1].lower() or id_[2] != "PRI":
            yield Check(
                "mailbox table", "fail", f"{box.id_column} must be an integer and the primary key: order rests on it"
            )
        else:
            yield Check(
                "mailbox table", "ok", f"{box.table} has our columns; the body is {columns[box.body_column.lower()][1]}"
            )
        yield from _privileges(cursor, box.table, box.id_column, box.flag_column)
        yield _isolation(cursor)
        yield _skew("mailbox clock", now.replace(tzinfo=UTC))


def _isolation(cursor: pymysql.cursors.Cursor) -> Check:
    """Our sessions use READ COMMITTED, which a binary log of statements does not allow for the markers' updates."""
    cursor.execute("set session transaction isolation level read committed")
    cursor.execute("show variables where variable_name in ('log_bin', 'binlog_format')")
    variables = {str(row[0]).lower(): str(row[1]).upper() for row in cursor.fetchall()}
    if variables.get("log_bin") in {"ON", "1"} and variables.get("binlog_format") == "STATEMENT":
        return Check(
            "mailbox isolation", "fail", "binlog_format is STATEMENT: no marker can be written; it must be ROW or MIXED"
        )
    return Check("mailbox isolation", "ok", "READ COMMITTED and autocommit can be set for our sessions")


def _privileges(cursor: pymysql.cursors.Cursor, table: str, id_column: str, flag_column: str) -> Iterator[Check]:
    """Tried on no row at all: the server checks the right before it looks for one."""
    quoted = ".".join(f"`{part}`" for part in table.split("."))
    refused = []
    for what, statement in (
        ("select", f"select `{id_column}` from {quoted} where 1 = 0"),  # noqa: S608  checked identifiers
        ("update", f"update {quoted} set `{flag_column}` = `{flag_column}` where 1 = 0"),  # noqa: S608  checked identifiers
    ):
        try:
            cursor.execute(statement)
        except pymysql.MySQLError as error:
            refused.append(f"{what} ({error.args[-1]})")
    if refused:
        yield Check("mailbox rights", "fail", f"refused: {'; '.join(refused)}. Grant select and update on {table}")
    else:
        yield Check("mailbox rights", "ok", "select and update; insert is needed only for the HTTP entry")


def _kafka(settings: Settings) -> Iterator[Check]:
    try:
        topics = relay.reach(settings.kafka)
    except BrokerUnreachable as error:
        yield Check("kafka", "fail", f"{error}. Is the broker up, and is [kafka] bootstrap right?")
        return
    yield Check("kafka", "ok", f"the broker at {settings.kafka.bootstrap} answers")
    for topic in (settings.kafka.topic_msg, settings.kafka.topic_schd):
        if topic in topics:
            yield Check("kafka topic", "ok", f"{topic} has {topics[topic]} partitions")
        elif settings.kafka.create_topics:
            yield Check("kafka topic", "warn", f"{topic} is missing; `msgx run` creates it if the broker allows that")
        else:
            yield Check("kafka topic", "fail", f"{topic} is missing and [kafka] create_topics is off: have it created")


def _skew(name: str, theirs: datetime) -> Check:
    skew = theirs.timestamp() - time.time()
    verdict: Verdict = "ok" if abs(skew) <= MAX_SKEW else "warn"
    todo = (
        ""
        if verdict == "ok"
        else "; run NTP on both machines (no decision of ours depends on it, what people read does)"
    )
    return Check(name, verdict, f"{skew:+.1f} s against this machine{todo}")

"""Faults of the moment, provoked for real while a message is in its transaction, are never the message's fault.

Each of them leaves the message FAILED(INFRA) with a back-off and its SQLSTATE, or still PENDING where the session
itself was lost; it stays the queue's head, nothing of it has landed, nothing overtakes it, and the next try succeeds
(design section 6, implementation.md 5.1 and 9.1). Nothing is decided by the text of an error: the same faults meet a
server that speaks Chinese. On the mailbox's side a fault changes neither the watermark nor an intent.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, LiteralString
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import namedtuple_row

import demo.servers
from loader import intake
from loader.mailbox import MailboxRow, MailboxUnavailable
from supervisor import database, deploy
from supervisor.backfill import Backfill
from supervisor.config import Database, Mailbox, Settings
from supervisor.duties import Intake, Outcome, Pump, Trouble, Work
from supervisor.errors import DatabaseUnreachable, StaleEpoch

from .supervised import adft, flop, message, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from demo.servers import PostgresServer, TcpProxy

CHINESE = Path("/usr/share/locale/zh_CN/LC_MESSAGES/postgres-15.mo")  # of Debian's package; minimal images leave it out


def plan(seqn: int, *flids: int) -> str:
    """A day plan that names these flights and gives each a gate."""
    flights = "".join(
        f"<FLTR><FLID>{flid}</FLID><FLNO>CA{flid}</FLNO><MVIN>D</MVIN><SODT>10MAR261025</SODT>"
        f'<GTDT GTNO="1"><GATE>G{flid}</GATE></GTDT></FLTR>'
        for flid in flids
    )
    return message(seqn, "SCHD", "DNLD", f"<SCHD><RECS>{len(flids)}</RECS>{flights}</SCHD>")


class Run:
    """One run of the pump's duty in a thread of its own."""

    def __init__(self, duty: Pump, work: Work) -> None:
        self._outcome: Outcome | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(duty, work), daemon=True)
        self._thread.start()

    def _run(self, duty: Pump, work: Work) -> None:
        try:
            self._outcome = duty.run(work)
        except Exception as error:  # noqa: BLE001 - whatever it is, the test asks for it
            self._error = error

    def result(self) -> Outcome:
        """What the run gave, or its error."""
        self._thread.join(30)
        assert not self._thread.is_alive(), "the pump still runs"
        if self._error is not None:
            raise self._error
        assert self._outcome is not None
        return self._outcome


class Fed:
    """What `intake.round` needs of a mailbox, from a list."""

    def __init__(self, bodies: list[str]) -> None:
        self.bodies = bodies

    def read_after(self, watermark: int, limit: int, max_body_bytes: int | None = None) -> list[MailboxRow]:
        found = list(enumerate(self.bodies, 1))[watermark : watermark + limit]
        return [MailboxRow(id_, None, body, len(body)) for id_, body in found if max_body_bytes]


class World:
    """A database that the supervisor's role works on, with a queue, and a person who disturbs it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.app_url = f"{url}?options=-c%20role%3Dmsgx_app"  # with the rights of the supervisor
        self.admin: psycopg.Connection[Any] = self._connect()
        self._bodies: list[str] = []
        self.duty: Pump | None = None
        with self._connect() as connection:
            self.epoch = database.lease_acquire(connection, "test", 3600).epoch

    def _connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.url, autocommit=True, row_factory=namedtuple_row)

    def reconnect(self) -> None:
        """After the server was away."""
        self.admin = self._connect()

    def close(self) -> None:
        self.calm()
        self.admin.close()

    # The queue

    def admit(self, *bodies: str) -> None:
        """These messages arrive and are staged."""
        self._bodies += bodies
        intake.round(Fed(self._bodies), self.admin, self.epoch)  # type: ignore[arg-type]  # all that a round asks of it

    def row(self, msg_id: int) -> Any:
        found = self.rows("select * from inbox.proc_state where msg_id = %s", msg_id)
        return found[0]

    def rows(self, query: LiteralString, *arguments: object) -> list[Any]:
        return self.admin.execute(query, arguments).fetchall()

    def landed(self) -> list[Any]:
        """All that a message can change, as one value."""
        return [
            self.rows(
                "select flid, document from flight.document(array(select flid from flight.flight_schd)) order by 1"
            ),
            self.rows("select * from flight.flid_version order by 1"),
            self.rows("select event_id, target, flid, state_version, state from outbox.msg_event order by 1, 2"),
            self.rows("select operation_day, flid from ledger.schd_gen_flid order by 1, 2"),
            self.rows("select flid, state_version from flight.flight_schd order by 1"),
        ]

    # The pump

    def disturb(self, **parameters: str) -> None:
        """Parameters that sessions start with from now on."""
        for name, value in parameters.items():
            self.admin.execute(
                sql.SQL("alter database {} set {} to {}").format(self._name, sql.Identifier(name), sql.Literal(value))
            )

    def calm(self) -> None:
        """No more of that, and a new session."""
        self.admin.execute(sql.SQL("alter database {} reset all").format(self._name))
        if self.duty is not None:
            self.duty.close()
        self.duty = None

    @property
    def _name(self) -> sql.Identifier:
        return sql.Identifier(self.admin.info.dbname)

    def start(self, url: str | None = None, **limits: float) -> Run:
        """The pump's duty, in the background; ``limits`` are those of ``[database]``."""
        if self.duty is None:
            self.duty = Pump(Settings(database=Database(url=url or self.app_url, **limits)))
        return Run(self.duty, self.work())

    def work(self) -> Work:
        return Work(self.epoch, threading.Event(), lambda: True, lambda *_names: None, 30.0)

    def pump(self, **limits: float) -> Outcome:
        return self.start(**limits).result()

    @property
    def pid(self) -> int:
        """Of the pump's session, which is opened if need be."""
        assert self.duty is not None
        return self.duty.session.connection.info.backend_pid

    @contextlib.contextmanager
    def somebody(self) -> Iterator[psycopg.Connection[Any]]:
        """Another session, in a transaction."""
        with contextlib.closing(psycopg.connect(self.url)) as connection:
            yield connection

    @contextlib.contextmanager
    def blocked(self, run: Callable[[], Run]) -> Iterator[tuple[Run, psycopg.Connection[Any]]]:
        """A run that is in the middle of the plan: it has written flight 1 and waits for flight 2."""
        with self.somebody() as holder:
            holder.execute("select from flight.flight_schd where flid = 2 for update")
            running = run()
            until(
                lambda: bool(
                    self.rows(
                        "select from pg_stat_activity where application_name like 'msgx pump%%'"
                        " and %s = any (pg_blocking_pids(pid))",
                        holder.info.backend_pid,
                    )
                ),
                20,
                "waiting for the flight",
            )
            yield running, holder


def prepare(world: World) -> list[Any]:
    """Flights 1 and 2; then a plan for both, which the fault will meet, and a FLOP behind it."""
    world.admit(adft(1, 1), adft(2, 2))
    assert world.pump().detail == "IDLE"
    before = world.landed()
    world.admit(plan(3, 1, 2), flop(4, 1))
    world.calm()
    return before


def check_waiting(world: World, before: list[Any], sqlstate: str | None, attempts: int = 1) -> None:
    """The plan is untouched and first in the queue; None = its session was lost, so nobody counted a try."""
    head = world.row(3)
    if sqlstate is None:
        assert (head.state, head.error_class, head.attempts) == ("PENDING", None, 0)
    else:
        assert (head.state, head.error_class, head.error_sqlstate) == ("FAILED", "INFRA", sqlstate), head.last_error
        assert head.attempts == attempts
        assert head.next_attempt_at > head.updated_at
        assert head.last_error
    assert (world.row(4).state, world.row(4).attempts) == ("PENDING", 0)
    assert world.landed() == before
    assert [one.msg_id for one in world.rows("select msg_id from inbox.stage_message order by 1")] == [3, 4]
    assert world.rows("select finished_through < 3 as behind from inbox.queue_head")[0].behind


def check_heals(world: World) -> None:
    """The next try succeeds, then what waited behind it; each flight has moved once for each message."""
    world.calm()
    if world.row(3).state == "FAILED":
        assert world.pump().detail == "HEAD_BACKOFF"
        world.admin.execute("update inbox.proc_state set next_attempt_at = core.now() where msg_id = 3")
    assert world.pump().detail == "IDLE"
    assert [row.state for row in world.rows("select state from inbox.proc_state order by msg_id")] == ["SUCCEEDED"] * 4
    assert [tuple(row) for row in world.rows("select flid, state_version from flight.flight_schd order by 1")] == [
        (1, 3),
        (2, 2),
    ]
    assert [
        tuple(row)
        for row in world.rows(
            "select message_id, flid, state_version from outbox.msg_event where target = 'KAFKA:msg' order by event_id"
        )
    ] == [(1, 1, 1), (2, 2, 1), (3, 1, 2), (3, 2, 2), (4, 1, 3)]


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    with contextlib.closing(World(database_url)) as made:
        yield made


# In the database ---------------------------------------------------------------------------------------------------


def deadlock(world: World) -> str:
    """Somebody wants the plan's flights the other way round; our session is the one that notices."""
    world.disturb(deadlock_timeout="500ms")
    with world.blocked(world.start) as (run, other):
        other.execute("set deadlock_timeout = '1min'")
        other.execute("select from flight.flight_schd where flid = 1 for update")  # granted when the pump gave way
        assert run.result().detail == "HEAD_BACKOFF"
    return "40P01"


def lock_timeout(world: World) -> str:
    with world.blocked(lambda: world.start(lock_timeout=0.4)) as (run, _):
        assert run.result().detail == "HEAD_BACKOFF"
    return "55P03"


def statement_timeout(world: World) -> str:
    with world.blocked(lambda: world.start(statement_timeout=0.4)) as (run, _):
        assert run.result().detail == "HEAD_BACKOFF"
    return "57014"


def cancelled(world: World) -> str:
    with world.blocked(world.start) as (run, _):
        world.admin.execute("select pg_cancel_backend(%s)", [world.pid])
        assert run.result().detail == "HEAD_BACKOFF"
    return "57014"


def serialization(world: World) -> str:
    """An installation whose default is REPEATABLE READ: another's commit comes in between."""
    world.disturb(default_transaction_isolation="repeatable read")
    with world.blocked(world.start) as (run, other):
        other.execute("update flight.flight_schd set remc = remc where flid = 2")
        other.commit()
        assert run.result().detail == "HEAD_BACKOFF"
    return "40001"


def terminated(world: World) -> None:
    with world.blocked(world.start) as (run, _):
        world.admin.execute("select pg_terminate_backend(%s)", [world.pid])
        with pytest.raises(DatabaseUnreachable):
            run.result()


FAULTS: list[Callable[[World], str | None]] = [
    deadlock,
    lock_timeout,
    statement_timeout,
    cancelled,
    serialization,
    terminated,
]


@pytest.mark.every_pg
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_in_the_middle_of_a_plan(world: World, fault: Callable[[World], str | None]) -> None:
    before = prepare(world)
    check_waiting(world, before, fault(world))
    check_heals(world)


def test_no_room_for_temporary_files(world: World) -> None:
    """53400: the plan needs more of them than the session may have."""
    check_no_room(world, lambda: world.disturb(work_mem="64kB", temp_file_limit="0"), "53400")


def test_a_full_disk(world: World, postgres_server: PostgresServer) -> None:
    """53100: what the session writes to its temporary files meets a device that is full."""
    folder = postgres_server.data / "base" / "base" / "pgsql_tmp"
    made: list[Path] = []

    def fill() -> None:
        world.disturb(work_mem="64kB")
        world.duty = Pump(Settings(database=Database(url=world.app_url)))
        folder.mkdir(exist_ok=True)
        owner = folder.parent.stat()
        os.chown(folder, owner.st_uid, owner.st_gid)  # the server may run under another account
        made.extend(folder / f"pgsql_tmp{world.pid}.{number}" for number in range(1000))
        for path in made:
            path.symlink_to("/dev/full")

    try:
        check_no_room(world, fill, "53100")
    finally:
        for path in made:
            path.unlink(missing_ok=True)


def check_no_room(world: World, fill: Callable[[], None], sqlstate: str) -> None:
    flids = range(1, 401)
    world.admit(plan(1, *flids), flop(2, 1))
    fill()
    assert world.pump().detail == "HEAD_BACKOFF"
    head = world.row(1)
    assert (head.state, head.error_class, head.error_sqlstate, head.attempts) == ("FAILED", "INFRA", sqlstate, 1)
    assert world.rows("select from flight.flight_schd") == world.rows("select from outbox.msg_event") == []
    world.calm()
    world.admin.execute("update inbox.proc_state set next_attempt_at = core.now() where msg_id = 1")
    assert world.pump().detail == "IDLE"
    assert [row.state for row in world.rows("select state from inbox.proc_state")] == ["SUCCEEDED"] * 2
    assert world.rows("select count(*) from flight.flight_schd")[0].count == len(flids)


def test_the_server_goes_down_at_once(make_postgres: Callable[..., PostgresServer]) -> None:
    """An immediate shutdown in the middle of the plan, and recovery from the log."""
    server = make_postgres()
    deploy.apply(server.url)
    world = World(server.url)
    before = prepare(world)
    with world.blocked(world.start) as (run, _):
        os.kill(server.pid, signal.SIGQUIT)
        with pytest.raises(DatabaseUnreachable):
            run.result()
        until(lambda: not server.running, 20, "the shutdown")
    with pytest.raises(DatabaseUnreachable):
        world.pump()
    server.start()
    world.reconnect()
    check_waiting(world, before, None)
    check_heals(world)
    world.close()


def test_a_line_that_breaks_under_the_answer(world: World, tcp_proxy: Callable[[int], TcpProxy]) -> None:
    """The server goes on and commits; we never hear of it, and do not do it again."""
    port = int(urlsplit(world.url).port or 0)
    prepare(world)
    proxy = tcp_proxy(port)
    with world.blocked(lambda: world.start(world.app_url.replace(f":{port}/", f":{proxy.port}/"))) as (run, holder):
        proxy.cut()
        with pytest.raises(DatabaseUnreachable):
            run.result()
        holder.rollback()
    until(lambda: world.row(3).state != "PENDING", 20, "the rest of the call")
    check_heals(world)


def test_a_message_whose_own_row_is_locked_waits_unharmed(world: World) -> None:
    """Nothing can be written about it, not even a try; the run fails, and what came before it is done next time."""
    before = prepare(world)
    with world.somebody() as holder:
        holder.execute("select from inbox.proc_state where msg_id = 3 for update")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            world.pump(lock_timeout=0.2)
    check_waiting(world, before, None)
    check_heals(world)


def test_a_fault_that_stays_is_counted_and_ends_after_its_ladder_only(world: World) -> None:
    """Pitfall 11: a time-out that hits every try must neither kill the message early nor hold the queue for ever."""
    before = prepare(world)
    tries = world.rows("select pipeline_attempts_infra as n from core.setting")[0].n
    with world.somebody() as holder:
        holder.execute("select from flight.flight_schd where flid = 2 for update")
        for number in range(1, tries + 1):
            world.pump(statement_timeout=0.1)
            if number < tries:
                check_waiting(world, before, "57014", number)
                world.admin.execute("update inbox.proc_state set next_attempt_at = core.now() where msg_id = 3")
    world.calm()
    assert world.pump().detail == "IDLE"
    head = world.row(3)
    assert (head.state, head.error_class, head.error_sqlstate, head.attempts) == ("DEAD", "EXHAUSTED", "57014", tries)
    assert head.last_error
    assert head.backfill_next_at is not None
    assert world.row(4).state == "SUCCEEDED"
    assert world.rows("select state_version from flight.flight_schd where flid = 2")[0].state_version == 1
    world.admin.execute("select inbox.replay(p_ids => '{3}', p_dry_run => false)")
    world.calm()
    assert world.pump().detail == "HEAD_UNSTAGED"  # its body is fetched anew


def test_a_bug_before_the_rules_are_reached_is_counted_too(world: World) -> None:
    """Whatever fails for one message is its own failed try; an error that nobody counts holds the queue for ever."""
    before = prepare(world)
    world.admin.execute(
        "create function public.bug() returns trigger language plpgsql as $$ begin raise exception 'a bug'; end $$;"
        "create trigger bug before update of identity_key on inbox.proc_state for each row"
        " when (new.msg_id = 3 and new.identity_key is not null) execute function public.bug()"
    )
    assert world.pump().detail == "HEAD_BACKOFF"
    check_waiting(world, before, "P0001")
    world.admin.execute("drop trigger bug on inbox.proc_state")
    check_heals(world)
    assert world.row(3).identity_key == "AODB|SCHD|DNLD|3"


def test_a_failed_message_keeps_its_identity(world: World) -> None:
    """It is bound before the rules are tried, once: a resend is told apart also from one that never succeeded."""
    world.admit(message(1, "FLOP", "GTDT", "<FLOP><FLID>1</FLID><GTDT GTNO='0'/></FLOP>"), plan(2, 1, 2), plan(2, 1, 2))
    world.admin.execute("alter table flight.flight_schd add constraint only_for_this_test check (flid <> 2)")
    world.pump()
    assert (world.row(1).state, world.row(1).identity_key) == ("DEAD", "AODB|FLOP|GTDT|1")
    assert (world.row(2).state, world.row(2).identity_key) == ("FAILED", "AODB|SCHD|DNLD|2")
    assert (world.row(2).type, world.row(2).digest is not None) == ("SCHD", True)
    world.admin.execute("update inbox.proc_state set attempts = 6 where msg_id = 2")
    world.pump()
    assert [row.state for row in world.rows("select state from inbox.proc_state order by msg_id")] == [
        "DEAD",
        "DEAD",
        "SKIPPED",
    ]
    assert world.row(3).last_error == "duplicate-of:2"


def test_a_fault_while_messages_are_taken_in(world: World) -> None:
    """The cursor is locked, or the session ends: nothing is admitted, nothing is staged, the next round takes all."""
    world.admit(adft(1, 1))
    fed: Any = Fed([adft(1, 1), adft(2, 2), adft(3, 3)])
    with psycopg.connect(world.app_url, autocommit=True, prepare_threshold=None) as connection:
        connection.execute("set lock_timeout = '200ms'")
        with world.somebody() as holder:
            holder.execute("select from inbox.inbox_cursor for update")
            with pytest.raises(psycopg.errors.LockNotAvailable):
                intake.round(fed, connection, world.epoch)
        assert world.rows("select watermark from inbox.inbox_cursor")[0].watermark == 1
        assert intake.round(fed, connection, world.epoch).admitted == (2, 3)
    assert world.pump().detail == "IDLE"
    assert [row.state for row in world.rows("select state from inbox.proc_state")] == ["SUCCEEDED"] * 3


# A server that speaks another language -----------------------------------------------------------------------------


def test_localized_messages_change_nothing(machines: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pitfall 39: classes and exceptions go by SQLSTATE. (Where Debian's translations are left out, it is English.)"""
    plain = demo.servers._environment
    monkeypatch.setattr(demo.servers, "_environment", lambda: plain() | {"LANGUAGE": "zh_CN"})
    folder = machines.folder / f"own-postgres-{machines.number()}"
    server: PostgresServer = machines.new_postgres(15, folder, settings={"lc_messages": "C.UTF-8"})
    with server:
        deploy.apply(server.url)
        for number, fault in enumerate(FAULTS):
            url = server.url_for(f"copy{number}")
            with psycopg.connect(server.url_for("postgres"), autocommit=True) as connection:
                connection.execute(sql.SQL("create database {} template msgx").format(sql.Identifier(f"copy{number}")))
            with contextlib.closing(World(url)) as world:
                before = prepare(world)
                check_waiting(world, before, fault(world))
                if CHINESE.exists() and world.row(3).last_error:
                    assert not world.row(3).last_error.isascii()
                check_heals(world)
        with contextlib.closing(World(url)) as world:
            world.admit(plan(1, 7, 7))
            # ours are told apart as ever
            with pytest.raises(StaleEpoch), contextlib.closing(world._connect()) as connection:
                database.pump(connection, world.epoch - 1, 10, 1000)
        with pytest.raises(DatabaseUnreachable):
            database.connect(Database(url=server.url_for("nowhere")), "test")


# The mailbox -------------------------------------------------------------------------------------------------------


class Post:
    """A mailbox with messages, the duties that read and mark it, and a session that disturbs them."""

    def __init__(self, world: World, mailbox_url: str) -> None:
        from .test_intake_mariadb import mysql

        self.world = world
        self.mailbox_url = mailbox_url
        self.mysql = mysql(mailbox_url)
        self.settings = Settings(
            database=Database(url=world.app_url),
            mailbox=Mailbox(url=mailbox_url, read_timeout=1, write_timeout=1, connect_timeout=2, lock_wait=1),
        )
        self.intake = Intake(self.settings)
        self.backfill = Backfill(self.settings)

    def close(self) -> None:
        self.intake.close()
        self.backfill.close()
        self.mysql.close()

    def __call__(self, statement: str) -> tuple[tuple[Any, ...], ...]:
        with self.mysql.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall()

    def send(self, *bodies: str) -> None:
        with self.mysql.cursor() as cursor:
            cursor.executemany("insert into CMINMSGS (MSG_XML) values (%s)", [(body,) for body in bodies])

    def flags(self) -> list[str | None]:
        return [flag for (flag,) in self("select PROC_FLAG from CMINMSGS order by CMINMSGS_ID")]

    def kill_others(self) -> None:
        for (session,) in self(
            "select id from information_schema.processlist where id <> connection_id() and db = database()"
        ):
            self(f"kill {session}")


@pytest.fixture
def post(world: World, mailbox_url: str) -> Iterator[Post]:
    with contextlib.closing(Post(world, mailbox_url)) as made:
        yield made


@contextlib.contextmanager
def table_locked(post: Post) -> Iterator[None]:
    post("lock tables CMINMSGS write")
    try:
        yield
    finally:
        post("unlock tables")


@contextlib.contextmanager
def table_locked_and_the_server_gives_up(post: Post) -> Iterator[None]:
    """1205: the server's own limit for such a wait is shorter than ours."""
    post("set global lock_wait_timeout = 1")
    try:
        post.intake.mailbox.config = Settings(
            mailbox=Mailbox(url=post.mailbox_url, read_timeout=10)
        ).mailbox.for_loader(1_000_000)
        post.intake.mailbox.close()
        with table_locked(post):
            yield
    finally:
        post("set global lock_wait_timeout = default")


@contextlib.contextmanager
def session_killed(post: Post) -> Iterator[None]:
    post.kill_others()
    yield


@pytest.mark.parametrize(
    ("fault", "codes"),
    [(table_locked, {2013}), (table_locked_and_the_server_gives_up, {1205}), (session_killed, {2006, 2013})],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_fault_of_the_mailbox_while_reading(
    post: Post, world: World, fault: Callable[[Post], contextlib.AbstractContextManager[None]], codes: set[int]
) -> None:
    """Nothing is read, so nothing changes: not the watermark, not the time of the last reading; the pump goes on."""
    post.send(adft(1, 1))
    assert post.intake.run(world.work()).done == 1
    post.send(adft(2, 2))
    read_at = world.rows("select read_at from inbox.inbox_cursor")
    with fault(post):
        with pytest.raises(MailboxUnavailable) as caught:
            post.intake.run(world.work())
        assert caught.value.code in codes
        assert world.rows("select read_at from inbox.inbox_cursor") == read_at
        assert world.rows("select watermark from inbox.inbox_cursor")[0].watermark == 1
        assert world.pump().detail == "IDLE"
    assert post.intake.run(world.work()).done == 1
    assert world.pump().detail == "IDLE"
    assert [row.state for row in world.rows("select state from inbox.proc_state")] == ["SUCCEEDED"] * 2


@pytest.mark.parametrize("code", [1205, 1213, 2006, 2013])
def test_any_code_while_reading_is_an_outage(
    post: Post, world: World, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """Also those that a plain read does not meet on this server: a driver may file them under another exception."""
    import pymysql

    post.send(adft(1, 1))

    def refuse(*_: object) -> int:
        raise pymysql.err.InternalError(code, "any words")

    with monkeypatch.context() as patch:
        patch.setattr(pymysql.cursors.Cursor, "execute", refuse)
        with pytest.raises(MailboxUnavailable) as caught:
            post.intake.run(world.work())
    assert caught.value.code == code
    assert post.intake.run(world.work()).done == 1


def worked_off(post: Post, count: int) -> None:
    post.send(*[adft(n, n) for n in range(1, count + 1)])
    post.intake.run(post.world.work())
    assert post.world.pump().detail == "IDLE"


def owed(world: World) -> int:
    return int(
        world.rows(
            "select count(*) from inbox.proc_state where backfill_at is null and backfill_abandoned_at is null"
            " and backfill_next_at is not null"
        )[0].count
    )


def due(world: World) -> None:
    world.admin.execute("update inbox.proc_state set backfill_next_at = core.now() where backfill_at is null")


def test_a_deadlock_while_marking(post: Post, world: World, mailbox_url: str) -> None:
    """1213: the owner of the mailbox locks the rows the other way round and has done more, so ours is the victim."""
    from .test_intake_mariadb import mysql

    worked_off(post, 60)
    with contextlib.closing(mysql(mailbox_url, autocommit=False)) as owner, owner.cursor() as cursor:
        cursor.execute("update CMINMSGS set RECEIVED_AT = '2026-03-10' where CMINMSGS_ID > 2")

        def mark() -> None:
            with contextlib.suppress(Trouble):
                post.backfill.run(world.work())

        run = threading.Thread(target=mark, daemon=True)
        codes: list[int | None] = []
        real = post.backfill.mailbox._run

        def watched(what: str, action: Any) -> Any:
            try:
                return real(what, action)
            except MailboxUnavailable as error:
                codes.append(error.code)
                raise

        post.backfill.mailbox._run = watched  # type: ignore[method-assign]  # to see its errors
        run.start()
        while not post("select 1 from information_schema.innodb_trx where trx_state = 'LOCK WAIT'"):
            time.sleep(0.15)  # InnoDB does not renew this view while it is read more often than every 0.1 s
        cursor.execute("update CMINMSGS set RECEIVED_AT = '2026-03-10' where CMINMSGS_ID = 1")
        owner.commit()
        run.join(20)
    assert codes[0] == 1213
    due(world)
    post.backfill.run(world.work())
    assert post.flags() == ["OK"] * 60
    assert owed(world) == 0
    assert {row.state for row in world.rows("select state from inbox.proc_state")} == {"SUCCEEDED"}


def test_a_lost_session_while_marking(post: Post, world: World) -> None:
    """2006 and 2013: the marks stay owed, their failure is counted and said, and the next try is as any first one."""
    worked_off(post, 3)
    post.backfill.mailbox.bounds()
    post.kill_others()
    with pytest.raises(Trouble, match="3 marks were not written"):
        post.backfill.run(world.work())
    assert post.flags() == [None] * 3
    assert owed(world) == 3
    assert [row.backfill_attempts for row in world.rows("select backfill_attempts from inbox.proc_state")] == [1] * 3
    due(world)
    assert post.backfill.run(world.work()).done == 3
    assert post.flags() == ["OK"] * 3


def test_a_locked_table_while_marking(post: Post, world: World) -> None:
    worked_off(post, 3)
    with table_locked(post):
        started = time.monotonic()
        with pytest.raises(Trouble, match="3 marks were not written"):
            post.backfill.run(world.work())
        assert time.monotonic() - started < 5
    assert owed(world) == 3
    due(world)
    assert post.backfill.run(world.work()).done == 3
    assert post.flags() == ["OK"] * 3

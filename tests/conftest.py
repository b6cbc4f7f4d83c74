"""Private servers for the tests, and the fixtures that hand them out.

Each pytest process (with ``-n``, each worker) starts what its tests ask for, once: a PostgreSQL 18 and 15, a mailbox,
a broker, in one temporary folder that goes in the end, also after ``kill -9`` (see ``demo/servers.py``). Free ports, as
root or not. The schema is deployed into a template database once and cloned for each test, which takes 10 to 40 ms.

pytest-postgresql makes the template databases and the clones. The servers are ours: its own are left running when
pytest is killed, want a start script where root runs them, and the demo has to start all three kinds anyway.

``--pg 15`` or ``--pg 18`` (or ``MSGX_TEST_PG=15,18``) chooses versions. Tests below ``tests/sql`` and those marked
``every_pg`` run on each chosen version, all others on the newest.

Whoever breaks a server asks for one of their own: ``make_postgres``, ``make_mailbox``, ``make_broker``, ``tcp_proxy``.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import psycopg
import pymysql
import pymysql.constants.CLIENT
import pytest
from pytest_postgresql.janitor import DatabaseJanitor

from demo.servers import (
    KafkaBroker,
    MariaDBServer,
    NoidaMySQLServer,
    PostgresServer,
    ServerError,
    TcpProxy,
    find_postgres_15,
    find_postgres_18,
    mailbox_server,
    temporary_folder,
)
from supervisor import deploy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VERSIONS = (15, 18)
PGTAP_HOME = Path("/usr/share/postgresql/15")  # Debian's package; pgTAP is SQL only, and 18 reads the same files
ROOT = Path(__file__).resolve().parent.parent

# A loaded machine is slow, not wrong.
hypothesis.settings.register_profile("msgx", deadline=None)
hypothesis.settings.load_profile("msgx")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--pg", action="append", type=int, choices=VERSIONS, help="PostgreSQL version; may be repeated; default: all"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "every_pg: runs on each chosen PostgreSQL version, not on the newest only")
    chosen = config.getoption("--pg") or [int(v) for v in os.environ.get("MSGX_TEST_PG", "").split(",") if v]
    config.pluginmanager.register(Machines(tuple(sorted(set(chosen))) or VERSIONS), "msgx-machines")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "pg_version" not in metafunc.fixturenames:
        return
    below_sql = (ROOT / "tests" / "sql") in metafunc.definition.path.parents
    if below_sql or metafunc.definition.get_closest_marker("every_pg"):
        versions = _machines(metafunc.config).versions
        metafunc.parametrize("pg_version", versions, ids=[f"pg{version}" for version in versions], scope="session")


class Machines:
    """The servers of this process, started when first asked for; a pytest plugin, so that it hears of the end."""

    def __init__(self, versions: tuple[int, ...]) -> None:
        self.versions = versions
        self._open = contextlib.ExitStack()
        self._folder: Path | None = None
        self._postgres: dict[int, PostgresServer] = {}
        self._templates: dict[tuple[int, str], str | Exception] = {}
        self._mailbox: MariaDBServer | NoidaMySQLServer | None = None
        self._broker: KafkaBroker | None = None
        self._numbers = itertools.count(1)

    def pytest_unconfigure(self) -> None:
        """Stop and remove everything."""
        self._open.close()

    @property
    def folder(self) -> Path:
        """The one temporary folder."""
        if self._folder is None:
            self._folder = self._open.enter_context(temporary_folder("msgx-tests-"))
        return self._folder

    def number(self) -> int:
        """A number nobody else in this process has."""
        return next(self._numbers)

    def new_postgres(self, version: int, folder: Path, **more: Any) -> PostgresServer:
        """A server that is not started yet, with what pgTAP needs and without passwords."""
        settings = {"max_connections": "100", "shared_buffers": "64MB", "jit": "off"} | more.pop("settings", {})
        if version >= 18:
            settings["extension_control_path"] = f"$system:{PGTAP_HOME}"
        programs = find_postgres_18() if version == 18 else find_postgres_15()
        return PostgresServer(folder, programs, **({"fsync": False, "trust": True} | more), settings=settings)

    def postgres(self, version: int) -> PostgresServer:
        """The shared server of this version."""
        if version not in self._postgres:
            server = self.new_postgres(
                version, self.folder / f"postgres-{version}", settings={"full_page_writes": "off"}
            )
            self._postgres[version] = self._open.enter_context(server)
        return self._postgres[version]

    @contextlib.contextmanager
    def database(self, version: int, template: str = "deployed") -> Iterator[str]:
        """URL of a new database, dropped at the end. Templates: ``empty``, ``deployed``, ``tap`` (deployed, pgTAP)."""
        server = self.postgres(version)
        name = f"t{self.number()}"
        with self._janitor(server, name, self._template(version, template)):
            yield server.url_for(name)

    @staticmethod
    def _janitor(server: PostgresServer, name: str, template: str) -> DatabaseJanitor:
        return DatabaseJanitor(
            user="postgres", host="127.0.0.1", port=server.port, dbname=name, template_dbname=template
        )

    def _template(self, version: int, template: str) -> str:
        if template == "empty":
            return "template1"
        if (version, template) not in self._templates:
            try:
                self._templates[version, template] = self._make_template(version, template)
            except (deploy.DeployError, ServerError, psycopg.Error) as error:
                self._templates[version, template] = error  # the next test need not wait to fail the same way
        made = self._templates[version, template]
        if isinstance(made, Exception):
            raise made
        return made

    def _make_template(self, version: int, template: str) -> str:
        server = self.postgres(version)
        base = "template1" if template == "deployed" else self._template(version, "deployed")
        self._janitor(server, template, base).init()
        if template == "deployed":
            deploy.apply(server.url_for(template))
            return template
        if not (PGTAP_HOME / "extension" / "pgtap.control").is_file():
            raise ServerError("pgTAP was not found. Install it: apt-get install postgresql-15-pgtap.")
        with psycopg.connect(server.url_for(template), autocommit=True) as connection:
            connection.execute("create extension pgtap")
        return template

    @contextlib.contextmanager
    def mailbox(self) -> Iterator[str]:
        """URL of a new mailbox database with the reference tables, dropped at the end."""
        if self._mailbox is None:
            self._mailbox = mailbox_server(self.folder / "mailbox", fsync=False)
            self._open.enter_context(self._mailbox)
        server = self._mailbox
        name = f"mailbox{self.number()}"
        create_mailbox(server, name)
        try:
            yield server.url_for(name)
        finally:
            with mysql_connection(server) as connection, connection.cursor() as cursor:
                cursor.execute(f"drop database `{name}`")

    def broker(self) -> KafkaBroker:
        """The shared broker."""
        if self._broker is None:
            self._broker = self._open.enter_context(KafkaBroker(self.folder / "kafka"))
        return self._broker


def _machines(config: pytest.Config) -> Machines:
    plugin = config.pluginmanager.get_plugin("msgx-machines")
    assert isinstance(plugin, Machines)
    return plugin


@contextlib.contextmanager
def mysql_connection(
    server: MariaDBServer | NoidaMySQLServer, database: str | None = None
) -> Iterator[pymysql.connections.Connection[Any]]:
    """A connection as root; several statements may go in one call."""
    with pymysql.connect(
        host="127.0.0.1",
        port=server.port,
        user="root",
        password=server.password,
        database=database,
        autocommit=True,
        connect_timeout=10,
        read_timeout=60,
        write_timeout=60,
        client_flag=pymysql.constants.CLIENT.MULTI_STATEMENTS,
    ) as connection:
        yield connection


def create_mailbox(server: MariaDBServer | NoidaMySQLServer, name: str) -> None:
    """Make a database with the tables of ``db/mailbox``."""
    with mysql_connection(server) as connection, connection.cursor() as cursor:
        cursor.execute(f"create database `{name}` character set utf8mb4")
        cursor.execute(f"use `{name}`")
        for path in sorted((ROOT / "db" / "mailbox").glob("*.sql")):
            cursor.execute(path.read_text(encoding="utf-8"))
            while cursor.nextset():
                pass


@pytest.fixture(scope="session")
def machines(pytestconfig: pytest.Config) -> Machines:
    """The servers of this process."""
    return _machines(pytestconfig)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for servers of one's own. Not ``tmp_path``: where another account runs them, it must be able to pass."""
    with temporary_folder("msgx-test-") as path:
        yield path


@pytest.fixture(scope="session")
def pg_version(machines: Machines) -> int:
    """The PostgreSQL version this test runs on; see ``--pg`` and the marker ``every_pg``."""
    return machines.versions[-1]


@pytest.fixture
def postgres_server(machines: Machines, pg_version: int) -> PostgresServer:
    """The shared server; its databases may come and go, it must not be stopped."""
    return machines.postgres(pg_version)


@pytest.fixture
def database_url(machines: Machines, pg_version: int) -> Iterator[str]:
    """A fresh database with this release deployed, as superuser (no passwords: any role may log in)."""
    with machines.database(pg_version) as url:
        yield url


@pytest.fixture
def empty_database_url(machines: Machines, pg_version: int) -> Iterator[str]:
    """A fresh database with nothing in it."""
    with machines.database(pg_version, "empty") as url:
        yield url


@pytest.fixture
def pg(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    """An autocommit connection to ``database_url``."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def mailbox_url(machines: Machines) -> Iterator[str]:
    """``mysql://…`` of a fresh mailbox with the reference tables."""
    with machines.mailbox() as url:
        yield url


@pytest.fixture
def bootstrap(machines: Machines) -> str:
    """``host:port`` of the shared broker; tests use topics of their own (see ``topic``)."""
    return machines.broker().bootstrap


@pytest.fixture
def topic(machines: Machines) -> Callable[[str], str]:
    """Makes a topic name that no other test has: ``topic("msg")``."""
    return lambda name: f"test.{os.getpid()}.{machines.number()}.{name}"


@pytest.fixture
def make_postgres(machines: Machines, pg_version: int) -> Iterator[Callable[..., PostgresServer]]:
    """Starts a PostgreSQL of the test's own: ``make_postgres(fsync=True, settings={…}, version=15)``."""
    with contextlib.ExitStack() as stack:

        def make(*, version: int = pg_version, **more: Any) -> PostgresServer:
            folder = machines.folder / f"own-postgres-{machines.number()}"
            return stack.enter_context(machines.new_postgres(version, folder, **more))

        yield make


@pytest.fixture
def make_mailbox(machines: Machines) -> Iterator[Callable[..., MariaDBServer]]:
    """Starts a MariaDB of the test's own, with the reference tables in its database ``mailbox``."""
    with contextlib.ExitStack() as stack:

        def make(**more: Any) -> MariaDBServer:
            folder = machines.folder / f"own-mailbox-{machines.number()}"
            options: dict[str, Any] = {"fsync": False, "database": "first", **more}
            server = stack.enter_context(MariaDBServer(folder, **options))
            create_mailbox(server, "mailbox")
            server.database = "mailbox"
            return server

        yield make


@pytest.fixture
def make_broker(machines: Machines) -> Iterator[Callable[..., KafkaBroker]]:
    """Starts a broker of the test's own."""
    with contextlib.ExitStack() as stack:
        yield lambda **more: stack.enter_context(
            KafkaBroker(machines.folder / f"own-kafka-{machines.number()}", **more)
        )


@pytest.fixture
def tcp_proxy() -> Iterator[Callable[[int], TcpProxy]]:
    """Puts a proxy in front of a port: ``tcp_proxy(server.port)``."""
    with contextlib.ExitStack() as stack:
        yield lambda port: stack.enter_context(TcpProxy(port))

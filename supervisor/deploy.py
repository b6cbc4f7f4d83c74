"""Bring a database to this release, and tell whether it is there.

A release is two things: the numbered migrations of ``db/migrations``, which yoyo runs once each, and the routines of
``db/routines/<schema>/<name>.sql`` (one file, one function, procedure or view), whose *text* is brought up to date as a
whole. What is deployed is recorded in ``core.migration_digest`` and ``core.routine``; yoyo itself remembers only names.

How routines are loaded (:func:`load_routines`), one rule each:

* All of them in one transaction, under the PIPELINE row, so between two batches of the pump, as ``msgx_owner``.
* Functions and procedures first, then views, each by name. PL/pgSQL binds late and ``check_function_bodies`` is off, so
  most need no order; a file that misses another object waits for the next pass. In the end all bodies are checked.
* A changed object begins as bare as a new one (no grant, comment or trigger of the text before), so that an upgrade
  ends where a fresh installation does. A trigger belongs to the file of its function.
* Where PostgreSQL cannot replace in place (other result type, other columns), the object is dropped and made anew.
* A signature that the new text no longer makes is dropped if the new one answers the same calls (it only added
  parameters with defaults; two would be ambiguous). Otherwise the running release may call it, so it stays until
  ``apply(prune=True)``. The same holds for an object that no file makes any more.

Everything here returns data or raises :class:`DeployError`; nothing prints.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.resources
import os
import re
import socket
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, LiteralString, cast

import psycopg
from psycopg import errors, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from yoyo import exceptions as yoyo_exceptions
from yoyo import read_migrations
from yoyo.backends.core.postgresql import PostgresqlPsycopgBackend
from yoyo.connections import DatabaseURI

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Connection = psycopg.Connection[Any]

OWNER = "msgx_owner"
ROLES = (OWNER, "msgx_app", "msgx_operator", "msgx_reader")
SCHEMAS = ("core", "inbox", "flight", "ledger", "outbox", "request", "refdata", "history", "pipeline")
OLDEST_SERVER = 15
CONNECT_TIMEOUT = 10  # seconds
LOCK_TIMEOUT = 10.0  # seconds to wait for the pump's batch, or for a table that a trigger or view is made on
YOYO_LOCK_TIMEOUT = 10  # seconds to wait for another deployment
MAX_ROUNDS = 5

# SQLSTATEs of "an object that this one needs is not there": undefined table, function, object (a view's row type).
_MISSING = (errors.UndefinedTable, errors.UndefinedFunction, errors.UndefinedObject)
# … and of "create or replace cannot do this in place".
_IRREPLACEABLE = (errors.InvalidFunctionDefinition, errors.InvalidTableDefinition, errors.WrongObjectType)


class DeployError(RuntimeError):
    """The database was not brought to this release; the message says why and what to do."""


FindingKind = Literal[
    "PENDING",  # this release has it, the database does not: apply
    "EDITED",  # an applied migration's file reads differently now
    "OUTDATED",  # another text of this routine is deployed: apply
    "DRIFTED",  # somebody changed the live definition by hand: apply
    "MISSING",  # recorded, but gone from the database: apply
    "UNKNOWN",  # the database has it, this release does not
    "OWNER",  # not owned by msgx_owner
    "LOCK",  # yoyo's lock is held
]


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference between a database and this release."""

    kind: FindingKind
    subject: str  #: migration id, or ``schema.name``
    sentence: str  #: what is different and what to do


@dataclass(frozen=True, slots=True)
class Applied:
    """What :func:`apply` did; all empty if there was nothing to do."""

    migrations: tuple[str, ...]
    routines: tuple[str, ...]  #: ``schema.name``, in the order they were loaded
    pruned: tuple[str, ...]  #: what ``prune=True`` dropped

    @property
    def changed(self) -> bool:
        """Whether anything was done."""
        return bool(self.migrations or self.routines or self.pruned)


@dataclass(frozen=True, slots=True)
class RoutineFile:
    """One file of ``db/routines``."""

    schema: str
    name: str
    kind: Literal["function", "procedure", "view"]
    file: str  #: path below ``db/routines``
    text: str
    digest: str  #: sha256 of the text, hexadecimal
    signatures: int  #: how many statements of the file make this name

    @property
    def key(self) -> tuple[str, str]:
        """Schema and name."""
        return self.schema, self.name

    @property
    def qualified(self) -> str:
        """``schema.name``."""
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True, slots=True)
class LockHolder:
    """The row in ``yoyo_lock``: somebody deploys, or was killed while deploying."""

    pid: int
    since: datetime  #: UTC, on that process' clock
    alive_here: bool  #: whether this host has a process of that id; it may have run on another host

    @property
    def sentence(self) -> str:
        """What to do."""
        whose = f"Process {self.pid} has held the deployment lock (table yoyo_lock) since {self.since:%Y-%m-%d %H:%M}Z"
        if self.alive_here:
            return f"{whose} and runs on this host: wait for it, then run this again."
        return (
            f"{whose}, and no such process runs on this host. If nobody deploys from another host either, it was "
            "killed: run `yoyo break-lock --database postgresql+psycopg://…` and then this again."
        )


def release() -> str:
    """The version of the installed msgexchange, or ``unknown`` from a bare source tree."""
    try:
        return importlib.metadata.version("msgexchange")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def database_folder() -> Path:
    """The folder ``db`` of this release, in a source tree or installed."""
    return Path(str(importlib.resources.files("db")))


# Reading the release -----------------------------------------------------------------------------------------------

_CREATE = re.compile(
    r"^\s*create\s+(?:or\s+replace\s+)?(function|procedure|view)\s+(\w+)\.(\w+)", re.IGNORECASE | re.MULTILINE
)


def routine_files(root: Path | None = None) -> tuple[RoutineFile, ...]:
    """All routine files in loading order: functions and procedures, then views, each by name.

    Raises:
        DeployError: a file does not make the object that its path names.
    """
    folder = (root or database_folder()) / "routines"
    found = []
    for path in sorted(folder.glob("*/*.sql")):
        text = path.read_text(encoding="utf-8")
        schema, name = path.parent.name, path.stem
        kinds = [match[1].lower() for match in _CREATE.finditer(text) if (match[2], match[3]) == (schema, name)]
        if not kinds:
            raise DeployError(f"{path} does not create {schema}.{name}: one file makes the one object it is named for.")
        found.append(
            RoutineFile(
                schema,
                name,
                cast("Literal['function', 'procedure', 'view']", kinds[0]),
                path.relative_to(folder).as_posix(),
                text,
                _digest(text),
                len(kinds),
            )
        )
    return tuple(sorted(found, key=lambda one: (one.kind == "view", one.key)))


def _migration_texts(root: Path | None) -> dict[str, str]:
    """Text of each numbered migration by its yoyo id, in order."""
    folder = (root or database_folder()) / "migrations"
    return {
        path.stem: path.read_text(encoding="utf-8")
        for path in sorted(folder.glob("[0-9]*.sql"))
        if not path.name.endswith(".rollback.sql")
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# Reading the database ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Deployed:
    """A row of ``core.routine``."""

    digest: str
    live_digest: str
    release: str


# All that an object is: every signature with its body, owner, grants, comment and triggers. Names print qualified
# because search_path is empty.
_LIVE_SQL: LiteralString = """
select n.nspname, p.proname as name,
       pg_catalog.concat_ws(E'\\n', pg_catalog.pg_get_functiondef(p.oid), pg_catalog.pg_get_userbyid(p.proowner),
         (select pg_catalog.string_agg(a::text, ' ' order by a::text) from pg_catalog.unnest(p.proacl) a),
         pg_catalog.obj_description(p.oid, 'pg_proc'),
         (select pg_catalog.string_agg(pg_catalog.pg_get_triggerdef(t.oid) || t.tgenabled::text, E'\\n' order by t.tgname, t.tgrelid::regclass::text)
            from pg_catalog.pg_trigger t where t.tgfoid = p.oid and not t.tgisinternal and t.tgparentid = 0)) as definition
  from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
 where n.nspname = any (%(schemas)s) and p.prokind in ('f', 'p', 'w')
   and not exists (select from pg_catalog.pg_depend d
                    where d.classid = 'pg_catalog.pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
union all
select n.nspname, c.relname,
       pg_catalog.concat_ws(E'\\n', pg_catalog.pg_get_viewdef(c.oid), pg_catalog.pg_get_userbyid(c.relowner), c.reloptions::text,
         (select pg_catalog.string_agg(a::text, ' ' order by a::text) from pg_catalog.unnest(c.relacl) a),
         (select pg_catalog.string_agg(d.objsubid || d.description, E'\\n' order by d.objsubid)
            from pg_catalog.pg_description d where d.objoid = c.oid and d.classoid = 'pg_catalog.pg_class'::regclass))
  from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
 where n.nspname = any (%(schemas)s) and c.relkind = 'v'
   and not exists (select from pg_catalog.pg_depend d
                    where d.classid = 'pg_catalog.pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
 order by 1, 2, 3
"""  # noqa: E501  a column of the catalogue a line reads best


@dataclass(frozen=True, slots=True)
class _Live:
    """An object as the server shows it."""

    digest: str  #: begins with the server's major version, since the server's spelling of a definition may change
    signatures: int


def _live(connection: Connection) -> dict[tuple[str, str], _Live]:
    definitions: dict[tuple[str, str], list[str]] = {}
    with _empty_search_path(connection):
        for schema, name, definition in connection.execute(_LIVE_SQL, {"schemas": list(SCHEMAS)}):
            definitions.setdefault((schema, name), []).append(definition)
    major = connection.info.server_version // 10000
    return {
        key: _Live(
            f"{major}:{_digest(chr(0).join(rows))}",
            len(rows),
        )
        for key, rows in definitions.items()
    }


@contextlib.contextmanager
def _empty_search_path(connection: Connection) -> Iterator[None]:
    before = connection.execute("select pg_catalog.current_setting('search_path')").fetchone()
    connection.execute("select pg_catalog.set_config('search_path', '', false)")
    try:
        yield
    finally:
        if not connection.closed and connection.info.transaction_status != psycopg.pq.TransactionStatus.INERROR:
            connection.execute(
                "select pg_catalog.set_config('search_path', %s, false)", [before[0] if before else "public"]
            )


def _deployed(connection: Connection) -> dict[tuple[str, str], _Deployed]:
    rows = connection.execute("select schema_name, routine_name, digest, live_digest, release from core.routine")
    return {(schema, name): _Deployed(digest, live, made_by) for schema, name, digest, live, made_by in rows}


def _exists(connection: Connection, relation: str) -> bool:
    row = connection.execute("select pg_catalog.to_regclass(%s)", [relation]).fetchone()
    return row is not None and row[0] is not None


def _applied_migrations(connection: Connection) -> dict[str, datetime]:
    """Migration id to the time yoyo says it was applied (UTC, naive)."""
    if not _exists(connection, "_yoyo_migration"):
        return {}
    rows = connection.execute("select migration_id, applied_at_utc from _yoyo_migration order by applied_at_utc")
    return {str(row[0]): row[1] for row in rows}


def _recorded_digests(connection: Connection) -> dict[str, str]:
    if not _exists(connection, "core.migration_digest"):
        return {}
    return {row[0]: row[1] for row in connection.execute("select migration_id, digest from core.migration_digest")}


def lock_holder(connection: Connection) -> LockHolder | None:
    """Who holds yoyo's lock, if anybody does. yoyo records a process id and a time, no host."""
    if not _exists(connection, "yoyo_lock"):
        return None
    row = connection.execute("select pid, ctime from yoyo_lock").fetchone()
    if row is None:
        return None
    return LockHolder(row[0], row[1], Path(f"/proc/{row[0]}").exists())


def _connect(url: str) -> Connection:
    try:
        given = conninfo_to_dict(url.replace("postgresql+psycopg://", "postgresql://", 1))
        given.setdefault("connect_timeout", CONNECT_TIMEOUT)
        given["application_name"] = f"msgx db ({socket.gethostname()} {os.getpid()})"
        connection = psycopg.connect(make_conninfo(**cast("Mapping[str, Any]", given)), autocommit=True)
    except psycopg.Error as error:
        raise DeployError(f"The database cannot be reached: {str(error).strip()}") from error
    version = connection.info.server_version // 10000
    database, encoding = connection.info.dbname, connection.info.parameter_status("server_encoding")
    if version < OLDEST_SERVER:
        connection.close()
        raise DeployError(f"This is PostgreSQL {version}; msgexchange needs {OLDEST_SERVER} or later.")
    if encoding != "UTF8":
        connection.close()
        raise DeployError(
            f"The encoding of database {database} is {encoding}, and messages may hold any character: create it with "
            "encoding 'UTF8' template template0."
        )
    return connection


# Applying ----------------------------------------------------------------------------------------------------------


class _Backend(PostgresqlPsycopgBackend):  # type: ignore[misc]  # yoyo ships no types
    """yoyo's, but a migration and its mark commit together.

    yoyo runs a migration on one connection and marks it on another afterwards: killed between the two, it would run
    the migration again. Here both are one transaction; that is why a migration ends with ``reset role``.
    """

    def __init__(self, url: str, migration_table: str = "_yoyo_migration") -> None:
        given = conninfo_to_dict(url.replace("postgresql+psycopg://", "postgresql://", 1))
        given.setdefault("connect_timeout", CONNECT_TIMEOUT)
        given["application_name"] = f"msgx db ({socket.gethostname()} {os.getpid()})"
        database = given.pop("dbname", None)
        super().__init__(DatabaseURI("postgresql+psycopg", None, None, None, None, database, given), migration_table)
        self._url = url
        self.init_database()

    def copy(self) -> _Backend:
        """Another connection, for migrations that cannot run in a transaction."""
        return _Backend(self._url, self.migration_table)

    def apply_one(self, migration: Any, force: bool = False, mark: bool = True) -> None:
        """One migration with its mark."""
        migration.load()
        if not migration.use_transactions:
            super().apply_one(migration, force=force, mark=mark)
            return
        self.ensure_internal_schema_updated()
        with self.transaction():
            migration.process_steps(self, "apply", force=force)
            self.log_migration(migration, "apply")
            if mark:
                self.mark_one(migration, log=False)

    def rollback_one(self, migration: Any, force: bool = False) -> None:
        """One rollback with its mark."""
        migration.load()
        if not migration.use_transactions:
            super().rollback_one(migration, force=force)
            return
        with self.transaction():
            migration.process_steps(self, "rollback", force=force)
            self.log_migration(migration, "rollback")
            self.unmark_one(migration, log=False)

    def get_log_data(self, migration: Any = None, operation: str = "apply") -> dict[str, Any]:
        """As yoyo's, for users without a name too, and without a DNS query for this host's full name."""
        return {
            "id": str(uuid.uuid4()),
            "migration_id": migration.id if migration else None,
            "migration_hash": migration.hash if migration else None,
            "username": os.environ.get("USER") or f"uid {os.getuid()}",
            "hostname": socket.gethostname(),
            "created_at_utc": datetime.now(UTC).replace(tzinfo=None),
            "operation": operation,
        }


def apply(url: str, *, root: Path | None = None, prune: bool = False) -> Applied:
    """Bring the database to this release; nothing is done where it is there already.

    Args:
        url: ``postgresql://…`` of a role that owns the database; it need not be a superuser.
        root: Another ``db`` folder than this release's.
        prune: Drop routines, and old signatures of routines, that no file makes any more; only when the release
            before no longer runs.

    Raises:
        DeployError: with what to do. Migrations that were finished stay, the failed one and the routines are rolled
            back; after the cause is mended, the same call goes on from there.
    """
    _connect(url).close()
    try:
        with _Backend(url) as backend, backend.lock(timeout=YOYO_LOCK_TIMEOUT):
            connection: Connection = backend.connection
            pending = backend.to_apply(read_migrations(str((root or database_folder()) / "migrations")))
            for migration in pending:
                try:
                    backend.apply_one(migration)
                except psycopg.Error as error:
                    raise DeployError(f"Migration {migration.id} failed. {_said(error)}") from error
            with connection.transaction():
                _record_migrations(connection, root)
                routines, pruned = _load(connection, root, prune=prune)
            return Applied(tuple(one.id for one in pending), routines, pruned)
    except yoyo_exceptions.LockTimeout as error:
        with _connect(url) as connection:
            holder = lock_holder(connection)
        raise DeployError(
            holder.sentence if holder else "Another deployment has just ended: run this again."
        ) from error
    except yoyo_exceptions.BadMigration as error:
        raise DeployError(f"A migration file cannot be read: {error}") from error
    except psycopg.Error as error:
        raise DeployError(_said(error)) from error


def load_routines(connection: Connection) -> None:
    """What plain ``yoyo apply`` runs after its migrations (``db/migrations/post-apply.py``), in yoyo's transaction.

    Raises:
        DeployError: nothing was changed.
    """
    _record_migrations(connection, None)
    _load(connection, None, prune=False)


def _record_migrations(connection: Connection, root: Path | None) -> None:
    """Remember what each migration said when it was applied, so that an edited one is noticed.

    A row of a migration that was rolled back and applied again is renewed: it is older than yoyo's mark.
    """
    applied = _applied_migrations(connection)
    texts = _migration_texts(root)
    known = {row[0]: row[1] for row in connection.execute("select migration_id, applied_at from core.migration_digest")}
    due = [
        (name, _digest(texts[name]), when)
        for name, when in applied.items()
        if name in texts and (name not in known or known[name] < when.replace(tzinfo=UTC))
    ]
    gone = [name for name in known if name not in applied]
    if not due and not gone:
        return
    with _as_owner(connection):
        connection.execute("delete from core.migration_digest where migration_id = any (%s)", [gone])
        for name, digest, when in due:
            connection.execute(
                """insert into core.migration_digest (migration_id, digest, applied_at) values (%s, %s, %s)
                   on conflict (migration_id)
                   do update set digest = excluded.digest, applied_at = excluded.applied_at""",
                [name, digest, when.replace(tzinfo=UTC)],
            )


@contextlib.contextmanager
def _as_owner(connection: Connection) -> Iterator[None]:
    """Inside a transaction: act as msgx_owner, and give the role back for yoyo's own tables."""
    connection.execute("set local role msgx_owner")
    yield
    connection.execute("reset role")


def _load(connection: Connection, root: Path | None, *, prune: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Load what changed, in the caller's transaction; returns what was loaded and what was pruned."""
    files = routine_files(root)
    if not _due(connection, files) and not (prune and _leftovers(connection, files)):
        return (), ()
    with _as_owner(connection), _empty_search_path(connection):
        connection.execute(f"set local lock_timeout = {int(LOCK_TIMEOUT * 1000)}")
        try:
            connection.execute("select from core.pipeline_lock where name = 'PIPELINE' for update")
        except errors.LockNotAvailable as error:
            raise DeployError(
                f"The pipeline row was held for {LOCK_TIMEOUT:.0f} s, longer than any batch of the pump should take: "
                "see pg_stat_activity, then run this again."
            ) from error
        connection.execute("set local check_function_bodies = off")
        pruned = _prune(connection, files) if prune else ()
        loaded: list[str] = []
        for _ in range(MAX_ROUNDS):  # one, and another if a view had to go for what it uses
            due = _due(connection, files)
            if not due:
                break
            _adopt(connection, due)
            _load_in_passes(connection, due)
            _record(connection, due)
            loaded += [file.qualified for file in due]
        else:
            raise DeployError(
                f"After {MAX_ROUNDS} rounds {due[0].qualified} is still not as its file makes it: another file changes "
                "or drops it. No routine was changed."
            )
        connection.execute("set local check_function_bodies = on")
        _check_bodies(connection, [file for file in files if file.qualified in loaded])
        _refresh_records(connection, files)
        return tuple(dict.fromkeys(loaded)), pruned


def _due(connection: Connection, files: Sequence[RoutineFile]) -> list[RoutineFile]:
    """Files whose text is not what is recorded, or whose object is not what it was right after it was loaded."""
    deployed = _deployed(connection)
    live = _live(connection)
    return [
        file
        for file in files
        if file.key not in deployed
        or file.key not in live
        or deployed[file.key].digest != file.digest
        or deployed[file.key].live_digest != live[file.key].digest
    ]


def _adopt(connection: Connection, due: Sequence[RoutineFile]) -> None:
    """Give msgx_owner back what somebody else owns now, with the rights of whoever deploys."""
    commands = connection.execute(
        """select pg_catalog.format('alter routine %%s owner to msgx_owner', p.oid::pg_catalog.regprocedure)
             from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
            where n.nspname || '.' || p.proname = any (%(due)s) and pg_catalog.pg_get_userbyid(p.proowner) <> %(owner)s
           union all
           select pg_catalog.format('alter view %%s owner to msgx_owner', c.oid::pg_catalog.regclass)
             from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
            where n.nspname || '.' || c.relname = any (%(due)s) and c.relkind = 'v'
              and pg_catalog.pg_get_userbyid(c.relowner) <> %(owner)s""",
        {"due": [file.qualified for file in due], "owner": OWNER},
    ).fetchall()
    for (command,) in commands:
        connection.execute("reset role")
        _execute(connection, command)
        connection.execute("set local role msgx_owner")


def _load_in_passes(connection: Connection, due: Sequence[RoutineFile]) -> None:
    waiting = list(due)
    while waiting:
        postponed: list[tuple[RoutineFile, psycopg.Error]] = []
        for file in waiting:
            try:
                with connection.transaction():
                    _load_one(connection, file)
            except _MISSING as error:
                postponed.append((file, error))
            except psycopg.Error as error:
                raise DeployError(_refused(file, error)) from error
        if len(postponed) == len(waiting):
            missed, cause = postponed[0]
            raise DeployError(_refused(missed, cause)) from cause
        waiting = [file for file, _ in postponed]


@dataclass(frozen=True, slots=True)
class _Signature:
    oid: int
    ctid: str
    called: str  #: ``core.f(integer, text)``
    arguments: tuple[int, ...]  #: type oids of the input arguments
    defaults: int


def _signatures(connection: Connection, file: RoutineFile) -> list[_Signature]:
    rows = connection.execute(
        """select p.oid::int8, p.ctid::text, p.oid::pg_catalog.regprocedure::text, p.proargtypes::text,
                  p.pronargdefaults
             from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
            where n.nspname = %s and p.proname = %s""",
        [file.schema, file.name],
    )
    return [
        _Signature(oid, ctid, called, tuple(int(one) for one in arguments.split()), defaults)
        for oid, ctid, called, arguments, defaults in rows
    ]


def _load_one(connection: Connection, file: RoutineFile) -> None:
    """Run one file over what is there, so that the result is what it makes on an empty database."""
    if file.kind == "view":
        _drop_views(connection, [file])
        _execute(connection, file.text)
        return
    for signature in _signatures(connection, file):
        _make_bare(connection, signature)
    before = _signatures(connection, file)
    try:
        with connection.transaction():
            _execute(connection, file.text)
    except _IRREPLACEABLE:
        _drop_views(connection, None)  # one of them may use it; what is missing afterwards is loaded again
        for signature in before:
            _execute(connection, f"drop routine {signature.called}")
        before = []
        _execute(connection, file.text)
    after = {signature.oid: signature for signature in _signatures(connection, file)}
    made = [one for one in after.values() if one not in before]
    for old in before:
        if old in made or after.get(old.oid) != old:
            continue
        if any(_answers(new, old) for new in made):
            _drop_views(connection, None)
            _execute(connection, f"drop routine {old.called}")


def _answers(new: _Signature, old: _Signature) -> bool:
    """Whether every call of the old signature is a call of the new one, which made two of them ambiguous."""
    return (
        new.arguments[: len(old.arguments)] == old.arguments
        and len(new.arguments) - new.defaults <= len(old.arguments) - old.defaults
    )


def _make_bare(connection: Connection, signature: _Signature) -> None:
    """Take grants, comment and triggers off a routine; its file gives them again."""
    triggers = connection.execute(
        """select t.tgname, t.tgrelid::pg_catalog.regclass::text from pg_catalog.pg_trigger t
            where t.tgfoid = %s and not t.tgisinternal and t.tgparentid = 0""",
        [signature.oid],
    ).fetchall()
    for trigger, table in triggers:
        connection.execute(sql.SQL("drop trigger {} on " + table).format(sql.Identifier(trigger)))
    grantees = connection.execute(
        """select distinct a.grantee, case when a.grantee = 0 then 'public'
                                 else pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) end
             from pg_catalog.pg_proc p cross join lateral pg_catalog.aclexplode(p.proacl) a
            where p.oid = %s and a.grantee <> p.proowner""",
        [signature.oid],
    ).fetchall()
    for _, grantee in grantees:
        _execute(connection, f"revoke all on routine {signature.called} from {grantee}")
    _execute(connection, f"comment on routine {signature.called} is null")


def _drop_views(connection: Connection, files: Sequence[RoutineFile] | None) -> None:
    """Drop these views of ours (None = all), and before them those of ours that use them; never anybody else's."""
    waiting = connection.execute(
        """with recursive chosen as (
             select c.oid from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
              where c.relkind = 'v' and n.nspname = any (%(schemas)s)
                and (%(names)s::text[] is null or n.nspname || '.' || c.relname = any (%(names)s))
             union
             select r.ev_class from chosen join pg_catalog.pg_depend d on d.refobjid = chosen.oid
               join pg_catalog.pg_rewrite r on r.oid = d.objid
               join pg_catalog.pg_class c on c.oid = r.ev_class join pg_catalog.pg_namespace n on n.oid = c.relnamespace
              where c.relkind = 'v' and n.nspname = any (%(schemas)s))
           select oid::pg_catalog.regclass::text from chosen""",
        {"schemas": list(SCHEMAS), "names": None if files is None else [file.qualified for file in files]},
    ).fetchall()
    if waiting:  # one statement drops them whatever their order, and fails if something else uses one
        _execute(connection, "drop view " + ", ".join(row[0] for row in waiting))


def _execute(connection: Connection, text: str) -> None:
    """SQL of our own files, or made of names that the catalogue itself quoted; several statements at once."""
    connection.execute(text)


def _record(connection: Connection, files: Sequence[RoutineFile]) -> None:
    live = _live(connection)
    for file in files:
        if file.key not in live:
            raise DeployError(f"db/routines/{file.file} ran, and there is no {file.qualified} now. Mend the file.")
        connection.execute(
            """insert into core.routine
                 (schema_name, routine_name, file, kind, digest, live_digest, release, applied_at)
               values (%s, %s, %s, %s, %s, %s, %s, pg_catalog.now())
               on conflict (schema_name, routine_name) do update
                 set (file, kind, digest, live_digest, release, applied_at)
                   = (excluded.file, excluded.kind, excluded.digest, excluded.live_digest, excluded.release,
                      excluded.applied_at)""",
            [*file.key, file.file, file.kind, file.digest, live[file.key].digest, release()],
        )


def _check_bodies(connection: Connection, files: Sequence[RoutineFile]) -> None:
    """What ``check_function_bodies`` would have said, now that all objects are there."""
    for file in files:
        if file.kind == "view":
            continue
        try:
            connection.execute(
                """select case l.lanname when 'plpgsql' then pg_catalog.plpgsql_validator(p.oid)
                                         when 'sql' then pg_catalog.fmgr_sql_validator(p.oid) end
                     from pg_catalog.pg_proc p join pg_catalog.pg_language l on l.oid = p.prolang
                     join pg_catalog.pg_namespace n on n.oid = p.pronamespace
                    where n.nspname = %s and p.proname = %s""",
                [file.schema, file.name],
            )
        except psycopg.Error as error:
            raise DeployError(_refused(file, error)) from error


def _leftovers(connection: Connection, files: Sequence[RoutineFile]) -> list[tuple[str, str]]:
    """Objects of ours (recorded once) that no file makes any more, and those with more signatures than their file."""
    made = {file.key: file.signatures for file in files}
    live = _live(connection)
    return [
        key
        for key in sorted(live)
        if (key not in made and key in _deployed(connection)) or live[key].signatures > made.get(key, 99)
    ]


def _prune(connection: Connection, files: Sequence[RoutineFile]) -> tuple[str, ...]:
    leftovers = _leftovers(connection, files)
    if leftovers:
        _drop_views(connection, None)
    for schema, name in leftovers:
        rows = connection.execute(
            """select p.oid::pg_catalog.regprocedure::text from pg_catalog.pg_proc p
                 join pg_catalog.pg_namespace n on n.oid = p.pronamespace where n.nspname = %s and p.proname = %s""",
            [schema, name],
        ).fetchall()
        for row in rows:
            try:
                _execute(connection, f"drop routine {row[0]}")
            except psycopg.Error as error:
                raise DeployError(f"{schema}.{name} cannot be dropped. {_said(error)}") from error
    return tuple(f"{schema}.{name}" for schema, name in leftovers)


def _refresh_records(connection: Connection, files: Sequence[RoutineFile]) -> None:
    """Forget what neither a file nor the database has any more."""
    keep = {file.key for file in files} | set(_live(connection))
    for schema, name in set(_deployed(connection)) - keep:
        connection.execute("delete from core.routine where schema_name = %s and routine_name = %s", [schema, name])


def _said(error: psycopg.Error) -> str:
    """What PostgreSQL said, as sentences."""
    diagnosis = error.diag
    parts = [f"PostgreSQL says: {diagnosis.message_primary or str(error).strip()} (SQLSTATE {error.sqlstate})."]
    if diagnosis.message_detail:
        parts.append(diagnosis.message_detail)
    if diagnosis.message_hint:
        parts.append(diagnosis.message_hint)
    if isinstance(error, errors.LockNotAvailable):
        parts.append("Another session holds a lock on that object: see pg_stat_activity, then run this again.")
    if isinstance(error, errors.InsufficientPrivilege) and not diagnosis.message_hint:
        parts.append("`msgx db` needs the login that owns the schema.")
    return " ".join(parts)


def _refused(file: RoutineFile, error: psycopg.Error) -> str:
    line = ""
    if error.diag.statement_position:
        line = f", line {file.text[: int(error.diag.statement_position)].count(chr(10)) + 1}"
    elif error.diag.internal_position and error.diag.internal_query:
        before = error.diag.internal_query[: int(error.diag.internal_position)]
        line = f", line {before.count(chr(10)) + 1} of its body"
    if isinstance(error, errors.DependentObjectsStillExist):
        return (
            f"{file.qualified} must be dropped to be replaced, and something outside of msgexchange uses it. "
            f"{_said(error)} Drop that, run this again, and make it anew. Nothing was changed."
        )
    context = f" ({error.diag.context.splitlines()[0]})" if error.diag.context else ""
    return f"db/routines/{file.file}{line} was refused{context}. {_said(error)} No routine was changed."


# Telling -----------------------------------------------------------------------------------------------------------


def verify(url: str, *, root: Path | None = None) -> list[Finding]:
    """Every difference between the database and this release; empty if there is none. Reads only.

    Raises:
        DeployError: the database cannot be reached or read.
    """
    with _connect(url) as connection:
        try:
            connection.execute("begin isolation level repeatable read, read only")
            return [*_verify_migrations(connection, root), *_verify_routines(connection, root)]
        except psycopg.Error as error:
            raise DeployError(_said(error)) from error


def _verify_migrations(connection: Connection, root: Path | None) -> Iterator[Finding]:
    holder = lock_holder(connection)
    if holder is not None:
        yield Finding("LOCK", "yoyo_lock", holder.sentence)
    applied = _applied_migrations(connection)
    recorded = _recorded_digests(connection)
    texts = _migration_texts(root)
    for name, text in texts.items():
        if name not in applied:
            yield Finding("PENDING", name, f"Migration {name} is not applied: run `msgx db apply`.")
        elif name not in recorded:
            yield Finding("PENDING", name, f"What migration {name} said is not recorded: run `msgx db apply`.")
        elif recorded[name] != _digest(text):
            yield Finding(
                "EDITED",
                name,
                f"Migration {name} was edited after it was applied here, and is not run twice: restore the file, and "
                "put the change into a new migration.",
            )
    for name in applied:
        if name not in texts:
            yield Finding(
                "UNKNOWN",
                name,
                f"Migration {name} is applied and this release ({release()}) does not have it: the database belongs "
                "to a later release. Install that one.",
            )


def _verify_routines(connection: Connection, root: Path | None) -> Iterator[Finding]:
    files = {file.key: file for file in routine_files(root)}
    deployed = _deployed(connection) if _exists(connection, "core.routine") else {}
    live = _live(connection)
    major = f"{connection.info.server_version // 10000}:"
    for key, file in files.items():
        name = file.qualified
        if key not in deployed:
            yield Finding("PENDING", name, f"{file.kind.capitalize()} {name} is not deployed: run `msgx db apply`.")
        elif key not in live:
            yield Finding("MISSING", name, f"{name} was deployed and is gone: run `msgx db apply` to make it again.")
        elif deployed[key].digest != file.digest:
            yield Finding(
                "OUTDATED",
                name,
                f"The {name} of release {deployed[key].release} is deployed, and this release ({release()}) has "
                "another text: run `msgx db apply`.",
            )
        elif not deployed[key].live_digest.startswith(major):
            yield Finding(
                "OUTDATED", name, f"{name} was deployed under another PostgreSQL version: run `msgx db apply`."
            )
        elif deployed[key].live_digest != live[key].digest:
            yield Finding(
                "DRIFTED",
                name,
                f"{name} was changed in the database (its text, grants, owner, comment or trigger): see what differs "
                f"from db/routines/{file.file}, keep what is wanted in the file, and run `msgx db apply`.",
            )
        elif live[key].signatures > file.signatures:
            yield Finding(
                "UNKNOWN",
                name,
                f"{name} has an older signature too, kept because the release before may call it: when that no longer "
                "runs, run `msgx db apply --prune`.",
            )
    for key in sorted(live):
        name = ".".join(key)
        if key not in files and key in deployed:
            yield Finding(
                "UNKNOWN",
                name,
                f"{name} is of release {deployed[key].release}, and no file of this release makes it: when no older "
                "release runs, run `msgx db apply --prune`.",
            )
        elif key not in files:
            yield Finding(
                "UNKNOWN", name, f"{name} was made by hand and is none of msgexchange's: move it to another schema."
            )
    yield from _verify_owners(connection)


def _verify_owners(connection: Connection) -> Iterator[Finding]:
    rows = connection.execute(
        """select c.oid::pg_catalog.regclass::text, pg_catalog.pg_get_userbyid(c.relowner)
             from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
            where n.nspname = any (%s) and c.relkind in ('r', 'p', 'S')
              and pg_catalog.pg_get_userbyid(c.relowner) <> %s order by 1""",
        [list(SCHEMAS), OWNER],
    )
    for name, owner in rows:
        yield Finding("OWNER", name, f"{name} is owned by {owner}: run `alter table {name} owner to {OWNER}`.")


def known_schema(connection: Connection, *, root: Path | None = None) -> str | None:
    """None if this release knows the database's schema, otherwise the sentence to stop with.

    For the supervisor's start: needs no more than ``msgx_app`` may read, and leaves the connection as it was. Drift
    made by hand is not its business (see :func:`verify`).
    """
    if not _exists(connection, "core.migration_digest"):
        return "There is no msgexchange schema in this database: run `msgx db apply`."
    recorded = _recorded_digests(connection)
    texts = _migration_texts(root)
    later = sorted(set(recorded) - set(texts))
    if later:
        return (
            f"The database has migration {later[-1]}, which this release ({release()}) does not know: start the "
            "release that deployed it."
        )
    pending = [name for name in texts if name not in recorded]
    if pending:
        return f"Migration {pending[0]} of this release ({release()}) is not applied: run `msgx db apply`."
    deployed = _deployed(connection)
    for file in routine_files(root):
        there = deployed.get(file.key)
        if there is None:
            return f"{file.qualified} of this release ({release()}) is not deployed: run `msgx db apply`."
        if there.digest != file.digest:
            return (
                f"{file.qualified} is deployed with the text of release {there.release}, and this is release "
                f"{release()}: run `msgx db apply`, or start that release."
            )
    return None


def plan(url: str, *, root: Path | None = None) -> str:
    """The SQL that :func:`apply` would run now, for a DBA to read; empty if there is nothing to do. Reads only.

    A file that misses another object is loaded later than it stands here, and an object that cannot be replaced in
    place is dropped first.

    Raises:
        DeployError: the database cannot be reached or read.
    """
    with _connect(url) as connection:
        try:
            applied = _applied_migrations(connection)
            files = routine_files(root)
            due = _due(connection, files) if _exists(connection, "core.routine") else list(files)
            name = connection.info.dbname
        except psycopg.Error as error:
            raise DeployError(_said(error)) from error
    migrations = [(name, text) for name, text in _migration_texts(root).items() if name not in applied]
    if not migrations and not due:
        return ""
    parts = [
        f"-- What `msgx db apply` of release {release()} would run in database {name}.",
        "-- To be read, not to be run by hand: apply also notes what it did and refuses a database without.",
    ]
    parts += [
        f"-- Migration {name}: one transaction, in which yoyo marks it as applied.\nbegin;\n{text.strip()}\ncommit;"
        for name, text in migrations
    ]
    if due:
        parts.append(
            f"-- Routines: one transaction, between two batches of the pump.\nbegin;\nset local role {OWNER};\n"
            f"set local lock_timeout = {int(LOCK_TIMEOUT * 1000)};\nset local search_path = '';\n"
            "set local check_function_bodies = off;\n"
            "select from core.pipeline_lock where name = 'PIPELINE' for update;"
        )
        parts += [f"-- db/routines/{file.file}\n{file.text.strip()}" for file in due]
        parts.append("-- core.routine records the digest of each.\ncommit;")
    return "\n\n".join(parts) + "\n"

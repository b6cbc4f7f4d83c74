"""Deployment: a database is brought to a release, from anywhere, and differences are told (design section 10)."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from yoyo import read_migrations

from supervisor import deploy
from supervisor.deploy import DeployError

if TYPE_CHECKING:
    from collections.abc import Callable

    from demo.servers import PostgresServer

ROOT = Path(__file__).resolve().parents[2]
HEADER = "-- A routine of a test.\n-- Reads:  nothing\n-- Writes: nothing\n-- Locks:  nothing\n-- Raises: nothing\n"


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A copy of this release's ``db`` folder, to be edited."""
    return Path(shutil.copytree(ROOT / "db", tmp_path / "db", ignore=shutil.ignore_patterns("__pycache__")))


def routine(release: Path, name: str, text: str) -> None:
    """Write one routine file."""
    schema, _, name = name.partition(".")
    (release / "routines" / schema / f"{name}.sql").write_text(HEADER + text, encoding="utf-8")


def function(
    name: str, arguments: str = "", returns: str = "integer", body: str = "begin return 1; end", more: str = ""
) -> str:
    return (
        f"create or replace function {name}({arguments}) returns {returns} language plpgsql set search_path to ''\n"
        f"as $fn$\n{body}\n$fn$;\n{more}"
    )


def dump(server: PostgresServer, url: str) -> str:
    """The whole schema but yoyo's own tables, and what is recorded as deployed."""
    done = subprocess.run(
        [server.bin / "pg_dump", "-s", "-T", "public.*yoyo*", url], capture_output=True, check=True, text=True
    )
    schema = "\n".join(
        line
        for line in done.stdout.splitlines()
        if line.strip() and not line.startswith(("--", "\\restrict", "\\unre"))
    )
    with psycopg.connect(url) as connection:
        routines = connection.execute(
            "select schema_name, routine_name, file, kind, digest, live_digest, release from core.routine order by 1, 2"
        ).fetchall()
        migrations = connection.execute("select migration_id, digest from core.migration_digest order by 1").fetchall()
    return "\n".join([schema, *map(str, routines), *map(str, migrations)])


def kinds(url: str, release: Path | None = None) -> set[tuple[str, str]]:
    return {(finding.kind, finding.subject) for finding in deploy.verify(url, root=release)}


# From anywhere to this release


@pytest.mark.every_pg
def test_apply_brings_an_empty_database_to_this_release_and_then_has_nothing_to_do(empty_database_url: str) -> None:
    assert {kind for kind, _ in kinds(empty_database_url)} == {"PENDING"}
    done = deploy.apply(empty_database_url)
    assert done.migrations[0] == "0001_rooms_and_roles"
    assert len(done.routines) == len(deploy.routine_files()) == len(set(done.routines))
    assert deploy.verify(empty_database_url) == []
    assert deploy.plan(empty_database_url) == ""
    assert not deploy.apply(empty_database_url).changed


@pytest.mark.every_pg
def test_plain_yoyo_ends_in_the_same_place(
    machines: Any, pg_version: int, postgres_server: PostgresServer, empty_database_url: str
) -> None:
    yoyo_url = empty_database_url.replace("postgresql://", "postgresql+psycopg://")
    subprocess.run(
        [sys.executable, "-m", "yoyo", "apply", "--database", yoyo_url], cwd=ROOT, check=True, capture_output=True
    )
    assert deploy.verify(empty_database_url) == []
    with machines.database(pg_version) as applied:
        assert dump(postgres_server, empty_database_url) == dump(postgres_server, applied)


@pytest.mark.every_pg
def test_rollback_of_everything_and_apply_gives_the_same_schema(
    postgres_server: PostgresServer, database_url: str
) -> None:
    before = dump(postgres_server, database_url)
    with deploy._Backend(database_url) as backend, backend.lock():
        backend.rollback_migrations(backend.to_rollback(read_migrations(str(ROOT / "db" / "migrations"))))
    with psycopg.connect(database_url) as connection:
        left = connection.execute("select nspname from pg_namespace where nspname = any (%s)", [list(deploy.SCHEMAS)])
        assert left.fetchall() == []
    deploy.apply(database_url)
    assert dump(postgres_server, database_url) == before


@pytest.mark.every_pg
def test_each_migration_can_be_rolled_back_alone_and_applied_again(
    postgres_server: PostgresServer, database_url: str
) -> None:
    before = dump(postgres_server, database_url)
    last = max(deploy._migration_texts(None))
    with deploy._Backend(database_url) as backend, backend.lock():
        chosen = read_migrations(str(ROOT / "db" / "migrations")).filter(lambda migration: migration.id == last)
        backend.rollback_migrations(backend.to_rollback(chosen))
    assert ("PENDING", last) in kinds(database_url)
    deploy.apply(database_url)
    assert dump(postgres_server, database_url) == before


def test_the_plan_is_the_whole_sql_and_changes_nothing(empty_database_url: str) -> None:
    text = deploy.plan(empty_database_url)
    for path in [*(ROOT / "db" / "migrations").glob("0*.sql"), *(ROOT / "db" / "routines").glob("*/*.sql")]:
        if not path.name.endswith(".rollback.sql"):
            assert path.read_text(encoding="utf-8").strip() in text
    with psycopg.connect(empty_database_url) as connection:
        assert connection.execute("select from pg_class where relnamespace = 'public'::regnamespace").fetchall() == []


def test_two_deployments_at_once_both_succeed(empty_database_url: str) -> None:
    results: list[object] = []

    def run() -> None:
        try:
            results.append(deploy.apply(empty_database_url))
        except DeployError as error:  # shown by the assertion
            results.append(error)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.changed if isinstance(one, deploy.Applied) else repr(one) for one in results) == [False, True]
    assert deploy.verify(empty_database_url) == []


# Who may deploy


def owner_of(server: PostgresServer, url: str, attributes: str) -> str:
    """A login role with these attributes that owns the database; returns its URL."""
    database = url.rpartition("/")[2]
    name = f"deployer_{database}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"create role {name} login {attributes}")
        connection.execute(f"alter database {database} owner to {name}")
    return server.url_for(database, name)


@pytest.mark.every_pg
@pytest.mark.parametrize("prepared", [False, True], ids=["createrole", "roles made beforehand"])
def test_the_owner_of_the_database_need_not_be_a_superuser(
    make_postgres: Callable[..., PostgresServer], pg_version: int, prepared: bool
) -> None:
    server = make_postgres(version=pg_version)
    url = owner_of(server, server.url, "" if prepared else "createrole")
    if prepared:
        with pytest.raises(DeployError, match="may not create roles") as refused:
            deploy.apply(url)
        advice = re.search(r"run once: (.*;)", str(refused.value))
        assert advice is not None
        with psycopg.connect(server.url, autocommit=True) as superuser:
            superuser.execute(advice[1])
    deploy.apply(url)
    assert deploy.verify(url) == []
    with psycopg.connect(url) as connection:
        assert connection.execute("select rolsuper from pg_roles where rolname = current_user").fetchone() == (False,)


@pytest.mark.every_pg
def test_everything_belongs_to_msgx_owner(pg: psycopg.Connection[Any]) -> None:
    strangers = pg.execute(
        """select nspname || '.' || name from (
             select relnamespace as room, relname as name, relowner as owner from pg_class where relkind <> 't'
             union all select pronamespace, proname, proowner from pg_proc
             union all select typnamespace, typname, typowner from pg_type
             union all select oid, nspname, nspowner from pg_namespace) o join pg_namespace n on n.oid = o.room
            where nspname = any (%s) and pg_get_userbyid(owner) <> 'msgx_owner'""",
        [list(deploy.SCHEMAS)],
    ).fetchall()
    assert strangers == []


def test_a_database_of_another_encoding_is_refused(machines: Any, pg_version: int, empty_database_url: str) -> None:
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute("create database latin encoding 'LATIN1' locale 'C' template template0")
        try:
            with pytest.raises(DeployError, match="encoding 'UTF8'"):
                deploy.apply(machines.postgres(pg_version).url_for("latin"))
        finally:
            connection.execute("drop database latin")


def test_a_database_that_cannot_be_reached_is_a_sentence() -> None:
    with pytest.raises(DeployError, match="cannot be reached"):
        deploy.verify("postgresql://nobody@127.0.0.1:1/nothing")


# Migrations


def test_an_edited_migration_is_told(database_url: str, release: Path) -> None:
    path = release / "migrations" / "0002_core.sql"
    path.write_text(path.read_text(encoding="utf-8") + "\n-- one more thought\n", encoding="utf-8")
    assert kinds(database_url, release) == {("EDITED", "0002_core")}
    assert not deploy.apply(database_url, root=release).changed


def migration(release: Path, name: str, body: str) -> None:
    last = max(deploy._migration_texts(release))
    (release / "migrations" / f"{name}.sql").write_text(
        f"-- A test.\n-- depends: {last}\n\nset local lock_timeout = '5s';\nset local role msgx_owner;\n"
        f"{body}\nreset role;\n",
        encoding="utf-8",
    )


def test_a_failed_migration_leaves_nothing_and_is_tried_again(database_url: str, release: Path) -> None:
    migration(release, "9001_good", "create table core.first_try (a integer);")
    migration(release, "9002_bad", "create table core.second_try (a integer);\nselect 1 / 0;")
    with pytest.raises(DeployError, match=r"9002_bad failed.*division by zero"):
        deploy.apply(database_url, root=release)
    with psycopg.connect(database_url) as connection:
        found = connection.execute("select to_regclass('core.first_try'), to_regclass('core.second_try')").fetchone()
    assert found is not None
    assert (found[0] is None, found[1] is None) == (False, True)
    (release / "migrations" / "9002_bad.sql").unlink()
    migration(release, "9002_bad", "create table core.second_try (a integer);")
    assert deploy.apply(database_url, root=release).migrations == ("9002_bad",)
    assert deploy.verify(database_url, root=release) == []


def test_a_migration_and_its_mark_commit_together(database_url: str, release: Path) -> None:
    """A deployment that is killed after a migration must not run it again."""
    migration(release, "9001_good", "create table core.first_try (a integer);")
    with deploy._Backend(database_url) as backend:
        backend.mark_one = None  # as if the process ended just before the mark
        chosen = read_migrations(str(release / "migrations")).filter(lambda one: one.id == "9001_good")
        with pytest.raises(TypeError):
            backend.apply_one(chosen[0])
    with psycopg.connect(database_url) as connection:
        assert connection.execute("select to_regclass('core.first_try')").fetchone() == (None,)


@pytest.mark.parametrize("alive", [False, True])
def test_the_lock_of_a_killed_run_is_told_with_what_to_do(
    database_url: str, monkeypatch: pytest.MonkeyPatch, alive: bool
) -> None:
    monkeypatch.setattr(deploy, "YOYO_LOCK_TIMEOUT", 0.1)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            "insert into yoyo_lock (locked, ctime, pid) values (1, now(), %s)", [1 if alive else 2**22 + 1]
        )
        with pytest.raises(DeployError, match="wait for it" if alive else "yoyo break-lock"):
            deploy.apply(database_url)
        assert kinds(database_url) == {("LOCK", "yoyo_lock")}
        connection.execute("delete from yoyo_lock")
    deploy.apply(database_url)


# Routines


@pytest.mark.parametrize(
    "by_hand",
    [
        "create or replace function core.now() returns timestamptz language sql stable as 'select now()'",
        "grant execute on function core.now() to public",
        "comment on function core.now() is 'mine'",
        "alter function core.now() owner to postgres",
        "alter function core.now() set work_mem to '1MB'",
    ],
)
def test_drift_is_told_and_mended(database_url: str, postgres_server: PostgresServer, by_hand: str) -> None:
    before = dump(postgres_server, database_url)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(by_hand)
    assert ("DRIFTED", "core.now") in kinds(database_url)
    deploy.apply(database_url)
    assert deploy.verify(database_url) == []
    assert dump(postgres_server, database_url) == before


def test_a_dropped_routine_is_told_and_made_again(database_url: str, postgres_server: PostgresServer) -> None:
    before = dump(postgres_server, database_url)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("drop function core.now() cascade")
    assert ("MISSING", "core.now") in kinds(database_url)
    deploy.apply(database_url)
    assert dump(postgres_server, database_url) == before


def test_what_is_not_ours_is_told_and_left_alone(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("create function core.stranger() returns integer language sql as 'select 1'")
        connection.execute("create view inbox.stranger as select 1 as one")
    assert kinds(database_url) == {("UNKNOWN", "core.stranger"), ("UNKNOWN", "inbox.stranger")}
    assert not deploy.apply(database_url, prune=True).changed


def upgraded_as_fresh(machines: Any, version: int, url: str, release: Path) -> None:
    """An upgrade to this release ends where a fresh installation of it does."""
    deploy.apply(url, root=release)
    assert deploy.verify(url, root=release) == []
    with machines.database(version, "empty") as fresh:
        deploy.apply(fresh, root=release)
        assert dump(machines.postgres(version), url) == dump(machines.postgres(version), fresh)


@pytest.mark.every_pg
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (function("core.thing"), function("core.thing", returns="text", body="begin return 'a'; end")),
        (function("core.thing", "p_a integer"), function("core.thing", "p_other integer")),
        (function("core.thing", "p_a integer"), function("core.thing", "p_a integer, p_b text default 'b'")),
        (
            function("core.thing", more="grant execute on function core.thing to msgx_app, msgx_reader;"),
            function("core.thing", more="grant execute on function core.thing to msgx_app;"),
        ),
        (
            function("core.thing", more="comment on function core.thing is 'Once';"),
            function("core.thing"),
        ),
        (
            function("core.thing", returns="trigger", body="begin return new; end")
            + "create or replace trigger thing before insert on core.alert for each row execute function core.thing();",
            function("core.thing", returns="trigger", body="begin return new; end")
            + "create or replace trigger other before update on core.duty for each row execute function core.thing();",
        ),
        (
            "create or replace view core.thing as select 1 as one, 2 as two; grant select on core.thing to msgx_app;",
            "create or replace view core.thing as select 'x'::text as two;",
        ),
    ],
    ids=["result", "parameter name", "parameter with default", "fewer grants", "no comment", "trigger", "view"],
)
def test_an_upgrade_ends_where_a_fresh_installation_does(
    machines: Any, pg_version: int, database_url: str, release: Path, before: str, after: str
) -> None:
    routine(release, "core.thing", before)
    deploy.apply(database_url, root=release)
    routine(release, "core.thing", after)
    assert kinds(database_url, release) == {("OUTDATED", "core.thing")}
    assert "core.thing" in deploy.plan(database_url, root=release)
    upgraded_as_fresh(machines, pg_version, database_url, release)


@pytest.mark.every_pg
def test_what_stands_on_a_replaced_object_is_made_anew(
    machines: Any, pg_version: int, database_url: str, release: Path
) -> None:
    """Views over a function whose result changes, one over the other, in an order that names do not give."""
    routine(release, "core.thing", function("core.thing"))
    routine(release, "inbox.a_view", "create or replace view inbox.a_view as select * from inbox.b_view;")
    routine(release, "inbox.b_view", "create or replace view inbox.b_view as select core.thing() as thing;")
    deploy.apply(database_url, root=release)
    routine(release, "core.thing", function("core.thing", returns="text", body="begin return 'a'; end"))
    upgraded_as_fresh(machines, pg_version, database_url, release)


def test_what_others_built_on_ours_is_never_dropped(database_url: str, release: Path) -> None:
    routine(release, "core.thing", function("core.thing"))
    deploy.apply(database_url, root=release)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("create view public.theirs as select core.thing() as thing")
    routine(release, "core.thing", function("core.thing", returns="text", body="begin return 'a'; end"))
    with pytest.raises(DeployError, match=r"public\.theirs|view theirs"):
        deploy.apply(database_url, root=release)
    assert kinds(database_url, release) == {("OUTDATED", "core.thing")}


def test_a_signature_that_the_running_release_may_call_stays_until_pruned(database_url: str, release: Path) -> None:
    routine(release, "core.thing", function("core.thing", "p_a integer"))
    deploy.apply(database_url, root=release)
    routine(release, "core.thing", function("core.thing", "p_a integer, p_b text"))
    deploy.apply(database_url, root=release)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("select core.thing(1), core.thing(1, 'b')")
    assert kinds(database_url, release) == {("UNKNOWN", "core.thing")}
    assert not deploy.apply(database_url, root=release).changed
    assert deploy.apply(database_url, root=release, prune=True).pruned == ("core.thing",)
    assert deploy.verify(database_url, root=release) == []


def test_a_routine_that_no_file_makes_stays_until_pruned(database_url: str, release: Path) -> None:
    routine(release, "core.thing", function("core.thing"))
    deploy.apply(database_url, root=release)
    (release / "routines" / "core" / "thing.sql").unlink()
    assert not deploy.apply(database_url, root=release).changed
    assert kinds(database_url, release) == {("UNKNOWN", "core.thing")}
    assert deploy.apply(database_url, root=release, prune=True).pruned == ("core.thing",)
    assert deploy.verify(database_url, root=release) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (function("core.thing") + "selec 1;", r'core/thing\.sql, line 10.*syntax error at or near "selec"'),
        (function("core.thing", body="begin retrun 1; end"), r"core/thing\.sql.*syntax error"),
        (function("core.thing", returns="core.nowhere"), r"core/thing\.sql.*core\.nowhere"),
        ("create or replace view core.thing as select * from core.nowhere;", r"core/thing\.sql.*core\.nowhere"),
        ("create or replace view core.other as select 1 as one;", r"does not create core\.thing"),
    ],
    ids=["statement", "body", "type", "view", "name"],
)
def test_a_refused_routine_is_named_and_none_is_changed(
    database_url: str, postgres_server: PostgresServer, release: Path, text: str, said: str
) -> None:
    before = dump(postgres_server, database_url)
    routine(release, "core.aardvark", function("core.aardvark"))
    routine(release, "core.thing", text)
    with pytest.raises(DeployError, match=said):
        deploy.apply(database_url, root=release)
    assert dump(postgres_server, database_url) == before


def test_a_body_survives_byte_for_byte(pg: psycopg.Connection[Any], database_url: str, release: Path) -> None:
    body = (
        "-- it's a comment; with a quote, 100 % and %s\nbegin\n"
        "  execute format($q$select %L || '$$' /* ; */$q$, 'ä喆');\n  return 1;\nend;"
    )
    routine(release, "core.thing", function("core.thing", body=body))
    deploy.apply(database_url, root=release)
    assert pg.execute("select prosrc from pg_proc where oid = 'core.thing'::regproc").fetchone() == (f"\n{body}\n",)


def test_routines_change_between_two_batches_of_the_pump(
    database_url: str, release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for the PIPELINE row, as long as is bearable, and not if there is nothing to load."""
    monkeypatch.setattr(deploy, "LOCK_TIMEOUT", 0.3)
    routine(release, "core.thing", function("core.thing"))
    with psycopg.connect(database_url) as pump:
        pump.execute("select from core.pipeline_lock where name = 'PIPELINE' for update")
        assert not deploy.apply(database_url).changed
        with pytest.raises(DeployError, match="pipeline row was held"):
            deploy.apply(database_url, root=release)
        monkeypatch.setattr(deploy, "LOCK_TIMEOUT", 30.0)
        done: list[deploy.Applied] = []
        thread = threading.Thread(target=lambda: done.append(deploy.apply(database_url, root=release)))
        thread.start()
        thread.join(0.5)
        assert not done
        pump.commit()
    thread.join()
    assert done[0].routines == ("core.thing",)


# The supervisor's start


def test_the_supervisor_knows_its_own_schema_and_no_other(
    database_url: str, empty_database_url: str, postgres_server: PostgresServer, release: Path
) -> None:
    database = database_url.rpartition("/")[2]
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            "do $$ begin create role msgx_test_app login in role msgx_app; exception when others then end $$"
        )
    with psycopg.connect(postgres_server.url_for(database, "msgx_test_app"), autocommit=True) as app:
        assert deploy.known_schema(app) is None
        routine(release, "core.thing", function("core.thing"))
        assert "core.thing" in (deploy.known_schema(app, root=release) or "")
        deploy.apply(database_url, root=release)
        assert deploy.known_schema(app, root=release) is None
        routine(release, "core.thing", function("core.thing", body="begin return 2; end"))
        assert "with the text of release" in (deploy.known_schema(app, root=release) or "")
        migration(release, "9001_good", "create table core.first_try (a integer);")
        assert "9001_good" in (deploy.known_schema(app, root=release) or "")
        deploy.apply(database_url, root=release)
        assert "start the release that deployed it" in (deploy.known_schema(app) or "")
    with psycopg.connect(empty_database_url) as connection:
        assert "msgx db apply" in (deploy.known_schema(connection) or "")
    assert ("UNKNOWN", "9001_good") in kinds(database_url)

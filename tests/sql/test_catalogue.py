"""What holds for every object in our rooms, on each PostgreSQL version (design section 10)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from supervisor import deploy

if TYPE_CHECKING:
    import psycopg

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = list(deploy.SCHEMAS)
FILES = deploy.routine_files()


def found(pg: psycopg.Connection[Any], query: str) -> list[str]:
    """First column of a query over ``%(schemas)s``."""
    return [row[0] for row in pg.execute(query, {"schemas": SCHEMAS}).fetchall()]


def test_every_routine_has_an_empty_search_path(pg: psycopg.Connection[Any]) -> None:
    """All but procedures: those that commit cannot have one, and qualify every name."""
    open_ones = found(
        pg,
        """select p.oid::regprocedure::text from pg_proc p join pg_namespace n on n.oid = p.pronamespace
            where n.nspname = any (%(schemas)s) and not coalesce(p.proconfig @> array['search_path=""'], false)
              and (p.prosecdef or p.prokind <> 'p') order by 1""",
    )
    assert open_ones == []


def test_public_may_do_nothing(pg: psycopg.Connection[Any]) -> None:
    granted = found(
        pg,
        """select what || ': ' || string_agg(a.privilege_type, ' ') from (
             select p.oid::regprocedure::text as what, p.pronamespace as room,
                    coalesce(p.proacl, acldefault('f', p.proowner)) as acl from pg_proc p
             union all
             select c.oid::regclass::text, c.relnamespace, c.relacl from pg_class c
              where c.relkind in ('r', 'p', 'v', 'S')
             union all
             select format_type(t.oid, null), t.typnamespace, coalesce(t.typacl, acldefault('T', t.typowner))
               from pg_type t left join pg_class c on c.oid = t.typrelid
              where t.typcategory <> 'A' and (t.typrelid = 0 or c.relkind = 'c')
             union all select n.nspname, n.oid, n.nspacl from pg_namespace n) o
           join pg_namespace n on n.oid = o.room cross join lateral aclexplode(o.acl) a
          where n.nspname = any (%(schemas)s) and a.grantee = 0 group by what order by 1""",
    )
    assert granted == []


def test_nobody_but_the_owner_may_write_a_table(pg: psycopg.Connection[Any]) -> None:
    """Routines write, with the owner's rights; only COPY into staging is msgx_app's."""
    writers = found(
        pg,
        """select c.oid::regclass::text || ' ' || a.privilege_type || ' ' || pg_get_userbyid(a.grantee)
             from pg_class c join pg_namespace n on n.oid = c.relnamespace cross join lateral aclexplode(c.relacl) a
            where n.nspname = any (%(schemas)s) and a.grantee <> c.relowner
              and a.privilege_type not in ('SELECT', 'USAGE') order by 1""",
    )
    assert writers == ["inbox.stage_message INSERT msgx_app", "inbox.stage_record INSERT msgx_app"]


def test_every_table_view_and_column_has_a_comment(pg: psycopg.Connection[Any]) -> None:
    silent = found(
        pg,
        """select c.oid::regclass::text || coalesce('.' || a.attname, '')
             from pg_class c join pg_namespace n on n.oid = c.relnamespace
             cross join lateral (
               select 0 as attnum, null as attname, obj_description(c.oid, 'pg_class') as said
               union all
               select a.attnum, a.attname, col_description(c.oid, a.attnum) from pg_attribute a
                where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                  and c.relkind in ('r', 'p') and not c.relispartition) a
            where n.nspname = any (%(schemas)s) and c.relkind in ('r', 'p', 'v') and a.said is null order by 1""",
    )
    assert silent == []


def test_every_room_has_a_comment(pg: psycopg.Connection[Any]) -> None:
    silent = found(
        pg,
        """select nspname from pg_namespace
            where nspname = any (%(schemas)s) and obj_description(oid, 'pg_namespace') is null""",
    )
    assert silent == []


def test_every_body_is_checked_by_its_language(pg: psycopg.Connection[Any]) -> None:
    """Also what a deployment left alone: all bodies parse, and SQL bodies find what they name."""
    pg.execute(
        """select case l.lanname when 'plpgsql' then plpgsql_validator(p.oid)
                                 when 'sql' then fmgr_sql_validator(p.oid) end
             from pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_language l on l.oid = p.prolang
            where n.nspname = any (%s)""",
        [SCHEMAS],
    )


def test_a_foreign_key_has_an_index(pg: psycopg.Connection[Any]) -> None:
    missing = found(
        pg,
        """select c.conrelid::regclass::text || ' ' || c.conname
             from pg_constraint c join pg_namespace n on n.oid = c.connamespace
            where n.nspname = any (%(schemas)s) and c.contype = 'f'
              and not exists (select from pg_index i
                               where i.indrelid = c.conrelid
                                 and (i.indkey::int2[])[0:cardinality(c.conkey) - 1] @> c.conkey) order by 1""",
    )
    assert missing == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.qualified)
def test_a_routine_file_opens_with_what_it_is(file: deploy.RoutineFile) -> None:
    """What it is for, then Reads, Writes, Locks, Raises, one line each (more if they are long)."""
    head = []
    for line in file.text.splitlines():
        if not line.startswith("--"):
            break
        head.append(line)
    assert head, "no header"
    assert re.match(r"-- \S.{15,}", head[0]), "the first line says what it is for"
    assert not re.match(r"-- (Reads|Writes|Locks|Raises):", head[0])
    labels = [match[1] for line in head if (match := re.match(r"-- (Reads|Writes|Locks|Raises):\s+\S", line))]
    assert labels == ["Reads", "Writes", "Locks", "Raises"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.qualified)
def test_a_routine_file_makes_its_own_object_only(file: deploy.RoutineFile) -> None:
    code = re.sub(r"--[^\n]*", "", file.text)
    outside = re.sub(r"(\$\w*\$).*?\1", "", code, flags=re.DOTALL)
    made = re.findall(
        r"\bcreate\s+(?:or\s+replace\s+)?(function|procedure|view|\w+)\s+([\w.]+)", outside, re.IGNORECASE
    )
    assert {name for kind, name in made if kind.lower() in {"function", "procedure", "view"}} == {file.qualified}
    assert {kind.lower() for kind, _ in made} <= {file.kind, "trigger"}
    assert not re.search(r"\b(begin|commit|rollback)\s*;", outside, re.IGNORECASE)


def test_no_routine_file_stands_elsewhere() -> None:
    """``db/routines/<room>/<name>.sql`` and nothing else."""
    folder = ROOT / "db" / "routines"
    stray = [
        path.name for path in folder.rglob("*") if path.is_file() and not re.fullmatch(r"[a-z0-9_]+\.sql", path.name)
    ]
    assert stray == []
    assert {path.parent.name for path in folder.glob("*/*.sql")} <= set(SCHEMAS)
    assert len(list(folder.rglob("*.sql"))) == len(FILES)

"""Every routine that a leader writes with is fenced, also one that nobody thought of here (design section 9)."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg import sql

ARGUMENTS = {
    "interval": "1 s",
    "text": "KAFKA:msg",
    "boolean": "true",
    "integer": "1",
    "bigint": "1",
    "bigint[]": "{1}",
    "text[]": "{WRITTEN}",
    "timestamp with time zone[]": "{2026-03-10}",
}


def routines(connection: psycopg.Connection[Any]) -> list[tuple[str, str, str, list[str]]]:
    """Kind, schema, name and types of the arguments of all that take an epoch."""
    return connection.execute(
        """select p.prokind::text, n.nspname::text, p.proname::text,
             array(select format_type(a.type, null) from unnest(p.proargtypes::oid[]) with ordinality a(type, place)
                   order by a.place)
           from pg_proc p join pg_namespace n on n.oid = p.pronamespace
           where 'p_epoch' = p.proargnames[1] and n.nspname = any ('{core,inbox,flight,ledger,outbox,request,pipeline}')
           order by 2, 3"""
    ).fetchall()


@pytest.fixture
def led(pg: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
    """Epoch 2 leads; message 1 waits, its mark and event too."""
    pg.execute("select core.lease_acquire('first', '1 s')")
    pg.execute("update core.pipeline_lock set expires_at = '2000-01-01' where name = 'LEADER'")
    pg.execute("select core.lease_acquire('second', '1 h')")
    pg.execute("update inbox.inbox_cursor set watermark = 1")
    pg.execute("insert into inbox.proc_state (msg_id, enqueued_at, updated_at) values (1, now(), now())")
    pg.execute(
        "insert into inbox.stage_message (msg_id, kind, sndr, type, styp, seqn) values (1, 'OTHER', 'A', 'B', 'C', '1')"
    )
    return pg


def contents(connection: psycopg.Connection[Any]) -> dict[str, list[Any]]:
    """Every row of every table of ours."""
    tables = connection.execute(
        "select schemaname, tablename from pg_tables"
        " where schemaname = any ('{core,inbox,flight,ledger,outbox,request,refdata,history}') order by 1, 2"
    ).fetchall()
    return {
        f"{schema}.{table}": connection.execute(
            sql.SQL("select t::text from {} t order by 1").format(sql.Identifier(schema, table))
        ).fetchall()
        for schema, table in tables
    }


@pytest.mark.every_pg
def test_a_deposed_leader_writes_nothing_in_any_routine(led: psycopg.Connection[Any]) -> None:
    found = routines(led)
    assert {"advance", "restage", "fail_unread", "step", "pump", "claim", "settle", "fail", "release"} < {
        name for _, _, name, _ in found
    }
    before = contents(led)
    for kind, schema, name, types in found:
        for epoch in ("1", "3", None):
            values = [epoch, *(ARGUMENTS.get(type_) for type_ in types[1:])]
            placed = sql.SQL(", ").join(
                sql.SQL("{}::{}").format(sql.Literal(value), sql.SQL(type_))
                for value, type_ in zip(values, types, strict=True)
            )
            verb = "call {}({})" if kind == "p" else "select * from {}({})"
            query = sql.SQL(verb).format(sql.Identifier(schema, name), placed)
            if name == "lease_release":  # whoever leaves without leading is told nothing, and changes nothing
                led.execute(query)
                continue
            with pytest.raises(psycopg.errors.DatabaseError, check=lambda error: error.sqlstate == "MX010"):
                led.execute(query)
    assert contents(led) == before

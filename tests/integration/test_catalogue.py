"""The database against the catalogue: every tag has its column, of its type, and its place in the order of the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from loader.catalogue import (
    ATTRIBUTE_GROUPS,
    DEFAULT_SITE_SCALARS,
    HEAD_KEYS,
    SCALARS,
    SETS,
    Catalogue,
    Field,
    SetKind,
    ValueType,
)

if TYPE_CHECKING:
    import psycopg

TYPES = {
    ValueType.TEXT: {"text"},
    ValueType.DATETIME_OR_TEXT: {"text"},
    ValueType.DATETIME: {"timestamp with time zone"},
    ValueType.INTEGER: {"integer", "bigint"},
}


def columns(pg: psycopg.Connection[Any], table: str) -> dict[str, str]:
    """Columns of a table of schema flight, in their order, with their type."""
    return dict(
        pg.execute(
            "select column_name, data_type from information_schema.columns "
            "where table_schema = 'flight' and table_name = %s order by ordinal_position",
            [table],
        )
    )


def check(found: dict[str, str], fields: tuple[Field, ...]) -> None:
    assert {
        field.column: found.get(field.column) for field in fields if found.get(field.column) not in TYPES[field.type]
    } == {}
    order = [column for column in found if column in {field.column for field in fields}]
    assert order == [field.column for field in fields]


def test_a_flights_columns(pg: psycopg.Connection[Any]) -> None:
    found = columns(pg, "flight_schd")
    fields = (*SCALARS, *(field for group in ATTRIBUTE_GROUPS for field in group.fields))
    check(found, fields)
    assert {name.lower() for name in HEAD_KEYS} <= found.keys()
    assert not {kind.lower() for kind in Catalogue.build().site_by_tag} & found.keys(), "they live in extra"


@pytest.mark.parametrize("kind", SETS, ids=lambda kind: kind.tag)
def test_a_sets_columns(pg: psycopg.Connection[Any], kind: SetKind) -> None:
    found = columns(pg, kind.table)
    check(found, kind.parts)
    own = {"flid", "ordinal", *({"source_seq"} if kind.number else ()), *(part.column for part in kind.parts)}
    assert found.keys() - {"route_kind"} == own


def test_the_database_has_the_order_of_the_keys_and_the_same_site_scalars(pg: psycopg.Connection[Any]) -> None:
    [(site,)] = pg.execute("select catalogue_site_scalars from core.setting")
    assert site == list(DEFAULT_SITE_SCALARS)
    for scalars in (site, ["ZZZZ datetime", "AAAA text 16"], []):
        [(order,)] = pg.execute("select flight.tag_order(%s)", [scalars])
        assert tuple(order) == Catalogue.build(scalars).json_keys[len(HEAD_KEYS) :]

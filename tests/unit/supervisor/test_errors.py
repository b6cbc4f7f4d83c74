"""One exception for each SQLSTATE, found by SQLSTATE alone."""

from __future__ import annotations

import psycopg
import pytest

from supervisor import errors
from supervisor.cli.commands import exit_of
from supervisor.exits import Exit


class Refused(psycopg.Error):
    """An error as the server would send it, with a text that says nothing."""

    def __init__(self, sqlstate: str | None) -> None:
        super().__init__("错误")
        self.sqlstate = sqlstate


@pytest.mark.parametrize("sqlstate", ["MX001", "MX002", "MX003", "MX004", "MX010", "MX011", "MX012", "MX013"])
def test_each_has_its_exception_and_says_what_it_means(sqlstate: str) -> None:
    kind = errors.BY_SQLSTATE[sqlstate]
    assert kind.sqlstate == sqlstate
    assert (kind.__doc__ or "").startswith(sqlstate)
    with pytest.raises(kind), errors.mapped():
        raise Refused(sqlstate)


@pytest.mark.parametrize("sqlstate", ["08006", "57P01", "57P02", "57P03", "53300", "28P01"])
def test_a_lost_connection_is_told_apart(sqlstate: str) -> None:
    with pytest.raises(errors.DatabaseUnreachable), errors.mapped():
        raise Refused(sqlstate)


def test_a_connection_that_never_came_has_no_sqlstate() -> None:
    with pytest.raises(errors.DatabaseUnreachable), errors.mapped():
        raise psycopg.OperationalError("连接失败")


@pytest.mark.parametrize("sqlstate", ["40P01", "55P03", "57014", "22P05", "XX000", None])
def test_all_else_stays_what_it_is(sqlstate: str | None) -> None:
    with pytest.raises(Refused), errors.mapped():
        raise Refused(sqlstate)


def test_a_hint_is_part_of_the_sentence() -> None:
    assert str(errors.NotAllowed("it is not DEAD", "Look first.")) == "it is not DEAD. Look first."
    assert str(errors.NotAllowed("Is it?", "Look.")) == "Is it? Look."
    assert str(errors.NotAllowed("plain")) == "plain"


def test_exit_codes() -> None:
    assert exit_of(errors.ConfigError("x"))[0] is Exit.USAGE
    assert exit_of(errors.DatabaseUnreachable("x"))[0] is Exit.UNREACHABLE
    assert exit_of(errors.SchemaUnknown("x"))[0] is Exit.SCHEMA
    assert exit_of(errors.SeedingRefused("x"))[0] is Exit.FINDING
    assert exit_of(psycopg.errors.UndefinedFunction())[0] is Exit.SCHEMA
    assert exit_of(psycopg.errors.CheckViolation())[0] is Exit.FINDING


def test_one_line() -> None:
    assert errors.one_line(ValueError("a\n  b")) == "a b"
    assert errors.one_line(ValueError()) == "ValueError"

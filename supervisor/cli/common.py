"""What all commands share: settings, output for people and for machines, connections."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from supervisor import config, database

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from supervisor.config import Settings
    from supervisor.database import Connection

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def console() -> Console:
    """For people, on standard output; made anew, so that a redirected stream is seen."""
    return Console(highlight=False, soft_wrap=True)


def settings() -> Settings:
    """msgx.toml and the environment."""
    return config.load()


@contextmanager
def connection(name: str) -> Iterator[Connection]:
    """A connection of this command to our PostgreSQL."""
    with database.brief(settings().database, name) as opened:
        yield opened


def plain(value: Any) -> Any:
    """A value as JSON has it: times as RFC 3339, spans in seconds."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return float(value)
    return str(value)


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, default=plain) + "\n")


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    """A plain table; None is empty."""
    made = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, overflow="fold")
    for row in rows:
        made.add_row(*("" if cell is None else _cell(cell) for cell in row))
    return made


def _cell(value: Any) -> str:
    if isinstance(value, datetime):
        return value.astimezone().strftime("%Y-%m-%d %H:%M:%S %z")
    return str(value).replace("[", "\\[")


def print_rows(title: str, rows: Sequence[dict[str, Any]], *, as_json: bool, empty: str) -> None:
    """Dictionaries as JSON or as a table."""
    if as_json:
        print_json(list(rows))
    elif not rows:
        console().print(empty)
    else:
        columns = [name for name in rows[0] if any(row[name] is not None for row in rows)]  # empty ones take room
        console().print(table(title, columns, [[row[name] for name in columns] for row in rows]))

"""``python -m tests.bench``: how fast it is, on this machine, with everything a reader needs to compare.

Private servers in a temporary folder, with fsync on. Figures differ between machines and runs; the ratios within one
run and the processor times hardly do: they are what to look at after a change.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib.resources
import json
import sys
from typing import TYPE_CHECKING, Any

import psycopg
import pymysql
from pymysql.constants import CLIENT

from demo.servers import KafkaBroker, PostgresServer, find_postgres_15, mailbox_server, temporary_folder
from loader.mailbox import MailboxConfig
from supervisor import logs
from supervisor.config import Log
from tests.bench import machine, measures

if TYPE_CHECKING:
    from collections.abc import Iterator

    from demo.servers import MariaDBServer, NoidaMySQLServer
    from tests.bench.measures import Figures

SETTINGS = {"shared_buffers": "256MB", "jit": "off", "max_wal_size": "4GB"}


def main() -> int:
    """Run what was asked for; gives the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("what", nargs="*", help=f"some of: {' '.join(measures.everything())}; default: all")
    parser.add_argument("--pg", type=int, choices=(15, 18), default=18, help="PostgreSQL version (default 18)")
    parser.add_argument("--messages", type=int, default=8_000, help="FLOPs of one measurement (default 8000)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="PostgreSQL setting")
    parser.add_argument("--json", action="store_true", help="all figures as JSON")
    chosen = parser.parse_args()
    what = set(chosen.what or measures.everything())
    if unknown := what - set(measures.everything()):
        parser.error(f"no such measurement: {', '.join(sorted(unknown))}")
    logs.configure(Log(level="error"))
    settings = SETTINGS | dict(one.split("=", 1) for one in chosen.set)

    def say(text: str) -> None:
        if not chosen.json:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()

    with temporary_folder("msgx-bench-") as folder, contextlib.ExitStack() as stack:
        programs = find_postgres_15() if chosen.pg == 15 else None
        server = stack.enter_context(PostgresServer(folder / "postgres", programs, trust=True, settings=settings))
        with psycopg.connect(server.url, autocommit=True) as connection:
            lines = {
                "machine": machine.hardware(),
                "flush": machine.flush_latency(server),
                "server": machine.versions(connection),
            }
        say(f"{lines['machine']}\n{lines['flush']}; {lines['server']}\n")
        figures: dict[str, Any] = {}
        if "apply" in what:
            figures["apply"] = found = measures.ordered_apply(server, chosen.messages)
            say(_apply(found, chosen.messages))
        if "plans" in what:
            figures["plans"] = found = measures.plans(server)
            say(_plans(found))
        if "snapshot" in what:
            figures["snapshot"] = found = measures.old_snapshot(server, chosen.messages)
            say(_snapshot(found))
        if "document" in what:
            figures["document"] = found = measures.documents(server)
            say(_document(found))
        if what & {"relay", "whole"}:
            broker = stack.enter_context(KafkaBroker(folder / "kafka"))
        if "relay" in what:
            figures["relay"] = found = measures.relay(server, broker, chosen.messages)
            say(_relay(found))
        if "whole" in what:
            box = mailbox_server(folder / "mailbox")
            stack.enter_context(box)
            make = functools.partial(_new_mailbox, box)
            figures["whole"] = found = measures.end_to_end(server, broker, make, folder)
            say(_whole(found))
    if chosen.json:
        json.dump({**lines, "messages": chosen.messages, **figures}, sys.stdout, indent=2, ensure_ascii=False)
        sys.stdout.write("\n")
    return 0


@contextlib.contextmanager
def _open(url: str) -> Iterator[pymysql.connections.Connection[Any]]:
    arguments = MailboxConfig(url).connect_arguments() | {"autocommit": True}
    with pymysql.connect(**arguments, client_flag=CLIENT.MULTI_STATEMENTS) as connection:
        yield connection


def _new_mailbox(server: MariaDBServer | NoidaMySQLServer, name: str) -> str:
    """A database with the reference tables; gives its URL."""
    with _open(server.url) as connection, connection.cursor() as cursor:
        cursor.execute(f"create database `{name}` character set utf8mb4")
        cursor.execute(f"use `{name}`")
        for table in sorted(importlib.resources.files("db").joinpath("mailbox").iterdir(), key=lambda file: file.name):
            cursor.execute(table.read_text(encoding="utf-8"))
            while cursor.nextset():
                pass
    return server.url_for(name)


def _apply(found: Figures, messages: int) -> str:
    rows = (
        ("32 to a commit", "flop_by_32", "floor_by_32"),
        ("1 to a commit", "flop_by_1", "floor_by_1"),
    )
    lines = [
        f"Ordered apply, {messages:,} FLOPs over {measures.FLIGHTS:,} flights, staging filled; beside them the floor"
    ]
    lines += [
        f"  {says:15}{found[ours]:9,.0f} /s {found[floor]:9,.0f} /s   {found[floor] / found[ours]:5.1f} ×"
        for says, ours, floor in rows
    ]
    ours, floor = found["flop_processor"], found["floor_processor"]
    lines.append(
        f"  processor      {ours:9.3f} ms {floor:9.3f} ms   {ours / floor:5.1f} ×   each, of the backend, by 32"
    )
    lines.append(f"  32 to a commit are {found['flop_by_32'] / found['flop_by_1']:.2f} × as fast as 1")
    return "\n".join(lines) + "\n"


def _plans(found: Figures) -> str:
    few, many = measures.FLIGHTS // 10, measures.FLIGHTS
    lines = [f"Day plan of {few:,} and of {many:,} flights with all their sets: ms (processor ms), median of three"]
    for case, says in (("first", "all new, no statistics"), ("again", "nothing differs")):
        small, large = found[f"{case}_{few}_processor"], found[f"{case}_{many}_processor"]
        lines.append(
            f"  {says:24}{found[f'{case}_{few}'] * 1e3:6,.0f} ({small * 1e3:,.0f}) "
            f"{found[f'{case}_{many}'] * 1e3:7,.0f} ({large * 1e3:,.0f})   processor for a flight: "
            f"{small / few * 1e3:.3f} ms, {large / many * 1e3:.3f} ms, {large / many / (small / few):.2f} ×"
        )
    return "\n".join(lines) + "\n"


def _snapshot(found: Figures) -> str:
    lines = ["FLOPs, first and last quarter of a run (processor ms each), while an old snapshot is held elsewhere"]
    for case, says in (("free", "without"), ("held", "with")):
        rates = (
            f"{found[f'{case}_{place}']:8,.0f} /s ({found[f'{case}_{place}_processor']:.3f})"
            for place in ("first", "last")
        )
        lines.append(f"  {says:8}{''.join(rates)}")
    lines.append(
        f"  head of the queue, from the last finished id: {found['head_free']:.0f} and "
        f"{found['head_held']:.0f} µs; from the beginning: {found['naive_free']:,.0f} and {found['naive_held']:,.0f} µs"
    )
    return "\n".join(lines) + "\n"


def _document(found: Figures) -> str:
    return (
        "flight.document, flights in the middle of their day\n  "
        + "   ".join(
            f"{count:,}: {found[f'document_{count}']:.1f} ms ({found[f'document_{count}'] / count:.3f} a flight)"
            for count in (1, 200, 2_000)
        )
        + "\n"
    )


def _relay(found: Figures) -> str:
    lines = ["Relay, outbox to confirmed and settled"]
    lines += [
        f"  {target:11} {found[f'{target}_rate']:8,.0f} events/s ({found[f'{target}_events']:,.0f} in "
        f"{found[f'{target}_rounds']:.0f} rounds)"
        for target in ("KAFKA:msg", "KAFKA:schd")
    ]
    return "\n".join(lines) + "\n"


def _whole(found: Figures) -> str:
    latency = ", ".join(
        f"{share} {found[f'paced_{share}'] * 1e3:.0f} ms" for share in ("50 %", "90 %", "99 %", "worst")
    )
    return (
        "End to end: a real supervisor, mailbox and broker on the same machine\n"
        f"  backlog of {found['backlog_messages']:,.0f}: {found['backlog']:,.0f} messages/s until all is processed, "
        f"told and marked\n"
        f"  at {found['paced_rate']:.0f} messages/s, from mailbox row to confirmed notice: {latency}\n"
    )


if __name__ == "__main__":
    sys.exit(main())

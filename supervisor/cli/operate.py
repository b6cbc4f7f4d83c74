"""What an operator does: seed, replay, dead letters, marks, settings, requests, alerts.

The rules are the database's; these commands carry arguments there and show what came back.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated

import typer

from supervisor import database
from supervisor.cli import common
from supervisor.database import Filter
from supervisor.errors import ConfigError
from supervisor.exits import Exit
from supervisor.mailbox import open_mailbox
from supervisor.status import counted

dead = typer.Typer(help="Messages and events that ended DEAD.", no_args_is_help=True)
backfill = typer.Typer(help="Marks that the mailbox is owed, or that were given up.", no_args_is_help=True)
setting = typer.Typer(help="What decides a result: core.setting.", no_args_is_help=True)
request = typer.Typer(help="What we ask the AODB.", no_args_is_help=True)
alert = typer.Typer(help="What a person must look at.", no_args_is_help=True)

Ids = Annotated[list[int], typer.Argument(min=0, help="Ids.", show_default=False)]
LARGEST_ID = 2**63 - 1  # of a bigint
MARK_STATUSES = ("DUE", "OVERDUE", "WAITING", "IN_HAND", "ABANDONED", "ACKNOWLEDGED")
Limit = Annotated[int, typer.Option(min=1, max=100_000, help="Most rows.")]


def seed(
    how: Annotated[str, typer.Argument(metavar="min|zero|max|ID", help="Where to begin.")],
    as_json: common.Json = False,
) -> int:
    """Set the watermark of a new installation, once.

    min: read all that the mailbox holds. zero: from 0, by the hole rule. max: leave out what is there now. ID: begin
    after this id. Refused once anything was read.
    """
    if how not in {"min", "zero", "max"} and not (how.isdecimal() and int(how) <= LARGEST_ID):
        raise ConfigError(f"{how!r} is no place to begin.", "Give min, zero, max or an id.")
    settings = common.settings()
    with database.brief(settings.database, "seed") as connection:
        with open_mailbox(settings.mailbox, connection) as mailbox:
            smallest, largest = mailbox.bounds() or (None, None)
        by_id = how.isdecimal()
        watermark = database.seed(connection, "id" if by_id else how, int(how) if by_id else None, smallest, largest)
    if as_json:
        common.print_json({"watermark": watermark, "how": how, "mailbox_min": smallest, "mailbox_max": largest})
    else:
        holds = f"ids {smallest} to {largest}" if smallest is not None else "nothing"
        common.console().print(f"The watermark is {watermark}; the mailbox holds {holds} now.")
    return Exit.OK


def replay(
    ids: Annotated[list[int] | None, typer.Argument(min=1, help="Messages.", show_default=False)] = None,
    classes: Annotated[
        list[str] | None,
        typer.Option("--class", help="Error class: CODEC_ERROR, UNSUPPORTED, INFRA, EXHAUSTED, PROTOCOL."),
    ] = None,
    states: Annotated[list[str] | None, typer.Option("--state", help="FAILED or DEAD.")] = None,
    type_: Annotated[str | None, typer.Option("--type", help="META.TYPE.")] = None,
    first: Annotated[int | None, typer.Option("--from", help="Smallest message id.")] = None,
    last: Annotated[int | None, typer.Option("--to", help="Greatest message id.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; show what would be.")] = False,
    as_json: common.Json = False,
) -> int:
    """Send messages through again. Needs ids or a filter; only replayable classes are taken.

    `later_messages` are those of the same flights that already ran: a replay does not restore the order of then.
    """
    chosen = Filter(
        tuple(ids or ()),
        tuple(one.upper() for one in classes or ()),
        tuple(one.upper() for one in states or ()),
        type_,
        first,
        last,
    )
    with common.connection("replay") as connection:
        found = database.replay(connection, chosen, dry_run=dry_run)
    if as_json:
        common.print_json({"dry_run": dry_run, "messages": found})
        return Exit.OK
    says = f"{'Would send' if dry_run else 'Sends'} {counted(len(found), 'message')} through again"
    common.print_rows(says, found, as_json=False, empty="No message is meant by that.")
    return Exit.OK


def skip(
    ids: Ids,
    reason: Annotated[str, typer.Option(help="Who decided it and why; it stays with each of them.")],
    as_json: common.Json = False,
) -> int:
    """End unfinished messages as SKIPPED: they will not be processed. Their mark is owed as any other."""
    with common.connection("skip") as connection:
        count = database.skip(connection, ids, reason)
    _say_count(count, "messages are skipped", as_json=as_json)
    return Exit.OK


@dead.command("list")
def dead_list(limit: Limit = 100, as_json: common.Json = False) -> int:
    """DEAD messages and DEAD events, the newest first."""
    with common.connection("dead") as connection:
        messages = database.dictionaries(
            connection,
            "select msg_id, error_class, replayable, type, styp, sndr, last_error, finished_at"
            " from inbox.dead order by msg_id desc limit %s",
            limit,
        )
        events = database.dictionaries(connection, "select * from outbox.dead order by event_id desc limit %s", limit)
    if as_json:
        common.print_json({"messages": messages, "events": events})
    else:
        common.print_rows("Messages", messages, as_json=False, empty="No message is dead.")
        common.print_rows("Events", events, as_json=False, empty="No event is dead.")
    return Exit.OK


@dead.command("show")
def dead_show(
    id_: Annotated[int, typer.Argument(metavar="ID", min=1)],
    event: Annotated[bool, typer.Option("--event", help="ID is an event's, not a message's.")] = False,
    as_json: common.Json = False,
) -> int:
    """All that is known of one dead message or event."""
    with common.connection("dead") as connection:
        found = (
            database.dictionaries(connection, "select * from outbox.dead where event_id = %s", id_)
            if event
            else database.dictionaries(connection, "select * from inbox.dead where msg_id = %s", id_)
        )
    if not found:
        raise ConfigError(f"There is no dead {'event' if event else 'message'} {id_}.", "`msgx dead list` shows them.")
    if as_json:
        common.print_json(found[0])
    else:
        common.console().print(common.table("", ["", ""], list(found[0].items())))
    return Exit.OK


@dead.command("requeue")
def dead_requeue(
    ids: Ids,
    event: Annotated[bool, typer.Option("--event", help="The ids are events', not messages'.")] = False,
    as_json: common.Json = False,
) -> int:
    """Try dead messages (as `msgx replay` does) or dead events again."""
    with common.connection("dead") as connection:
        if event:
            for id_ in ids:
                database.dead_event_requeue(connection, id_)
            done = list(ids)
        else:
            done = [row["msg_id"] for row in database.replay(connection, Filter(tuple(ids)), dry_run=False)]
    _say_done("requeued", done, as_json=as_json)
    return Exit.OK


@dead.command("discard")
def dead_discard(
    ids: Ids,
    reason: Annotated[str, typer.Option(help="Why it need not be told any more; kept.")],
    as_json: common.Json = False,
) -> int:
    """Give dead events up. (A dead message needs nothing of the kind: it has ended, and its mark is written.)"""
    with common.connection("dead") as connection:
        for id_ in ids:
            database.dead_event_discard(connection, id_, reason)
    _say_done("discarded", list(ids), as_json=as_json)
    return Exit.OK


@backfill.command("list")
def backfill_list(
    status: Annotated[
        str | None, typer.Option(help="DUE, OVERDUE, WAITING, IN_HAND, ABANDONED or ACKNOWLEDGED.")
    ] = None,
    limit: Limit = 100,
    as_json: common.Json = False,
) -> int:
    """Marks that are owed or were given up."""
    if status is not None and status.upper() not in MARK_STATUSES:
        raise ConfigError(f"--status {status!r} is none.", f"Known are {', '.join(MARK_STATUSES)}.")
    with common.connection("backfill") as connection:
        found = database.dictionaries(
            connection,
            "select msg_id, state, marker, status, attempts, next_at, error, deadline, abandoned_at, abandoned_reason,"
            " acknowledged_by, acknowledged_note from inbox.backfill_todo"
            " where %s::text is null or status = %s order by msg_id limit %s",
            status and status.upper(),
            status and status.upper(),
            limit,
        )
    common.print_rows("Marks", found, as_json=as_json, empty="No mark is owed.")
    return Exit.OK


@backfill.command("reopen")
def backfill_reopen(ids: Ids, as_json: common.Json = False) -> int:
    """Try marks again that were given up."""
    with common.connection("backfill") as connection:
        count = database.backfill_reopen(connection, ids)
    _say_count(count, "marks are tried again", as_json=as_json)
    return Exit.OK


@backfill.command("acknowledge")
def backfill_acknowledge(
    ids: Ids,
    note: Annotated[str, typer.Option(help="What was found; it is the evidence for clearing the mailbox row.")],
    as_json: common.Json = False,
) -> int:
    """A person has reconciled marks that were given up."""
    with common.connection("backfill") as connection:
        count = database.backfill_acknowledge(connection, ids, note)
    _say_count(count, "marks are acknowledged", as_json=as_json)
    return Exit.OK


@setting.command("list")
def setting_list(
    part: Annotated[str | None, typer.Argument(help="Only keys that contain this.")] = None,
    as_json: common.Json = False,
) -> int:
    """Every setting: key, value, default, what it is for."""
    with common.connection("setting") as connection:
        found = database.dictionaries(
            connection,
            "select key, value, default_value, description, column_name from core.setting_view"
            " where %s::text is null or strpos(key, %s) > 0 or strpos(column_name, %s) > 0",
            part,
            part,
            part,
        )
    if as_json:
        common.print_json(found)
    else:
        rows = [
            [("* " if row["value"] != row["default_value"] else "  ") + row["key"], row["value"], row["description"]]
            for row in found
        ]
        common.console().print(common.table("Settings (* = not the default)", ["key", "value", "meaning"], rows))
    return Exit.OK


@setting.command("set")
def setting_set(
    key: Annotated[str, typer.Argument(help="msgx.… key, column of core.setting, or policy.")],
    value: Annotated[str, typer.Argument(help="The new value, as `msgx setting list` shows them.")],
    as_json: common.Json = False,
) -> int:
    """Change a setting between two messages; `msgx setting set policy ledger` changes all eight switches."""
    with common.connection("setting") as connection:
        changed = database.setting_set(connection, key, value)
    common.print_rows("Changed", changed, as_json=as_json, empty="Nothing changed: it had that value already.")
    return Exit.OK


@request.command("plan")
def request_plan(
    day: Annotated[str, typer.Option(help="Operational day, YYYY-MM-DD.")],
    sender: Annotated[str | None, typer.Option(help="META.SNDR of the answer; any sender's if not given.")] = None,
    as_json: common.Json = False,
) -> int:
    """Note that we ask for the plan of one operational day, so that its answer counts as covering it."""
    try:
        wanted = date.fromisoformat(day)
    except ValueError:
        raise ConfigError(f"--day {day!r} is no day.", "Give it as YYYY-MM-DD.") from None
    with common.connection("request") as connection:
        id_ = database.open_plan(connection, wanted, sender)
    if as_json:
        common.print_json({"request_id": id_, "day": wanted, "sender": sender})
    else:
        common.console().print(f"Request {id_} is open for the plan of {wanted} from {sender or 'any sender'}.")
    return Exit.OK


@alert.command("list")
def alert_list(
    everything: Annotated[bool, typer.Option("--all", help="Also those somebody took note of.")] = False,
    limit: Limit = 100,
    as_json: common.Json = False,
) -> int:
    """Open alerts, the newest first."""
    with common.connection("alert") as connection:
        found = database.dictionaries(
            connection,
            "select alert_id, code, detail, raised_at, repeats, message_id, acknowledged_at, acknowledged_by"
            " from core.alert_view where open or %s limit %s",
            everything,
            limit,
        )
    common.print_rows("Alerts", found, as_json=as_json, empty="No alert is open.")
    return Exit.OK


@alert.command("ack")
def alert_ack(ids: Ids, as_json: common.Json = False) -> int:
    """Take note of alerts."""
    with common.connection("alert") as connection:
        count = database.alert_acknowledge(connection, ids)
    _say_count(count, "alerts are acknowledged", as_json=as_json)
    return Exit.OK


def _say_done(what: str, ids: list[int], *, as_json: bool) -> None:
    if as_json:
        common.print_json({what: ids})
    else:
        common.console().print(f"{len(ids)} {what}: {', '.join(map(str, ids)) or 'none'}.")


def _say_count(count: int, what: str, *, as_json: bool) -> None:
    if as_json:
        common.print_json({"count": count})
    else:
        common.console().print(f"{count} {what}.")

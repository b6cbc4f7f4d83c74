"""``msgx status`` and ``msgx flight show``: how are we, and why does this flight look so?"""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.json import JSON
from rich.markup import escape

from supervisor import database, deploy
from supervisor.cli import common
from supervisor.errors import NoSuchObject, SchemaUnknown
from supervisor.exits import Exit
from supervisor.status import ago, collect, counted, duration, moment, when

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from supervisor.database import Connection

flight = typer.Typer(help="The state of flights.", no_args_is_help=True)


def status(as_json: common.Json = False) -> int:
    """Are we behind, what is stuck, what must a person look at? One screen."""
    with common.connection("status") as connection:
        _known(connection)
        found = collect(connection)
    if as_json:
        common.print_json(found)
    else:
        _print_status(common.console(), found)
    return Exit.OK


def _known(connection: Connection) -> None:
    if database.value(connection, "select to_regclass('core.migration_digest')") is None:
        raise SchemaUnknown(deploy.known_schema(connection) or "The schema is not there.")


def _print_status(out: Console, found: dict[str, Any]) -> None:
    now = moment(found["at"]) or datetime.now().astimezone()
    for name, text in _lines(found, now):
        out.print(f"[bold]{name:<18}[/] {escape(text)}")
    duties = [
        [name, ago(moment(one["last_success_at"]), now), one["failures"] or None, one["detail"]]
        for name, one in found["duties"].items()
    ]
    if duties:
        out.print()
        out.print(common.table("", ["duty", "last success", "failures", ""], duties))
    alerts = found["alerts"]
    if alerts["newest"]:
        out.print()
        codes = ", ".join(f"{code} {count}" for code, count in alerts["by_code"].items())
        rows = [[one["alert_id"], ago(moment(one["raised_at"]), now), one["detail"]] for one in alerts["newest"]]
        title = f"Alerts of the last day: {codes} (`msgx alert list`, `msgx alert ack ID`)"
        out.print(common.table(title, ["id", "raised", "the newest"], rows))
    out.print()
    for problem in found["problems"]:
        out.print(f"[yellow]![/] {escape(problem)}")
    if not found["problems"]:
        out.print("[green]Nothing is stuck.[/]")


def _lines(found: dict[str, Any], now: datetime) -> Iterator[tuple[str, str]]:
    leader, hole, backlog, marks = found["leader"], found["hole"], found["backlog"], found["marks"]
    since = when(moment(leader["acquired_at"]))
    yield "leader", f"{leader['holder']} (epoch {leader['epoch']}, since {since})" if leader["leads"] else "nobody"
    yield "policy", found["policy"] + (", shadow: no mark is written" if marks["shadow"] else "")
    yield "watermark", f"{found['watermark']}, mailbox read {ago(moment(found['read_at']), now)}"
    yield (
        "hole",
        f"id {hole['first_id']}, seen {ago(moment(hole['since']), now)}, passed over in "
        f"{duration(float(hole['remaining_seconds']))}"
        if hole
        else f"none now, {found['holes_released']} passed over",
    )
    head = backlog["head"]
    yield (
        "backlog",
        f"{counted(backlog['count'], 'message')}, the first is {head['msg_id']}, "
        f"here for {duration(float(head['age_seconds']))}"
        if head
        else "nothing waits",
    )
    yield "messages", _counts(found["messages"])
    for state, classes in (("FAILED", found["failed_by_class"]), ("DEAD", found["dead_by_class"])):
        if classes:
            yield f"  {state}", _counts(classes)
    for target, counts in found["outbox"].items():
        pending = counts["oldest_pending_seconds"]
        waits = "" if pending is None else f", the oldest waits for {duration(float(pending))}"
        backing_off = f", {counts['backing_off']} back off" if counts["backing_off"] else ""
        yield target, _counts({state: counts[state] for state in ("PENDING", "SENT", "DEAD")}) + waits + backing_off
    yield "marks", _counts({name: marks[name] for name in ("owed", "overdue", "abandoned", "acknowledged")})


def _counts(counts: dict[str, int | None]) -> str:
    """Zeros are left out; null is a number that would cost too much to find out."""
    said = ", ".join(f"{name} {'many' if count is None else count}" for name, count in counts.items() if count != 0)
    return said or "none"


# A flight ----------------------------------------------------------------------------------------------------------


@flight.command("show")
def flight_show(
    flid: Annotated[int, typer.Argument(metavar="FLID", min=0)],
    tag: Annotated[str | None, typer.Option(help="Only events that changed this tag: who set GTDT, and when?")] = None,
    events: Annotated[int, typer.Option(min=0, max=1000, help="How many of its latest events.")] = 10,
    as_json: common.Json = False,
) -> int:
    """One flight as it stands, and what brought it there: its last message and its latest events."""
    with common.connection("flight") as connection:
        _known(connection)
        document = database.value(
            connection, "select document from flight.document(array[%s]::bigint[]) where flid = %s", flid, flid
        )
        version = (
            document["STATE_VERSION"]
            if document is not None
            else database.value(connection, "select state_version from flight.flid_version where flid = %s", flid)
        )
        if document is None and version is None:
            raise NoSuchObject(f"No flight {flid} was ever seen.", "FLID is the AODB's number, not the flight number.")
        told = database.dictionaries(
            connection,
            "select event_id, event_type, state_version, message_id, state, updated_at, sent_at, payload, last_error"
            " from outbox.msg_event where flid = %s and target = 'KAFKA:msg'"
            " and (%s::text is null or payload::jsonb -> 'CHANGED' ? %s) order by event_id desc limit %s",
            flid,
            tag,
            tag and tag.upper(),
            events,
        )
        state_event = database.dictionaries(
            connection,
            "select event_id, state, state_version, sent_at, attempts, next_attempt_at, last_error"
            " from outbox.msg_event where flid = %s and target = 'KAFKA:schd'",
            flid,
        )
        last_message = _message(connection, document, told)
    answer = {
        "flid": flid,
        "version": version,
        "document": document,
        "last_message": last_message,
        "events": told,
        "state_event": state_event[0] if state_event else None,
    }
    if as_json:
        common.print_json(answer)
    else:
        _print_flight(common.console(), answer)
    return Exit.OK


def _message(connection: Connection, document: Any, told: list[dict[str, Any]]) -> dict[str, Any] | None:
    message = document.get("LAST_MESSAGE_ID") if isinstance(document, dict) else None
    message = message or (told[0]["message_id"] if told else None)
    if message is None:
        return None
    found = database.dictionaries(
        connection,
        "select msg_id, sndr, type, styp, seqn, state, last_error, received_at, enqueued_at, finished_at, replays"
        " from inbox.proc_state where msg_id = %s",
        message,
    )
    return found[0] if found else {"msg_id": message}


def _print_flight(out: Console, answer: dict[str, Any]) -> None:
    if answer["document"] is None:
        out.print(f"Flight {answer['flid']} is deleted; its last version was {answer['version']}.")
    else:
        out.print(JSON.from_data(answer["document"], indent=1, ensure_ascii=False, default=common.plain))
    message = answer["last_message"]
    if message is not None:
        kind = f"{message.get('type') or '?'}-{message.get('styp') or '?'} from {message.get('sndr') or '?'}"
        out.print(f"\n[bold]Last message[/] {message['msg_id']}: {kind}, ended {when(message.get('finished_at'))}")
    rows = [
        [
            one["event_id"],
            one["state_version"],
            one["event_type"],
            *_why(one),
            one["message_id"],
            one["state"],
            one["updated_at"],
        ]
        for one in answer["events"]
    ]
    if rows:
        out.print(
            common.table("Latest notices", ["event", "version", "type", "changed", "by", "message", "told", "at"], rows)
        )
    state_event = answer["state_event"]
    if state_event is not None:
        out.print(f"State topic: version {state_event['state_version']} is {state_event['state']}.")


def _why(event: dict[str, Any]) -> tuple[str, str]:
    """Changed tags and kind of message of a notice, as it says itself."""

    try:
        notice = json.loads(event["payload"] or "{}")
    except ValueError:
        return "", ""
    message = notice.get("MESSAGE") or {}
    return " ".join(notice.get("CHANGED") or []), f"{message.get('TYPE', '')}-{message.get('STYP', '')}".strip("-")

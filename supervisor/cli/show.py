"""``msgx status`` and ``msgx flight show``: how are we, and why does this flight look so?"""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.json import JSON

from supervisor import database, deploy
from supervisor.cli import common
from supervisor.errors import NoSuchObject, SchemaUnknown
from supervisor.exits import Exit
from supervisor.status import ago, collect, duration, when

if TYPE_CHECKING:
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
    now: datetime = found["now"]
    leader, intake, backlog, policy = found["leader"], found["intake"], found["backlog"], found["policy"]
    alive = f"{leader['holder']} (epoch {leader['epoch']}, since {when(_at(leader['since']))})"
    lines = [
        ("leader", alive if leader["alive"] else "nobody"),
        ("policy", policy["name"] + (", shadow: no mark is written" if policy["shadow"] else "")),
        ("watermark", f"{intake['watermark']}, mailbox read {ago(_at(intake['read_at']), now)}"),
        (
            "hole",
            "none"
            if intake["hole"] is None
            else f"id {intake['hole']}, seen {ago(_at(intake['hole_since']), now)}, passed over at "
            f"{when(_at(intake['hole_ends']))}",
        ),
        ("holes passed over", f"{intake['holes_released']} ids"),
        (
            "backlog",
            "nothing waits"
            if not backlog["unfinished"]
            else f"{backlog['unfinished']} messages from {backlog['head']} on, the oldest for "
            f"{duration(float(backlog['oldest_unprocessed_seconds']))}",
        ),
        ("messages", _counts([(_name(one["state"], one["class"]), one["count"]) for one in found["messages"]])),
        *(
            (target, _counts([(one["state"], one["count"]) for one in found["outbox"] if one["target"] == target]))
            for target in (database.MSG, database.SCHD)
        ),
        ("marks", _counts(sorted(found["marks"].items())) if found["marks"] else "none owed"),
    ]
    for name, text in lines:
        out.print(f"[bold]{name:<18}[/] {text.replace('[', chr(92) + '[')}")
    rows = [
        [
            one["duty"],
            ago(_at(one["last_success_at"]), now),
            ago(_at(one["last_run_at"]), now),
            one["failures"] or None,
            one["detail"],
        ]
        for one in found["duties"]
    ]
    if rows:
        out.print()
        out.print(common.table("", ["duty", "last success", "last report", "failures", ""], rows))
    if found["alerts"]:
        out.print()
        title = f"{found['open_alerts']} open alerts (`msgx alert list`, `msgx alert ack ID`)"
        rows = [
            [one["alert_id"], ago(_at(one["raised_at"]), now), one["code"], one["detail"]] for one in found["alerts"]
        ]
        out.print(common.table(title, ["id", "raised", "code", "detail"], rows))
    out.print()
    if not found["problems"]:
        out.print("[green]Nothing needs a person.[/]" if not found["alerts"] else "Nothing is stuck.")
    for problem in found["problems"]:
        out.print(f"[yellow]![/] {problem.replace('[', chr(92) + '[')}")


def _at(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _name(state: str, error_class: str | None) -> str:
    return state if error_class is None else f"{state}({error_class})"


def _counts(pairs: list[tuple[str, int]]) -> str:
    return ", ".join(f"{name} {count}" for name, count in pairs) or "none"


# A flight ----------------------------------------------------------------------------------------------------------


@flight.command("show")
def flight_show(
    flid: Annotated[int, typer.Argument(metavar="FLID", min=0)],
    events: Annotated[int, typer.Option(min=0, max=1000, help="How many of its latest events.")] = 10,
    as_json: common.Json = False,
) -> int:
    """One flight as it stands, and what brought it there: its last message and its latest events."""
    with common.connection("flight") as connection:
        _known(connection)
        document = database.value(
            connection, "select document from flight.document(array[%s]::bigint[]) where flid = %s", flid, flid
        )
        version = database.value(connection, "select state_version from flight.flid_version where flid = %s", flid)
        if document is None and version is None:
            raise NoSuchObject(f"No flight {flid} was ever seen.", "FLID is the AODB's number, not the flight number.")
        told = database.dictionaries(
            connection,
            "select event_id, event_type, state_version, message_id, state, updated_at, sent_at, payload, last_error"
            " from outbox.msg_event where flid = %s and target = 'KAFKA:msg' order by event_id desc limit %s",
            flid,
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
            _why(one),
            one["message_id"],
            one["state"],
            one["updated_at"],
        ]
        for one in answer["events"]
    ]
    if rows:
        out.print(
            common.table("Latest notices", ["event", "version", "type", "changed", "message", "told", "at"], rows)
        )
    state_event = answer["state_event"]
    if state_event is not None:
        out.print(f"State topic: version {state_event['state_version']} is {state_event['state']}.")


def _why(event: dict[str, Any]) -> str:
    """Message type and changed tags of a notice, as it says itself."""

    try:
        notice = json.loads(event["payload"] or "{}")
    except ValueError:
        return ""
    message = notice.get("MESSAGE") or {}
    return f"{message.get('TYPE', '')}-{message.get('STYP', '')}: {' '.join(notice.get('CHANGED') or [])}".strip(": -")

"""``msgx simulate``: a real day's flights into the mailbox of msgx.toml, or onto standard output."""

from __future__ import annotations

import json
import sys
import threading
from datetime import datetime, time
from typing import TYPE_CHECKING, Annotated

import psycopg
import typer
from rich.console import Console

from demo.simulator.source import NoSuchDayError, departures
from demo.simulator.stream import DEFAULT_AIRPORT, DEFAULT_DAY, simulate
from demo.simulator.writer import write
from loader.mailbox import Mailbox
from supervisor import config, database
from supervisor.errors import ConfigError, MsgxError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from demo.simulator.stream import Stream

Airport = Annotated[str, typer.Option(help="JFK, EWR or LGA.")]
Day = Annotated[
    datetime,
    typer.Option(
        formats=["%Y-%m-%d"], help="2013-02-07, -08, -09, 2013-07-10 or -11.", show_default=DEFAULT_DAY.isoformat()
    ),
]
Seed = Annotated[
    int, typer.Option(help="For what the record has no word of: gates, code shares, when a delay is known …")
]
Flights = Annotated[int | None, typer.Option(min=1, help="Only the first so many departures of the day.")]

DEFAULT_MOMENT = datetime.combine(DEFAULT_DAY, time.min)
"""The default day as typer has it, which knows no dates."""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def command(
    airport: Airport = DEFAULT_AIRPORT,
    day: Day = DEFAULT_MOMENT,
    speed: Annotated[
        float, typer.Option(min=0, help="Simulated seconds per second; 0 = as fast as the mailbox takes them.")
    ] = 0.0,
    seed: Seed = 1,
    flights: Flights = None,
    reference: Annotated[
        bool,
        typer.Option("--reference", help="Also AIRL, ARPT and AIRC lists; each holds up the queue until it is DEAD."),
    ] = False,
    print_: Annotated[bool, typer.Option("--print", help="Print the messages instead of writing them.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Say what was written, and what must come of it, as JSON.")
    ] = False,
) -> int:
    """Write a real day's flights into the mailbox of msgx.toml, as an AODB would have sent them.

    Times are local to the airport: msgx.airport.timezone must be America/New_York. What must come of the day is known
    from the record, and printed.
    """
    airport, on = known(airport, day)
    stream = simulate(airport, on, speed, seed, flights=flights, reference=reference)
    if print_:
        for message in stream:
            sys.stdout.write(message.xml.strip() + "\n")
        return 0
    settings = config.load()
    _warn_of_another_zone(stream, settings)
    console = Console(stderr=True, highlight=False)
    stop = threading.Event()
    written = 0

    def progress(count: int, reached: datetime) -> None:
        nonlocal written
        written = count
        if console.is_terminal:
            console.print(f"{count:,} of {len(stream):,}, {reached:%d %b %H:%M} at {stream.airport}", end="\r")

    with Mailbox(settings.mailbox.for_loader(), stream.zone) as mailbox:
        try:
            write(stream, mailbox, stop=stop, progress=progress)
        except KeyboardInterrupt:
            sys.stderr.write(f"msgx: interrupted; {written:,} of {len(stream):,} messages are in the mailbox.\n")
            return 130
        _say(stream, mailbox.config.place, as_json=as_json)
    return 0


def known(airport: str, day: datetime) -> tuple[str, date]:
    """The two arguments as the simulator takes them.

    Raises:
        ConfigError: the data has no such airport or day; says what it has.
    """
    try:
        departures(airport.upper(), day.date())
    except NoSuchDayError as error:
        raise ConfigError(f"There are {error}.") from None
    return airport.upper(), day.date()


def _warn_of_another_zone(stream: Stream, settings: config.Settings) -> None:
    """Say so if the database takes the times for another zone's; where there is no database, nothing is said."""
    try:
        with database.brief(settings.database, "simulate") as connection:
            zone = database.setting(connection, "airport_timezone")
    except (MsgxError, psycopg.Error):
        return
    if zone != str(stream.zone):
        sys.stderr.write(
            f"msgx: the database takes message times for {zone}'s, these are {stream.zone}'s: "
            f"`msgx setting set msgx.airport.timezone {stream.zone}` first.\n"
        )


def _say(stream: Stream, place: str, *, as_json: bool) -> None:
    truth = stream.truth()
    if as_json:
        summary = {
            "airport": stream.airport,
            "day": stream.day.isoformat(),
            "timezone": str(stream.zone),
            "seed": stream.seed,
            "mailbox": place,
            "messages": len(stream),
            "skipped": truth.skipped,
            "departures": len(truth.departures),
            "cancelled": sorted(truth.cancelled_departures),
            "code_shares": {str(child): main for child, main in sorted(truth.code_shares.items())},
            "withdrawn": sorted(truth.withdrawn),
            "departed": {str(flid): time.isoformat() for flid, time in sorted(truth.departed.items())},
        }
        sys.stdout.write(json.dumps(summary, indent=2) + "\n")
        return
    sys.stdout.write(
        f"{len(stream):,} messages of {stream.airport} on {stream.day} are in the mailbox at {place}.\n"
        f"On record: {len(truth.departures)} departures, {len(truth.cancelled_departures)} of them cancelled. "
        f"Drawn: {len(truth.code_shares)} code shares, {len(truth.arrivals)} arriving legs, "
        f"{len(truth.withdrawn)} flights withdrawn. {truth.skipped} messages end SKIPPED.\n"
    )


def main(arguments: Sequence[str]) -> int:
    """Run the command; gives its exit code. Wrong arguments are raised: as typer's own exceptions, or ConfigError."""
    answer = typer.main.get_command(app).main(args=list(arguments), prog_name="msgx simulate", standalone_mode=False)
    return int(answer or 0)

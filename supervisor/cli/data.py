"""``msgx db``: bring the schema to this release, compare, show."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from supervisor import database, deploy
from supervisor.cli import common
from supervisor.exits import Exit

app = typer.Typer(help="The schema in PostgreSQL.", no_args_is_help=True)


def _url() -> str:
    """The address, once it has answered: an unreachable server is another exit than a refused deployment."""
    settings = common.settings().database
    database.connect(settings, "db").close()
    return settings.url


@app.command()
def apply(
    as_json: common.Json = False,
    prune: Annotated[bool, typer.Option(help="Also drop what no file of this release makes any more.")] = False,
) -> int:
    """Bring the database to this release: migrations, then every routine whose text changed. Safe to repeat."""
    done = deploy.apply(_url(), prune=prune)
    if as_json:
        common.print_json(asdict(done))
    elif not done.changed:
        common.console().print(f"Nothing to do: the database is on release {deploy.release()}.")
    else:
        for kind, names in (("Migrations", done.migrations), ("Routines", done.routines), ("Dropped", done.pruned)):
            if names:
                common.console().print(f"{kind} ({len(names)}): {', '.join(names)}")
    return Exit.OK


@app.command()
def verify(as_json: common.Json = False) -> int:
    """Compare the database with this release. Exit 1 if anything differs."""
    findings = deploy.verify(_url())
    if as_json:
        common.print_json([asdict(finding) for finding in findings])
    elif not findings:
        common.console().print(f"No difference: the database is on release {deploy.release()}.")
    else:
        for finding in findings:
            common.console().print(f"{finding.kind}  {finding.sentence}", markup=False)
    return Exit.FINDING if findings else Exit.OK


@app.command()
def plan(as_json: common.Json = False) -> int:
    """Print the SQL that `msgx db apply` would run now."""
    text = deploy.plan(_url())
    if as_json:
        common.print_json({"sql": text})
    else:
        sys.stdout.write(text or "-- Nothing to do.\n")
    return Exit.OK

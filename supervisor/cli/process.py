"""``msgx run``, ``msgx simulate``, ``msgx demo``."""

from __future__ import annotations

import importlib
import sys
from typing import Annotated, Any

import typer

from supervisor.cli import common
from supervisor.errors import ConfigError
from supervisor.exits import Exit
from supervisor.logs import configure
from supervisor.supervisor import Supervisor


def run(
    until_idle: Annotated[bool, typer.Option("--until-idle", help="Work everything off, then end.")] = False,
    max_wait: Annotated[
        float,
        typer.Option(
            min=0, help="With --until-idle: seconds to wait for back-offs, holes and lost services without progress."
        ),
    ] = 120.0,
) -> int:
    """Run the supervisor: stand by, lead, stop on SIGTERM or SIGINT (a second one stops at once).

    With --until-idle it works off messages, events and marks, waiting for what is due within --max-wait after the last
    progress. Exit 0: nothing is left. Exit 3: something is left that is not due in time; it says what.
    """
    settings = common.settings()
    configure(settings.log)
    supervisor = Supervisor(settings)
    if not until_idle:
        return supervisor.run()
    code, left = supervisor.run_until_idle(max_wait)
    for sentence in left:
        sys.stderr.write(f"msgx: {sentence}\n")
    return code


def simulate(context: typer.Context) -> int:
    """Write a real day's flights into a mailbox (`msgx simulate --help` for its own arguments)."""
    return _lend("demo.simulator", context, "simulate")


def demo(context: typer.Context) -> int:
    """Start everything on this machine, show a day, and check it (`msgx demo --help` for its own arguments)."""
    return _lend("demo.demo", context, "demo")


def _lend(module: str, context: typer.Context, name: str) -> int:
    """Hand the arguments to a module of the demo, which production need not have."""
    try:
        found: Any = importlib.import_module(module)
    except ImportError as error:
        raise ConfigError(
            f"`msgx {name}` needs what is not installed here: {error.name or error}.", "pip install 'msgexchange[demo]'"
        ) from error
    answer = found.main(list(context.args))
    return int(answer) if answer is not None else Exit.OK

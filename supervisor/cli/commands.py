"""All commands of ``msgx``, put together, and what the exit code and the sentence of a failure are.

Every failure is one sentence that says what to do, on standard error, with an exit code of
:class:`supervisor.exits.Exit`.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING

import psycopg
import typer
from typer.exceptions import TyperException

from loader.mailbox import MailboxError
from supervisor import deploy
from supervisor.cli import data, doctor, operate, process, show
from supervisor.config import Log
from supervisor.errors import (
    BrokerUnreachable,
    ConfigError,
    DatabaseUnreachable,
    MsgxError,
    SchemaUnknown,
    lost,
    one_line,
)
from supervisor.exits import Exit
from supervisor.logs import configure

if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_CODES = """Exit codes: 0 done · 1 a finding, or refused · 2 wrong arguments or configuration · 3 not idle in time ·
4 PostgreSQL, mailbox or broker unreachable · 5 unknown schema · 6 stopped by force · 70 a fault of ours."""

app = typer.Typer(
    name="msgx",
    help="Flight messages from an AODB mailbox to one current state and two Kafka topics.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="rich",
)

app.command("run")(process.run)
app.command("status")(show.status)
app.add_typer(data.app, name="db")
app.command("seed")(operate.seed)
app.command("replay")(operate.replay)
app.command("skip")(operate.skip)
app.add_typer(operate.dead, name="dead")
app.add_typer(operate.backfill, name="backfill")
app.add_typer(operate.setting, name="setting")
app.add_typer(operate.request, name="request")
app.add_typer(operate.alert, name="alert")
app.add_typer(show.flight, name="flight")
app.command(
    "simulate", context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
)(process.simulate)
app.command(
    "demo", context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
)(process.demo)
app.command("doctor")(doctor.doctor)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"msgx {deploy.release()}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the release."),
) -> None:
    """Flight messages from an AODB mailbox to one current state and two Kafka topics."""


def exit_of(error: BaseException) -> tuple[Exit, str]:
    """The exit code and the sentence for a failure."""
    if isinstance(error, ConfigError):
        return Exit.USAGE, str(error)
    if isinstance(error, DatabaseUnreachable | BrokerUnreachable | MailboxError):
        return Exit.UNREACHABLE, str(error)
    if isinstance(error, SchemaUnknown):
        return Exit.SCHEMA, str(error)
    if isinstance(
        error, psycopg.errors.UndefinedFunction | psycopg.errors.UndefinedTable | psycopg.errors.InvalidSchemaName
    ):
        return (
            Exit.SCHEMA,
            f"{one_line(error)}. This database is not on the schema of this release: run `msgx db apply`.",
        )
    if isinstance(error, psycopg.Error):
        hint = f" {error.diag.message_hint}" if error.diag.message_hint else ""
        if isinstance(error, psycopg.errors.InsufficientPrivilege):
            hint += (
                " This login lacks the role for it: msgx_reader looks, msgx_operator changes, msgx_app runs the"
                " supervisor, the schema's owner deploys. `msgx doctor` says which it has."
            )
        return (Exit.UNREACHABLE if lost(error) else Exit.FINDING), f"PostgreSQL refused: {one_line(error)}.{hint}"
    return Exit.FINDING, str(error)


def invoke(arguments: Sequence[str] | None) -> int:
    """Run one command; gives its exit code. Whatever goes wrong is said here, in one sentence."""
    configure(Log(level="warning"))  # `msgx run` does it again, with its own settings
    try:
        answer = app(args=list(arguments) if arguments is not None else None, prog_name="msgx", standalone_mode=False)
    except TyperException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "msgx"
        return _say(Exit.USAGE, f"{error.format_message().rstrip('.')}. `{command} --help` shows what there is.")
    except (typer.Abort, KeyboardInterrupt):
        return _say(Exit.FINDING, "Interrupted.")
    except (MsgxError, MailboxError, deploy.DeployError, psycopg.Error) as error:
        return _say(*exit_of(error))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    except Exception as error:  # the last resort, so that nobody meets a traceback unasked
        if os.environ.get("MSGX_LOG__LEVEL", "").lower() == "debug":
            logging.getLogger("msgx").exception("fault")
        what = f"{type(error).__name__}: {one_line(error)}"
        return _say(Exit.BUG, f"A fault of ours: {what}. Please report it; MSGX_LOG__LEVEL=debug shows where it was.")
    return int(answer) if isinstance(answer, int) else Exit.OK


def _say(code: Exit, sentence: str) -> Exit:
    sys.stderr.write(f"msgx: {sentence}\n")
    return code

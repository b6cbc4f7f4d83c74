"""``msgx`` as people and machines use it: what it prints, what it refuses, with which exit code."""

from __future__ import annotations

import json
import os
import re
import threading
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from supervisor import database
from supervisor.cli.main import main
from supervisor.duties import Intake, Pump, Work

from .supervised import Site, adft, flop, message, unknown

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Cli:
    """Runs commands in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """Its standard output; fails if the exit code is another one, or if it is not a sentence that says why."""
        got = main(list(arguments))
        self.out, self.err = self._capsys.readouterr()
        assert got == code, f"exit {got}\n{self.out}\n{self.err}"
        assert "Traceback" not in self.out + self.err
        if code not in {0, 1}:
            assert self.err.startswith("msgx: ")
        return self.out

    def json(self, *arguments: str, code: int = 0) -> Any:
        return json.loads(self(*arguments, "--json", code=code))


@pytest.fixture
def site(tmp_path: Path, database_url: str, mailbox_url: str, bootstrap: str, topic: Callable[[str], str]) -> Site:
    return Site(tmp_path, database_url, mailbox_url, bootstrap, topic("msg"), topic("schd"))


@pytest.fixture
def cli(site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    for name in os.environ:
        if name.upper().startswith("MSGX_"):
            monkeypatch.delenv(name)
    for name, value in site.environment.items():
        if name.startswith("MSGX_"):
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    return Cli(capsys)


@pytest.fixture
def process(site: Site, capsys: pytest.CaptureFixture[str]) -> Callable[[], None]:
    """Reads and processes what is in the mailbox, once, without relay and marks."""
    from supervisor.config import Database, Mailbox, Settings

    settings = Settings(database=Database(url=site.database_url), mailbox=Mailbox(url=site.mailbox_url))

    def run() -> None:
        with psycopg.connect(site.database_url, autocommit=True, row_factory=psycopg.rows.namedtuple_row) as connection:
            epoch = database.lease_acquire(connection, "test", 600).epoch
            for duty in (Intake(settings), Pump(settings)):
                duty.run(Work(epoch, threading.Event(), lambda: True, lambda *_names: None, 30.0))
                duty.close()
            database.lease_release(connection, epoch)
        capsys.readouterr()

    return run


def test_a_first_day(cli: Cli, site: Site) -> None:
    assert "one current state" in cli("--help")
    assert "3 not idle in time" in " ".join(cli("--help").split())
    assert cli("--version").startswith("msgx ")
    assert "Nothing to do" in cli("db", "apply")
    assert cli.json("db", "verify") == []
    site.send(adft(1, 1), adft(2, 2))
    seeded = cli.json("seed", "min")
    assert seeded == {"watermark": 0, "how": "min", "mailbox_min": 1, "mailbox_max": 2}
    cli("seed", "zero", code=1)
    assert "Seeding is for a new installation" in cli.err
    found = cli.json("status")
    assert found["policy"] == "retain"
    assert found["problems"][0].startswith("Nobody leads")
    assert "nobody" in cli("status")


def test_seeding(cli: Cli, site: Site) -> None:
    site.send(*[adft(n, n) for n in range(1, 6)])
    cli("seed", "later", code=2)
    assert "min, zero, max or an id" in cli.err
    cli("seed", "9223372036854775808", code=2)
    assert "no place to begin" in cli.err
    cli("seed", "99", code=1)
    assert "the mailbox ends at 5" in cli.err
    assert "The watermark is 3" in cli("seed", "3")


def test_verify_finds_drift(cli: Cli, site: Site) -> None:
    site.sql("update core.routine set digest = 'x' where routine_name = 'now'")
    findings = cli.json("db", "verify", code=1)
    assert [finding["subject"] for finding in findings] == ["core.now"]
    assert "core.now" in cli("db", "verify", code=1)
    assert "core.now" in cli("db", "plan")
    assert "core.now" in cli("db", "apply")
    cli("db", "verify")


def test_replay_and_dead_messages(cli: Cli, site: Site, process: Callable[[], None]) -> None:
    site.sql("update core.setting set pipeline_attempts_unsupported = 1, pipeline_ladder_unsupported = '{}'")
    site.send(unknown(1), message(2, "FLOP", "ESTT", "<FLOP/>"), adft(3, 3))
    process()
    process()
    assert site.ended() == [(1, "DEAD"), (2, "DEAD"), (3, "SUCCEEDED")]
    dead = cli.json("dead", "list")
    assert [(one["msg_id"], one["error_class"]) for one in dead["messages"]] == [(2, "MALFORMED"), (1, "EXHAUSTED")]
    assert dead["events"] == []
    assert "MALFORMED" in cli("dead", "list")
    assert cli.json("dead", "show", "2")["replayable"] is False
    cli("dead", "show", "3", code=2)
    assert "no dead message 3" in cli.err
    would = cli.json("replay", "--class", "exhausted", "--dry-run")
    assert (would["dry_run"], [one["msg_id"] for one in would["messages"]]) == (True, [1])
    assert site.ended()[0] == (1, "DEAD")
    cli("replay", code=1)  # a bare "all"
    cli("replay", "2", code=1)
    assert "2" in cli.err
    cli("replay", "77", code=1)
    assert [one["msg_id"] for one in cli.json("replay", "1")["messages"]] == [1]
    assert site.ended()[0] == (1, "PENDING")
    assert "skipped" in cli("skip", "1", "--reason", "a test of somebody")
    assert site.ended()[0] == (1, "SKIPPED")
    cli("skip", "1", "--reason", "again", code=1)
    cli("dead", "requeue", "2", code=1)


def test_dead_events(cli: Cli, site: Site) -> None:
    for number in (1, 2):
        site.sql(
            "insert into outbox.msg_event (event_id, target, flid, event_type, state_version, message_id, payload,"
            " state, attempts, last_error, next_attempt_at, created_at, updated_at)"
            " values (%s, 'KAFKA:msg', %s, 'UPSERT', 1, 1, '{}', 'DEAD', 6, 'too large', now(), now(), now())",
            number,
            number,
        )
    assert [one["event_id"] for one in cli.json("dead", "list")["events"]] == [2, 1]
    assert cli.json("dead", "show", "1", "--event")["last_error"] == "too large"
    assert cli.json("dead", "requeue", "1", "--event") == {"requeued": [1]}
    assert "1 discarded: 2" in cli("dead", "discard", "2", "--reason", "nobody needs it")
    assert site.sql("select event_id, state from outbox.msg_event") == [(1, "PENDING")]
    cli("dead", "requeue", "1", "--event", code=1)
    cli("dead", "discard", "9", "--reason", "x", code=1)
    cli("dead", "discard", "1", code=2)
    assert "--reason" in cli.err


def test_marks(cli: Cli, site: Site, process: Callable[[], None]) -> None:
    site.send(adft(1, 1), adft(2, 2))
    process()
    assert [one["status"] for one in cli.json("backfill", "list")] == ["DUE", "DUE"]
    site.sql(
        "update inbox.proc_state set backfill_abandoned_at = now(), backfill_abandoned_reason = 'MISSING_ROW',"
        " backfill_next_at = null"
    )
    assert len(cli.json("backfill", "list", "--status", "abandoned")) == 2
    assert cli.json("backfill", "acknowledge", "1", "--note", "cleared by its owner") == {"count": 1}
    assert cli.json("backfill", "reopen", "2") == {"count": 1}
    assert sorted(one["status"] for one in cli.json("backfill", "list")) == ["ACKNOWLEDGED", "DUE"]
    text = cli("backfill", "list", "--status", "ACKNOWLEDGED")
    assert "cleared by its owner" in text
    assert "next_at" not in text, "a column without a value only takes room"
    cli("backfill", "list", "--status", "late", code=2)
    assert "ABANDONED" in cli.err
    cli("backfill", "reopen", "2", code=1)
    cli("backfill", "acknowledge", "1", code=2)
    site.sql("update inbox.proc_state set backfill_attempts = 3, backfill_next_at = now() + '1h' where msg_id = 2")
    assert "A mark was tried 3 times" in cli("status")


def test_settings(cli: Cli, site: Site) -> None:
    assert "msgx.pipeline.claim-batch" in cli("setting", "list")
    (one,) = cli.json("setting", "list", "max-commit-delay")
    assert one["column_name"] == "pipeline_max_commit_delay"
    cli("setting", "set", "msgx.pipeline.claim-batch", "300")
    assert cli.json("setting", "list", "claim-batch")[0]["value"] == "300"
    changed = cli.json("setting", "set", "policy", "ledger")
    assert len(changed) >= 8
    assert cli.json("status")["policy"] == "ledger"
    cli("setting", "set", "policy", "sometimes", code=1)
    cli("setting", "set", "msgx.no.such", "1", code=1)
    cli("setting", "set", "msgx.pipeline.claim-batch", "0", code=1)
    cli("setting", "set", "msgx.pipeline.claim-batch", "-1", code=2)  # an option, to the eye
    assert site.sql("select count(*) > 8 from core.setting_log") == [(True,)]


def test_requests_and_alerts(cli: Cli, site: Site) -> None:
    assert cli.json("request", "plan", "--day", "2026-03-10", "--sender", "AODB")["request_id"] == 1
    assert "any sender" in cli("request", "plan", "--day", "2026-03-11")
    cli("request", "plan", "--day", "11.3.2026", code=2)
    assert "YYYY-MM-DD" in cli.err
    assert cli.json("alert", "list") == []
    site.sql("select core.raise_alert('MAILBOX_ID_REUSE', 'Ids begin anew [1]. Ask.')")
    (alert,) = cli.json("alert", "list")
    assert "Ids begin anew [1]" in cli("alert", "list")
    assert "Ids begin anew [1]" in cli("status")
    assert cli.json("alert", "ack", str(alert["alert_id"])) == {"count": 1}
    assert cli.json("alert", "list") == []
    assert len(cli.json("alert", "list", "--all")) == 1
    cli("alert", "ack", "999", code=1)


def test_why_does_a_flight_look_so(cli: Cli, site: Site, process: Callable[[], None]) -> None:
    site.send(adft(1, 7), flop(2, 7), message(3, "FLOP", "RENO", "<FLOP><FLID>7</FLID><RENO>B1234</RENO></FLOP>"))
    process()
    found = cli.json("flight", "show", "7")
    assert found["document"]["FLNO"] == "CA7"
    assert found["document"]["RENO"] == "B1234"
    assert found["version"] == 3
    assert found["last_message"]["styp"] == "RENO"
    assert [event["state_version"] for event in found["events"]] == [3, 2, 1]
    why = cli.json("flight", "show", "7", "--tag", "estt")
    assert [event["message_id"] for event in why["events"]] == [2]
    text = cli("flight", "show", "7")
    assert re.search(r"UPSERT +RENO +FLOP-RENO", text)
    assert "B1234" in text
    cli("flight", "show", "8", code=1)
    assert "No flight 8 was ever seen" in cli.err


def test_doctor(cli: Cli, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    checks = cli.json("doctor")
    assert {check["verdict"] for check in checks} <= {"ok", "warn"}
    names = {check["name"] for check in checks}
    assert names >= {
        "python", "configuration", "postgresql", "roles", "schema", "postgresql clock", "watermark",
        "mailbox", "mailbox table", "mailbox rights", "mailbox isolation", "mailbox clock", "kafka", "kafka topic",
    }  # fmt: skip
    assert "FAIL" not in cli("doctor")
    monkeypatch.setenv("MSGX_MAILBOX__FLAG_COLUMN", "NO_SUCH")
    assert "has no column NO_SUCH" in cli("doctor", code=1)
    monkeypatch.setenv("MSGX_MAILBOX__TABLE", "NO_TABLE")
    assert "NO_TABLE is not there" in cli("doctor", code=1)
    monkeypatch.setenv("MSGX_MAILBOX_URL", "mysql://x:secret@127.0.0.1:1/none")
    monkeypatch.setenv("MSGX_DATABASE_URL", "postgresql://x:secret@127.0.0.1:1/none")
    monkeypatch.setenv("MSGX_KAFKA_BOOTSTRAP", "127.0.0.1:1")
    monkeypatch.setenv("MSGX_KAFKA__REQUEST_TIMEOUT", "1")
    text = cli("doctor", code=1)
    assert text.count("FAIL") == 3
    assert "secret" not in text
    monkeypatch.setenv("MSGX_KAFKA__PARTITIONS", "many")
    assert "MSGX_KAFKA__PARTITIONS" in cli("doctor", code=1)


def test_doctor_on_an_empty_database(cli: Cli, empty_database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSGX_DATABASE_URL", empty_database_url)
    assert "msgx db apply" in cli("doctor", code=1)
    cli("status", code=5)
    assert "msgx db apply" in cli.err
    assert "begin;" in cli("db", "plan")
    for arguments in (
        ["alert", "list"],
        ["setting", "list"],
        ["flight", "show", "1"],
        ["seed", "min"],
        ["replay", "1"],
    ):
        cli(*arguments, code=5)
        assert "msgx db apply" in cli.err
    assert len(cli.json("db", "apply")["migrations"]) >= 6
    cli("status")


def test_wrong_arguments_and_configuration(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("no-such-command", code=2)
    assert "no-such-command" in cli.err
    cli("run", "--max-wait", "soon", code=2)
    assert "--max-wait" in cli.err
    cli("replay", "abc", code=2)
    monkeypatch.setenv("MSGX_KAFKA__PARTITIONS", "many")
    cli("status", code=2)
    assert "MSGX_KAFKA__PARTITIONS" in cli.err


def test_unreachable_services(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("MSGX_MAILBOX_URL", "mysql://x:secret@127.0.0.1:1/none")
        cli("seed", "min", code=4)
        assert "127.0.0.1:1/none" in cli.err
        assert "secret" not in cli.err
    monkeypatch.setenv("MSGX_DATABASE_URL", "postgresql://x:secret@127.0.0.1:1/none")
    for arguments in (["status"], ["db", "apply"], ["db", "verify"], ["db", "plan"], ["alert", "list"]):
        cli(*arguments, code=4)
        assert "PostgreSQL cannot be reached" in cli.err
        assert "secret" not in cli.err


def test_roles_keep_to_their_own(
    cli: Cli, site: Site, pg: Any, monkeypatch: pytest.MonkeyPatch, postgres_server: Any
) -> None:
    """A reader may look and change nothing; an operator may do all of this."""
    name = psycopg.conninfo.conninfo_to_dict(site.database_url)["dbname"]
    pg.execute("drop role if exists msgx_test_reader; drop role if exists msgx_test_operator")
    pg.execute("create role msgx_test_reader login in role msgx_reader")
    pg.execute("create role msgx_test_operator login in role msgx_operator")
    try:
        monkeypatch.setenv("MSGX_DATABASE_URL", postgres_server.url_for(name, "msgx_test_reader"))
        looks = (["status"], ["alert", "list"], ["setting", "list"], ["dead", "list"], ["backfill", "list"])
        for arguments in looks:
            cli(*arguments)
        cli("setting", "set", "policy", "ledger", code=1)
        assert "permission denied" in cli.err
        assert "msgx_operator" in cli.err
        cli("db", "verify", code=1)
        assert "login that owns the schema" in cli.err
        monkeypatch.setenv("MSGX_DATABASE_URL", postgres_server.url_for(name, "msgx_test_operator"))
        for arguments in looks:
            cli(*arguments)
        cli("setting", "set", "policy", "ledger")
        cli("seed", "zero")
        cli("request", "plan", "--day", "2026-03-10")
        cli("replay", "--class", "infra", "--dry-run")
        cli("run", "--until-idle", "--max-wait", "1", code=2)
        assert "grant msgx_app to msgx_test_operator" in cli.err
    finally:
        pg.execute("drop role msgx_test_reader; drop role msgx_test_operator")


def test_what_the_demo_lends_may_be_missing(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "demo.simulator", None)
    cli("simulate", code=2)
    assert "pip install 'msgexchange[demo]'" in cli.err

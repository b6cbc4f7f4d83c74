"""The head of the queue from end to end: what holds it, what lets it go on, and what it costs to find it.

(implementation.md 5.1, 5.2, 9.1; design 9.) One process does intake, restaging and the pump, as the supervisor does.
"""

from __future__ import annotations

import contextlib
import json
import threading
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.rows import namedtuple_row
from structlog.testing import capture_logs

from loader import decode as decoder
from supervisor import database
from supervisor.config import Database, Mailbox, Settings
from supervisor.duties import Duty, Intake, Pump, Restage, Work

from .supervised import Site, adft, flop, message, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def site(
    tmp_path: Path, database_url: str, mailbox_url: str, bootstrap: str, topic: Callable[[str], str]
) -> Iterator[Site]:
    made = Site(tmp_path, database_url, mailbox_url, bootstrap, topic("msg"), topic("schd"))
    yield made
    made.stop_all()


class Works:
    """The three duties that take a message in and to its end, run by hand; nudges are obeyed, as the board does."""

    def __init__(self, site: Site) -> None:
        settings = Settings(database=Database(url=site.database_url), mailbox=Mailbox(url=site.mailbox_url))
        self.duties: dict[str, Duty] = {
            duty.name: duty for duty in (Intake(settings), Restage(settings), Pump(settings))
        }
        connection = self.duties["pump"].session.connection
        self.epoch = database.lease_acquire(connection, "test", 3600).epoch
        self.ran: list[str] = []

    def run(self, *names: str) -> None:
        """These, and whom they wake, until nobody is woken."""
        waiting = list(names or ("intake",))
        while waiting:
            name = waiting.pop(0)
            self.ran.append(name)
            work = Work(self.epoch, threading.Event(), lambda: True, waiting_nudge(waiting, self.duties), 30.0)
            self.duties[name].run(work)

    def close(self) -> None:
        for duty in self.duties.values():
            duty.close()


def waiting_nudge(waiting: list[str], known: dict[str, Duty]) -> Callable[..., None]:
    def nudge(*names: str) -> None:
        waiting.extend(name for name in names if name in known and name not in waiting)

    return nudge


@pytest.fixture
def works(site: Site) -> Iterator[Works]:
    with contextlib.closing(Works(site)) as made:
        yield made


def state(site: Site, msg_id: int) -> tuple[Any, ...]:
    (row,) = site.sql("select state, error_class, attempts from inbox.proc_state where msg_id = %s", msg_id)
    return row


def due(site: Site) -> None:
    site.sql("update inbox.proc_state set next_attempt_at = now() where state = 'FAILED'")


def test_a_head_without_its_body_is_fetched_and_the_queue_goes_on(site: Site, works: Works) -> None:
    """HEAD_UNSTAGED → restage → the pump again, each woken by the other; who came later waits meanwhile."""
    site.send(adft(1, 1), flop(2, 1, 10), flop(3, 1, 20))
    works.run("intake")
    assert site.ended() == [(n, "SUCCEEDED") for n in (1, 2, 3)]
    site.send(flop(4, 1, 30), flop(5, 1, 40))
    works.ran.clear()
    works.duties["intake"].run(Work(works.epoch, threading.Event(), lambda: True, lambda *_names: None, 30.0))
    site.sql("delete from inbox.stage_record where msg_id = 4")
    site.sql("delete from inbox.stage_message where msg_id = 4")
    works.run("pump")
    assert works.ran[:3] == ["pump", "restage", "pump"]
    assert site.ended() == [(n, "SUCCEEDED") for n in range(1, 6)]
    assert site.sql("select last_message_id, to_char(estt, 'MI') from flight.flight_schd") == [(5, "40")]
    told = site.sql("select message_id from outbox.msg_event_msg order by event_id")
    assert told == [(n,) for n in range(1, 6)]


def test_a_head_whose_row_is_gone_ends_and_the_queue_goes_on(site: Site, works: Works) -> None:
    site.send(adft(1, 1), flop(2, 1), flop(3, 1))
    works.duties["intake"].run(Work(works.epoch, threading.Event(), lambda: True, lambda *_names: None, 30.0))
    site.sql("delete from inbox.stage_record where msg_id = 2")
    site.sql("delete from inbox.stage_message where msg_id = 2")
    with site.mysql() as cursor:
        cursor.execute("delete from CMINMSGS where CMINMSGS_ID = 2")
    works.run("pump")
    assert site.ended() == [(1, "SUCCEEDED"), (2, "DEAD"), (3, "SUCCEEDED")]
    assert state(site, 2) == ("DEAD", "MALFORMED", 0)
    assert site.sql("select last_error from inbox.proc_state where msg_id = 2") == [("raw-missing",)]


def test_a_message_ahead_of_the_watermark_waits_and_is_told_once(site: Site, works: Works) -> None:
    """BEYOND_WATERMARK: registered by HTTP while smaller ids are still on their way; one line for each watermark."""

    def warnings() -> list[str]:
        with capture_logs() as logs:
            works.duties["pump"].run(
                Work(works.epoch, threading.Event(), lambda: True, lambda *_names: None, 30.0),
            )
        return [line["event"] for line in logs if line["log_level"] == "warning"]

    site.send(adft(1, 1))
    works.run("intake")
    site.leave_out()
    site.send(flop(3, 1))
    site.sql("select inbox.enqueue(3)")
    works.run("intake", "pump")
    assert site.ended() == [(1, "SUCCEEDED"), (3, "PENDING")]
    works.duties["pump"] = Pump(Settings(database=Database(url=site.database_url)))
    (told,) = warnings()
    assert "Message 3" in told
    assert "watermark 1" in told
    assert warnings() == []
    site.sql("update inbox.inbox_cursor set hole_since = hole_since - interval '1 h'")
    works.run("intake")  # passes the hole over; the row behind it is the next round's
    works.run("intake")
    assert site.ended() == [(1, "SUCCEEDED"), (3, "SUCCEEDED")]


def test_a_body_that_becomes_readable_is_decoded_anew(
    site: Site, works: Works, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CODEC_ERROR holds the queue and climbs its ladder; each try reads the body again with what we know by then."""
    real = decoder._read_message

    def broken(*arguments: Any) -> Any:
        found = real(*arguments)
        if found.seqn == "2":
            raise KeyError("a tag that we do not know yet")
        return found

    site.send(adft(1, 1), flop(2, 1, 10), flop(3, 1, 20))
    with monkeypatch.context() as patch:
        patch.setattr(decoder, "_read_message", broken)
        works.run("intake")
        assert state(site, 2) == ("FAILED", "CODEC_ERROR", 1)
        assert state(site, 3) == ("PENDING", None, 0)
        assert site.sql("select msg_id from inbox.stage_message") == [(3,)]
        works.run("restage", "pump")  # not due: nothing happens
        assert state(site, 2) == ("FAILED", "CODEC_ERROR", 1)
        due(site)
        works.run("pump")
        assert state(site, 2) == ("FAILED", "CODEC_ERROR", 2)
        assert state(site, 3) == ("PENDING", None, 0)
    due(site)
    works.run("pump")
    assert site.ended() == [(n, "SUCCEEDED") for n in (1, 2, 3)]
    assert site.sql("select last_message_id, to_char(estt, 'MI') from flight.flight_schd") == [(3, "20")]


def test_a_codec_error_that_stays_ends_after_its_ladder_and_can_be_replayed(
    site: Site, works: Works, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.sql("update core.setting set pipeline_attempts_codec_error = 2, pipeline_ladder_codec_error = '{1 s}'")
    site.send(adft(1, 1), flop(2, 1))

    def broken(*_arguments: Any) -> Any:
        raise KeyError("whatever")

    with monkeypatch.context() as patch:
        patch.setattr(decoder, "_read_message", broken)
        for _ in range(4):
            works.run("intake", "pump")
            due(site)
        assert [state(site, n) for n in (1, 2)] == [("DEAD", "EXHAUSTED", 2)] * 2
    site.sql("select inbox.replay(p_ids => '{1,2}', p_dry_run => false)")
    works.run("pump")
    assert site.ended() == [(1, "SUCCEEDED"), (2, "SUCCEEDED")]


def test_dead_messages_go_through_again_by_the_command_line(site: Site) -> None:
    """`msgx dead list`, `msgx replay`, and the supervisor does the rest; identity and marks are kept."""
    site.sql("update core.setting set pipeline_attempts_unsupported = 1, pipeline_ladder_unsupported = '{}'")
    refused = message(3, "FLOP", "GTDT", "<FLOP><FLID>1</FLID><GTDT GTNO='1'><GATE>G1</GATE></GTDT></FLOP>")
    site.send(adft(1, 1), unknown(2), refused, flop(4, 1, 40))
    assert site.until_idle().process.returncode == 0
    assert site.flags() == ["OK", "DEAD", "DEAD", "OK"]
    identities = site.sql("select msg_id, identity_key from inbox.proc_state order by 1")

    # a person mends what stood in the way
    site.sql("update core.setting set pipeline_ignore = pipeline_ignore || 'XYZ-*'::text")
    site.set("policy", "ledger")
    listed = command(site, "dead", "list", "--json")
    assert [(one["msg_id"], one["error_class"]) for one in listed["messages"]] == [(3, "PROTOCOL"), (2, "EXHAUSTED")]
    would = command(site, "replay", "2", "3", "--dry-run", "--json")
    assert [(one["msg_id"], one["later_messages"]) for one in would["messages"]] == [(2, None), (3, [4])]
    assert [row[1] for row in site.ended()] == ["SUCCEEDED", "DEAD", "DEAD", "SUCCEEDED"]
    command(site, "replay", "2", "3", "--json")
    assert [row[1] for row in site.ended()] == ["SUCCEEDED", "PENDING", "PENDING", "SUCCEEDED"]

    assert site.until_idle().process.returncode == 0
    assert [row[1] for row in site.ended()] == ["SUCCEEDED", "SKIPPED", "SUCCEEDED", "SUCCEEDED"]
    assert site.sql("select last_error from inbox.proc_state where msg_id = 2") == [("ignored:XYZ-*",)]
    assert site.sql("select gate from flight.flight_gate") == [("G1",)]
    assert site.sql("select state_version, last_message_id from flight.flight_schd") == [(3, 3)]
    assert site.sql("select msg_id, identity_key from inbox.proc_state order by 1") == identities
    assert site.flags() == ["OK", "DEAD", "DEAD", "OK"]  # a mark that was confirmed stays
    assert site.settled()


def command(site: Site, *arguments: str) -> Any:
    run = site.start(*arguments)
    assert run.process.wait(60) == 0, run.said
    return json.loads(run.said[run.said.index("{") :])


# What the head costs -----------------------------------------------------------------------------------------------


class HeadLookups:
    """The plans of the pump's look-ups of the head, as auto_explain reports them."""

    def __init__(self) -> None:
        self.blocks: list[int] = []
        self.plans: list[str] = []

    def __call__(self, diagnostic: psycopg.errors.Diagnostic) -> None:
        text = diagnostic.message_primary or ""
        if "plan:" not in text or "{" not in text:
            return
        found = json.loads(text[text.index("{") :])
        query = " ".join(found["Query Text"].split())
        if "from inbox.proc_state m where m.msg_id > v_finished_through" in query:
            plan = found["Plan"]
            self.blocks.append(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])
            self.plans.append(json.dumps(plan))


def test_an_old_snapshot_elsewhere_does_not_slow_the_heads_look_up(site: Site, works: Works) -> None:
    """What ended leaves dead index entries that nobody may remove meanwhile; the look-up begins behind them."""
    count = 3000
    site.sql("update core.setting set pipeline_ignore = '{LDM-*}'")
    site.sql("update inbox.inbox_cursor set watermark = 1000000")

    def stage(first: int, last: int) -> None:
        site.sql(
            "insert into inbox.proc_state (msg_id, enqueued_at, updated_at) select i, now(), now()"
            " from generate_series(%s::int, %s::int) i",
            first,
            last,
        )
        site.sql(
            "insert into inbox.stage_message (msg_id, kind, sndr, type, styp, seqn, dttm, digest, record_count)"
            " select i, 'OTHER', 'AODB', 'LDM', 'X', i, now(), '\\x01', 0 from generate_series(%s::int, %s::int) i",
            first,
            last,
        )

    stage(1, count)
    with psycopg.connect(site.database_url) as old:
        old.execute("set transaction isolation level repeatable read")
        old.execute("select count(*) from inbox.proc_state")
        works.run("pump")
        assert site.sql("select count(*) from inbox.proc_state where state = 'SKIPPED'") == [(count,)]
        stage(count + 1, count + 40)
        with psycopg.connect(site.database_url, autocommit=True, row_factory=namedtuple_row) as connection:
            for statement in (
                "load 'auto_explain'",
                "set auto_explain.log_min_duration = 0",
                "set auto_explain.log_nested_statements = on",
                "set auto_explain.log_analyze = on",
                "set auto_explain.log_buffers = on",
                "set auto_explain.log_timing = off",
                "set auto_explain.log_format = json",
                "set auto_explain.log_level = notice",
            ):
                connection.execute(statement)
            seen = HeadLookups()
            connection.add_notice_handler(seen)
            database.pump(connection, works.epoch, 1000, 60_000)
            connection.remove_notice_handler(seen)
            naive = connection.execute(
                "explain (analyze, buffers, format json) select * from inbox.proc_state m"
                " where m.msg_id > 0 and m.state in ('PENDING', 'FAILED') order by m.msg_id limit 1"
            ).fetchone()
        assert len(seen.blocks) >= 40
        assert all('"Index Name": "proc_state_unfinished"' in plan for plan in seen.plans)
        # at most the entries of the messages of this very batch, which are 32
        assert max(seen.blocks) < 60, seen.blocks
        # and the snapshot did hold something back: from the beginning it costs a look at each message that ever was
        assert naive is not None
        assert naive[0][0]["Plan"]["Shared Hit Blocks"] > 10 * max(seen.blocks)

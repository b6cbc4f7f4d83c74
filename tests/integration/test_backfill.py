"""Marks: claim, write, settle, against a real mailbox and the real routines (implementation.md 6)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from supervisor import database
from supervisor.backfill import Backfill
from supervisor.config import Database, Mailbox, Settings
from supervisor.duties import Trouble, Work

from .supervised import Site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from demo.servers import TcpProxy


@pytest.fixture
def site(tmp_path: Path, database_url: str, mailbox_url: str) -> Site:
    return Site(tmp_path, database_url, mailbox_url, "", "msg", "schd")


@pytest.fixture
def epoch(site: Site) -> int:
    with psycopg.connect(site.database_url, autocommit=True, row_factory=psycopg.rows.namedtuple_row) as connection:
        return database.lease_acquire(connection, "test", 600).epoch


@pytest.fixture
def work(epoch: int) -> Work:
    return Work(epoch, threading.Event(), lambda: True, lambda *_names: None, 30.0)


def settings(site: Site, **more: Any) -> Settings:
    return Settings(
        database=Database(url=site.database_url),
        mailbox=Mailbox(url=site.mailbox_url, **({"read_timeout": 3, "write_timeout": 3} | more)),
    )


@pytest.fixture
def duty(site: Site) -> Iterator[Backfill]:
    made = Backfill(settings(site))
    yield made
    made.close()


def finish(site: Site, *states: str) -> None:
    """Messages from 1 on that ended so, with their rows in the mailbox."""
    site.send(*["<MSG/>"] * len(states))
    for id_, state in enumerate(states, 1):
        site.sql(
            "insert into inbox.proc_state (msg_id, state, error_class, enqueued_at, updated_at, finished_at,"
            " backfill_next_at) values (%s, %s, %s, now(), now(), now(), now())",
            id_,
            state,
            "MALFORMED" if state == "DEAD" else None,
        )


def outcomes(site: Site) -> list[tuple[Any, ...]]:
    return site.sql(
        "select coalesce(backfill_outcome, backfill_abandoned_reason, 'OWED') from inbox.proc_state order by msg_id"
    )


def test_each_ending_has_its_mark(site: Site, duty: Backfill, work: Work) -> None:
    finish(site, "SUCCEEDED", "SKIPPED", "DEAD", "SUCCEEDED")
    assert duty.run(work).done == 4
    assert site.flags() == ["OK", "SKIP", "DEAD", "OK"]
    assert outcomes(site) == [("WRITTEN",)] * 4
    assert duty.run(work).done == 0


def test_a_mark_of_another_stays(site: Site, duty: Backfill, work: Work) -> None:
    finish(site, "SUCCEEDED", "SUCCEEDED", "SUCCEEDED")
    with site.mysql() as cursor:
        cursor.execute("update CMINMSGS set PROC_FLAG = 'THEIRS' where CMINMSGS_ID = 2")
        cursor.execute("delete from CMINMSGS where CMINMSGS_ID = 3")
    assert duty.run(work).done == 3
    assert site.flags() == ["OK", "THEIRS"]
    assert outcomes(site) == [("WRITTEN",), ("ALREADY",), ("MISSING_ROW",)]


def test_lost_between_mark_and_settle(site: Site, duty: Backfill, work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mailbox has the mark, we do not know it: the next round finds it there."""
    finish(site, "SUCCEEDED", "DEAD")

    def lost(*_arguments: object) -> int:
        raise psycopg.OperationalError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(database, "backfill_settle", lost)
        with pytest.raises(psycopg.OperationalError):
            duty.run(work)
    assert site.flags() == ["OK", "DEAD"]
    assert outcomes(site) == [("OWED",), ("OWED",)]
    site.sql("update inbox.proc_state set backfill_next_at = now()")
    assert duty.run(work).done == 2
    assert outcomes(site) == [("ALREADY",), ("ALREADY",)]


def test_a_locked_row_does_not_hold_the_others(site: Site, work: Work) -> None:
    finish(site, "SUCCEEDED", "SUCCEEDED", "SUCCEEDED")
    duty = Backfill(settings(site, lock_wait=1))
    with site.mysql() as cursor:
        cursor.execute("begin")
        cursor.execute("select * from CMINMSGS where CMINMSGS_ID = 2 for update")
        assert duty.run(work).done == 2
        cursor.execute("rollback")
    assert site.flags() == ["OK", None, "OK"]
    assert outcomes(site) == [("WRITTEN",), ("OWED",), ("WRITTEN",)]
    site.sql("update inbox.proc_state set backfill_next_at = now()")
    assert duty.run(work).done == 1
    assert site.flags() == ["OK", "OK", "OK"]
    duty.close()


def test_a_mailbox_that_hangs(site: Site, work: Work, tcp_proxy: Callable[[int], TcpProxy]) -> None:
    """Pitfall 25: bounded, a sentence, the intents stay, and it goes on by itself."""
    finish(site, "SUCCEEDED", "SUCCEEDED")
    port = int(site.mailbox_url.rpartition(":")[2].partition("/")[0])
    proxy = tcp_proxy(port)
    real, site.mailbox_url = site.mailbox_url, site.mailbox_url.replace(f":{port}/", f":{proxy.port}/")
    duty = Backfill(settings(site, read_timeout=1, write_timeout=1, connect_timeout=1))
    proxy.black_hole()
    with pytest.raises(Trouble, match="2 marks were not written"):
        duty.run(work)
    assert outcomes(site) == [("OWED",), ("OWED",)]
    assert site.sql("select min(backfill_attempts), min(backfill_error) is not null from inbox.proc_state") == [
        (1, True)
    ]
    proxy.resume()
    proxy.disconnect()
    site.sql("update inbox.proc_state set backfill_next_at = now()")
    assert duty.run(work).done == 2
    site.mailbox_url = real
    assert site.flags() == ["OK", "OK"]
    duty.close()


def test_shadow_mode_writes_nothing(site: Site, duty: Backfill, work: Work) -> None:
    finish(site, "SUCCEEDED")
    site.set("msgx.pipeline.shadow", "on")
    assert duty.run(work).done == 0
    assert site.flags() == [None]
    site.set("msgx.pipeline.shadow", "off")
    assert duty.run(work).done == 1

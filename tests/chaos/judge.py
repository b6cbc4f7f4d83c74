"""What must hold after any faults: the outbox, the topics as a consumer sees them, and a run without faults agree."""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import psycopg
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from loader import intake
from loader.mailbox import Mailbox, MailboxConfig
from supervisor import deploy
from tests.chaos.world import TOPIC_MSG, TOPIC_SCHD, World, mailbox_connection

_UPDATED_AT = re.compile(r'"UPDATED_AT":"[^"]*"')
_EVENT_ID = re.compile(r'"EVENT_ID":\d+')
_MARKS = {"SUCCEEDED": "OK", "SKIPPED": "SKIP", "DEAD": "DEAD"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What there was in the end."""

    messages: int
    states: dict[str, int]
    notices: int
    notices_again: int
    records: int
    flights: int
    reigns: int
    acts: int


@dataclass(frozen=True, slots=True)
class Record:
    """One record, as a consumer gets it."""

    flid: int
    value: bytes | None
    version: int
    event: int
    made_at: float
    """When a producer was given it, seconds of the wall clock."""


def read_topic(bootstrap: str, topic: str) -> list[Record]:
    """The whole topic, in order within each partition and so within each flight."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "chaos", "enable.auto.commit": False, "fetch.wait.max.ms": 50}
    )
    found = []
    try:
        ends = {
            number: high
            for number in consumer.list_topics(topic, timeout=10).topics[topic].partitions
            if (high := consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=10)[1])
        }
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in ends])
        while ends:
            message = consumer.poll(15)
            assert message is not None, f"{topic} gave nothing for 15 s before its end"
            assert message.error() is None, message.error()
            headers = dict(cast("list[tuple[str, bytes]]", message.headers()))
            found.append(
                Record(
                    int(message.key() or b"0"),
                    message.value(),
                    int(headers["state-version"]),
                    int(headers["ce_id"]),
                    message.timestamp()[1] / 1000,
                )
            )
            if (message.offset() or 0) + 1 >= ends.get(message.partition() or 0, 0):
                ends.pop(message.partition() or 0, None)
    finally:
        consumer.close()
    return found


def judge(world: World) -> Verdict:
    """Check everything.

    Raises:
        AssertionError: with the first thing that does not hold.
    """
    _nothing_is_left_open(world)
    states = _messages_and_marks(world)
    acts, reigns = only_leaders_wrote(world)
    msg, schd = read_topic(world.broker.bootstrap, TOPIC_MSG), read_topic(world.broker.bootstrap, TOPIC_SCHD)
    again = _notices(world, msg)
    flights = _states(world, schd)
    _as_without_faults(world)
    return Verdict(sum(states.values()), states, len(msg) - again, again, len(schd), flights, reigns, acts)


def _nothing_is_left_open(world: World) -> None:
    """No session, no open transaction on either side, no process."""
    until = time.monotonic() + 10
    query = "select application_name, state, query from pg_stat_activity where application_name like 'msgx-%%'"
    while (sessions := world.ask(query)) and time.monotonic() < until:
        time.sleep(0.2)
    assert not sessions, f"sessions are left: {sessions}"
    with mailbox_connection(world.mailbox) as connection, connection.cursor() as cursor:
        cursor.execute("select trx_id, trx_state, trx_query from information_schema.innodb_trx")
        assert not cursor.fetchall(), "transactions are left in the mailbox"
    for one in world.supervisors:
        assert processes_in(one.data) == [], "a process is left"


def processes_in(folder: Path) -> list[int]:
    """Processes that work below `folder`."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "cwd").readlink().is_relative_to(folder):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def _messages_and_marks(world: World) -> dict[str, int]:
    """Each mailbox row: one terminal state, one mark, written once, equal to the state."""
    with mailbox_connection(world.mailbox) as connection, connection.cursor() as cursor:
        cursor.execute("select CMINMSGS_ID, PROC_FLAG, PROC_AT is not null from CMINMSGS")
        rows = {row[0]: row[1:] for row in cursor.fetchall()}
        cursor.execute("select ID, OLD, NEW from MARKS")
        marks = cursor.fetchall()
    ended = dict(world.ask("select msg_id, state from inbox.proc_state"))
    assert rows.keys() == ended.keys(), f"lost or invented: {sorted(rows.keys() ^ ended.keys())[:10]}"
    wrong = [
        (number, ended[number], flag)
        for number, (flag, dated) in rows.items()
        if flag != _MARKS.get(ended[number]) or not dated
    ]
    assert not wrong, f"{len(wrong)} marks are not their message's: {wrong[:5]}"
    changed = Counter(number for number, _, _ in marks)
    twice = [mark for mark in marks if mark[1] not in (None, "") or changed[mark[0]] > 1]
    assert not twice, f"{len(twice)} marks were written over: {twice[:5]}"
    owed = world.ask(
        "select msg_id from inbox.proc_state where backfill_at is null or backfill_abandoned_at is not null"
    )
    assert not owed, f"{len(owed)} marks are still owed or given up"
    return dict(Counter(ended.values()))


def only_leaders_wrote(world: World) -> tuple[int, int]:
    """No committed write of a supervisor is younger than the next leader's first moment; reigns do not overlap."""
    reigns = world.ask("select epoch, holder, acquired_at from chaos.reign order by epoch")
    by_pid = {pid: one.name for one in world.supervisors for pid in one.pids}
    assert [epoch for epoch, _, _ in reigns] == sorted({epoch for epoch, _, _ in reigns}), "an epoch came twice"
    assert [at for _, _, at in reigns] == sorted(at for _, _, at in reigns), "an epoch began before an older one"
    acts = world.ask("select application, relation, at from chaos.act order by at")
    place, wrong = 0, []
    for application, relation, at in acts:
        while place + 1 < len(reigns) and reigns[place + 1][2] <= at:
            place += 1
        name = application.removeprefix("msgx-").split(" ")[0]
        pid = int(reigns[place][1].split(":")[1]) if reigns else 0
        # the last act of all is that of `run --until-idle`, whose process is in no list
        if reigns and by_pid.get(pid, world.supervisors[0].name) != name:
            wrong.append((application, relation, at, reigns[place]))
    assert not wrong, f"{len(wrong)} writes by somebody who did not lead any more: {wrong[:3]}"
    return len(acts), len(reigns)


def _notices(world: World, records: list[Record]) -> int:
    """KAFKA:msg as a consumer sees it; gives how many records were duplicates.

    For each flight, in the order of the topic: EVENT_IDs never go back, so a duplicate stands right behind its first
    occurrence and never behind a later event; a duplicate has the same bytes; every event of the outbox is there and
    nothing else; each event is a version of its own, and versions go up without a gap. A flight that is or was a code
    share tells none of its versions, so for it alone versions may be missing.
    """
    stored = {
        event: (flid, version, payload)
        for event, flid, version, payload in world.ask(
            "select event_id, flid, state_version, payload from outbox.msg_event where target = 'KAFKA:msg'"
        )
    }
    shares = {row[0] for row in world.ask("select flid from flight.flight_schd where maid is not null")}
    versions = dict(world.ask("select flid, state_version from flight.flight_schd"))
    last: dict[int, Record] = {}
    told: dict[int, list[int]] = {}
    again = 0
    for one in records:
        assert one.event in stored, f"event {one.event} is on the topic and not in the outbox"
        flid, version, payload = stored[one.event]
        assert (one.flid, one.version) == (flid, version)
        assert one.value == payload.encode(), f"event {one.event} was told in other words than the outbox has"
        before = last.get(flid)
        assert before is None or one.event >= before.event, _out_of_order(world, before, one)
        if before is not None and one.event == before.event:
            again += 1
        else:
            told.setdefault(flid, []).append(version)
        last[flid] = one
    missing = stored.keys() - {one.event for one in records}
    assert not missing, f"{len(missing)} events are not on the topic (first: {min(missing)})"
    for flid, versions_told in told.items():
        if flid in shares:
            assert versions_told == sorted(set(versions_told)), f"flight {flid}: versions {versions_told}"
        else:
            assert versions_told == list(range(1, versions[flid] + 1)), f"flight {flid}: versions {versions_told}"
    silent = {flid for flid in versions.keys() - told.keys() if flid not in shares}
    assert not silent, f"nothing was told of flights {sorted(silent)[:5]}"
    unsent = world.ask("select target, state, count(*) from outbox.msg_event where state <> 'SENT' group by 1, 2")
    assert not unsent, f"events are not sent: {unsent}"
    return again


def _out_of_order(world: World, before: Record, late: Record) -> str:
    """The story of a record that stands behind a later one."""
    reigns = world.ask("select epoch, holder, extract(epoch from acquired_at)::float8 from chaos.reign order by epoch")
    for epoch, holder, at in reigns:
        world.counts.log.append((at, f"epoch {epoch} of {holder}"))
    world.counts.log += [
        (before.made_at, f"event {before.event} produced"),
        (late.made_at, f"event {late.event} produced"),
    ]
    world.counts.log.sort()
    return (
        f"flight {late.flid}: event {late.event} (version {late.version}) stands behind event {before.event} "
        f"(version {before.version})\n{world.counts.around(before.made_at, late.made_at)}"
    )


def _states(world: World, records: list[Record]) -> int:
    """KAFKA:schd: what a consumer ends with is the database's state, and versions never go back on the way."""
    rows = world.ask(
        """select f.flid, f.state, d.document::text from flight.flight_schd f
           join flight.document((select array_agg(flid) from flight.flight_schd)) d using (flid)"""
    )
    wanted = {flid: document.encode() if state == "ACTIVE" else None for flid, state, document in rows}
    found = {one.flid: one.value for one in records}
    wrong = [flid for flid in sorted(wanted.keys() | found.keys()) if found.get(flid, b"") != wanted.get(flid, b"")]
    assert not wrong, f"the last state of {len(wrong)} flights is not the database's (first: {wrong[0]})"
    newest: dict[int, Record] = {}
    for one in records:
        before = newest.get(one.flid)
        assert before is None or one.version >= before.version, _out_of_order(world, before, one)
        newest[one.flid] = one
    return len(wanted)


def _as_without_faults(world: World) -> None:
    """The same mailbox, worked off into another database by nobody but us, one step after the other."""
    name = "reference"
    with psycopg.connect(world.postgres.url_for("postgres"), autocommit=True) as admin:
        admin.execute(f"create database {name}")
    url = world.postgres.url_for(name)
    deploy.apply(url)
    with (
        psycopg.connect(url, autocommit=True) as connection,
        Mailbox(MailboxConfig(world.mailbox.url), world.stream.zone) as mailbox,
    ):
        connection.execute("select core.setting_set('msgx.airport.timezone', %s)", [str(world.stream.zone)])
        connection.execute("update core.setting set pipeline_max_commit_delay = '1 ms'")
        lease = connection.execute("select epoch from core.lease_acquire('reference', '1 hour')").fetchone()
        epoch = lease[0] if lease else 0
        (last,) = world.ask("select max(msg_id) from inbox.proc_state")[0]
        until = time.monotonic() + 120
        while time.monotonic() < until:
            intake.round(mailbox, connection, epoch)
            done = connection.execute("call pipeline.pump(%s, 100000, 60000)", [epoch]).fetchone()
            watermark = connection.execute("select watermark from inbox.inbox_cursor").fetchone()
            if watermark and watermark[0] >= last and done and done[1] == "IDLE":
                break
        expected = _outcome(connection)
    with world.sql() as connection:
        found = _outcome(connection)
    for what, of_ours in found.items():
        of_theirs = expected[what]
        if of_ours != of_theirs:
            first = next(
                (pair for pair in zip(of_ours, of_theirs, strict=False) if pair[0] != pair[1]),
                (len(of_ours), len(of_theirs)),
            )
            raise AssertionError(f"{what} differ from a run without faults: {first[0]} instead of {first[1]}")


def _outcome(connection: psycopg.Connection[Any]) -> dict[str, list[Any]]:
    """All that may not depend on when things happened."""
    messages = connection.execute(
        "select msg_id, state, error_class, last_error, identity_key, encode(digest, 'hex')"
        " from inbox.proc_state order by msg_id"
    ).fetchall()
    documents = connection.execute(
        "select document::text from flight.document((select array_agg(flid) from flight.flight_schd)) order by flid"
    ).fetchall()
    notices = connection.execute(
        "select payload from outbox.msg_event where target = 'KAFKA:msg' order by event_id"
    ).fetchall()
    states = connection.execute(
        "select flid, event_type, state_version, message_id"
        " from outbox.msg_event where target = 'KAFKA:schd' order by flid"
    ).fetchall()
    alerts = connection.execute("select code, detail from core.alert order by message_id, code").fetchall()
    return {
        "messages": messages,
        "flights": [_UPDATED_AT.sub("", row[0]) for row in documents],
        "notices": [_EVENT_ID.sub("", _UPDATED_AT.sub("", row[0])) for row in notices],
        "states to tell": states,
        "alerts": alerts,
    }

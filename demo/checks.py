"""What must hold at the end of a demo run: the database, the topics and the mailbox against the record and each other.

Every check is one sentence that says what was found, whether it holds or not. Nothing here writes.
"""

from __future__ import annotations

import json
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, LiteralString

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import psycopg
    from pymysql.connections import Connection as MailboxConnection

    from demo.simulator import Stream, Truth

_TOPIC_TIMEOUT = 15.0  # seconds without a record before the topic counts as cut off


@dataclass(frozen=True, slots=True)
class Check:
    """One sentence, and whether it holds."""

    holds: bool
    sentence: str


@dataclass(frozen=True, slots=True)
class Topic:
    """All of one topic: (key, value), in order within a key; None = a null value."""

    records: tuple[tuple[int, bytes | None], ...]

    @property
    def last(self) -> dict[int, bytes | None]:
        """The last value of each key: what a consumer that starts now ends with."""
        return dict(self.records)


@dataclass(frozen=True, slots=True)
class Summary:
    """Numbers for people. Latencies in seconds, from the mailbox row to the broker's confirmation of its notice."""

    outcomes: dict[str, int]
    flights: dict[str, dict[str, int]]
    """Departures, code shares and arriving legs: how many of each ended how."""
    events: dict[str, int]
    records: dict[str, int]
    latency: dict[str, float]
    per_second: float
    """Messages a second, from the first that was admitted to the last that ended."""
    alerts: dict[str, int] = field(default_factory=dict)


def read_topic(bootstrap: str, topic: str) -> Topic:
    """The whole topic.

    Raises:
        KafkaException: the broker does not answer, or stops in the middle.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"demo-{uuid.uuid4()}",  # never committed: partitions are assigned by hand
            "enable.auto.commit": False,
            "enable.partition.eof": False,
            "fetch.wait.max.ms": 50,
        }
    )
    try:
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        ends = {}
        for number in partitions:
            low, high = consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=10)
            if high > low:
                ends[number] = high
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in ends])
        return Topic(tuple(_records(consumer, topic, ends)))
    finally:
        consumer.close()


def _records(consumer: Consumer, topic: str, ends: dict[int, int]) -> Iterator[tuple[int, bytes | None]]:
    missing = dict(ends)
    heard = time.monotonic()
    while missing:
        batch = consumer.consume(num_messages=2000, timeout=0.05)  # it would wait that long for all of them
        if batch:
            heard = time.monotonic()
        elif time.monotonic() - heard > _TOPIC_TIMEOUT:
            raise KafkaException(f"{topic} gave nothing for {_TOPIC_TIMEOUT:.0f} s before its end")
        for message in batch:
            if message.error():
                raise KafkaException(message.error())
            partition, offset = message.partition() or 0, message.offset() or 0
            if offset + 1 >= missing.get(partition, 0):
                missing.pop(partition, None)
            yield int(message.key() or b"0"), message.value()


def _rows(connection: psycopg.Connection[Any], query: LiteralString, *values: object) -> list[Any]:
    return connection.execute(query, values).fetchall()


def check_all(
    stream: Stream,
    connection: psycopg.Connection[Any],
    mailbox: MailboxConnection[Any],
    msg: Topic,
    schd: Topic,
) -> list[Check]:
    """Every check, in the order in which a message travels.

    Args:
        stream: The day that was written.
        connection: Our PostgreSQL, as a role that may read everything.
        mailbox: The mailbox's server and database.
        msg: All of the topic of notices.
        schd: All of the topic of states.
    """
    truth = stream.truth()
    return [
        *_messages(len(stream), truth, connection),
        *_against_the_record(stream, truth, connection),
        *_events(connection, msg),
        *_states(truth, connection, schd),
        *_marks(len(stream), connection, mailbox),
    ]


def _messages(sent: int, truth: Truth, connection: psycopg.Connection[Any]) -> Iterator[Check]:
    states = Counter(dict(_rows(connection, "select state, count(*) from inbox.proc_state group by 1")))
    expected = Counter(SUCCEEDED=sent - truth.skipped, SKIPPED=truth.skipped)
    said = ", ".join(f"{count:,} {state}" for state, count in sorted(states.items())) or "none"
    if states == expected:
        yield Check(True, f"All {sent:,} messages ended as they must: {said} (repeated ones, REGN and RSTA).")
    else:
        wanted = ", ".join(f"{count:,} {state}" for state, count in sorted(expected.items()))
        worst = _rows(
            connection,
            """select msg_id, type, styp, state, error_class, last_error from inbox.proc_state
               where state not in ('SUCCEEDED', 'SKIPPED') order by msg_id limit 1""",
        )
        first = f"; the first is {' '.join(str(part) for part in worst[0] if part is not None)}" if worst else ""
        yield Check(False, f"Of {sent:,} messages there are {said}, instead of {wanted}{first}.")
    alerts = _rows(connection, "select code, count(*), min(detail) from core.alert group by 1 order by 1")
    if alerts:
        code, count, detail = alerts[0]
        yield Check(False, f"{sum(row[1] for row in alerts)} alerts were raised; {count} of them {code}: {detail}")


def _against_the_record(stream: Stream, truth: Truth, connection: psycopg.Connection[Any]) -> Iterator[Check]:
    where = f"{stream.airport} on {stream.day}"
    rows = _rows(connection, "select flid, state, cncl is not null, actt from flight.flight_schd")
    alive = {flid for flid, state, _, _ in rows if state == "ACTIVE"}
    cancelled = {flid for flid, state, gone, _ in rows if state == "ACTIVE" and gone}
    actual = {flid: time for flid, state, _, time in rows if state == "ACTIVE" and time is not None}
    real = cancelled & truth.departures
    yield _equal(
        real,
        truth.cancelled_departures,
        f"{len(real)} of {len(truth.departures)} departures of {where} are cancelled, as on record",
        "cancelled departures",
    )
    yield _equal(
        cancelled - real,
        truth.cancelled - truth.cancelled_departures,
        f"the code shares of cancelled flights are cancelled ({len(cancelled - real)}), and no others",
        "cancelled code shares",
    )
    yield _equal(
        {(flid, time) for flid, time in actual.items() if flid not in truth.arrivals},
        set(truth.departed.items()),
        f"all {len(truth.departed)} flights that left have their actual time of departure, to the minute",
        "actual times",
    )
    yield _equal(
        alive,
        truth.alive,
        f"{len(alive)} flights are active, and the {len(truth.withdrawn)} withdrawn by FDEL are not",
        "active flights",
    )


def _equal(found: set[Any], wanted: Iterable[Any], sentence: str, what: str) -> Check:
    expected = set(wanted)
    if found == expected:
        return Check(True, sentence[0].upper() + sentence[1:] + ".")
    missing, extra = sorted(expected - found), sorted(found - expected)
    parts = [
        f"{len(some)} {word} (first: {some[0]})" for some, word in ((missing, "missing"), (extra, "too many")) if some
    ]
    return Check(False, f"The {what} differ from what must be: {', '.join(parts)}.")


def _events(connection: psycopg.Connection[Any], msg: Topic) -> Iterator[Check]:
    unsent = _rows(
        connection,
        """select target, state, count(*), min(last_error) from outbox.msg_event
           where state <> 'SENT' group by 1, 2 order by 1""",
    )
    total = _rows(connection, "select count(*) from outbox.msg_event")[0][0]
    if unsent:
        target, state, count, error = unsent[0]
        yield Check(
            False,
            f"{sum(row[2] for row in unsent)} of {total:,} events were not sent; "
            f"{count} of {target} are {state} ({error}).",
        )
    else:
        yield Check(True, f"All {total:,} events are SENT, each by its own delivery report.")
    notices = [(flid, json.loads(value or b"{}")) for flid, value in msg.records]
    stored = {row[0] for row in _rows(connection, "select event_id from outbox.msg_event where target = 'KAFKA:msg'")}
    told = [notice.get("EVENT_ID") for _, notice in notices]
    backwards = 0
    last: dict[int, tuple[int, int]] = {}
    for flid, notice in notices:
        place = (notice["STATE_VERSION"], notice["EVENT_ID"])
        backwards += place < last.get(flid, (0, 0))
        last[flid] = place
    if set(told) == stored and not backwards:
        again = len(told) - len(stored)
        twice = f", {again} of them told again" if again else ""
        yield Check(True, f"{len(told):,} notices are on the topic{twice}, in order for every flight.")
    else:
        yield Check(
            False,
            f"The topic of notices has {len(set(told)):,} events, the outbox {len(stored):,} "
            f"({len(stored - set(told))} missing); {backwards} stand before an earlier one of their flight.",
        )


def _states(truth: Truth, connection: psycopg.Connection[Any], schd: Topic) -> Iterator[Check]:
    rows = _rows(
        connection,
        """select f.flid, f.state, d.document::text
           from flight.flight_schd f
           join flight.document((select array_agg(flid) from flight.flight_schd)) d using (flid)""",
    )
    last = schd.last
    wanted = {flid: document.encode() if state == "ACTIVE" else None for flid, state, document in rows}
    wrong = [flid for flid in sorted(wanted.keys() | last.keys()) if last.get(flid, b"") != wanted.get(flid, b"")]
    removed = sum(value is None for value in wanted.values())
    if wrong:
        yield Check(
            False,
            f"For {len(wrong)} of {len(wanted)} flights the last state on the topic is not the database's "
            f"(first: {wrong[0]}).",
        )
    else:
        yield Check(
            True,
            f"For all {len(wanted)} flights the last state on the topic is the database's, byte for byte "
            f"({removed} tombstones).",
        )
    linked = {(m["FLID"], flid) for flid, _, document in rows for m in json.loads(document).get("MAFL", ())}
    pairs = {(child, main) for child, main in truth.code_shares.items() if child not in truth.withdrawn}
    yield _equal(
        linked, pairs, f"all {len(linked)} code shares stand in their main flight's MAFL", "code shares in MAFL"
    )


def _marks(sent: int, connection: psycopg.Connection[Any], mailbox: MailboxConnection[Any]) -> Iterator[Check]:
    with mailbox.cursor() as cursor:
        cursor.execute("select CMINMSGS_ID, PROC_FLAG, PROC_AT from CMINMSGS")
        marked: dict[int, tuple[str | None, object]] = {row[0]: (row[1], row[2]) for row in cursor.fetchall()}
    rows = _rows(
        connection,
        """select p.msg_id,
                  case p.state when 'SUCCEEDED' then s.mailbox_marker_succeeded
                               when 'SKIPPED' then s.mailbox_marker_skipped
                               when 'DEAD' then s.mailbox_marker_dead end,
                  p.backfill_at is not null and p.backfill_outcome = 'WRITTEN'
           from inbox.proc_state p cross join core.setting s""",
    )
    wrong = [row[0] for row in rows if not row[2] or marked.get(row[0], (None, None))[0] != row[1]]
    wrong += sorted(marked.keys() - {row[0] for row in rows})
    unset = sum(flag is None or at is None for flag, at in marked.values())
    if not wrong and not unset and len(marked) == sent:
        said = ", ".join(
            f"{count:,} {flag}" for flag, count in sorted(Counter(str(m[0]) for m in marked.values()).items())
        )
        yield Check(True, f"Every mailbox row is marked once, as its message ended: {said}.")
    else:
        first = f" (first: {wrong[0]})" if wrong else ""
        yield Check(
            False, f"Of {len(marked):,} mailbox rows {unset} have no mark, and {len(wrong)} not the right one{first}."
        )


def summarise(connection: psycopg.Connection[Any], topics: dict[str, Topic]) -> Summary:
    """Counts, latencies and throughput of what the database holds."""
    ((first, last, ended),) = _rows(
        connection, "select min(enqueued_at), max(finished_at), count(finished_at) from inbox.proc_state"
    )
    seconds = (last - first).total_seconds() if ended else 0.0
    ((percentiles,),) = _rows(
        connection,
        """select percentile_cont(array[0.5, 0.9, 0.99, 1]) within group (
                    order by extract(epoch from e.sent_at - coalesce(p.received_at, p.enqueued_at))::float8)
           from outbox.msg_event e join inbox.proc_state p on p.msg_id = e.message_id
           where e.target = 'KAFKA:msg' and e.sent_at is not null""",
    )
    return Summary(
        outcomes=_counts(_rows(connection, "select state, count(*) from inbox.proc_state group by 1 order by 1")),
        flights=_flights(connection),
        events=_counts(_rows(connection, "select target, count(*) from outbox.msg_event group by 1 order by 1")),
        records={name: len(topic.records) for name, topic in topics.items()},
        latency=dict(zip(("50 %", "90 %", "99 %", "worst"), percentiles or (), strict=False)),
        per_second=ended / seconds if seconds else 0.0,
        alerts=_counts(_rows(connection, "select code, count(*) from core.alert group by 1 order by 1")),
    )


def _counts(rows: Sequence[tuple[str, int]]) -> dict[str, int]:
    return dict(rows)


def _flights(connection: psycopg.Connection[Any]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {"Departures": {}, "Code shares": {}, "Arriving legs": {}}
    for kind, ending, count in _rows(
        connection,
        """select case when mvin = 'A' then 'Arriving legs' when maid is not null then 'Code shares'
                       else 'Departures' end,
                  case when state = 'DELETED' then 'withdrawn' when cncl is not null then 'cancelled'
                       when actt is not null then case mvin when 'A' then 'arrived' else 'departed' end
                       else 'planned' end as ending,
                  count(*)
           from flight.flight_schd group by 1, 2 order by 2""",
    ):
        found[kind][ending] = count
    return found

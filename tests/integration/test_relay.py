"""The relay against a real broker and a real outbox (pitfalls 9, 17, 19, 21, 49, 51)."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition

from supervisor import database, relay
from supervisor.config import Kafka
from supervisor.database import MSG, SCHD, Connection
from supervisor.errors import BrokerUnreachable, StaleEpoch
from supervisor.relay import Relay, Round

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from demo.servers import KafkaBroker


@pytest.fixture
def connection(database_url: str) -> Iterator[Connection]:
    from supervisor.config import Database

    opened = database.connect(Database(url=database_url), "test")
    yield opened
    opened.close()


@pytest.fixture
def epoch(connection: Connection) -> int:
    return database.lease_acquire(connection, "test", 600).epoch


def settings(bootstrap: str, topic: Callable[[str], str], **more: Any) -> Kafka:
    return Kafka(
        bootstrap=bootstrap,
        topic_msg=topic("msg"),
        topic_schd=topic("schd"),
        partitions=3,
        **({"delivery_timeout": 10} | more),
    )


def put(connection: Connection, flid: int, size: int | str = "{}", version: int = 1, message: int = 7) -> int:
    """A notice in the outbox; gives its EVENT_ID."""
    payload = size if isinstance(size, str) else '{"X":"' + "x" * (size - 8) + '"}'
    found = connection.execute(
        "insert into outbox.msg_event (event_id, target, flid, event_type, state_version, message_id, payload,"
        " next_attempt_at, created_at, updated_at)"
        " values (nextval('outbox.event_id'), 'KAFKA:msg', %s, 'UPSERT', %s, %s, %s, now(), now(),"
        " '2026-03-10 00:40:12.123456+00') returning event_id",
        [flid, version, message, payload],
    ).fetchone()
    assert found is not None
    event_id: int = found[0]
    return event_id


def states(connection: Connection) -> dict[int, str]:
    return dict(connection.execute("select event_id, state from outbox.msg_event order by event_id").fetchall())


def consume(bootstrap: str, topic: str, count: int, wait: float = 20.0) -> list[Any]:
    """``count`` records of a topic from its beginning, and whatever else is there; in order within a partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    try:
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        found: list[Any] = []
        end = time.monotonic() + wait
        while time.monotonic() < end and len(found) < count:
            record = consumer.poll(0.2)
            if record is not None and record.error() is None:
                found.append(record)
        while (record := consumer.poll(0.5)) is not None:
            if record.error() is None:
                found.append(record)
        return found
    finally:
        consumer.close()


def drain(one: Relay, connection: Connection, epoch: int, limit: int | None = None, rounds: int = 50) -> list[Round]:
    done = []
    for _ in range(rounds):
        done.append(one.run_once(connection, epoch, limit))
        if not done[-1].claimed:
            return done
    raise AssertionError(f"not drained after {rounds} rounds: {done[-1]}")


def murmur2(data: bytes) -> int:
    """Java's (org.apache.kafka.common.utils.Utils), written down again: the client is not its own judge."""
    mask = 0xFFFFFFFF
    m, r, length = 0x5BD1E995, 24, len(data)
    h = (0x9747B28C ^ length) & mask
    for i in range(0, length // 4 * 4, 4):
        k = int.from_bytes(data[i : i + 4], "little")
        k = (k * m) & mask
        k ^= k >> r
        k = (k * m) & mask
        h = ((h * m) & mask) ^ k
    rest = data[length // 4 * 4 :]
    for i in reversed(range(len(rest))):
        h ^= rest[i] << (8 * i)
    if rest:
        h = (h * m) & mask
    h ^= h >> 13
    h = (h * m) & mask
    return (h ^ (h >> 15)) & 0x7FFFFFFF


def test_a_record_says_what_was_claimed(
    connection: Connection, epoch: int, bootstrap: str, topic: Callable[[str], str]
) -> None:
    kafka = settings(bootstrap, topic)
    flids = [7701002, 1, 999999999999, 4711, 42]
    payload = '{"FLID":7701002,"REMC":"大雾 ✈"}'
    ids = [put(connection, flid, payload, version=3, message=42) for flid in flids]
    one = Relay(kafka, MSG)
    assert [(r.claimed, r.sent, r.trouble) for r in drain(one, connection, epoch)] == [(5, 5, ""), (0, 0, "")]
    one.close()
    records = consume(bootstrap, kafka.topic_msg, 5)
    assert sorted(int(record.key()) for record in records) == sorted(flids)
    for record in records:
        assert record.value() == payload.encode()
        assert record.partition() == murmur2(record.key()) % 3
    record = next(record for record in records if record.key() == b"7701002")
    assert dict(record.headers()) == {
        "ce_specversion": b"1.0",
        "ce_id": str(ids[0]).encode(),
        "ce_source": b"/msgexchange",
        "ce_type": b"msgx.flight.upsert",
        "ce_subject": b"7701002",
        "ce_time": b"2026-03-10T00:40:12.123456+00:00",
        "content-type": b"application/json",
        "message-id": b"42",
        "state-version": b"3",
    }
    assert set(states(connection).values()) == {"SENT"}


def test_a_tombstone_has_no_value(
    connection: Connection, epoch: int, bootstrap: str, topic: Callable[[str], str]
) -> None:
    kafka = settings(bootstrap, topic)
    connection.execute(
        "insert into outbox.msg_event (event_id, target, flid, event_type, state_version, message_id,"
        " next_attempt_at, created_at, updated_at)"
        " values (nextval('outbox.event_id'), 'KAFKA:schd', 5, 'TOMBSTONE', 9, 8, now(), now(), now())"
    )
    one = Relay(kafka, SCHD)
    assert drain(one, connection, epoch)[0].sent == 1
    one.close()
    (record,) = consume(bootstrap, kafka.topic_schd, 1)
    assert record.key() == b"5"
    assert record.value() is None
    assert dict(record.headers())["ce_type"] == b"msgx.flight.tombstone"


def test_events_of_a_flight_go_one_after_the_other(
    connection: Connection, epoch: int, bootstrap: str, topic: Callable[[str], str]
) -> None:
    kafka = settings(bootstrap, topic)
    for version in range(1, 6):
        for flid in (1, 2, 3):
            put(connection, flid, f'{{"V":{version}}}', version=version)
    one = Relay(kafka, MSG)
    assert [round_.sent for round_ in drain(one, connection, epoch)] == [3, 3, 3, 3, 3, 0]
    one.close()
    by_key: dict[bytes, list[bytes]] = {}
    for record in consume(bootstrap, kafka.topic_msg, 15):
        by_key.setdefault(record.key(), []).append(record.value())
    assert set(by_key) == {b"1", b"2", b"3"}
    assert all(values == [f'{{"V":{v}}}'.encode() for v in range(1, 6)] for values in by_key.values())


def test_a_paused_broker_reorders_nothing(
    connection: Connection, epoch: int, make_broker: Callable[..., KafkaBroker], topic: Callable[[str], str]
) -> None:
    """Pitfall 9."""
    broker = make_broker()
    kafka = settings(broker.bootstrap, topic, delivery_timeout=2, request_timeout=2)
    one = Relay(kafka, MSG)
    assert one.run_once(connection, epoch).claimed == 0  # the topic is there
    for version in (1, 2, 3):
        put(connection, 1, f'{{"V":{version}}}', version=version)
    put(connection, 2, '{"V":1}')
    broker.pause()
    began = time.monotonic()
    told = one.run_once(connection, epoch)
    assert time.monotonic() - began < 8
    assert (told.claimed, told.sent, told.released, told.failed) == (2, 0, 2, 0)
    assert told.trouble
    assert set(states(connection).values()) == {"PENDING"}
    assert connection.execute("select max(attempts) from outbox.msg_event").fetchone() == (0,)
    broker.resume()
    end = time.monotonic() + 30
    while "PENDING" in states(connection).values() and time.monotonic() < end:
        one.run_once(connection, epoch)
    one.close()
    assert set(states(connection).values()) == {"SENT"}
    by_key: dict[bytes, list[bytes]] = {}
    for record in consume(broker.bootstrap, kafka.topic_msg, 4):
        by_key.setdefault(record.key(), []).append(record.value())
    first_seen = list(dict.fromkeys(by_key[b"1"]))
    assert first_seen == [b'{"V":1}', b'{"V":2}', b'{"V":3}']
    positions = [by_key[b"1"].index(f'{{"V":{v}}}'.encode()) for v in (1, 2, 3)]
    assert positions == sorted(positions)
    assert by_key[b"1"][-1] == b'{"V":3}'
    assert b'{"V":1}' in by_key[b"2"]


@pytest.mark.parametrize("keep_data", [True, False])
def test_a_broker_that_comes_back(
    connection: Connection,
    epoch: int,
    make_broker: Callable[..., KafkaBroker],
    topic: Callable[[str], str],
    keep_data: bool,
) -> None:
    """Pitfall 17: killed and restarted, with its data or without; the relay goes on from the outbox."""
    import shutil

    broker = make_broker()
    kafka = settings(broker.bootstrap, topic, delivery_timeout=3, request_timeout=3)
    one = Relay(kafka, MSG)
    put(connection, 1)
    assert one.run_once(connection, epoch).sent == 1
    time.sleep(1.5)  # this broker loses what it acknowledged within the last second before a kill
    broker.kill()
    lost = [put(connection, flid) for flid in (2, 3, 4)]
    told = one.run_once(connection, epoch)
    assert told.sent == 0
    assert told.trouble
    if not keep_data:
        shutil.rmtree(broker.data / "base")
    broker.start()
    end = time.monotonic() + 40
    while "PENDING" in states(connection).values() and time.monotonic() < end:
        try:
            one.run_once(connection, epoch)
        except BrokerUnreachable:
            time.sleep(0.2)
    one.close()
    assert set(states(connection).values()) == {"SENT"}
    keys = {int(record.key()) for record in consume(broker.bootstrap, kafka.topic_msg, 3)}
    assert keys >= {2, 3, 4}
    assert len(lost) == 3


def test_a_topic_that_was_deleted_is_made_again(
    connection: Connection, epoch: int, make_broker: Callable[..., KafkaBroker], topic: Callable[[str], str]
) -> None:
    """Pitfall 17."""
    from confluent_kafka.admin import AdminClient

    broker = make_broker()
    kafka = settings(broker.bootstrap, topic, delivery_timeout=3)
    one = Relay(kafka, MSG)
    put(connection, 1)
    assert one.run_once(connection, epoch).sent == 1
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.delete_topics([kafka.topic_msg])[kafka.topic_msg].result(10)
    put(connection, 2)
    end = time.monotonic() + 40
    while "PENDING" in states(connection).values() and time.monotonic() < end:
        one.run_once(connection, epoch)
    one.close()
    assert set(states(connection).values()) == {"SENT"}
    assert b"2" in [record.key() for record in consume(broker.bootstrap, kafka.topic_msg, 1)]


def test_a_producer_with_a_fatal_error_is_replaced(
    connection: Connection, epoch: int, bootstrap: str, topic: Callable[[str], str]
) -> None:
    """Pitfall 17: everything after it would fail for ever."""
    one = Relay(settings(bootstrap, topic), MSG)
    put(connection, 1)
    assert one.run_once(connection, epoch).sent == 1
    before = one._producer
    one._errors.append(KafkaError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, "made up", fatal=True))
    put(connection, 2)
    assert one.run_once(connection, epoch).sent == 1
    assert one._producer is not None
    assert one._producer is not before
    one.close()


def test_oversize_events_do_not_hold_others(
    connection: Connection, epoch: int, bootstrap: str, topic: Callable[[str], str]
) -> None:
    """Pitfall 19: twelve that cannot be told, a batch of ten, five good ones; and a later event of a bad flight."""
    kafka = settings(bootstrap, topic)
    bad = [put(connection, flid, 1_100_000) for flid in range(1, 13)]
    good = [put(connection, flid) for flid in range(101, 106)]
    later = put(connection, 1, '{"later":1}', version=2)
    one = Relay(kafka, MSG)
    first = one.run_once(connection, epoch, 10)
    assert (first.claimed, first.failed, first.released, first.trouble) == (10, 10, 0, "")
    second = one.run_once(connection, epoch, 10)
    assert second.sent >= 5
    drain(one, connection, epoch, 10)
    one.close()
    now = states(connection)
    assert {now[event] for event in bad} == {"DEAD"}
    assert {now[event] for event in [*good, later]} == {"SENT"}
    reason, attempts = connection.execute(
        "select last_error, attempts from outbox.msg_event where event_id = %s", [bad[0]]
    ).fetchone() or ("", 0)
    assert "1100000 bytes" in reason
    assert attempts == 1
    dead = connection.execute("select count(*) from outbox.dead").fetchone()
    assert dead == (12,)


def test_a_backlog_goes_through_a_small_queue(
    connection: Connection, epoch: int, make_broker: Callable[..., KafkaBroker], topic: Callable[[str], str]
) -> None:
    """Pitfall 21: broker down, 5,000 events, a queue of 100; then one single event on an idle system."""
    broker = make_broker()
    kafka = settings(broker.bootstrap, topic, queue_messages=100, delivery_timeout=3, request_timeout=3)
    one = Relay(kafka, MSG)
    assert one.run_once(connection, epoch).claimed == 0
    broker.stop()
    connection.execute(
        "insert into outbox.msg_event (event_id, target, flid, event_type, state_version, message_id, payload,"
        " next_attempt_at, created_at, updated_at)"
        " select nextval('outbox.event_id'), 'KAFKA:msg', g, 'UPSERT', 1, 1, '{}', now(), now(), now()"
        " from generate_series(1, 5000) g"
    )
    told = one.run_once(connection, epoch)
    assert (told.claimed, told.sent, told.failed, told.released) == (1000, 0, 0, 1000)
    assert told.trouble
    broker.start()
    end = time.monotonic() + 60
    while "PENDING" in states(connection).values() and time.monotonic() < end:
        one.run_once(connection, epoch)
    assert set(states(connection).values()) == {"SENT"}
    single = put(connection, 1)
    assert one.run_once(connection, epoch).sent == 1
    assert states(connection)[single] == "SENT"
    one.close()
    assert len({record.key() for record in consume(broker.bootstrap, kafka.topic_msg, 5001)}) == 5000


class Judge:
    """A producer whose broker judges batches: all between two flushes, refused if one record is too large."""

    limit = 100_000

    def __init__(self, _configuration: dict[str, Any]) -> None:
        self.batch: list[tuple[int, Callable[[KafkaError | None, object], None]]] = []
        self.delivered: list[int] = []

    def produce(self, _topic: str, **record: Any) -> None:
        self.batch.append((len(record["value"]), record["on_delivery"]))

    def poll(self, _timeout: float) -> int:
        return 0

    def flush(self, _timeout: float) -> int:
        batch, self.batch = self.batch, []
        refused = any(size > self.limit for size, _ in batch)
        for size, report in batch:
            report(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE) if refused else None, object())
            if not refused:
                self.delivered.append(size)
        return 0

    def purge(self, **_: Any) -> None:
        self.batch.clear()


def test_an_oversize_record_does_not_take_its_neighbours_along(
    connection: Connection,
    epoch: int,
    bootstrap: str,
    topic: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Pitfall 49: the broker refuses the whole batch; only the record that is too large by itself is DEAD."""
    monkeypatch.setattr(relay, "Producer", Judge)
    ids = [put(connection, flid, size) for flid, size in ((1, 90_000), (2, 120_000), (3, 1_000))]
    one = Relay(settings(bootstrap, topic), MSG)
    told = one.run_once(connection, epoch)
    assert (told.sent, told.failed, told.released, told.trouble) == (2, 1, 0, "")
    assert [states(connection)[event] for event in ids] == ["SENT", "DEAD", "SENT"]
    query = "select last_error from outbox.msg_event where event_id = %s"
    (reason,) = connection.execute(query, [ids[1]]).fetchone() or ("",)
    assert "120000 bytes" in reason
    one.close()


def test_both_ways_of_being_oversize_end_alike(
    connection: Connection, epoch: int, bootstrap: str, topic: Callable[[str], str]
) -> None:
    """Pitfall 49: refused by ``produce`` (1.1 MB) and by the broker, whatever its limit, never without an end."""
    kafka = settings(bootstrap, topic, client={"message.max.bytes": 100_000})
    ids = [put(connection, flid, size) for flid, size in ((1, 90_000), (2, 120_000), (3, 1_000), (4, 1_100_000))]
    one = Relay(kafka, MSG)
    drain(one, connection, epoch)
    one.close()
    assert [states(connection)[event] for event in ids] == ["SENT", "DEAD", "SENT", "DEAD"]


def test_one_row_that_cannot_be_marked(
    connection: Connection, epoch: int, bootstrap: str, topic: Callable[[str], str]
) -> None:
    """Pitfall 51: the other nine are SENT, the third is told again, the relay lives."""
    kafka = settings(bootstrap, topic)
    ids = [put(connection, flid) for flid in range(1, 11)]
    connection.execute(
        "create function public.refuse() returns trigger language plpgsql as $fn$ begin"
        f" if new.event_id = {ids[2]} and new.state = 'SENT' then raise exception 'not this one'; end if;"
        " return new; end $fn$;"
        " create trigger refuse before update on outbox.msg_event_msg for each row execute function public.refuse()"
    )
    one = Relay(kafka, MSG)
    told = one.run_once(connection, epoch)
    assert (told.sent, told.released) == (9, 1)
    now = states(connection)
    assert [event for event in ids if now[event] != "SENT"] == [ids[2]]
    with pytest.raises(psycopg.errors.RaiseException):  # alone it is the duty's failure, which backs off
        one.run_once(connection, epoch)
    connection.execute("drop trigger refuse on outbox.msg_event_msg")
    assert one.run_once(connection, epoch).sent == 1
    one.close()
    keys = [record.key() for record in consume(bootstrap, kafka.topic_msg, 12)]
    assert sorted(set(keys)) == sorted(str(flid).encode() for flid in range(1, 11))
    assert keys.count(b"3") == 3


def test_a_dead_address_is_the_broker_s_fault(connection: Connection, epoch: int, topic: Callable[[str], str]) -> None:
    kafka = settings("127.0.0.1:1", topic, delivery_timeout=1, request_timeout=1, create_topics=False)
    put(connection, 1)
    one = Relay(kafka, MSG)
    began = time.monotonic()
    told = one.run_once(connection, epoch)
    one.close()
    assert time.monotonic() - began < 6
    assert (told.sent, told.failed, told.released) == (0, 0, 1)
    assert told.trouble
    attempts, error = connection.execute("select attempts, last_error from outbox.msg_event").fetchone() or (9, "")
    assert attempts == 0
    assert error
    with pytest.raises(BrokerUnreachable, match="does not answer"):
        relay.reach(kafka)


def test_a_stop_does_not_wait_for_the_broker(connection: Connection, epoch: int, topic: Callable[[str], str]) -> None:
    stopping = threading.Event()
    kafka = settings("127.0.0.1:1", topic, delivery_timeout=60, create_topics=False)
    for flid in range(1, 50):
        put(connection, flid)
    one = Relay(kafka, MSG, stopping=stopping)
    threading.Timer(0.5, stopping.set).start()
    began = time.monotonic()
    told = one.run_once(connection, epoch)
    assert time.monotonic() - began < 5
    assert told.released == 49
    one.close()


def test_a_deposed_leader_tells_nothing(
    connection: Connection, epoch: int, bootstrap: str, topic: Callable[[str], str]
) -> None:
    kafka = settings(bootstrap, topic)
    put(connection, 1)
    lease = [False]
    one = Relay(kafka, MSG, may_tell=lambda: lease[0])
    told = one.run_once(connection, epoch)
    assert (told.sent, told.released) == (0, 1)
    database.lease_release(connection, epoch)
    lease[0] = True
    with pytest.raises(StaleEpoch):
        one.run_once(connection, epoch)
    one.close()
    assert consume(bootstrap, kafka.topic_msg, 1, wait=1) == []

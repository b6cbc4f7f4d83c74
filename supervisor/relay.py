"""Tells Kafka what the outbox holds: claim, produce, wait for every report, settle (implementation.md 8).

What may be told next, and in which order, is the database's decision: a claim gives at most one event of a flight,
and the next one of that flight is not given before this one is settled, so that nothing here can reorder a flight.

How each trouble ends:

- The broker's report says that it has the record: settled, SENT.
- The record is too large, by ``produce`` or by a report: DEAD at once, with its size in the reason. A broker judges
  whole batches, so that a report is believed only of a record that travelled alone.
- The broker refuses this record otherwise: a try is counted, and the event has its own back-off.
- No report in time, no connection, no leader, not authorised, an unknown topic: not the event's fault. It is given back
  uncounted, and the duty itself backs off.
- The client library's queue is full: polled until there is room, or given back at the deadline.
- A fatal error of the idempotent producer: what is confirmed is settled, the rest is given back, and the next round has
  a new producer.

Delivery callbacks only append to a list: no database, no ``poll``, no ``flush`` is reachable from them.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import psycopg
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # it exports what it imports

from supervisor import database
from supervisor.errors import BrokerUnreachable, ConfigError
from supervisor.logs import logger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from supervisor.config import Kafka
    from supervisor.database import Connection, Event

Header = tuple[str, bytes]

FUTILE_ROUNDS = 3  # rounds in trouble, without one record sent, after which the producer itself is doubted

# The broker looked at this record and does not want it. Everything that is in neither list counts as the record's
# fault too, so that it has an end; see _is_broker_wide.
TOO_LARGE = frozenset({KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE})
BROKER_WIDE = frozenset(
    {
        KafkaError._MSG_TIMED_OUT,
        KafkaError._TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._RESOLVE,
        KafkaError._AUTHENTICATION,
        KafkaError._SSL,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError._PURGE_QUEUE,
        KafkaError._PURGE_INFLIGHT,
        KafkaError._FATAL,
        KafkaError._STATE,
        KafkaError._DESTROY,
        KafkaError._QUEUE_FULL,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.REPLICA_NOT_AVAILABLE,
        KafkaError.NETWORK_EXCEPTION,
        KafkaError.NOT_ENOUGH_REPLICAS,
        KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.KAFKA_STORAGE_ERROR,
        KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER,
        KafkaError.DUPLICATE_SEQUENCE_NUMBER,
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.INVALID_PRODUCER_ID_MAPPING,
        KafkaError.UNKNOWN_PRODUCER_ID,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.THROTTLING_QUOTA_EXCEEDED,
    }
)


@dataclass(slots=True)
class Round:
    """What became of one claim.

    Attributes:
        claimed: How many events were taken.
        sent: How many of them the broker confirmed.
        failed: How many failed for a reason of their own.
        released: How many were given back.
        trouble: What ails the broker; empty if nothing does.
    """

    claimed: int = 0
    sent: int = 0
    failed: int = 0
    released: int = 0
    trouble: str = ""


@dataclass(slots=True)
class _Delivery:
    """What is known of the events of one round, by their place in the claim."""

    events: Sequence[Event]
    waiting: set[int] = field(default_factory=set)
    confirmed: list[int] = field(default_factory=list)
    refused: dict[int, tuple[str, bool]] = field(default_factory=dict)  # reason, permanent
    given_back: dict[int, str] = field(default_factory=dict)
    too_large_in_batch: list[int] = field(default_factory=list)
    trouble: str = ""


def headers(event: Event, source: str) -> list[Header]:
    """CloudEvents 1.0, Kafka binding, binary mode, with our message and version (design section 3)."""
    pairs = {
        "ce_specversion": "1.0",
        "ce_id": str(event.event_id),
        "ce_source": source,
        "ce_type": f"msgx.flight.{event.event_type.lower()}",
        "ce_subject": str(event.flid),
        "ce_time": event.updated_at.isoformat(),
        "content-type": "application/json",
        "message-id": str(event.message_id),
        "state-version": str(event.state_version),
    }
    return [(name, text.encode()) for name, text in pairs.items()]


class Relay:
    """The relay of one target: a producer of its own, used by one thread alone.

    Args:
        settings: Broker, topics, time-outs.
        target: ``KAFKA:msg`` or ``KAFKA:schd``.
        stopping: Set when the process stops: nothing more is produced, and the wait for reports ends.
        may_tell: Asked right before records leave: whether our lease still holds on our own clock.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        settings: Kafka,
        target: str,
        *,
        stopping: threading.Event | None = None,
        may_tell: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._target = target
        self.topic = settings.topic_schd if target == database.SCHD else settings.topic_msg
        self._stopping = stopping or threading.Event()
        self._may_tell = may_tell
        self._clock = clock
        self._producer: Producer | None = None
        self._topic_checked = False
        self._reports: deque[tuple[int, int, KafkaError | None]] = deque()
        self._errors: deque[KafkaError] = deque(maxlen=100)
        self._generation = 0
        self._futile = 0
        self._log = logger(duty=f"relay {target}", topic=self.topic)

    def run_once(self, connection: Connection, epoch: int, limit: int | None = None) -> Round:
        """Claim once and see every event of the claim to its end.

        Args:
            connection: In autocommit, so that the claim is committed before anything is told.
            epoch: Our leadership.
            limit: Most events of this claim; None = as ``core.setting`` says.

        Raises:
            StaleEpoch, DatabaseUnreachable, psycopg.Error: the claim or the settling failed. What was sent meanwhile is
                sent again later: at least once.
        """
        if self._fatal():
            self._drop()
        self._errors.clear()
        producer = self._ready_producer()
        events = database.outbox_claim(connection, epoch, self._target, limit)
        result = Round(claimed=len(events))
        if not events:
            producer.poll(0)
            return result
        delivery = _Delivery(events)
        deadline = self._clock() + self._settings.delivery_timeout + 2.0
        try:
            self._produce(producer, delivery, range(len(events)), deadline)
            self._await(producer, delivery, deadline)
            for place in delivery.too_large_in_batch:
                self._alone(producer, delivery, place, deadline)
            self._give_up_waiting(delivery)
        except BaseException:
            self._drop()  # an unforeseen error of the client library: nothing of this round may leave later
            raise
        finally:
            # In that case too: what was confirmed is settled, the rest is not left in our hand.
            self._settle(connection, epoch, delivery, result)
        self._learn(result)
        return result

    def close(self) -> None:
        """Drop the producer; what it still holds was never settled and is told again."""
        self._drop()

    def _learn(self, result: Round) -> None:
        """After trouble: is the topic there still? After trouble in a row without one record sent: a new producer."""
        if result.sent:
            self._futile = 0
        if result.trouble and not self._stopping.is_set():
            self._topic_checked = False
            self._futile += 0 if result.sent else 1
            if self._futile >= FUTILE_ROUNDS:
                self._futile = 0
                self._drop()

    # Producing

    def _ready_producer(self) -> Producer:
        if self._producer is None:
            self._generation += 1
            self._reports.clear()
            configuration = producer_configuration(self._settings, self._errors.append, f"msgx-{self._target}")
            with _refused_settings():
                self._producer = Producer(configuration)
        if not self._topic_checked:
            ensure_topic(self._settings, self.topic, compacted=self._target == database.SCHD)
            self._topic_checked = True
        return self._producer

    def _produce(self, producer: Producer, delivery: _Delivery, places: Sequence[int], deadline: float) -> None:
        for place in places:
            if delivery.trouble:
                delivery.given_back[place] = delivery.trouble
                continue
            self._produce_one(producer, delivery, place, deadline)

    def _produce_one(self, producer: Producer, delivery: _Delivery, place: int, deadline: float) -> None:
        event = delivery.events[place]
        body = None if event.value is None else event.value.encode()
        while True:
            if self._stopping.is_set():
                delivery.trouble = "the supervisor stops"
            elif not self._may_tell():
                delivery.trouble = "our lease has run out"
            elif self._clock() > deadline:
                delivery.trouble = f"the client's queue stayed full for {self._settings.delivery_timeout:.0f} s"
            if delivery.trouble:
                delivery.given_back[place] = delivery.trouble
                return
            try:
                producer.produce(
                    self.topic,
                    key=str(event.flid).encode(),
                    value=body,
                    headers=headers(event, self._settings.ce_source),  # type: ignore[arg-type]  # stub: invariant list
                    on_delivery=partial(_report, self._reports, self._generation, place),
                )
            except BufferError:
                producer.poll(0.05)
                self._collect(delivery)
                continue
            except KafkaException as error:
                self._judge(delivery, place, error.args[0], alone=True)
                return
            delivery.waiting.add(place)
            producer.poll(0)
            return

    def _await(self, producer: Producer, delivery: _Delivery, deadline: float, *, alone: bool = False) -> None:
        """Serve reports until there is one for each record, or the deadline."""
        stop_at: float | None = None
        while delivery.waiting:
            now = self._clock()
            if self._stopping.is_set():
                stop_at = stop_at or now + 2.0  # what is on its way is worth a moment
            if now > min(deadline, stop_at or deadline):
                return
            producer.flush(0.2)
            self._collect(delivery, alone=alone)
            if self._fatal():
                return

    def _alone(self, producer: Producer, delivery: _Delivery, place: int, deadline: float) -> None:
        """Once more, in a batch of its own: was it this record that was too large, or its neighbour?"""
        if delivery.trouble or self._fatal():
            delivery.given_back[place] = delivery.trouble or "the producer has to be replaced"
            return
        self._produce_one(producer, delivery, place, deadline)
        self._await(producer, delivery, deadline, alone=True)

    def _give_up_waiting(self, delivery: _Delivery) -> None:
        if not delivery.waiting:
            if self._fatal():
                self._drop()
            return
        reason = "no report from the broker in time"
        if self._fatal():
            reason = f"the producer has to be replaced: {self._last_error()}"
        elif self._stopping.is_set():
            reason = "the supervisor stops"
        delivery.trouble = delivery.trouble or reason
        for place in delivery.waiting:
            delivery.given_back[place] = reason
        delivery.waiting.clear()
        # A record that is still inside this producer could reach the topic later than a newer one of its flight.
        self._drop()

    def _collect(self, delivery: _Delivery, *, alone: bool = False) -> None:
        while self._reports:
            generation, place, error = self._reports.popleft()
            if generation != self._generation or place not in delivery.waiting:
                continue
            delivery.waiting.discard(place)
            if error is None:
                delivery.confirmed.append(place)
            else:
                self._judge(delivery, place, error, alone=alone)

    def _judge(self, delivery: _Delivery, place: int, error: KafkaError, *, alone: bool) -> None:
        event = delivery.events[place]
        code = error.code()
        if code in TOO_LARGE:
            if alone:
                size = len((event.value or "").encode())
                delivery.refused[place] = (f"record of {size} bytes is too large: {_text(error)}", True)
            else:
                delivery.too_large_in_batch.append(place)
        elif _is_broker_wide(error):
            if error.fatal() or code == KafkaError._FATAL:
                self._errors.append(error)
            delivery.given_back[place] = _text(error)
            delivery.trouble = delivery.trouble or f"{_text(error)}{self._why()}"
        else:
            delivery.refused[place] = (_text(error), False)

    def _why(self) -> str:
        last = self._last_error()
        return f" ({last})" if last else ""

    def _last_error(self) -> str:
        return _text(self._errors[-1]) if self._errors else ""

    def _fatal(self) -> bool:
        return any(error.fatal() or error.code() == KafkaError._FATAL for error in self._errors)

    def _drop(self) -> None:
        producer, self._producer = self._producer, None
        self._generation += 1
        if producer is None:
            return
        producer.purge(in_queue=True, in_flight=True, blocking=False)
        producer.poll(0)

    # Settling

    def _settle(self, connection: Connection, epoch: int, delivery: _Delivery, result: Round) -> None:
        events = delivery.events
        for place in delivery.waiting:  # only after an unforeseen error of the client library
            delivery.given_back.setdefault(place, "the client library failed")
        result.trouble = delivery.trouble
        if delivery.confirmed:
            confirmed = [events[place] for place in delivery.confirmed]
            self._mark_sent(connection, epoch, confirmed, result)
        for place, (reason, permanent) in delivery.refused.items():
            event = events[place]
            state = database.outbox_fail(connection, epoch, self._target, event, reason, permanent=permanent)
            result.failed += 1
            self._log.warning(
                f"Event {event.event_id} of flight {event.flid} was refused and is {state}: {reason}",
                event_id=event.event_id,
                flid=event.flid,
                message_id=event.message_id,
            )
        if delivery.given_back:
            by_reason: dict[str, list[Event]] = {}
            for place, reason in delivery.given_back.items():
                by_reason.setdefault(reason, []).append(events[place])
            for reason, group in by_reason.items():
                database.outbox_release(connection, epoch, self._target, group, reason)
                result.released += len(group)

    def _mark_sent(self, connection: Connection, epoch: int, confirmed: list[Event], result: Round) -> None:
        """All in one call; if that is refused, one by one, so that one row cannot have the others told twice."""
        try:
            database.outbox_settle(connection, epoch, self._target, confirmed)
            result.sent += len(confirmed)
        except psycopg.DatabaseError as error:
            if connection.closed or len(confirmed) == 1:
                raise
            first_error = error
        else:
            return
        for event in confirmed:
            try:
                database.outbox_settle(connection, epoch, self._target, [event])
                result.sent += 1
            except psycopg.DatabaseError as error:
                if connection.closed:
                    raise
                self._log.warning(
                    f"Event {event.event_id} of flight {event.flid} was sent, but could not be marked and will be sent "
                    f"again: {error.diag.message_primary or error}",
                    event_id=event.event_id,
                    flid=event.flid,
                )
                result.released += 1
        if not result.sent:
            raise first_error


def _report(
    reports: deque[tuple[int, int, KafkaError | None]],
    generation: int,
    place: int,
    error: KafkaError | None,
    _message: Any,
) -> None:
    """The delivery callback. It runs inside ``poll`` and ``flush``, and must do nothing else than this."""
    reports.append((generation, place, error))


def _is_broker_wide(error: KafkaError) -> bool:
    """Whether other events would meet the same: then it is not this event's fault, and no try is counted."""
    return error.fatal() or error.retriable() or error.code() in BROKER_WIDE


def _text(error: Any) -> str:
    if isinstance(error, KafkaError):
        return f"{error.name()}: {error.str()}"
    return " ".join(str(error).split())


def client_configuration(settings: Kafka) -> dict[str, Any]:
    """What every client of ours needs to reach the broker."""
    return {
        "socket.timeout.ms": int(settings.request_timeout * 1000),
        "socket.connection.setup.timeout.ms": int(settings.request_timeout * 1000),
        "reconnect.backoff.ms": 100,
        "reconnect.backoff.max.ms": 2000,
        "topic.metadata.refresh.interval.ms": 60_000,
        **settings.client,
        "bootstrap.servers": settings.bootstrap,
        "log_level": 0,  # errors come through the callbacks, and are told once, by us
    }


def producer_configuration(settings: Kafka, on_error: Callable[[KafkaError], None], client_id: str) -> dict[str, Any]:
    """The producer's settings: idempotent, acknowledged by all, Java's partitioner, and bounded in every respect."""
    own: dict[str, Any] = {
        "client.id": client_id.replace(":", "-"),
        "linger.ms": 5,
        "compression.type": "lz4",
        **client_configuration(settings),
        "queue.buffering.max.messages": settings.queue_messages,
        "queue.buffering.max.kbytes": settings.queue_kbytes,
        "enable.idempotence": True,
        "acks": "all",
        "partitioner": "murmur2_random",
        "delivery.timeout.ms": int(settings.delivery_timeout * 1000),
        "request.timeout.ms": int(min(settings.request_timeout, settings.delivery_timeout) * 1000),
        "error_cb": on_error,
    }
    if "client.id" in settings.client:
        own["client.id"] = settings.client["client.id"]
    return own


@contextlib.contextmanager
def _refused_settings() -> Iterator[None]:
    try:
        yield
    except KafkaException as error:
        raise ConfigError(
            f"[kafka] cannot be used: {_text(error.args[0])}.", "Its keys below [kafka.client] are librdkafka's."
        ) from error


def _admin(settings: Kafka, on_error: Callable[[KafkaError], None] = lambda _error: None) -> AdminClient:
    configuration: dict[str, Any] = client_configuration(settings) | {"error_cb": on_error}
    with _refused_settings():
        return AdminClient(configuration)


def check(settings: Kafka) -> None:
    """Whether the client library takes our settings; nothing is sent.

    Raises:
        ConfigError: it does not.
    """
    with _refused_settings():
        Producer(producer_configuration(settings, lambda _error: None, "msgx-check"))


def reach(settings: Kafka) -> dict[str, int]:
    """The topics of the broker, with their number of partitions.

    Raises:
        BrokerUnreachable: it does not answer within ``request_timeout``, or refuses us.
        ConfigError: the client library refuses ``[kafka.client]``.
    """
    last: deque[KafkaError] = deque(maxlen=10)
    admin = _admin(settings, last.append)
    try:
        found = admin.list_topics(timeout=settings.request_timeout)
    except KafkaException as error:
        why = f" ({_text(last[-1])})" if last else ""
        raise BrokerUnreachable(
            f"The Kafka broker at {settings.bootstrap} does not answer: {_text(error.args[0])}{why}"
        ) from error
    return {name: len(topic.partitions) for name, topic in found.topics.items() if topic.error is None}


def ensure_topic(settings: Kafka, topic: str, *, compacted: bool) -> None:
    """Create our topic if it is missing and we may; where we may not, the broker's owner must, and producing says so.

    Raises:
        BrokerUnreachable: the broker does not answer.
    """
    if not settings.create_topics or topic in reach(settings):
        return
    admin = _admin(settings)
    wanted = NewTopic(
        topic,
        num_partitions=settings.partitions,
        replication_factor=settings.replication_factor,
        config={"cleanup.policy": "compact"} if compacted else {},
    )
    log = logger(topic=topic)
    try:
        admin.create_topics(
            [wanted], operation_timeout=settings.request_timeout, request_timeout=settings.request_timeout
        )[topic].result(timeout=settings.request_timeout + 2)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            log.warning(f"Topic {topic} is missing and could not be created: {_text(error.args[0])}")
    except TimeoutError:
        log.warning(f"Topic {topic} is missing and was not created within {settings.request_timeout:.0f} s")
    else:
        log.info(f"Topic {topic} was created with {settings.partitions} partitions")

"""The measurements. Each takes what it needs, gives figures, and prints nothing."""

from __future__ import annotations

import contextlib
import statistics
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import psycopg
from psycopg.types.json import Json

from demo.demo import SupervisorProcess
from demo.simulator import simulate, write
from loader.mailbox import Mailbox, MailboxConfig
from supervisor import database
from supervisor.config import Database, Kafka
from supervisor.relay import Relay
from tests.bench.workload import Day, House

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from demo.servers import KafkaBroker, PostgresServer
    from demo.simulator import Stream

Figures = dict[str, float]
FLIGHTS = 2_000
PACE = 1_800.0  # simulated seconds a second: half an hour of the airport
PACED_SECONDS = 20.0


def _seconds(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def _repeated(house: House, query: str, *values: object, times: int) -> float:
    """Median seconds of a query with all its rows, after a first one that does not count."""

    def ask() -> None:
        found = house.connection.execute(query, values)
        if found.description:
            found.fetchall()

    ask()
    return statistics.median(_seconds(ask) for _ in range(times))


class Took(NamedTuple):
    """Seconds on the wall and, less at the mercy of what else the machine does, seconds of processor in the backend."""

    wall: float
    processor: float


def _pumped(house: House, messages: int) -> Took:
    """What exactly so many messages took."""
    busy, began = house.processor_seconds(), time.perf_counter()
    processed = house.pump(messages)
    took = Took(time.perf_counter() - began, house.processor_seconds() - busy)
    if processed != messages:
        raise RuntimeError(f"the pump processed {processed} of {messages} messages")
    wrong = house.number("select min(last_error) from inbox.proc_state where state not in ('SUCCEEDED', 'PENDING')")
    if wrong is not None:
        raise RuntimeError(f"not every message succeeded: {wrong}")
    return took


def ordered_apply(server: PostgresServer, messages: int) -> Figures:
    """FLOPs through ``call pipeline.pump`` with staging filled, by 32 and one to a commit, and the floor of both."""
    day = Day(FLIGHTS)
    house = House.build(server, "apply")
    house.put([day.plan(FLIGHTS)])
    _pumped(house, 1)
    flops = day.flops(messages * 2 + 500)
    house.put(flops)
    house.settle()
    _pumped(house, 500)  # plans are made, pages are in memory
    took = _pumped(house, messages)
    figures = {"flop_by_32": messages / took.wall, "flop_processor": took.processor / messages * 1e3}
    house.connection.execute("update core.setting set pipeline_commit_messages = 1")
    figures["flop_by_1"] = messages / _pumped(house, messages).wall
    changes = house.connection.execute("select flid, to_jsonb(f) - 'extra' from flight.flight_schd f").fetchall()
    house.close()

    house = House.build(server, "floor")
    connection = house.connection
    connection.execute((Path(__file__).parent / "floor.sql").read_text(encoding="utf-8"))
    with connection.cursor() as cursor, cursor.copy("copy floor.flight from stdin") as copy:
        for flid, document in changes:
            copy.write_row((flid, Json(document), 1))
    with connection.cursor() as cursor, cursor.copy("copy floor.message (msg_id, flid, change) from stdin") as copy:
        for number, flop in enumerate(flops, start=1):
            record = flop.records[0]
            copy.write_row((number, record.flid, Json(record.scalars)))
    house.settle()
    connection.execute("call floor.pump(0, 500, 32)")
    busy = house.processor_seconds()
    figures["floor_by_32"] = messages / _seconds(lambda: connection.execute(f"call floor.pump(500, {messages}, 32)"))
    figures["floor_processor"] = (house.processor_seconds() - busy) / messages * 1e3
    figures["floor_by_1"] = messages / _seconds(
        lambda: connection.execute(f"call floor.pump({500 + messages}, {messages}, 1)")
    )
    house.close()
    return figures


def plans(server: PostgresServer, repeats: int = 3) -> Figures:
    """Seconds of a DNLD, the first of an empty database and one that repeats it, of all flights and of a tenth."""
    figures: Figures = {}
    day = Day(FLIGHTS)
    for flights in (FLIGHTS // 10, FLIGHTS):
        first, again = [], []
        for _ in range(repeats):
            house = House.build(server, "plans")
            house.put([day.plan(flights), day.plan(flights)])
            first.append(_pumped(house, 1))
            house.settle()
            again.append(_pumped(house, 1))
            house.close()
        for case, times in (("first", first), ("again", again)):
            figures[f"{case}_{flights}"] = statistics.median(took.wall for took in times)
            figures[f"{case}_{flights}_processor"] = statistics.median(took.processor for took in times)
    return figures


_HEAD = """
do $do$
declare
  v_from constant bigint := {start};
begin
  for i in 1 .. 200 loop
    perform from inbox.proc_state m
    where m.msg_id > v_from and m.state in ('PENDING', 'FAILED') order by m.msg_id limit 1;
  end loop;
end
$do$
"""


def old_snapshot(server: PostgresServer, messages: int) -> Figures:
    """FLOPs, and the look-up of the queue's head, while a snapshot held elsewhere holds back vacuum.

    ``head_*``: µs of one look-up from the last finished id, as the pump does it; ``naive_*``: from the beginning.
    """
    day = Day(400)
    figures: Figures = {}
    for case in ("free", "held"):
        house = House.build(server, "snapshot")
        house.put([day.plan(400)])
        _pumped(house, 1)
        house.put(day.flops(messages + 200))
        house.settle()
        with psycopg.connect(house.url) as other:
            if case == "held":
                other.execute("set transaction isolation level repeatable read")
                other.execute("select count(*) from flight.flight_schd")
            _pumped(house, 100)
            quarter = messages // 4
            took = [_pumped(house, quarter) for _ in range(4)]
            for place, one in (("first", took[0]), ("last", took[-1])):
                figures[f"{case}_{place}"] = quarter / one.wall
                figures[f"{case}_{place}_processor"] = one.processor / quarter * 1e3
            through = house.number("select finished_through from inbox.queue_head")
            for name, start in (("head", through), ("naive", 0)):
                figures[f"{name}_{case}"] = _repeated(house, _HEAD.format(start=start), times=5) / 200 * 1e6
        house.close()
    return figures


def documents(server: PostgresServer) -> Figures:
    """ms of ``flight.document`` for 1, 200 and 2,000 flights in the middle of their day, as text that has arrived."""
    day = Day(FLIGHTS)
    house = House.build(server, "documents")
    house.put([day.plan(FLIGHTS), *day.flops(10_000)])
    _pumped(house, 10_001)
    house.settle()
    flids = [flight.flid for flight in day.flights]
    figures: Figures = {}
    for count in (1, 200, 2_000):
        query = "select flid, document::text from flight.document(%s::bigint[])"
        took = _repeated(house, query, flids[:count], times=max(3, 200 // count))
        figures[f"document_{count}"] = took * 1000
    house.close()
    return figures


def relay(server: PostgresServer, broker: KafkaBroker, messages: int) -> Figures:
    """Events a second from the outbox to confirmed and settled, each target by its own relay, one after the other."""
    day = Day(FLIGHTS)
    house = House.build(server, "relay")
    house.put([day.plan(FLIGHTS), *day.flops(messages)])
    _pumped(house, messages + 1)
    house.settle()
    figures: Figures = {}
    kafka = Kafka(bootstrap=broker.bootstrap, topic_msg="bench.relay.msg", topic_schd="bench.relay.schd")
    for target in (database.MSG, database.SCHD):
        one = Relay(kafka, target)
        connection = database.connect(Database(url=house.url), "bench")
        one._ready_producer()  # the topic is made before the clock runs
        sent = 0
        rounds = 0
        began = time.perf_counter()
        while done := one.run_once(connection, house.epoch, 1_000):
            if not done.claimed:
                break
            if done.sent != done.claimed:
                raise RuntimeError(f"{done.claimed - done.sent} events were not sent: {done.trouble}")
            sent += done.sent
            rounds += 1
        took = time.perf_counter() - began
        figures[f"{target}_rate"], figures[f"{target}_events"], figures[f"{target}_rounds"] = sent / took, sent, rounds
        one.close()
        connection.close()
    house.close()
    return figures


# Of FLOPs: the day plan, first of all and hundreds of notices at once, would be a tenth of all figures.
_LATENCY = """
select percentile_cont(%s::float8[]) within group (order by extract(epoch from e.sent_at - p.received_at)::float8)
from outbox.msg_event e
join inbox.proc_state p on p.msg_id = e.message_id
where e.target = 'KAFKA:msg' and p.type = 'FLOP'
"""


def end_to_end(
    server: PostgresServer, broker: KafkaBroker, make_mailbox: Callable[[str], str], folder: Path
) -> Figures:
    """From the mailbox to marks and both topics, by a real supervisor.

    ``backlog``: messages a second until a day that waits in the mailbox is processed, told and marked.
    ``paced_*``: seconds from a FLOP's mailbox row to the broker's confirmation of its notice, while messages come in as
    a day sends them, ``paced_rate`` a second.
    """
    figures: Figures = {}
    with _whole(server, broker, make_mailbox, folder, "backlog", 0.0) as (house, stream, box, supervisor):
        write(stream, box)
        began = time.perf_counter()
        supervisor.start()
        _wait_until_done(house, len(stream))
        figures["backlog"] = len(stream) / (time.perf_counter() - began)
        figures["backlog_messages"] = len(stream)
    with _whole(server, broker, make_mailbox, folder, "paced", PACE) as (house, stream, box, supervisor):
        supervisor.start()
        stop = threading.Event()
        timer = threading.Timer(PACED_SECONDS, stop.set)
        timer.start()
        sent = write(stream, box, stop=stop)
        timer.cancel()
        _wait_until_done(house, sent)
        figures["paced_rate"] = sent / PACED_SECONDS
        shares = {"50 %": 0.5, "90 %": 0.9, "99 %": 0.99, "worst": 1.0}
        found = house.number(_LATENCY, list(shares.values()))
        figures |= {f"paced_{share}": value for share, value in zip(shares, found, strict=True)}
    return figures


@contextlib.contextmanager
def _whole(
    server: PostgresServer,
    broker: KafkaBroker,
    make_mailbox: Callable[[str], str],
    folder: Path,
    case: str,
    speed: float,
) -> Iterator[tuple[House, Stream, Mailbox, SupervisorProcess]]:
    """A database, a day, a mailbox, and a supervisor that is not started yet."""
    house = House.build(server, "whole")
    house.connection.execute("select core.lease_release(%s)", [house.epoch])
    url = make_mailbox(f"bench_{case}")
    stream = simulate(speed=speed)
    environment = {
        "MSGX_DATABASE_URL": house.url,
        "MSGX_MAILBOX_URL": url,
        "MSGX_KAFKA_BOOTSTRAP": broker.bootstrap,
        "MSGX_KAFKA__TOPIC_MSG": f"bench.{case}.msg",
        "MSGX_KAFKA__TOPIC_SCHD": f"bench.{case}.schd",
        "MSGX_LOG__FORMAT": "json",
    }
    supervisor = SupervisorProcess(folder / case, environment, house.url)
    with Mailbox(MailboxConfig(url), stream.zone) as box:
        try:
            yield house, stream, box, supervisor
        finally:
            supervisor.stop()
            house.close()


def _wait_until_done(house: House, messages: int) -> None:
    until = time.monotonic() + 300
    while time.monotonic() < until:
        done = house.number(
            """select (select count(*) from inbox.proc_state where backfill_at is not null) = %s
                  and not exists (select from outbox.msg_event where state = 'PENDING')""",
            messages,
        )
        if done:
            return
        time.sleep(0.05)
    raise RuntimeError("the supervisor did not work everything off within five minutes")


def everything() -> Iterator[str]:
    """The names of the measurements, in the order in which they are made."""
    yield from ("apply", "plans", "snapshot", "document", "relay", "whole")

"""What the benchmarks feed: the simulator's real days as decoded messages, staged just as the loader stages them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import psycopg

from demo.simulator import source
from demo.simulator.plan import Planned, draw, generator
from demo.simulator.story import Step, Teller
from demo.simulator.wire import render
from loader.catalogue import Catalogue
from loader.decode import Decoded, decode
from loader.staging import stage
from supervisor import deploy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from demo.servers import PostgresServer

ZONE = ZoneInfo("America/New_York")
SEED = 1
BATCH = 2_000  # messages staged in one transaction


class Day:
    """Real flights of several airports and days, told as if by one AODB: plans of any size and a stream of FLOPs.

    Args:
        flights: How many flights there are.
    """

    def __init__(self, flights: int) -> None:
        every = [
            planned
            for airport, days in sorted(source.available().items())
            for day in days
            for planned in draw(airport, day, SEED)
            if not planned.late and not planned.withdrawn
        ]
        if len(every) < flights:
            raise ValueError(f"the data has {len(every)} flights, not {flights}")
        self.flights: tuple[Planned, ...] = tuple(every[:flights])
        self._start = datetime.combine(min(flight.scheduled for flight in self.flights), time(), UTC)
        self._teller = Teller(ZONE, SEED, self._start)
        self._catalogue = Catalogue.build()
        self._seqn = 0

    def plan(self, flights: int) -> Decoded:
        """A DNLD of the first so many flights; each call is a new message with the same content."""
        return self._decoded(self._teller.day_plan(self.flights[:flights]))

    def flops(self, count: int) -> list[Decoded]:
        """What happens to the flights, in order of time; from the beginning again where that is not enough."""
        story = [step for flight in self.flights for step in self._teller.tell(flight) if _is_flop(step)]
        story.sort(key=lambda step: step.at)
        return [self._decoded(story[n % len(story)]) for n in range(count)]

    def _decoded(self, step: Step) -> Decoded:
        self._seqn += 1
        layout = generator(SEED, self._seqn, "layout")
        sent = self._start + timedelta(seconds=self._seqn)
        body = render(step.body, sender="AODB", seqn=self._seqn, at=sent, tz=ZONE, layout=layout)
        decoded = decode(body, self._catalogue, ZONE)
        if decoded.verdict is not None:
            raise ValueError(f"a message of the simulator cannot be decoded: {decoded.reason}")
        return decoded


def _is_flop(step: Step) -> bool:
    return step.body.type == "FLOP" and step.body.styp != "FDEL"


@dataclass(slots=True)
class House:
    """A database of its own with this release and a leader, and what was put into it so far."""

    url: str
    connection: psycopg.Connection[Any]
    epoch: int
    last_id: int = 0

    @staticmethod
    def build(server: PostgresServer, name: str) -> House:
        """Make the database on ``server``, deploy, lead."""
        with psycopg.connect(server.url_for("postgres"), autocommit=True) as admin:
            admin.execute(f"drop database if exists {name} with (force)")
            admin.execute(f"create database {name}")
        url = server.url_for(name)
        deploy.apply(url)
        connection = psycopg.connect(url, autocommit=True)
        connection.execute("select core.setting_set('msgx.airport.timezone', %s)", [str(ZONE)])
        found = connection.execute("select epoch from core.lease_acquire('bench', '1 day')").fetchone()
        return House(url, connection, found[0] if found else 0)

    def put(self, messages: Sequence[Decoded]) -> None:
        """Admit and stage messages behind those that are there, as intake does."""
        for first in range(0, len(messages), BATCH):
            batch = messages[first : first + BATCH]
            ids = list(range(self.last_id + 1, self.last_id + len(batch) + 1))
            with self.connection.transaction():
                admitted = self.connection.execute(
                    "select msg_id from inbox.advance(%s, %s::bigint[], %s::timestamptz[])",
                    [self.epoch, ids, [None] * len(ids)],
                ).fetchall()
                if len(admitted) != len(ids):
                    raise RuntimeError(f"{len(admitted)} of {len(ids)} messages were admitted")
                stage(self.connection, list(zip(ids, batch, strict=True)))
            self.last_id = ids[-1]

    def pump(self, messages: int) -> int:
        """One call of the pump for at most so many messages; gives how many it processed."""
        row = self.connection.execute("call pipeline.pump(%s, %s, %s)", [self.epoch, messages, 3_600_000]).fetchone()
        return int(row[0]) if row else 0

    def processor_seconds(self) -> float:
        """Processor time of our backend so far."""
        waited = Path(f"/proc/{self.connection.info.backend_pid}/schedstat").read_text(encoding="ascii")
        return int(waited.split()[0]) / 1e9

    def number(self, query: str, *values: object) -> Any:
        """The one value of a query."""
        row = self.connection.execute(query, values).fetchone()
        return row[0] if row else None

    def settle(self) -> None:
        """Statistics and a clean start, as autovacuum would bring about in operation."""
        self.connection.execute("vacuum analyze")
        self.connection.execute("checkpoint")

    def close(self) -> None:
        """Close the connection; the database goes with the server."""
        self.connection.close()

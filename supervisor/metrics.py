"""``/metrics`` for Prometheus: what a person would look at in ``msgx status``, as numbers.

Each scrape asks the database once, in one statement that only touches small or partial indexes, and takes the rest from
this process. A database that does not answer is ``msgx_database_up 0``, and the scrape still succeeds.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import psycopg
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from supervisor import database
from supervisor.database import Session
from supervisor.errors import DatabaseUnreachable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.metrics_core import Metric
    from prometheus_client.registry import Collector as _Collector

    from supervisor.config import Settings
    from supervisor.duties import Board

_NUMBERS = """
select
  c.watermark,
  coalesce(extract(epoch from core.now() - c.hole_since), 0) as hole_seconds,
  extract(epoch from core.now() - c.read_at) as read_seconds,
  (select count(*) from inbox.hole) as holes,
  (select coalesce(sum(h.last_id - h.first_id + 1), 0) from inbox.hole h) as hole_ids,
  b.unfinished, coalesce(extract(epoch from core.now() - b.oldest), 0) as oldest_seconds,
  (select count(*) from inbox.proc_state m where m.state = 'DEAD') as dead,
  (select count(*) from inbox.proc_state m
   where m.backfill_at is null and m.backfill_abandoned_at is null
     and m.state in ('SUCCEEDED', 'SKIPPED', 'DEAD')) as owed,
  (select count(*) from inbox.proc_state m
   where m.backfill_abandoned_at is not null and m.backfill_acknowledged_at is null) as abandoned,
  (select count(*) from core.alert a where a.acknowledged_at is null) as alerts
from inbox.inbox_cursor c
cross join (
  select count(*) as unfinished, min(m.enqueued_at) as oldest
  from inbox.proc_state m where m.state in ('PENDING', 'FAILED')) b
"""
_EVENTS = """
select e.target, e.state, count(*) as events, coalesce(extract(epoch from core.now() - min(e.created_at)), 0) as oldest
from outbox.msg_event e
where e.state in ('PENDING', 'DEAD')
group by e.target, e.state
"""


class Metrics:
    """All numbers of this process and of its database.

    Args:
        settings: Where the database is; the scrape has a connection of its own.
        board: The duties.
    """

    def __init__(self, settings: Settings, board: Board) -> None:
        self._session = Session(settings.database, "metrics")
        self._board = board
        self._lock = threading.Lock()
        self._registry = CollectorRegistry()
        collector: _Collector = self
        self._registry.register(collector)

    def describe(self) -> list[Metric]:
        """Nothing beforehand: registering must not ask the database."""
        return []

    def text(self) -> bytes:
        """The exposition format, version 0.0.4."""
        with self._lock:
            return generate_latest(self._registry)

    def close(self) -> None:
        """Give the connection back."""
        self._session.close()

    def collect(self) -> Iterator[Metric]:
        """What prometheus-client asks for at each scrape."""
        leading = self._board.holds()
        yield GaugeMetricFamily("msgx_leader", "1 while this supervisor leads, 0 while it stands by", int(leading))
        yield from self._duties()
        try:
            found = list(self._database())
        except (DatabaseUnreachable, psycopg.Error):
            self._session.close()
            found = []
        yield GaugeMetricFamily("msgx_database_up", "1 if our PostgreSQL answered this scrape", int(bool(found)))
        yield from found

    def _duties(self) -> Iterator[Metric]:
        age = GaugeMetricFamily("msgx_duty_success_age_seconds", "Since the last successful run", labels=["duty"])
        running = GaugeMetricFamily("msgx_duty_running_seconds", "How long the present run lasts", labels=["duty"])
        hung = GaugeMetricFamily("msgx_duty_hung", "1 if a run has exceeded its limit", labels=["duty"])
        failures = GaugeMetricFamily("msgx_duty_failures", "Failed runs since the last success", labels=["duty"])
        done = CounterMetricFamily("msgx_duty_done", "Messages, events or marks that it moved", labels=["duty"])
        for one in self._board.health():
            if one.success_age is not None:
                age.add_metric([one.name], one.success_age)
            running.add_metric([one.name], one.running_for or 0)
            hung.add_metric([one.name], int(one.hung))
            failures.add_metric([one.name], one.failures)
            done.add_metric([one.name], one.done)
        yield from (age, running, hung, failures, done)

    def _database(self) -> Iterator[Metric]:
        connection = self._session.connection
        row = database.row(connection, _NUMBERS)
        mailbox_max = self._board.mailbox_max()
        gauges = [
            ("msgx_watermark", "Mailbox id up to which all was read", row.watermark),
            ("msgx_hole_wait_seconds", "How long a missing mailbox id has been waited for", row.hole_seconds),
            (
                "msgx_pipeline_backlog_oldest_unprocessed_seconds",
                "Age of the oldest unfinished message",
                row.oldest_seconds,
            ),
            ("msgx_pipeline_backlog_messages", "Unfinished messages", row.unfinished),
            ("msgx_messages_dead", "Messages that ended DEAD", row.dead),
            ("msgx_marks_owed", "Finished messages whose mark is not in the mailbox yet", row.owed),
            ("msgx_marks_abandoned", "Marks given up and not yet acknowledged", row.abandoned),
            ("msgx_alerts_open", "Alerts nobody took note of", row.alerts),
        ]
        if row.read_seconds is not None:
            gauges.append(("msgx_mailbox_read_age_seconds", "Since the mailbox was last read", row.read_seconds))
        if mailbox_max is not None:
            lag = max(0, mailbox_max - row.watermark)
            gauges.append(("msgx_watermark_lag", "Mailbox ids behind the watermark, at the last look", lag))
        for name, says, number in gauges:
            yield GaugeMetricFamily(name, says, float(number))
        yield CounterMetricFamily("msgx_permanent_holes", "Holes that were passed over", float(row.holes))
        yield CounterMetricFamily("msgx_permanent_hole_ids", "Missing ids that were passed over", float(row.hole_ids))
        events = GaugeMetricFamily("msgx_outbox_events", "Events by target and state", labels=["target", "state"])
        oldest = GaugeMetricFamily(
            "msgx_outbox_oldest_seconds", "Age of the oldest event by target and state", labels=["target", "state"]
        )
        found = {(one.target, one.state): one for one in database.rows(connection, _EVENTS)}
        for target in (database.MSG, database.SCHD):
            for state in ("PENDING", "DEAD"):
                one = found.get((target, state))
                events.add_metric([target, state], one.events if one else 0)
                oldest.add_metric([target, state], float(one.oldest) if one else 0)
        yield from (events, oldest)

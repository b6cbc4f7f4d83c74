"""``/metrics`` for Prometheus: what a person would look at in ``msgx status``, as numbers.

Each scrape reads ``pipeline.status`` once, as ``msgx status`` does, and takes the rest from this process. A database
that does not answer is ``msgx_database_up 0``, and the scrape still succeeds.
"""

from __future__ import annotations

import threading
from datetime import datetime
from typing import TYPE_CHECKING

import psycopg
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from supervisor import status
from supervisor.database import Session
from supervisor.errors import DatabaseUnreachable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.metrics_core import Metric
    from prometheus_client.registry import Collector as _Collector

    from supervisor.config import Settings
    from supervisor.duties import Board


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
        found = status.collect(self._session.connection)
        now, backlog, marks, hole = found["at"], found["backlog"], found["marks"], found["hole"]
        gauges: list[tuple[str, str, float]] = [
            ("msgx_watermark", "Mailbox id up to which all was read", found["watermark"]),
            ("msgx_hole_wait_seconds", "How long a missing id has been waited for", _age(now, hole and hole["since"])),
            (
                "msgx_pipeline_backlog_oldest_unprocessed_seconds",
                "Age of the oldest unfinished message",
                backlog["head"]["age_seconds"] if backlog["head"] else 0,
            ),
            ("msgx_pipeline_backlog_messages", "Unfinished messages", backlog["count"]),
            ("msgx_messages_dead", "Messages that ended DEAD", found["messages"]["DEAD"]),
            ("msgx_marks_owed", "Finished messages whose mark is not in the mailbox yet", marks["owed"]),
            ("msgx_marks_overdue", "Of these, those older than R", marks["overdue"]),
            ("msgx_marks_abandoned", "Marks given up and not yet acknowledged", marks["abandoned"]),
            (
                "msgx_alerts_open",
                "Alerts of the last day nobody took note of",
                found["alerts"]["unacknowledged_last_day"],
            ),
        ]
        if found["read_at"] is not None:
            gauges.append(
                ("msgx_mailbox_read_age_seconds", "Since the mailbox was last read", _age(now, found["read_at"]))
            )
        mailbox_max = self._board.mailbox_max()
        if mailbox_max is not None:
            lag = max(0, mailbox_max - found["watermark"])
            gauges.append(("msgx_watermark_lag", "Mailbox ids behind the watermark, at the last look", lag))
        for name, says, number in gauges:
            yield GaugeMetricFamily(name, says, float(number))
        yield CounterMetricFamily("msgx_permanent_holes", "Holes that were passed over", found["holes_released"])
        events = GaugeMetricFamily("msgx_outbox_events", "Events by target and state", labels=["target", "state"])
        oldest = GaugeMetricFamily(
            "msgx_outbox_oldest_pending_seconds", "Age of the oldest event not told", labels=["target"]
        )
        for target, counts in found["outbox"].items():
            for state in ("PENDING", "DEAD"):
                events.add_metric([target, state], counts[state])
            oldest.add_metric([target], float(counts["oldest_pending_seconds"] or 0))
        yield from (events, oldest)


def _age(now: str, then: str | None) -> float:
    return 0.0 if then is None else (datetime.fromisoformat(now) - datetime.fromisoformat(then)).total_seconds()

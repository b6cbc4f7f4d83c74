"""Nothing but an append is reachable from a delivery callback or an error callback (pitfall 51)."""

from __future__ import annotations

import ast
import inspect
from collections import deque
from typing import TYPE_CHECKING

from supervisor import relay
from supervisor.config import Kafka

if TYPE_CHECKING:
    from confluent_kafka import KafkaError


def test_the_delivery_callback_only_appends() -> None:
    (function,) = ast.parse(inspect.getsource(relay._report)).body
    assert isinstance(function, ast.FunctionDef)
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    assert [call.attr for call in calls if isinstance(call, ast.Attribute)] == ["append"]
    assert len(calls) == 1


def test_every_callback_given_to_the_client_is_known() -> None:
    """``on_delivery`` is :func:`relay._report`, ``error_cb`` is the append of a list, and there are no others."""
    tree = ast.parse(inspect.getsource(relay))
    delivery = [
        k.value for n in ast.walk(tree) if isinstance(n, ast.Call) for k in n.keywords if k.arg == "on_delivery"
    ]
    assert [ast.unparse(one).split("(")[1].split(",")[0] for one in delivery] == ["_report"]
    text = inspect.getsource(relay)
    for name in ("stats_cb", "log_cb", "throttle_cb", "logger=", "oauth_cb"):
        assert name not in text
    errors: deque[KafkaError] = deque()
    configuration = relay.producer_configuration(Kafka(), errors.append, "x")
    assert configuration["error_cb"] == errors.append


def test_the_producer_keeps_its_promises() -> None:
    configuration = relay.producer_configuration(
        Kafka(client={"linger.ms": 50, "queue.buffering.max.messages": 1}, delivery_timeout=7), print, "x"
    )
    assert configuration["enable.idempotence"] is True
    assert configuration["acks"] == "all"
    assert configuration["partitioner"] == "murmur2_random"
    assert configuration["delivery.timeout.ms"] == 7000
    assert configuration["request.timeout.ms"] <= configuration["delivery.timeout.ms"]
    assert configuration["queue.buffering.max.messages"] == 20_000
    assert configuration["linger.ms"] == 50

"""Every simulated message is one that our own decoder reads without a verdict and without a tag it does not know."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from demo.simulator import Stream, available, simulate
from demo.simulator.plan import Role
from loader.catalogue import Catalogue
from loader.decode import Decoded, MessageKind, decode

if TYPE_CHECKING:
    from datetime import date

CATALOGUE = Catalogue.build()


def decoded(stream: Stream) -> list[Decoded]:
    return [decode(message.xml, CATALOGUE, stream.zone) for message in stream]


@pytest.mark.parametrize(
    ("airport", "day"), [(airport, day) for airport, days in available().items() for day in days], ids=str
)
def test_no_verdict_and_nothing_unmapped(airport: str, day: date) -> None:
    # Every day, a fifth of its flights; the whole of the demo's day is below.
    for message in decoded(simulate(airport, day, flights=60, seed=3, reference=True)):
        assert message.verdict is None, message.reason
        assert message.unmapped is None
        assert message.has_payload
        assert message.declared is None or int(message.declared) == message.record_count


def test_the_demo_day_as_the_decoder_reads_it() -> None:
    stream = simulate()
    messages = decoded(stream)
    assert not [message.reason for message in messages if message.verdict]
    assert not [message.unmapped for message in messages if message.unmapped]
    kinds = Counter(message.kind for message in messages)
    assert kinds.keys() == {
        *(MessageKind.SCHD_DNLD, MessageKind.SCHD_ADFT, MessageKind.FLOP, MessageKind.FDEL),
        *(MessageKind.REFDATA, MessageKind.RSTA),
    }
    assert kinds[MessageKind.SCHD_DNLD] == 1
    assert [record.extra for message in messages for record in message.records if record.extra], "no site scalar"


def test_what_is_real_survives_the_decoder() -> None:
    """Last word for each flight, as decoded: 159 of 304 cancelled, and every actual time to the minute."""
    stream = simulate()
    truth = stream.truth()
    state: dict[int, dict[str, object]] = {}
    for message in decoded(stream):
        if message.kind is MessageKind.FDEL:
            state.pop(message.records[0].flid or 0)
        elif message.kind is MessageKind.FLOP:
            flight = state.get(message.records[0].flid or 0)
            if flight is not None:
                flight.update(message.records[0].scalars)
        elif message.kind in (MessageKind.SCHD_DNLD, MessageKind.SCHD_ADFT):
            state |= {record.flid or 0: dict(record.scalars) for record in message.records}
    assert state.keys() == truth.alive
    assert {flid for flid, flight in state.items() if flight.get("cncl")} == truth.cancelled
    assert len(truth.cancelled_departures) == 159
    assert {
        flid: flight["actt"] for flid, flight in state.items() if flight.get("actt") and flid not in truth.arrivals
    } == {flid: time.isoformat() for flid, time in truth.departed.items()}
    for planned in stream.planned:
        if planned.role is not Role.FERRY and planned.flid in state:
            assert state[planned.flid]["sodt"] == planned.scheduled.astimezone(stream.zone).isoformat()
            assert planned.main or state[planned.flid].get("reno") == planned.tail

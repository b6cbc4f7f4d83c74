"""Streams that once told model and product apart, by name. See ``test_model.py``: what it prints goes in here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .harness import Setup, check_stream
from .messages import DAYS, Deliver, OpenRequest, SetPolicy, Step, TrustWindow, at, fdel, flop, plan, rec

if TYPE_CHECKING:
    from .harness import Databases

SODT = at("2026-03-28T10:25")
SKIPPED = at("2026-03-29T02:30")
NEXT = at("2026-03-29T10:25")

STREAMS: dict[str, tuple[Setup, list[Step]]] = {
    "a former life on another day's roster": (
        Setup("retain"),
        [
            OpenRequest(DAYS[0], "AODB"),
            Deliver(plan("RESP", rec(7701001, SODT=SODT), rec(7701002, SODT=SODT))),
            Deliver(fdel(7701001)),
            SetPolicy("ledger"),
            Deliver(plan("DNLD", rec(7701001, SODT=NEXT))),
            OpenRequest(DAYS[0], "AODB"),
            Deliver(plan("RESP", rec(7701002, SODT=SODT))),
        ],
    ),
    "an answer covers the day asked for, whatever its window": (
        Setup("ledger"),
        [
            OpenRequest(DAYS[1]),
            Deliver(plan("DNLD", rec(7701009, SODT=SODT))),
            TrustWindow(on=True),
            Deliver(plan("DNLD", rec(7701010, SODT=NEXT), dttm=at("2026-03-27T12:00"))),
        ],
    ),
    "an answer that tells no day": (
        Setup("retain"),
        [OpenRequest(DAYS[2]), Deliver(plan("RESP", rec(7701005))), Deliver(plan("RESP", rec(7701005, SODT=None)))],
    ),
    "a skipped time where text is kept": (
        Setup("retain", zone="Europe/Berlin"),
        [
            Deliver(
                plan(
                    "DNLD",
                    rec(
                        7701006,
                        SODT=SODT,
                        ESTT=SKIPPED,
                        EGSR=SKIPPED,
                        CTOT=SKIPPED,
                        DELY=[{"CODE": "1", "STRT": SKIPPED}],
                    ),
                )
            )
        ],
    ),
    "a main flight that becomes a child": (
        Setup("retain"),
        [
            Deliver(plan("DNLD", rec(7701001, SODT=SODT), rec(7701002, SODT=SODT, MAID=7701001))),
            Deliver(flop("MAID", 7701001, MAID=7701003)),
            Deliver(fdel(7701001)),
            Deliver(plan("DNLD", rec(7701001, SODT=SODT))),
        ],
    ),
}


@pytest.mark.every_pg
@pytest.mark.parametrize("name", STREAMS)
def test_counterexample(databases: Databases, name: str) -> None:
    setup, steps = STREAMS[name]
    check_stream(databases, setup, steps)

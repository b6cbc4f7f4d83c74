"""Rows in the order of the COPY, with the three states as JSON tells them apart."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from loader.decode import Decoded, Verdict
from loader.staging import message_row, record_rows

if TYPE_CHECKING:
    from conftest import Wire


def test_a_plan(wire: Wire) -> None:
    decoded = wire.read(wire.plan("<FLID>1</FLID><FLNO/><TOBT/><GTDT/><SRVT/>", "<FLID>x</FLID><MAXP>170</MAXP>"))
    assert message_row(42, decoded) == (
        *(42, "SCHD_DNLD", "AODB", "SCHD", "DNLD", "17", decoded.dttm, decoded.digest, "2", 2, None, None, None, True),
    )
    first, second = record_rows(42, decoded)
    assert first == (42, 1, 1, "1", '{"flno":null}', '{"TOBT":null}', '{"GTDT":[]}', '{"SRVT":["<SRVT/>"]}')
    assert second == (42, 2, None, "x", '{"maxp":170}', "{}", "{}", "{}")


def test_a_verdict() -> None:
    decoded = Decoded(verdict=Verdict.MALFORMED, reason="why")
    assert message_row(7, decoded) == (7, *[None] * 8, 0, "MALFORMED", "why", None, False)
    assert list(record_rows(7, decoded)) == []


def test_unmapped_tags_and_text_as_sent(wire: Wire) -> None:
    decoded = wire.read(wire.flop('<REMC>王\\u0000 "x"</REMC><NEWT/>'))
    assert json.loads(str(message_row(1, decoded)[12])) == {"NEWT": 1}
    (record,) = record_rows(1, decoded)
    assert json.loads(str(record[4])) == {"remc": '王\\u0000 "x"'}

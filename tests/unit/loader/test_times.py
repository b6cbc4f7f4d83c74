"""Date-times: two forms, one zone, one rule for the hours around a change of the clock."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from loader.decode import parse_time

SHANGHAI = ZoneInfo("Asia/Shanghai")
NEW_YORK = ZoneInfo("America/New_York")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("15DEC031805", "2003-12-15T18:05:00+08:00"),
        ("15dec031805", "2003-12-15T18:05:00+08:00"),
        ("15Dec031805", "2003-12-15T18:05:00+08:00"),
        ("01JAN000000", "2000-01-01T00:00:00+08:00"),
        ("31DEC992359", "2099-12-31T23:59:00+08:00"),
        ("29FEB240000", "2024-02-29T00:00:00+08:00"),
        ("20031215180559", "2003-12-15T18:05:59+08:00"),
        ("19000101000000", None),
        ("99991231235959", "9999-12-31T23:59:59+08:00"),
    ],
)
def test_both_forms(text: str, expected: str | None) -> None:
    moment = parse_time(text, SHANGHAI)
    assert moment is not None
    assert expected is None or moment.isoformat() == expected


@pytest.mark.parametrize("number", range(1, 13))
def test_every_month(number: int) -> None:
    name = "janfebmaraprmayjunjulaugsepoctnovdec"[number * 3 - 3 : number * 3]
    assert parse_time(f"07{name}260102", SHANGHAI) == datetime(2026, number, 7, 1, 2, tzinfo=SHANGHAI)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "15DEC03180",
        "15DEC0318055",
        "15DEC03 1805",
        "1ADEC031805",
        "15DEZ031805",
        "30FEB261200",
        "00DEC031805",
        "15DEC032400",
        "15DEC031860",
        "2003121518055",
        "200312151805590",
        "20031315180559",
        "00000000000000",
        "18991231235959",
        "20031215180560",
        "１５DEC031805",
        "2003-12-15T18:05:00",
    ],
)
def test_what_is_neither(text: str) -> None:
    assert parse_time(text, SHANGHAI) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # 9 March 2025, 02:00 to 03:00 does not exist: read with the offset from before the gap.
        ("09MAR250230", "2025-03-09T03:30:00-04:00"),
        ("20250309030000", "2025-03-09T03:00:00-04:00"),
        # 2 November 2025, 01:00 to 02:00 is there twice: the first.
        ("02NOV250130", "2025-11-02T01:30:00-04:00"),
        ("20251102020000", "2025-11-02T02:00:00-05:00"),
    ],
)
def test_skipped_and_doubled_hours(text: str, expected: str) -> None:
    moment = parse_time(text, NEW_YORK)
    assert moment is not None
    assert moment.isoformat() == expected


def test_the_zone_once_had_summer_time() -> None:
    moment = parse_time("19880701120000", SHANGHAI)
    assert moment is not None
    assert moment.isoformat() == "1988-07-01T12:00:00+09:00"

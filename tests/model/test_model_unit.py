"""The model against the sentences of the specification, so that the model itself can be trusted.

Each test names the sentence or table it comes from: impl = implementation.md, fs = flight-state.md, design = the design
page, settled = its section 11 by number.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from . import model
from .messages import (
    DAYS,
    Deliver,
    Generator,
    Layout,
    OpenRequest,
    Play,
    Replay,
    Seeded,
    SetPolicy,
    TrustWindow,
    Wait,
    as_source,
    at,
    fdel,
    flop,
    other,
    plan,
    rec,
    to_xml,
)
from .model import LEDGER, RETAIN, Broken, Ending, Flop, Model, Other, Plan, Policy, Reference, Settings

D0, D1, D2 = DAYS
SODT = at("2026-03-28T10:25")
NEXT = at("2026-03-29T10:25")

SUCCEEDED = Ending("SUCCEEDED")
SKIPPED = Ending("SKIPPED")
PROTOCOL = Ending("DEAD", "PROTOCOL")
MALFORMED = Ending("DEAD", "MALFORMED")


def world(policy: Policy = RETAIN, *first: model.Message) -> Play:
    play = Play(Model(policy))
    for message in first:
        assert play.send(message) == SUCCEEDED
    return play


def value(play: Play, flid: int, tag: str) -> Any:
    return (play.model.document(flid) or {}).get(tag)


def last_notice(play: Play, flid: int) -> dict[str, Any]:
    return [notice for notice in play.model.notices if notice["FLID"] == flid][-1]


def told(play: Play, message_id: int) -> dict[int, dict[str, Any]]:
    """The notices one message caused, by FLID."""
    return {notice["FLID"]: notice for notice in play.model.notices if notice["MESSAGE"]["ID"] == message_id}


def codes(play: Play) -> list[str]:
    return [alert.code for alert in play.model.alerts]


both = pytest.mark.parametrize("policy", [RETAIN, LEDGER], ids=["retain", "ledger"])


# --- identity, duplicates, ignore rules (impl 2, 5.2) -----------------------------------------------------------------


def test_a_duplicate_is_skipped_and_names_its_owner() -> None:
    """impl 2: 身份被另一条记录占用时，当前消息转 SKIPPED，记录 duplicate-of:<id>."""
    play = world(RETAIN, plan("DNLD", rec(1, SODT=SODT), seqn="7"))
    assert play.send(plan("DNLD", rec(1, SODT=SODT), seqn="7")) == Ending("SKIPPED", None, "duplicate-of:1")
    assert play.model.version(1) == 1
    assert codes(play) == []


def test_a_duplicate_with_another_body_raises_an_alert() -> None:
    """design 6: a duplicate whose body differs is still SKIPPED but raises IDENTITY_COLLISION."""
    play = world(RETAIN, plan("DNLD", rec(1, SODT=SODT), seqn="7"))
    assert play.send(plan("DNLD", rec(2, SODT=SODT), seqn="7")).note == "duplicate-of:1"
    assert play.model.alerts == [model.Alert("IDENTITY_COLLISION", 2)]


def test_layout_alone_is_no_collision() -> None:
    """settled 15: the digest is of the decoded content."""
    message = flop("HNAG", 1, FHAG="A1", PHAG="B2", seqn="7")
    play = world(RETAIN, message)
    play.send(replace(message, layout=5, body=Flop(message.body.record, wrapped=True)))
    assert codes(play) == []


def test_identity_has_four_parts() -> None:
    """impl 2: SNDR | TYPE | STYP | SEQN."""
    play = world(RETAIN, plan("DNLD", rec(1, SODT=SODT), seqn="7"))
    assert play.send(flop("ESTT", 1, ESTT=SODT, seqn="7")) == SUCCEEDED
    assert play.send(replace(plan("DNLD", rec(1, SODT=SODT), seqn="7"), sndr="BKUP")) == SUCCEEDED


def test_malformed_binds_no_identity_and_protocol_does() -> None:
    """settled 15: MALFORMED binds no identity; every other ending does."""
    play = world()
    assert play.send(other("FLOP", "ESTT", Broken("cut"), seqn="7")) == MALFORMED
    assert play.send(flop("ESTT", 1, ESTT=SODT, seqn="7")) == SUCCEEDED
    assert play.send(plan("DNLD", rec(1), seqn="8")) == PROTOCOL
    assert play.send(plan("DNLD", rec(1, SODT=SODT), seqn="8")).note == "duplicate-of:3"
    assert play.send(other("LDM", "X", seqn="9")).note == "ignored:LDM-*"
    assert play.send(other("LDM", "X", seqn="9")).note == "duplicate-of:5"
    assert play.send(other("ABCD", "X", seqn="10")) == Ending("DEAD", "EXHAUSTED")
    assert play.send(other("ABCD", "X", seqn="10")).note == "duplicate-of:7"


@pytest.mark.parametrize("type_", ["LDM", "REGN", "RSTA", "EROR", "ldm"])
def test_ignore_rules(type_: str) -> None:
    """impl 2: 大小写不敏感的 TYPE-STYP / TYPE-*; settled 15: the rule as it stands in the setting."""
    play = world()
    assert play.send(other(type_, "UPD")) == Ending("SKIPPED", None, f"ignored:{type_.upper()}-*")


def test_ignore_rule_of_one_sub_type() -> None:
    play = Play(Model(settings=Settings(ignore=("flop-estt",))))
    play.send(plan("DNLD", rec(1, SODT=SODT)))
    assert play.send(flop("ESTT", 1, ESTT=SODT)) == Ending("SKIPPED", None, "ignored:flop-estt")
    assert play.send(flop("ACTT", 1, ACTT=SODT)) == SUCCEEDED
    assert play.model.version(1) == 2


def test_unsupported_ends_exhausted() -> None:
    """impl 3: 重试次数用尽时统一转 DEAD(EXHAUSTED)."""
    play = world()
    assert play.send(other("ABCD", "XYZ")) == Ending("DEAD", "EXHAUSTED")
    assert play.send(other("SCHD", "ODD")) == Ending("DEAD", "EXHAUSTED")


def test_reference_data_moves_no_flight() -> None:
    """impl 13.3: 参考数据不参与航班状态推进，也不进入 MSG_EVENT."""
    play = world()
    assert play.send(other("ARPT", "UPD", Reference({"ITCD": "SZX"}))) == SUCCEEDED
    assert not play.model.flights
    assert not play.model.notices


@pytest.mark.parametrize("how", ["cut", "doctype", "no-seqn", "no-dttm", "control"])
def test_broken_messages(how: Any) -> None:
    """design 5: not well-formed, DOCTYPE, META incomplete, control characters."""
    assert world().send(other("FLOP", "ESTT", Broken(how))) == MALFORMED


@pytest.mark.parametrize("fields", [{"MAXP": "many"}, {"ESTT": "31FEB261000"}, {"GTDT": [{"GTNO": "one"}]}])
def test_a_value_its_type_cannot_hold(fields: dict[str, Any]) -> None:
    """design 5: MALFORMED, tag and value named."""
    assert world().send(plan("DNLD", rec(1, SODT=SODT, **fields))) == MALFORMED


@pytest.mark.parametrize(("tag", "limit"), [("GTDT", 99), ("PSDT", 9), ("ROUT", 6), ("ERUT", 7)])
def test_set_limits(tag: str, limit: int) -> None:
    """impl 11.3: 条数上限."""
    part = model.SETS[tag][1]
    elements = [{part: "A1"}] * (limit + 1)
    assert world().send(plan("DNLD", rec(1, SODT=SODT, **{tag: elements}))) == MALFORMED
    assert world().send(plan("DNLD", rec(1, SODT=SODT, **{tag: elements[1:]}))) == SUCCEEDED


# --- plan checks (settled 16; fs 5.2; impl 7.1) -----------------------------------------------------------------------


@both
@pytest.mark.parametrize("recs", [None, "", "x", "10000", "1", "3", "-2"])
def test_recs(policy: Policy, recs: str | None) -> None:
    """settled 16: RECS, 0 to 9999, equal to its FLTRs."""
    play = world(policy)
    assert play.send(plan("DNLD", rec(1, SODT=SODT), rec(2, SODT=SODT), recs=recs)) == PROTOCOL
    assert not play.model.flights


@both
@pytest.mark.parametrize("flid", [None, "", "77A", "1234567890123", "-5"])
def test_flid_of_a_plan(policy: Policy, flid: str | None) -> None:
    """settled 16: FLIDs of 1 to 12 digits."""
    play = world(policy)
    assert play.send(plan("DNLD", rec(1, SODT=SODT), rec(flid, SODT=SODT))) == PROTOCOL
    assert not play.model.flights


@both
def test_flids_differ_as_numbers(policy: Policy) -> None:
    """settled 16: different as numbers."""
    assert world(policy).send(plan("DNLD", rec("12", SODT=SODT), rec("0012", SODT=SODT))) == PROTOCOL


@both
@pytest.mark.parametrize("fields", [{}, {"SODT": None}])
def test_sodt_of_a_plan(policy: Policy, fields: dict[str, Any]) -> None:
    """settled 16: a usable SODT each."""
    play = world(policy, plan("DNLD", rec(1, SODT=SODT)))
    assert play.send(plan("DNLD", rec(1, **fields))) == PROTOCOL
    assert play.model.version(1) == 1


@both
def test_an_empty_plan_is_valid(policy: Policy) -> None:
    """fs 5.5: RECS=0 的空快照仍会提交."""
    assert world(policy).send(plan("DNLD")) == SUCCEEDED


@both
def test_day_conflict_refuses_the_whole_plan(policy: Policy) -> None:
    """fs 5.3: 不改写、整包拒绝、告警 SAME_FLID_ACROSS_OPERATION_DAYS; impl 11.2."""
    play = world(policy, plan("DNLD", rec(1, SODT=SODT)))
    assert play.send(plan("DNLD", rec(2, SODT=NEXT), rec(1, SODT=NEXT))) == PROTOCOL
    assert codes(play) == ["SAME_FLID_ACROSS_OPERATION_DAYS"]
    assert 2 not in play.model.flights
    assert play.model.flights[1].day == D0


@both
def test_no_day_alert_where_another_check_failed(policy: Policy) -> None:
    """impl 7.1: the checks of the whole packet come before those of the days."""
    play = world(policy, plan("DNLD", rec(1, SODT=SODT)))
    assert play.send(plan("DNLD", rec(1, SODT=NEXT), recs="2")) == PROTOCOL
    assert codes(play) == []


@both
def test_day_of_a_flight_without_one_is_filled(policy: Policy) -> None:
    """fs 5.3: NULL → 首次确定为 D."""
    play = world(policy, plan("ADFT", rec(1, FLNO="CA100")))
    assert value(play, 1, "OPERATION_DAY") is None
    play.send(plan("DNLD", rec(1, SODT=NEXT)))
    assert value(play, 1, "OPERATION_DAY") == "2026-03-29"


@pytest.mark.parametrize(
    ("local", "shown"),
    [
        ("2026-03-29T01:59", "2026-03-29T01:59:00+01:00"),
        ("2026-03-29T02:30", "2026-03-29T03:30:00+02:00"),
        ("2026-03-29T03:30", "2026-03-29T03:30:00+02:00"),
        ("2026-10-25T02:30", "2026-10-25T02:30:00+02:00"),
    ],
)
def test_a_time_the_zone_skips_or_doubles(local: str, shown: str) -> None:
    """design 5: resolves by one stated rule, the offset before the change."""
    play = Play(Model(settings=Settings(zone=ZoneInfo("Europe/Berlin"))))
    play.send(plan("ADFT", rec(1, ESTT=at(local))))
    assert value(play, 1, "ESTT") == shown


def test_unmapped_tags_are_counted() -> None:
    """design 5: a tag that no catalogue row names is counted and kept with the message's outcome."""
    message = plan("DNLD", rec(1, XTRA="a", MAFL="2", GTDT=[{"GATE": "1", "XPRT": "x"}]), rec(2, XTRA=None, NOTE="b"))
    assert model.unmapped_tags(message) == {"XTRA": 2, "GTDT/XPRT": 1, "NOTE": 1}


def test_cut_over() -> None:
    """settled 9: a time before the cut-over belongs to the day before."""
    play = Play(Model(settings=Settings(cutover=time(4))))
    play.send(plan("DNLD", rec(1, SODT=at("2026-03-28T03:59")), rec(2, SODT=at("2026-03-28T04:00"))))
    assert value(play, 1, "OPERATION_DAY") == "2026-03-27"
    assert value(play, 2, "OPERATION_DAY") == "2026-03-28"


# --- merging (impl 11.3, 12.1, 12.2; fs 5.4; settled 12 to 14) --------------------------------------------------------

FULL = rec(1, SODT=SODT, FLNO="CA100", MAXP=170, RUNW="01", GTDT=[{"GTNO": 1, "GATE": "G1"}], FDIV={"DDES": "HKG"})


@both
def test_absent_in_a_plan(policy: Policy) -> None:
    """design 7, first switch: retain keeps, ledger clears; settled 14: site scalars and FDIV with the rest."""
    play = world(policy, plan("DNLD", FULL))
    play.send(plan("DNLD", rec(1, SODT=SODT)))
    kept = {"FLNO": "CA100", "MAXP": 170, "DDES": "HKG", "RUNW": "01"}
    expected = {**kept, "GTDT": [{"ORDINAL": 1, "GTNO": 1, "GATE": "G1"}]} if policy is RETAIN else {}
    document = play.model.document(1) or {}
    assert {
        k: v
        for k, v in document.items()
        if k not in "FLID STATE STATE_VERSION UPDATED_AT OPERATION_DAY LAST_MESSAGE_ID SODT"
    } == expected


@both
@pytest.mark.parametrize("send", ["DNLD", "ADFT", "FLOP"])
def test_explicitly_empty_clears_everywhere(policy: Policy, send: str) -> None:
    """settled 12: an explicit empty clears in plans, ADFT and FLOP alike."""
    empty: dict[str, Any] = {"FLNO": None, "MAXP": None, "RUNW": None, "CHOT": [], "FDIV": {}}
    play = world(policy, plan("DNLD", replace(FULL, fields={**FULL.fields, "CHOT": [{"CSNO": 1, "CHST": "5"}]})))
    play.send(flop("FLNO", 1, **empty) if send == "FLOP" else plan(send, rec(1, SODT=SODT, **empty)))
    for tag in ("FLNO", "MAXP", "RUNW", "CHOT", "DDES"):
        assert value(play, 1, tag) is None, tag


@both
@pytest.mark.parametrize("send", ["ADFT", "FLOP"])
def test_absent_in_an_increment_is_kept(policy: Policy, send: str) -> None:
    """impl 12.2, 12.3 (Set-only); fs 2."""
    play = world(policy, plan("DNLD", FULL))
    play.send(flop("TRML", 1, TRML="T1") if send == "FLOP" else plan("ADFT", rec(1, TRML="T1")))
    assert value(play, 1, "TRML") == "T1"
    for tag in ("FLNO", "MAXP", "RUNW", "GTDT", "DDES"):
        assert value(play, 1, tag) is not None, tag


@both
def test_a_set_is_replaced_as_a_whole_in_message_order(policy: Policy) -> None:
    """impl 11.3: 整体替换，元素顺序取报文顺序; settled 14: never merged or deduplicated by number."""
    play = world(policy, plan("DNLD", rec(1, SODT=SODT, GTDT=[{"GTNO": 1, "GATE": "G1"}, {"GTNO": 2, "GATE": "G2"}])))
    play.send(
        plan("DNLD", rec(1, SODT=SODT, GTDT=[{"GTNO": 2, "GATE": "G9", "PGOT": SODT}, {"GTNO": 2, "GATE": None}]))
    )
    assert value(play, 1, "GTDT") == [
        {"ORDINAL": 1, "GTNO": 2, "GATE": "G9", "PGOT": "2026-03-28T10:25:00+08:00"},
        {"ORDINAL": 2, "GTNO": 2},
    ]


# impl 12.2, the table: (STYP, payload, empty payload). None as third: the specification states no empty meaning.
FLOP_TABLE: list[tuple[str, dict[str, Any], dict[str, Any] | None]] = [
    ("ACFT", {"ACFT": "320"}, None),
    ("ACTT", {"ACTT": SODT}, {"ACTT": None}),
    ("BOTM", {"BOTM": SODT}, {"BOTM": None}),
    ("CHOT", {"CHOT": [{"CSNO": 1, "CHTM": SODT}]}, {"CHOT": []}),
    ("FLTY", {"FLTY": "J"}, None),
    ("CNCL", {"CNCL": SODT}, {"CNCL": None}),
    ("ESTT", {"ESTT": SODT}, {"ESTT": None}),
    ("FINT", {"FINT": SODT}, {"FINT": None}),
    ("FLIN", {"FLIN": "I"}, None),
    ("LACL", {"LACL": SODT}, {"LACL": None}),
    ("MAXP", {"MAXP": 170}, {"MAXP": None}),
    ("HNAG", {"FHAG": "A", "PHAG": "B", "MHAG": "C"}, {"FHAG": None}),
    ("RENO", {"RENO": "B1234"}, {"RENO": None}),
    ("ROUT", {"ROUT": [{"RTNO": 1, "APCD": "SZX"}]}, {"ROUT": []}),
    ("TRML", {"TRML": "T2"}, {"TRML": None}),
    ("VIPP", {"VIPP": "Y", "VIPR": "x"}, {"VIPP": None, "VIPR": None}),
    ("ABTM", {"ABTM": [{"ASNO": 1, "ABDG": "B1"}]}, {"ABTM": []}),
    ("DELY", {"DELY": [{"CODE": "93", "TEXT": "late"}]}, {"DELY": []}),
    ("PADT", {"PADT": SODT}, {"PADT": None}),
    ("FTSS", {"FTSS": "N"}, {"FTSS": None}),
    ("STND", {"STND": "101"}, {"STND": None}),
    ("REMC", {"REMC": "DLY"}, {"REMC": None}),
]


@both
@pytest.mark.parametrize(("styp", "payload", "empty"), FLOP_TABLE, ids=[row[0] for row in FLOP_TABLE])
def test_flop_table(policy: Policy, styp: str, payload: dict[str, Any], empty: dict[str, Any] | None) -> None:
    """impl 12.2: 每一行都必须有一条回归用例钉住「输入 → 目标字段/集合 → 空标签结果」."""
    play = world(policy, plan("DNLD", rec(1, SODT=SODT)), flop(styp, 1, **payload))
    for tag in payload:
        assert value(play, 1, tag) is not None
    assert last_notice(play, 1)["CHANGED"] == [tag for tag in model.CATALOGUE if tag in payload]
    play.send(flop(styp, 1, **(empty or dict.fromkeys(payload))))
    for tag in empty or payload:
        assert value(play, 1, tag) is None
    assert play.model.version(1) == 3


@both
def test_an_element_of_chot_without_time(policy: Policy) -> None:
    """impl 12.2 CHOT: 元素内 CHTM 空 = 删除该轮挡时间."""
    play = world(
        policy, plan("DNLD", rec(1, SODT=SODT)), flop("CHOT", 1, CHOT=[{"CSNO": 1, "CHTM": None, "CHID": "ON"}])
    )
    assert value(play, 1, "CHOT") == [{"ORDINAL": 1, "CSNO": 1, "CHID": "ON"}]


@both
@pytest.mark.parametrize("tag", ["TAOP", "TAFL", "TAID"])
def test_taop_rule(policy: Policy, tag: str) -> None:
    """impl 12.2 TAOP: 任一为空 = 经停连接断开; settled 13: one empty in a FLOP clears all three."""
    three = {"TAOP": "ZH", "TAFL": "101", "TAID": 5}
    play = world(policy, plan("DNLD", rec(1, SODT=SODT, **three)))
    play.send(flop("TAOP", 1, **{**three, tag: None}))
    assert [value(play, 1, each) for each in three] == [None] * 3
    play = world(policy, plan("DNLD", rec(1, SODT=SODT, **three)))
    play.send(plan("ADFT", rec(1, **{tag: None})))
    assert [each for each in three if value(play, 1, each) is None] == [tag]


ROUTE = [{"RTNO": n, "APCD": f"AP{n}", "SCAT": SODT, "SCDT": SODT} for n in range(1, 7)]


@both
@pytest.mark.parametrize(("mvin", "kept"), [("D", [1, 2, 3, 4]), ("A", [3, 4, 5, 6]), (None, [1, 2, 3, 4])])
def test_rout_cut(policy: Policy, mvin: str | None, kept: list[int]) -> None:
    """impl 12.2 ROUT: 只保留 4 条（离港取前 4、到港取后 4）且忽略 SCAT/SCDT."""
    play = world(policy, plan("DNLD", rec(1, SODT=SODT, MVIN=mvin)), flop("ROUT", 1, ROUT=ROUTE, ERUT=ROUTE))
    assert value(play, 1, "ROUT") == [{"ORDINAL": i, "RTNO": n, "APCD": f"AP{n}"} for i, n in enumerate(kept, 1)]
    assert len(value(play, 1, "ERUT")) == 6
    assert "SCAT" in value(play, 1, "ERUT")[0]


@both
def test_rout_is_whole_in_a_plan(policy: Policy) -> None:
    """settled 14: cut in a FLOP only."""
    play = world(policy, plan("DNLD", rec(1, SODT=SODT, ROUT=ROUTE)))
    assert len(value(play, 1, "ROUT")) == 6
    assert "SCAT" in value(play, 1, "ROUT")[0]
    play.send(flop("ESTT", 1, ESTT=SODT))
    assert len(value(play, 1, "ROUT")) == 6


@both
@pytest.mark.parametrize(
    ("sent", "after"),
    [
        ({"DDES": "CAN", "DDIR": "O"}, ("CAN", "O")),
        ({"DDES": "CAN"}, ("CAN", "I")),
        ({"DDIR": "O"}, ("HKG", "O")),
        ({"DDES": "CAN", "DDIR": None}, ("CAN", None)),
        ({"DDES": None}, (None, None)),
        ({"DDES": None, "DDIR": "O"}, (None, None)),
        ({}, (None, None)),
    ],
)
def test_fdiv(policy: Policy, sent: dict[str, Any], after: tuple[str | None, str | None]) -> None:
    """impl 12.2 FDIV: 空 DDES="" = 清除转场标志; settled 13: DDES empty or without attributes clears both."""
    play = world(policy, plan("DNLD", rec(1, SODT=SODT)), flop("FDIV", 1, FDIV={"DDES": "HKG", "DDIR": "I"}))
    play.send(flop("FDIV", 1, FDIV=sent))
    assert (value(play, 1, "DDES"), value(play, 1, "DDIR")) == after


@both
@pytest.mark.parametrize("empty", [{}, {"REID": None}])
def test_fret(policy: Policy, empty: dict[str, Any]) -> None:
    """impl 12.2 FRET: 空 = 清除返航标志."""
    play = world(policy, plan("DNLD", rec(1, SODT=SODT)), flop("FRET", 1, FRET={"REID": "Y"}))
    assert value(play, 1, "REID") == "Y"
    play.send(flop("FRET", 1, FRET=empty))
    assert value(play, 1, "REID") is None


def test_the_five_sets_are_refused_by_presence_or_by_styp() -> None:
    """impl 12.2 方向约束; settled 12: before the flight is looked up."""
    play = world(RETAIN, plan("DNLD", rec(1, SODT=SODT)))
    for tag in model.ALLOCATIONS:
        part = model.SETS[tag][1]
        assert play.send(flop(tag, 1, **{tag: [{part: "A1"}]})) == PROTOCOL
        assert play.send(flop(tag, 1, **{tag: []})) == PROTOCOL
        assert play.send(flop("ESTT", 1, ESTT=SODT, **{tag: []})) == PROTOCOL
        assert play.send(flop(tag, 1, ESTT=SODT)) == PROTOCOL
        assert play.send(flop(tag, 99, **{tag: []})) == PROTOCOL
        assert play.send(flop(tag, 1)) == MALFORMED
    assert play.model.version(1) == 1


def test_the_five_sets_replace_under_ledger() -> None:
    """design 7, sixth switch."""
    play = world(LEDGER, plan("DNLD", rec(1, SODT=SODT)), flop("GTDT", 1, GTDT=[{"GTNO": 1, "GATE": "G1"}]))
    assert value(play, 1, "GTDT") == [{"ORDINAL": 1, "GTNO": 1, "GATE": "G1"}]
    play.send(flop("GTDT", 1, GTDT=[]))
    assert value(play, 1, "GTDT") is None


@both
def test_flop_without_known_tag(policy: Policy) -> None:
    """settled 4: SUCCEEDED, moves and tells nothing, noted, alert once a day for each STYP."""
    play = world(policy, plan("DNLD", rec(1, SODT=SODT)))
    assert play.send(flop("BDPB", 1, XTRA="x")) == Ending("SUCCEEDED", None, "unmapped:BDPB")
    assert play.send(flop("BDPB", 9, XTRA="y")).note == "unmapped:BDPB"
    assert play.send(flop("ESTT", 1, XTRA="y")).note == "unmapped:ESTT"
    assert play.send(flop("XABC", 1)).note == "unmapped:XABC"
    assert codes(play) == ["UNMAPPED_STYP"] * 3
    play.step(Wait(24))
    play.send(flop("BDPB", 1, XTRA="x"))
    assert codes(play) == ["UNMAPPED_STYP"] * 4
    assert play.model.version(1) == 1
    assert 9 not in play.model.flights


@both
def test_flop_with_no_payload(policy: Policy) -> None:
    """settled 4: MALFORMED if the STYP is known."""
    assert world(policy, plan("DNLD", rec(1, SODT=SODT))).send(flop("ESTT", 1)) == MALFORMED


@both
def test_flop_merges_known_tags_whatever_its_styp(policy: Policy) -> None:
    """settled 4."""
    play = world(policy, plan("DNLD", rec(1, SODT=SODT)), flop("XABC", 1, ESTT=SODT, XTRA="x", wrapped=True))
    assert value(play, 1, "ESTT") == "2026-03-28T10:25:00+08:00"
    assert last_notice(play, 1)["CHANGED"] == ["ESTT"]


@both
def test_flop_changes_sodt_and_no_day(policy: Policy) -> None:
    """settled 9: a SODT in a FLOP changes the scalar only."""
    play = world(policy, plan("DNLD", rec(1, SODT=SODT)), flop("XABC", 1, SODT=NEXT))
    assert value(play, 1, "SODT").startswith("2026-03-29")
    assert value(play, 1, "OPERATION_DAY") == "2026-03-28"


def test_flop_for_an_unknown_flight() -> None:
    """design 7, fifth switch."""
    play = world(RETAIN)
    assert play.send(flop("ESTT", 1, ESTT=SODT)) == SUCCEEDED
    assert not play.model.flights
    assert not play.model.notices
    play = world(LEDGER, flop("ESTT", 1, ESTT=SODT, SODT=SODT))
    assert value(play, 1, "OPERATION_DAY") is None
    assert value(play, 1, "STATE_VERSION") == 1


# --- ADFT (impl 12.3, settled 9, 16) ----------------------------------------------------------------------------------


@both
def test_adft(policy: Policy) -> None:
    """impl 12.3: 新建 ADFT 若带可解析的 SODT，按同一运营日规则计算；否则保留为 NULL."""
    play = world(policy, plan("ADFT", rec(1, FLNO="CA100")), plan("ADFT", rec(2, SODT=NEXT)))
    assert value(play, 1, "OPERATION_DAY") is None
    assert value(play, 2, "OPERATION_DAY") == "2026-03-29"
    play.send(plan("ADFT", rec(1, SODT=NEXT)))
    assert value(play, 1, "OPERATION_DAY") == "2026-03-29"
    assert play.send(plan("ADFT", rec(1, SODT=SODT))) == PROTOCOL
    assert codes(play) == ["SAME_FLID_ACROSS_OPERATION_DAYS"]


@both
def test_adft_has_one_record(policy: Policy) -> None:
    """settled 16: none: MALFORMED; more: PROTOCOL."""
    play = world(policy)
    assert play.send(plan("ADFT")) == MALFORMED
    assert play.send(plan("ADFT", rec(1), rec(2))) == PROTOCOL
    assert play.send(plan("ADFT", rec("x"))) == PROTOCOL
    assert play.send(plan("ADFT", rec(1), recs="1")) == SUCCEEDED


# --- versions and notices (settled 1 to 3) ----------------------------------------------------------------------------


@both
def test_a_message_that_changes_nothing_moves_and_is_told(policy: Policy) -> None:
    """settled 1."""
    play = world(policy, plan("DNLD", rec(1, SODT=SODT)), plan("DNLD", rec(1, SODT=SODT)))
    assert play.model.version(1) == 2
    assert last_notice(play, 1) == {
        "EVENT_TYPE": "UPSERT",
        "FLID": 1,
        "STATE_VERSION": 2,
        "UPDATED_AT": "2026-03-28T08:02:00+08:00",
        "MESSAGE": {"ID": 2, "TYPE": "SCHD", "STYP": "DNLD"},
        "CHANGED": [],
    }


@both
def test_changed_is_in_catalogue_order(policy: Policy) -> None:
    """settled 3."""
    play = world(
        policy, plan("DNLD", rec(1, SODT=SODT, GTDT=[{"GTNO": 1, "GATE": "G1"}], MAXP=3, FLNO="CA1", RUNW="1"))
    )
    assert last_notice(play, 1)["CHANGED"] == ["FLNO", "SODT", "MAXP", "RUNW", "GTDT"]


@both
def test_document_is_in_catalogue_order_without_absent_keys(policy: Policy) -> None:
    """design 3 and 8."""
    play = world(policy, plan("DNLD", rec(7701002, GTDT=[{"GATE": "G12", "GTNO": 1}], MAXP=170, MVIN="D", SODT=SODT)))
    assert list((play.model.document(7701002) or {}).items()) == [
        ("FLID", 7701002),
        ("STATE", "ACTIVE"),
        ("STATE_VERSION", 1),
        ("UPDATED_AT", "2026-03-28T08:01:00+08:00"),
        ("OPERATION_DAY", "2026-03-28"),
        ("LAST_MESSAGE_ID", 1),
        ("MVIN", "D"),
        ("SODT", "2026-03-28T10:25:00+08:00"),
        ("MAXP", 170),
        ("GTDT", [{"ORDINAL": 1, "GTNO": 1, "GATE": "G12"}]),
    ]


# --- deletion and new lives (impl 12.3; fs 6.2; settled 1, 2, 10, 11) -------------------------------------------------


def test_fdel_under_retain() -> None:
    """impl 12.3: ACTIVE → DELETED 时推进版本、保留明细并与 tombstone 同事务登记."""
    play = world(RETAIN, plan("DNLD", FULL), fdel(1))
    assert value(play, 1, "STATE") == "DELETED"
    assert value(play, 1, "GTDT") == [{"ORDINAL": 1, "GTNO": 1, "GATE": "G1"}]
    assert last_notice(play, 1) == {
        "EVENT_TYPE": "TOMBSTONE",
        "FLID": 1,
        "STATE_VERSION": 2,
        "UPDATED_AT": "2026-03-28T08:02:00+08:00",
        "MESSAGE": {"ID": 2, "TYPE": "FLOP", "STYP": "FDEL"},
    }
    assert play.model.state_entry(1) == ("TOMBSTONE", 2, None)
    assert play.send(fdel(1)) == SUCCEEDED
    assert play.send(fdel(99)) == SUCCEEDED
    assert play.model.version(1) == 2
    assert len(play.model.notices) == 2


def test_fdel_under_ledger() -> None:
    """fs 6.2; fs 7.3: value 非 null，载荷至少含 FLID、STATE_VERSION、DELETED."""
    play = world(LEDGER, plan("DNLD", FULL), fdel(1))
    assert play.model.document(1) is None
    assert play.model.state_entry(1) == ("TOMBSTONE", 2, {"FLID": 1, "STATE_VERSION": 2, "DELETED": True})
    assert last_notice(play, 1)["EVENT_TYPE"] == "TOMBSTONE"
    assert play.send(fdel(1)) == SUCCEEDED
    assert play.model.version(1) == 2


@both
def test_only_a_plan_or_an_adft_starts_a_new_life(policy: Policy) -> None:
    """settled 11."""
    play = world(policy, plan("DNLD", rec(1, SODT=SODT)), fdel(1))
    assert play.send(flop("ESTT", 1, ESTT=SODT)) == SUCCEEDED
    assert play.model.version(1) == 2
    assert len(play.model.notices) == 2
    play.send(plan("ADFT", rec(1, TRML="T1")))
    assert value(play, 1, "STATE_VERSION") == 3


@both
def test_versions_never_repeat_and_a_new_life_starts_from_nothing(policy: Policy) -> None:
    """design 7: STATE_VERSION never repeats for a FLID; settled 10."""
    play = world(policy, plan("DNLD", FULL), fdel(1), plan("DNLD", rec(1, SODT=SODT)))
    assert play.model.document(1) == {
        "FLID": 1,
        "STATE": "ACTIVE",
        "STATE_VERSION": 3,
        "UPDATED_AT": "2026-03-28T08:03:00+08:00",
        "OPERATION_DAY": "2026-03-28",
        "LAST_MESSAGE_ID": 3,
        "SODT": "2026-03-28T10:25:00+08:00",
    }
    assert last_notice(play, 1)["CHANGED"] == ["SODT"]


def test_new_life_on_another_day() -> None:
    """settled 10: retain: a deleted row keeps its day, so it is a day conflict; ledger: any day may follow."""
    play = world(RETAIN, plan("DNLD", rec(1, SODT=SODT)), fdel(1))
    assert play.send(plan("DNLD", rec(1, SODT=NEXT))) == PROTOCOL
    assert play.send(plan("ADFT", rec(1, SODT=NEXT))) == PROTOCOL
    assert play.send(plan("ADFT", rec(1, FLNO="CA1"))) == SUCCEEDED
    assert value(play, 1, "OPERATION_DAY") == "2026-03-28"
    play = world(LEDGER, plan("DNLD", rec(1, SODT=SODT)), fdel(1), plan("DNLD", rec(1, SODT=NEXT)))
    assert value(play, 1, "OPERATION_DAY") == "2026-03-29"


def test_a_deleted_row_counts_as_deleted_after_a_switch() -> None:
    """settled 11: after a switch from retain to ledger a DELETED row counts as deleted."""
    play = world(RETAIN, plan("DNLD", rec(1, SODT=SODT)), plan("DNLD", rec(2, SODT=SODT)), fdel(1), fdel(2))
    play.step(SetPolicy("ledger"))
    play.send(flop("ESTT", 1, ESTT=SODT))
    play.send(fdel(1))
    assert play.model.version(1) == 2
    assert play.send(plan("DNLD", rec(1, SODT=NEXT))) == SUCCEEDED
    assert value(play, 1, "OPERATION_DAY") == "2026-03-29"
    assert value(play, 1, "STATE_VERSION") == 3
    play.send(plan("ADFT", rec(2)))
    assert value(play, 2, "OPERATION_DAY") is None


def test_a_removed_row_is_known_as_deleted_after_a_switch_back() -> None:
    """settled 11: also where its row is gone but flid_version knows it as deleted."""
    play = world(LEDGER, plan("DNLD", rec(1, SODT=SODT)), fdel(1))
    play.step(SetPolicy("retain"))
    play.send(plan("DNLD", rec(1, SODT=NEXT)))
    assert value(play, 1, "STATE_VERSION") == 3
    assert value(play, 1, "OPERATION_DAY") == "2026-03-29"


# --- code shares (impl 11.4, 12.3; settled 5 to 8) --------------------------------------------------------------------

MAIN = rec(10, SODT=SODT, FLNO="ZH1")
CHILD = rec(12, SODT=SODT, FLNO="CA2", MAID=10)


def test_mafl_is_derived_and_ordered_by_flid() -> None:
    """impl 11.4; design 7: ordered by FLID, derived on read from MAID."""
    play = world(RETAIN, plan("DNLD", CHILD, rec(11, SODT=SODT, MAID=10), MAIN))
    assert value(play, 10, "MAFL") == [{"FLID": 11}, {"FLID": 12, "FLNO": "CA2"}]
    assert value(play, 12, "MAFL") is None
    assert play.model.version(10) == 1
    assert list(told(play, 1)) == [10]
    assert told(play, 1)[10]["CHANGED"] == ["FLNO", "SODT", "MAFL"]
    assert play.model.state_entry(12)[:2] == ("UPSERT", 1)


def test_a_main_moves_when_the_value_of_its_mafl_changes() -> None:
    """settled 6: child added, lost, re-pointed, renamed; a child's other changes move the child alone."""
    play = world(RETAIN, plan("DNLD", MAIN, rec(20, SODT=SODT)))
    play.send(plan("ADFT", CHILD))
    assert told(play, 2).keys() == {10}
    assert told(play, 2)[10]["CHANGED"] == ["MAFL"]
    assert value(play, 10, "LAST_MESSAGE_ID") == 2
    play.send(flop("FLNO", 12, FLNO="CA3"))
    assert told(play, 3)[10]["CHANGED"] == ["MAFL"]
    play.send(flop("ESTT", 12, ESTT=SODT))
    assert told(play, 4) == {}
    assert (play.model.version(10), play.model.version(12)) == (3, 3)
    play.send(flop("MAID", 12, MAID=20))
    assert told(play, 5).keys() == {10, 20}
    assert value(play, 20, "MAFL") == [{"FLID": 12, "FLNO": "CA3"}]
    play.send(flop("MAID", 12, MAID=None))
    assert told(play, 6).keys() == {12, 20}
    play.send(flop("MAID", 12, MAID=10))
    play.send(fdel(12))
    assert told(play, 8).keys() == {10}
    assert told(play, 8)[10]["EVENT_TYPE"] == "UPSERT"
    assert play.model.state_entry(12) == ("TOMBSTONE", 7, None)


def test_a_plan_with_main_and_child_moves_each_once() -> None:
    """settled 1: at most one version a message, however often it is touched by it."""
    play = world(RETAIN, plan("DNLD", MAIN, CHILD), plan("DNLD", MAIN, rec(12, SODT=SODT, FLNO="CA9")))
    assert play.model.version(10) == 2
    assert told(play, 2)[10]["CHANGED"] == ["MAFL"]


def test_dangling_and_self_references() -> None:
    """impl 11.4: 自引用行不进入任何 MAFL；悬挂引用不阻断该子航班自身处理; settled 5, 7."""
    play = world(RETAIN, plan("DNLD", rec(12, SODT=SODT, MAID=99), rec(13, SODT=SODT, MAID=13)))
    assert told(play, 1).keys() == {13}
    assert value(play, 13, "MAFL") is None
    play.send(plan("ADFT", rec(99, FLNO="ZH9")))
    assert value(play, 99, "MAFL") == [{"FLID": 12}]
    assert last_notice(play, 99)["CHANGED"] == ["FLNO", "MAFL"]


def test_chains_are_flat() -> None:
    """settled 7: only a flight with no MAID carries MAFL or cascades."""
    play = world(RETAIN, plan("DNLD", MAIN, CHILD, rec(14, SODT=SODT, MAID=12)))
    assert value(play, 12, "MAFL") is None
    play.send(fdel(12))
    assert value(play, 14, "STATE") == "ACTIVE"


def test_deleting_a_main_cascades() -> None:
    """settled 2, 8: its active children too, in CHILDREN; the children send no notice."""
    play = world(RETAIN, plan("DNLD", MAIN, CHILD, rec(11, SODT=SODT, MAID=10), rec(15, SODT=SODT, MAID=10)), fdel(15))
    play.send(fdel(10))
    assert told(play, 3) == {
        10: {
            "EVENT_TYPE": "TOMBSTONE",
            "FLID": 10,
            "STATE_VERSION": 3,
            "UPDATED_AT": "2026-03-28T08:03:00+08:00",
            "MESSAGE": {"ID": 3, "TYPE": "FLOP", "STYP": "FDEL"},
            "CHILDREN": [11, 12],
        }
    }
    assert [play.model.version(flid) for flid in (11, 12, 15)] == [2, 2, 2]
    assert [value(play, flid, "STATE") for flid in (10, 11, 12)] == ["DELETED"] * 3
    assert value(play, 10, "MAFL") is None
    assert value(play, 12, "LAST_MESSAGE_ID") == 3


def test_a_main_reborn_carries_its_active_children() -> None:
    """settled 7."""
    play = world(RETAIN, plan("DNLD", MAIN, CHILD), fdel(10), plan("DNLD", CHILD), plan("DNLD", MAIN))
    assert value(play, 10, "MAFL") == [{"FLID": 12, "FLNO": "CA2"}]
    assert told(play, 4)[10]["CHANGED"] == ["FLNO", "SODT", "MAFL"]


def test_flights_stand_alone_under_ledger() -> None:
    """fs 3.4: 各自处理，不做级联推断; settled 7: under ledger there is no MAFL."""
    play = world(LEDGER, plan("DNLD", MAIN, CHILD))
    assert value(play, 10, "MAFL") is None
    assert told(play, 1).keys() == {10, 12}
    play.send(fdel(10))
    assert value(play, 12, "STATE") == "ACTIVE"
    assert "CHILDREN" not in told(play, 2)[10]


def test_inbound_mafl_is_ignored() -> None:
    """settled 7."""
    play = world(RETAIN, plan("DNLD", MAIN), flop("ESTT", 10, ESTT=SODT, MAFL="12"))
    assert value(play, 10, "MAFL") is None
    assert last_notice(play, 10)["CHANGED"] == ["ESTT"]


# --- requests, coverage, rosters (impl 7.2; fs 4, 5; settled 16 to 18) ------------------------------------------------


def test_resp_without_request() -> None:
    """design 7, seventh switch; settled 16: judged before its content."""
    play = world(RETAIN)
    assert play.send(plan("RESP", rec(1, SODT=SODT), recs="7")) == SKIPPED
    play = world(LEDGER)
    assert play.send(plan("RESP", rec(1, SODT=SODT), recs="7")) == PROTOCOL
    assert play.send(plan("RESP", rec(1, SODT=SODT))) == SUCCEEDED
    assert play.model.rosters == {}


@both
def test_an_answered_request_covers_its_day(policy: Policy) -> None:
    """design 7: a plan covers a full operational day if it answers a single-day request."""
    play = Play(Model(policy))
    play.step(OpenRequest(D0, "AODB"))
    assert play.send(plan("RESP", rec(1, SODT=SODT), rec(2, SODT=SODT))) == SUCCEEDED
    assert play.model.rosters == {D0: model.Roster(1, 1, frozenset({1, 2}))}
    assert play.model.requests[0].state == "DONE"
    second = play.send(plan("RESP", rec(1, SODT=SODT)))
    assert second == (SKIPPED if policy is RETAIN else SUCCEEDED)
    assert play.model.rosters[D0].version == 1


@both
def test_what_does_not_answer_a_request(policy: Policy) -> None:
    """settled 17: matched by type, day and sender; impl 7.2: 超时应答不能修改."""
    play = Play(Model(policy))
    play.step(OpenRequest(D0, "AODB"))
    play.send(plan("RESP", rec(1, SODT=NEXT)))
    play.send(replace(plan("RESP", rec(2, SODT=SODT)), sndr="BKUP"))
    assert play.model.rosters == {}
    assert play.send(plan("RESP", rec(3, SODT=None), recs="9")) != SUCCEEDED
    assert play.model.requests[0].state == "PENDING"
    play.step(Wait(24))
    play.send(plan("RESP", rec(4, SODT=SODT)))
    assert play.model.rosters == {}


@both
def test_a_request_is_open_until_its_answer_succeeds(policy: Policy) -> None:
    """impl 7.2: 请求完成必须在相应数据处理成功之后."""
    play = Play(Model(policy))
    play.step(OpenRequest(D0, None))
    assert play.send(plan("RESP", rec(1, SODT=SODT), recs="2")) == PROTOCOL
    assert play.send(plan("RESP", rec(1, SODT=SODT), rec(2, SODT=NEXT))) == PROTOCOL
    assert play.model.requests[0].state == "PENDING"
    assert play.send(plan("RESP", rec(1, SODT=SODT))) == SUCCEEDED


@both
def test_an_empty_answer_takes_the_newest_request(policy: Policy) -> None:
    """settled 17: an answer without records by type and sender; newest first."""
    play = Play(Model(policy))
    play.step(OpenRequest(D1, "AODB"))
    play.step(OpenRequest(D0, "AODB"))
    assert play.send(plan("RESP")) == SUCCEEDED
    assert [request.state for request in play.model.requests] == ["PENDING", "DONE"]
    assert play.model.rosters == {D0: model.Roster(1, 1, frozenset())}


@both
def test_a_new_request_closes_the_old_one_of_its_kind(policy: Policy) -> None:
    """impl 7.2: 注册同类新请求前使旧开放请求过期."""
    play = Play(Model(policy))
    for sender in ("AODB", "AODB", None):
        play.step(OpenRequest(D0, sender))
    assert [request.state for request in play.model.requests] == ["EXPIRED", "PENDING", "PENDING"]


@both
def test_a_dnld_completes_a_request_of_its_day(policy: Policy) -> None:
    """fs 7.1: DNLD 仅在运营日匹配时完成请求."""
    play = Play(Model(policy))
    play.step(OpenRequest(D0, None))
    play.send(plan("DNLD", rec(1, SODT=SODT), rec(2, SODT=NEXT)))
    play.send(plan("DNLD"))
    assert play.model.requests[0].state == "PENDING"
    play.send(plan("DNLD", rec(1, SODT=SODT)))
    assert play.model.requests[0].state == "DONE"
    assert play.model.rosters[D0].flids == {1}


def covered(policy: Policy, *flids: int) -> Play:
    play = Play(Model(policy))
    play.step(OpenRequest(D0, "AODB"))
    assert play.send(plan("RESP", *[rec(flid, SODT=SODT) for flid in flids])) == SUCCEEDED
    play.step(OpenRequest(D0, "AODB"))
    return play


def test_o_minus_n_under_ledger() -> None:
    """fs 5.5: 差删集合就是 O − N."""
    play = covered(LEDGER, 1, 2, 3)
    play.send(plan("ADFT", rec(4, SODT=SODT)))
    play.send(plan("RESP", rec(1, SODT=SODT)))
    assert play.model.flights.keys() == {1, 4}
    assert {flid: notice["EVENT_TYPE"] for flid, notice in told(play, 3).items()} == {
        1: "UPSERT",
        2: "TOMBSTONE",
        3: "TOMBSTONE",
    }
    assert play.model.version(2) == 2
    assert play.model.rosters == {D0: model.Roster(2, 3, frozenset({1}))}
    assert play.model.traces[-1] == model.Trace(3, D0, version=2, deleted=2, would_delete=0)


def test_o_minus_n_is_kept_under_retain() -> None:
    """impl 12.1: 不会因其他航班未出现在本次报文中而删除任何记录; design 7: rosters are kept under both presets."""
    play = covered(RETAIN, 1, 2, 3)
    play.send(plan("RESP", rec(1, SODT=SODT)))
    assert [flight.state for flight in play.model.flights.values()] == ["ACTIVE"] * 3
    assert play.model.rosters == {D0: model.Roster(2, 2, frozenset({1}))}
    assert play.model.traces[-1] == model.Trace(2, D0, version=2, deleted=0, would_delete=2)


def test_an_empty_answer_deletes_the_whole_day_under_ledger() -> None:
    """fs 5.5: RECS=0 的空快照仍会提交，旧名单中属于 D 的航班全部进入差删."""
    play = covered(LEDGER, 1, 2)
    play.send(plan("RESP"))
    assert not play.model.flights
    assert play.model.rosters == {D0: model.Roster(2, 2, frozenset())}


def test_fdel_and_the_roster() -> None:
    """fs 6.2: 从名单中移除，不推进 VERSION; design 7: under retain the row stays."""
    play = covered(LEDGER, 1, 2)
    play.send(fdel(1))
    assert play.model.rosters == {D0: model.Roster(1, 1, frozenset({2}))}
    play = covered(RETAIN, 1, 2)
    play.send(fdel(1))
    assert play.model.rosters == {D0: model.Roster(1, 1, frozenset({1, 2}))}


def test_o_minus_n_skips_what_counts_as_deleted() -> None:
    """fs 5.5: 已删除 continue; settled 11."""
    play = covered(RETAIN, 1, 2)
    play.send(fdel(1))
    play.step(SetPolicy("ledger"))
    play.send(plan("RESP"))
    assert play.model.version(1) == 2
    assert value(play, 1, "STATE") == "DELETED"
    assert play.model.document(2) is None


def test_rosters_are_disjoint() -> None:
    """fs 4: 一个 FLID 只出现在一个运营日的名单下."""
    play = covered(RETAIN, 1, 2)
    play.send(fdel(1))
    play.step(SetPolicy("ledger"))
    play.send(plan("DNLD", rec(1, SODT=NEXT)))
    assert play.model.rosters[D0].flids == {2}
    assert play.send(plan("RESP", rec(2, SODT=SODT))) == SUCCEEDED
    assert value(play, 1, "STATE") == "ACTIVE"


@both
def test_a_scheduled_plan_changes_states_and_no_roster(policy: Policy) -> None:
    """fs 5.2: 定时下发的 48 小时窗口，只覆盖状态."""
    play = world(policy, plan("DNLD", rec(1, SODT=SODT), rec(2, SODT=NEXT), dttm=at("2026-03-27T12:00")))
    assert play.model.rosters == {}


@pytest.mark.parametrize(
    ("dttm", "days"),
    [
        ("2026-03-27T23:00", [D0]),
        ("2026-03-28T00:00", [D0, D1]),
        ("2026-03-28T00:01", [D1]),
        ("2026-03-26T12:00", [D0 - timedelta(days=1)]),
        ("2026-03-27T00:00", [D0 - timedelta(days=1), D0]),
    ],
)
def test_trust_window(dttm: str, days: list[date]) -> None:
    """settled 18: [DTTM, DTTM + 48 h); a day counts only if it lies wholly inside."""
    play = Play(Model(LEDGER))
    play.step(TrustWindow(on=True))
    play.send(plan("DNLD", rec(1, SODT=SODT), rec(2, SODT=NEXT), dttm=at(dttm)))
    assert sorted(play.model.rosters) == days


def test_trust_window_deletes_under_ledger() -> None:
    """design 7: where the setting allows it."""
    play = Play(Model(LEDGER))
    play.step(TrustWindow(on=True))
    window = {"dttm": at("2026-03-27T12:00")}
    play.send(plan("DNLD", rec(1, SODT=SODT), rec(2, SODT=SODT), rec(3, SODT=NEXT), **window))
    play.send(plan("DNLD", rec(1, SODT=SODT), **window))
    assert play.model.flights.keys() == {1, 3}


# --- replay (impl 9.1) ------------------------------------------------------------------------------------------------


def test_what_cannot_be_read_is_replayed_later() -> None:
    """impl 9.1, 5.2: retried, then DEAD(EXHAUSTED); 重新入队不等于恢复历史顺序."""
    play = world(RETAIN, plan("DNLD", rec(1, SODT=SODT)))
    play.step(Deliver(flop("TRML", 1, TRML="T1", seqn="5"), unreadable=True))
    assert play.model.endings[2] == Ending("DEAD", "EXHAUSTED")
    play.send(flop("TRML", 1, TRML="T2"))
    play.step(Replay(0))
    assert play.model.endings[2] == SUCCEEDED
    assert value(play, 1, "TRML") == "T1"
    assert value(play, 1, "LAST_MESSAGE_ID") == 2


def test_a_replay_keeps_its_identity() -> None:
    """impl 9.1: 保留身份，避免重放时把自己判成重复消息. What was never decoded has none yet."""
    play = world(RETAIN)
    play.send(other("ABCD", "X", seqn="5"))
    play.step(Replay(0))
    assert play.model.endings[1] == Ending("DEAD", "EXHAUSTED")
    play.step(Deliver(plan("ADFT", rec(1), seqn="6"), unreadable=True))
    assert play.send(plan("ADFT", rec(1), seqn="6")) == SUCCEEDED
    play.step(Replay(1))
    assert play.model.endings[2] == Ending("SKIPPED", None, "duplicate-of:3")


def test_a_refused_plan_may_be_replayed_under_another_policy() -> None:
    """impl 3: PROTOCOL 需人工处置; its verdict depends on what is there."""
    play = world(RETAIN, plan("DNLD", rec(1, SODT=SODT)), fdel(1))
    assert play.send(plan("DNLD", rec(1, SODT=NEXT))) == PROTOCOL
    play.step(SetPolicy("ledger"))
    play.step(Replay(0))
    assert play.model.endings[3] == SUCCEEDED
    assert value(play, 1, "OPERATION_DAY") == "2026-03-29"


# --- the generator and the writer -------------------------------------------------------------------------------------


def test_a_stream_is_a_matter_of_its_seed() -> None:
    first, second = (Generator(Seeded(5)).stream(50) for _ in range(2))
    assert first == second
    assert first != Generator(Seeded(6)).stream(50)


def test_random_streams_reach_every_ending() -> None:
    """A generator that never makes a case proves nothing about it."""
    play = Play()
    for step in Generator(Seeded(1)).stream(1500):
        play.step(step)
    endings = {(e.state, e.error_class, (e.note or "").partition(":")[0]) for e in play.model.endings.values()}
    assert endings == {
        ("SUCCEEDED", None, ""),
        ("SUCCEEDED", None, "unmapped"),
        ("SKIPPED", None, ""),
        ("SKIPPED", None, "duplicate-of"),
        ("SKIPPED", None, "ignored"),
        ("DEAD", "MALFORMED", ""),
        ("DEAD", "PROTOCOL", ""),
        ("DEAD", "EXHAUSTED", ""),
    }
    assert set(codes(play)) == {"IDENTITY_COLLISION", "SAME_FLID_ACROSS_OPERATION_DAYS", "UNMAPPED_STYP"}
    assert any("CHILDREN" in notice for notice in play.model.notices)
    assert any(notice.get("CHANGED") == ["MAFL"] for notice in play.model.notices)
    assert play.model.rosters.keys() >= set(DAYS)


def test_the_plain_layout() -> None:
    """design 5: the wire format."""
    message = plan("DNLD", rec(1, SODT=SODT, GTDT=[{"GTNO": 1, "GATE": "G1"}], CKDT=[], FDIV={"DDES": "HKG"}), seqn="9")
    assert to_xml(message) == (
        "<MSG><META><SNDR>AODB</SNDR><SEQN>9</SEQN><DTTM>28MAR260800</DTTM><TYPE>SCHD</TYPE><STYP>DNLD</STYP></META>"
        "<SCHD><RECS>1</RECS><FLTR><FLID>1</FLID><SODT>28MAR261025</SODT>"
        '<GTDT GTNO="1"><GATE>G1</GATE></GTDT><CKDT CKNO="0"/><FDIV DDES="HKG"/></FLTR></SCHD></MSG>'
    )


def test_layouts_differ() -> None:
    message = plan("DNLD", rec(1, SODT=SODT, FLNO="CA100"), seqn="9")
    assert len({to_xml(replace(message, layout=n)) for n in range(20)}) > 15
    assert Layout(0).moment(at("2026-03-28T10:25:30")) == "20260328102530"


def test_a_stream_is_printed_as_source() -> None:
    """What a failure prints is the stream itself."""
    steps = Generator(Seeded(3)).stream(400)
    names = {**globals(), "replace": replace, "date": date, "Flop": Flop, "Plan": Plan, "Other": Other}
    again = eval(as_source(steps), names)  # noqa: S307 - our own text
    assert again == steps

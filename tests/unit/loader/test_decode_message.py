"""META, kinds, bodies: what a message as a whole must have, and what it is refused for."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

from loader import decode as decoder
from loader.decode import MessageKind, Verdict, decode, kind_of

if TYPE_CHECKING:
    from conftest import Wire

META = {"SNDR": "AODB", "SEQN": "17", "DTTM": "20260310080000", "TYPE": "FLOP", "STYP": "ESTT"}
FLOP = "<FLOP><FLID>7701002</FLID><ESTT>10MAR260945</ESTT></FLOP>"


def with_meta(**values: str | None) -> str:
    """A FLOP whose META has these values; None leaves one out, an empty one is sent empty."""
    merged = {**META, **values}
    children = "".join(f"<{tag}>{value}</{tag}>" for tag, value in merged.items() if value is not None)
    return f"<MSG><META>{children}</META>{FLOP}</MSG>"


def test_meta_is_kept_as_sent_and_trimmed(wire: Wire) -> None:
    decoded = wire.read(with_meta(SNDR=" Aodb\n", TYPE="flop", STYP="Estt", SEQN=" 0017 "))
    assert (decoded.sndr, decoded.type, decoded.styp, decoded.seqn) == ("Aodb", "flop", "Estt", "0017")
    assert decoded.kind is MessageKind.FLOP
    assert decoded.dttm == datetime(2026, 3, 10, 8, tzinfo=ZoneInfo("Asia/Shanghai"))


def test_meta_in_any_order_with_others_in_between(wire: Wire) -> None:
    children = "".join(f"<{tag}>{value}</{tag}><X{tag}>?</X{tag}>" for tag, value in reversed(META.items()))
    decoded = wire.read(f"<MSG>{FLOP}<META>{children}</META></MSG>")
    assert decoded.verdict is None
    assert decoded.unmapped is None
    assert decoded.digest == wire.read(with_meta()).digest


@pytest.mark.parametrize("tag", META)
@pytest.mark.parametrize("value", [None, "", "  \n", "<![CDATA[ ]]>"], ids=["absent", "empty", "blank", "CDATA"])
def test_incomplete_meta_is_malformed_and_the_tag_named(wire: Wire, tag: str, value: str | None) -> None:
    assert tag in wire.reason(with_meta(**{tag: value}))


def test_meta_is_malformed_for_what_it_holds(wire: Wire) -> None:
    assert "'yesterday'" in wire.reason(with_meta(DTTM="yesterday"))
    assert "SEQN" in wire.reason(with_meta(SEQN="x" * 129))
    assert "SEQN" in wire.reason(with_meta(SEQN="<X/>"))
    assert "SEQN stands there twice" in wire.reason(with_meta(SEQN="1</SEQN><SEQN>2"))
    assert wire.read(with_meta(SEQN="1</SEQN><SEQN> 1")).seqn == "1"


def test_a_refused_message_still_says_who_sent_it(wire: Wire) -> None:
    decoded = wire.read(with_meta(DTTM="yesterday"))
    assert (decoded.sndr, decoded.type, decoded.styp, decoded.seqn) == ("AODB", "FLOP", "ESTT", "17")
    assert decoded.kind is None


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (None, "NULL"),
        ("", "not well-formed"),
        ("<MESSAGE/>", "'MESSAGE'"),
        ("<MSG/>", "no SNDR"),
        (f"<msg><META/>{FLOP}</msg>", "'msg'"),
    ],
)
def test_what_is_no_message(wire: Wire, body: str | None, said: str) -> None:
    decoded = decode(body, wire.catalogue, wire.zone)
    assert decoded.verdict is Verdict.MALFORMED
    assert said in (decoded.reason or "")


@pytest.mark.parametrize(
    ("type_", "styp", "kind"),
    [
        ("SCHD", "DNLD", "SCHD_DNLD"),
        ("schd", "Resp", "SCHD_RESP"),
        ("SCHD", "ADFT", "SCHD_ADFT"),
        ("SCHD", "DEL", "OTHER"),
        ("FLOP", "FDEL", "FDEL"),
        ("FDEL", "anything", "FDEL"),
        ("FLOP", "ESTT", "FLOP"),
        ("FLOP", "nobody knows", "FLOP"),
        ("ARPT", "DNLD", "REFDATA"),
        ("REGN", "UPD", "REFDATA"),
        ("CHLT", "del", "REFDATA"),
        ("ARPT", "ADFT", "OTHER"),
        ("RSTA", "DNLD", "RSTA"),
        ("RSTA", "RESP", "RSTA"),
        ("RSTA", "ADD", "OTHER"),
        ("LDM", "LDM", "OTHER"),
        ("EROR", "EROR", "OTHER"),
    ],
)
def test_kinds(type_: str, styp: str, kind: str) -> None:
    assert kind_of(type_, styp) == kind


# -- plans ----------------------------------------------------------------------------------------------------------


def test_a_plan_is_staged_in_its_order(wire: Wire) -> None:
    decoded = wire.read(wire.plan("<FLID>3</FLID>", "<FLID>1</FLID>", "<FLID>2</FLID>"))
    assert decoded.kind is MessageKind.SCHD_DNLD
    assert [record.flid for record in decoded.records] == [3, 1, 2]
    assert (decoded.declared, decoded.record_count, decoded.has_payload) == ("3", 3, True)


@pytest.mark.parametrize(
    ("recs", "declared"),
    [
        ("", None),
        ("<RECS/>", ""),
        ("<RECS> 5 </RECS>", "5"),
        ("<RECS>many</RECS>", "many"),
        ("<RECS>-1</RECS>", "-1"),
        ("<RECS>1</RECS><RECS>1</RECS>", "1"),
    ],
)
@pytest.mark.parametrize("styp", ["DNLD", "RESP", "ADFT"])
def test_recs_is_staged_as_it_stands(wire: Wire, styp: str, recs: str, declared: str | None) -> None:
    decoded = wire.read(wire.message("SCHD", styp, f"<SCHD>{recs}<FLTR><FLID>1</FLID></FLTR></SCHD>"))
    assert (decoded.verdict, decoded.declared, decoded.record_count) == (None, declared, 1)


@pytest.mark.parametrize(
    ("flid", "number", "text"),
    [
        ("", None, None),
        ("<FLID/>", None, None),
        ("<FLID> 77 </FLID>", 77, "77"),
        ("<FLID>000000000077</FLID>", 77, "000000000077"),
        ("<FLID>1234567890123</FLID>", None, "1234567890123"),
        ("<FLID>7a</FLID>", None, "7a"),
        ("<FLID>-7</FLID>", None, "-7"),
        ("<FLID>\N{ARABIC-INDIC DIGIT SEVEN}</FLID>", None, "\N{ARABIC-INDIC DIGIT SEVEN}"),
        (f"<FLID>{'x' * 99}</FLID>", None, "x" * 64),
    ],
)
def test_a_flid_that_cannot_be_is_left_to_the_plan(wire: Wire, flid: str, number: int | None, text: str | None) -> None:
    record = wire.content(wire.plan(flid + "<FLNO>ZH1</FLNO>"))
    assert (record.flid, record.flid_text, record.scalars) == (number, text, {"flno": "ZH1"})


def test_plans_are_malformed_only_in_form(wire: Wire) -> None:
    assert "SCHD" in wire.reason(wire.message("SCHD", "DNLD", "<FLTR/>"))
    assert "second SCHD" in wire.reason(wire.message("SCHD", "DNLD", "<SCHD/><SCHD/>"))
    assert "FLTR" in wire.reason(wire.message("SCHD", "ADFT", "<SCHD><RECS>1</RECS></SCHD>"))
    assert "RECS stands there twice" in wire.reason(
        wire.message("SCHD", "DNLD", "<SCHD><RECS>1</RECS><RECS>2</RECS></SCHD>")
    )
    assert wire.read(wire.message("SCHD", "DNLD", "<SCHD><RECS>0</RECS></SCHD>")).record_count == 0
    assert wire.read(wire.message("SCHD", "RESP", "<SCHD/>")).declared is None
    assert wire.read(wire.plan("<FLID>1</FLID>", "<FLID>2</FLID>", styp="ADFT")).record_count == 2


def test_one_bad_value_refuses_the_whole_plan(wire: Wire) -> None:
    reason = wire.reason(wire.plan("<FLID>1</FLID>", "<FLID>2</FLID><SODT>soon</SODT>"))
    assert "SODT" in reason
    assert "'soon'" in reason


# -- FLOP and FDEL --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "flid", ["", "<FLID/>", "<FLID>x</FLID>", "<FLID>1234567890123</FLID>", "<FLID>1</FLID><FLID>2</FLID>"]
)
@pytest.mark.parametrize(("type_", "styp"), [("FLOP", "ESTT"), ("FLOP", "FDEL"), ("FDEL", "FDEL"), ("FLOP", "LATER")])
def test_without_a_usable_flid_it_is_malformed(wire: Wire, type_: str, styp: str, flid: str) -> None:
    assert "FLID" in wire.reason(wire.message(type_, styp, f"<FLOP>{flid}<ESTT>10MAR260945</ESTT></FLOP>"))


def test_a_flop_needs_its_element_and_only_one(wire: Wire) -> None:
    assert "FLOP" in wire.reason(wire.message("FLOP", "ESTT", "<FLID>1</FLID><ESTT/>"))
    assert "second FLOP" in wire.reason(wire.message("FLOP", "ESTT", FLOP + FLOP))


def test_ffid_is_no_identity_and_no_payload(wire: Wire) -> None:
    decoded = wire.read(wire.flop("<FFID>12-ZH-1234</FFID>", "LATER"))
    assert (decoded.has_payload, decoded.unmapped, decoded.records[0].flid) == (False, None, 7701002)
    assert "FLID" in wire.reason(wire.message("FLOP", "ESTT", "<FLOP><FFID>1</FFID><ESTT/></FLOP>"))


@pytest.mark.parametrize("styp", ["ESTT", "estt", "HNAG", "FDIV", "BDPB", "TOBT", "GTDT", "SODT"])
def test_a_flop_of_a_known_styp_that_says_nothing_is_malformed(wire: Wire, styp: str) -> None:
    assert styp.upper() in wire.reason(wire.flop("", styp))


def test_a_flop_of_an_unknown_styp_that_says_nothing_is_staged(wire: Wire) -> None:
    decoded = wire.read(wire.flop("", "LATER"))
    assert (decoded.verdict, decoded.has_payload, decoded.record_count) == (None, False, 1)


@pytest.mark.parametrize(
    ("type_", "body"),
    [
        ("FLOP", "<FLOP><FLID>77</FLID></FLOP>"),
        ("FLOP", "<FLOP><FLID>77</FLID><FFID>x</FFID><FDEL/></FLOP>"),
        ("FLOP", "<FLOP><FDEL><FLID>77</FLID></FDEL></FLOP>"),
        ("FLOP", "<FLOP><FLID>77</FLID><MAFL><FLID>78</FLID></MAFL></FLOP>"),
        ("FDEL", "<FDEL><FLID>77</FLID></FDEL>"),
        ("FDEL", "<FLOP><FLID> 077 </FLID></FLOP>"),
    ],
)
def test_a_deletion_is_its_flid(wire: Wire, type_: str, body: str) -> None:
    decoded = wire.read(wire.message(type_, "FDEL", body))
    assert (decoded.kind, decoded.records[0].flid, decoded.records[0].scalars) == (MessageKind.FDEL, 77, {})


# -- reference data and the rest ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        "<RECS>2</RECS><ARPT><ITCD>SZX</ITCD><CNAM>深圳</CNAM><ANAM/></ARPT><ARPT><ITCD>PEK</ITCD></ARPT>",
        "<ARPTS><RECS>2</RECS><R><ITCD>SZX</ITCD><CNAM> 深圳 </CNAM><ANAM/></R><R><ITCD>PEK</ITCD></R></ARPTS>",
        "<RECS>2</RECS><R ITCD='SZX' CNAM='深圳' ANAM=''/><R><D><ITCD>PEK</ITCD></D></R>",
    ],
)
def test_reference_records(wire: Wire, body: str) -> None:
    decoded = wire.read(wire.message("ARPT", "DNLD", body))
    assert (decoded.kind, decoded.declared, decoded.unmapped) == (MessageKind.REFDATA, "2", None)
    assert [dict(record.scalars) for record in decoded.records] == [
        {"ITCD": "SZX", "CNAM": "深圳", "ANAM": None},
        {"ITCD": "PEK"},
    ]


def test_one_reference_record_may_stand_in_msg_itself(wire: Wire) -> None:
    record = wire.content(wire.message("COUL", "UPD", "<COUC>CN</COUC><REGC>A</REGC><REGC>B</REGC><NAME/>"))
    assert record.scalars == {"COUC": "CN", "REGC": "A", "NAME": None}


def test_resource_states_are_staged_alike(wire: Wire) -> None:
    decoded = wire.read(wire.message("RSTA", "DNLD", "<RECS>1</RECS><RSTA><RSID>12</RSID><RTYP>GATE</RTYP></RSTA>"))
    assert (decoded.kind, decoded.records[0].scalars) == (MessageKind.RSTA, {"RSID": "12", "RTYP": "GATE"})


@pytest.mark.parametrize("type_", ["ARPT", "LDM"])
@pytest.mark.parametrize(
    "body", ["", "<RECS>x</RECS>", "<RECS><X/></RECS><RECS/>", "<A><B><C/></B></A>text", "<FLOP/>"]
)
def test_what_may_be_ignored_is_never_malformed(wire: Wire, type_: str, body: str) -> None:
    decoded = wire.read(wire.message(type_, "DNLD", body))
    assert (decoded.verdict, decoded.unmapped) == (None, None)


# -- the digest -----------------------------------------------------------------------------------------------------


def test_the_digest_knows_content_and_not_seqn(wire: Wire) -> None:
    payload = "<ESTT>10MAR260945</ESTT>"
    digest = wire.read(wire.flop(payload)).digest
    assert digest is not None
    assert len(digest) == 32
    assert wire.read(wire.flop("<ESTT>20260310094500</ESTT>")).digest == digest
    assert wire.read(wire.flop(payload).replace("<SEQN>17", "<SEQN>18")).digest == digest
    for other in (
        wire.flop("<ESTT>10MAR260946</ESTT>"),
        wire.flop("<ESTT/>"),
        wire.flop(payload + "<ACTT/>"),
        wire.flop(payload + "<XXXX>1</XXXX>"),
        wire.flop(payload, "ACTT"),
        wire.flop(payload).replace("AODB", "RMS"),
        wire.flop(payload).replace("20260310080000", "20260310080001"),
        wire.flop(payload).replace("7701002", "7701003"),
    ):
        assert wire.read(other).digest != digest


@pytest.mark.parametrize(
    ("type_", "one", "other"),
    [
        ("LDM", "<A>1</A>", "<A>2</A>"),
        ("LDM", "<A B='1'/>", "<A B='2'/>"),
        ("ARPT", "<R><ITCD>A</ITCD></R>", "<R><ITCD>B</ITCD></R>"),
        ("FLOP", "<FLOP><FLID>1</FLID><X>1</X></FLOP>", "<FLOP><FLID>1</FLID><X>2</X></FLOP>"),
        ("FLOP", "<FLOP><FLID>1</FLID><SRVT>1</SRVT></FLOP>", "<FLOP><FLID>1</FLID><SRVT>2</SRVT></FLOP>"),
    ],
)
def test_the_digest_knows_what_is_not_mapped(wire: Wire, type_: str, one: str, other: str) -> None:
    digests = {wire.read(wire.message(type_, "DNLD", body)).digest for body in (one, other)}
    assert len(digests) == 2
    assert None not in digests


# -- bugs of ours ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [KeyError("a\0b"), RecursionError("deep"), MemoryError(), ValueError("x" * 9000)])
def test_a_bug_ends_one_message_as_codec_error(wire: Wire, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def broken(*_: object) -> None:
        raise error

    monkeypatch.setattr(decoder, "_read_message", broken)
    assert type(error).__name__ in wire.reason(wire.flop("<ESTT/>"), Verdict.CODEC_ERROR)

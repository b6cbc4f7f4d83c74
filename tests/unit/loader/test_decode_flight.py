"""What is said about a flight: absent, empty, a value; sets; wrappers; attributes. Over every scalar and every set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from loader.catalogue import ATTRIBUTE_GROUPS, SCALARS, SETS, Catalogue, Field, SetKind, ValueType

if TYPE_CHECKING:
    from conftest import Wire

SITE = Catalogue.build().site
ALL_SCALARS = (*SCALARS, *SITE)
PARTS = [(kind, part) for kind in SETS for part in kind.parts]
PART_IDS = [f"{kind.tag}-{part.tag}" for kind, part in PARTS]

EMPTY = [
    "<{0}/>",
    "<{0}></{0}>",
    "<{0}>  \n\t</{0}>",
    "<{0}><![CDATA[]]></{0}>",
    "<{0}><!-- x --></{0}>",
    "<{0}>\u3000</{0}>",
]


def sample(field: Field) -> tuple[str, str | int]:
    """A value as sent, and as staged."""
    match field.type:
        case ValueType.INTEGER:
            return "007", 7
        case ValueType.TEXT:
            return "停 A&amp;1", "停 A&1"
        case _:
            return "15dec031805", "2003-12-15T18:05:00+08:00"


def staged(wire: Wire, field: Field, payload: str) -> dict[str, object]:
    """Where the field lands: the scalars, or the site's extra."""
    record = wire.flight(payload, "FLNO")
    if field in SITE:
        assert not record.scalars
        return {key.lower(): value for key, value in record.extra.items()}
    assert not record.extra
    return dict(record.scalars)


# -- scalars --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ALL_SCALARS, ids=lambda field: field.tag)
class TestEveryScalar:
    def test_absent(self, wire: Wire, field: Field) -> None:
        record = wire.flight("<XXXX/>")
        assert field.column not in record.scalars
        assert field.tag not in record.extra

    @pytest.mark.parametrize("form", EMPTY)
    def test_empty(self, wire: Wire, field: Field, form: str) -> None:
        assert staged(wire, field, form.format(field.tag)) == {field.column: None}

    @pytest.mark.parametrize("form", ["<{0}>{1}</{0}>", "<{0}>\r\n {1}\t</{0}>", "<{0}><!-- x -->{1}<?y?></{0}>"])
    def test_value(self, wire: Wire, field: Field, form: str) -> None:
        sent, value = sample(field)
        assert staged(wire, field, form.format(field.tag, sent)) == {field.column: value}

    def test_repeated_alike(self, wire: Wire, field: Field) -> None:
        sent, value = sample(field)
        assert staged(wire, field, f"<{field.tag}>{sent}</{field.tag}>" * 2) == {field.column: value}

    @pytest.mark.parametrize("second", ["<{0}/>", "<{0}>26JAN010101</{0}>", "<{0}>9</{0}>"])
    def test_repeated_otherwise(self, wire: Wire, field: Field, second: str) -> None:
        sent, _ = sample(field)
        assert field.tag in wire.reason(
            wire.flop(f"<{field.tag}>{sent}</{field.tag}>{second.format(field.tag)}", "FLNO")
        )

    def test_an_element_where_the_value_belongs(self, wire: Wire, field: Field) -> None:
        reason = wire.reason(wire.flop(f"<{field.tag}><WHAT>1</WHAT></{field.tag}>", "FLNO"))
        assert field.tag in reason
        assert "WHAT" in reason

    def test_too_long(self, wire: Wire, field: Field) -> None:
        if field.type is ValueType.DATETIME:
            assert field.tag in wire.reason(wire.flop(f"<{field.tag}>15DEC0318055</{field.tag}>"))
            return
        longest = "9" * field.length
        assert staged(wire, field, f"<{field.tag}>{longest}</{field.tag}>")
        reason = wire.reason(wire.flop(f"<{field.tag}>{longest}9</{field.tag}>"))
        assert field.tag in reason
        assert "'9999" in reason
        assert str(field.length) in reason

    def test_wrapped_in_its_own_event(self, wire: Wire, field: Field) -> None:
        sent, value = sample(field)
        inner = f"<{field.tag}>{sent}</{field.tag}>"
        record = wire.flight(f"<{field.tag}>{inner}</{field.tag}>", field.tag.lower())
        assert {**record.scalars, **record.extra} == {field.tag if field in SITE else field.column: value}


@pytest.mark.parametrize(
    "field", [field for field in ALL_SCALARS if field.type is ValueType.DATETIME], ids=lambda f: f.tag
)
@pytest.mark.parametrize("value", ["now", "15DEC03", "32DEC031805", "20261310101010", "2026-03-10T10:00:00"])
def test_a_date_time_that_is_none(wire: Wire, field: Field, value: str) -> None:
    reason = wire.reason(wire.flop(f"<{field.tag}>{value}</{field.tag}>"))
    assert field.tag in reason
    assert repr(value) in reason


@pytest.mark.parametrize("tag", ["EGSR", "EGST", "FTSS"])
@pytest.mark.parametrize("value", ["now", "Y", "32DEC031805", "1805"])
def test_a_date_time_or_text_keeps_the_text(wire: Wire, tag: str, value: str) -> None:
    assert wire.flight(f"<{tag}>{value}</{tag}>").scalars == {tag.lower(): value}


@pytest.mark.parametrize("tag", ["TAID", "MAID", "MAXP"])
@pytest.mark.parametrize("value", ["-1", "+1", "1.0", "1e3", "0x10", "1 000", "１２", "12a"])
def test_an_integer_that_is_none(wire: Wire, tag: str, value: str) -> None:
    assert tag in wire.reason(wire.flop(f"<{tag}>{value}</{tag}>"))


def test_inner_blanks_of_a_text_are_its_own(wire: Wire) -> None:
    assert wire.flight("<REMC> a\n  b </REMC>").scalars == {"remc": "a\n  b"}


def test_tags_are_told_apart_by_case(wire: Wire) -> None:
    decoded = wire.read(wire.flop("<estt>10MAR260945</estt>"))
    assert (decoded.records[0].scalars, decoded.unmapped) == ({}, {"estt": 1})


# -- FDIV and FRET --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("payload", "scalars"),
    [
        ('<FDIV DDES="SZX" DDIR="O"/>', {"ddes": "SZX", "ddir": "O"}),
        ('<FDIV DDES=" SZX "></FDIV>', {"ddes": "SZX"}),
        ("<FDIV><DDES>SZX</DDES><DDIR>O</DDIR></FDIV>", {"ddes": "SZX", "ddir": "O"}),
        ('<FDIV DDIR="O"><DDES>SZX</DDES></FDIV>', {"ddes": "SZX", "ddir": "O"}),
        ('<FDIV DDES="SZX" DDIR=""/>', {"ddes": "SZX", "ddir": None}),
        ('<FDIV DDES="" DDIR="O"/>', {"ddes": None, "ddir": None}),
        ('<FDIV DDES=" "/>', {"ddes": None, "ddir": None}),
        ("<FDIV><DDES/></FDIV>", {"ddes": None, "ddir": None}),
        ("<FDIV/>", {"ddes": None, "ddir": None}),
        ("<FDIV> </FDIV>", {"ddes": None, "ddir": None}),
        ('<FDIV DDIR="O"/>', {"ddir": "O"}),
        ('<FDIV><FDIV DDES="SZX"/></FDIV>', {"ddes": "SZX"}),
        ('<FRET REID="PEK"/>', {"reid": "PEK"}),
        ("<FRET><REID>PEK</REID></FRET>", {"reid": "PEK"}),
        ("<FRET>PEK</FRET>", {"reid": "PEK"}),
        ("<FRET/>", {"reid": None}),
        ('<FRET REID=""/>', {"reid": None}),
        ("<FRET><REID/></FRET>", {"reid": None}),
    ],
)
def test_diversion_and_return(wire: Wire, payload: str, scalars: dict[str, object]) -> None:
    assert wire.flight(payload, "FDIV").scalars == scalars
    if payload.count("<FDIV") < 2:  # only a FLOP has wrappers
        assert wire.content(wire.plan(f"<FLID>1</FLID>{payload}")).scalars == scalars


def test_diversion_and_return_are_malformed_for_what_they_hold(wire: Wire) -> None:
    assert "FDIV" in wire.reason(wire.flop("<FDIV>SZX</FDIV>"))
    assert "DDES" in wire.reason(wire.flop('<FDIV DDES="A"/><FDIV DDES="B"/>'))
    assert "DDES" in wire.reason(wire.flop('<FDIV DDES="A"><DDES>B</DDES></FDIV>'))
    for group in ATTRIBUTE_GROUPS:
        for field in group.fields:
            too_long = "x" * (field.length + 1)
            assert field.tag in wire.reason(wire.flop(f'<{group.tag} {field.tag}="{too_long}"/>'))


# -- sets -----------------------------------------------------------------------------------------------------------


def element(kind: SetKind, number: int | str, inner: str) -> str:
    attribute = "" if kind.number is None else f' {kind.number}="{number}"'
    return f"<{kind.tag}{attribute}>{inner}</{kind.tag}>"


def full(kind: SetKind, number: int = 1, *, attributes: bool = False) -> tuple[str, dict[str, object]]:
    """An element with every part, and as staged."""
    values = {part.tag: sample(part) for part in kind.parts}
    expected: dict[str, object] = {} if kind.number is None else {"source_seq": number}
    expected |= {tag.lower(): value for tag, (_, value) in values.items()}
    if attributes:
        named = "".join(f' {tag}="{sent}"' for tag, (sent, _) in values.items())
        named += "" if kind.number is None else f' {kind.number}="{number}"'
        return f"<{kind.tag}{named}/>", expected
    return element(kind, number, "".join(f"<{tag}>{sent}</{tag}>" for tag, (sent, _) in values.items())), expected


@pytest.mark.parametrize("kind", SETS, ids=lambda kind: kind.tag)
class TestEverySet:
    def test_absent(self, wire: Wire, kind: SetKind) -> None:
        assert kind.tag not in wire.flight("<FLNO/>").sets

    @pytest.mark.parametrize("attributes", [False, True], ids=["children", "attributes"])
    def test_one_element_has_every_part(self, wire: Wire, kind: SetKind, attributes: bool) -> None:
        sent, expected = full(kind, attributes=attributes)
        assert wire.flight(sent).sets == {kind.tag: [expected]}

    def test_the_number_may_be_a_child(self, wire: Wire, kind: SetKind) -> None:
        if kind.number is not None:
            sent, expected = full(kind, 3)
            moved = sent.replace(f' {kind.number}="3">', f"><{kind.number}>3</{kind.number}>")
            assert moved != sent
            assert wire.flight(moved).sets == {kind.tag: [expected]}

    def test_elements_keep_the_order_of_the_message_and_are_never_merged(self, wire: Wire, kind: SetKind) -> None:
        sent = [full(kind, number) for number in (2, 1, 2)]
        payload = "<FLNO/>".join(text for text, _ in sent)
        assert wire.flight(payload).sets == {kind.tag: [expected for _, expected in sent]}

    @pytest.mark.parametrize("form", ["<{0}/>", "<{0}></{0}>", "<{0}> \n </{0}>", "<{0}><!-- x --></{0}>"])
    def test_nothing_inside_is_the_empty_set(self, wire: Wire, kind: SetKind, form: str) -> None:
        assert wire.flight(form.format(kind.tag)).sets == {kind.tag: []}

    @pytest.mark.parametrize("number", ["0", "00", " 0 ", "1", ""])
    def test_number_zero_or_only_a_number_is_the_empty_set(self, wire: Wire, kind: SetKind, number: str) -> None:
        if kind.number is not None:
            assert wire.flight(element(kind, number, "")).sets == {kind.tag: []}
            child = f"<{kind.tag}><{kind.number}>{number}</{kind.number}></{kind.tag}>"
            assert wire.flight(child).sets == {kind.tag: []}

    def test_number_zero_is_the_empty_set_whatever_is_in_it(self, wire: Wire, kind: SetKind) -> None:
        if kind.number is not None:
            assert wire.flight(full(kind, 0)[0]).sets == {kind.tag: []}

    def test_an_empty_one_beside_others_adds_nothing(self, wire: Wire, kind: SetKind) -> None:
        sent, expected = full(kind)
        assert wire.flight(f"<{kind.tag}/>{sent}<{kind.tag}/>").sets == {kind.tag: [expected]}

    def test_an_empty_part_has_no_key(self, wire: Wire, kind: SetKind) -> None:
        part = kind.parts[0]
        expected = {} if kind.number is None else {"source_seq": 1}
        assert wire.flight(element(kind, 1, f"<{part.tag}/>")).sets == {kind.tag: [expected]}
        assert wire.flight(element(kind, 1, f"<{part.tag}> </{part.tag}>")).sets == {kind.tag: [expected]}
        empty_attribute = element(kind, 1, "").replace(f"<{kind.tag}", f'<{kind.tag} {part.tag}=""', 1)
        assert wire.flight(empty_attribute).sets == {kind.tag: [expected]}

    def test_no_more_than_the_limit(self, wire: Wire, kind: SetKind) -> None:
        limit = kind.limit or 150
        sent, _ = full(kind)
        assert len(wire.flight(sent * limit).sets[kind.tag]) == limit
        if kind.limit is not None:
            reason = wire.reason(wire.flop(sent * (limit + 1)))
            assert kind.tag in reason
            assert str(limit) in reason

    @pytest.mark.parametrize("number", ["-1", "x", "1.0", "1234567890"])
    def test_a_number_that_is_none(self, wire: Wire, kind: SetKind, number: str) -> None:
        if kind.number is not None:
            assert kind.number in wire.reason(wire.flop(element(kind, number, "")))

    def test_a_part_said_twice(self, wire: Wire, kind: SetKind) -> None:
        part = kind.parts[0]
        first, second = ("15DEC031805", "15DEC031806") if part.type is ValueType.DATETIME else ("A", "B")
        twice = f"<{part.tag}>{first}</{part.tag}><{part.tag}>{{}}</{part.tag}>"
        assert part.tag in wire.reason(wire.flop(element(kind, 1, twice.format(second))))
        assert len(wire.flight(element(kind, 1, twice.format(first))).sets[kind.tag]) == 1

    def test_unknown_parts_are_counted_by_path(self, wire: Wire, kind: SetKind) -> None:
        decoded = wire.read(wire.flop(element(kind, 1, "<XXXX>1</XXXX><XXXX/>")))
        assert decoded.unmapped == {f"{kind.tag}/XXXX": 2}
        assert len(decoded.records[0].sets[kind.tag]) == 1

    def test_wrapped_in_its_own_event(self, wire: Wire, kind: SetKind) -> None:
        (one, first), (two, second) = full(kind, 1), full(kind, 2)
        record = wire.flight(f"<{kind.tag}>{one}{two}</{kind.tag}>", kind.tag)
        assert record.sets == {kind.tag: [first, second]}

    def test_not_wrapped_in_its_own_event(self, wire: Wire, kind: SetKind) -> None:
        sent, expected = full(kind)
        assert wire.flight(sent, kind.tag).sets == {kind.tag: [expected]}


@pytest.mark.parametrize(("kind", "part"), PARTS, ids=PART_IDS)
class TestEveryPart:
    def test_alone(self, wire: Wire, kind: SetKind, part: Field) -> None:
        sent, value = sample(part)
        record = wire.flight(element(kind, 4, f"<{part.tag}> {sent} </{part.tag}>"))
        number = {} if kind.number is None else {"source_seq": 4}
        assert record.sets == {kind.tag: [number | {part.column: value}]}

    def test_what_it_cannot_hold(self, wire: Wire, kind: SetKind, part: Field) -> None:
        bad = "soon" if part.type is ValueType.DATETIME else "x" * (part.length + 1)
        reason = wire.reason(wire.flop(element(kind, 1, f"<{part.tag}>{bad}</{part.tag}>")))
        assert part.tag in reason
        assert bad[:20] in reason

    def test_an_element_in_it(self, wire: Wire, kind: SetKind, part: Field) -> None:
        assert part.tag in wire.reason(wire.flop(element(kind, 1, f"<{part.tag}><X/></{part.tag}>")))

    def test_text_where_a_date_time_may_be(self, wire: Wire, kind: SetKind, part: Field) -> None:
        if part.type is ValueType.DATETIME_OR_TEXT:
            record = wire.flight(element(kind, 1, f"<{part.tag}>soon</{part.tag}>"))
            assert record.sets[kind.tag][0][part.column] == "soon"


def test_a_cleared_chock_time_is_an_element(wire: Wire) -> None:
    assert wire.flight('<CHOT CSNO="1"><CHTM/></CHOT>', "CHOT").sets == {"CHOT": [{"source_seq": 1}]}
    assert wire.flight("<CHOT><CHTM/></CHOT>", "CHOT").sets == {"CHOT": [{}]}


def test_a_delay_is_attributes_and_text(wire: Wire) -> None:
    assert wire.flight('<DELY CODE="81" STRT="10MAR260945" DURA="0030"/>').sets == {
        "DELY": [{"code": "81", "strt": "2026-03-10T09:45:00+08:00", "dura": "0030"}]
    }
    assert wire.flight('<DELY CODE="81"> 流量控制 </DELY>').sets == {"DELY": [{"code": "81", "text": "流量控制"}]}
    assert wire.flight("<DELY><CODE>81</CODE>weather</DELY>").sets == {"DELY": [{"code": "81", "text": "weather"}]}
    assert wire.flight("<DELY>weather</DELY>").sets == {"DELY": [{"text": "weather"}]}
    assert wire.flight("<DELY/>").sets == {"DELY": []}
    assert "TEXT" in wire.reason(wire.flop(f"<DELY>{'x' * 2001}</DELY>"))


@pytest.mark.parametrize("class_tag", ["CCLS", "CHCLS"])
@pytest.mark.parametrize("type_tag", ["CTYP", "CHTYP"])
def test_chutes_have_two_spellings(wire: Wire, class_tag: str, type_tag: str) -> None:
    sent = f'<CHDT CHNO="1"><CHUT>7</CHUT><{class_tag}>Y</{class_tag}><{type_tag}>T</{type_tag}></CHDT>'
    assert wire.flight(sent).sets == {"CHDT": [{"source_seq": 1, "chut": "7", "chcls": "Y", "chtyp": "T"}]}
    other = sent.replace("<CHUT>", "<CCLS>N</CCLS><CHCLS>Y</CHCLS><CHUT>")
    assert "CHCLS" in wire.reason(wire.flop(other))
    # … and the counters' own CCLS and CTYP stay what they are.
    assert wire.flight("<CKDT CKNO='1' CCLS='Y' CTYP='T'/>").sets == {
        "CKDT": [{"source_seq": 1, "ccls": "Y", "ctyp": "T"}]
    }


def test_routes_do_not_cover_each_other(wire: Wire) -> None:
    record = wire.flight('<ROUT RTNO="1"><APCD>SZX</APCD></ROUT><ERUT RTNO="1"><APCD>PEK</APCD></ERUT>')
    assert record.sets == {
        "ROUT": [{"source_seq": 1, "apcd": "SZX"}],
        "ERUT": [{"source_seq": 1, "apcd": "PEK"}],
    }


def test_stray_text_in_a_set_is_counted(wire: Wire) -> None:
    decoded = wire.read(wire.flop('<GTDT GTNO="1">G12<GATE>G12</GATE></GTDT>'))
    assert decoded.unmapped == {"GTDT/#text": 1}
    assert decoded.records[0].sets == {"GTDT": [{"source_seq": 1, "gate": "G12"}]}


# -- wrappers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("styp", "payload", "scalars"),
    [
        ("HNAG", "<HNAG><FHAG>A</FHAG><PHAG/></HNAG>", {"fhag": "A", "phag": None}),
        ("HNAG", "<FHAG>A</FHAG><PHAG/>", {"fhag": "A", "phag": None}),
        ("hnag", "<HNAG><FHAG>A</FHAG></HNAG><MHAG>B</MHAG>", {"fhag": "A", "mhag": "B"}),
        ("TAOP", "<TAOP><TAOP>ZH</TAOP><TAFL>1</TAFL><TAID>2</TAID></TAOP>", {"taop": "ZH", "tafl": "1", "taid": 2}),
        ("TAOP", "<TAOP>ZH</TAOP><TAFL>1</TAFL>", {"taop": "ZH", "tafl": "1"}),
        ("TAOP", "<TAOP/>", {"taop": None}),
        ("TAOP", "<TAOP><TAFL/></TAOP>", {"tafl": None}),
        ("VIPP", "<VIPP><VIPP>1</VIPP><VIPR>王喆</VIPR></VIPP>", {"vipp": "1", "vipr": "王喆"}),
        ("LATER", "<LATER><ESTT/></LATER>", {"estt": None}),
    ],
)
def test_wrappers_named_like_the_styp(wire: Wire, styp: str, payload: str, scalars: dict[str, object]) -> None:
    decoded = wire.read(wire.flop(payload, styp))
    assert (decoded.records[0].scalars, decoded.unmapped, decoded.has_payload) == (scalars, None, True)


def test_a_wrapper_may_hold_the_flid(wire: Wire) -> None:
    decoded = wire.read(wire.message("FLOP", "ESTT", "<FLOP><ESTT><FLID>1</FLID><ESTT/></ESTT></FLOP>"))
    assert (decoded.records[0].flid, decoded.records[0].scalars) == (1, {"estt": None})
    # … but holding nothing else it says nothing.
    assert "says nothing" in wire.reason(wire.message("FLOP", "ESTT", "<FLOP><ESTT><FLID>1</FLID></ESTT></FLOP>"))


def test_only_the_styp_wraps_and_only_in_a_flop(wire: Wire) -> None:
    assert "TAOP" in wire.reason(wire.flop("<TAOP><TAFL>1</TAFL></TAOP>", "ESTT"))
    assert "TAOP" in wire.reason(wire.plan("<FLID>1</FLID><TAOP><TAFL>1</TAFL></TAOP>"))
    decoded = wire.read(wire.flop("<HNAG><FHAG>A</FHAG></HNAG>", "ESTT"))
    assert (decoded.records[0].scalars, decoded.unmapped) == ({}, {"HNAG": 1})


def test_wrapped_and_plain_may_not_differ(wire: Wire) -> None:
    assert "FHAG" in wire.reason(wire.flop("<HNAG><FHAG>A</FHAG></HNAG><FHAG>B</FHAG>", "HNAG"))


def test_text_in_a_wrapper_is_counted(wire: Wire) -> None:
    decoded = wire.read(wire.flop("<HNAG>x<FHAG>A</FHAG>y</HNAG>", "HNAG"))
    assert (decoded.records[0].scalars, decoded.unmapped) == ({"fhag": "A"}, {"HNAG/#text": 1})


# -- sections, unknown tags -----------------------------------------------------------------------------------------


def test_sections_are_kept_as_sent(wire: Wire) -> None:
    srvt = "<SRVT OPER='A'><SRTC>1</SRTC> <SRQT/></SRVT>"
    record = wire.flight(f"{srvt}<VIPF><VIPT><OPER>A</OPER></VIPT></VIPF>{srvt}")
    assert record.sections == {
        "SRVT": ['<SRVT OPER="A"><SRTC>1</SRTC> <SRQT/></SRVT>'] * 2,
        "VIPF": ["<VIPF><VIPT><OPER>A</OPER></VIPT></VIPF>"],
    }
    assert (record.scalars, record.sets) == ({}, {})


def test_unknown_tags_are_counted_and_not_fatal(wire: Wire) -> None:
    decoded = wire.read(
        wire.message(
            "SCHD",
            "DNLD",
            "<SCHD><RECS>2</RECS><DATE>x</DATE><FLTR><FLID>1</FLID><NEWT>1</NEWT><NEWT/></FLTR>"
            "<FLTR>stray<FLID>2</FLID><NEWT><A/></NEWT><FLNO LANG='zh'>ZH1</FLNO></FLTR></SCHD><TRAILER/>",
        )
    )
    assert decoded.unmapped == {"DATE": 1, "NEWT": 3, "FLTR/#text": 1, "FLNO/LANG": 1, "TRAILER": 1}
    assert [record.scalars for record in decoded.records] == [{}, {"flno": "ZH1"}]


@pytest.mark.parametrize("flight", ["x<FLID>1</FLID>", "<FLID>1</FLID>x", "\n<FLID>1</FLID>x<FLNO/>"])
def test_stray_text_is_counted_wherever_it_stands(wire: Wire, flight: str) -> None:
    assert wire.read(wire.plan(flight)).unmapped == {"FLTR/#text": 1}


def test_attributes_of_a_flight_are_counted(wire: Wire) -> None:
    body = wire.plan("<FLID>1</FLID>").replace("<FLTR>", "<FLTR SEQ='1' xml:lang='zh'>")
    assert wire.read(body).unmapped == {"FLTR/SEQ": 1}


def test_an_unknown_event_is_payload(wire: Wire) -> None:
    decoded = wire.read(wire.flop("<BDPB>1</BDPB>", "BDPB"))
    assert (decoded.has_payload, decoded.unmapped, decoded.records[0].scalars) == (True, {"BDPB": 1}, {})


def test_counting_is_bounded_and_complete(wire: Wire) -> None:
    decoded = wire.read(wire.flop("".join(f"<T{i}/>" for i in range(500)) + f"<{'x' * 9999}/>"))
    assert decoded.unmapped is not None
    assert len(decoded.unmapped) == 200
    assert sum(decoded.unmapped.values()) == 501
    assert max(map(len, decoded.unmapped)) <= 128


def test_inbound_mafl_is_ignored(wire: Wire) -> None:
    decoded = wire.read(wire.flop("<MAFL><FLID>9</FLID></MAFL><FLNO>ZH1</FLNO>"))
    assert (decoded.unmapped, decoded.records[0].scalars) == (None, {"flno": "ZH1"})
    decoded = wire.read(wire.flop("<MAFL><FLID>9</FLID></MAFL>", "MAFL"))
    assert (decoded.verdict, decoded.records[0].flid, decoded.has_payload) == (None, 7701002, True)


def test_a_section_named_like_the_styp_is_no_wrapper(wire: Wire) -> None:
    record = wire.flight("<SRVT><TOBT>x</TOBT></SRVT>", "SRVT")
    assert (record.sections, record.extra) == ({"SRVT": ["<SRVT><TOBT>x</TOBT></SRVT>"]}, {})


def test_a_sites_own_scalars(wire: Wire) -> None:
    record = wire.flight("<TOBT>10MAR260945</TOBT><RUNW>36R</RUNW><FLAB/>", "TOBT")
    assert record.extra == {"TOBT": "2026-03-10T09:45:00+08:00", "RUNW": "36R", "FLAB": None}

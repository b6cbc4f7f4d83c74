"""What examples do not find: no body makes the decoder raise, and no layout changes what a message says."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from hypothesis import given, settings
from hypothesis import strategies as st

from loader.catalogue import SCALARS, SETS, Field, SetKind, ValueType
from loader.staging import message_row, record_rows

if TYPE_CHECKING:
    from conftest import Wire

    from loader.decode import Decoded

Parts = tuple[int | None, list[tuple[str, str]]]
Said = tuple[str, str | Parts]
"""A scalar as (tag, text), or a set element as (tag, (number, parts))."""

TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"]), min_size=1, max_size=20)


def storable_in_postgresql(decoded: Decoded) -> None:
    for row in (message_row(1, decoded), *record_rows(1, decoded)):
        for value in row:
            if isinstance(value, str):
                value.encode("utf-8")
                assert "\0" not in value
                assert "\\u0000" not in value
    assert (decoded.verdict is None) == (decoded.kind is not None) == (decoded.digest is not None)
    assert (decoded.verdict is None) == (decoded.reason is None)


@given(st.one_of(st.binary(max_size=300), st.text(max_size=300)))
def test_any_body_has_an_outcome(wire: Wire, body: str | bytes) -> None:
    storable_in_postgresql(wire.read(body))


SEEDS = [
    '<?xml version="1.0" encoding="GB2312"?><MSG><META><SNDR>A</SNDR><SEQN>1</SEQN><DTTM>20260310080000</DTTM>'
    f"<TYPE>{type_}</TYPE><STYP>{styp}</STYP></META>{body}</MSG>"
    for type_, styp, body in [
        ("FLOP", "TAOP", "<FLOP><FLID>7</FLID><TAOP><TAOP>王</TAOP><TAID>3</TAID></TAOP><FDIV DDES='X'/></FLOP>"),
        ("FLOP", "GTDT", "<FLOP><FLID>7</FLID><GTDT GTNO='1'><GATE>1</GATE></GTDT><DELY CODE='1'>x</DELY></FLOP>"),
        ("SCHD", "DNLD", "<SCHD><RECS>1</RECS><FLTR><FLID>1</FLID><SODT>15DEC031805</SODT><SRVT/></FLTR></SCHD>"),
        ("ARPT", "ADD", "<RECS>1</RECS><ARPT><ITCD>SZX</ITCD></ARPT>"),
        ("FLOP", "FDEL", "<FLOP><FLID>7</FLID></FLOP>"),
    ]
]


@settings(max_examples=400)
@given(st.sampled_from(SEEDS), st.data())
def test_any_mutation_has_an_outcome(wire: Wire, seed: str, data: st.DataObject) -> None:
    body = bytearray(seed.encode("gbk"))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(body)))
        length = data.draw(st.sampled_from([0, 0, 1, 5, 20]))
        patch = data.draw(
            st.one_of(
                st.binary(max_size=3),
                st.sampled_from(
                    [b"<", b">", b"</", b"&", b"]]>", b"<!--", b"<![CDATA[", b"<!DOCTYPE a>", b"0", b"<TAOP>"]
                ),
                st.just(bytes(body[at : at + 30])),
            )
        )
        body[at : at + length] = patch
    for form in (bytes(body), body.decode("latin-1"), body.decode("gb18030", "replace")):
        storable_in_postgresql(wire.read(form))


# -- layout ---------------------------------------------------------------------------------------------------------


def values(field: Field) -> st.SearchStrategy[str]:
    """What a field may be sent as; an empty one is an explicit empty."""
    match field.type:
        case ValueType.INTEGER:
            return st.one_of(st.just(""), st.integers(0, 10**field.length - 1).map(str))
        case ValueType.TEXT:
            return st.one_of(st.just(""), TEXTS.map(str.strip))
        case _:
            return st.one_of(st.just(""), st.datetimes().map("{:%d%b26%H%M}".format).map(str.upper).filter(real))


def real(text: str) -> bool:
    return not text.startswith("29FEB")


@st.composite
def elements(draw: st.DrawFn, kind: SetKind) -> tuple[str, int | None, list[tuple[str, str]]]:
    parts = draw(st.lists(st.sampled_from(kind.parts), unique=True, max_size=4))
    number = None if kind.number is None else draw(st.one_of(st.none(), st.integers(0, 99)))
    return kind.tag, number, [(part.tag, draw(values(part))) for part in parts]


@st.composite
def flights(draw: st.DrawFn) -> list[Said]:
    """What is said about a flight."""
    said: list[Said] = [
        (field.tag, draw(values(field))) for field in draw(st.lists(st.sampled_from(SCALARS), unique=True, max_size=6))
    ]
    for kind in draw(st.lists(st.sampled_from(SETS), unique=True, max_size=3)):
        for tag, number, parts in draw(st.lists(elements(kind), min_size=1, max_size=3)):
            said.append((tag, (number, parts)))
    return said


BLANKS = st.sampled_from(["", " ", "\n", "\t\r\n", "<!-- c -->", "<?pi d?>", "\n  <!-- <FLID>9</FLID> -->\n"])


@st.composite
def rendered(draw: st.DrawFn, said: list[Said], flid: int) -> str | bytes:
    """The same flight as XML, in any layout."""
    prefix = draw(st.sampled_from(["", "", "ns:"]))
    nothing = st.just("")
    blanks = draw(st.sampled_from([nothing, BLANKS]))

    def name(tag: str) -> str:
        return prefix + tag

    def text(value: str) -> str:
        if not value:
            return draw(st.sampled_from(["", " ", "\n", "<![CDATA[]]>", "<!-- c -->"]))
        how = draw(st.sampled_from(["plain", "cdata", "split", "reference"]))
        if how == "cdata" and "]]>" not in value:
            inner = f"<![CDATA[{value}]]>"
        elif how == "split":
            inner = f"{escape(value[:1])}<!-- c -->{escape(value[1:])}"
        elif how == "reference":
            inner = "".join(f"&#{ord(character)};" for character in value)
        else:
            inner = escape(value)
        return draw(blanks) + inner + draw(blanks)

    def leaf(tag: str, value: str) -> str:
        if not value and draw(st.booleans()):
            return f"<{name(tag)}/>"
        return f"<{name(tag)}>{text(value)}</{name(tag)}>"

    def element(tag: str, number: int | None, parts: list[tuple[str, str]]) -> str:
        kind = next(kind for kind in SETS if kind.tag == tag)
        leaves = list(parts) if number is None or kind.number is None else [(kind.number, str(number)), *parts]
        attributes, children = "", ""
        for part, value in draw(st.permutations(leaves)):
            # An attribute's blanks are not kept as sent, so it is used where there are none inside.
            if draw(st.booleans()) and not set(value) & {"\n", "\t", "\r"}:
                attributes += f" {part}{draw(st.sampled_from(['=', ' = ']))}{quoteattr(value)}"
            else:
                children += leaf(part, value) + draw(blanks)
        return f"<{name(tag)}{attributes}>{draw(blanks)}{children}</{name(tag)}>"

    # Scalars may stand anywhere; elements of one set keep their order.
    order = sorted(
        range(len(said)), key=lambda at: (draw(st.integers(0, 3)) if isinstance(said[at][1], str) else 2, at)
    )
    content = ""
    for at in order:
        tag, value = said[at]
        content += leaf(tag, value) if isinstance(value, str) else element(tag, *value)
        content += draw(blanks)
    meta = [("SNDR", "AODB"), ("SEQN", "1"), ("DTTM", "20260310080000"), ("TYPE", "SCHD"), ("STYP", "RESP")]
    head = "".join(leaf(tag, value) for tag, value in draw(st.permutations(meta)))
    namespace = ' xmlns:ns="urn:x"' if prefix else draw(st.sampled_from(["", ' xmlns="urn:y"']))
    flight = f"<{name('FLTR')}>{leaf('FLID', str(flid))}{content}</{name('FLTR')}>"
    parts = [
        f"<{name('META')}>{head}</{name('META')}>",
        f"<{name('SCHD')}>{leaf('RECS', '1')}{draw(blanks)}{flight}</{name('SCHD')}>",
    ]
    if draw(st.booleans()):
        parts.reverse()
    body = f"<{name('MSG')}{namespace}>{draw(blanks)}{draw(blanks).join(parts)}</{name('MSG')}>{draw(blanks)}"
    encoding = draw(st.sampled_from([None, "utf-8", "gb18030", "utf-16"]))
    if encoding is None:
        return draw(st.sampled_from(["", "\ufeff", "\n<?xml version='1.0' encoding='GB2312'?>"])) + body
    label = "gb2312" if encoding == "gb18030" else encoding
    return f'<?xml version="1.0" encoding="{label}"?>{body}'.encode(encoding)


def without_layout(decoded: Decoded) -> Decoded:
    """Scalars have no order of their own; the digest has to be equal all the same."""
    ordered = tuple(replace(record, scalars=dict(sorted(record.scalars.items()))) for record in decoded.records)
    return replace(decoded, records=ordered)


@settings(max_examples=200, deadline=None)
@given(flights(), st.integers(1, 10**12 - 1), st.data())
def test_no_layout_changes_what_a_message_says(wire: Wire, said: list[Said], flid: int, data: st.DataObject) -> None:
    one, other = (wire.read(data.draw(rendered(said, flid))) for _ in range(2))
    assert one.verdict is None, one.reason
    assert one.unmapped is None
    assert one.records[0].flid == flid
    assert without_layout(one) == without_layout(other)
    assert one.digest == other.digest
    assert json.loads(json.dumps(one.records[0].sets)) == one.records[0].sets

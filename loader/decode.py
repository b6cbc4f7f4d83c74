"""From a body to what staging holds: one message, its flights, or a verdict.

The decoder knows XML and the catalogue and no flight rule. It is strict about meaning and tolerant about shape: what a
message says is never guessed; how it says it (order, blanks, CDATA, namespaces, attributes or children, a wrapper in
FLOP) makes no difference. Three states never blur, for scalars, sets and parts alike:

    absent              no key                 nothing was said
    explicitly empty    None, or [] for a set  the value is gone
    a value             the value, trimmed

It judges form only: well-formed, META complete, values that their type can hold, no more elements than a set may have,
a FLOP with a usable FLID. What a plan promises about itself (RECS, FLIDs, SODT) is staged as it stands and judged in
SQL, where the whole package can be refused (PROTOCOL).

`decode` never raises. The sender's fault is MALFORMED, with the tag and the value in the reason; an encoding that we
do not know, or a bug of ours, is CODEC_ERROR, which is retried and can be replayed.
"""

from __future__ import annotations

import hashlib
import json
import re
import traceback
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias

from loader.catalogue import FLID, IGNORED_TAGS, REFERENCE_KEYS, SECTIONS, Catalogue, Field, SetKind, ValueType
from loader.xmltext import MAX_BYTES, MalformedXmlError, UnknownEncodingError, parse, serialise, storable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from zoneinfo import ZoneInfo

    from lxml.etree import _Element

Value: TypeAlias = str | int | None
Element: TypeAlias = dict[str, str | int]
"""One element of a set, keyed by the columns of its detail table."""

META_TAGS: Final = ("SNDR", "TYPE", "STYP", "SEQN", "DTTM")
META_LENGTH: Final = 128
"""Longest META value, in characters: the identity is four of them and has to fit into an index entry."""
MAX_UNMAPPED: Final = 200
"""Most different tags counted for one message; the rest are counted together under ``*``."""
FLID_TEXT_LENGTH: Final = 64


class MessageKind(StrEnum):
    """How a message is dispatched."""

    SCHD_DNLD = "SCHD_DNLD"
    SCHD_RESP = "SCHD_RESP"
    SCHD_ADFT = "SCHD_ADFT"
    FLOP = "FLOP"
    FDEL = "FDEL"
    REFDATA = "REFDATA"
    RSTA = "RSTA"
    OTHER = "OTHER"


class Verdict(StrEnum):
    """Why a message has no content."""

    MALFORMED = "MALFORMED"
    CODEC_ERROR = "CODEC_ERROR"


@dataclass(frozen=True, slots=True)
class Record:
    """One flight, or one reference record: a row of `inbox.stage_record`.

    Attributes:
        flid: the flight, if `flid_text` is 1 to 12 digits.
        flid_text: FLID as sent, at most 64 characters; None if absent or empty.
        scalars: column to value. Date-times as ``2026-03-10T10:25:00+08:00``. Reference records: upper-case tags.
        extra: the site's scalars, by upper-case tag.
        sets: upper-case set tag to its elements in the order of the message; ``[]`` is the explicitly empty set.
        sections: raw XML of SRVT and VIPF.
    """

    flid: int | None = None
    flid_text: str | None = None
    scalars: Mapping[str, Value] = field(default_factory=dict)
    extra: Mapping[str, Value] = field(default_factory=dict)
    sets: Mapping[str, list[Element]] = field(default_factory=dict)
    sections: Mapping[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Decoded:
    """One message: a row of `inbox.stage_message` and its records.

    With a verdict there are a reason and no content: `kind` and `digest` are None, there are no records, and META is
    given as far as it could be read, for the operator's eyes.

    Attributes:
        dttm: when the message was made, aware, in the airport's zone.
        digest: sha256 of the decoded content; independent of layout and of SEQN.
        declared: RECS as sent and trimmed; None if absent.
        unmapped: tags that no catalogue row names, with their number; None if there are none.
        has_payload: for a FLOP, whether anything besides FLID and FFID stood in it; else whether there are records.
    """

    kind: MessageKind | None = None
    sndr: str | None = None
    type: str | None = None
    styp: str | None = None
    seqn: str | None = None
    dttm: datetime | None = None
    digest: bytes | None = None
    declared: str | None = None
    records: tuple[Record, ...] = ()
    verdict: Verdict | None = None
    reason: str | None = None
    unmapped: Mapping[str, int] | None = None
    has_payload: bool = False

    @property
    def record_count(self) -> int:
        """Records staged, to be compared with `declared`."""
        return len(self.records)


class _MalformedError(Exception):
    """The sender's fault; the text names tag and value."""


def decode(body: str | bytes | None, catalogue: Catalogue, zone: ZoneInfo, *, max_bytes: int = MAX_BYTES) -> Decoded:
    """Read one body, whatever it is. Never raises.

    Args:
        body: the text or the bytes of the message (None: the column was NULL).
        catalogue: the tags of this site.
        zone: the airport's zone, in which date-times without an offset are meant.
        max_bytes: largest body read.
    """
    meta: dict[str, str] = {}
    try:
        if body is None:
            return _refused(Verdict.MALFORMED, "the body is NULL", meta)
        root = parse(body, max_bytes=max_bytes)
        meta = _read_meta(root)
        return _read_message(root, meta, catalogue, zone)
    except (_MalformedError, MalformedXmlError) as error:
        return _refused(Verdict.MALFORMED, str(error), meta)
    except UnknownEncodingError as error:
        return _refused(Verdict.CODEC_ERROR, str(error), meta)
    except Exception as error:  # noqa: BLE001 - a bug of ours ends one message, never the feed
        place = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"the decoder failed with {type(error).__name__} in {place.name}, line {place.lineno}: {error}"
        return _refused(Verdict.CODEC_ERROR, reason, meta)


def _refused(verdict: Verdict, reason: str, meta: Mapping[str, str]) -> Decoded:
    sndr, type_, styp, seqn = (meta[tag][:META_LENGTH] if tag in meta else None for tag in META_TAGS[:4])
    return Decoded(verdict=verdict, reason=storable(reason), sndr=sndr, type=type_, styp=styp, seqn=seqn)


# -- values ---------------------------------------------------------------------------------------------------------

_MONTH_NAMES: Final = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC"
_MONTHS: Final = {name: number for number, name in enumerate(_MONTH_NAMES.split(), start=1)}
_SHORT_TIME: Final = re.compile(r"([0-9]{2})([A-Za-z]{3})([0-9]{2})([0-9]{2})([0-9]{2})")
_LONG_TIME: Final = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})")
_DIGITS: Final = re.compile(r"[0-9]+")
_FIRST_YEAR: Final = "1900"  # nothing that flies is older, and older offsets are local mean time


def parse_time(text: str, zone: ZoneInfo) -> datetime | None:
    """``DDMMMYYHHMM`` (any case, 2000 to 2099) or ``YYYYMMDDHHMMSS`` as an aware time in `zone`; None if it is neither.

    One rule for the hours around a change of the clock (fold 0): a time that the zone skips is read with the offset
    from before the gap, a time that it doubles is the first of the two. A skipped time is shown as the moment it names,
    so that text that is kept as it stands has an offset the airport really has.
    """
    match = _SHORT_TIME.fullmatch(text)
    if match is not None:
        day, name, short_year, hour, minute = match.groups()
        year, month, second = 2000 + int(short_year), _MONTHS.get(name.upper(), 0), "0"
    else:
        match = _LONG_TIME.fullmatch(text)
        if match is None or match[1] < _FIRST_YEAR:
            return None
        year, month = int(match[1]), int(match[2])
        day, hour, minute, second = match.groups()[2:]
    try:
        moment = datetime(year, month, int(day), int(hour), int(minute), int(second), tzinfo=zone)
        return moment.astimezone(UTC).astimezone(zone)
    except (ValueError, OverflowError):  # a 31st of February, an hour 25, a month that is none
        return None


def _read_value(kind: Field, text: str, zone: ZoneInfo) -> Value:
    """`text` (trimmed) as the value that staging holds; None if it is empty."""
    if not text:
        return None
    if kind.type is ValueType.INTEGER:
        if _DIGITS.fullmatch(text) is None or len(text) > kind.length:
            raise _MalformedError(f"{kind.tag} is {_shown(text)}, not an integer of up to {kind.length} digits")
        return int(text)
    if kind.type is not ValueType.TEXT:
        moment = parse_time(text, zone)
        if moment is not None:
            return moment.isoformat()
        if kind.type is ValueType.DATETIME:
            raise _MalformedError(f"{kind.tag} is {_shown(text)}, not a date-time DDMMMYYHHMM or YYYYMMDDHHMMSS")
    if len(text) > kind.length:
        raise _MalformedError(f"{kind.tag} is {_shown(text)}, longer than {kind.length} characters")
    return text


def _shown(text: str) -> str:
    return f"'{storable(text, 80)}'"


def _text(element: _Element) -> str:
    """The trimmed text of an element that may hold nothing else."""
    if len(element):
        raise _MalformedError(f"{element.tag} holds an element {element[0].tag} where a value belongs")
    return (element.text or "").strip()


def _loose_text(element: _Element) -> str:
    """The trimmed text that stands in an element beside its children."""
    return "".join([element.text or "", *(child.tail or "" for child in element)]).strip()


def _attributes(element: _Element) -> Iterator[tuple[str, str]]:
    """Attributes without those of a namespace (xml:lang and the like say nothing to us)."""
    for name, value in element.items():
        if not (key := str(name)).startswith("{"):
            yield key, str(value).strip()


def _shape(element: _Element) -> list[object]:
    """An element as plain lists, without its layout: what the digest knows of elements that we do not decode."""
    return [
        element.tag,
        sorted(_attributes(element)),
        _loose_text(element),
        [_shape(child) for child in element],
    ]


def _put(target: dict[str, Value], key: str, tag: str, value: Value) -> None:
    if target.setdefault(key, value) != value:
        raise _MalformedError(f"{tag} stands there twice, as {_shown(str(target[key]))} and as {_shown(str(value))}")


# -- META -----------------------------------------------------------------------------------------------------------


def _read_meta(root: _Element) -> dict[str, str]:
    """The five META values that we know, trimmed; only those that are present."""
    if root.tag != "MSG":
        raise _MalformedError(f"the root element is {_shown(root.tag)}, not MSG")
    meta: dict[str, Value] = {}
    for block in root.iterchildren("META"):
        for child in block:
            if child.tag in META_TAGS:
                _put(meta, child.tag, child.tag, _text(child))
    return {tag: str(value) for tag, value in meta.items()}


def _check_meta(meta: Mapping[str, str], zone: ZoneInfo) -> datetime:
    for tag in META_TAGS:
        if not meta.get(tag):
            raise _MalformedError(f"META has no {tag}" if tag not in meta else f"{tag} in META is empty")
        if len(meta[tag]) > META_LENGTH:
            raise _MalformedError(f"{tag} in META is {_shown(meta[tag])}, longer than {META_LENGTH} characters")
    moment = parse_time(meta["DTTM"], zone)
    if moment is None:
        raise _MalformedError(f"DTTM in META is {_shown(meta['DTTM'])}, not a date-time DDMMMYYHHMM or YYYYMMDDHHMMSS")
    return moment


def kind_of(type_: str, styp: str) -> MessageKind:
    """The dispatch key of TYPE and STYP, whatever their case (implementation.md 2, 13.1)."""
    type_, styp = type_.upper(), styp.upper()
    if type_ == "SCHD" and styp in {"DNLD", "RESP", "ADFT"}:
        return MessageKind(f"SCHD_{styp}")
    if type_ == "FDEL" or (type_, styp) == ("FLOP", "FDEL"):
        return MessageKind.FDEL
    if type_ == "FLOP":
        return MessageKind.FLOP
    if type_ == "RSTA":
        return MessageKind.RSTA if styp in {"DNLD", "RESP"} else MessageKind.OTHER
    if type_ in REFERENCE_KEYS and styp in {"DNLD", "RESP", "ADD", "UPD", "DEL"}:
        return MessageKind.REFDATA
    return MessageKind.OTHER


# -- the message ----------------------------------------------------------------------------------------------------


class _Aside:
    """What stands in a message beside the values that we decode."""

    def __init__(self) -> None:
        self.unmapped: dict[str, int] = {}
        self.shapes: list[str] = []

    def unknown(self, path: str, content: object) -> None:
        """A tag that no catalogue row names: counted for the operator, remembered for the digest."""
        path = storable(path, 128)
        self.remember(path, content)
        if path not in self.unmapped and len(self.unmapped) >= MAX_UNMAPPED - 1:
            path = "*"
        self.unmapped[path] = self.unmapped.get(path, 0) + 1

    def remember(self, path: str, content: object) -> None:
        """Content that is part of the digest only."""
        self.shapes.append(_canonical([path, content]))


def _read_message(root: _Element, meta: Mapping[str, str], catalogue: Catalogue, zone: ZoneInfo) -> Decoded:
    dttm = _check_meta(meta, zone)
    kind = kind_of(meta["TYPE"], meta["STYP"])
    aside = _Aside()
    declared: str | None = None
    records: tuple[Record, ...] = ()
    payload: bool | None = None
    if kind in {MessageKind.SCHD_DNLD, MessageKind.SCHD_RESP, MessageKind.SCHD_ADFT}:
        body = _body(root, ("SCHD",), aside)
        if body is None:
            raise _MalformedError("the message has no SCHD element")
        declared = _read_declared(body)
        records = tuple(_read_plan(body, catalogue, zone, aside))
        if kind is MessageKind.SCHD_ADFT and not records:
            raise _MalformedError("the ADFT has no FLTR element")
    elif kind in {MessageKind.FLOP, MessageKind.FDEL}:
        names = ("FLOP",) if kind is MessageKind.FLOP else ("FLOP", "FDEL")
        body = _body(root, names, aside)
        if body is None:
            raise _MalformedError(f"the message has no {' or '.join(names)} element")
        if kind is MessageKind.FLOP:
            record, payload = _read_flop(body, meta["STYP"].upper(), catalogue, zone, aside)
        else:
            record = _read_fdel(body)
        records = (record,)
    elif kind in {MessageKind.REFDATA, MessageKind.RSTA}:
        declared, records = _read_reference(root, meta["TYPE"].upper())
    else:
        for child in root:
            if child.tag != "META":
                aside.remember(child.tag, _shape(child))
    return Decoded(
        kind=kind,
        sndr=meta["SNDR"],
        type=meta["TYPE"],
        styp=meta["STYP"],
        seqn=meta["SEQN"],
        dttm=dttm,
        digest=_digest(meta, dttm, declared, records, aside),
        declared=declared,
        records=records,
        unmapped=aside.unmapped or None,
        has_payload=bool(records) if payload is None else payload,
    )


def _body(root: _Element, names: tuple[str, ...], aside: _Aside) -> _Element | None:
    """The one child of MSG that bears one of these names; what stands beside it is noted as unmapped."""
    body: _Element | None = None
    for child in root:
        if child.tag in names:
            if body is not None:
                raise _MalformedError(f"the message has a second {child.tag} element")
            body = child
        elif child.tag != "META":
            aside.unknown(child.tag, _shape(child))
    return body


def _read_declared(parent: _Element) -> str | None:
    """RECS as sent; what it must be is a matter of the plan's protocol, not of form."""
    declared: dict[str, Value] = {}
    for element in parent.iterchildren("RECS"):
        _put(declared, "RECS", "RECS", _text(element))
    value = declared.get("RECS")
    return None if value is None else storable(str(value), META_LENGTH)


def _read_plan(body: _Element, catalogue: Catalogue, zone: ZoneInfo, aside: _Aside) -> Iterator[Record]:
    for element in body:
        if element.tag == "FLTR":
            flight = _FlightReader(catalogue, zone, aside)
            flight.read(element)
            yield flight.record()
        elif element.tag != "RECS":
            aside.unknown(element.tag, _shape(element))


def _read_flop(body: _Element, styp: str, catalogue: Catalogue, zone: ZoneInfo, aside: _Aside) -> tuple[Record, bool]:
    flight = _FlightReader(catalogue, zone, aside)
    flight.read(body, wrapper=styp)
    record = flight.record()
    _require_flid(record)
    if not flight.payload and styp in catalogue.styps:
        raise _MalformedError(f"the FLOP of STYP {styp} for FLID {record.flid_text} says nothing")
    return record, flight.payload


def _read_fdel(body: _Element) -> Record:
    """The flight to delete: FLID, in the body or in an FDEL in it. Nothing else there has a meaning."""
    found: dict[str, Value] = {}
    for parent in (body, *body.iterchildren("FDEL")):
        for element in parent.iterchildren("FLID"):
            _put(found, "FLID", "FLID", _text(element))
    record = Record(*_flid(str(found.get("FLID") or "")))
    _require_flid(record)
    return record


def _flid(text: str) -> tuple[int | None, str | None]:
    usable = _DIGITS.fullmatch(text) is not None and len(text) <= FLID.length
    return int(text) if usable else None, text[:FLID_TEXT_LENGTH] or None


def _require_flid(record: Record) -> None:
    if record.flid_text is None:
        raise _MalformedError("the message has no FLID")
    if record.flid is None:
        raise _MalformedError(f"FLID is {_shown(record.flid_text)}, not a number of 1 to {FLID.length} digits")


# -- one flight -----------------------------------------------------------------------------------------------------


class _FlightReader:
    """Collects what an FLTR or a FLOP says about one flight."""

    def __init__(self, catalogue: Catalogue, zone: ZoneInfo, aside: _Aside) -> None:
        self.payload = False
        self._catalogue = catalogue
        self._zone = zone
        self._aside = aside
        self._flid: dict[str, Value] = {}
        self._scalars: dict[str, Value] = {}
        self._extra: dict[str, Value] = {}
        self._sets: dict[str, list[Element]] = {}
        self._sections: dict[str, list[str]] = {}

    def record(self) -> Record:
        flid, flid_text = _flid(str(self._flid.get("FLID") or ""))
        return Record(flid, flid_text, self._scalars, self._extra, self._sets, self._sections)

    def read(self, parent: _Element, wrapper: str | None = None) -> None:
        """Read the children of `parent`; one named `wrapper` may hold the flight's tags instead of a value."""
        for name, value in _attributes(parent):
            self._aside.unknown(f"{parent.tag}/{name}", value)
        if text := _loose_text(parent):
            self._aside.unknown(f"{parent.tag}/#text", text)
        for element in parent:
            if element.tag == wrapper and self._wraps(element):
                self.read(element)
            elif element.tag == FLID.tag:
                _put(self._flid, FLID.tag, FLID.tag, _text(element))
            elif element.tag != "FFID":
                self.payload = True
                self._read_tag(element)

    def _wraps(self, element: _Element) -> bool:
        """Whether an element named like the STYP holds known tags rather than its own value.

        What has parts of its own, which may bear the names of scalars, wraps only itself.
        """
        tag, catalogue = element.tag, self._catalogue
        if tag in catalogue.set_by_tag or tag in SECTIONS or tag in IGNORED_TAGS:
            return any(child.tag == tag for child in element)
        return any(child.tag in catalogue.top_level for child in element)

    def _read_tag(self, element: _Element) -> None:
        tag, catalogue = element.tag, self._catalogue
        if (scalar := catalogue.scalar_by_tag.get(tag)) is not None:
            _put(self._scalars, scalar.column, tag, self._scalar(scalar, element))
        elif (kind := catalogue.set_by_tag.get(tag)) is not None:
            self._read_set_element(kind, element)
        elif (site := catalogue.site_by_tag.get(tag)) is not None:
            _put(self._extra, tag, tag, self._scalar(site, element))
        elif tag in catalogue.group_by_tag:
            self._read_group(element)
        elif tag in SECTIONS:
            self._sections.setdefault(tag, []).append(serialise(element))
            self._aside.remember(tag, _shape(element))
        elif tag not in IGNORED_TAGS:
            self._aside.unknown(tag, _shape(element))

    def _scalar(self, scalar: Field, element: _Element) -> Value:
        for name, value in _attributes(element):
            self._aside.unknown(f"{element.tag}/{name}", value)
        return _read_value(scalar, _text(element), self._zone)

    def _parts(self, element: _Element, known: Mapping[str, Field]) -> dict[str, Value]:
        """The parts of an element, as attributes or children, by tag: None where a part is empty."""
        parts: dict[str, Value] = {}
        for name, value in _attributes(element):
            part = known.get(name)
            if part is None:
                self._aside.unknown(f"{element.tag}/{name}", value)
            else:
                _put(parts, part.tag, f"{part.tag} in {element.tag}", _read_value(part, value, self._zone))
        for child in element:
            part = known.get(child.tag)
            if part is None:
                self._aside.unknown(f"{element.tag}/{child.tag}", _shape(child))
            else:
                _put(parts, part.tag, f"{part.tag} in {element.tag}", _read_value(part, _text(child), self._zone))
        return parts

    def _read_group(self, element: _Element) -> None:
        """FDIV or FRET: empty, or with an empty leading part, it clears all its scalars (settled question 13)."""
        group = self._catalogue.group_by_tag[element.tag]
        leading = group.fields[0]
        parts = self._parts(element, group.known_parts)
        text = _loose_text(element)
        if text and len(group.fields) == 1:  # <FRET>X</FRET> can only mean one thing
            _put(parts, leading.tag, leading.tag, _read_value(leading, text, self._zone))
        elif text:
            raise _MalformedError(f"{element.tag} is {_shown(text)} where attributes belong")
        if (not parts and not len(element)) or parts.get(leading.tag, "") is None:
            parts = {part.tag: None for part in group.fields}
        for tag, value in parts.items():
            _put(self._scalars, tag.lower(), tag, value)

    def _read_set_element(self, kind: SetKind, element: _Element) -> None:
        elements = self._sets.setdefault(kind.tag, [])
        found = self._set_element(kind, element)
        if found is None:
            return
        if kind.limit is not None and len(elements) >= kind.limit:
            raise _MalformedError(f"{kind.tag} has more than {kind.limit} elements")
        elements.append(found)

    def _set_element(self, kind: SetKind, element: _Element) -> Element | None:
        """One element by the columns of its table; None if it stands for the empty set: number 0, or nothing in it."""
        parts = self._parts(element, kind.known_parts)
        text = _loose_text(element)
        if text and kind.text_part is not None:
            part = kind.known_parts[kind.text_part]
            _put(parts, part.tag, f"the text of {kind.tag}", _read_value(part, text, self._zone))
        elif text:
            self._aside.unknown(f"{kind.tag}/#text", text)
        number = parts.pop(kind.number, None) if kind.number is not None else None
        inside = bool(parts or text) or any(child.tag != kind.number for child in element)
        if number == 0 or not inside:
            return None
        found: Element = {} if number is None else {"source_seq": int(number)}
        for tag, value in parts.items():
            if value is not None:
                found[tag.lower()] = value
        return found


# -- reference data -------------------------------------------------------------------------------------------------


def _read_reference(root: _Element, category: str) -> tuple[str | None, tuple[Record, ...]]:
    """RECS and the records of a reference message; how its elements are named is the sender's (implementation.md 13).

    The records are the children of MSG that have something in them. Two other shapes are read as well: one container
    around RECS and the records, and a single record whose fields stand directly in MSG. Nothing here is MALFORMED: the
    message may be on the ignore list.
    """
    parent = root
    children = [child for child in root if child.tag not in {"META", "RECS"}]
    if len(children) == 1 and children[0].find("RECS") is not None:
        parent = children[0]
        children = [child for child in parent if child.tag != "RECS"]
    count = parent.find("RECS")
    declared = None if count is None else storable(_loose_text(count), META_LENGTH)
    if any(child.tag.upper() == REFERENCE_KEYS[category] for child in children):
        return declared, (_reference_record({}, (leaf for child in children for leaf in child.iter())),)
    records = [_reference_record(dict(_attributes(child)), child.iterdescendants()) for child in children]
    return declared, tuple(record for record in records if record.scalars)


def _reference_record(attributes: Mapping[str, str], leaves: Iterable[_Element]) -> Record:
    """A record from its attributes and leaves; of a repeated tag the first counts (13.3: only the first REGC)."""
    fields: dict[str, Value] = {name.upper(): value or None for name, value in attributes.items()}
    for leaf in leaves:
        if not len(leaf):
            fields.setdefault(leaf.tag.upper(), (leaf.text or "").strip() or None)
    return Record(scalars=fields)


# -- the digest -----------------------------------------------------------------------------------------------------


def _canonical(content: object) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


def _digest(
    meta: Mapping[str, str], dttm: datetime, declared: str | None, records: tuple[Record, ...], aside: _Aside
) -> bytes:
    """Sha256 of what the message says: the same in any layout, and under any SEQN."""
    content = [
        [meta["SNDR"], meta["TYPE"], meta["STYP"], dttm.isoformat(), declared],
        [
            [record.flid_text if record.flid is None else record.flid, record.scalars, record.extra, record.sets]
            for record in records
        ],
        sorted(aside.shapes),  # where they stood among the other tags is layout
    ]
    return hashlib.sha256(_canonical(content).encode("ascii")).digest()

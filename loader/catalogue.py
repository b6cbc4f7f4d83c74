"""The one list of tags: where each lives, its type, its length, its set, its key names.

Everything that knows a tag knows it from here: the decoder, the tables' columns, the JSON on the topics and the
reference documentation (a test holds each of them against this list). The order of the list is the order of the keys in
the canonical JSON (implementation.md 11.3).

A site adds scalars of its own without a migration: `Catalogue.build` takes them as entries such as ``TOBT datetime`` or
``RUNW text 16`` (the setting `msgx.catalogue.site-scalars`); they live in `flight_schd.extra`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class ValueType(StrEnum):
    """What a value may be. The names are those that a site's entries use."""

    TEXT = "text"
    INTEGER = "integer"
    DATETIME = "datetime"
    DATETIME_OR_TEXT = "datetime-or-text"
    """A date-time if it has that form, else the text as sent."""


@dataclass(frozen=True, slots=True)
class Field:
    """A tag that holds one value.

    `length` is the most it can hold: characters of a text, decimal digits of an integer; a date-time has none (0).
    """

    tag: str
    type: ValueType
    length: int

    @property
    def column(self) -> str:
        """Its column in the tables and its key in staging."""
        return self.tag.lower()


@dataclass(frozen=True)
class AttributeGroup:
    """A scalar that arrives as an element with attributes: ``<FDIV DDES="SZX" DDIR="O"/>``.

    `fields[0]` is the leading one: where it is empty, the whole group is cleared.
    """

    tag: str
    fields: tuple[Field, ...]

    @cached_property
    def known_parts(self) -> Mapping[str, Field]:
        """Its fields by tag."""
        return MappingProxyType({part.tag: part for part in self.fields})


@dataclass(frozen=True)
class SetKind:
    """A set: its elements replace the stored ones as a whole, in the order of the message.

    Attributes:
        number: the attribute with the upstream number (`SOURCE_SEQ`), which identifies nothing.
        limit: the most elements that a message may bring; None is unbounded.
        aliases: other spellings of a part, each with the part's tag.
        text_part: the part that holds the element's own text.
    """

    tag: str
    table: str
    number: str | None
    parts: tuple[Field, ...]
    limit: int | None
    aliases: tuple[tuple[str, str], ...] = ()
    text_part: str | None = None

    @cached_property
    def known_parts(self) -> Mapping[str, Field]:
        """Its parts and its number, by every tag that means them on the wire."""
        known = {part.tag: part for part in self.parts}
        known.update({alias: known[tag] for alias, tag in self.aliases})
        if self.number is not None:
            known[self.number] = _integer(self.number, 9)
        return MappingProxyType(known)

    @property
    def json_keys(self) -> tuple[str, ...]:
        """Keys of one element in the canonical JSON, in order."""
        number = () if self.number is None else (self.number,)
        return ("ORDINAL", *number, *(part.tag for part in self.parts))


class CatalogueError(ValueError):
    """A site's entry cannot be used; the text says which and why."""


CODE: Final = 64
NAME: Final = 256
REMARK: Final = 2000

HEAD_KEYS: Final = ("FLID", "STATE", "STATE_VERSION", "UPDATED_AT", "OPERATION_DAY", "LAST_MESSAGE_ID")
"""Keys that open every state; of these only FLID comes from the wire."""

DERIVED_KEYS: Final = ("MAFL",)
"""Keys that close a state and are derived on read; inbound ones are ignored (implementation.md 11.3)."""

FLID: Final = Field("FLID", ValueType.INTEGER, 12)
IGNORED_TAGS: Final = frozenset({"FFID", *DERIVED_KEYS})
"""Known, and without meaning for us: FFID is never an identity, MAFL is derived."""


def _text(tag: str, length: int = CODE) -> Field:
    return Field(tag, ValueType.TEXT, length)


def _integer(tag: str, digits: int) -> Field:
    return Field(tag, ValueType.INTEGER, digits)


def _time(tag: str) -> Field:
    return Field(tag, ValueType.DATETIME, 0)


def _time_or_text(tag: str) -> Field:
    return Field(tag, ValueType.DATETIME_OR_TEXT, CODE)


SCALARS: Final[tuple[Field, ...]] = (
    # identity and plan
    _text("ALCD"),
    _text("ALSC"),
    _text("FLNO"),
    _text("MVIN"),
    _time("SODT"),
    _text("FLTY"),
    _text("FLIN"),
    _text("ACFT"),
    _text("RENO"),
    # turn-round, terminal, code share
    _text("TAOP"),
    _text("TAFL"),
    _integer("TAID", 12),
    _text("TRML"),
    _text("CSOP"),
    _text("CSFT"),
    _integer("MAID", 12),
    # times
    _time("ESTT"),
    _time("ACTT"),
    _time("BOTM"),
    _time("LACL"),
    _time("FINT"),
    _time("APPT"),
    _time_or_text("EGSR"),
    _time_or_text("EGST"),
    _time("PADT"),
    _time("NAAT"),
    _time("NEAT"),
    _time("PEDT"),
    _time_or_text("FTSS"),
    # resources and status
    _text("STND"),
    _text("PHAG", NAME),
    _text("FHAG", NAME),
    _text("MHAG", NAME),
    _time("CNCL"),
    _text("REMC", REMARK),
    _integer("MAXP", 9),
    _text("VIPP", NAME),
    _text("VIPR", REMARK),
    _text("LBNO"),
    _text("LBWT"),
    _text("PAXC", NAME),
    _text("EXSC", NAME),
    _text("EXSR", NAME),
)

ATTRIBUTE_GROUPS: Final[tuple[AttributeGroup, ...]] = (
    AttributeGroup("FDIV", (_text("DDES"), _text("DDIR"))),
    AttributeGroup("FRET", (_text("REID"),)),
)

DEFAULT_SITE_SCALARS: Final[tuple[str, ...]] = (
    "TOBT datetime",
    "COBT datetime",
    "CTOT datetime",
    "EOBT datetime",
    "IEST datetime",
    f"RUNW text {CODE}",
    f"FLAB text {CODE}",
)

_ROUTE_PARTS: Final = (_text("APCD"), _time("SCAT"), _time("SCDT"))

SETS: Final[tuple[SetKind, ...]] = (
    SetKind(
        "GTDT",
        "flight_gate",
        "GTNO",
        (_text("GATE"), _time("PGOT"), _time("PGCT"), _time("GOTM"), _time("GCTM"), _text("GTYP")),
        99,
    ),
    SetKind(
        "CKDT",
        "flight_checkin",
        "CKNO",
        (
            _text("CHKC"),
            _text("CCLS"),
            _time("PCOT"),
            _time("PCCT"),
            _time("COTM"),
            _time("CCTM"),
            _text("CTYP"),
        ),
        99,
    ),
    SetKind(
        "CLDT",
        "flight_belt",
        "CLNO",
        (
            _text("BELT"),
            _text("BCLS"),
            _time("PCOT"),
            _time("PCCT"),
            _time_or_text("FBAG"),
            _time_or_text("LBAG"),
            _text("BTYP"),
        ),
        99,
    ),
    SetKind(
        "CHDT",
        "flight_chute",
        "CHNO",
        (
            _text("CHUT"),
            _text("CHCLS"),
            _time("PCBT"),
            _time("PCET"),
            _time("CBTM"),
            _time("CETM"),
            _text("CHTYP"),
        ),
        99,
        # The specification's text says CCLS and CTYP, its schema CHCLS and CHTYP; the schema rules (11.3).
        aliases=(("CCLS", "CHCLS"), ("CTYP", "CHTYP")),
    ),
    SetKind("PSDT", "flight_stand", "PSNO", (_text("PSST"), _time("STST"), _time("STET")), 9),
    SetKind("CHOT", "flight_chock", "CSNO", (_time("CHTM"), _text("CHID"), _text("CHST")), 99),
    SetKind(
        "DELY",
        "flight_delay",
        None,
        (_text("CODE"), _time_or_text("STRT"), _text("DURA"), _text("TEXT", REMARK)),
        None,
        text_part="TEXT",
    ),
    SetKind("ABTM", "flight_bridge", "ASNO", (_text("ABDG"), _time_or_text("ABOP"), _time("AOTM")), 99),
    SetKind("ROUT", "flight_route_point", "RTNO", _ROUTE_PARTS, 6),
    SetKind("ERUT", "flight_route_point", "RTNO", _ROUTE_PARTS, 7),
)

SECTIONS: Final = ("SRVT", "VIPF")
"""Kept as they were sent; neither merged nor told (G-SRVT-VIPF)."""

REFERENCE_KEYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "COUL": "COUC",
        "ARPT": "ITCD",
        "AIRL": "ITOP",
        "AIRC": "ITAT",
        "REGN": "RNUM",
        "ORGN": "OGID",
        "FLTL": "FTYP",
        "TLST": "TCOD",
        "GLST": "GCOD",
        "SLST": "SCOD",
        "CLST": "CCOD",
        "BLST": "BCOD",
        "CHLT": "CCOD",
        "RSTA": "RSID",
    }
)
"""Reference category to the tag of its key (implementation.md 13.2)."""

_EVENTS: Final = (  # the event sections of implementation.md 12.2
    "ACFT ACTT BOTM CHOT FLTY CKDT CLDT CHDT CNCL ESTT FDEL FDIV FINT "
    "FLIN FRET GTDT LACL MAXP HNAG PSDT RENO ROUT TAOP TRML VIPP"
)
_PREDECESSORS_EVENTS: Final = "ABTM DELY PADT FTSS STND BDPB REMC"  # no section there, but seen in traffic

_SITE_ENTRY: Final = re.compile(
    r"(?P<tag>[A-Z][A-Z0-9_]{1,30}) +(?P<type>text|integer|datetime-or-text|datetime)(?: +(?P<length>[0-9]{1,4}))?"
)


def _site_field(entry: str) -> Field:
    match = _SITE_ENTRY.fullmatch(entry)
    if match is None:
        raise CatalogueError(
            f"site scalar {entry!r} is not of the form 'TAG text|integer|datetime|datetime-or-text [length]'"
        )
    kind = ValueType(match["type"])
    if kind is ValueType.DATETIME:
        if match["length"] is not None:
            raise CatalogueError(f"site scalar {entry!r}: a date-time has no length")
        return _time(match["tag"])
    most = 15 if kind is ValueType.INTEGER else REMARK
    length = int(match["length"]) if match["length"] is not None else min(CODE, most)
    if not 1 <= length <= most:
        raise CatalogueError(f"site scalar {entry!r}: the length of {kind} is 1 to {most}")
    return Field(match["tag"], kind, length)


@dataclass(frozen=True, slots=True, eq=False)
class Catalogue:
    """The list as one site has it: what every site has, plus the scalars that this one declares.

    Build it with `build`; the mappings are indexes over the tuples, made once.
    """

    site: tuple[Field, ...]
    scalar_by_tag: Mapping[str, Field]
    site_by_tag: Mapping[str, Field]
    group_by_tag: Mapping[str, AttributeGroup]
    set_by_tag: Mapping[str, SetKind]
    top_level: frozenset[str]
    """Every tag that may stand directly in FLTR or FLOP and means something to us."""
    styps: frozenset[str]
    """STYPs of a FLOP that we know by name."""

    @staticmethod
    def build(site_scalars: Iterable[str] = DEFAULT_SITE_SCALARS) -> Catalogue:
        """The catalogue with these site scalars (entries as in `DEFAULT_SITE_SCALARS`).

        Raises:
            CatalogueError: an entry is malformed, declared twice, or takes a name that is in use.
        """
        return _build(tuple(site_scalars))

    @property
    def json_keys(self) -> tuple[str, ...]:
        """Top-level keys of the canonical JSON, in order (design: canonical form)."""
        return (
            *HEAD_KEYS,
            *(field.tag for field in SCALARS),
            *(field.tag for group in ATTRIBUTE_GROUPS for field in group.fields),
            *(field.tag for field in self.site),
            *(kind.tag for kind in SETS),
            *DERIVED_KEYS,
        )


@lru_cache(maxsize=8)  # built on every intake round from a setting that hardly ever changes
def _build(site_scalars: tuple[str, ...]) -> Catalogue:
    scalars = {field.tag: field for field in SCALARS}
    groups = {group.tag: group for group in ATTRIBUTE_GROUPS}
    sets = {kind.tag: kind for kind in SETS}
    columns = {field.tag for group in ATTRIBUTE_GROUPS for field in group.fields}
    taken = {*HEAD_KEYS, *IGNORED_TAGS, *SECTIONS, *scalars, *groups, *sets, *columns}
    site: dict[str, Field] = {}
    for entry in site_scalars:
        field = _site_field(entry)
        if field.tag in taken or field.tag in site:
            raise CatalogueError(f"site scalar {entry!r}: the tag {field.tag} is already in the catalogue")
        site[field.tag] = field
    return Catalogue(
        site=tuple(site.values()),
        scalar_by_tag=MappingProxyType(scalars),
        site_by_tag=MappingProxyType(site),
        group_by_tag=MappingProxyType(groups),
        set_by_tag=MappingProxyType(sets),
        top_level=frozenset({FLID.tag, *IGNORED_TAGS, *SECTIONS, *scalars, *groups, *sets, *site}),
        styps=frozenset({*_EVENTS.split(), *_PREDECESSORS_EVENTS.split(), *scalars, *sets, *site}),
    )

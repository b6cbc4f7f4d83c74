"""The catalogue is what implementation.md 11.3 and the design say, and a site can add to it."""

from __future__ import annotations

import pytest

from loader import catalogue
from loader.catalogue import Catalogue, CatalogueError, Field, ValueType

# Written down a second time on purpose: the test is that both agree.
TIMES = "SODT ESTT ACTT BOTM LACL FINT APPT PADT NAAT NEAT PEDT CNCL"
SET_TIMES = "PGOT PGCT GOTM GCTM PCOT PCCT COTM CCTM PCBT PCET CBTM CETM STST STET CHTM AOTM SCAT SCDT"
TIMES_OR_TEXTS = "EGSR EGST FTSS FBAG LBAG STRT ABOP"
INTEGERS = "TAID MAID MAXP"
ORDER = (
    "FLID STATE STATE_VERSION UPDATED_AT OPERATION_DAY LAST_MESSAGE_ID "
    "ALCD ALSC FLNO MVIN SODT FLTY FLIN ACFT RENO "
    "TAOP TAFL TAID TRML CSOP CSFT MAID "
    "ESTT ACTT BOTM LACL FINT APPT EGSR EGST PADT NAAT NEAT PEDT FTSS "
    "STND PHAG FHAG MHAG CNCL REMC MAXP VIPP VIPR LBNO LBWT PAXC EXSC EXSR "
    "DDES DDIR REID TOBT COBT CTOT EOBT IEST RUNW FLAB "
    "GTDT CKDT CLDT CHDT PSDT CHOT DELY ABTM ROUT ERUT MAFL"
)
ELEMENTS = {
    "GTDT": ("flight_gate", 99, "ORDINAL GTNO GATE PGOT PGCT GOTM GCTM GTYP"),
    "CKDT": ("flight_checkin", 99, "ORDINAL CKNO CHKC CCLS PCOT PCCT COTM CCTM CTYP"),
    "CLDT": ("flight_belt", 99, "ORDINAL CLNO BELT BCLS PCOT PCCT FBAG LBAG BTYP"),
    "CHDT": ("flight_chute", 99, "ORDINAL CHNO CHUT CHCLS PCBT PCET CBTM CETM CHTYP"),
    "PSDT": ("flight_stand", 9, "ORDINAL PSNO PSST STST STET"),
    "CHOT": ("flight_chock", 99, "ORDINAL CSNO CHTM CHID CHST"),
    "DELY": ("flight_delay", None, "ORDINAL CODE STRT DURA TEXT"),
    "ABTM": ("flight_bridge", 99, "ORDINAL ASNO ABDG ABOP AOTM"),
    "ROUT": ("flight_route_point", 6, "ORDINAL RTNO APCD SCAT SCDT"),
    "ERUT": ("flight_route_point", 7, "ORDINAL RTNO APCD SCAT SCDT"),
}


def typed(kind: ValueType, fields: tuple[Field, ...]) -> set[str]:
    return {field.tag for field in fields if field.type is kind}


def test_keys_stand_in_the_order_of_the_specification() -> None:
    assert Catalogue.build().json_keys == tuple(ORDER.split())


def test_scalars_have_the_settled_types() -> None:
    assert typed(ValueType.DATETIME, catalogue.SCALARS) == set(TIMES.split())
    assert typed(ValueType.INTEGER, catalogue.SCALARS) == set(INTEGERS.split())
    assert typed(ValueType.DATETIME_OR_TEXT, catalogue.SCALARS) == {"EGSR", "EGST", "FTSS"}


def test_parts_of_sets_have_the_settled_types() -> None:
    parts = tuple(part for kind in catalogue.SETS for part in kind.parts)
    assert typed(ValueType.DATETIME, parts) == set(SET_TIMES.split())
    assert typed(ValueType.DATETIME_OR_TEXT, parts) == set(TIMES_OR_TEXTS.split()) - {"EGSR", "EGST", "FTSS"}
    assert not typed(ValueType.INTEGER, parts)


def test_sets_have_their_tables_limits_and_keys() -> None:
    assert {kind.tag: (kind.table, kind.limit, " ".join(kind.json_keys)) for kind in catalogue.SETS} == ELEMENTS


def test_styps_known_by_name() -> None:
    styps = Catalogue.build().styps
    assert {"HNAG", "FDEL", "FDIV", "FRET", "BDPB", "ABTM", "DELY", "TOBT", "RUNW", "SODT", "ERUT"} <= styps
    assert not {"FDIVX", "SRVT", "FLID", "MAFL"} & styps


def test_reference_categories() -> None:
    assert len(catalogue.REFERENCE_KEYS) == 14
    assert catalogue.REFERENCE_KEYS["CLST"] == catalogue.REFERENCE_KEYS["CHLT"] == "CCOD"


def test_a_site_declares_scalars() -> None:
    built = Catalogue.build(["AAAA datetime", "BBBB text 16", "CCCC  integer 9", "DDDD datetime-or-text", "EEEE text"])
    assert built.site == (
        Field("AAAA", ValueType.DATETIME, 0),
        Field("BBBB", ValueType.TEXT, 16),
        Field("CCCC", ValueType.INTEGER, 9),
        Field("DDDD", ValueType.DATETIME_OR_TEXT, 64),
        Field("EEEE", ValueType.TEXT, 64),
    )
    assert "TOBT" not in built.json_keys
    assert {"AAAA", "EEEE"} <= built.top_level & built.styps


def test_a_site_may_declare_none() -> None:
    assert Catalogue.build([]).site == ()


@pytest.mark.parametrize(
    "entry",
    [
        "",
        "TOBT",
        "tobt datetime",
        "TOBT date",
        " TOBT datetime",
        "TOBT datetime ",
        "TOBT\tdatetime",
        "TOBT datetime 14",
        "TOBT text 0",
        "TOBT text 99999",
        "TOBT integer 16",
        "FLNO text",
        "FLID integer",
        "GTDT text",
        "FDIV text",
        "DDES text",
        "MAFL text",
        "FFID text",
        "SRVT text",
        "STATE text",
        "TO-BT text",
    ],
)
def test_an_entry_that_cannot_be_used_is_named(entry: str) -> None:
    with pytest.raises(CatalogueError, match="site scalar"):
        Catalogue.build([entry])


def test_a_tag_is_declared_once() -> None:
    with pytest.raises(CatalogueError, match="TOBT"):
        Catalogue.build(["TOBT datetime", "TOBT text"])

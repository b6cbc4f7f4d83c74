"""Messages for the loader's tests, and their reading."""

from __future__ import annotations

from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

import pytest

from loader.catalogue import Catalogue
from loader.decode import Decoded, Record, Verdict, decode


@dataclass(frozen=True)
class Wire:
    """Builds bodies and reads them, with one catalogue and one zone."""

    catalogue: Catalogue = field(repr=False)
    zone: ZoneInfo

    def message(self, type_: str, styp: str, body: str, *, seqn: str = "17", dttm: str = "20260310080000") -> str:
        return (
            f"<MSG><META><SNDR>AODB</SNDR><SEQN>{seqn}</SEQN><DTTM>{dttm}</DTTM>"
            f"<TYPE>{type_}</TYPE><STYP>{styp}</STYP></META>{body}</MSG>"
        )

    def flop(self, payload: str, styp: str = "ESTT") -> str:
        return self.message("FLOP", styp, f"<FLOP><FLID>7701002</FLID>{payload}</FLOP>")

    def plan(self, *flights: str, styp: str = "DNLD") -> str:
        records = "".join(f"<FLTR>{flight}</FLTR>" for flight in flights)
        return self.message("SCHD", styp, f"<SCHD><RECS>{len(flights)}</RECS>{records}</SCHD>")

    def read(self, body: str | bytes) -> Decoded:
        return decode(body, self.catalogue, self.zone)

    def content(self, body: str | bytes) -> Record:
        """The one record of a body that must have no verdict."""
        decoded = self.read(body)
        assert decoded.verdict is None, decoded.reason
        (record,) = decoded.records
        return record

    def flight(self, payload: str, styp: str = "ESTT") -> Record:
        return self.content(self.flop(payload, styp))

    def reason(self, body: str | bytes, verdict: Verdict = Verdict.MALFORMED) -> str:
        """Why a body that must be refused is."""
        decoded = self.read(body)
        assert decoded.verdict is verdict, decoded
        assert decoded.reason
        assert (decoded.kind, decoded.digest, decoded.records) == (None, None, ())
        decoded.reason.encode("utf-8")
        assert "\0" not in decoded.reason
        return decoded.reason


@pytest.fixture(scope="session")
def wire() -> Wire:
    return Wire(Catalogue.build(), ZoneInfo("Asia/Shanghai"))

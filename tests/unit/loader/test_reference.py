"""docs/tags.md is what the catalogue says."""

from __future__ import annotations

from pathlib import Path

from loader.catalogue import Catalogue
from loader.reference import reference

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "tags.md"


def test_the_document_is_up_to_date() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == reference(), "run: python -m loader.reference > docs/tags.md"


def test_every_key_of_a_state_is_in_it() -> None:
    text = reference()
    for key in Catalogue.build().json_keys:
        assert f"| {key} |" in text or f"### {key}\n" in text or f"`{key}`" in text, key


def test_a_site_sees_its_own_scalars() -> None:
    assert "| XTRA | `flight.flight_schd.extra`, declared by the site | text, at most 9 characters |" in reference(
        Catalogue.build(["XTRA text 9"])
    )

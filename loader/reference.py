"""The reference of tags, written from the catalogue: ``python -m loader.reference > docs/tags.md``; a test compares."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from loader.catalogue import (
    ATTRIBUTE_GROUPS,
    DERIVED_KEYS,
    HEAD_KEYS,
    REFERENCE_KEYS,
    SCALARS,
    SECTIONS,
    SETS,
    Catalogue,
    Field,
    ValueType,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_TYPES = {
    ValueType.TEXT: "text, at most {} characters",
    ValueType.INTEGER: "integer, at most {} digits",
    ValueType.DATETIME: "date-time",
    ValueType.DATETIME_OR_TEXT: "date-time if it has that form, else text, at most {} characters",
}


def reference(catalogue: Catalogue | None = None) -> str:
    """All tags as Markdown, in the order of the keys of a published state."""
    return "\n".join(_lines(catalogue or Catalogue.build())) + "\n"


def _lines(catalogue: Catalogue) -> Iterator[str]:
    yield "# Tags"
    yield ""
    yield "Written by `python -m loader.reference` from `loader/catalogue.py`."
    yield "The order is that of the keys in a published state."
    yield ""
    yield f"Every state opens with {_codes(HEAD_KEYS)} and closes with {_codes(DERIVED_KEYS)}."
    yield ""
    yield "## Scalars"
    yield ""
    yield "| tag | where | type |"
    yield "| --- | --- | --- |"
    for field in SCALARS:
        yield f"| {field.tag} | `flight.flight_schd.{field.column}` | {_type(field)} |"
    for group in ATTRIBUTE_GROUPS:
        for field in group.fields:
            where = f"`flight.flight_schd.{field.column}`, from an attribute of {group.tag}"
            yield f"| {field.tag} | {where} | {_type(field)} |"
    for field in catalogue.site:
        yield f"| {field.tag} | `flight.flight_schd.extra`, declared by the site | {_type(field)} |"
    yield ""
    yield "## Sets"
    for kind in SETS:
        yield ""
        limit = "without a limit" if kind.limit is None else f"at most {kind.limit} elements"
        yield f"### {kind.tag}"
        yield ""
        yield f"`flight.{kind.table}`, {limit}. Keys of an element: {_codes(kind.json_keys)}."
        yield ""
        yield "| part | type |"
        yield "| --- | --- |"
        if kind.number is not None:
            yield f"| {kind.number} | the sender's number (`source_seq`); 0 = the empty set |"
        for part in kind.parts:
            spelt = [alias for alias, tag in kind.aliases if tag == part.tag]
            also = f" (also sent as {', '.join(spelt)})" if spelt else ""
            of_the_text = "the text of the element, " if part.tag == kind.text_part else ""
            yield f"| {part.tag}{also} | {of_the_text}{_type(part)} |"
    yield ""
    yield "## Kept, not published"
    yield ""
    yield f"{_codes(SECTIONS)}: raw, in `flight.flight_section`."
    yield ""
    yield "## Reference data"
    yield ""
    yield "| category | key |"
    yield "| --- | --- |"
    for category, key in REFERENCE_KEYS.items():
        yield f"| {category} | {key} |"


def _type(field: Field) -> str:
    return _TYPES[field.type].format(field.length)


def _codes(tags: Iterable[str]) -> str:
    return ", ".join(f"`{tag}`" for tag in tags)


if __name__ == "__main__":
    sys.stdout.write(reference())

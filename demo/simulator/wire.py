"""How a message looks on the wire: design.md section 5, read as a sender who is allowed every freedom it grants.

The AODB's schema files are not at hand, so the layout (declaration, order of META, blanks, how an empty tag is written)
is drawn anew for each message: whoever decodes them must not lean on any of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime
    from random import Random
    from zoneinfo import ZoneInfo

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DECLARATIONS = (
    "",
    "",
    '<?xml version="1.0"?>',
    '<?xml version="1.0" encoding="UTF-8"?>',
    "<?xml version='1.0' encoding='UTF-8' standalone='yes'?>",
    '<?xml version="1.0" encoding="GB2312"?>',  # a text column is decoded already: this declaration must not matter
)
_ROOTS = (
    (),
    (),
    (("xmlns:xsi", "http://www.w3.org/2001/XMLSchema-instance"), ("xsi:noNamespaceSchemaLocation", "MSG.xsd")),
)


@dataclass(frozen=True, slots=True)
class Tag:
    """One element: either text or children; neither = an explicitly empty tag."""

    name: str
    text: str = ""
    attrs: tuple[tuple[str, str], ...] = ()
    children: tuple[Tag, ...] = ()


@dataclass(frozen=True, slots=True)
class Body:
    """A message without its envelope's number and time: what stands in META as TYPE and STYP, and what follows META."""

    type: str
    styp: str
    tags: tuple[Tag, ...]


def tag(name: str, *content: Tag | None, text: str | int = "", **attrs: str | int) -> Tag:
    """A tag; children that are None are left out."""
    return Tag(
        name, str(text), tuple((key, str(value)) for key, value in attrs.items()), tuple(c for c in content if c)
    )


def texts(values: Iterable[tuple[str, str | int | None]]) -> Iterator[Tag]:
    """A text tag for each pair whose value is not None."""
    return (tag(name, text=value) for name, value in values if value is not None)


def stamp(at: datetime, tz: ZoneInfo) -> str:
    """A time of a body, `DDMMMYYHHMM`, in the airport's wall time. English months whatever the locale."""
    local = at.astimezone(tz)
    return f"{local:%d}{_MONTHS[local.month - 1]}{local:%y%H%M}"


def render(body: Body, *, sender: str, seqn: int, at: datetime, tz: ZoneInfo, layout: Random) -> str:
    """The whole message. `layout` draws what carries no meaning; the same state of it gives the same text."""
    meta = [
        tag("SNDR", text=sender),
        tag("SEQN", text=seqn),
        tag("DTTM", text=f"{at.astimezone(tz):%Y%m%d%H%M%S}"),
        tag("TYPE", text=body.type),
        tag("STYP", text=body.styp),
    ]
    if layout.random() < 0.4:
        layout.shuffle(meta)
    newline = layout.choice(("", "", "\n", "\r\n"))
    style = _Style(
        newline=newline,
        indent=layout.choice(("  ", "\t", "")) if newline else "",
        equals=layout.choice(("=", "=", "=", " = ")),
        short_empty=layout.random() < 0.6,
    )
    root = Tag("MSG", "", layout.choice(_ROOTS), (Tag("META", "", (), tuple(meta)), *body.tags))
    return layout.choice(_DECLARATIONS) + newline + "".join(style.pieces(root, 0)) + newline


@dataclass(frozen=True, slots=True)
class _Style:
    newline: str
    indent: str
    equals: str
    short_empty: bool

    def pieces(self, element: Tag, depth: int) -> Iterator[str]:
        attrs = "".join(f" {key}{self.equals}{quoteattr(value)}" for key, value in element.attrs)
        if element.children:
            margin = self.newline + self.indent * (depth + 1)
            yield f"<{element.name}{attrs}>"
            for child in element.children:
                yield margin
                yield from self.pieces(child, depth + 1)
            yield f"{self.newline}{self.indent * depth}</{element.name}>"
        elif element.text or not self.short_empty:
            yield f"<{element.name}{attrs}>{escape(element.text)}</{element.name}>"
        else:
            yield f"<{element.name}{attrs}/>"

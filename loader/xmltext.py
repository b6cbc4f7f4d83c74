"""From a body, as the mailbox holds it, to an lxml tree: strictly, or with a sentence that says why not.

A text column arrives as `str`: it is decoded already, so its encoding declaration is only a memory and is ignored. A
binary column arrives as `bytes` and is read as declared, GB2312 and GBK as their superset GB18030, undeclared as UTF-8.
In either case lxml is given UTF-8 without a declaration, so that the same message gives the same tree from both.

Nothing is repaired: no recover mode, no replacement characters, no entity but XML's five. A DOCTYPE is refused
before the parser sees it, hence no entity can be declared, fetched or expanded. Comments and processing instructions
are dropped, CDATA is text, and namespaces are taken off, so that none of them makes a difference further on.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

from lxml import etree

MAX_BYTES: Final = 16 * 1024 * 1024
"""Largest body read, in bytes of UTF-8. A plan of 2,000 flights has about 2 MiB."""
MAX_DEPTH: Final = 32
"""Deepest element read. The deepest known, VIPT inside VIPF, stands at 6."""
MAX_REASON: Final = 2000
"""Longest reason kept, in characters."""


class MalformedXmlError(Exception):
    """The body is not a document we accept; the sender's fault, and final (MALFORMED)."""


class UnknownEncodingError(Exception):
    """The body declares an encoding we do not know; may be mended here and replayed (CODEC_ERROR)."""


_NOT_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_DECLARATION: Final = re.compile(r"<\?xml(?=[\s?])[^<>]*\?>")
_DECLARED_ENCODING: Final = re.compile(
    rb"<\?xml(?=\s)[^<>]{0,256}?[\s\"']encoding\s*=\s*(?:\"([^\"<>]{0,64})\"|'([^'<>]{0,64})')"
)
_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_BYTE_BLANKS: Final = re.compile(rb"[ \t\r\n]*")
_BOMS: Final = (
    # UTF-32's little-endian mark begins with UTF-16's, so it comes first.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    # Not marks, but the way a document without one begins in UTF-16.
    (b"<\x00", "utf-16-le"),
    (b"\x00<", "utf-16-be"),
)

_CHINESE: Final = re.compile(
    r"(cs)?gb_?2312(-?(19)?80)?|csiso58gb231280|iso-ir-58|chinese|(x-)?euc-?cn"
    r"|(x-)?gbk|(cp|ms|windows-?)?936|gb-?18030(-20\d\d)?",
    re.IGNORECASE,
)
# Python's own names of the codecs that read text a mailbox may hold. Its others (idna, unicode_escape, EBCDIC …) are
# not XML encodings, and utf-7 is a way to hide characters.
_TEXT_CODEC: Final = re.compile(
    r"utf-8|utf-8-sig|utf-16|utf-16-[lb]e|utf-32|utf-32-[lb]e|ascii|iso8859-\d+|cp125\d|cp437|cp8\d\d|koi8-[rtu]"
    r"|big5|big5hkscs|cp950|hz|shift_jis|cp932|euc_jp|iso2022_jp|euc_kr|cp949|johab|tis-620|mac-\w+"
)

_TOO_DEEP: Final = etree.XPath("boolean(" + "/*" * (MAX_DEPTH + 1) + ")")


def storable(text: str, limit: int = MAX_REASON) -> str:
    """`text` fit to be stored and shown: characters that XML or PostgreSQL refuse as ``\\x00``, cut at `limit`."""
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return _NOT_XML.sub(lambda match: f"\\x{ord(match[0]):02x}", text)[:limit]


def text_of(body: str | bytes) -> str:
    """The characters of a body, from its BOM or its declaration, without BOM.

    Raises:
        UnknownEncodingError: the declared encoding is none that we know.
        MalformedXmlError: the bytes are not valid in their encoding.
    """
    if isinstance(body, str):
        return body.removeprefix("\ufeff")
    encoding = _encoding_of(body)
    try:
        return body.decode(encoding).removeprefix("\ufeff")
    except UnicodeError as error:
        at = f" (at byte {error.start})" if isinstance(error, UnicodeDecodeError) else ""
        raise MalformedXmlError(f"the body is not valid {encoding}{at}") from None


def _encoding_of(body: bytes) -> str:
    for mark, encoding in _BOMS:
        if body.startswith(mark):
            return encoding
    blanks = _BYTE_BLANKS.match(body)
    start = blanks.end() if blanks else 0
    if body.startswith(codecs.BOM_UTF8, start):
        return "utf-8"
    match = _DECLARED_ENCODING.match(body, start)
    if match is None:
        return "utf-8"
    declared = (match[1] if match[1] is not None else match[2]).decode("ascii", "replace").strip()
    if _CHINESE.fullmatch(declared):
        return "gb18030"
    try:
        name = codecs.lookup(declared).name
    except (LookupError, ValueError):  # ValueError: a name that cannot even be looked up
        name = ""
    if not _TEXT_CODEC.fullmatch(name):
        raise UnknownEncodingError(f"the body declares encoding {storable(declared)!r}, which is not known here")
    return name


def without_declaration(text: str) -> str:
    """`text` from its first element, comment or instruction on: no BOM, no leading blanks, no XML declaration."""
    text = text.lstrip("\ufeff \t\r\n")
    match = _DECLARATION.match(text)
    return text if match is None else text[match.end() :]


def _refuse_doctype(text: str) -> None:
    """Look for a DOCTYPE where alone it can stand: in the prolog, among blanks, comments and instructions."""
    at = 0
    while True:
        blanks = _BLANKS.match(text, at)
        at = blanks.end() if blanks else at
        if text.startswith("<!--", at):
            end = text.find("-->", at + 4) + 3
        elif text.startswith("<?", at):
            end = text.find("?>", at + 2) + 2
        elif text[at : at + 9].upper() == "<!DOCTYPE":
            raise MalformedXmlError("the body has a DOCTYPE, which is refused")
        else:
            return
        if end <= at:  # never closed; the parser will say so
            return
        at = end


def parse(body: str | bytes, *, max_bytes: int = MAX_BYTES) -> etree._Element:
    """The root element of a body: local names only, no comments, no instructions.

    Raises:
        MalformedXmlError: too large (over `max_bytes`, a text measured in UTF-8), too deep (over `MAX_DEPTH`), a
            DOCTYPE, a character that XML does not know, invalid in its encoding, or not well-formed. The text can be
            stored as it is.
        UnknownEncodingError: the declared encoding is none that we know.
    """
    if len(body) > max_bytes:
        raise MalformedXmlError(f"the body is larger than {max_bytes} bytes")
    text = text_of(body)
    forbidden = _NOT_XML.search(text)
    if forbidden is not None:
        raise MalformedXmlError(
            f"the body holds the character U+{ord(forbidden[0]):04X} at position {forbidden.start()}, "
            "which XML does not allow"
        )
    text = without_declaration(text)
    _refuse_doctype(text)
    data = text.encode("utf-8")
    if isinstance(body, str) and len(data) > max_bytes:
        raise MalformedXmlError(f"the body is larger than {max_bytes} bytes")
    # A parser of its own for each body: 1 µs, and no state shared between threads.
    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise MalformedXmlError(storable(f"the body is not well-formed: {error.msg or 'no element found'}")) from None
    if _TOO_DEEP(root):
        raise MalformedXmlError(f"the body nests deeper than {MAX_DEPTH} elements")
    if "xmlns" in text:
        _take_off_namespaces(root)
    return root


def _take_off_namespaces(root: etree._Element) -> None:
    """Leave local names only.

    An attribute in the namespace of its element (``p:GTNO`` of ``p:GTDT``) is the element's own and stays; any other is
    a schema hint, xml:lang or the like, and goes.
    """
    for element in root.iter(etree.Element):
        namespace, _, local = element.tag.rpartition("}")
        if namespace:
            element.tag = local
        for name, value in list(element.items()):
            of, _, own = str(name).rpartition("}")
            if not of:
                continue
            del element.attrib[name]
            if of == namespace and element.get(own, value) != value:
                raise MalformedXmlError(storable(f"{local} has the attribute {own} twice"))
            if of == namespace:
                element.set(own, value)
    etree.cleanup_namespaces(root)


def serialise(element: etree._Element) -> str:
    """An element of a parsed tree as XML text, without what follows it."""
    return etree.tostring(element, encoding="unicode", with_tail=False)

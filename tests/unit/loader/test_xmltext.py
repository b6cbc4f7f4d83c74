"""Encodings, hostile input and what is not well-formed: refused with a sentence, never shortened, never repaired."""

from __future__ import annotations

import http.server
import threading
import time
from typing import TYPE_CHECKING

import pytest

from loader.decode import Verdict
from loader.xmltext import MAX_DEPTH, MalformedXmlError, UnknownEncodingError, parse, storable

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Wire

NAMES = "喆堃玥镕䶮"


@pytest.mark.parametrize("as_bytes", [True, False], ids=["blob", "text"])
@pytest.mark.parametrize("quote", ["'", '"'])
@pytest.mark.parametrize(
    "declared", ["gb2312", "GB2312", "GBK", "gbk", "GB18030", "gb_2312-80", "GB_2312-80", "x-gbk", "EUC-CN", "cp936"]
)
def test_the_gb_family_is_read_as_gb18030(declared: str, quote: str, as_bytes: bool) -> None:
    text = f"<?xml version={quote}1.0{quote} encoding={quote}{declared}{quote}?><a>{NAMES}</a>"
    assert parse(text.encode("gb18030") if as_bytes else text).text == NAMES


@pytest.mark.parametrize(
    ("declaration", "codec"),
    [
        ("", "utf-8"),
        ("", "utf-8-sig"),
        ('<?xml version="1.0"?>', "utf-8"),
        ('<?xml version="1.0" encoding="UTF-8" standalone="yes"?>', "utf-8"),
        ('<?xml version="1.0"\tencoding = "Utf-8"\r\n ?>', "utf-8"),
        ('<?xml version="1.0" encoding="UTF-16"?>', "utf-16"),
        ('<?xml version="1.0" encoding="UTF-16"?>', "utf-16-le"),
        ("", "utf-16"),
        ('<?xml version="1.0" encoding="utf-16BE"?>', "utf-16-be"),
        ('<?xml version="1.0" encoding="big5-hkscs"?>', "utf-16"),
        ('<?xml version="1.0" encoding="UTF-8"?>', "utf-8-sig"),
        ('<?xml version="1.1" encoding="UTF-8"?>', "utf-8"),
    ],
)
def test_bytes_are_read_as_marked_or_declared(declaration: str, codec: str) -> None:
    assert parse(f"{declaration}<a>{NAMES}</a>".encode(codec)).text == NAMES


@pytest.mark.parametrize("before", ["", "\n\t ", "\ufeff", "\ufeff \r\n", " \ufeff"])
@pytest.mark.parametrize("declaration", ["", "<?xml version='1.0' encoding='GB2312' standalone='no'?>"])
def test_text_ignores_its_declaration_and_what_stands_before_it(before: str, declaration: str) -> None:
    assert parse(f"{before}{declaration}<a>{NAMES}</a>").text == NAMES


def test_leading_blanks_before_a_declaration_in_bytes() -> None:
    assert parse(f" \r\n<?xml version='1.0' encoding='GBK'?><a>{NAMES}</a>".encode("gbk", "ignore")).text == "喆堃玥镕"
    assert parse(f"{' ' * 5000}<?xml version='1.0' encoding='GBK'?><a>镕</a>".encode("gbk")).text == "镕"


@pytest.mark.parametrize("declared", ["klingon", "idna", "utf-7", "unicode_escape", "cp037", "rot13", "os", "", "a b"])
def test_an_encoding_we_do_not_know_is_ours_to_mend(declared: str) -> None:
    with pytest.raises(UnknownEncodingError, match="declares encoding"):
        parse(f'<?xml version="1.0" encoding="{declared}"?><a/>'.encode())


@pytest.mark.parametrize(
    "body",
    [
        b"<a>\xff</a>",
        '<?xml version="1.0" encoding="UTF-8"?><a>喆</a>'.encode("gbk"),
        b'<?xml version="1.0" encoding="gb2312"?><a>\xff\xff</a>',
        b'<?xml version="1.0" encoding="us-ascii"?><a>\xe4</a>',
        b"\xff\xfe<\x00a\x00/\x00>",
    ],
)
def test_bytes_that_are_not_what_they_declare_are_refused(body: bytes) -> None:
    with pytest.raises(MalformedXmlError, match="not valid"):
        parse(body)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("<a>\x01</a>", "U+0001"),
        ("<a>x\x00y</a>", "U+0000"),
        ("<a/>\x00", "U+0000"),
        (b"<a/>\x00", "U+0000"),
        (b"<a>\x0b</a>", "U+000B"),
        ("<a>\ufffe</a>", "U+FFFE"),
        ("<a>\ud800</a>", "U+D800"),
        ("<a>&#1;</a>", "value 1"),
        ("<a>&#0;</a>", "value 0"),
        ("<a>&#xFFFE;</a>", "65534"),
        ("<a b='&#1;'/>", "value 1"),
    ],
)
def test_characters_that_xml_does_not_know_are_named(body: str | bytes, said: str) -> None:
    with pytest.raises(MalformedXmlError, match=said.replace("+", r"\+")) as caught:
        parse(body)
    assert storable(str(caught.value)) == str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        "",
        b"",
        "   \n",
        "no xml",
        "<a>",
        "<a></b>",
        "<a/><b/>",
        "<a/>rest",
        "<a b=1/>",
        "<a b='1' b='2'/>",
        "<p:a/>",
        "<a>&unknown;</a>",
        '<?xml version="1.0"><a/>',
        '<?xml version="1.0"',
        "<!-- never closed <a/>",
        "<?never closed",
        "<a>]]></a>",
    ],
)
def test_what_is_not_well_formed_is_not_repaired(body: str | bytes) -> None:
    with pytest.raises(MalformedXmlError, match="not well-formed"):
        parse(body)


BOMB = (
    "<!DOCTYPE a [<!ENTITY a '1234567890'>"
    + "".join(f"<!ENTITY {chr(98 + i)} '{f'&{chr(97 + i)};' * 10}'>" for i in range(9))
    + "]><a>&j;</a>"
)


@pytest.mark.parametrize(
    "prolog", ["", "<?xml version='1.0'?>", "\ufeff \n", "<!-- <a> -->", "<?pi x?>\n<!-- a --><!-- b -->\t"]
)
@pytest.mark.parametrize(
    "document",
    [
        "<!DOCTYPE a><a/>",
        "<!doctype a><a/>",
        "<!DOCTYPE a SYSTEM 'a.dtd'><a/>",
        "<!DOCTYPE a [<!ENTITY x 'y'>]><a>p&x;q</a>",
        BOMB,
    ],
    ids=["bare", "lower case", "external", "harmless entity", "bomb"],
)
def test_a_doctype_is_refused_wherever_it_hides(prolog: str, document: str) -> None:
    started = time.monotonic()
    with pytest.raises(MalformedXmlError, match="DOCTYPE"):
        parse(prolog + document)
    with pytest.raises(MalformedXmlError, match="DOCTYPE"):
        parse((prolog + document).encode())
    assert time.monotonic() - started < 1


def test_what_only_looks_like_a_doctype_is_text() -> None:
    assert parse("<!-- <!DOCTYPE a> --><a><![CDATA[<!DOCTYPE a>]]></a>").text == "<!DOCTYPE a>"


def test_no_file_is_read_and_no_address_called(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the secret")
    called: list[str] = []

    class Listener(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            called.append(self.path)
            self.send_response(404)
            self.end_headers()

    with http.server.HTTPServer(("127.0.0.1", 0), Listener) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/x.dtd"
        for body in (
            f"<!DOCTYPE a [<!ENTITY x SYSTEM '{secret.as_uri()}'>]><a>&x;</a>",
            f"<!DOCTYPE a [<!ENTITY % p SYSTEM '{url}'> %p;]><a/>",
            f"<!DOCTYPE a SYSTEM '{url}'><a/>",
        ):
            with pytest.raises(MalformedXmlError) as caught:
                parse(body)
            assert "the secret" not in str(caught.value)
        # Includes and schema hints are mere elements and attributes.
        root = parse(
            '<a xmlns:xi="http://www.w3.org/2001/XInclude" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
            f'xsi:noNamespaceSchemaLocation="{url}"><xi:include href="{secret.as_uri()}" parse="text"/></a>'
        )
        assert [element.tag for element in root.iter()] == ["a", "include"]
        server.shutdown()
    assert called == []


def test_depth_is_bounded() -> None:
    assert parse("<a>" * MAX_DEPTH + "</a>" * MAX_DEPTH) is not None
    with pytest.raises(MalformedXmlError, match="deeper"):
        parse("<a>" * (MAX_DEPTH + 1) + "</a>" * (MAX_DEPTH + 1))
    with pytest.raises(MalformedXmlError):
        parse("<a>" * 100_000)


def test_size_is_bounded_as_stored() -> None:
    body = f"<a>{NAMES}</a>"
    stored = len(body.encode())
    assert parse(body, max_bytes=stored) is not None
    assert parse(body.encode(), max_bytes=stored) is not None
    for refused in (body, body.encode()):
        with pytest.raises(MalformedXmlError, match=f"larger than {stored - 1} bytes"):
            parse(refused, max_bytes=stored - 1)
    # Measured in the encoding of the bytes: 2 for each of these, though 3 in UTF-8.
    gbk = "<?xml version='1.0' encoding='gbk'?><a>镕镕镕</a>".encode("gbk")
    assert parse(gbk, max_bytes=len(gbk)).text == "镕镕镕"


def test_namespaces_comments_and_instructions_leave_no_trace() -> None:
    root = parse(
        '<p:a xmlns:p="urn:x" xmlns="urn:y" xmlns:o="urn:o" o:q="1" r="2" xml:lang="zh"><!-- c -->'
        '<b xmlns="urn:z" p:s="3">Z<!-- c -->H<?pi d?>9<![CDATA[4<]]>&#x32;</b></p:a>'
    )
    assert (root.tag, dict(root.items()), len(root)) == ("a", {"r": "2"}, 1)
    assert (root[0].tag, root[0].text, len(root[0]), dict(root[0].items())) == ("b", "ZH94<2", 0, {})


def test_an_attribute_in_the_namespace_of_its_element_is_its_own() -> None:
    root = parse('<p:DELY xmlns:p="urn:x" xmlns="urn:x" p:CODE="81" DURA="30"><STRT p:a="1"/></p:DELY>')
    assert (root.tag, dict(root.items())) == ("DELY", {"CODE": "81", "DURA": "30"})
    assert (root[0].tag, dict(root[0].items())) == ("STRT", {"a": "1"})
    assert dict(parse('<p:a xmlns:p="urn:x" p:b="1" b="1"/>').items()) == {"b": "1"}
    with pytest.raises(MalformedXmlError, match="b twice"):
        parse('<p:a xmlns:p="urn:x" p:b="1" b="2"/>')


def test_reasons_can_be_stored() -> None:
    assert storable("a\x00b\ud800\x1fc") == r"a\x00b\xd800\x1fc"
    assert len(storable("x" * 5000)) == 2000
    assert len(storable("\x00" * 5000)) == 2000


@pytest.mark.parametrize("body", ["<MSG>\x00</MSG>", b"<MSG/>\x00", "<MSG>&#1;</MSG>", "<MSG>\ufffe</MSG>"])
def test_the_decoder_refuses_them_as_malformed(wire: Wire, body: str | bytes) -> None:
    wire.reason(body)


def test_the_decoder_calls_an_unknown_encoding_a_codec_error(wire: Wire) -> None:
    body = b"<?xml version='1.0' encoding='x-klingon'?><MSG/>"
    assert "x-klingon" in wire.reason(body, Verdict.CODEC_ERROR)
    assert "META" in wire.reason(body.decode()), "text is decoded already, its declaration says nothing"

"""Which encoding a page is in: what it says counts as far as its bytes agree."""

from __future__ import annotations

import pytest

from agent.web.response import charset_of, decoded

RUSSIAN, JAPANESE, GERMAN, CHINESE = (
    "Привет, мир. Это страница о мостах.",
    "これは橋についてのページです。",
    "Grüße, Öl",
    "这是一座桥。",
)
META = '<html><head><meta charset="{}"></head><body>{}</body>'
HTTP_EQUIV = '<meta http-equiv="Content-Type" content="text/html; charset={}"><p>{}</p>'


@pytest.mark.parametrize(
    ("body", "header", "text"),
    [
        (RUSSIAN.encode("koi8-r"), "text/html; charset=KOI8-R", RUSSIAN),
        (RUSSIAN.encode("cp1251"), 'text/html; charset="windows-1251"', RUSSIAN),
        (META.format("windows-1251", RUSSIAN).encode("cp1251"), "text/html", RUSSIAN),
        (HTTP_EQUIV.format("Shift_JIS", JAPANESE).encode("shift_jis"), "", JAPANESE),
        (META.format("euc-jp", JAPANESE).encode("euc_jp"), "", JAPANESE),
        (META.format("gb2312", CHINESE + "镕").encode("gb18030"), "", CHINESE + "镕"),
        ("“quoted” – €".encode("cp1252"), "text/html; charset=iso-8859-1", "“quoted” – €"),
        (GERMAN.encode(), "text/html; charset=iso-8859-1, utf-8", GERMAN),
        (GERMAN.encode("utf-8-sig"), "text/html; charset=iso-8859-1", GERMAN),
        (META.format("koi8-r", GERMAN).encode("utf-16"), "text/html; charset=utf-8", GERMAN),
        (META.format("utf-16", GERMAN).encode(), "", GERMAN),
        ("<?xml version='1.0' encoding='iso-8859-15'?><p>5 €</p>".encode("iso-8859-15"), "", "5 €"),
        ((RUSSIAN * 20).encode("cp1251"), "text/html; charset=utf-8", RUSSIAN),
        ((RUSSIAN * 20).encode("cp1251"), "", RUSSIAN),
        (GERMAN.encode(), "text/html; charset=no-such-thing", GERMAN),
        (GERMAN.encode(), "text/html; charset=rot13", GERMAN),
        (META.format("undefined", GERMAN).encode(), "", GERMAN),
        (META.format("unicode_escape", GERMAN).encode(), "", GERMAN),
    ],
)  # fmt: skip
def test_text_is_read_as_it_was_written(body: bytes, header: str, text: str) -> None:
    assert text in decoded(body, charset_of(body, header))


def test_bytes_that_are_no_text_have_no_charset() -> None:
    assert charset_of(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(100), "text/html") == ""


def test_a_few_damaged_bytes_do_not_make_it_another_encoding() -> None:
    body = (RUSSIAN * 100).encode() + b"\xff\xfe"
    assert RUSSIAN in decoded(body, charset_of(body, "text/html; charset=utf-8"))

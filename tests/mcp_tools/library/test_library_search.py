"""The search finds acronyms, aliases, similar meanings, misspelled words, and each part of a question."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from library_tools import make_tool

from mcp_tools.library import index, meaning, ranking
from mcp_tools.library.index import Index
from mcp_tools.library.library import Library

SEVERAL = {
    "internal_rate_of_return": "Return the rate at which the present value of cash flows is zero.",
    "bmi": "Weight in kilograms divided by the squared height in metres.",
    "convert_timezone": "Give a moment of one time zone in another.",
    "sha256_digest": "Return the digest of a text in hexadecimal.",
    "decode_abr": "Decode ABR text into records with a name and a price.",
    "exchange_money": "Convert an amount from one currency to another.\n\nAlso known as: FX, forex",
    "cross_table": "Aggregate the rows of CSV text by two of its columns.",
    "project_duration": "Find the critical path of tasks with dependencies.",
    "天气": "查询天气",
    "files__readTextFile": "",
}


@pytest.fixture
def filled() -> Index:
    index = Index(None)
    tools = {name: make_tool(name, description=text) for name, text in SEVERAL.items()}
    index.refresh(dict.fromkeys(tools, "1"), tools.get)
    return index


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("IRR", "internal_rate_of_return"),
        ("What is the irr of -100, 60, 70?", "internal_rate_of_return"),
        ("What is my body mass index?", "bmi"),
        ("forex", "exchange_money"),
        ("How much are 20 euros in yen?", "exchange_money"),
        ("time zones", "convert_timezone"),
        ("SHA-256 of hello", "sha256_digest"),
        ("checksum of this text", "sha256_digest"),
        ("the yield at which an investment breaks even", "internal_rate_of_return"),
        ("From this time sheet in CSV form, add up the hours of each person for each task", "cross_table"),
        ("I noted tasks and which other step each one waits for: how long will it all take?", "project_duration"),
        ("convrt curency", "exchange_money"),
        ("北京的天气", "天气"),
        ("read a text file", "files__readTextFile"),
    ],
)
def test_a_query_in_other_words_finds_the_tool(filled: Index, query: str, name: str) -> None:
    assert name in [match.name for match in filled.search(query, 5)][:3]


def test_each_part_of_a_question_finds_a_tool_of_its_own(filled: Index) -> None:
    question = "Decode this ABR data, then compute the SHA-256 hash of each record's 'name'; convert the price to USD."
    assert {match.name for match in filled.search(question, 5)} >= {"decode_abr", "sha256_digest", "exchange_money"}


def test_a_library_of_one_tool_finds_it_by_its_acronym(library: Library) -> None:
    library.register(make_tool("internal_rate_of_return", description=SEVERAL["internal_rate_of_return"]))
    assert [hit.tool.name for hit in library.search("IRR")] == ["internal_rate_of_return"]


def test_without_word_vectors_words_alone_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (meaning, index, ranking):
        monkeypatch.setattr(module, "word_vectors", lambda: None)
    made = Index(None)
    tools = {name: make_tool(name, description=text) for name, text in SEVERAL.items()}
    made.refresh(dict.fromkeys(tools, "1"), tools.get)
    assert made.search("decode ABR text", 5)[0].name == "decode_abr"
    assert made.search("the yield at which an investment breaks even", 5) == []


@pytest.mark.parametrize("damage", ["missing", "short", "no JSON"])
def test_damaged_word_vectors_are_not_used(tmp_path: Path, damage: str) -> None:
    for name, data in ((meaning.TOKENS, b'{"model": {"vocab": {"a": 0}}}'), (meaning.WEIGHTS, bytes(8 + 512))):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(data)
    assert len(meaning.WordVectors(tmp_path).of("a")) == 256
    {
        "missing": (tmp_path / meaning.WEIGHTS).unlink,
        "short": lambda: (tmp_path / meaning.WEIGHTS).write_bytes(bytes(500)),
        "no JSON": lambda: (tmp_path / meaning.TOKENS).write_bytes(b"{"),
    }[damage]()
    with pytest.raises((OSError, ValueError)):
        meaning.WordVectors(tmp_path)


@pytest.mark.parametrize(
    "query",
    [
        "x " * 50_000,
        "A" * 100_000,
        "; and then " * 5_000,
        "IRR " * 9_999,
        "\x00\ud800 irr",
        '"',
        "* OR name:",
        "漢" * 30_000,
    ],
    ids=["many", "long", "parts", "acronyms", "odd", "quote", "syntax", "unspaced"],
)
def test_a_hostile_query_is_only_words_and_takes_no_time(filled: Index, query: str) -> None:
    started = time.process_time()
    assert isinstance(filled.search(query, 5), list)
    assert time.process_time() - started < 2.0


def test_a_tool_with_hostile_texts_harms_no_other(library: Library) -> None:
    library.register(make_tool("odd", description="Also known as: " + "nth_fibonacci, '; DROP TABLE tools; --, " * 500))
    library.register(make_tool())
    assert library.search("fibonacci")[0].tool.name == "nth_fibonacci"
    assert library.get("nth_fibonacci").name == "nth_fibonacci"

"""What a search finds: acronyms, other names, words of like meaning, misspelt words, and each part of a question."""

from __future__ import annotations

import time

import pytest
from library_tools import make_tool

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
        ("From this time sheet in CSV form, add up the hours of each person for each task", "cross_table"),
        ("I noted tasks and which other step each one waits for: how long will it all take?", "project_duration"),
        ("convrt curency", "exchange_money"),
        ("北京的天气", "天气"),
        ("read a text file", "files__readTextFile"),
    ],
)
def test_a_query_in_other_words_finds_the_tool(filled: Index, query: str, name: str) -> None:
    assert name in [match.name for match in filled.search(query, 5)][:2]


def test_each_part_of_a_question_finds_a_tool_of_its_own(filled: Index) -> None:
    question = "Decode this ABR data, then compute the SHA-256 hash of each record's 'name'; convert the price to USD."
    assert {match.name for match in filled.search(question, 3)} == {"decode_abr", "sha256_digest", "exchange_money"}


def test_a_library_of_one_tool_finds_it_by_its_acronym(library: Library) -> None:
    library.register(make_tool("internal_rate_of_return", description=SEVERAL["internal_rate_of_return"]))
    assert [hit.tool.name for hit in library.search("IRR")] == ["internal_rate_of_return"]


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
    """Its other names, too, are only words; only an approved tool answers to another name."""
    library.register(make_tool("odd", description="Also known as: " + "nth_fibonacci, '; DROP TABLE tools; --, " * 500))
    library.register(make_tool())
    assert library.search("fibonacci")[0].tool.name == "nth_fibonacci"
    assert library.get("nth_fibonacci").name == "nth_fibonacci"

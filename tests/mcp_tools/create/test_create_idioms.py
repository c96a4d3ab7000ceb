"""Idioms are right, are found by the questions they are for, and get in nobody's way."""

import ast
import re
from typing import Any

import pytest

from mcp_tools.create.idioms import Idiom, all_idioms, as_prompt, nearest


@pytest.fixture(scope="module")
def functions() -> dict[str, Any]:
    """Every function of every idiom; the file is ours, so it may run here."""
    scope: dict[str, Any] = {}
    for idiom in all_idioms():
        exec(compile(idiom.code, idiom.title, "exec"), scope)
    return scope


TABLE = "region,units,price\na,2,3\nb,,9\na,1,4"

RESULTS: list[tuple[str, tuple[Any, ...], Any]] = [
    ("count_days", ("2024-01-01", "2024-01-14", [5, 6]), 4),
    ("weekday_name", ("2000-01-01",), "Saturday"),
    ("date_after", ("2024-02-28", 2), "2024-03-01"),
    ("count_months", (2026, 13, 4), 3),
    ("age", ("2000-05-10", "2024-05-09"), 23),
    ("minutes_between", ("23:30", "00:15"), 45),
    ("time_after", ("23:30", 45), "00:15"),
    ("duration", (3671,), "1:01:11"),
    ("local_time", ("2024-01-01 23:30", 5.5), "2024-01-02 05:00"),
    ("meet_after", ([4, 6],), 12),
    ("primes_below", (12,), [2, 3, 5, 7, 11]),
    ("divisors", (12,), [1, 2, 3, 4, 6, 12]),
    ("prime_factors", (360,), [2, 2, 2, 3, 3, 5]),
    ("digit_sum", (-907,), 16),
    ("to_base", (255, 16), "ff"),
    ("to_base", (0, 2), "0"),
    ("padded_binary", ([5, 1],), ["101", "001"]),
    ("to_roman", (1994,), "MCMXCIV"),
    ("from_roman", ("MCMXCIV",), 1994),
    ("term", (1, 1, 10), 55),
    ("runs", ("aab",), [("a", 2), ("b", 1)]),
    ("describe", ("1211",), "111221"),
    ("longest_run", ("abbbcc",), 3),
    ("luhn_sum", ("79927398713",), 70),
    ("weighted_sum", ("123", [1, 3]), 10),
    ("letters_with_count", ("Hello, Bob", 2), "blo"),
    ("count_vowels", ("Education",), 5),
    ("words", ("It's 9 o'clock",), ["It's", "o'clock"]),
    ("longest_word", ("a bird sings",), "sings"),
    ("change_text", ("stone egg", "zu"), "onestzu eggzu"),
    ("shift", ("Zebra!", 1), "Afcsb!"),
    ("is_palindrome", ("Never odd, or even",), True),
    ("is_anagram", ("Listen", "silent"), True),
    ("word_value", ("Cab",), 6),
    ("is_accepted", ("Abc1111", 6, 5), True),
    ("count_accepted", (["Abc1111", "abc"], 6, 4), 0),
    ("totals", (TABLE,), {"a": 10.0}),
    ("highest", ({"a": 10.0, "b": 3.0},), "a"),
    ("count_by_level", ("9:00 ERROR no\n9:01 INFO yes\n9:02 ERROR no",), {"ERROR": 2, "INFO": 1}),
    ("balances", ([["a", 9, ["a", "b", "c"]]],), {"a": 6.0, "b": -3.0, "c": -3.0}),
    ("read_orders", ("Mia bought 3 for Tim, Eva",), [["Mia", 3.0, ["Tim", "Eva"]]]),
    ("tiered", (150, [[100, 2.0]], 1.0), 250.0),
    ("fee", (24 * 60 + 70, 30, 2, 15), 19),
    ("final_price", (200, 10, 20), 216.0),
    ("months_to_repay", (100, 12, 51), 2),
    ("pay", (45, 10, 40, 1.5), 475.0),
    ("fewest_coins", (6, [1, 3, 4]), 2),
    ("ways_to_pay", (5, [1, 2, 5]), 4),
    ("minutes_needed", (16, 1.6, 60), 10.0),
    ("fahrenheit", (100,), 212.0),
    ("summary", ([1, 2, 3],), (2, 2, pytest.approx(0.8165, abs=1e-4))),
    ("weighted_mean", ([1, 4], [1, 2]), 3.0),
    ("ranking", ({"b": 1, "a": 1, "c": 2},), ["c", "a", "b"]),
    ("points", ([["x", 1, 0, "y"], ["y", 2, 2, "z"]],), {"x": 3, "y": 1, "z": 1}),
    ("chance_of_sum", (2, 6, 7), "1/6"),
    ("arrangements", ("aab",), 3),
    ("count_selections", ([1, 2, 3, 4], 2, 5), 2),
    ("climbs", (4, [1, 2]), 5),
    ("best_value", ([[3, 4], [2, 3], [2, 3]], 4), 6),
    ("count_walks", ([0, 0], [2, 2], [[1, 1]]), 2),
    ("count_through", ([0, 0], [1, 1], [2, 2], []), 4),
    ("distances", ([["a", "b"], ["b", "c"], ["d", "e"]], "a"), {"a": 0, "b": 1, "c": 2}),
    ("shortest", ([["a", "b", 2], ["b", "c", 3], ["a", "c", 9]], "a", "c"), 5),
    ("finish_times", ({"a": 2, "b": 3}, {"b": ["a"]}), {"a": 2, "b": 5}),
    ("walk", ("F2 R F3 L F1",), (3, 3)),
    ("distance", ("F3 R F4",), 5.0),
    ("spiral", ([[1, 2, 3], [4, 5, 6], [7, 8, 9]],), [1, 2, 3, 6, 9, 8, 7, 4, 5]),
    ("diagonal_sum", ([[1, 2], [3, 4]],), 5),
    ("next_generation", ([[0, 1], [1, 1], [2, 1]],), [[1, 0], [1, 1], [1, 2]]),
    ("polygon_area", ([[0, 0], [4, 0], [4, 3]],), 6.0),
    ("path_length", ([[0, 0], [3, 4], [3, 5]],), 6.0),
    ("merged", ([[5, 7], [1, 3], [2, 4]],), [[1, 4], [5, 7]]),
    ("postfix", ("5 1 2 + 4 * + 3 -",), 14.0),
    ("is_balanced", ("([]{})",), True),
    ("is_balanced", ("(]",), False),
    ("last_one", (7, 3), 4),
    ("days_until_below", (100, 50, 0, 20), 3),
    ("served_by", ([3, 2, 4], 2), 6),
    ("numbers_with", (1, 40), [3, 6, 9, 33]),
    ("rounded", ("2.675",), "2.68"),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), RESULTS)
def test_an_idiom_computes_what_it_says(functions, name, arguments, expected) -> None:
    assert functions[name](*arguments) == expected


def test_every_function_of_an_idiom_is_tried_above() -> None:
    defined = {
        node.name for idiom in all_idioms() for node in ast.parse(idiom.code).body if isinstance(node, ast.FunctionDef)
    }
    helpers = {"is_prime", "last_in_line", "change_word"}
    assert defined - {name for name, _, _ in RESULTS} == helpers


def test_every_section_of_the_file_is_an_idiom() -> None:
    from importlib import resources

    text = (resources.files("mcp_tools.create") / "idioms.md").read_text()
    assert len(all_idioms()) == text.count("\n## ") > 50
    assert len({idiom.title for idiom in all_idioms()}) == len(all_idioms())


@pytest.mark.parametrize("idiom", all_idioms(), ids=lambda idiom: idiom.title)
def test_an_idiom_is_found_by_its_own_title(idiom: Idiom) -> None:
    assert idiom in nearest(f"Please work out: {idiom.title}", most=3)


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("How many Tuesdays lie between 2031-01-05 and 2031-03-01, both days included?", "Count the days of a range"),
        ("How many routes lead on a grid from (1, 1) to (5, 4) without touching blocked points?", "Walks on a grid"),
        ("Which stations can be reached from Aston along these connected lines?", "What can be reached"),
        ("Decrypt the text with a Caesar cipher of 4 places.", "Shift the letters"),
    ],
)
def test_a_question_finds_its_idiom_first(question: str, title: str) -> None:
    assert nearest(question)[0].title.startswith(title)


@pytest.mark.parametrize("question", ["", "What is the 57th Fibonacci number?", "¿Qué?", "42"])
def test_where_nothing_is_near_nothing_is_shown(question: str) -> None:
    assert nearest(question) == []
    assert as_prompt([]) == ""


def test_a_second_idiom_is_shown_only_if_it_is_nearly_as_near() -> None:
    question = (
        "I walk on a grid from (0, 0) to (3, 3) and may not step on the blocked points. How many walks are there?"
    )
    assert [idiom.title for idiom in nearest(question)] == ["Walks on a grid with forbidden points"]


def test_an_idiom_of_the_wanted_name_is_not_shown() -> None:
    """Its function would be called inside itself."""
    question = "On which day of the week was 2011-03-14?"
    name = re.findall(r"^def (\w+)", nearest(question)[0].code, re.MULTILINE)[0]
    assert nearest(question)[0] not in nearest(question, without=name)


def test_the_writer_sees_whole_functions() -> None:
    idiom = next(i for i in all_idioms() if "postfix" in i.code)
    assert f"# {idiom.title}\n{idiom.code}\n```" in as_prompt([idiom])

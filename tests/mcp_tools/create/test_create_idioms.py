"""Idioms are right, are found by the questions they are for, and get in nobody's way."""

import ast
import json
import re
import sys
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from mcp_tools.create.idioms import Idiom, all_idioms, as_beginning, as_prompt, nearest
from mcp_tools.create.idioms.lookup import parse_idioms

ASKED = [json.loads(line) for line in Path(__file__).with_name("idiom_questions.jsonl").read_text().splitlines()]
"""For each idiom a question in a user's words, written before the words by which the idiom is found."""


def functions(idiom: Idiom) -> list[str]:
    return [node.name for node in ast.parse(idiom.code).body if isinstance(node, ast.FunctionDef)]


@pytest.mark.parametrize("idiom", all_idioms(), ids=lambda idiom: idiom.title)
def test_an_idiom_computes_what_its_examples_say(idiom: Idiom) -> None:
    scope: dict[str, Any] = {"__name__": "idiom"}
    exec(compile(idiom.code, idiom.title, "exec"), scope)  # the files are ours
    assert idiom.examples
    for example in idiom.examples:
        assert eval(example, scope) is True, example


def test_an_example_calls_a_function_of_its_idiom() -> None:
    for idiom in all_idioms():
        for example in idiom.examples:
            assert any(re.search(rf"\b{name}\(", example) for name in functions(idiom)), example


def test_every_section_of_every_theme_is_an_idiom() -> None:
    folder = resources.files("mcp_tools.create.idioms")
    texts = [file.read_text(encoding="utf-8") for file in folder.iterdir() if file.name.endswith(".md")]
    assert len(all_idioms()) == sum(text.count("\n## ") for text in texts) > 400
    assert max(Counter(idiom.title for idiom in all_idioms()).values()) == 1


def test_functions_have_names_of_their_own_so_that_two_idioms_can_be_shown_together() -> None:
    names = Counter(name for idiom in all_idioms() for name in functions(idiom))
    assert [name for name, count in names.items() if count > 1] == []


def test_idioms_use_the_standard_library_only() -> None:
    for idiom in all_idioms():
        for node in ast.walk(ast.parse(idiom.code)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                module = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
                assert str(module).split(".")[0] in sys.stdlib_module_names, (idiom.title, module)


def test_questions_find_their_idioms() -> None:
    assert {row["title"] for row in ASKED} == {idiom.title for idiom in all_idioms()}
    found = sum(row["title"] in [idiom.title for idiom in nearest(row["question"])] for row in ASKED)
    assert found >= len(ASKED) * 0.93


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("How many Tuesdays lie between 2031-01-05 and 2031-03-01, both days included?", "Count the days of a range"),
        ("How many routes lead on a grid from (1, 1) to (5, 4) without touching blocked points?", "Walks on a grid"),
        ("Which stations can be reached from Aston along these connected lines?", "What can be reached"),
        ("What is the 57th Fibonacci number?", "Fibonacci"),
        ("Decrypt the text with a Caesar cipher of 4 places.", "Shift the letters"),
    ],
)
def test_a_question_finds_its_idiom(question: str, title: str) -> None:
    assert any(idiom.title.startswith(title) for idiom in nearest(question))


@pytest.mark.parametrize("question", ["", "What is the capital of Australia?", "¿Qué?", "42"])
def test_where_nothing_is_near_nothing_is_shown(question: str) -> None:
    assert nearest(question) == []
    assert as_prompt([]) == ""


def test_a_second_idiom_is_shown_only_if_it_is_nearly_as_near() -> None:
    question = "The clock shows 07:23. What is the smaller angle between the hour hand and the minute hand, in degrees?"
    assert [idiom.title for idiom in nearest(question)] == ["Angle between the hands of a clock"]


def test_an_idiom_of_the_wanted_name_is_not_shown() -> None:
    """Its function would be called inside itself."""
    question = "What angle do the hands of a clock make at 07:23?"
    name = functions(nearest(question)[0])[0]
    assert nearest(question)[0] not in nearest(question, without=name)


def test_the_writer_sees_whole_functions_and_how_they_are_called() -> None:
    idiom = next(i for i in all_idioms() if "postfix" in i.code)
    assert f"# {idiom.title}\n{idiom.code}\n# {idiom.examples[0].split('(')[0]}(" in as_prompt([idiom])


def test_examples_name_their_arguments_so_that_nobody_exchanges_them() -> None:
    (idiom,) = parse_idioms(
        "## Share\nshare\nexample: share(6, of=2, rest=(1, 2)) == part(3)\n```python\ndef share(a, of, rest): ...\n```",
        "",
    )
    assert "# share(6, of=2, rest=(1, 2)) == part(3)" in as_prompt([idiom])
    (idiom,) = parse_idioms("## S\ns\nexample: share(6, 2) == 3\n```python\ndef share(a, of=1): ...\n```", "")
    assert "# share(a=6, of=2) == 3" in as_prompt([idiom])


def test_a_reply_begins_with_code_alone() -> None:
    (idiom,) = parse_idioms("## S\ns\nexample: share(6, 2) == 3\n```python\ndef share(a, of=1): ...\n```", "")
    assert as_beginning([idiom], "then") == "def share(a, of=1): ...\n\n\nthen"
    assert as_beginning([], "then") == ""

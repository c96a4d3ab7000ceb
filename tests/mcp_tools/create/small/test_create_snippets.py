"""Snippets are right, are found by the questions they are for, and get in nobody's way."""

import ast
import json
import re
import sys
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from mcp_tools.create.small.snippets import Snippet, all_snippets, as_beginning, as_prompt, nearest
from mcp_tools.create.small.snippets.lookup import parse_snippets

ASKED = [json.loads(line) for line in Path(__file__).with_name("snippet_questions.jsonl").read_text().splitlines()]
"""For each snippet a question in a user's words, written before the words by which the snippet is found."""


def functions(snippet: Snippet) -> list[str]:
    return [node.name for node in ast.parse(snippet.code).body if isinstance(node, ast.FunctionDef)]


@pytest.mark.parametrize("snippet", all_snippets(), ids=lambda snippet: snippet.title)
def test_an_snippet_computes_what_its_examples_say(snippet: Snippet) -> None:
    scope: dict[str, Any] = {"__name__": "snippet"}
    exec(compile(snippet.code, snippet.title, "exec"), scope)  # the files are ours
    assert snippet.examples
    for example in snippet.examples:
        assert eval(example, scope) is True, example


def test_an_example_calls_a_function_of_its_snippet() -> None:
    for snippet in all_snippets():
        for example in snippet.examples:
            assert any(re.search(rf"\b{name}\(", example) for name in functions(snippet)), example


def test_every_section_of_every_theme_is_an_snippet() -> None:
    folder = resources.files("mcp_tools.create.small.snippets")
    texts = [file.read_text(encoding="utf-8") for file in folder.iterdir() if file.name.endswith(".md")]
    assert len(all_snippets()) == sum(text.count("\n## ") for text in texts) > 400
    assert max(Counter(snippet.title for snippet in all_snippets()).values()) == 1


def test_functions_have_names_of_their_own_so_that_two_snippets_can_be_shown_together() -> None:
    names = Counter(name for snippet in all_snippets() for name in functions(snippet))
    assert [name for name, count in names.items() if count > 1] == []


def test_snippets_use_the_standard_library_only() -> None:
    for snippet in all_snippets():
        for node in ast.walk(ast.parse(snippet.code)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                module = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
                assert str(module).split(".")[0] in sys.stdlib_module_names, (snippet.title, module)


def test_questions_find_their_snippets() -> None:
    assert {row["title"] for row in ASKED} == {snippet.title for snippet in all_snippets()}
    found = sum(row["title"] in [snippet.title for snippet in nearest(row["question"])] for row in ASKED)
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
def test_a_question_finds_its_snippet(question: str, title: str) -> None:
    assert any(snippet.title.startswith(title) for snippet in nearest(question))


@pytest.mark.parametrize("question", ["", "What is the capital of Australia?", "¿Qué?", "42"])
def test_where_nothing_is_near_nothing_is_shown(question: str) -> None:
    assert nearest(question) == []
    assert as_prompt([]) == ""


def test_a_second_snippet_is_shown_only_if_it_is_nearly_as_near() -> None:
    question = "The clock shows 07:23. What is the smaller angle between the hour hand and the minute hand, in degrees?"
    assert [snippet.title for snippet in nearest(question)] == ["Angle between the hands of a clock"]


def test_an_snippet_of_the_wanted_name_is_not_shown() -> None:
    """Its function would be called inside itself."""
    question = "What angle do the hands of a clock make at 07:23?"
    name = functions(nearest(question)[0])[0]
    assert nearest(question)[0] not in nearest(question, without=name)


def test_the_writer_sees_whole_functions_and_how_they_are_called() -> None:
    snippet = next(i for i in all_snippets() if "postfix" in i.code)
    assert f"# {snippet.title}\n{snippet.code}\n# {snippet.examples[0].split('(')[0]}(" in as_prompt([snippet])


def test_examples_name_their_arguments_so_that_nobody_exchanges_them() -> None:
    (snippet,) = parse_snippets(
        "## Share\nshare\nexample: share(6, of=2, rest=(1, 2)) == part(3)\n```python\ndef share(a, of, rest): ...\n```",
        "",
    )
    assert "# share(6, of=2, rest=(1, 2)) == part(3)" in as_prompt([snippet])
    (snippet,) = parse_snippets("## S\ns\nexample: share(6, 2) == 3\n```python\ndef share(a, of=1): ...\n```", "")
    assert "# share(a=6, of=2) == 3" in as_prompt([snippet])


def test_a_reply_begins_with_code_alone() -> None:
    (snippet,) = parse_snippets("## S\ns\nexample: share(6, 2) == 3\n```python\ndef share(a, of=1): ...\n```", "")
    assert as_beginning([snippet], "then") == "def share(a, of=1): ...\n\n\nthen"
    assert as_beginning([], "then") == ""

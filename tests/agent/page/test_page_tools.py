"""Tools as the page describes them."""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import replace
from html import escape
from pathlib import Path

import pytest

from agent.configuration.settings_sources import read_settings
from agent.errors import UsageError
from agent.page import tools_tab as tools
from agent.page.exports import exported
from agent.page.html import bad
from agent.page.review import ToolReviewer
from agent.page.visitors import Visitor
from mcp_tools.library.library import Library
from mcp_tools.tool import Status, Tool

ATTACK = "<img src=x onerror=alert(1)>"
NUMBER = {"type": "integer", "description": f"A number {ATTACK}"}


def a_tool(name: str, description: str, body: str = "return n * 2") -> Tool:
    return Tool(
        name,
        description,
        {"type": "object", "properties": {"n": NUMBER}, "required": ["n"], "additionalProperties": False},
        {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]},
        f'def {name}(n: int) -> int:\n    """{description}"""\n    {body}  # {ATTACK}\n',
        provenance={
            "model": f"m{ATTACK}",
            "tests": [{"arguments": {"n": 2}, "expected": 4}, "junk", {"arguments": 3}],
            "evidence": {"mutants": 4, "killed": 3},
        },
    )


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    monkeypatch.setenv("ALITA_TOOLS_DIR", str(tmp_path / "tools"))
    settings = read_settings({})
    return Library(settings.tools_dir, settings.data_dir)


def test_words_find_tools_and_none_is_told(library: Library) -> None:
    settings = read_settings({})
    assert tools.found(settings, "") == ([], "There are no tools yet.")
    library.register(a_tool("double_number", "Double a number."))
    library.register(a_tool("count_letters", "Count the letters of a text."))
    assert {name for _, name in tools.found(settings, "")[0]} == {"double_number", "count_letters"}
    assert tools.found(settings, "double")[0][0] == ("double_number — Double a number.", "double_number")
    assert "No tool matches." in tools.found(settings, "harbour wall of Oxmere")[1]


async def test_a_tool_is_shown_with_code_tests_and_proof_and_nothing_in_it_is_markup(library: Library) -> None:
    library.register(a_tool("double_number", f"Double a number. {ATTACK}"))
    shown = await tools.described(read_settings({}), "double_number")
    assert "<img" not in shown
    for part in ("double_number(n=2) → 4", "caught 3 of 4", "return n * 2", "0 in 0 questions", "&lt;img src=x"):
        assert part in shown


@pytest.mark.parametrize("name", ["absent", "../../etc/passwd", ATTACK])
async def test_a_tool_that_is_not_there_is_told(library: Library, name: str) -> None:
    settings = read_settings({})
    shown = await tools.described(settings, name) + tools.compared(settings, name, None, None)
    assert (tools.fields(settings, name), tools.versions(settings, name)) == ([], [])
    assert 'class="bad"' in shown
    assert "<img" not in shown


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        pytest.param("21", "<pre>42</pre>", id="right"),
        pytest.param('"x"', "is not a whole number", id="of another type"),
        pytest.param("x", "is not valid JSON", id="no JSON"),
        pytest.param("", "n is required", id="empty"),
        pytest.param(["21"], "n is required", id="no text"),
        pytest.param(ATTACK, "&lt;img", id="markup"),
    ],
)
async def test_a_tool_is_run_in_the_sandbox(library: Library, typed: object, told: str) -> None:
    settings = read_settings({})
    library.register(a_tool("double_number", "Double a number."))
    form = tools.fields(settings, "double_number")
    shown = await tools.run(settings, "double_number", form, [typed])
    assert (told in shown, "<img" in shown) == (True, False)
    assert library.stats("double_number").calls == (told == "<pre>42</pre>")


def test_versions_are_compared_and_nothing_in_them_is_markup(library: Library) -> None:
    settings = read_settings({})
    library.register(a_tool("double_number", "Double a number."))
    assert "no other version" in tools.compared(settings, "double_number", None, None)
    library.register(a_tool("double_number", "Double a number.", "return n + n"), replace=True)
    *_, (label, old) = tools.versions(settings, "double_number")
    assert label.startswith(old[:12])
    for shown in (
        tools.compared(settings, "double_number", None, None),
        tools.compared(settings, "double_number", old, None),
    ):
        assert f'<span class="bad">-    return n * 2  # {escape(ATTACK)}</span>' in shown
        assert "<img" not in shown
    assert "The two versions are the same." in tools.compared(settings, "double_number", old, old)
    assert 'class="bad"' in tools.compared(settings, "double_number", ATTACK, None)


@pytest.mark.parametrize("is_open", [False, True])
def test_the_question_behind_a_tool_is_not_shown_to_visitors(library: Library, *, is_open: bool) -> None:
    for body, asked in (("return n * 2", "What is twice 21?"), ("return n + n", "What is twice my salary of 4711?")):
        tool = a_tool("double_number", "Double a number.", body)
        library.register(replace(tool, provenance=tool.provenance | {"asked": asked}), replace=True)
    shown = tools.compared(read_settings({}), "double_number", None, None, with_record=not is_open)
    assert ("my salary" in shown, "return n + n" in shown) == (not is_open, True)


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("zip", "double_number.zip"),
        ("skill", "double-number.zip"),
        ("server", "double_number.py"),
        ("wheel", "double_number_tools-1.0-py3-none-any.whl"),
    ],
)
def test_an_approved_tool_is_taken_along_in_a_form(library: Library, tmp_path: Path, form: str, name: str) -> None:
    library.register(replace(a_tool("double_number", f"Double a number. {ATTACK}"), status=Status.VERIFIED))
    visitor, settings = Visitor(), read_settings({})
    for _ in range(2):
        shown = exported(settings, visitor, tmp_path, "double_number", form)
        (key,) = re.findall(r'href="/outputs/(.+?)" download', shown)
        assert visitor.outputs[key].name == name
    assert len([*tmp_path.glob("export-*")]) == 1, "the one before is removed"
    taken = visitor.outputs[key].read_bytes()
    if form != "server":
        assert any(member.endswith("double_number.py") for member in zipfile.ZipFile(io.BytesIO(taken)).namelist())
    else:
        assert b"return n * 2" in taken


@pytest.mark.parametrize(("name", "form"), [("absent", "zip"), ("../x", "zip"), (ATTACK, "wheel"), ("x", "folder")])
def test_what_cannot_be_taken_along_is_told(library: Library, tmp_path: Path, name: str, form: str) -> None:
    visitor = Visitor()
    shown = exported(read_settings({}), visitor, tmp_path, name, form)
    assert ("class=" in shown, "<img" in shown, visitor.outputs) == (True, False, {})


def test_a_tool_with_a_key_is_not_taken_along(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "my-very-own-endpoint-key"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    library.register(a_tool("keyed", f"Double a number with {key}."))
    visitor = Visitor()
    shown = exported(read_settings({}), visitor, tmp_path, "keyed", "zip")
    assert "keyed contains the key of your setting" in shown
    assert (key in shown, visitor.outputs, [*tmp_path.glob("export-*/*")]) == (False, {}, [])


async def test_a_tool_is_approved_as_it_was_shown_and_not_otherwise(library: Library) -> None:
    reviewer = ToolReviewer(lambda: read_settings({}))
    library.register(a_tool("double_number", f"Double a number. {ATTACK}"))
    changed = "# line\n" * 4_000 + library.get("double_number").source.replace("n * 2", "n + n")
    library.path("double_number").write_text(changed)  # of what is approved, nothing is left out
    assert "Review the tool first" in reviewer.accept("double_number")
    shown = await reviewer.look("double_number")
    assert "1 tests passed, 0 failed" in shown
    assert (">+    return n + n" in shown, "<img" in shown) == (True, False)
    assert "Review the tool first" in reviewer.accept("another")
    path = library.path("double_number")
    path.write_text(path.read_text().replace("n + n", "3 * n"))
    assert 'class="bad"' in reviewer.accept("double_number")
    assert "1 failed" in await reviewer.look("double_number")
    assert 'class="bad"' in reviewer.accept("double_number")
    path.write_text(path.read_text().replace("3 * n", "n + n"))
    await reviewer.look("double_number")
    assert "is approved" in reviewer.accept("double_number")
    assert [one.name for one in library.withheld()] == []


def test_a_rejected_tool_is_as_it_was_approved(library: Library) -> None:
    library.register(a_tool("double_number", "Double a number."))
    path = library.path("double_number")
    path.write_text(path.read_text().replace("n * 2", "n + n"))
    reviewer = ToolReviewer(lambda: read_settings({}))
    assert "the approved version was restored" in reviewer.reject("double_number")
    assert "n * 2" in path.read_text()
    assert 'class="bad"' in reviewer.reject(ATTACK)


@pytest.mark.parametrize(
    ("remedy", "shown"),
    [
        ("alita keys set", "In a terminal: alita keys set"),
        ("Choose another --output.", ""),
        ("Try again.", "Try again."),
    ],
)
def test_a_remedy_for_the_command_line_is_marked_or_left_out(remedy: str, shown: str) -> None:
    assert bad(UsageError("It failed.", remedy=remedy)) == f'<p class="bad">{f"It failed. {shown}".strip()}</p>'

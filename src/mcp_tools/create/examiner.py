"""The examiner: a model that writes tests from a signature and docstring, without seeing the code.

If code and test disagree, either may be wrong. The examiner then works out the disputed call again without seeing
either result, and the test counts only if it comes to the same result.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mcp_tools.create.documented_function import read_tested, read_value
from mcp_tools.create.interfaces import Test
from mcp_tools.create.same_answer import agree
from mcp_tools.prompt import NO_DATA, data_block, load_prompt
from mcp_tools.sandbox.protocol import Outcome, Problem
from mcp_tools.text import words
from mcp_tools.tool import Json, Tool, object_schema

Fill = Callable[[Sequence[dict[str, Any]], dict[str, Json]], Awaitable[Json]]
"""Sends messages to a model and returns its reply, a JSON value that fits the schema."""

_BUGS = words(
    "KeyError IndexError ZeroDivisionError AttributeError UnboundLocalError NameError RecursionError AssertionError"
    " OverflowError"
)
"""Exceptions that mean a bug. Code that rejects an argument on purpose raises other exceptions."""
CRASHES = _BUGS | {"TypeError"}
"""Exceptions that mean a bug if the arguments have the right types."""
_ONE_OFF, _REFERENCE = "one_off", "reference"
_HEADING = re.compile(r"^\s*Examples?:\s*$", re.MULTILINE)
_EXAMPLES = re.compile(r"^[ \t]*>>>.*(?:\n[ \t]*\S.*)*", re.MULTILINE)
_OPEN = "open"
"""The examiner's word for "the docstring leaves the result open". It has no quotes, so it is not a string result."""
_RAISED = re.compile(r"error|(?:raises? )?[A-Za-z_.]*(?:Error|Exception)\b(?:[:(].*)?", re.DOTALL)
"""Matches results which mean that the function must raise an error."""
_ABOUT_FILES = (
    "Each test brings its own small ones in `files`; where an argument is a path, write the file's name. "
    "The text of an .xlsx file is JSON: the rows of each sheet, header first, by the sheet's name. "
    "The text of a .zip file is JSON: the text of each member by its name."
)
_TEXT: Json = {"type": "string"}


def _object(*texts: str, **others: Json) -> Json:
    return object_schema(dict.fromkeys(texts, _TEXT) | others)


def _tests(**more: Json) -> Json:
    items = _object("call", "because", "result", **more)
    tests = {"type": "array", "minItems": 4, "maxItems": 8, "items": items}
    code = {} if more else {_REFERENCE: _TEXT}
    return object_schema({_ONE_OFF: {"type": ["string", "null"]}, "tests": tests, **code}, ["tests"])


_TESTS = _tests()
_TESTS_OF_FILES = _tests(files={"type": "array", "items": _object("name", "text")})


class ModelExaminer:
    """An examiner that asks a model. It examines each definition once per run.

    Args:
        fill: Asks the model.
        name: The model's name.
    """

    def __init__(self, fill: Fill, name: str) -> None:
        self.name = name
        self._fill = fill
        self._tests: dict[str, list[Test] | str] = {}
        self._references: dict[str, str] = {}
        self._unread: dict[str, list[str]] = {}
        self._confirmed: set[tuple[str, str]] = set()

    async def tests(self, definition: str, tool: Tool, files: Sequence[Path] = ()) -> list[Test] | str:
        """See `Examiner`. Definitions that differ only in their examples share their tests."""
        known = _key(definition)
        if known not in self._tests:
            kinds = " and ".join(dict.fromkeys(path.suffix or "text" for path in files))
            about = f"It opens files ({kinds}). {_ABOUT_FILES}" if files else ""
            messages = load_prompt("mcp_tools.create", "tests").render(definition=definition, files=about)
            form = await self._fill(messages, _TESTS_OF_FILES if files else _TESTS)
            read = [_test(each, tool) for each in form["tests"]]
            self._references[known] = _code(form.get(_REFERENCE) or "")
            self._unread[known] = [test for test in read if isinstance(test, str)]
            tests = [test for test in read if isinstance(test, Test)]
            self._tests[known] = (form.get(_ONE_OFF) or "").strip() or tests
        return self._tests[known]

    def unread(self, definition: str) -> list[str]:
        """See `Examiner`."""
        return self._unread.get(_key(definition), [])

    def reference(self, definition: str) -> str:
        """See `Examiner`."""
        return self._references.get(_key(definition), "")

    async def reconsider(
        self, definition: str, tool: Tool, disputed: Sequence[Test], objection: str
    ) -> list[Test | None]:
        """See `Examiner`. A test that was confirmed earlier is settled unless the author objects."""
        open_ = [test for test in disputed if objection or (definition, test.key) not in self._confirmed]
        ruled: dict[str, Test | None] = {}
        if open_:
            messages = load_prompt("mcp_tools.create", "reconsider").render(
                definition=definition,
                calls="\n".join(f"{n}. {_shown(tool.name, test)}" for n, test in enumerate(open_, 1)),
                objection=data_block("the author of the code", objection) if objection else NO_DATA,
            )
            items = {"items": _object("because", "result"), "minItems": len(open_), "maxItems": len(open_)}
            form = await self._fill(messages, _object(results={"type": "array", **items}))
            for test, ruling in zip(open_, form["results"], strict=True):
                now = _ruled(test, ruling)
                ruled[test.key] = now
                if now is not None and now.raises == test.raises and agree(now.expected, test.expected):
                    self._confirmed.add((definition, test.key))
        return [ruled.get(test.key, test) for test in disputed]


def passes(test: Test, outcome: Outcome) -> bool:
    """Return True if an outcome passes a test."""
    problem = outcome.problem
    if test.raises:
        if problem is None or problem.kind not in {"exception", "arguments"}:
            return False
        raised = exception_of(problem)
        return raised in {test.error, ""} if test.error else raised not in _BUGS
    try:
        return outcome.ok and agree(test.given(outcome.value), test.expected)
    except ValueError:
        return False


def exception_of(problem: Problem) -> str:
    """Return the name of the exception that code raised; empty for any other problem."""
    return problem.message.partition(":")[0].strip() if problem.kind == "exception" else ""


def _key(definition: str) -> str:
    """Return a definition without its examples, which do not change its meaning."""
    without = _HEADING.sub("", _EXAMPLES.sub("", definition))
    return " ".join(without.replace('"""', "").split())


def _code(text: str) -> str:
    """Return the Python code in a reply, without a Markdown fence; empty if it does not parse."""
    block = re.search(r"```(?:python)?\n(.*?)```", text, re.DOTALL)
    code = block[1] if block else text
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return code


def _test(form: dict[str, Json], tool: Tool) -> Test | str:
    """Parse a test that the examiner wrote; return its text if that fails."""
    files = {file["name"]: file["text"] for file in form.get("files", ())}
    raises = _RAISED.fullmatch(form["result"].strip()) is not None
    try:
        _, arguments, part = read_tested(form["call"], list(tool.input_schema["properties"]))
        expected = None if raises else read_value(form["result"])
    except ValueError:
        return f"{form['call'].strip():.150} -> {form['result'].strip():.100}"
    return Test(arguments, expected, "examiner", raises, form["because"], files, "" if raises else part)


def _ruled(test: Test, ruling: dict[str, Json]) -> Test | None:
    """Return the test after the ruling; None if the definition leaves the result open."""
    result = ruling["result"].strip()
    if result == _OPEN:
        return None
    try:
        raises = _RAISED.fullmatch(result) is not None
        expected = None if raises else read_value(result)
    except ValueError:
        return test
    return replace(test, expected=expected, raises=raises, because=ruling["because"], error="")


def _shown(name: str, test: Test) -> str:
    return test.shown(name) + (f" with the files {test.files!r}" if test.files else "")


def tested_value(test: Test, outcome: Outcome) -> Json:
    """Return the tested part of a result, or the whole result if it has no such part."""
    try:
        return test.given(outcome.value)
    except ValueError:
        return outcome.value


def failure_text(name: str, test: Test, outcome: Outcome) -> str:
    """Return a message about a failed test that helps the author fix the code."""
    wanted = f"must give {json.dumps(test.expected, ensure_ascii=False)}"
    if test.raises:
        wanted = f"must raise {test.error or 'an error'}"
    got = f"gives {json.dumps(tested_value(test, outcome), ensure_ascii=False):.300}"
    if outcome.problem is not None:
        got = f"fails with {outcome.problem.message:.300}"
    files = f" with {json.dumps(test.files, ensure_ascii=False):.1000}" if test.files else ""
    return f"{test.shown(name, longest=200)}{files} {wanted} ({test.because!r:.200}); it {got}"

"""The examiner: writes tests from a signature and a docstring alone, and looks again where code and test disagree.

A wrong test must not block right code for ever, and the writer must not wave away a test that its code fails. So a
disputed test is put to the examiner a second time, without either result. It stands only if the same comes out again.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mcp_tools.checks.modules import words
from mcp_tools.create.answers import answer_key
from mcp_tools.create.protocol import Test
from mcp_tools.prompt import NO_DATA, data_block, load_prompt
from mcp_tools.sandbox.protocol import Outcome
from mcp_tools.tool import Json, Tool, call_text

Fill = Callable[[Sequence[dict[str, Any]], dict[str, Json]], Awaitable[Json]]
"""Asks a model for a JSON value that fits a schema."""

_BUGS = words(
    "KeyError IndexError ZeroDivisionError AttributeError UnboundLocalError NameError RecursionError AssertionError"
)
"""Exceptions by which code fails; who refuses an argument raises another one."""


_ABOUT_FILES = (
    "Each test brings its own small ones in `files`; where an argument is a path, write the file's name. "
    "The text of an .xlsx file is JSON: the rows of each sheet, header first, by the sheet's name."
)


class Examiner:
    """Writes and confirms tests. It remembers them for the run: the same definition is examined once.

    Args:
        fill: Asks the examiner's model.
        name: The model's name, for the provenance.
    """

    def __init__(self, fill: Fill, name: str) -> None:
        self.name = name
        self._fill = fill
        self._tests: dict[str, list[Test]] = {}
        self._stands: set[tuple[str, str]] = set()

    async def tests(self, definition: str, tool: Tool, files: Sequence[Path] = ()) -> list[Test]:
        """Calls with the results that the definition promises, and calls that it says are refused.

        Args:
            definition: Types, signature and docstring.
            tool: Whose schemas the tests fit.
            files: Files that the tool opens; a test brings its own of these kinds.
        """
        if definition not in self._tests:
            kinds = " and ".join(dict.fromkeys(path.suffix or "text" for path in files))
            about = f"It opens files ({kinds}). {_ABOUT_FILES}" if files else ""
            messages = load_prompt("mcp_tools.create", "tests").render(definition=definition, files=about)
            form = await self._fill(messages, _tests_schema(tool, brings_files=bool(files)))
            self._tests[definition] = [_test(each) for each in form["tests"]]
        return list(self._tests[definition])

    async def look_again(
        self, definition: str, tool: Tool, disputed: Sequence[Test], objection: str
    ) -> list[Test | None]:
        """What the definition promises for calls on which code and test disagree, in their order.

        A test that has stood before is not put again unless the writer objects to it.

        Returns:
            For each the test as it is now; None where the definition leaves the result open.
        """
        open_ = [test for test in disputed if objection or (definition, _key(test)) not in self._stands]
        ruled: dict[str, Test | None] = {}
        if open_:
            messages = load_prompt("mcp_tools.create", "look_again").render(
                definition=definition,
                calls="\n".join(f"{n}. {_shown(test)}" for n, test in enumerate(open_, 1)),
                objection=data_block("the author of the code", objection) if objection else NO_DATA,
            )
            form = await self._fill(messages, _rulings_schema(tool, len(open_)))
            for test, ruling in zip(open_, form["results"], strict=True):
                raises = ruling["outcome"] == "error"
                now = replace(test, expected=ruling["expected"], raises=raises, because=ruling["because"])
                ruled[_key(test)] = None if ruling["outcome"] == "open" else now
                if now.raises == test.raises and agree(now.expected, test.expected):
                    self._stands.add((definition, _key(test)))
        return [ruled.get(_key(test), test) for test in disputed]


def passes(test: Test, outcome: Outcome) -> bool:
    """Whether an outcome is what a test expects."""
    if not test.raises:
        return outcome.ok and agree(outcome.value, test.expected)
    problem = outcome.problem
    if problem is None or problem.kind not in {"exception", "arguments"}:
        return False
    return problem.message.partition(":")[0].strip() not in _BUGS


def agree(value: Json, expected: Json) -> bool:
    """Whether a result is the expected one, which may be rounded to two decimals or more."""
    if isinstance(value, bool) or isinstance(expected, bool):
        return value is expected
    if isinstance(value, int | float) and isinstance(expected, int | float):
        if value == expected or math.isclose(value, expected, rel_tol=1e-9, abs_tol=1e-12):
            return True
        decimals = len(repr(expected).partition(".")[2]) if re.fullmatch(r"-?\d+\.\d{2,}", repr(expected)) else 0
        return decimals >= 2 and abs(value - expected) <= 0.5000001 * 10**-decimals
    if isinstance(value, list) and isinstance(expected, list):
        return len(value) == len(expected) and all(map(agree, value, expected))
    if isinstance(value, dict) and isinstance(expected, dict):
        return value.keys() == expected.keys() and all(agree(value[key], expected[key]) for key in value)
    return type(value) is type(expected) and answer_key(value) == answer_key(expected)


def _test(form: dict[str, Json]) -> Test:
    files = {file["name"]: file["text"] for file in form.get("files", ())}
    return Test(form["arguments"], form["expected"], "examiner", form["raises"], form["because"], files)


def _key(test: Test) -> str:
    return json.dumps([test.arguments, test.files], sort_keys=True)


def _shown(test: Test) -> str:
    shown = {"arguments": test.arguments, "files": test.files} if test.files else test.arguments
    return json.dumps(shown, ensure_ascii=False)


def _tests_schema(tool: Tool, *, brings_files: bool) -> dict[str, Json]:
    text = {"type": "string"}
    files = {"files": {"type": "array", "items": _object({"name": text, "text": text})}}
    form = {
        **(files if brings_files else {}),
        "arguments": tool.input_schema,
        "because": {"type": "string"},
        "raises": {"type": "boolean"},
        "expected": _result_or_nothing(tool),
    }
    return _object({"tests": {"type": "array", "minItems": 4, "maxItems": 10, "items": _object(form)}})


def _rulings_schema(tool: Tool, count: int) -> dict[str, Json]:
    form = {
        "because": {"type": "string"},
        "outcome": {"type": "string", "enum": ["value", "error", "open"]},
        "expected": _result_or_nothing(tool),
    }
    return _object({"results": {"type": "array", "minItems": count, "maxItems": count, "items": _object(form)}})


def _result_or_nothing(tool: Tool) -> dict[str, Json]:
    result = tool.output_schema["properties"]["result"]
    return {"anyOf": [result, {"type": "null"}]} if result else {}


def _object(properties: dict[str, Json]) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def told(name: str, test: Test, outcome: Outcome) -> str:
    """A test that code fails, so that its writer can act on it."""
    wanted = "must raise an error" if test.raises else f"must give {json.dumps(test.expected, ensure_ascii=False)}"
    got = f"gives {json.dumps(outcome.value, ensure_ascii=False):.300}"
    if outcome.problem is not None:
        got = f"fails with {outcome.problem.message:.300}"
    files = f" with {json.dumps(test.files, ensure_ascii=False):.1000}" if test.files else ""
    return f"{call_text(name, test.arguments, longest=200)}{files} {wanted} ({test.because!r:.200}); it {got}"

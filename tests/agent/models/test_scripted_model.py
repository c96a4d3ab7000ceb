"""Scripts are played in order, by role and by what is said; their mistakes are told with the line."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from agent.errors import ModelOutputError, SettingsError
from agent.models.protocol import Request, Usage
from agent.models.scripted import Script, ScriptedModel

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def ask(text: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": "You are brief."}, {"role": "user", "content": text}]


async def test_lines_in_order_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "story.jsonl"
    path.write_text('# a story\n\n{"text": "one", "usage": [3, 1]}\n{"json": {"n": 2}}\n')
    model = ScriptedModel(Script.read(path))
    assert model.name == f"scripted:{path}"
    first = await model.complete(Request(ask("?")))
    assert (first.text, first.usage) == ("one", Usage(3, 1, calls=1))
    assert (await model.complete(Request(ask("?"), schema=SCHEMA))).parsed == {"n": 2}
    assert model.requests == [ask("?"), ask("?")]


async def test_roles_and_what_is_said() -> None:
    """Roles share one script; a line waits for its role and its words."""
    script = Script.of(
        [
            {"text": "for fib", "when": "Fibonacci", "repeat": 2},
            {"text": "plan", "role": "planner"},
            {"text": "always", "repeat": True},
        ]
    )
    planner, writer = ScriptedModel(script, role="planner"), ScriptedModel(script, role="writer")
    said = [
        await writer.complete(Request(ask("hello"))),
        await planner.complete(Request(ask("hello"))),
        await planner.complete(Request(ask("hello"))),
        await writer.complete(Request(ask("the 5th Fibonacci number"))),
        await writer.complete(Request([{"role": "user", "content": [{"type": "text", "text": "Fibonacci"}]}])),
        await writer.complete(Request(ask("Fibonacci"))),
    ]
    assert [c.text for c in said] == ["always", "plan", "always", "for fib", "for fib", "always"]


async def test_tool_calls_deltas_delays_and_finish() -> None:
    model = ScriptedModel([{"tool": "add", "arguments": {"a": 1}}, {"text": "half", "finish": "length", "delay": 0.1}])
    call = await model.complete(Request(ask("?")))
    assert call.finish == "tool_calls"
    assert (call.tool_calls[0].name, json.loads(call.tool_calls[0].arguments)) == ("add", {"a": 1})
    pieces: list[str] = []
    start = time.monotonic()
    assert (await model.complete(Request(ask("?"), on_delta=pieces.append))).finish == "length"
    assert time.monotonic() - start >= 0.1
    assert pieces == ["half"]


TOOLS = [
    {"type": "function", "function": {"name": "add", "parameters": {"properties": {"a": {"type": "integer"}}}}},
    {"type": "function", "function": {"name": "now"}},
]


async def test_several_calls_are_checked_as_a_real_model_s() -> None:
    line = {"calls": [{"tool": "add", "arguments": {"a": "x"}}, {"tool": "now"}, {"tool": "fly"}], "say": "First"}
    model = ScriptedModel([line, {"tool": "add", "arguments": '{"a"'}, "done", "prose"])
    answer = await model.complete(Request(ask("?"), tools=TOOLS))
    assert [call.problem[:30] for call in answer.tool_calls] == [
        "the arguments do not fit: at a", "", "there is no function 'fly'; th",
    ]  # fmt: skip
    assert (answer.text, answer.finish) == ("First", "tool_calls")
    broken = await model.complete(Request([*ask("?"), answer.as_message()], tools=TOOLS))
    assert "no whole JSON" in broken.tool_calls[0].problem
    assert broken.tool_calls[0].id not in {call.id for call in answer.tool_calls}
    assert (await model.complete(Request(ask("?"), tools=TOOLS))).text == "done"
    with pytest.raises(ModelOutputError, match="no function is called"):
        await model.complete(Request(ask("?"), tools=TOOLS, tool_choice="required"))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "story:2 is not a JSON object"),
        ("[]", "story:2: a line needs exactly one of"),
        ("{}", "exactly one of"),
        ('{"text": "a", "json": 1}', "exactly one of"),
        ('{"text": "a", "whne": "b"}', "whne"),
        ('{"error": "explode"}', "at error: 'explode' is not one of"),
        ('{"text": 5}', "at text: 5 is not of type 'string'"),
        ('{"calls": [{"name": "add"}]}', "'tool' is a required property"),
        ('{"text": "a", "delay": "long"}', "at delay: "),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, line: str, told: str) -> None:
    path = tmp_path / "story"
    path.write_text(f'{{"text": "fine"}}\n{line}\n')
    with pytest.raises(SettingsError, match=told):
        ScriptedModel(Script.read(path))


@pytest.mark.parametrize("content", [None, b"\xff\xfe"], ids=["missing", "no text"])
def test_a_script_that_cannot_be_read(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "story"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SettingsError, match="cannot be read"):
        ScriptedModel(Script.read(path))

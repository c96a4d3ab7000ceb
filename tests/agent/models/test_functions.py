"""Calls of functions against a server that knows functions, JSON schemas, or nothing but text."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent.errors import ModelOutputError
from agent.models.chat import ChatModel
from agent.models.failures import Retry
from agent.models.ladder import TraitsCache
from agent.models.protocol import Message, Request
from support.hosted import hosted
from support.openai_server import OpenAIServer, Step

ASK: list[Message] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is 1 + 2?"}]
ADD = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Adds two numbers.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}, "unit": {"type": "string"}},
            "required": ["a", "b"],
            "additionalProperties": False,
        },
    },
}
ANYTHING = {"type": "function", "function": {"name": "note", "parameters": {"type": "object"}}}
RUNGS = {"native": (), "schema": ("tools",), "text": ("tools", "json_schema")}
"""What a server refuses that ends at each rung."""


def open_model(server: OpenAIServer, folder: Path) -> ChatModel:
    traits = TraitsCache(folder / "cache" / "endpoints.json")
    return hosted("tiny-1", base_url=server.url, retry=Retry(base=0.01), traits=traits)


@pytest.fixture
async def model(openai_server: OpenAIServer, tmp_path: Path) -> AsyncIterator[ChatModel]:
    opened = open_model(openai_server, tmp_path)
    yield opened
    await opened.aclose()


def reply(rung: str, say: str, *calls: tuple[str, Any]) -> Step:
    """What a model of that rung answers."""
    if rung == "native":
        return Step(text=say, tools=list(calls))
    form = {"say": say, "calls": [{"name": name, "arguments": arguments} for name, arguments in calls]}
    return Step(text=json.dumps(form))


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("rung", RUNGS)
async def test_calls_come_on_every_rung_and_the_next_process_asks_there(
    openai_server: OpenAIServer, model: ChatModel, tmp_path: Path, rung: str, streamed: bool
) -> None:
    """Two calls in one reply, in order; a null that stands for an absent argument is gone; text is told as it comes."""
    for word in RUNGS[rung]:
        openai_server.refuse(f'"{word}"' if word != "json_schema" else word)
    heard: list[str] = []
    calls = (("add", {"a": 1, "b": 2, "unit": None}), ("note", {"text": "x"}))
    openai_server.steps += [reply(rung, "Let me add them.", *calls)] * 2
    answer = await model.complete(Request(ASK, tools=[ADD, ANYTHING], on_delta=heard.append if streamed else None))
    assert [(c.name, c.values, c.problem) for c in answer.tool_calls] == [
        ("add", {"a": 1, "b": 2}, ""),
        ("note", {"text": "x"}, ""),
    ]
    assert len({c.id for c in answer.tool_calls}) == 2
    assert (answer.text, answer.finish) == ("Let me add them.", "tool_calls")
    assert "".join(heard) == ("Let me add them." if streamed else "")
    asked = len(openai_server.requests)
    later = open_model(openai_server, tmp_path)
    await later.complete(Request(ASK, tools=[ADD, ANYTHING]))
    await later.aclose()
    assert len(openai_server.requests) == asked + 1, "no refused request again"


async def test_a_lower_rung_rewrites_the_conversation_behind_the_same_prefix(
    openai_server: OpenAIServer, model: ChatModel
) -> None:
    """Functions are listed in the system message, results are the user's, and roles take turns."""
    openai_server.refuse('"tools"').refuse("json_schema")
    openai_server.steps += [reply("text", "Two sums.", ("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4}))]
    first = await model.complete(Request(ASK, tools=[ADD]))
    results = [
        {"role": "tool", "tool_call_id": c.id, "content": r} for c, r in zip(first.tool_calls, "37", strict=True)
    ]
    openai_server.answer("3 and 7.")
    before = openai_server.requests[-1]["messages"]
    await model.complete(Request([*ASK, first.as_message(), *results], tools=[ADD]))
    sent = openai_server.requests[-1]["messages"]
    assert sent[:2] == before, "a prompt cache holds what stood there"
    assert sent[0]["content"].startswith("Be brief.\n\n# Functions\n")
    assert '- add: Adds two numbers. {"type": "object"' in sent[0]["content"]
    assert json.loads(sent[2]["content"])["calls"][0] == {"name": "add", "arguments": {"a": 1, "b": 2}}
    assert sent[3] == {"role": "user", "content": "Result of add:\n3\n\nResult of add:\n7"}
    assert len(sent) == 4


BAD_CALLS: list[tuple[str, Any, str]] = [
    ("dance", {}, "there is no function 'dance'; there are: add"),
    ("add", {"a": 1}, "the arguments do not fit: 'b' is a required property"),
    ("add", {"a": 1, "b": "two"}, "at b: 'two' is not of type 'integer'"),
    ("add", '{"a": 1, "b', "the arguments are no whole JSON"),
    ("add", '{"a": NaN, "b": 2}', "NaN is not JSON"),
    ("add", "[1, 2]", "they are no object"),
    ("add", {f"x{n}": n for n in range(1000)} | {"a": 1, "b": 2}, "Additional properties are not allowed"),
]


@pytest.mark.parametrize("rung", ["native"])
async def test_a_call_that_cannot_be_made_says_why(openai_server: OpenAIServer, model: ChatModel, rung: str) -> None:
    """The good call beside them is there; the reply can stand in the conversation that goes on."""
    for word in RUNGS[rung]:
        openai_server.refuse(f'"{word}"')
    calls = [(name, arguments) for name, arguments, _ in BAD_CALLS]
    openai_server.steps += [reply(rung, "", *calls, ("add", {"a": 1, "b": 2}))]
    answer = await model.complete(Request(ASK, tools=[ADD]))
    *bad, good = answer.tool_calls
    for call, (_, _, problem) in zip(bad, BAD_CALLS, strict=True):
        assert problem in call.problem
        assert len(call.problem) < 400
    assert (good.values, good.problem) == ({"a": 1, "b": 2}, "")
    for called in answer.as_message()["tool_calls"]:
        assert isinstance(json.loads(called["function"]["arguments"]), dict)


async def test_arguments_that_were_cut_off_say_so(openai_server: OpenAIServer, model: ChatModel) -> None:
    openai_server.answer(tool=("add", '{"a": 1, "b'), finish="length")
    answer = await model.complete(Request(ASK, tools=[ADD], max_tokens=5))
    assert answer.tool_calls[0].problem == "the arguments are no whole JSON: the reply reached its limit of length"
    assert answer.finish == "length"


REFUSALS = [
    (404, "No endpoints found that support tool use. To learn more, read the documentation."),
    (500, "tools param requires --jinja flag"),
    (400, "tiny-1: tool calling is not supported by this model"),
    (422, "extra fields not permitted"),
]


async def test_however_an_endpoint_refuses_functions_it_is_asked_otherwise(
    openai_server: OpenAIServer, model: ChatModel
) -> None:
    for status, message in REFUSALS:
        refusal = Step(status=status, body={"error": {"message": message}})
        made = reply("schema", "", ("add", {"a": 1, "b": 2}))
        openai_server.default = lambda body, no=refusal, yes=made: no if "tools" in body else yes
        openai_server.requests.clear()
        model.forget()
        answer = await model.complete(Request(ASK, tools=[ADD]))
        assert answer.tool_calls[0].values == {"a": 1, "b": 2}
        assert len(openai_server.requests) == 2, "as functions, and then in a form"


@pytest.mark.parametrize(
    "text",
    [
        'I add.\n<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>\n'
        '<tool_call>{"name": "note", "arguments": {}}',
        '[{"name": "add", "arguments": {"a": 1, "b": 2}}]\nand {"name": "note", "arguments": {"name": "arguments"}}',
        '{"tool_calls": [{"id": "1", "function": {"name": "add", "arguments": "{\\"a\\": 1, \\"b\\": 2}"}}]}',
    ],
    ids=["marked", "one after the other", "native"],
)
async def test_a_call_that_the_server_left_in_the_text_is_a_call(
    openai_server: OpenAIServer, model: ChatModel, text: str
) -> None:
    openai_server.answer(text)
    answer = await model.complete(Request(ASK, tools=[ADD, ANYTHING]))
    assert answer.tool_calls[0].values == {"a": 1, "b": 2}
    assert [call.name for call in answer.tool_calls] == re.findall(r'"name": "(add|note)"', text)


@pytest.mark.parametrize("text", ['{"name": "x", "arguments": {}}', "{…}"])
async def test_json_that_calls_no_function_is_text(openai_server: OpenAIServer, model: ChatModel, text: str) -> None:
    openai_server.answer(text)
    assert (await model.complete(Request(ASK, tools=[ADD]))).text == text


async def test_a_required_call_that_is_missing(openai_server: OpenAIServer, model: ChatModel) -> None:
    """A new endpoint is asked in each way, one that has called before is asked once more."""
    for _ in range(2):
        openai_server.answer("I would add.")
    openai_server.steps += [reply("text", "", ("add", {"a": 1, "b": 2}))]
    answer = await model.complete(Request(ASK, tools=[ADD], tool_choice="required"))
    assert [c.name for c in answer.tool_calls] == ["add"]
    assert openai_server.requests[0]["tool_choice"] == "required"
    assert answer.usage.calls == 3
    openai_server.answer("Prose.").answer("More prose.")
    with pytest.raises(ModelOutputError, match="no function is called"):
        await model.complete(Request(ASK, tools=[ADD], tool_choice="required"))

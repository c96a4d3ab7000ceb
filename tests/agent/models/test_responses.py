"""The Responses dialect: the same models, conversations and ladders against a server that speaks it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from agent.errors import ModelBusyError, ModelDeclinedError, ModelRefusedError, ModelUnreachableError
from agent.models.chat import ChatModel
from agent.models.failures import Retry
from agent.models.protocol import Message, Price, Request
from agent.models.wire import RESPONSES
from support.hosted import hosted
from support.openai_server import OpenAIServer, Step

ASK: list[Message] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is 1 + 2?"}]
PARAMETERS = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
ADD = {
    "type": "function",
    "function": {"name": "add", "description": "Adds.", "parameters": PARAMETERS | {"additionalProperties": False}},
}
LOOSE = {"type": "function", "function": {"name": "note", "parameters": {"type": "object"}}}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.fixture
async def model(openai_server: OpenAIServer) -> AsyncIterator[ChatModel]:
    opened = hosted(
        "tiny-1", base_url=openai_server.url, retry=Retry(base=0.01), dialect=RESPONSES, price=Price(1.0, 10.0, 0.1)
    )
    yield opened
    await opened.aclose()


async def test_text_usage_and_cost(openai_server: OpenAIServer, model: ChatModel) -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 400}}
    openai_server.answer("Hi", usage=usage)
    answer = await model.complete(Request(ASK, max_tokens=9, temperature=0, seed=3, stop=["\n"]))
    assert (answer.text, answer.finish, answer.model) == ("Hi", "stop", "tiny-1")
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.cached_tokens) == (1000, 100, 400)
    assert answer.usage.cost == pytest.approx((600 * 1 + 400 * 0.1 + 100 * 10) / 1e6)
    assert openai_server.requests[0] == {
        "model": "tiny-1", "input": ASK, "max_output_tokens": 9, "temperature": 0, "store": False,
    }  # fmt: skip


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_conversation_with_calls(openai_server: OpenAIServer, model: ChatModel, streamed: bool) -> None:
    heard: list[str] = []
    openai_server.steps.append(Step(text="Adding.", tools=[("add", {"a": 1, "b": 2}), ("note", {"x": 1})]))
    answer = await model.complete(Request(ASK, tools=[ADD, LOOSE], on_delta=heard.append if streamed else None))
    assert [(c.name, c.values) for c in answer.tool_calls] == [("add", {"a": 1, "b": 2}), ("note", {"x": 1})]
    assert (answer.text, answer.finish) == ("Adding.", "tool_calls")
    assert "".join(heard) == ("Adding." if streamed else "")
    assert openai_server.requests[0]["tools"] == [
        {"type": "function", "name": "add", "description": "Adds.", "parameters": PARAMETERS, "strict": False},
        {"type": "function", "name": "note", "parameters": {"type": "object"}, "strict": False},
    ]
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    results: list[Message] = [
        *({"role": "tool", "tool_call_id": call.id, "content": "3"} for call in answer.tool_calls),
        {"role": "user", "content": [{"type": "text", "text": "And this?"}, picture]},
    ]
    openai_server.answer("3")
    await model.complete(Request([*ASK, answer.as_message(), *results], tools=[ADD, LOOSE]))
    assert openai_server.requests[1]["input"][2:] == [
        {"role": "assistant", "content": "Adding."},
        {"type": "function_call", "call_id": "call_0", "name": "add", "arguments": '{"a": 1, "b": 2}'},
        {"type": "function_call", "call_id": "call_1", "name": "note", "arguments": '{"x": 1}'},
        {"type": "function_call_output", "call_id": "call_0", "output": "3"},
        {"type": "function_call_output", "call_id": "call_1", "output": "3"},
        {"role": "user", "content": [
            {"type": "input_text", "text": "And this?"},
            {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AA=="},
        ]},
    ]  # fmt: skip


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_structured_output(openai_server: OpenAIServer, model: ChatModel, streamed: bool) -> None:
    openai_server.answer('{"n": 3}')
    heard: list[str] = []
    answer = await model.complete(Request(ASK, schema=SCHEMA, on_delta=heard.append if streamed else None))
    assert answer.parsed == {"n": 3}
    assert not streamed or json.loads("".join(heard)) == {"n": 3}
    form = {"format": {"type": "json_schema", "name": "answer", "schema": SCHEMA}}
    assert openai_server.requests[-1].get("text") == form


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (Step(message={"refusal": "I will not."}), ModelDeclinedError),
        (Step(body={"code": "server_error", "message": "later"}), ModelBusyError),
        (Step(raw=b'{"output": [{"type": "message"}]}'), ModelUnreachableError),
        (Step(raw=b'{"choices": []}'), ModelUnreachableError),
    ],
    ids=["declined", "busy", "half", "another dialect"],
)
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_failures(
    openai_server: OpenAIServer, model: ChatModel, step: Step, error: type[Exception], streamed: bool
) -> None:
    openai_server.default = lambda _: step
    with pytest.raises(error):
        await model.complete(Request(ASK, on_delta=(lambda _: None) if streamed else None))


async def test_a_cut_stream_is_repeated_and_shown_once(openai_server: OpenAIServer, model: ChatModel) -> None:
    heard: list[str] = []
    openai_server.cut("Hello there", after=8).answer("Hello there")
    assert (await model.complete(Request(ASK, on_delta=heard.append))).text == "Hello there"
    assert "".join(heard) == "Hello there"


async def test_an_endpoint_without_this_dialect_says_so(openai_server: OpenAIServer, model: ChatModel) -> None:
    openai_server.speaks_responses = False
    with pytest.raises(ModelRefusedError, match="has no /responses; try the dialect chat"):
        await model.complete(Request(ASK))


async def test_an_endpoint_that_refuses_strict_is_asked_without_it(
    openai_server: OpenAIServer, model: ChatModel
) -> None:
    openai_server.fail(400, "Unknown parameter: 'tools[0].strict'.", param="tools[0].strict")
    openai_server.default = lambda _: Step(tools=[("add", {"a": 1, "b": 2})])
    for _ in range(2):
        assert [call.name for call in (await model.complete(Request(ASK, tools=[ADD]))).tool_calls] == ["add"]
    assert ["strict" in request["tools"][0] for request in openai_server.requests] == [True, False, False]

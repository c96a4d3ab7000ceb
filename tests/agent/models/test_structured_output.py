"""The ladder of structured output, against a server that refuses, ignores or mangles what it is asked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.errors import ModelOutputError
from agent.models.chat import ChatModel
from agent.models.failures import Retry
from agent.models.ladder import TraitsCache
from agent.models.protocol import Request
from support.hosted import hosted
from support.openai_server import OpenAIServer

ASK = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What next?"}]
SCHEMA = {
    "type": "object",
    "properties": {"action": {"enum": ["search", "answer"]}, "note": {"type": "string"}},
    "required": ["action"],
}
GOOD = {"action": "answer"}


@pytest.fixture
async def model(openai_server: OpenAIServer, tmp_path: Path) -> AsyncIterator[ChatModel]:
    opened = open_model(openai_server, tmp_path)
    yield opened
    await opened.aclose()


def open_model(server: OpenAIServer, folder: Path) -> ChatModel:
    traits = TraitsCache(folder / "cache" / "endpoints.json")
    return hosted("tiny-1", base_url=server.url, retry=Retry(base=0.01), traits=traits)


async def test_the_schema_is_sent_as_it_is(openai_server: OpenAIServer, model: ChatModel) -> None:
    """A null by which the model says that an optional property is absent is taken out of the answer."""
    openai_server.answer({"action": "answer", "note": None})
    answer = await model.complete(Request(ASK, schema=SCHEMA))
    assert answer.parsed == GOOD
    assert openai_server.requests[0]["response_format"]["json_schema"] == {"name": "answer", "schema": SCHEMA}
    assert openai_server.requests[0]["messages"] == ASK


async def test_down_to_text_and_remembered_by_the_next_process(
    openai_server: OpenAIServer, model: ChatModel, tmp_path: Path
) -> None:
    openai_server.refuse("json_schema").answer(GOOD).answer(GOOD)
    assert (await model.complete(Request(ASK, schema=SCHEMA))).parsed == GOOD
    assert len(openai_server.requests) == 2
    later = open_model(openai_server, tmp_path)
    assert (await later.complete(Request(ASK, schema=SCHEMA))).parsed == GOOD
    await later.aclose()
    assert len(openai_server.requests) == 3, "no refused request again"


async def test_an_endpoint_that_ignores_the_schema_is_asked_lower(
    openai_server: OpenAIServer, model: ChatModel
) -> None:
    """Prose where JSON was asked is no holding rung; what all attempts cost is counted."""
    openai_server.answer("I would search.").answer(GOOD)
    answer = await model.complete(Request(ASK, schema=SCHEMA))
    assert answer.parsed == GOOD
    assert answer.usage.calls == 2
    assert answer.usage.input_tokens == 20


async def test_one_repair_with_the_misfit(openai_server: OpenAIServer, model: ChatModel) -> None:
    openai_server.answer(GOOD).answer({"action": "dance"}).answer(GOOD)
    await model.complete(Request(ASK, schema=SCHEMA))
    answer = await model.complete(Request(ASK, schema=SCHEMA))
    assert answer.parsed == GOOD
    assert answer.usage.calls == 2
    shown = openai_server.requests[-1]["messages"]
    assert shown[-2] == {"role": "assistant", "content": '{"action": "dance"}'}
    assert "at action: 'dance' is not one of ['search', 'answer']" in shown[-1]["content"]


async def test_what_does_not_fit_twice_is_the_model_s_error(openai_server: OpenAIServer, model: ChatModel) -> None:
    openai_server.answer(GOOD).answer("prose").answer("more prose")
    await model.complete(Request(ASK, schema=SCHEMA))
    with pytest.raises(ModelOutputError, match="not JSON: 'more prose'") as caught:
        await model.complete(Request(ASK, schema=SCHEMA))
    assert caught.value.text == "more prose"
    assert caught.value.usage is not None
    assert caught.value.usage.calls == 2


async def test_truncated_json_is_not_asked_for_again(openai_server: OpenAIServer, model: ChatModel) -> None:
    openai_server.answer('{"action": "ans', finish="length")
    with pytest.raises(ModelOutputError, match="cut off"):
        await model.complete(Request(ASK, schema=SCHEMA, max_tokens=5))
    assert len(openai_server.requests) == 1


@pytest.mark.parametrize("content", ["not json", '{"x": {"rung": "odd", "without": [], "at": 1}}'])
async def test_a_broken_cache_costs_nothing_but_a_request(
    openai_server: OpenAIServer, tmp_path: Path, content: str
) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "endpoints.json").write_text(content)
    openai_server.answer(GOOD)
    model = open_model(openai_server, tmp_path)
    assert (await model.complete(Request(ASK, schema=SCHEMA))).parsed == GOOD
    await model.aclose()


@pytest.mark.parametrize("refused", [(), ("json_schema",)], ids=["schema", "text"])
async def test_the_json_is_heard_piece_by_piece_on_every_rung(
    openai_server: OpenAIServer, model: ChatModel, refused: tuple[str, ...]
) -> None:
    for word in refused:
        openai_server.refuse(word)
    openai_server.answer(GOOD)
    pieces: list[str] = []
    assert (await model.complete(Request(ASK, schema=SCHEMA, on_delta=pieces.append))).parsed == GOOD
    assert json.loads("".join(pieces)) == GOOD
    assert len(pieces) > 2

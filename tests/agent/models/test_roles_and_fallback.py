"""Which model answers for which role, and who takes over when one fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.configuration.settings import Settings
from agent.configuration.settings_sources import read_settings
from agent.errors import ModelAuthError, ModelOutputError
from agent.models.chat import ChatModel
from agent.models.embedded.model import EmbeddedModel
from agent.models.protocol import Request
from agent.models.roles import FallbackModel, Models, endpoint_of
from agent.models.scripted import ScriptedModel
from support.openai_server import OpenAIServer

ASK = [{"role": "user", "content": "Hello?"}]
BUSY = {"error": "busy", "message": "a is busy"}


def settings(folder: Path, *, model: str = "embedded", **more: Any) -> Settings:
    folders = {f"{name}_dir": folder / name for name in ("models", "runtime", "cache")}
    return Settings(**folders, model=model, **more)


async def test_the_next_model_answers_and_the_reason_is_told() -> None:
    told: list[str] = []
    model = FallbackModel([ScriptedModel([BUSY]), ScriptedModel(["b"])], notify=told.append)
    assert (await model.complete(Request(ASK))).text == "b"
    assert told == ["a is busy; asking scripted:script instead"]


async def test_a_busy_model_rests_for_a_minute() -> None:
    now = [0.0]
    first = ScriptedModel([BUSY, "a again"])
    model = FallbackModel([first, ScriptedModel(["b1", "b2"])], clock=lambda: now[0])
    assert [(await model.complete(Request(ASK))).text for _ in range(2)] == ["b1", "b2"]
    assert len(first.requests) == 1
    now[0] = 61
    assert (await model.complete(Request(ASK))).text == "a again"


async def test_a_wrong_key_rests_for_good_and_a_refusal_not_at_all() -> None:
    now = [0.0]
    wrong = ScriptedModel([{"error": "auth"}, "never"])
    refusing = ScriptedModel([{"error": "refused"}, "b"])
    model = FallbackModel([wrong, refusing, ScriptedModel(["c"])], clock=lambda: now[0])
    assert (await model.complete(Request(ASK))).text == "c"
    now[0] = 1e9
    assert (await model.complete(Request(ASK))).text == "b"


async def test_when_all_fail_each_is_told_and_the_first_decides() -> None:
    model = FallbackModel([ScriptedModel([{"error": "auth", "message": "no key"}]), ScriptedModel([BUSY])])
    with pytest.raises(ModelAuthError, match="no key; and then a is busy"):
        await model.complete(Request(ASK))


async def test_output_that_does_not_fit_goes_back_to_the_node() -> None:
    model = FallbackModel([ScriptedModel([{"error": "output"}]), ScriptedModel(["b"])])
    with pytest.raises(ModelOutputError):
        await model.complete(Request(ASK))


async def test_roles(tmp_path: Path, openai_server: OpenAIServer) -> None:
    """Roles share a model of one name, a script goes on from role to role, others have their own."""
    script = tmp_path / "s.jsonl"
    script.write_text('{"text": "plan", "role": "planner"}\n{"text": "code"}\n')
    models = Models(
        settings(
            tmp_path,
            model="big",
            base_url=openai_server.url,
            planner=f"scripted:{script}",
            writer=f"scripted:{script}",
            examiner="embedded",
        )
    )
    assert models.for_role("coordinator") is models.for_role("vision")
    assert isinstance(models.for_role("coordinator"), ChatModel)
    assert isinstance(models.for_role("examiner"), EmbeddedModel)
    assert (await models.for_role("writer").complete(Request(ASK))).text == "code"
    assert (await models.for_role("planner").complete(Request(ASK))).text == "plan"
    await models.aclose()


async def test_a_role_s_fallbacks(tmp_path: Path, openai_server: OpenAIServer) -> None:
    openai_server.fail(404, "no such model").answer("from small")
    told: list[str] = []
    models = Models(settings(tmp_path, base_url=openai_server.url, writer="big,small"), notify=told.append)
    answer = await models.for_role("writer").complete(Request(ASK))
    assert (answer.text, answer.model) == ("from small", "small")
    assert "asking small instead" in told[0]
    await models.aclose()


async def test_auto_is_the_first_that_the_endpoint_lists(tmp_path: Path, openai_server: OpenAIServer) -> None:
    models = Models(settings(tmp_path, model="auto", base_url=openai_server.url))
    openai_server.answer("hi").answer("hi")
    model = models.for_role("writer")
    assert (await model.complete(Request(ASK))).model == "tiny-1"
    await model.complete(Request(ASK))
    assert [r["model"] for r in openai_server.requests] == ["tiny-1", "tiny-1"]
    assert model.name == "tiny-1"
    openai_server.models = []
    await models.aclose()


async def test_missing_weights_are_told_with_the_command(tmp_path: Path) -> None:
    models = Models(settings(tmp_path))
    with pytest.raises(Exception, match="alita model pull"):
        await models.for_role("writer").complete(Request(ASK))
    await models.aclose()


def test_the_variable_of_the_key_is_known(tmp_path: Path) -> None:
    read = read_settings(environment={"ALITA_HOME": str(tmp_path), "LLM_API_KEY": "sk-1", "LLM_MODEL_NAME": "m"})
    endpoint = endpoint_of(read, read.model)
    assert (endpoint.model, endpoint.api_key, endpoint.key_variable) == ("m", "sk-1", "LLM_API_KEY")
    assert "sk-1" not in repr(endpoint)

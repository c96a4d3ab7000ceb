"""The real embedded model: it answers, survives a kill of its server, writes a program and restates a follow-up."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from agent.conversation import Conversation, Turn
from agent.models.embedded.local_server import running_servers
from agent.models.embedded.model import EmbeddedModel
from agent.models.protocol import Request
from support.fibonacci import ANSWER, QUESTION, STORY, write_script

pytestmark = [pytest.mark.model, pytest.mark.timeout(600)]


async def test_it_answers_and_is_started_again_after_a_kill(
    embedded: EmbeddedModel, one_server: dict[str, str]
) -> None:
    """It holds to a schema, streams, and is cut at its limit."""
    question = [{"role": "user", "content": "What is the capital of France? Give city and country."}]
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "country": {"enum": ["France", "Spain"]}},
        "required": ["city", "country"],
        "additionalProperties": False,
    }
    answer = await embedded.complete(Request(question, schema=schema, temperature=0, max_tokens=60))
    assert answer.parsed == {"city": "Paris", "country": "France"}
    assert answer.usage.cost == 0
    assert answer.usage.output_tokens > 5

    [(_, state)] = running_servers(Path(one_server["runtime_dir"]))
    os.kill(state.pid, signal.SIGKILL)
    pieces: list[str] = []
    cut = await embedded.complete(Request(question, max_tokens=4, temperature=0, on_delta=pieces.append))
    assert cut.finish == "length"
    assert "".join(pieces) == cut.text != ""


async def test_a_program_that_it_writes_gives_the_first_answer(desk: Any, one_server: dict[str, str]) -> None:
    choice = [{"json": {"why": "It is computed.", "needs": "compute"}}]
    roles = {"model": "embedded", "coordinator": write_script(desk.folder / "choice.jsonl", choice)}
    answer = await desk.ask(QUESTION, strategy="small", max_tokens=150, **roles, **one_server)
    assert answer.text == ANSWER


async def test_it_restates_a_follow_up_which_a_kept_tool_answers(desk: Any, one_server: dict[str, str]) -> None:
    first = await desk.plays(*STORY).ask(QUESTION)
    talk = Conversation([Turn.of(QUESTION, first)])
    answer = await desk.ask("And the 60th?", conversation=talk, model="embedded", **one_server)
    assert (answer.text, answer.tools_used, answer.usage.calls) == ("1548008755920", ("nth_fibonacci",), 1)

"""How good an answer is, and the one further attempt at a doubtful one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent.answer import Citation
from agent.answering.quality import judge
from support.openai_server import Step


def step(action: str, finding: str, *, ok: bool = True) -> dict[str, Any]:
    return {"action": action, "finding": finding, "ok": ok, "number": 1}


def cited(*urls: str) -> list[Citation]:
    return [Citation(n, url, "", "It has 42 arches.") for n, url in enumerate(urls, 1)]


@pytest.mark.parametrize(
    ("text", "steps", "sources", "judged"),
    [
        ("42", [step("run_code", "42")], [], ("computed", "high")),
        ("42", [step("run_code", "42"), step("run_code", "it failed", ok=False)], [], ("computed", "high")),
        ("42", [step("read_file", "It has 42 arches.")], [], ("file", "high")),
        ("42", [step("search", "…")], cited("https://a.example/1", "https://b.example/2"), ("web", "high")),
        ("42", [step("search", "…")], cited("https://a.example/1", "https://a.example/2"), ("web", "medium")),
        ("42", [], [], ("model", "medium")),
        ("42", [step("search", "nothing", ok=False)], [], ("model", "low")),
        ("7", [step("run_code", "ValueError: odd line; so far 7", ok=False)], [], ("model", "medium")),
        ("The year could not be determined.", [step("search", "…")], [], ("model", "low")),
        ("", [], [], ("none", "low")),
    ],
)
def test_it_is_judged_by_what_the_answer_rests_on(text, steps, sources, judged):
    quality = judge(text, {"steps": steps}, sources)  # type: ignore[typeddict-item]
    assert (quality.basis, quality.confidence) == judged


FAILS = Step(tools=[("run_python", {"code": "raise ValueError('no')"})])


@pytest.mark.parametrize("second", ["The library has 12 rooms.", "I could not find it, as I said."])
async def test_a_doubtful_answer_gets_one_further_attempt(desk, openai_server, second):
    desk.flags |= {"model": "tiny-1", "base_url": openai_server.url, "api_key": "k"}
    for turn in (FAILS, Step(text="I could not find it."), Step(text=second)):
        openai_server.steps.append(turn)
    answer = await desk.ask("How many rooms has the library of the town?")
    assert answer.text == second
    assert answer.usage.calls == 3
    assert answer.quality["confidence"] == "low"
    last = openai_server.requests[-1]["messages"]
    assert last[-2]["content"] == "I could not find it."
    assert "doubtful" in last[-1]["content"]
    assert json.loads(json.dumps(answer.as_json()))["quality"]["basis"] == "model"


@pytest.mark.parametrize(("problem", "judged"), [("", "file"), ("It is locked.", "model")])
def test_an_attached_file_that_was_shown_is_what_an_answer_without_steps_rests_on(problem, judged):
    quality = judge("42", {"attached": [{"problem": problem}]}, [])  # type: ignore[typeddict-item, list-item]
    assert quality.basis == judged

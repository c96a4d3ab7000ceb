"""Requests beside the main ones that fail: the run ends with the answer that was found all the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.command import Terminal
from support.fibonacci import ANSWER, QUESTION, call_of
from support.openai_server import OpenAIServer, Step
from support.pictures import as_bytes, written

FAILURES = {
    "broken": Step(status=500, body={"error": {"message": "it broke"}}),
    "refused": Step(status=400, body={"error": {"message": "this is not for us"}}),
    "no-json": Step(text='{"tests": [{'),
    "declined": Step(text="", message={"refusal": "I cannot help with that"}),
}


def results(body: dict[str, Any]) -> list[str]:
    return [str(m["content"]) for m in body["messages"] if m["role"] == "tool"]


def main(program: Step, rounds: int = 1) -> Any:
    """A model that calls a function so many times, and answers with what it gave."""

    def reply(body: dict[str, Any]) -> Step:
        if len(results(body)) < rounds and "Earlier calls:" not in str(body["messages"]):
            return program
        return Step(text=ANSWER)

    return reply


def ask(terminal: Terminal, server: OpenAIServer, *options: str, failure: str, reply: Any, **variables: str) -> None:
    """A run in which each request without functions fails."""
    failed: list[dict[str, Any]] = []

    def answered(body: dict[str, Any]) -> Step:
        if "tools" in body:
            return reply(body)  # type: ignore[no-any-return]
        failed.append(body)
        return FAILURES[failure]

    server.default = answered
    ended = terminal.call("--base-url", server.url, "-m", "m", "--json", *options, ALITA_RETRIES="0", **variables)
    assert (ended.code, ended.json["answer"], ended.json["status"]) == (0, ANSWER, "answered"), ended.err
    assert failed, "no request beside the main ones"


@pytest.mark.parametrize("failure", FAILURES)
def test_examining(terminal: Terminal, openai_server: OpenAIServer, failure: str) -> None:
    name, arguments = call_of("create_tool", final_answer="{}")
    once = Step(tools=[(name, arguments)])

    def reply(body: dict[str, Any]) -> Step:
        assert not results(body), "the result was there"
        return once

    ask(terminal, openai_server, QUESTION, failure=failure, reply=reply)


def test_planning(terminal: Terminal, openai_server: OpenAIServer) -> None:
    program = Step(tools=[("run_python", {"code": f"print({ANSWER})"})])
    ask(terminal, openai_server, QUESTION, failure="no-json", reply=main(program, 3), ALITA_REPLAN_STEPS="1")


def test_describing_a_picture(terminal: Terminal, openai_server: OpenAIServer) -> None:
    picture = terminal.here / "word.png"
    picture.write_bytes(as_bytes(written("Marmalade"), "PNG"))
    program = Step(tools=[("read", {"source": "word.png"})])
    reply = main(program)
    ask(terminal, openai_server, "-f", str(picture), QUESTION, failure="refused", reply=reply, ALITA_VISION="eye")


def test_summarising(terminal: Terminal, openai_server: OpenAIServer) -> None:
    too_long = Step(status=400, body={"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}})

    def reply(body: dict[str, Any]) -> Step:
        if len(found := results(body)) > 2:
            return too_long
        program = Step(tools=[("run_python", {"code": f"print('ROW {len(found)} ' * 3_000)"})])
        return main(program, 3)(body)

    ask(terminal, openai_server, QUESTION, failure="refused", reply=reply)
    assert "Earlier calls:" in json.dumps(openai_server.requests[-1])


def test_a_run_goes_on_after_an_overflow(terminal: Terminal, openai_server: OpenAIServer) -> None:
    """Old results shrink until the endpoint takes the request."""
    said = "This model's maximum prompt length is 131072 but the request contains 537812 tokens."

    def reply(body: dict[str, Any]) -> Step:
        if sum(map(len, results(body))) > 20_000:
            return Step(status=400, body={"error": {"message": said}})
        code = f"print('ROW {len(results(body))} ' * 3_000)"
        return main(Step(tools=[("run_python", {"code": code})]), 3)(body)  # type: ignore[no-any-return]

    openai_server.default = reply
    ended = terminal.call("--base-url", openai_server.url, "-m", "m", "--json", QUESTION)
    assert (ended.code, ended.json["answer"], ended.json["steps"]) == (0, ANSWER, 3), ended.err
    sizes = [sum(map(len, results(body))) for body in openai_server.requests]
    assert max(sizes) > 20_000 > sizes[-1] > 0

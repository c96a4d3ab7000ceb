"""Odd replies of endpoints, each from a real server: `endpoint_behaviours.py` lists them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from endpoint_behaviours import CASES, Case

import agent.errors
from agent.models.failures import Retry
from agent.models.named import endpoint_address
from agent.models.protocol import Completion, Request
from support.hosted import hosted
from support.openai_server import OpenAIServer, Step

TOOL = {
    "type": "function",
    "function": {
        "name": "run_python",
        "description": "Runs a program.",
        "parameters": {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
    },
}


def _step(reply: Any) -> Step:
    if isinstance(reply, str):
        return Step(text=reply)
    if isinstance(reply, dict):
        return Step(raw=json.dumps({"choices": [{"index": 0, "message": reply}]}).encode())
    if isinstance(reply, list):
        stream = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in reply) + b"data: [DONE]\n\n"
        return Step(raw=stream, headers={"Content-Type": "text/event-stream"})
    status, body, headers = reply
    return Step(status=status, raw=body if isinstance(body, bytes) else json.dumps(body).encode(), headers=headers)


async def _asked(server: OpenAIServer, case: Case, shown: list[str]) -> Completion:
    steps = [_step(reply) for reply in case.replies]
    server.steps.extend(steps[:-1])
    server.default = lambda _: steps[-1]
    options = dict(case.options)
    streamed = options.pop("streamed", True)
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": case.question}]
    model = hosted("m", base_url=server.url, api_key="test-key-1234", key_variable="MY_KEY", retry=Retry(base=0.01))
    try:
        return await model.complete(
            Request(messages, tools=[TOOL], on_delta=shown.append if streamed else None, **options)
        )
    finally:
        await model.aclose()


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
async def test_an_endpoint_s_reply(openai_server: OpenAIServer, case: Case) -> None:
    shown: list[str] = []
    if case.error:
        with pytest.raises(getattr(agent.errors, case.error)) as caught:
            await _asked(openai_server, case, shown)
        assert case.says in str(caught.value)
    else:
        answer = await _asked(openai_server, case, shown)
        assert [json.loads(call.arguments)["code"] for call in answer.tool_calls] == ([case.code] if case.code else [])
        if case.text is not None:
            assert answer.text == case.text
        assert case.shown is None or "".join(shown) == case.shown
    assert case.requests is None or len(openai_server.requests) == case.requests
    for name, value in case.sent.items():
        assert openai_server.requests[-1].get(name) == value


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("localhost:11434/v1", "http://localhost:11434/v1"),
        ("api.example.com/v1/", "https://api.example.com/v1"),
        ("http://host/v1/chat/completions", "http://host/v1"),
        ("https://x.azure.com/openai/v1?api-version=1", "https://x.azure.com/openai/v1?api-version=1"),
        ("http://[::1]:80/v1", "http://[::1]:80/v1"),
    ],
)
def test_an_endpoint_s_address(written: str, address: str) -> None:
    assert endpoint_address(written) == address

"""The wire under a chat model: a request body in, a Chat Completions response out, both plain JSON.

A dialect says both otherwise on the way: to the rest of the program every endpoint speaks Chat Completions.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agent.models.failures import Endpoint, Failure, Kind, event_failure
from agent.models.protocol import Message

Body = dict[str, Any]
OnDelta = Callable[[str], None]


class Wire(Protocol):
    """Carries requests to one endpoint."""

    @property
    def endpoint(self) -> Endpoint:
        """Who is asked."""

    async def send(self, body: Body, on_delta: OnDelta | None = None) -> dict[str, Any]:
        """Sends one request, streamed when `on_delta` is given, and gives the whole response.

        Raises:
            Failure: The call failed; nothing was repeated.
        """

    async def aclose(self) -> None:
        """Closes connections."""


async def assemble(chunks: AsyncIterable[dict[str, Any]], on_delta: OnDelta, endpoint: Endpoint) -> dict[str, Any]:
    """The response that a stream's chunks add up to.

    Raises:
        Failure: The stream ended before the model did, or carried an error.
    """
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    calls: dict[int, dict[str, Any]] = {}
    response: dict[str, Any] = {"usage": None, "model": ""}
    finish: str | None = None
    async for chunk in chunks:
        if not isinstance(chunk, dict):
            raise Failure(Kind.CUT, endpoint, f"an event that is not a JSON object: {chunk!r}")
        if chunk.get("error"):
            raise Failure(Kind.CUT, endpoint, json.dumps(chunk["error"]))
        response = {key: chunk.get(key) or known for key, known in response.items()}
        for choice in (chunk.get("choices") or [])[:1]:
            finish = choice.get("finish_reason") or finish
            delta = choice.get("delta") or {}
            if text := delta.get("content"):
                message["content"] += text
                on_delta(text)
            if delta.get("refusal"):
                message["refusal"] = message.get("refusal", "") + delta["refusal"]
            for part in delta.get("tool_calls") or []:
                new = {"id": "", "function": {"name": "", "arguments": ""}, "type": "function"}
                call = calls.setdefault(part.get("index", 0), new)
                call["id"] = part.get("id") or call["id"]
                piece = part.get("function") or {}
                for key in ("name", "arguments"):
                    call["function"][key] += piece.get(key) or ""
    if finish is None:
        raise Failure(Kind.CUT, endpoint, f"the stream ended after {len(message['content'])} characters")
    if calls:
        message["tool_calls"] = [calls[i] for i in sorted(calls)]
    return response | {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def response_of(
    model: str | None, message: Message, finish: str, tokens: tuple[int, int, int] | None
) -> dict[str, Any]:
    """A response of Chat Completions; the tokens are those of the input, of the output, and of the input the cached."""
    usage = tokens and {
        "prompt_tokens": tokens[0],
        "completion_tokens": tokens[1],
        "prompt_tokens_details": {"cached_tokens": tokens[2]},
    }
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {"model": model, "choices": [choice], "usage": usage}


@dataclass(frozen=True, slots=True)
class Dialect:
    """How an endpoint wants Chat Completions to be said. What reads an answer raises Failure where it is none."""

    path: str
    request: Callable[[Body], Body]
    response: Callable[[dict[str, Any], Endpoint], dict[str, Any]]
    assemble: Callable[[AsyncIterable[dict[str, Any]], OnDelta, Endpoint], Awaitable[dict[str, Any]]]


_APART = "Pictures of the results above, in their order:"


def _with_pictures_apart(body: Body) -> Body:
    """The request with the pictures of results in a message of the user: a result may hold text alone here."""
    messages: list[dict[str, Any]] = []
    waiting: list[dict[str, Any]] = []
    for message in [*body["messages"], {"role": ""}]:
        if waiting and message["role"] != "tool":
            messages.append({"role": "user", "content": [{"type": "text", "text": _APART}, *waiting]})
            waiting = []
        if message["role"] == "tool" and isinstance(content := message["content"], list):
            first, *parts = content
            waiting += parts
            message = {**message, "content": first["text"]}
        messages.append(message)
    return {**body, "messages": messages[:-1]}


CHAT = Dialect("/chat/completions", _with_pictures_apart, lambda response, _: response, assemble)


def _request(body: Body) -> Body:
    said: Body = {name: body[name] for name in ("model", "temperature", "stream") if name in body}
    said |= {"input": list(_items(body["messages"])), "store": False}
    if length := body.get("max_tokens") or body.get("max_completion_tokens"):
        said["max_output_tokens"] = length
    if "tools" in body:
        # Left out, `strict` would be on.
        said["tools"] = [{"type": "function", "strict": False, **tool["function"]} for tool in body["tools"]]
    if "tool_choice" in body:
        choice = body["tool_choice"]
        said["tool_choice"] = choice if isinstance(choice, str) else {"type": "function", **choice["function"]}
    if "response_format" in body:
        said["text"] = {"format": {"type": "json_schema", **body["response_format"]["json_schema"]}}
    return said


def _items(messages: Sequence[Message]) -> Iterator[dict[str, Any]]:
    for message in messages:
        role, content = message["role"], message.get("content")
        if role == "tool":
            output = _parts(content or "", "input_text")
            yield {"type": "function_call_output", "call_id": message["tool_call_id"], "output": output}
            continue
        if content:
            yield {"role": role, "content": _parts(content, "output_text" if role == "assistant" else "input_text")}
        for call in message.get("tool_calls") or ():
            yield {"type": "function_call", "call_id": call["id"], **call["function"]}


def _parts(content: Any, kind: str) -> Any:
    if isinstance(content, str):
        return content
    return [
        {"type": "input_image", "detail": "auto", "image_url": part["image_url"]["url"]}
        if part["type"] == "image_url"
        else {"type": kind, "text": part["text"]}
        for part in content
    ]


def _response(answer: dict[str, Any], endpoint: Endpoint) -> dict[str, Any]:
    if answer.get("error"):
        raise event_failure(endpoint, answer["error"])
    message: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": []}
    try:
        for item in answer["output"]:
            if item["type"] == "function_call":
                function = {"name": item["name"], "arguments": item["arguments"]}
                message["tool_calls"].append({"id": item["call_id"], "type": "function", "function": function})
            for part in item["content"] if item["type"] == "message" else ():
                if part["type"] == "refusal":
                    message["refusal"] = part["refusal"]
                else:
                    message["content"] += part["text"]
        tokens = None
        if counted := answer.get("usage"):
            cached = (counted.get("input_tokens_details") or {}).get("cached_tokens")
            tokens = (counted["input_tokens"], counted["output_tokens"], cached or 0)
        reason = str((answer.get("incomplete_details") or {}).get("reason"))
    except (LookupError, TypeError, AttributeError):
        raise Failure(Kind.CUT, endpoint, f"not a Responses answer: {answer}") from None
    finish = {"max_output_tokens": "length", "content_filter": "content_filter"}.get(reason, "stop")
    return response_of(answer.get("model"), message, finish, tokens)


async def _assemble(chunks: AsyncIterable[dict[str, Any]], on_delta: OnDelta, endpoint: Endpoint) -> dict[str, Any]:
    heard = 0
    async for event in chunks:
        if not isinstance(event, dict):
            raise Failure(Kind.CUT, endpoint, f"an event that is not a JSON object: {event!r}")
        match event.get("type"):
            case "response.output_text.delta":
                heard += len(event["delta"])
                on_delta(event["delta"])
            case "error":
                raise event_failure(endpoint, event)
            case "response.completed" | "response.incomplete" | "response.failed":
                return _response(event.get("response") or {}, endpoint)
    raise Failure(Kind.CUT, endpoint, f"the stream ended after {heard} characters")


RESPONSES = Dialect("/responses", _request, _response, _assemble)

"""The Responses dialect: Chat Completions requests and answers, said as OpenAI's `/responses` wants them.

Nothing is kept at the endpoint (`store` is false): each request carries the whole conversation. Seeds, stops and
several choices at once do not exist there.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterator, Sequence
from typing import Any

from agent.models.failures import Endpoint, Failure, Kind, event_failure
from agent.models.protocol import Message
from agent.models.wire import RESPOND, Body, Dialect, OnDelta

_SAME = ("model", "temperature", "stream")
_ENDS = ("response.completed", "response.incomplete", "response.failed")
_FINISHES = {"max_output_tokens": "length", "content_filter": "content_filter"}


def _request(body: Body) -> Body:
    said: Body = {name: body[name] for name in _SAME if name in body}
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
    try:
        return _as_chat(answer)
    except (LookupError, TypeError, AttributeError):
        raise Failure(Kind.CUT, endpoint, f"no Responses answer: {answer}") from None


def _as_chat(answer: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": []}
    for item in answer["output"]:
        if item["type"] == "function_call":
            function = {"name": item["name"], "arguments": item["arguments"]}
            message["tool_calls"].append({"id": item["call_id"], "type": "function", "function": function})
        for part in item["content"] if item["type"] == "message" else ():
            if part["type"] == "refusal":
                message["refusal"] = part["refusal"]
            else:
                message["content"] += part["text"]
    counted = answer.get("usage")
    usage = counted and {
        "prompt_tokens": counted["input_tokens"],
        "completion_tokens": counted["output_tokens"],
        "prompt_tokens_details": counted.get("input_tokens_details"),
    }
    finish = _FINISHES.get(str((answer.get("incomplete_details") or {}).get("reason")), "stop")
    return {
        "model": answer.get("model"),
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": usage,
    }


async def _assemble(chunks: AsyncIterable[dict[str, Any]], on_delta: OnDelta, endpoint: Endpoint) -> dict[str, Any]:
    heard = 0
    answers: set[Any] = set()
    """Places of the calls whose arguments are the answer's text."""
    async for event in chunks:
        if not isinstance(event, dict):
            raise Failure(Kind.CUT, endpoint, f"an event that is no JSON object: {event!r}")
        match event.get("type"):
            case "response.output_item.added" if (event.get("item") or {}).get("name") == RESPOND:
                answers.add(event.get("output_index"))
            case "response.output_text.delta" | "response.function_call_arguments.delta" as kind:
                if kind == "response.output_text.delta" or event.get("output_index") in answers:
                    heard += len(event["delta"])
                    on_delta(event["delta"])
            case "error":
                raise event_failure(endpoint, event)
            case kind if kind in _ENDS:
                return _response(event.get("response") or {}, endpoint)
    raise Failure(Kind.CUT, endpoint, f"the stream ended after {heard} characters")


RESPONSES = Dialect("/responses", _request, _response, _assemble)

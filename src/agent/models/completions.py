"""A Chat Completions response, read: its choices, what it cost, why it ended."""

from __future__ import annotations

import json
from typing import Any

from agent.errors import ModelDeclinedError
from agent.models.failures import Endpoint, Failure, Kind
from agent.models.prices import Price
from agent.models.protocol import Completion, Finish, ToolCall, Usage
from mcp_tools.text import one_line


def read_completions(response: dict[str, Any], endpoint: Endpoint, price: Price | None) -> list[Completion]:
    """The choices of a response; the first carries the usage of all.

    Raises:
        Failure: It is no response of this protocol.
        ModelRefusedError: The model declined.
    """
    try:
        usage = _usage(response.get("usage") or {}, price)
        model = str(response.get("model") or endpoint.model)
        first, *others = response["choices"]
        return [_completion(first, usage, model), *(_completion(c, Usage(cost=0.0), model) for c in others)]
    except (LookupError, TypeError, ValueError, AttributeError):
        raise Failure(Kind.CUT, endpoint, f"no Chat Completions answer: {response}") from None


def _usage(counted: dict[str, Any], price: Price | None) -> Usage:
    tokens = (int(counted.get("prompt_tokens") or 0), int(counted.get("completion_tokens") or 0))
    cached = int((counted.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)
    cost = price.cost(*tokens, cached) if price and counted else None
    return Usage(*tokens, cached, 1, cost)


def _completion(choice: dict[str, Any], usage: Usage, model: str) -> Completion:
    message = choice["message"]
    if message.get("refusal"):
        raise ModelDeclinedError(
            f"{model} declined: {one_line(str(message['refusal']), 300)}",
            remedy="Put the question differently, or name another model with --model.",
        )
    calls = tuple(_tool_call(call, i) for i, call in enumerate(message.get("tool_calls") or []))
    return Completion(_text(message.get("content")), usage, None, calls, _finish(choice, calls), model)


def _tool_call(call: dict[str, Any], i: int) -> ToolCall:
    function = call["function"]
    arguments = function["arguments"]
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ToolCall(str(call.get("id") or f"call_{i}"), str(function["name"]), text)


def _text(content: Any) -> str:
    """The text of a message, which some endpoints give in parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return "" if content is None else str(content)


def _finish(choice: dict[str, Any], calls: tuple[ToolCall, ...]) -> Finish:
    match choice.get("finish_reason"):
        case "length":
            return "length"
        case "content_filter":
            return "content_filter"
        case _:
            return "tool_calls" if calls else "stop"

"""The wire of a model: sends a request body and returns a Chat Completions response, both as plain JSON.

A dialect translates for endpoints with another API, so that the rest of the program only sees Chat Completions.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from agent.models.failures import Endpoint, Failure, Kind, event_failure
from agent.models.protocol import Message

Body = dict[str, Any]
OnDelta = Callable[[str], None]


class Wire(Protocol):
    """Sends requests to one endpoint."""

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint that receives the requests."""

    async def send(self, body: Body, on_delta: OnDelta | None = None) -> dict[str, Any]:
        """Send one request and return the complete response. With `on_delta`, the response is streamed.

        Raises:
            Failure: The call failed. A wire never retries.
        """

    async def aclose(self) -> None:
        """Close all connections."""


_MAX_REPLY_CHARS = 4_000_000
_FAILED_FINISHES = ("error", "network_error")


async def assemble(chunks: AsyncIterable[dict[str, Any]], on_delta: OnDelta, endpoint: Endpoint) -> dict[str, Any]:
    """Join the chunks of a stream into one response. A finish reason may be missing if the stream ended with `[DONE]`.

    Raises:
        Failure: The stream broke off, or contained an error.
    """
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    pieces: list[str] = []
    calls = StreamedCalls()
    response: dict[str, Any] = {"usage": None, "model": ""}
    finish: str | None = None
    length = 0
    async for chunk in chunks:
        if not isinstance(chunk, dict):
            raise Failure(Kind.INVALID, endpoint, f"an event that is not a JSON object: {chunk!r}")
        if chunk is ENDED:
            finish = finish or ("stop" if pieces or calls.are_complete else None)
            break
        raise_error(chunk, endpoint)
        response = {key: chunk.get(key) or known for key, known in response.items()}
        choice = first_choice(chunk)
        finish = choice.get("finish_reason") or finish
        delta = choice.get("delta") or choice.get("message") or {}
        if not isinstance(delta, dict):
            raise Failure(Kind.INVALID, endpoint, f"a piece of a message that is not an object: {delta!r}")
        if text := text_of(delta.get("content") or choice.get("text")):
            pieces.append(text)
            on_delta(text)
        if isinstance(delta.get("refusal"), str):
            message["refusal"] = message.get("refusal", "") + delta["refusal"]
        added = calls.add(calls_of(delta))
        if (length := length + len(text) + added) > _MAX_REPLY_CHARS:
            raise Failure(Kind.INVALID, endpoint, f"the reply has more than {_MAX_REPLY_CHARS:,} characters")
    message["content"] = "".join(pieces)
    if finish is None or finish in _FAILED_FINISHES:
        raise Failure(Kind.INTERRUPTED, endpoint, f"the stream ended after {len(message['content'])} characters")
    if calls.calls:
        message["tool_calls"] = calls.calls
    return response | {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}


ENDED: dict[str, Any] = {}
"""Marker chunk for `[DONE]`, or for the end of a body with a known length."""


def raise_error(answer: dict[str, Any], endpoint: Endpoint) -> None:
    """Raise if a response with status 200 contains an error."""
    if answer.get("choices") and not answer.get("error"):
        return
    if answer.get("error") or answer.get("object") == "error" or answer.get("errors"):
        raise event_failure(endpoint, answer)


def first_choice(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the first choice of a response or chunk, or an empty object."""
    choices = answer.get("choices") or []
    choice: Any = next((each for each in choices if not each.get("index")), {}) if isinstance(choices, list) else {}
    return choice if isinstance(choice, dict) else {}


def text_of(content: Any) -> str:
    """Return the text of a message's content. Some endpoints send a list of parts; thoughts among them are left out."""
    if isinstance(content, list):
        return "".join(text_of(part) for part in content)
    if isinstance(content, dict):
        is_text = content.get("type", "text") in ("text", "output_text")
        return text_of(content.get("text")) if is_text else ""
    return "" if content is None else str(content)


def joined_contents(first: Any, second: Any, between: str = "\n\n") -> Any:
    """Join the contents of two messages: as text, or as a list of parts if one has pictures."""
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}{between}{second}" if first and second else first or second

    def parts(content: Any) -> list[Any]:
        return content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []

    return [*parts(first), *parts(second)]


def calls_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the calls in a message or delta, including the older form `function_call`."""
    calls = message.get("tool_calls") or []
    calls = [calls] if isinstance(calls, dict) else calls
    if not calls and message.get("function_call"):
        calls = [{"index": 0, "function": message["function_call"]}]
    return [each for each in calls if isinstance(each, dict)]


class StreamedCalls:
    """Joins the pieces of streamed calls, even if they lack an index or id."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self._indexes: list[Any] = []

    def add(self, pieces: list[dict[str, Any]]) -> int:
        """Add the pieces of one chunk, and return their length in characters."""
        length = 0
        for piece in pieces:
            function = piece.get("function") or piece
            name, call_id, arguments = function.get("name") or "", piece.get("id") or "", function.get("arguments")
            call = self._call(piece.get("index"), str(call_id), str(name))
            known = call["function"]
            if name and name != known["name"]:
                known["name"] += str(name)
            call["id"] = call["id"] or str(call_id)
            if arguments is not None and not isinstance(arguments, str):
                arguments = json.dumps(arguments, ensure_ascii=False)
            known["arguments"] += arguments or ""
            length += len(arguments or "") + len(name)
        return length

    def _call(self, index: Any, call_id: str, name: str) -> dict[str, Any]:
        """Return the call that a piece belongs to; a new one if the piece starts a call."""
        places = [i for i, known in enumerate(self._indexes) if None in (index, known) or index == known]
        if places:
            call = self.calls[places[-1]]
            has_other_id = call_id and call["id"] and call_id != call["id"]
            is_next = index is None and not call_id and _is_complete(call)
            if not (name and (has_other_id or is_next)) and not (has_other_id and index is None):
                return call
        self.calls.append({"id": "", "function": {"name": "", "arguments": ""}, "type": "function"})
        self._indexes.append(index)
        return self.calls[-1]

    @property
    def are_complete(self) -> bool:
        """True if there are calls, and the arguments of all of them are valid JSON or empty."""
        return bool(self.calls) and all(_is_complete(call) for call in self.calls)


def _is_complete(call: dict[str, Any]) -> bool:
    try:
        json.loads(call["function"]["arguments"] or "{}")
    except (ValueError, RecursionError):
        return False
    return bool(call["function"]["name"])


def response_of(
    model: str | None, message: Message, finish: str, tokens: tuple[int, int, int] | None
) -> dict[str, Any]:
    """Return a Chat Completions response. `tokens` are the counts of input, output and cached input."""
    usage = tokens and {
        "prompt_tokens": tokens[0],
        "completion_tokens": tokens[1],
        "prompt_tokens_details": {"cached_tokens": tokens[2]},
    }
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {"model": model, "choices": [choice], "usage": usage}


@dataclass(frozen=True, slots=True)
class Dialect:
    """An API of chat models, as translations from and to Chat Completions.

    `response` and `assemble` raise `Failure` if an answer does not follow the API.
    """

    path: str
    request: Callable[[Body], Body]
    response: Callable[[dict[str, Any], Endpoint], dict[str, Any]]
    assemble: Callable[[AsyncIterable[dict[str, Any]], OnDelta, Endpoint], Awaitable[dict[str, Any]]]


_PICTURES_HEADING = "Pictures of the results above, in their order:"


def _with_separate_pictures(body: Body) -> Body:
    """Move pictures from results to a user message after them, because results may only contain text."""
    messages: list[dict[str, Any]] = []
    waiting: list[dict[str, Any]] = []
    for message in [*body["messages"], {"role": ""}]:
        if waiting and message["role"] != "tool":
            messages.append({"role": "user", "content": [{"type": "text", "text": _PICTURES_HEADING}, *waiting]})
            waiting = []
        if message["role"] == "tool" and isinstance(content := message["content"], list):
            first, *parts = content
            waiting += parts
            message = {**message, "content": first["text"]}
        messages.append(message)
    return {**body, "messages": messages[:-1]}


def _chat_response(answer: dict[str, Any], endpoint: Endpoint) -> dict[str, Any]:
    raise_error(answer, endpoint)
    return answer


CHAT = Dialect("/chat/completions", _with_separate_pictures, _chat_response, assemble)


def _request(body: Body) -> Body:
    request: Body = {name: body[name] for name in ("model", "temperature", "stream") if name in body}
    request |= {"input": list(_items(body["messages"])), "store": False}
    if length := body.get("max_tokens") or body.get("max_completion_tokens"):
        request["max_output_tokens"] = length
    if "tools" in body:
        # `strict` is on by default.
        request["tools"] = [{"type": "function", "strict": False, **tool["function"]} for tool in body["tools"]]
    if "tool_choice" in body:
        choice = body["tool_choice"]
        request["tool_choice"] = choice if isinstance(choice, str) else {"type": "function", **choice["function"]}
    if "response_format" in body:
        request["text"] = {"format": {"type": "json_schema", **body["response_format"]["json_schema"]}}
    return request


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
        raise Failure(Kind.INVALID, endpoint, f"not a Responses answer: {answer}") from None
    finish = {"max_output_tokens": "length", "content_filter": "content_filter"}.get(reason, "stop")
    return response_of(answer.get("model"), message, finish, tokens)


async def _assemble(chunks: AsyncIterable[dict[str, Any]], on_delta: OnDelta, endpoint: Endpoint) -> dict[str, Any]:
    received = 0
    async for event in chunks:
        if not isinstance(event, dict):
            raise Failure(Kind.INVALID, endpoint, f"an event that is not a JSON object: {event!r}")
        match event.get("type"):
            case "response.output_text.delta":
                received += len(event["delta"])
                on_delta(event["delta"])
            case "error":
                raise event_failure(endpoint, event)
            case "response.completed" | "response.incomplete" | "response.failed":
                return _response(event.get("response") or {}, endpoint)
    raise Failure(Kind.INTERRUPTED, endpoint, f"the stream ended after {received} characters")


RESPONSES = Dialect("/responses", _request, _response, _assemble)


def _request_without_strict(body: Body) -> Body:
    request = _request(body)
    for tool in request.get("tools", ()):
        del tool["strict"]
    return request


RESPONSES_WITHOUT_STRICT = replace(RESPONSES, request=_request_without_strict)
"""Dialect for endpoints that reject `strict` in a function."""

"""The wire under a chat model: a request body in, a Chat Completions response out, both plain JSON.

A dialect says both otherwise on the way: to the rest of the program every endpoint speaks Chat Completions.
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


_CHARACTERS = 4_000_000
"""The longest reply that is taken, in characters."""
_BROKEN = ("error", "network_error")


async def assemble(chunks: AsyncIterable[dict[str, Any]], on_delta: OnDelta, endpoint: Endpoint) -> dict[str, Any]:
    """The response that a stream's chunks add up to. A stream may end without a reason once `[DONE]` was read.

    Raises:
        Failure: The stream ended before the model did, or carried an error.
    """
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    pieces: list[str] = []
    calls = StreamedCalls()
    response: dict[str, Any] = {"usage": None, "model": ""}
    finish: str | None = None
    length = 0
    async for chunk in chunks:
        if not isinstance(chunk, dict):
            raise Failure(Kind.CUT, endpoint, f"an event that is not a JSON object: {chunk!r}")
        if chunk is ENDED:
            finish = finish or ("stop" if pieces or calls.are_whole else None)
            break
        raise_error(chunk, endpoint)
        response = {key: chunk.get(key) or known for key, known in response.items()}
        choice = first_choice(chunk)
        finish = choice.get("finish_reason") or finish
        delta = choice.get("delta") or choice.get("message") or {}
        if not isinstance(delta, dict):
            raise Failure(Kind.CUT, endpoint, f"a piece of a message that is no object: {delta!r}")
        if text := text_of(delta.get("content") or choice.get("text")):
            pieces.append(text)
            on_delta(text)
        if isinstance(delta.get("refusal"), str):
            message["refusal"] = message.get("refusal", "") + delta["refusal"]
        added = calls.add(calls_of(delta))
        if (length := length + len(text) + added) > _CHARACTERS:
            raise Failure(Kind.CUT, endpoint, f"the reply has more than {_CHARACTERS:,} characters")
    message["content"] = "".join(pieces)
    if finish is None or finish in _BROKEN:
        raise Failure(Kind.BROKEN, endpoint, f"the stream ended after {len(message['content'])} characters")
    if calls.calls:
        message["tool_calls"] = calls.calls
    return response | {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}


ENDED: dict[str, Any] = {}
"""The chunk that means `[DONE]`, or the end of a body with a known length."""


def raise_error(answer: dict[str, Any], endpoint: Endpoint) -> None:
    """Raises the failure that an answer with status 200 holds in place of a choice."""
    if answer.get("choices") and not answer.get("error"):
        return
    if answer.get("error") or answer.get("object") == "error" or answer.get("errors"):
        raise event_failure(endpoint, answer)


def first_choice(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the first choice of an answer or a chunk, or an empty object."""
    choices = answer.get("choices") or []
    choice: Any = next((each for each in choices if not each.get("index")), {}) if isinstance(choices, list) else {}
    return choice if isinstance(choice, dict) else {}


def text_of(content: Any) -> str:
    """The text of a message's content, which some endpoints give in parts; those with thoughts are left out."""
    if isinstance(content, list):
        return "".join(text_of(part) for part in content)
    if isinstance(content, dict):
        is_text = content.get("type", "text") in ("text", "output_text")
        return text_of(content.get("text")) if is_text else ""
    return "" if content is None else str(content)


def calls_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the calls in a message or a piece of one, including the older form `function_call` included."""
    calls = message.get("tool_calls") or []
    calls = [calls] if isinstance(calls, dict) else calls
    if not calls and message.get("function_call"):
        calls = [{"index": 0, "function": message["function_call"]}]
    return [each for each in calls if isinstance(each, dict)]


class StreamedCalls:
    """Calls that are joined from pieces, even if these lack index or id."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self._indexes: list[Any] = []

    def add(self, pieces: list[dict[str, Any]]) -> int:
        """Adds the pieces of one chunk, and gives the characters that they bring."""
        length = 0
        for piece in pieces:
            function = piece.get("function") or piece
            name, own, arguments = function.get("name") or "", piece.get("id") or "", function.get("arguments")
            call = self._call(piece.get("index"), str(own), str(name))
            known = call["function"]
            if name and name != known["name"]:
                known["name"] += str(name)
            call["id"] = call["id"] or str(own)
            if arguments is not None and not isinstance(arguments, str):
                arguments = json.dumps(arguments, ensure_ascii=False)
            known["arguments"] += arguments or ""
            length += len(arguments or "") + len(name)
        return length

    def _call(self, index: Any, own: str, name: str) -> dict[str, Any]:
        places = [i for i, known in enumerate(self._indexes) if None in (index, known) or index == known]
        if places:
            call = self.calls[places[-1]]
            other = own and call["id"] and own != call["id"]
            follows = index is None and not own and _is_whole(call)
            if not (name and (other or follows)) and not (other and index is None):
                return call
        self.calls.append({"id": "", "function": {"name": "", "arguments": ""}, "type": "function"})
        self._indexes.append(index)
        return self.calls[-1]

    @property
    def are_whole(self) -> bool:
        """Each call has arguments that are JSON, or none."""
        return bool(self.calls) and all(_is_whole(call) for call in self.calls)


def _is_whole(call: dict[str, Any]) -> bool:
    try:
        json.loads(call["function"]["arguments"] or "{}")
    except (ValueError, RecursionError):
        return False
    return bool(call["function"]["name"])


def response_of(
    model: str | None, message: Message, finish: str, tokens: tuple[int, int, int] | None
) -> dict[str, Any]:
    """Return a response of Chat Completions; the tokens are input, output and cached input."""
    usage = tokens and {
        "prompt_tokens": tokens[0],
        "completion_tokens": tokens[1],
        "prompt_tokens_details": {"cached_tokens": tokens[2]},
    }
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {"model": model, "choices": [choice], "usage": usage}


@dataclass(frozen=True, slots=True)
class Dialect:
    """The form of Chat Completions for an endpoint.

    Functions that read an answer raise Failure if it has another form.
    """

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


def _chat_response(answer: dict[str, Any], endpoint: Endpoint) -> dict[str, Any]:
    raise_error(answer, endpoint)
    return answer


CHAT = Dialect("/chat/completions", _with_pictures_apart, _chat_response, assemble)


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
    raise Failure(Kind.BROKEN, endpoint, f"the stream ended after {heard} characters")


RESPONSES = Dialect("/responses", _request, _response, _assemble)


def _request_without_strict(body: Body) -> Body:
    said = _request(body)
    for tool in said.get("tools", ()):
        del tool["strict"]
    return said


RESPONSES_WITHOUT_STRICT = replace(RESPONSES, request=_request_without_strict)
"""For endpoints that refuse the member `strict` of a function."""

"""A request as an endpoint takes it: parameters, roles and lengths that it refused are left out or changed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agent.models.error_texts import output_limit
from agent.models.failures import Failure, Kind
from agent.models.protocol import Message
from agent.models.wire import Body

_RENAMED = {"max_tokens": "max_completion_tokens"}
_PARAMETERS = {
    "temperature": r"temperature",
    "seed": r"\bseed\b",
    "stream_options": r"stream[_ ]?options|include_usage",
    "tool_choice": r"tool[_ ]?choice",
    "stop": r"[`'\"]stop[`'\"]|\bstop\b[^.]{0,40}(support|allow|permit|unknown|unrecogni|unexpected|extra)"
    r"|\bstop[ _]sequences?\b|(unsupported|unknown|unrecognized|unexpected)[^.]{0,40}\bstop\b",
    "max_completion_tokens": r"max_?completion_?tokens",
    "max_tokens": r"max_?tokens|max(imum)? (output |new )?tokens|maxOutputTokens",
}
"""Optional parameters, and how endpoints name them."""
_SHAPES = {
    "stream": r"stream(ing|ed)?\b[^.]{0,40}(not|un)\W*(support|avail|allow|enabl)"
    r"|(not|n't) support\w*[^.]{0,20}\bstream",
    "null content": r"content\b.{0,60}(null|none\b|missing|required|not be empty|(should|must) be a (valid )?string)",
    "system": r"\bsystem\b.{0,30}\b(role|messages?|prompt|instruction)|\brole\b.{0,60}\bsystem\b|developer instruction"
    r"|(role|roles)\b.{0,40}(only|one of|must be).{0,20}user",
    "turns": r"roles? must alternate|alternat\w+ (user|role)|consecutive (user|messages|role)|unexpected role|same role"
    r"|after role",
    "thoughts": r"reasoning_content",
}
"""Parts of a request that endpoints refuse, and how they say so."""
_ABOUT_OTHERS = re.compile(
    r"\btools?\b|function|response_format|json|schema|image|picture|audio|video|vision|model\b|messages?\b|content|role|prompt",
    re.IGNORECASE,
)
_UNCLEAR = ("temperature", "seed", "stop", "stream_options", "tool_choice")


@dataclass(frozen=True, slots=True)
class Changes:
    """A part of a request that is removed or changed."""

    without: frozenset[str] = frozenset()
    most_output: int | None = None

    def __or__(self, other: Changes) -> Changes:
        limits = [limit for limit in (self.most_output, other.most_output) if limit is not None]
        return Changes(self.without | other.without, min(limits, default=None))


@dataclass(frozen=True, slots=True)
class Change:
    """The change after a refusal."""

    changes: Changes
    is_clear: bool
    """The endpoint named it."""


def change_for(failure: Failure, body: Body) -> Change | None:
    """The change that may make an endpoint take a request that it refused; None if no change helps."""
    if failure.status in (401, 403, 404, 429) or failure.kind in (Kind.AUTH, Kind.FILTERED, Kind.TIMEOUT):
        return None
    if failure.kind not in (Kind.REFUSED, Kind.TOO_LONG) and failure.status not in (400, 402, 422, 500, 501):
        return None
    if (limited := _lower_output(failure, body)) is not None:
        return limited
    if failure.kind is Kind.TOO_LONG or failure.is_about_pictures:
        return None
    said = failure.said
    for name, pattern in _PARAMETERS.items():
        if name in body and (_last_part(failure.parameter) == name or re.search(pattern, said, re.IGNORECASE)):
            return Change(Changes(frozenset([name])), is_clear=True)
    for name, pattern in _SHAPES.items():
        if _has_shape(name, body) and re.search(pattern, said, re.IGNORECASE | re.DOTALL):
            return Change(Changes(frozenset([name])), is_clear=True)
    optional = frozenset(name for name in _UNCLEAR if name in body)
    if failure.kind is Kind.REFUSED and optional and not failure.parameter and not _ABOUT_OTHERS.search(said):
        return Change(Changes(optional), is_clear=False)
    return None


def _lower_output(failure: Failure, body: Body) -> Change | None:
    name = next((each for each in ("max_tokens", "max_completion_tokens") if each in body), None)
    if name is None or (limit := output_limit(failure.status, failure.said, body[name])) is None:
        return None
    if limit.tokens is None:
        return Change(Changes(frozenset(["max_tokens", "max_completion_tokens"])), is_clear=False)
    return Change(Changes(most_output=limit.tokens), is_clear=limit.is_lasting)


def _last_part(parameter: str | None) -> str:
    return (parameter or "").rpartition(".")[2]


def _has_shape(name: str, body: Body) -> bool:
    messages = body["messages"]
    match name:
        case "stream":
            return bool(body.get("stream"))
        case "system":
            return any(message["role"] == "system" for message in messages)
        case "null content":
            return any(message.get("content") is None for message in messages)
        case "thoughts":
            return any("reasoning_content" not in message for message in messages if message.get("tool_calls"))
    return True


def fitted_body(body: Body, changes: Changes, *, streamed: bool) -> Body:
    """The request as the endpoint takes it."""
    fitted = dict(body)
    if streamed:
        fitted |= {"stream": True, "stream_options": {"include_usage": True}}
    if changes.most_output and fitted.get("max_tokens", 0) > changes.most_output:
        fitted["max_tokens"] = changes.most_output
    for parameter in sorted(changes.without, reverse=True):
        value = fitted.pop(parameter, None)
        renamed = _RENAMED.get(parameter)
        if renamed and value is not None and renamed not in changes.without:
            fitted[renamed] = value
        if parameter == "stream":
            fitted.pop("stream_options", None)
    if changes.without & _SHAPES.keys():
        fitted["messages"] = _fitted_messages(fitted["messages"], changes.without)
    return fitted


def _fitted_messages(messages: Sequence[Message], without: frozenset[str]) -> list[Message]:
    fitted: list[Message] = []
    system = ""
    for message in messages:
        role, content = message["role"], message.get("content")
        if "system" in without and role == "system":
            system = f"{system}\n\n{content}" if system else str(content)
            continue
        if system and role == "user":
            message, system = {**message, "content": _joined(system, content)}, ""
        elif system and role != "user":  # a conversation that does not begin with its question
            fitted.append({"role": "user", "content": system})
            system = ""
        if "null content" in without and content is None:
            message = {**message, "content": ""}
        if "thoughts" in without and message.get("tool_calls"):
            message = {"reasoning_content": "", **message}
        last = fitted[-1] if fitted else {}
        if "turns" in without and role == "user" and last.get("role") in ("user", "tool") and _can_join(last, message):
            fitted[-1] = {**last, "content": _joined(last["content"], message["content"])}
            continue
        fitted.append(message)
    return [*fitted, {"role": "user", "content": system}] if system else fitted


def _can_join(last: Message, message: Message) -> bool:
    return last["role"] == "user" or (isinstance(last["content"], str) and isinstance(message["content"], str))


def _joined(first: Any, second: Any) -> Any:
    """Return two contents as one: texts, or parts if there are pictures."""
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    parts = [[{"type": "text", "text": each}] if isinstance(each, str) else each or [] for each in (first, second)]
    return [*parts[0], *parts[1]]

"""Requests that an endpoint refused: find the parameter, role or length that it rejects, and send without it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.models.error_texts import output_limit
from agent.models.failures import Failure, Kind
from agent.models.protocol import Message
from agent.models.wire import Body, joined_contents

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
"""Optional parameters, each with a pattern of the error texts that complain about it."""
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
"""Other traits of a request that endpoints refuse, each with a pattern of the error texts."""
_ABOUT_OTHERS = re.compile(
    r"\btools?\b|function|response_format|json|schema|image|picture|audio|video|vision|model\b|messages?\b|content|role|prompt",
    re.IGNORECASE,
)
_DISPENSABLE = ("temperature", "seed", "stop", "stream_options", "tool_choice")
"""Parameters that are left out together if the endpoint does not say which one it refuses."""


@dataclass(frozen=True, slots=True)
class Restrictions:
    """Parts of a request that an endpoint does not accept."""

    without: frozenset[str] = frozenset()
    """Names from `_PARAMETERS` and `_SHAPES`."""
    most_output: int | None = None
    """Longest reply that may be requested, in tokens."""

    def __or__(self, other: Restrictions) -> Restrictions:
        limits = [limit for limit in (self.most_output, other.most_output) if limit is not None]
        return Restrictions(self.without | other.without, min(limits, default=None))


@dataclass(frozen=True, slots=True)
class Refused:
    """Restrictions that explain a refused request."""

    restrictions: Restrictions
    is_explicit: bool
    """True if the endpoint named the refused part; False for a guess."""


def restrictions_after(failure: Failure, body: Body) -> Refused | None:
    """Return the restrictions that may make the endpoint accept the request; None if nothing helps."""
    if failure.status in (401, 403, 404, 429) or failure.kind in (Kind.AUTH, Kind.FILTERED, Kind.TIMEOUT):
        return None
    if failure.kind not in (Kind.REFUSED, Kind.TOO_LONG) and failure.status not in (400, 402, 422, 500, 501):
        return None
    if (limited := _lower_output(failure, body)) is not None:
        return limited
    if failure.kind is Kind.TOO_LONG or failure.is_about_pictures:
        return None
    text = failure.full_text
    parameter = (failure.parameter or "").rpartition(".")[2]
    for name, pattern in _PARAMETERS.items():
        if name in body and (parameter == name or re.search(pattern, text, re.IGNORECASE)):
            return Refused(Restrictions(frozenset([name])), is_explicit=True)
    for name, pattern in _SHAPES.items():
        if _has_shape(name, body) and re.search(pattern, text, re.IGNORECASE | re.DOTALL):
            return Refused(Restrictions(frozenset([name])), is_explicit=True)
    optional = frozenset(name for name in _DISPENSABLE if name in body)
    if failure.kind is Kind.REFUSED and optional and not failure.parameter and not _ABOUT_OTHERS.search(text):
        return Refused(Restrictions(optional), is_explicit=False)
    return None


def _lower_output(failure: Failure, body: Body) -> Refused | None:
    name = next((each for each in ("max_tokens", "max_completion_tokens") if each in body), None)
    if name is None or (limit := output_limit(failure.status, failure.full_text, body[name])) is None:
        return None
    if limit.tokens is None:
        return Refused(Restrictions(frozenset(["max_tokens", "max_completion_tokens"])), is_explicit=False)
    return Refused(Restrictions(most_output=limit.tokens), is_explicit=limit.is_permanent)


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


def fitted_body(body: Body, restrictions: Restrictions, *, streamed: bool) -> Body:
    """Return the request without the parts that the endpoint refuses."""
    fitted = dict(body)
    if streamed:
        fitted |= {"stream": True, "stream_options": {"include_usage": True}}
    without = restrictions.without
    if restrictions.most_output and fitted.get("max_tokens", 0) > restrictions.most_output:
        fitted["max_tokens"] = restrictions.most_output
    for parameter in sorted(without, reverse=True):
        value = fitted.pop(parameter, None)
        renamed = _RENAMED.get(parameter)
        if renamed and value is not None and renamed not in without:
            fitted[renamed] = value
        if parameter == "stream":
            fitted.pop("stream_options", None)
    if without & _SHAPES.keys():
        fitted["messages"] = _fitted_messages(fitted["messages"], without)
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
            message, system = {**message, "content": joined_contents(system, content)}, ""
        elif system and role != "user":  # the conversation does not begin with a user message
            fitted.append({"role": "user", "content": system})
            system = ""
        if "null content" in without and content is None:
            message = {**message, "content": ""}
        if "thoughts" in without and message.get("tool_calls"):
            message = {"reasoning_content": "", **message}
        last = fitted[-1] if fitted else {}
        if "turns" in without and role == "user" and last.get("role") in ("user", "tool") and _can_join(last, message):
            fitted[-1] = {**last, "content": joined_contents(last["content"], message["content"])}
            continue
        fitted.append(message)
    return [*fitted, {"role": "user", "content": system}] if system else fitted


def _can_join(last: Message, message: Message) -> bool:
    return last["role"] == "user" or (isinstance(last["content"], str) and isinstance(message["content"], str))

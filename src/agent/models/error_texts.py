"""Classifies providers' error messages: too long, output limit, rate limit, bad key and so on.

Every provider words its errors differently, so the patterns look at codes, numbers and words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from mcp_tools.text import one_line

NO_SUCH_MODEL = re.compile(
    r"model.{0,80}(not found|not exist|does not exist|unknown|not supported|no such)"
    r"|(invalid|unknown|no such) model",
    re.IGNORECASE | re.DOTALL,
)
_OF_INPUT = (
    r"(prompt|inputs?|context|messages?|conversation|request(?!s)|requested|sequence|n_ctx|window|token count"
    r"|(number of|too many) tokens|keep the first)"
)
_OVER = (
    r"(too (long|large|many|big)|exceed|overflow|longer than|larger than|greater than|more than|beyond|less than"
    r"|shorter|cannot fit|not fit|maximum|max (length|context)|max_length|limit|should be \[|must be <|reduce)"
)
_TOO_LONG = re.compile(
    rf"\b{_OF_INPUT}\b.{{0,100}}{_OVER}|{_OVER}.{{0,60}}\b{_OF_INPUT}\b|maxLength.{{0,20}}actual"
    r"|(输入|上下文|长度|token).{0,20}(超过|超出|过长|超长)",
    re.IGNORECASE | re.DOTALL,
)
_MEASURE = re.compile(
    r"token|length|context|window|(prompt|input|conversation|messages?) (is |are )?too (long|large)"
    r"|too large to process|request too large|reduce|输入|上下文|长度",
    re.IGNORECASE,
)
_TOO_LONG_CODES = re.compile(
    r"context_length_exceeded|exceed_context_size|context_window|prompt_too_long|request_too_large|model_max_prompt"
    r"|string_above_max_length",
    re.IGNORECASE,
)
_OTHER_LENGTH = re.compile(
    r"stop sequence|tool_calls?\b.{0,20}\bid\b|\btools?\[|description|\bname\b"
    r"|\b(images?|pictures?|videos?|files?|audio)\b"
    r"|per[ -]min|per[ -](second|hour|day)|rate.?limit|concurren",
    re.IGNORECASE,
)
"""Matches other things that can be too long or too many."""
_OUTPUT_LENGTH = re.compile(
    r"max_(completion_|output_|new_)?tokens|max(imum)?[ _-]?(output|completion|new|generated)?[ _-]?tokens"
    r"|(output|completion|generated)[ _-]?tokens|in the (completion|output)|tokens you requested",
    re.IGNORECASE,
)
_INPUT_TOKENS = (
    r"(\d+)\s*(`?inputs?`?|prompt|of (text )?input|in (the|your) (messages|prompt))",
    r"(input|prompt|messages)[^.\d]{0,40}?(?:contains?|has|have|resulted in|length|with)[^.\d]{0,20}(\d+)",
)
NO_TOOLS = re.compile(
    r"\b(not|no|un|[a-z]+n't)\W*(\w+\W+){0,4}(support|enabl)\w*\W+(\w+\W+){0,3}(tool|function)"
    r"|(tool|function)(s|[\W_]?(use|choice|call\w*))?\W+(\w+\W+){0,3}(not|un)\W*(support|enabl)"
    r"|tools?\b.{0,20}\brequires?\b",
    re.IGNORECASE,
)
"""Matches if the model does not support functions. The status may be that of an unknown model or an overload."""
_PICTURES = r"(image|picture|vision|multi-?modal|mmproj)\w*"
_TAKES = r"(support|accept|enabl|allow)\w*"
NO_PICTURES = re.compile(
    rf"\b(not|no|un|[a-z]+n't)\W*(\w+\W+){{0,5}}{_TAKES}\W+(\w+\W+){{0,4}}{_PICTURES}"
    rf"|{_PICTURES}(\W+\w+){{0,4}}\W+(not|un|[a-z]+n't)\W*{_TAKES}|\bno\W+(\w+\W+){{0,3}}{_PICTURES}"
    rf"|\bnot an?\W+{_PICTURES}|{_PICTURES}\W+(\w+\W+){{0,2}}only\W+{_TAKES}|only\W+{_TAKES}\W+text|most 0 {_PICTURES}"
    r"|unknown variant .{0,3}image_url|content\b.{0,40}\b(must be|should be|expected|valid)\b.{0,20}string"
    r"|valid string.{0,40}content",
    re.IGNORECASE,
)
"""Matches if the model does not support pictures. For the status, see `NO_TOOLS`."""
NO_CREDIT = re.compile(
    r"insufficient[_ ](quota|balance|funds|credit)|billing|exceeded your current quota|credit|arrear|欠费|余额",
    re.IGNORECASE,
)
RATE = re.compile(
    r"rate.?limit|too many requests|per[ -]?(second|minute|min|hour|day)\b|(try again|retry) in\b|\b[RT]P[MSD]\b"
    r"|throttl|RESOURCE_EXHAUSTED|限流|频率",
    re.IGNORECASE,
)
OVERLOADED = re.compile(r"overload|server_error|at capacity|\bunavailable|temporarily|model is loading", re.IGNORECASE)
_SOON = re.compile(
    r"(?:try again|retry|retry_?delay\W+|wait)\s*(?:in|after)?\s*"
    r"((?:\d+(?:\.\d+)?\s*(?:ms|milliseconds?|h|hours?|m|mins?|minutes?|s|secs?|seconds?)\b\s*)+)",
    re.IGNORECASE,
)
_UNITS = {"ms": 0.001, "mi": 60.0, "h": 3600.0, "m": 60.0, "s": 1.0}
BAD_KEY = re.compile(
    r"api[ _]?key (is )?(not valid|invalid|expired)|(invalid|incorrect|wrong|missing)[ _]api[ _]?key|api_key_invalid"
    r"|invalid_authentication|authentication_error|unauthenticated|unauthorized",
    re.IGNORECASE,
)
FILTERED = re.compile(r"content_filter|content management policy|safety", re.IGNORECASE)


def is_too_long(text: str) -> bool:
    """Return True if the message says that the conversation exceeds the model's context."""
    if _TOO_LONG_CODES.search(text):
        return True
    if _OTHER_LENGTH.search(text) and "context" not in text:
        return False
    if (
        re.search(r"\bmax_(completion_|output_|new_)?tokens\b", text)
        and not _prompt_tokens(text)
        and "context" not in text
    ):
        return False
    return bool(_TOO_LONG.search(text) and _MEASURE.search(text))


def _prompt_tokens(text: str) -> int | None:
    """Return the length of the prompt, in tokens, if the message states it."""
    for pattern in _INPUT_TOKENS:
        if found := re.search(pattern, text, re.IGNORECASE):
            return int(next(group for group in found.groups() if group and group.isdigit()))
    return None


@dataclass(frozen=True, slots=True)
class OutputLimit:
    """Limit of one reply."""

    tokens: int | None
    """Maximum length of a reply, in tokens; None if the message does not state it."""
    is_permanent: bool
    """True for a limit of the model; False if it depends on the length of this prompt."""


def output_limit(status: int | None, text: str, requested: int) -> OutputLimit | None:
    """Return the output limit in an error message, after `requested` tokens were refused.

    Returns:
        The limit; None if the error is about something else.
    """
    text = re.sub(r"(?<=\d)[,_](?=\d{3}\b)", "", text)
    numbers = [int(number) for number in re.findall(r"(?<![\d.])\d{1,9}(?![\d.]*\d)", text)]
    if status in (401, 403, 404, 429) or not (_OUTPUT_LENGTH.search(text) or requested in numbers):
        return None
    summed = re.search(rf"(\d+) \+ {requested}\b", text)
    prompt = int(summed[1]) if summed else _prompt_tokens(text)
    if prompt is not None:
        # The context is a number that is larger than the prompt and smaller than the whole request.
        rooms = [number - prompt for number in numbers if prompt < number < prompt + requested and number != requested]
        return OutputLimit(max(rooms), is_permanent=False) if rooms and max(rooms) > _MIN_OUTPUT else None
    below = [number for number in numbers if _MIN_OUTPUT < number < requested]
    if below:
        return OutputLimit(max(below), is_permanent="context" not in text.lower() and status != 402)
    is_about_output = _OUTPUT_LENGTH.search(text) and not _UNKNOWN_PARAMETER.search(text)
    return OutputLimit(None, is_permanent=False) if is_about_output else None


_MIN_OUTPUT = 100
"""Smaller numbers in a message are not output limits."""
_UNKNOWN_PARAMETER = re.compile(
    r"un(supported|known|recognized|expected)|not (supported|permitted|allowed)|instead|extra|no such", re.IGNORECASE
)


def retry_seconds(text: str) -> float | None:
    """Return the wait that a message asks for, in seconds: `1m2.5s`, `500ms`, `20 seconds`."""
    if not (found := _SOON.search(text)):
        return None
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*(ms|mi|[hms])", found[1], re.IGNORECASE)
    return sum(float(number) * _UNITS[unit.lower()] for number, unit in parts)


_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_MARKUP = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.IGNORECASE | re.DOTALL)


def error_body(body: object) -> tuple[str, str, str | None]:
    """Return the message, the code and the parameter of an error response, in any known shape."""
    if isinstance(body, list) and body:
        body = body[0]
    error: Any = body
    if isinstance(body, dict):
        error = body.get("error") or body.get("errors") or body.get("base_resp") or body
    if isinstance(error, list) and error:
        error = error[0]
    if not isinstance(error, dict):
        text = "" if error is None else str(error)
        if re.match(r"\s*<(!doctype|html|\?xml|head|body)", text, re.IGNORECASE):
            title = _TITLE.search(text)
            text = f"a web page: {one_line(title[1] if title else _MARKUP.sub(' ', text), 200)}"
        code = body.get("code") if isinstance(body, dict) and error is not body else None
        return text, str(code or ""), None
    code = " ".join(str(error[k]) for k in ("code", "status", "type", "status_code") if error.get(k))
    parameter = error.get("param")
    message = next((error[k] for k in ("message", "detail", "msg", "status_msg", "error", "title") if error.get(k)), "")
    if isinstance(message, list) and message and isinstance(message[0], dict):  # pydantic's list of errors
        parameter = ".".join(str(part) for part in message[0].get("loc", ()) if part != "body") or None
        message = "; ".join(
            f"{part.get('loc', '')}: {part.get('msg', '')}" for part in message if isinstance(part, dict)
        )
    raw = (error.get("metadata") or {}).get("raw") if isinstance(error.get("metadata"), dict) else None
    details = error.get("details")
    delays = [each.get("retryDelay") for each in details if isinstance(each, dict)] if isinstance(details, list) else []
    more = [f"retryDelay {delay}" for delay in delays if delay] + ([str(raw)] if raw else [])
    return " ".join([str(message), *more]), code, parameter if isinstance(parameter, str) else None

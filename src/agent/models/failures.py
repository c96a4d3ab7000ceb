"""What went wrong at an endpoint, in one vocabulary: each kind has its error, its message and its retries.

This is the one place where the errors of openai and httpx2 become ours.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from agent.errors import (
    ModelAuthError,
    ModelBusyError,
    ModelDeclinedError,
    ModelError,
    ModelRefusedError,
    ModelTooLongError,
    ModelUnknownError,
    ModelUnreachableError,
)
from mcp_tools.text import one_line

if TYPE_CHECKING:
    import httpx2

_KEY_LIKE = re.compile(r"\b(?:(?:sk|pk|gsk|xai|hf)[-_]|AIza)[\w*.-]{6,}|\bBearer\s+\S+", re.IGNORECASE)
_NO_SUCH_MODEL = re.compile(
    r"model.{0,80}(not found|not exist|does not exist|unknown|not supported|no such)"
    r"|(invalid|unknown|no such) model",
    re.IGNORECASE | re.DOTALL,
)
_TOO_LONG = re.compile(
    r"context.{0,20}(length|size|window)|(?<!max_tokens is )(?<!max_completion_tokens is )too (long|large|many tokens)"
    r"|maximum.{0,30}tokens",
    re.IGNORECASE,
)
_NO_TOOLS = re.compile(
    r"\b(not|no|un|[a-z]+n't)\W*(\w+\W+){0,4}(support|enabl)\w*\W+(\w+\W+){0,3}(tool|function)"
    r"|(tool|function)(s|[\W_]?(use|choice|call\w*))?\W+(\w+\W+){0,3}(not|un)\W*(support|enabl)"
    r"|tools?\b.{0,20}\brequires?\b",
    re.IGNORECASE,
)
"""How endpoints say that a model calls no functions; some with the status of an unknown model or of an overload."""
_PICTURES = r"(image|picture|vision|multi-?modal|mmproj)\w*"
_TAKES = r"(support|accept|enabl|allow)\w*"
_NO_PICTURES = re.compile(
    rf"\b(not|no|un|[a-z]+n't)\W*(\w+\W+){{0,5}}{_TAKES}\W+(\w+\W+){{0,4}}{_PICTURES}"
    rf"|{_PICTURES}(\W+\w+){{0,4}}\W+(not|un|[a-z]+n't)\W*{_TAKES}|\bno\W+(\w+\W+){{0,3}}{_PICTURES}"
    rf"|\bnot an?\W+{_PICTURES}|{_PICTURES}\W+(\w+\W+){{0,2}}only\W+{_TAKES}|only\W+{_TAKES}\W+text|most 0 {_PICTURES}"
    r"|unknown variant .{0,3}image_url|content\b.{0,40}\b(must be|should be|expected|valid)\b.{0,20}string"
    r"|valid string.{0,40}content",
    re.IGNORECASE,
)
"""How endpoints say that a model takes no pictures; some with the status of an unknown model or of an overload."""
_NO_CREDIT = re.compile(r"insufficient_quota|billing|exceeded your current quota|credit", re.IGNORECASE)
_BAD_KEY = re.compile(r"api key (not valid|expired)|api_key_invalid", re.IGNORECASE)
_FILTERED = re.compile(r"content_filter|content management policy|safety", re.IGNORECASE)


_CHOOSE = "{known}Choose one with --model NAME, and check the base URL {url}."
_ANOTHER = "or choose another model with --model."
_REACH = "Check --base-url and the network; `alita doctor` shows what can be reached."
_API = "Check that the base URL is that of an OpenAI-compatible API (most end in /v1)."
_TIME = "Try again, or allow more time for each call with the setting `timeout`."
_SHORTER = "Ask a shorter question, or choose a model with a larger context (--model)."
_CHECK = "Check the model's name and what the endpoint supports."


class Kind(Enum):
    """What went wrong: its error, what that says, and what to do about it."""

    AUTH = (ModelAuthError, "{host} {key}", "{set_key}, or use --model embedded, which needs none.")
    UNKNOWN_MODEL = (ModelUnknownError, "{host} has no model {model!r}", _CHOOSE)
    UNREACHABLE = (ModelUnreachableError, "no connection to {url}", _REACH)
    CUT = (ModelUnreachableError, "{url} gave an incomplete or invalid answer", _API)
    """The answer broke off, or was no answer of this protocol."""
    TIMEOUT = (ModelUnreachableError, "{host} did not answer in time", _TIME)
    BUSY = (ModelBusyError, "{host} {busy}", f"Wait and try again with `alita resume`, {_ANOTHER}")
    CREDIT = (ModelBusyError, "the account at {host} has no credit left", f"Check its billing, {_ANOTHER}")
    TOO_LONG = (ModelTooLongError, "the request is too long for {model}", _SHORTER)
    FILTERED = (ModelDeclinedError, "{host} filtered the request", f"Rephrase the question, {_ANOTHER}")
    REFUSED = (ModelRefusedError, "{host} refused the request to {model}", _CHECK)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Who is asked, as far as messages may say it."""

    model: str
    url: str
    key_variable: str = "OPENAI_API_KEY"
    """The variable that the key came from, or should come from."""
    api_key: str | None = field(default=None, repr=False)

    @property
    def host(self) -> str:
        """Host and port, without a user's name or password."""
        return urlsplit(self.url).netloc.rpartition("@")[2] or self.url

    @property
    def shown_url(self) -> str:
        """The URL without a user's name or password."""
        parts = urlsplit(self.url)
        return parts._replace(netloc=self.host, query="", fragment="").geturl()

    def redact(self, text: str) -> str:
        """The text on one line, with this endpoint's key and whatever else looks like a key left out."""
        if self.api_key:
            text = text.replace(self.api_key, "[key]")
        return one_line(_KEY_LIKE.sub("[key]", text), 300)


@dataclass(eq=False, repr=False)
class Failure(Exception):
    """One failed call, before anyone decided whether to try again. Never leaves `agent.models`."""

    kind: Kind
    endpoint: Endpoint
    detail: str = ""
    status: int | None = None
    after: float | None = None
    parameter: str | None = None

    def __post_init__(self) -> None:
        self.detail = self.endpoint.redact(self.detail)
        super().__init__(f"{self.kind.name}: {self.detail}")

    @property
    def is_about_pictures(self) -> bool:
        """Whether the endpoint takes no pictures for this model, whatever they are."""
        return self.kind is Kind.REFUSED and _NO_PICTURES.search(self.detail) is not None

    @property
    def is_about_one_function(self) -> bool:
        """Whether the endpoint objects to the definition of one function, and not to functions as such."""
        said = f"{self.parameter} {self.detail}"
        return re.search(r"\btools\W?\d|function '", said) is not None

    def error(self, *, models: Sequence[str] = ()) -> ModelError:
        """The error to raise, with what to do about it; `models` are names that the endpoint offers."""
        told: tuple[type[ModelError], str, str] = self.kind.value
        e, (error, message, remedy) = self.endpoint, told
        name_key = "Set the variable that holds its key in [models.NAME]"
        values = {
            "host": e.host,
            "url": e.shown_url,
            "model": e.model,
            "key": "rejected the key" if e.api_key else "requires a key",
            "set_key": f"Set {e.key_variable} to a key that {e.host} accepts" if e.key_variable else name_key,
            "busy": "returned a server error" if (self.status or 0) >= 500 else "is limiting requests or overloaded",
            "known": f"It offers: {', '.join(models)}. " if models else "",
        }
        said = message.format(**values) + (f" ({self.status})" if self.status else "")
        return error(f"{said}: {self.detail}" if self.detail else said, remedy=remedy.format(**values))


def status_failure(endpoint: Endpoint, status: int, body: object, headers: Mapping[str, str] | None = None) -> Failure:
    """What an HTTP status of 400 or more means, given the body that came with it."""
    detail, code, parameter = _error_body(body)
    kind = _kind(status, f"{code} {detail}")
    return Failure(kind, endpoint, detail, status=status, after=retry_after(headers or {}), parameter=parameter)


def response_failure(endpoint: Endpoint, response: httpx2.Response) -> Failure:
    """What a response with a status of 400 or more means, once it was read."""
    try:
        body = response.json()
    except ValueError:
        body = response.text
    return status_failure(endpoint, response.status_code, body, response.headers)


def _kind(status: int, said: str) -> Kind:
    if status == 401 or (status == 400 and _BAD_KEY.search(said)):
        return Kind.AUTH
    if status not in (402, 403, 429) and (_NO_TOOLS.search(said[:2_000]) or _NO_PICTURES.search(said[:2_000])):
        return Kind.REFUSED
    if status == 403:
        return Kind.FILTERED if _FILTERED.search(said) else Kind.AUTH
    if status == 404:
        return Kind.UNKNOWN_MODEL
    if status == 402 or (status == 429 and _NO_CREDIT.search(said)):
        return Kind.CREDIT
    if status in (408, 504):
        return Kind.TIMEOUT
    if status in (409, 425, 429) or status >= 500:
        return Kind.BUSY
    if status == 413 or _TOO_LONG.search(said):
        return Kind.TOO_LONG
    if _FILTERED.search(said):
        return Kind.FILTERED
    return Kind.UNKNOWN_MODEL if _NO_SUCH_MODEL.search(said) else Kind.REFUSED


def _error_body(body: object) -> tuple[str, str, str | None]:
    """The message, the code and the parameter in an error's body, whatever its shape."""
    error: Any = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(error, dict):
        return ("" if error is None else str(error)), "", None
    code = " ".join(str(error[k]) for k in ("code", "type") if error.get(k))
    parameter = error.get("param")
    message = str(error.get("message") or error.get("detail") or "")
    return message, code, parameter if isinstance(parameter, str) else None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that `retry-after-ms` or `retry-after` asks for; the latter may be a date."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        value = headers.get("retry-after")
        if value is None:
            return None
        if re.fullmatch(r"\s*\d+(\.\d+)?\s*", value):
            return float(value)
        moment = parsedate_to_datetime(value)
        return max(0.0, (moment.astimezone(UTC) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def transport_failure(endpoint: Endpoint, exc: Exception) -> Failure:
    """What an exception of httpx2 means."""
    import httpx2

    if isinstance(exc, httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return Failure(Kind.UNREACHABLE, endpoint, "no connection in time")
    if isinstance(exc, httpx2.TimeoutException):
        return Failure(Kind.TIMEOUT, endpoint)
    if isinstance(exc, httpx2.RemoteProtocolError | httpx2.ReadError | httpx2.DecodingError):
        return Failure(Kind.CUT, endpoint, str(exc))
    return Failure(Kind.UNREACHABLE, endpoint, str(exc) or type(exc).__name__)


def openai_failure(endpoint: Endpoint, exc: Exception) -> Failure | None:
    """What an exception of the openai SDK means; None if it is not one that a model call can raise."""
    import httpx2
    import openai

    if isinstance(exc, openai.APIStatusError):
        return status_failure(endpoint, exc.status_code, exc.body or exc.message, exc.response.headers)
    if isinstance(exc, openai.APIConnectionError):
        if isinstance(cause := exc.__cause__, httpx2.HTTPError):
            return transport_failure(endpoint, cause)
        kind = Kind.TIMEOUT if isinstance(exc, openai.APITimeoutError) else Kind.UNREACHABLE
        return Failure(kind, endpoint, str(cause or exc))
    if isinstance(exc, openai.APIError):
        return event_failure(endpoint, exc.body or exc.message, status=getattr(exc, "status_code", None))
    return None


def event_failure(endpoint: Endpoint, body: object, *, status: int | None = None) -> Failure:
    """What an error means that came inside an answer or a stream."""
    detail, code, parameter = _error_body(body)
    if code.split(" ")[0].isdigit():
        return status_failure(endpoint, int(code.split(" ")[0]), body)
    busy = re.search(r"overload|rate.?limit|server_error", f"{code} {detail}", re.IGNORECASE)
    return Failure(Kind.BUSY if busy else Kind.CUT, endpoint, detail, status=status, parameter=parameter)


T = TypeVar("T")

Notify = Callable[[str], None]
"""Told in one line what is being waited for."""

Pause = Callable[[], contextlib.AbstractContextManager[None]]
PAUSE: ContextVar[Pause] = ContextVar("PAUSE", default=contextlib.nullcontext)
"""Entered while an endpoint makes a call wait: whoever measures work sets it."""


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a failed call is repeated."""

    busy: int = 4
    unreachable: int = 2
    """Few: a wrong URL should be told soon."""
    timeout: int = 1
    base: float = 0.5
    """Seconds before the first repetition at most; doubled for each further one."""
    longest: float = 30.0
    """Seconds that our own waiting grows to."""
    patience: float = 120.0
    """Seconds of `Retry-After` up to which we wait; beyond them the call fails and says so."""
    rng: random.Random = field(default_factory=random.Random)

    def limit(self, kind: Kind) -> int:
        """How often a failure of this kind is repeated."""
        limits = {Kind.BUSY: self.busy, Kind.TIMEOUT: self.timeout}
        return limits.get(kind, self.unreachable if kind in (Kind.UNREACHABLE, Kind.CUT) else 0)

    def wait(self, failure: Failure, repetition: int) -> float:
        """Seconds before a repetition (1 is the first): what the endpoint asks, or doubling with jitter."""
        if failure.after is not None:
            return failure.after + self.rng.uniform(0, 0.1 * failure.after)
        ceiling = min(self.longest, self.base * 2 ** (repetition - 1))
        return self.rng.uniform(ceiling / 2, ceiling)


async def retrying(call: Callable[[], Awaitable[T]], retry: Retry, notify: Notify | None) -> T:
    """Calls until it succeeds or the failure's repetitions are used up.

    Raises:
        Failure: The last one.
    """
    seen: Counter[Kind] = Counter()
    while True:
        try:
            return await call()
        except Failure as failure:
            seen[failure.kind] += 1
            if seen[failure.kind] > retry.limit(failure.kind) or (failure.after or 0) > retry.patience:
                raise
            seconds = retry.wait(failure, seen[failure.kind])
            if notify:
                notify(f"{failure.error().message}; trying again in {seconds:.1f} s")
            with PAUSE.get()() if failure.kind is Kind.BUSY else contextlib.nullcontext():
                await asyncio.sleep(seconds)

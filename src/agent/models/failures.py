"""Failed model calls: classifying them, choosing the error to raise, and retrying.

All exceptions of openai and httpx2 are converted here.
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
from typing import TYPE_CHECKING, Protocol, TypeVar
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
from agent.models.error_texts import (
    BAD_KEY,
    FILTERED,
    NO_CREDIT,
    NO_PICTURES,
    NO_SUCH_MODEL,
    NO_TOOLS,
    OVERLOADED,
    RATE,
    error_body,
    is_too_long,
    retry_seconds,
)
from mcp_tools.text import one_line

if TYPE_CHECKING:
    import httpx2

_KEY_LIKE = re.compile(r"\b(?:(?:sk|pk|gsk|xai|hf)[-_]|AIza)[\w*.-]{6,}|\bBearer\s+\S+", re.IGNORECASE)
_MIN_KEY_CHARS = 8
"""Shorter keys are not redacted, because placeholders such as `none` occur in ordinary words."""
_CHOOSE = "{known}Choose one with --model NAME, and check the base URL {url}."
_AGAIN = "To try again, run `alita resume`, or type /continue in a session."
_OR = "Or choose another model with --model, or with /model in a session."
_ANOTHER = f"or{_OR[2:]}"
_REACH = "Check --base-url and the network; `alita doctor` shows what can be reached."
_API = "Check that the base URL belongs to an OpenAI-compatible API (most end in /v1)."
_TIME = "Try again, or allow more time for each call with the setting `timeout`."
_SHORTER = "Ask a shorter question, or choose a model with a larger context (--model)."
_CHECK = "Check the model's name and what the endpoint supports."


class Kind(Enum):
    """The kinds of failure, each with its error class, message and remedy."""

    AUTH = (ModelAuthError, "{host} {key}", "{set_key}, or use --model embedded, which needs no key.")
    UNKNOWN_MODEL = (ModelUnknownError, "{host} has no model {model!r}", _CHOOSE)
    NONE_LISTED = (
        ModelUnknownError,
        "{url} does not list its models",
        "Choose a model with --model NAME, or check the base URL.",
    )
    NO_SERVER = (ModelUnreachableError, "No server answers at {url}", _REACH)
    """The connection was refused, which a second attempt rarely changes."""
    UNREACHABLE = (ModelUnreachableError, "could not connect to {url}", _REACH)
    INVALID = (ModelUnreachableError, "{url} gave an incomplete or invalid answer", _API)
    INTERRUPTED = (ModelUnreachableError, "the connection to {host} was lost", _AGAIN)
    NETWORK = (ModelUnreachableError, "requests cannot be sent", "{remedy}")
    """The proxies or certificates in the environment cannot be used."""
    TIMEOUT = (ModelUnreachableError, "{host} did not answer in time", _TIME)
    BUSY = (ModelBusyError, "{host} {busy}", f"Wait a little. {_AGAIN} {_OR}")
    CREDIT = (ModelBusyError, "the account at {host} has no credit left", f"Check its billing, {_ANOTHER}")
    TOO_LONG = (ModelTooLongError, "the request is too long for {model}", _SHORTER)
    FILTERED = (ModelDeclinedError, "{host} filtered the request", f"Rephrase the question, {_ANOTHER}")
    REFUSED = (ModelRefusedError, "{host} refused the request to {model}", _CHECK)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model at a URL, with its key.

    Use `host` and `shown_url` in messages: `url` may contain a password.
    """

    model: str
    url: str
    key_variable: str = "OPENAI_API_KEY"
    """Environment variable of the key, for messages."""
    api_key: str | None = field(default=None, repr=False)

    @property
    def host(self) -> str:
        """Host and port, without user name and password."""
        return urlsplit(self.url).netloc.rpartition("@")[2] or self.url

    @property
    def shown_url(self) -> str:
        """The URL without user name, password and query."""
        parts = urlsplit(self.url)
        return parts._replace(netloc=self.host, query="", fragment="").geturl()

    def redact(self, text: str) -> str:
        """Return the text on one line, with the key, and anything that looks like a key, replaced by `[key]`."""
        if self.api_key and len(self.api_key) >= _MIN_KEY_CHARS:
            text = text.replace(self.api_key, "[key]")
        return one_line(_KEY_LIKE.sub("[key]", text), 300)


@dataclass(eq=False, repr=False)
class Failure(Exception):
    """One failed call. Internal to `agent.models`: it is retried, or converted by `error()`."""

    kind: Kind
    endpoint: Endpoint
    detail: str = ""
    """The endpoint's message, redacted."""
    status: int | None = None
    after: float | None = None
    """Seconds to wait, if the endpoint asks for a wait."""
    parameter: str | None = None
    """The request parameter that the endpoint complains about."""
    remedy: str = ""
    """Replaces the remedy of the kind."""
    full_text: str = ""
    """The endpoint's message with its error codes, not redacted. Searched for limits and parameters, never shown."""

    def __post_init__(self) -> None:
        self.full_text = (self.full_text or self.detail)[:4_000]
        self.detail = self.endpoint.redact(self.detail)
        super().__init__(f"{self.kind.name}: {self.detail}")

    @property
    def is_about_pictures(self) -> bool:
        """True if this model accepts no pictures at all."""
        return self.kind is Kind.REFUSED and NO_PICTURES.search(self.detail) is not None

    @property
    def is_about_one_function(self) -> bool:
        """True if the endpoint rejects one function's definition, rather than all functions."""
        return re.search(r"\btools\W?\d|function '", f"{self.parameter} {self.detail}") is not None

    def error(self, *, models: Sequence[str] = ()) -> ModelError:
        """Return the error to raise. `models` are suggestions for an unknown model name."""
        parts: tuple[type[ModelError], str, str] = self.kind.value
        e, (error, message, remedy) = self.endpoint, parts
        name_key = "Set the variable that holds its key in [models.NAME]"
        values = {
            "host": e.host,
            "remedy": self.remedy or _REACH,
            "url": e.shown_url,
            "model": e.model,
            "key": "rejected the key" if e.api_key else "requires a key",
            "set_key": f"Set {e.key_variable} to a key that {e.host} accepts" if e.key_variable else name_key,
            "busy": "returned a server error" if (self.status or 0) >= 500 else "is limiting requests or overloaded",
            "known": f"It offers: {', '.join(models)}. " if models else "",
        }
        text = message.format(**values) + (f" ({self.status})" if self.status else "")
        return error(f"{text}: {self.detail}" if self.detail else text, remedy=remedy.format(**values))


def status_failure(endpoint: Endpoint, status: int, body: object, headers: Mapping[str, str] | None = None) -> Failure:
    """Return the failure for an HTTP status of 400 or more."""
    detail, code, parameter = error_body(body)
    after = retry_after(headers or {})
    after = retry_seconds(detail) if after is None else after
    kind = _kind(status, code, detail, waits=after is not None)
    return Failure(
        kind, endpoint, detail, status=status, after=after, parameter=parameter, full_text=f"{code} {detail}"
    )


def response_failure(endpoint: Endpoint, response: httpx2.Response) -> Failure:
    """Return the failure for a response with a status of 400 or more, after its body has been read."""
    try:
        body = response.json()
    except ValueError:
        body = response.text
    return status_failure(endpoint, response.status_code, body, response.headers)


def _kind(status: int, code: str, detail: str, *, waits: bool) -> Kind:
    text = f"{code} {detail}"[:4_000]
    if status == 401 or (status in (400, 403) and BAD_KEY.search(text)):
        return Kind.AUTH
    if status in (402, 403, 429):
        return _kind_of_account(status, text, waits=waits)
    if NO_TOOLS.search(text) or NO_PICTURES.search(text):
        return Kind.REFUSED
    if status != 404 and is_too_long(text):
        return Kind.TOO_LONG
    if status == 404:
        return Kind.UNKNOWN_MODEL
    if status in (408, 504):
        return Kind.TIMEOUT
    if status in (409, 425) or status >= 500:
        return Kind.BUSY
    if status == 413:
        return Kind.TOO_LONG
    if RATE.search(text):
        return Kind.BUSY
    if FILTERED.search(text):
        return Kind.FILTERED
    return Kind.UNKNOWN_MODEL if NO_SUCH_MODEL.search(text) else Kind.REFUSED


def _kind_of_account(status: int, text: str, *, waits: bool) -> Kind:
    """Tell rate limits from missing credit or rights. Messages about rate limits often mention billing too."""
    if status == 429 or RATE.search(text):
        return Kind.CREDIT if NO_CREDIT.search(text) and not (waits or RATE.search(text)) else Kind.BUSY
    if status == 402 or NO_CREDIT.search(text):
        return Kind.CREDIT
    return Kind.FILTERED if FILTERED.search(text) else Kind.AUTH


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds from `retry-after-ms` or `retry-after`, which may be a date; None without a valid header."""
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
    """Return the failure for an exception of httpx2."""
    import httpx2

    if isinstance(exc, httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return Failure(Kind.UNREACHABLE, endpoint, "no connection in time")
    if isinstance(exc, httpx2.TimeoutException):
        return Failure(Kind.TIMEOUT, endpoint)
    if isinstance(exc, httpx2.RemoteProtocolError | httpx2.ReadError):
        return Failure(Kind.INTERRUPTED, endpoint, str(exc))
    if isinstance(exc, httpx2.DecodingError):
        return Failure(Kind.INVALID, endpoint, str(exc))
    if is_refused(exc):
        return Failure(Kind.NO_SERVER, endpoint)
    return Failure(Kind.UNREACHABLE, endpoint, str(exc) or type(exc).__name__)


def is_refused(exc: BaseException | None) -> bool:
    """Return True if every attempt to connect was refused, so no program listens at the address."""
    if isinstance(exc, BaseExceptionGroup):
        return all(map(is_refused, exc.exceptions))
    return isinstance(exc, ConnectionRefusedError) or (exc is not None and is_refused(exc.__cause__ or exc.__context__))


def openai_failure(endpoint: Endpoint, exc: Exception) -> Failure | None:
    """Return the failure for an exception of the openai SDK; None for exceptions that are not API errors."""
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
    """Return the failure for an error inside a response with status 200, or inside a stream."""
    detail, code, parameter = error_body(body)
    text = f"{code} {detail}"
    for number in re.findall(r"\b[45]\d\d\b", code):
        return status_failure(endpoint, int(number), body)
    meanings = (
        (429, RATE.search(text) or re.search(r"insufficient_quota|exceeded your current quota", text)),
        (401, BAD_KEY.search(text)),
        (400, is_too_long(text) or re.search(r"invalid_request|INVALID_ARGUMENT|invalid_parameter", text)),
        (503, OVERLOADED.search(text)),
    )
    for meant, found in meanings:
        if found:
            failure = status_failure(endpoint, meant, body)
            failure.status = status
            return failure
    return Failure(Kind.INVALID, endpoint, detail, status=status, parameter=parameter, full_text=text)


T = TypeVar("T")

Notify = Callable[[str], None]
"""Called with one line of text that says what the program waits for."""

Pause = Callable[[], contextlib.AbstractContextManager[None]]
PAUSE: ContextVar[Pause] = ContextVar("PAUSE", default=contextlib.nullcontext)
"""Context manager for the time that a call waits for an endpoint. A run sets it to stop its clock meanwhile."""


class Slots(Protocol):
    """A limit on parallel model calls. Each call acquires a slot and releases it."""

    def locked(self) -> bool:
        """Return True if a call may have to wait."""
        ...

    async def acquire(self) -> object:
        """Wait for a slot."""
        ...

    def release(self) -> None:
        """Release a slot."""
        ...


def _process_slots(endpoint: str, count: int) -> Slots:
    return asyncio.Semaphore(count)


SLOTS: ContextVar[Callable[[str, int], Slots]] = ContextVar("SLOTS", default=_process_slots)
"""Creates the slots of an endpoint from its URL and their number. On a cluster, all workers share the slots."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Retry limits per kind of failure, and the waits between retries."""

    busy: int = 4
    unreachable: int = 2
    """Number of retries. It is low, so that a wrong URL is reported soon."""
    timeout: int = 1
    base: float = 0.5
    """Longest wait before the first retry, in seconds; doubled for each further retry."""
    longest: float = 30.0
    """Longest wait that doubling can reach, in seconds."""
    patience: float = 120.0
    """Longest wait that an endpoint may ask for (`Retry-After`, in seconds). If it asks for more, the call fails."""
    rng: random.Random = field(default_factory=random.Random)

    def limit(self, kind: Kind) -> int:
        """Return the number of retries after a failure of this kind."""
        limits = {Kind.BUSY: self.busy, Kind.TIMEOUT: self.timeout, Kind.NO_SERVER: 1}
        return limits.get(kind, self.unreachable if kind in (Kind.UNREACHABLE, Kind.INVALID, Kind.INTERRUPTED) else 0)

    def wait(self, failure: Failure, repetition: int) -> float:
        """Return the wait in seconds before a retry (the first is 1): what the endpoint asks for, or exponential."""
        if failure.after is not None:
            return failure.after + self.rng.uniform(0, 0.1 * failure.after)
        ceiling = min(self.longest, self.base * 2 ** (repetition - 1))
        return self.rng.uniform(ceiling / 2, ceiling)


async def retrying(call: Callable[[], Awaitable[T]], retry: Retry, notify: Notify | None) -> T:
    """Repeat a call until it succeeds, or until the retries for its kind of failure are exhausted.

    Raises:
        Failure: The last failure.
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

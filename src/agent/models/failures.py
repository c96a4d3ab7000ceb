"""Failures of endpoints by kind, each with its error, message and number of retries.

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
    seconds_named,
)
from mcp_tools.text import one_line

if TYPE_CHECKING:
    import httpx2

_KEY_LIKE = re.compile(r"\b(?:(?:sk|pk|gsk|xai|hf)[-_]|AIza)[\w*.-]{6,}|\bBearer\s+\S+", re.IGNORECASE)
_SHORTEST_KEY = 8
"""Characters of a key that is left out of messages: a placeholder such as `none` is part of many words."""
_CHOOSE = "{known}Choose one with --model NAME, and check the base URL {url}."
_AGAIN = "`alita resume` tries again, in a session /continue."
_OR = "Or choose another model: --model, in a session /model."
_ANOTHER = f"or{_OR[2:]}"
_REACH = "Check --base-url and the network; `alita doctor` shows what can be reached."
_API = "Check that the base URL belongs to an OpenAI-compatible API (most end in /v1)."
_TIME = "Try again, or allow more time for each call with the setting `timeout`."
_SHORTER = "Ask a shorter question, or choose a model with a larger context (--model)."
_CHECK = "Check the model's name and what the endpoint supports."


class Kind(Enum):
    """A failure: its error, message and remedy."""

    AUTH = (ModelAuthError, "{host} {key}", "{set_key}, or use --model embedded, which needs none.")
    UNKNOWN_MODEL = (ModelUnknownError, "{host} has no model {model!r}", _CHOOSE)
    NONE_LISTED = (
        ModelUnknownError,
        "{url} does not say which models it has",
        "Name one: --model NAME. Or check the base URL.",
    )
    UNREACHABLE = (ModelUnreachableError, "no connection to {url}", _REACH)
    CUT = (ModelUnreachableError, "{url} gave an incomplete or invalid answer", _API)
    """It was no answer of this protocol."""
    BROKEN = (ModelUnreachableError, "the connection to {host} broke", _AGAIN)
    """The answer broke off."""
    NETWORK = (ModelUnreachableError, "no request can be sent", "{remedy}")
    """The environment's proxies or certificates cannot be used."""
    TIMEOUT = (ModelUnreachableError, "{host} did not answer in time", _TIME)
    BUSY = (ModelBusyError, "{host} {busy}", f"Wait a little: {_AGAIN} {_OR}")
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
        """Return the text on one line, without this endpoint's key and other texts that look like keys."""
        if self.api_key and len(self.api_key) >= _SHORTEST_KEY:
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
    remedy: str = ""
    """In place of the kind's own."""
    said: str = ""
    """The endpoint's whole text with its codes, in which limits and parameters are looked for; never shown."""

    def __post_init__(self) -> None:
        self.said = (self.said or self.detail)[:4_000]
        self.detail = self.endpoint.redact(self.detail)
        super().__init__(f"{self.kind.name}: {self.detail}")

    @property
    def is_about_pictures(self) -> bool:
        """True if the endpoint takes no pictures at all for this model."""
        return self.kind is Kind.REFUSED and NO_PICTURES.search(self.detail) is not None

    @property
    def is_about_one_function(self) -> bool:
        """True if the endpoint objects to the definition of one function, and not to functions as such."""
        said = f"{self.parameter} {self.detail}"
        return re.search(r"\btools\W?\d|function '", said) is not None

    def error(self, *, models: Sequence[str] = ()) -> ModelError:
        """The error to raise, with what to do about it; `models` are names that the endpoint offers."""
        told: tuple[type[ModelError], str, str] = self.kind.value
        e, (error, message, remedy) = self.endpoint, told
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
        said = message.format(**values) + (f" ({self.status})" if self.status else "")
        return error(f"{said}: {self.detail}" if self.detail else said, remedy=remedy.format(**values))


def status_failure(endpoint: Endpoint, status: int, body: object, headers: Mapping[str, str] | None = None) -> Failure:
    """Return the failure for an HTTP status of 400 or more and its body."""
    detail, code, parameter = error_body(body)
    after = retry_after(headers or {})
    after = seconds_named(detail) if after is None else after
    kind = _kind(status, code, detail, waits=after is not None)
    return Failure(kind, endpoint, detail, status=status, after=after, parameter=parameter, said=f"{code} {detail}")


def response_failure(endpoint: Endpoint, response: httpx2.Response) -> Failure:
    """Return the failure for a response with a status of 400 or more that has been read."""
    try:
        body = response.json()
    except ValueError:
        body = response.text
    return status_failure(endpoint, response.status_code, body, response.headers)


def _kind(status: int, code: str, detail: str, *, waits: bool) -> Kind:
    said = f"{code} {detail}"[:4_000]
    if status == 401 or (status in (400, 403) and BAD_KEY.search(said)):
        return Kind.AUTH
    if status in (402, 403, 429):
        return _kind_of_account(status, said, waits=waits)
    if NO_TOOLS.search(said) or NO_PICTURES.search(said):
        return Kind.REFUSED
    if status != 404 and is_too_long(said):
        return Kind.TOO_LONG
    if status == 404:
        return Kind.UNKNOWN_MODEL
    if status in (408, 504):
        return Kind.TIMEOUT
    if status in (409, 425) or status >= 500:
        return Kind.BUSY
    if status == 413:
        return Kind.TOO_LONG
    if RATE.search(said):
        return Kind.BUSY
    if FILTERED.search(said):
        return Kind.FILTERED
    return Kind.UNKNOWN_MODEL if NO_SUCH_MODEL.search(said) else Kind.REFUSED


def _kind_of_account(status: int, said: str, *, waits: bool) -> Kind:
    """A rate limit, or an account without credit or rights. Texts on rate limits often link to billing pages."""
    if status == 429 or RATE.search(said):
        return Kind.CREDIT if NO_CREDIT.search(said) and not (waits or RATE.search(said)) else Kind.BUSY
    if status == 402 or NO_CREDIT.search(said):
        return Kind.CREDIT
    return Kind.FILTERED if FILTERED.search(said) else Kind.AUTH


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
    """Return the failure for an exception of httpx2."""
    import httpx2

    if isinstance(exc, httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return Failure(Kind.UNREACHABLE, endpoint, "no connection in time")
    if isinstance(exc, httpx2.TimeoutException):
        return Failure(Kind.TIMEOUT, endpoint)
    if isinstance(exc, httpx2.RemoteProtocolError | httpx2.ReadError):
        return Failure(Kind.BROKEN, endpoint, str(exc))
    if isinstance(exc, httpx2.DecodingError):
        return Failure(Kind.CUT, endpoint, str(exc))
    return Failure(Kind.UNREACHABLE, endpoint, str(exc) or type(exc).__name__)


def openai_failure(endpoint: Endpoint, exc: Exception) -> Failure | None:
    """Return the failure for an exception of the openai SDK; None if it is not one that a model call can raise."""
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
    """Return the failure for an error inside an answer or a stream."""
    detail, code, parameter = error_body(body)
    said = f"{code} {detail}"
    for number in re.findall(r"\b[45]\d\d\b", code):
        return status_failure(endpoint, int(number), body)
    meanings = (
        (429, RATE.search(said) or re.search(r"insufficient_quota|exceeded your current quota", said)),
        (401, BAD_KEY.search(said)),
        (400, is_too_long(said) or re.search(r"invalid_request|INVALID_ARGUMENT|invalid_parameter", said)),
        (503, OVERLOADED.search(said)),
    )
    for meant, found in meanings:
        if found:
            failure = status_failure(endpoint, meant, body)
            failure.status = status
            return failure
    return Failure(Kind.CUT, endpoint, detail, status=status, parameter=parameter, said=said)


T = TypeVar("T")

Notify = Callable[[str], None]
"""Told in one line what is being waited for."""

Pause = Callable[[], contextlib.AbstractContextManager[None]]
PAUSE: ContextVar[Pause] = ContextVar("PAUSE", default=contextlib.nullcontext)
"""Context manager that is entered while an endpoint makes a call wait; the run's budget sets it."""


class Slots(Protocol):
    """A limit of the model calls that run in parallel. Each call takes a slot, and gives it back."""

    def locked(self) -> bool:
        """Return True if a call may have to wait."""
        ...

    async def acquire(self) -> object:
        """Wait for a slot."""
        ...

    def release(self) -> None:
        """Give a slot back."""
        ...


def _own_slots(endpoint: str, most: int) -> Slots:
    """Return the slots of this process."""
    return asyncio.Semaphore(most)


SLOTS: ContextVar[Callable[[str, int], Slots]] = ContextVar("SLOTS", default=_own_slots)
"""Opens the slots of an endpoint, given its URL and the number of slots; a cluster shares them."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Number of times that a failed call is repeated."""

    busy: int = 4
    unreachable: int = 2
    """Few, so that a wrong URL is reported soon."""
    timeout: int = 1
    base: float = 0.5
    """Seconds before the first repetition at most; doubled for each further one."""
    longest: float = 30.0
    """Seconds that our own waiting grows to."""
    patience: float = 120.0
    """Seconds of `Retry-After` up to which we wait; beyond them the call fails and says so."""
    rng: random.Random = field(default_factory=random.Random)

    def limit(self, kind: Kind) -> int:
        """Return how many times a call is repeated after a failure of this kind."""
        limits = {Kind.BUSY: self.busy, Kind.TIMEOUT: self.timeout}
        return limits.get(kind, self.unreachable if kind in (Kind.UNREACHABLE, Kind.CUT, Kind.BROKEN) else 0)

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

"""What goes wrong between us and a site, as typed problems: the errors of httpx2 and statuses become ours here."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agent.web.page import Reason, WebProblem
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.web.fetching.response import Response

_PASSING = frozenset({408, 425, 429, 502, 503, 504})
_MEANINGS = {
    400: "the request was not understood",
    401: "it wants a login",
    402: "it wants to be paid",
    403: "access is refused",
    404: "there is no such page",
    410: "the page was taken away for good",
    429: "it was asked too often",
    451: "it is withheld for legal reasons",
    500: "the server failed",
    502: "the server behind it failed",
    503: "the server is overloaded or closed",
    504: "the server behind it did not answer",
}


class StatusProblem(WebProblem):
    """A site answered with a status that says no.

    Args:
        reason: What kind of problem it is.
        response: What it answered.
        message: What happened.
        remedy: What to do next.
        retry_after: Seconds to wait, where it named them.
    """

    def __init__(
        self, reason: Reason, response: Response, message: str, *, remedy: str, retry_after: float | None
    ) -> None:
        super().__init__(reason, message, remedy=remedy, retry_after=retry_after)
        self.response = response

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.response.status

    @property
    def host(self) -> str:
        """Who answered."""
        return urlsplit(self.response.url).hostname or ""

    @property
    def is_passing(self) -> bool:
        """Whether it may go better in a moment."""
        return self.status in _PASSING and "cf-mitigated" not in self.response.headers


def problem_of_status(response: Response) -> StatusProblem:
    """What a status of 300 and more means."""
    reason: Reason = "rate_limit" if response.status == 429 else "http"
    meaning = f": {_MEANINGS[response.status]}" if response.status in _MEANINGS else ""
    after = retry_after_of(response.headers.get("retry-after", ""))
    waits = f" It may be asked again in {after:g} s." if after else ""
    return StatusProblem(
        reason,
        response,
        f"{one_line(response.url, 200)} answered with status {response.status}{meaning}.{waits}",
        remedy="Take another source." if response.status != 404 else "Check the address, or take another source.",
        retry_after=after,
    )


def retry_after_of(value: str) -> float | None:
    """Seconds of a Retry-After header, which has seconds or a date."""
    value = value.strip()
    if value.replace(".", "", 1).isdecimal():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


@contextmanager
def foreign_errors(url: str, seconds: float) -> Iterator[None]:
    """Errors of httpx2, of the network and of the clock become problems.

    Args:
        url: What was asked.
        seconds: What it was given.

    Raises:
        WebProblem: For each of them.
    """
    import httpx2

    shown = one_line(url, 200)
    try:
        yield
    except (TimeoutError, httpx2.TimeoutException) as error:
        limit = _limit_of(error, seconds)
        raise WebProblem(
            "timeout", f"{shown} did not answer within {limit:g} s.", remedy="Take another source, or try later."
        ) from error
    except httpx2.InvalidURL as error:
        raise WebProblem("refused_address", f"{shown} is no address: {error}.", remedy="Correct it.") from error
    except (httpx2.HTTPError, httpx2.StreamError, ssl.SSLError, OSError) as error:
        raise _of_connection(shown, error) from error


def _limit_of(error: Exception, seconds: float) -> float:
    """The seconds that were over: connecting and reading have limits of their own."""
    request = getattr(error, "_request", None)
    limits = request.extensions.get("timeout", {}) if request is not None else {}
    return limits.get(type(error).__name__.removesuffix("Timeout").lower()) or seconds


def _of_connection(shown: str, error: Exception) -> WebProblem:
    causes = list(causes_of(error))
    if tls := next((one for one in causes if isinstance(one, ssl.SSLError)), None):
        why = getattr(tls, "verify_message", "") or tls.reason or str(tls)
        return WebProblem(
            "tls", f"{shown} has no safe connection: {one_line(str(why), 200)}.", remedy="Take another source."
        )
    if any(isinstance(one, socket.gaierror) for one in causes):
        return WebProblem("dns", f"There is no host of {shown}.", remedy="Check the spelling, or take another source.")
    said = one_line(str(causes[-1]) or type(causes[-1]).__name__, 200)
    return WebProblem(
        "connection", f"The connection to {shown} failed: {said}.", remedy="Take another source, or try later."
    )


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """The error and what led to it, outermost first: the parts of a group, and what stands among its arguments, too."""
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        current = waiting.pop(0)
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        waiting += current.exceptions if isinstance(current, BaseExceptionGroup) else ()
        waiting += (one for one in current.args if isinstance(one, BaseException))
        waiting.append(current.__cause__ or current.__context__)

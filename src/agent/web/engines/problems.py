"""What went wrong at a search engine, as a `WebProblem`: the one place where statuses and HTTP errors become ours."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from agent.models.failures import retry_after
from agent.web.fetching.problems import causes_of
from agent.web.protocol import Reason, WebProblem
from mcp_tools.text import one_line

INSTALL = 'Install it: pip install -c constraints.txt ".[web]"'
_NETWORK = "Check the network; without one, ALITA_WEB_INDEX names pages of one's own to search."
_TLS = "Check the clock and the certificates of this machine; the connection is never made without them."
_STATUSES: dict[int, Reason] = {
    401: "bad_key",
    402: "quota",
    403: "bad_key",
    408: "timeout",
    413: "too_large",
    429: "rate_limit",
    # Two of Tavily's own: the plan's limit, and the limit of what is paid as it is used.
    432: "quota",
    433: "quota",
    504: "timeout",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """Who is asked, as far as messages may say it."""

    engine: str
    url: str
    """Base address of its API."""
    key: str = field(default="", repr=False)
    """Never shown."""
    variable: str = ""
    """The environment variable of its key; empty for an engine without one."""

    @property
    def host(self) -> str:
        """Host and port."""
        return urlsplit(self.url).netloc.rpartition("@")[2] or self.url

    def shown(self, text: str) -> str:
        """The text on one line, without the key."""
        return one_line(text.replace(self.key, "[key]") if self.key else text, 200)


def status_problem(asked: Asked, status: int, said: str, headers: Mapping[str, str]) -> WebProblem:
    """What an HTTP status of 400 or more means.

    Args:
        asked: Who answered.
        status: The status.
        said: What the body says about it.
        headers: Names in lower case.
    """
    reason = _STATUSES.get(status, "http")
    if reason == "bad_key" and not asked.key:
        reason = "no_key" if asked.variable else "http"
    what = {
        "bad_key": f"{asked.host} refused the key",
        "no_key": f"{asked.host} wants a key",
        "quota": f"the quota at {asked.host} is used up",
        "rate_limit": f"{asked.host} limits the rate",
        "timeout": f"{asked.host} did not answer in time",
        "too_large": f"{asked.host} finds the request too large",
    }.get(reason, f"{asked.host} failed")
    after = retry_after(headers) if reason == "rate_limit" or status == 503 else None
    wait = f", wait {after:.0f} s" if after else ""
    detail = f": {asked.shown(said)}" if said.strip() else ""
    return WebProblem(reason, f"{what} ({status}{wait}){detail}", remedy=_remedy(asked, reason), retry_after=after)


def transport_problem(asked: Asked, error: BaseException) -> WebProblem:
    """What an exception of httpx or httpx2 means; both have the same names."""
    names = {name.__name__ for one in causes_of(error) for name in type(one).__mro__}
    if any(isinstance(one, ssl.SSLError) for one in causes_of(error)):
        return WebProblem("tls", f"the connection to {asked.host} is not safe: {asked.shown(str(error))}", remedy=_TLS)
    if any(isinstance(one, socket.gaierror) for one in causes_of(error)):
        return WebProblem("dns", f"there is no address for {asked.host}", remedy=_NETWORK)
    if "TimeoutException" in names or "TimeoutError" in names:
        return WebProblem("timeout", f"{asked.host} did not answer in time", remedy=_NETWORK)
    said = asked.shown(str(error)) or type(error).__name__
    return WebProblem("connection", f"no connection to {asked.host}: {said}", remedy=_NETWORK)


def nonsense_problem(asked: Asked, what: str) -> WebProblem:
    """An answer that is none of the engine's."""
    remedy = "Its API may have changed, or a proxy answers in its place; name other engines with ALITA_ENGINES."
    return WebProblem("mismatch", f"{asked.host} gave no answer of {asked.engine}: {asked.shown(what)}", remedy=remedy)


def package_problem(engine: str) -> WebProblem:
    """An engine whose package is not there."""
    return WebProblem("no_key", f"the package of {engine} is not installed", remedy=INSTALL)


def _remedy(asked: Asked, reason: Reason) -> str:
    if reason in ("bad_key", "no_key"):
        return f"Set {asked.variable} to a key that {asked.host} accepts."
    if reason == "quota":
        return f"Look at the account at {asked.host}, or name other engines with ALITA_ENGINES."
    return "Ask again later, or name other engines with ALITA_ENGINES."

"""A task for the browser, and its outcome."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from agent.browser.logins import Login
from agent.consent.text_origins import Origins
from agent.events import ActionRefused, BrowserStepped, InstructionFound
from agent.models.protocol import Completion, Message, Usage
from agent.web.address import links_by_form


class AskModel(Protocol):
    """Asks the model of the browser role. Its exceptions are those of `agent.context.Context.complete`."""

    def __call__(
        self,
        messages: Sequence[Message],
        *,
        schema: dict[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> Awaitable[Completion]:
        """Return the model's completion."""
        ...


def is_among(url: str, hosts: Sequence[str]) -> bool:
    """Return True if the host of an address is one of `hosts` or a subdomain of one, or if `hosts` is empty."""
    try:
        host = (urlsplit(url).hostname or "").lower()
    except ValueError:
        return False
    return not hosts or any(host == one or host.endswith(f".{one}") for one in hosts)


@dataclass(frozen=True, slots=True)
class BrowserTask:
    """A task for the browser."""

    question: str
    """The question or task, in the user's words."""
    url: str
    """Address of the first page."""
    hosts: tuple[str, ...] = ()
    """Hosts that may be opened, including their subdomains; empty to allow all hosts."""
    files: tuple[Path, ...] = ()
    """Files that may be uploaded."""
    logins: tuple[Login, ...] = field(default=(), repr=False)
    steps: int = 25
    seconds: float = 300.0
    folder: Path | None = None
    """Folder for screenshots and downloads; None to save neither."""
    wanted: str = ""
    """The user's own text, if a model wrote the question. Actions are checked against it."""
    private: tuple[str, ...] = field(default=(), repr=False)
    """The user's private data, which may be typed only at sites that the user names."""
    chrome: Path | None = None
    """The setting `chrome`; None to search for an installed browser."""
    may_download: bool = True
    """True if a browser may be downloaded."""
    allow_private: bool = False
    """True if pages on this machine and its network may be opened."""
    allow_addresses: tuple[str, ...] = ()
    """Private addresses that may be opened anyway, as in the setting of the same name."""
    sees: bool = False
    """True if the model reads pictures."""

    def origins(self, foreign: Sequence[str] = (), links: Sequence[str] = ()) -> Origins:
        """Return the known texts by origin, for checking actions."""
        wanted = self.wanted or f"{self.question}\n{self.url}"
        secrets = tuple(login.password for login in self.logins)
        return Origins(wanted, foreign, private=self.private, secrets=secrets, links=links_by_form((self.url, *links)))

    def allows(self, url: str) -> bool:
        """Return True if a page's host may be opened."""
        return is_among(url, self.hosts)


@dataclass(frozen=True, slots=True)
class BrowserOutcome:
    """The outcome of a task."""

    text: str
    """The answer, or the findings so far."""
    ok: bool
    url: str
    """Address of the last page."""
    steps: tuple[BrowserStepped, ...] = ()
    problem: str = ""
    """The reason why the task failed; empty if it succeeded."""
    files: tuple[Path, ...] = ()
    """Downloaded files."""
    usage: Usage = field(default_factory=Usage)
    """Tokens and cost of the model."""
    apart: tuple[InstructionFound | ActionRefused, ...] = ()
    """Instructions that were ignored, and actions that were refused."""

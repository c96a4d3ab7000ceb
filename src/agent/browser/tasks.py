"""A task for the browser, and its outcome."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from agent.browser.logins import Login
from agent.consent.origins import Origins
from agent.events import ActionRefused, BrowserStepped, InstructionFound
from agent.models.protocol import Completion, Message, Usage
from agent.web.address import links_by_form


class AskModel(Protocol):
    """Asks the browser role's model; see `agent.context.Context.complete` for what it raises."""

    def __call__(
        self,
        messages: Sequence[Message],
        *,
        schema: dict[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> Awaitable[Completion]:
        """The model's completion."""
        ...


def is_among(url: str, hosts: Sequence[str]) -> bool:
    """Return True if the host of an address is one of these, or below one; any is where there are none."""
    try:
        host = (urlsplit(url).hostname or "").lower()
    except ValueError:
        return False
    return not hosts or any(host == one or host.endswith(f".{one}") for one in hosts)


@dataclass(frozen=True, slots=True)
class BrowserTask:
    """What a browser is to do."""

    question: str
    """What is asked, or to be done, in the user's words."""
    url: str
    """Where it begins."""
    hosts: tuple[str, ...] = ()
    """The only hosts whose pages may be opened, with their subdomains; any without."""
    files: tuple[Path, ...] = ()
    """Files that a page may be given."""
    logins: tuple[Login, ...] = field(default=(), repr=False)
    steps: int = 25
    seconds: float = 300.0
    folder: Path | None = None
    """Where screenshots and downloads are kept; None keeps none."""
    wanted: str = ""
    """What the user wrote, where the question is a model's; what is typed and opened is judged by it."""
    private: tuple[str, ...] = field(default=(), repr=False)
    """What belongs to the user: it is typed at sites only that the user names."""
    chrome: Path | None = None
    """The user's own choice of a browser; one is looked for without."""
    may_download: bool = True
    """A browser may be downloaded."""
    allow_private: bool = False
    """Also open pages on this machine and its network."""
    allow_addresses: tuple[str, ...] = ()
    """The only pages of these that are opened, as in the setting of this name."""
    sees: bool = False
    """True if the model reads pictures."""

    def origins(self, foreign: Sequence[str] = (), links: Sequence[str] = ()) -> Origins:
        """Where everything comes from that is known of a page's actions."""
        wanted = self.wanted or f"{self.question}\n{self.url}"
        secrets = tuple(login.password for login in self.logins)
        return Origins(wanted, foreign, private=self.private, secrets=secrets, links=links_by_form((self.url, *links)))

    def allows(self, url: str) -> bool:
        """Return True if a page's host is one of those that may be opened."""
        return is_among(url, self.hosts)


@dataclass(frozen=True, slots=True)
class BrowserOutcome:
    """The outcome of a task."""

    text: str
    """The answer, or what was found until it ended."""
    ok: bool
    url: str
    """Where it ended."""
    steps: tuple[BrowserStepped, ...] = ()
    problem: str = ""
    """Why it is not done."""
    files: tuple[Path, ...] = ()
    """What was downloaded."""
    usage: Usage = field(default_factory=Usage)
    """What the model cost."""
    apart: tuple[InstructionFound | ActionRefused, ...] = ()
    """What was not believed, and not done."""

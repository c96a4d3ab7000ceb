"""Keeps known copies of the benchmark's answers from the agent, and reports each that it met.

Agents find the dataset's mirrors by searching for a question's words. Code that fetches from the web asks the guard
about every address before it is opened, and about every text before it is shown.
"""

from __future__ import annotations

import asyncio
import functools
import json
import re
from collections.abc import Callable, Iterator
from importlib.resources import files
from urllib.parse import unquote

from agent.events import Event, LeakBlocked
from agent.web.address import split_address
from mcp_tools.text import one_line

PASSAGE = 12  # words in a row that two texts do not share by chance
_SCHEME = re.compile(r"https?:/+", re.IGNORECASE)


@functools.cache
def _known_leaks() -> tuple[list[tuple[str, str]], re.Pattern[str]]:
    """The list that comes with alita, `leaks.json`: where copies are, and words that only a page about them has.

    A place is a host, which includes its subdomains, and a pattern of the path.
    """
    data = json.loads(files("agent.web").joinpath("leaks.json").read_text("utf-8"))
    return data["places"], re.compile("|".join(f"(?:{word})" for word in data["words"]), re.IGNORECASE)


def leak_in(address: str, text: str = "") -> str | None:
    """Why an address, or the text found there, is a known copy of the dataset; None if the text is no address.

    Args:
        address: A URL, with or without a scheme.
        text: A title, a snippet or a page.
    """
    places, words = _known_leaks()
    plain = _decoded(address)
    # an archive and a reader of pages get addresses in their path or query
    for one in [plain, *(f"https://{inner}" for inner in _SCHEME.split(plain)[1:])]:
        parts = split_address(one)
        host = (parts.hostname or "").removeprefix("www.").rstrip(".")
        for known, pattern in places:
            if (host == known or host.endswith(f".{known}")) and re.search(
                pattern, f"{parts.path}?{parts.query}".lower()
            ):
                return f"{known} holds a copy of the dataset"
    if found := words.search(f"{plain}\n{text}"):
        return f"it speaks of {found[0].lower()!r}"
    return None


def _decoded(address: str) -> str:
    """Return the address decoded twice, since mirrors and caches carry addresses inside addresses."""
    return unquote(unquote(address.strip()))


def _passages(text: str) -> Iterator[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return (tuple(words[i : i + PASSAGE]) for i in range(len(words) - PASSAGE + 1))


class LeakGuard:
    """Blocks known copies during one run, and pages that quote its question at length.

    Args:
        tell: Gets an event for each that was met.
        question: The query.
    """

    def __init__(self, tell: Callable[[Event], None], question: str = "") -> None:
        self._tell = tell
        self._passages = frozenset(_passages(question))

    def blocks(self, address: str, text: str = "") -> bool:
        """Return True if an address must not be opened, or its text not be shown; a hit is reported.

        Args:
            address: The address.
            text: The text found there, if it has been opened.
        """
        return self._told(address, self._reason(address, text))

    async def blocks_page(self, address: str, text: str) -> bool:
        """As `blocks`, for a long text, without blocking other tasks."""
        return self._told(address, await asyncio.to_thread(self._reason, address, text))

    def _reason(self, address: str, text: str) -> str | None:
        if found := leak_in(address, text):
            return found
        if self._passages and not self._passages.isdisjoint(_passages(f"{_decoded(address)} {text}")):
            return f"it quotes {PASSAGE} words of the question"
        return None

    def _told(self, address: str, reason: str | None) -> bool:
        if reason is not None:
            self._tell(LeakBlocked(address, reason))
        return reason is not None

    def blocks_query(self, query: str) -> bool:
        """Return True if a search must not be made: it asks for the dataset itself; a hit is reported.

        A query may well be the question, and may name any address.
        """
        found = _known_leaks()[1].search(query)
        if found is not None:
            self._tell(LeakBlocked(one_line(query, 500), f"it asks for {found[0].lower()!r}"))
        return found is not None

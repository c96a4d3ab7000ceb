"""Keeps known copies of the benchmark's answers from the agent, and reports each attempt.

Searching for a question's words finds mirrors of the dataset. Code that fetches from the web asks the guard before it
opens an address or shows a text.
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

PASSAGE = 12  # two texts do not share this many words in a row by chance
_SCHEME = re.compile(r"https?:/+", re.IGNORECASE)


@functools.cache
def _known_leaks() -> tuple[list[tuple[str, str]], re.Pattern[str]]:
    """Read `leaks.json`: places of copies, and words that occur only on pages about them.

    A place is a host, including its subdomains, and a path pattern.
    """
    data = json.loads(files("agent.web").joinpath("leaks.json").read_text("utf-8"))
    return data["places"], re.compile("|".join(f"(?:{word})" for word in data["words"]), re.IGNORECASE)


def leak_in(address: str, text: str = "") -> str | None:
    """Return why an address or its text is a known copy of the dataset, or None.

    Args:
        address: URL, with or without a scheme.
        text: Title, snippet or page at the address.
    """
    places, words = _known_leaks()
    plain = _decoded(address)
    # archives and page readers have the real address in their path or query
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
    """Return the address decoded twice, since mirrors and caches nest addresses."""
    return unquote(unquote(address.strip()))


def _passages(text: str) -> Iterator[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return (tuple(words[i : i + PASSAGE]) for i in range(len(words) - PASSAGE + 1))


class LeakGuard:
    """Blocks known copies during a run, and pages that quote the run's question at length.

    Args:
        tell: Receives an event for each blocked page.
        question: The question of the run.
    """

    def __init__(self, tell: Callable[[Event], None], question: str = "") -> None:
        self._tell = tell
        self._passages = frozenset(_passages(question))

    def blocks(self, address: str, text: str = "") -> bool:
        """Return True, and report it, if an address must not be opened or its text must not be shown.

        Args:
            address: The address.
            text: The text at the address, if it was opened.
        """
        return self._told(address, self._reason(address, text))

    async def blocks_page(self, address: str, text: str) -> bool:
        """Like `blocks`, but run in a thread, because the text may be long."""
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
        """Return True, and report it, if a search asks for the dataset itself.

        A query may contain the question and any address.
        """
        found = _known_leaks()[1].search(query)
        if found is not None:
            self._tell(LeakBlocked(one_line(query, 500), f"it asks for {found[0].lower()!r}"))
        return found is not None

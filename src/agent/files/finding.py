"""Where words occur in a file: lines with all of them, else lines with some."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from agent.files.contents import Contents, ReadLimits, Section

_LINE = 600
"""Characters of a line that are shown around the words."""


@dataclass(slots=True)
class _Hits:
    """Lines that were found, as many as there is room for."""

    room: int
    lines: list[str] = field(default_factory=list)
    found: int = 0
    unshown_page: int = 0
    """The first page with a line that there was no room for."""
    _page: int = 0

    def add(self, page: int, name: str, line: str) -> None:
        """Takes a line, with its page where that is another one."""
        self.found += 1
        head = f"## page {page}" + (f" ({name})" if name and name != f"page {page}" else "")
        size = len(line) + 1 + (len(head) + 2 if page != self._page else 0)
        if self.unshown_page or size > self.room:
            self.unshown_page = self.unshown_page or page
            return
        if page != self._page:
            self.lines += ["", head] if self.lines else [head]
        self._page = page
        self.lines.append(line)
        self.room -= size


def find_words(
    contents: Contents, words: str, page: int, to: int | None, limit: int, limits: ReadLimits
) -> dict[str, Any]:
    """The lines with the words, from a page on, each under its page.

    A search that takes too long ends with what it found, and says where to go on.
    """
    until = time.monotonic() + limits.seconds * 0.7
    wanted = words.casefold().split()
    every, some = _Hits(limit), _Hits(limit)
    number, stopped = page - 1, 0
    for number, section in enumerate(contents.sections(page), page):
        if to is not None and number > to:
            break
        if time.monotonic() > until:
            stopped = number
            break
        _search(number, section, wanted, every, some)
    hits = every if every.found or len(wanted) < 2 else some
    return {
        "where": _where(words, hits, hits is every),
        "text": "\n".join(hits.lines),
        "more": _more(hits, stopped),
        "lost": list(dict.fromkeys(contents.lost)),
    }


def _search(number: int, section: Section, wanted: list[str], every: _Hits, some: _Hits) -> None:
    folded = section.text.casefold()
    if not any(word in folded for word in wanted):
        return
    for line in section.text.splitlines():
        low = line.casefold()
        there = [word for word in wanted if word in low]
        if there:
            hits = every if len(there) == len(wanted) else some
            hits.add(number, section.name, _around(line, low.find(there[0])))


def _around(line: str, at: int) -> str:
    if len(line) <= _LINE:
        return line
    start = max(0, at - _LINE // 2)
    end = start + _LINE
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


def _where(words: str, hits: _Hits, every: bool) -> str:
    if not hits.found:
        return f"{words!r} is nowhere in it"
    lines = f"{hits.found:,} line{'s' if hits.found > 1 else ''}"
    return f"{lines} with {words!r}" if every else f"no line has all of {words!r}; {lines} with some of the words"


def _more(hits: _Hits, stopped: int) -> str:
    more = []
    if hits.unshown_page:
        more.append(f"There are more: go on with page={hits.unshown_page}.")
    if stopped:
        more.append(f"The search stopped at its time limit: go on with page={stopped}.")
    return " ".join(more)

"""Where words occur in a file: lines with all of them, else lines with some, each with the lines around it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from agent.files.contents import Contents, ReadLimits, Section

_LINE = 600
"""Characters of a line that are shown around the words."""
_BESIDE = 200
"""Characters of a line that stands beside one with the words."""
_AROUND = (2, 1, 0)
"""Lines on each side: as many as there is room for beside all that were found."""
_RULE = re.compile(r"\|[\s|:]*-[\s|:-]*")
"""The line below the head of a table."""


@dataclass(slots=True)
class _Hits:
    """Lines that were found, with so many lines around each, as far as there is room."""

    room: int
    around: int
    lines: list[str] = field(default_factory=list)
    found: int = 0
    unshown_page: int = 0
    """The first page with a line that there was no room for."""

    def add(self, page: int, section: Section, lines: list[str], at: dict[int, int]) -> None:
        """Takes the lines of a page.

        Args:
            page: Its number.
            section: What it is.
            lines: All its lines.
            at: Those that were found, with where in each of them.
        """
        self.found += len(at)
        if self.unshown_page:
            return
        name = f" ({section.name})" if section.name and section.name != f"page {page}" else ""
        waiting = [*([""] if self.lines else []), f"## page {page}{name}"]
        last = -1
        for number in _with_others(lines, at, self.around):
            if self.around and last >= 0 and any(line.strip() for line in lines[last + 1 : number]):
                waiting.append("…")
            waiting.append(_shown(lines[number], section.line + number, at.get(number)))
            size = sum(len(line) + 1 for line in waiting)
            if size > self.room:
                self.unshown_page = page
                return
            self.lines += waiting
            self.room -= size
            waiting, last = [], number


def find_words(
    contents: Contents,
    words: str,
    page: int,
    to: int | None,
    limit: int,
    limits: ReadLimits,
    passed_over: re.Pattern[str] | None = None,
) -> dict[str, Any]:
    """The lines with the words, from a page on, each under its page: `> 17: the line`, and those around it.

    A search that takes too long ends with what it found, and says where to go on. What `passed_over` matches is no
    part of the text.
    """
    until = time.monotonic() + limits.seconds * 0.7
    wanted = words.casefold().split()
    every, some = ([_Hits(limit, around) for around in _AROUND] for _ in range(2))
    stopped = 0
    for number, section in enumerate(contents.sections(page), page):
        if to is not None and number > to:
            break
        if time.monotonic() > until:
            stopped = number
            break
        lines = section.text.splitlines() if any(word in section.text.casefold() for word in wanted) else []
        with_all, with_some = dict[int, int](), dict[int, int]()
        for index, line in enumerate(lines):
            low = (passed_over.sub("", line) if passed_over else line).casefold()
            if there := [word for word in wanted if word in low]:
                (with_all if len(there) == len(wanted) else with_some)[index] = line.casefold().find(there[0])
        for findings, at in ((every, with_all), (some, with_some)):
            for hits in findings if at else []:
                hits.add(number, section, lines, at)
    has_all = every[0].found > 0 or len(wanted) < 2
    chosen = every if has_all else some
    # the most around the lines with which all of them are shown
    hits = next((hits for hits in chosen if not hits.unshown_page), chosen[-1])
    where = f"{hits.found:,} line{'s' if hits.found > 1 else ''} with {words!r}"
    if not hits.found:
        where = f"no match for {words!r}"
    elif not has_all:
        where = f"no line has all of {words!r}; {where.removesuffix(f' {words!r}')} some of the words"
    more = []
    if hits.unshown_page:
        more.append(f"There are more than are shown: go on with page={hits.unshown_page}, or look for more words.")
    if stopped:
        more.append(f"The search stopped at its time limit: go on with page={stopped}.")
    lost = list(dict.fromkeys(contents.lost))
    return {"where": where, "text": "\n".join(hits.lines), "more": " ".join(more), "lost": lost}


def _with_others(lines: list[str], at: Iterable[int], around: int) -> list[int]:
    """The lines that were found and those around them: the next ones that are not empty, and the head of a table."""
    taken = set(at)
    for index in at:
        taken.update(islice((i for i in range(index - 1, -1, -1) if lines[i].strip()), around))
        taken.update(islice((i for i in range(index + 1, len(lines)) if lines[i].strip()), around))
        top = index
        while around and top and lines[top].startswith("|") and lines[top - 1].startswith("|"):
            top -= 1
        if top < index - 1 and _RULE.fullmatch(lines[top + 1].rstrip()):
            taken.add(top)
    return sorted(taken)


def _shown(line: str, number: int, at: int | None) -> str:
    """A line with its number; rows of tables have their own."""
    where = "" if line.startswith("|") else f"{number}: "
    if at is not None:
        return f"> {where}{_around(line, at)}"
    return f"  {where}{line if len(line) <= _BESIDE else line[:_BESIDE] + '…'}"


def _around(line: str, at: int) -> str:
    if len(line) <= _LINE:
        return line
    start = max(0, at - _LINE // 2)
    end = start + _LINE
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")

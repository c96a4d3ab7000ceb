"""Finds words in a file: the lines with all words, or else those with some, and the lines around them."""

from __future__ import annotations

import re
import time
from itertools import islice
from typing import Any, NamedTuple

from agent.files.contents import TABLE_RULE, Contents, ReadLimits, Section

_MAX_HIT_CHARS = 600  # shown of a line with the words
_MAX_CONTEXT_CHARS = 200  # shown of a line before or after a hit
_CONTEXT_LINES = (2, 1, 0)  # on each side; the first number with which all hits fit is used
_MAX_PAGES = 500  # pages with hits that are kept


class _Page(NamedTuple):
    """A page with hits. `at` maps the index of a line to the position of the first word in it."""

    number: int
    section: Section
    lines: list[str]
    at: dict[int, int]


def find_words(
    contents: Contents,
    words: str,
    page: int,
    to: int | None,
    limit: int,
    limits: ReadLimits,
    ignored: re.Pattern[str] | None = None,
) -> dict[str, Any]:
    """Return the lines with the words and the lines around them, grouped by page: `> 17: the line`.

    A search that reaches its time limit returns its hits so far, and the page to continue with. Matches of `ignored`
    are removed from a line before it is searched.
    """
    until = time.monotonic() + limits.seconds * 0.7
    wanted = words.casefold().split()
    every, some = list[_Page](), list[_Page]()
    counts, stopped = [0, 0], 0
    for number, section in enumerate(contents.sections(page), page):
        if to is not None and number > to:
            break
        if time.monotonic() > until:
            stopped = number
            break
        lines = section.text.splitlines() if any(word in section.text.casefold() for word in wanted) else []
        with_all, with_some = dict[int, int](), dict[int, int]()
        for index, line in enumerate(lines):
            low = (ignored.sub("", line) if ignored else line).casefold()
            if there := [word for word in wanted if word in low]:
                (with_all if len(there) == len(wanted) else with_some)[index] = line.casefold().find(there[0])
        for which, (pages, at) in enumerate(((every, with_all), (some, with_some))):
            counts[which] += len(at)
            pages += [_Page(number, section, lines, at)] if at and len(pages) < _MAX_PAGES else []
    has_all = bool(every) or len(wanted) < 2
    pages, found = (every, counts[0]) if has_all else (some, counts[1])
    shown, unshown = "", 0
    for around in _CONTEXT_LINES:
        shown, unshown = _shown(pages, around, limit)
        if not unshown:
            break
    where = f"{found:,} line{'s' if found > 1 else ''} with {words!r}"
    if not found:
        where = f"no match for {words!r}"
    elif not has_all:
        where = f"no line has all of {words!r}; {where.removesuffix(f' {words!r}')} some of the words"
    more = [f"There are more hits: continue with page={unshown}, or look for more words."] if unshown else []
    more += [f"The search stopped at its time limit: continue with page={stopped}."] if stopped else []
    return {"where": where, "text": shown, "more": " ".join(more), "lost": list(dict.fromkeys(contents.lost))}


def _shown(pages: list[_Page], around: int, room: int) -> tuple[str, int]:
    """Return the lines that fit, and the number of the first page with a line that does not fit, or 0."""
    kept: list[str] = []
    for number, section, lines, at in pages:
        name = f" ({section.name})" if section.name not in ("", "text", f"page {number}") else ""
        waiting, last = [*([""] if kept else []), f"## page {number}{name}"], -1
        for index in _with_context(lines, at, around):
            if around and last >= 0 and any(line.strip() for line in lines[last + 1 : index]):
                waiting.append("…")
            line = lines[index]
            where = (
                "" if line.startswith("|") else f"{section.line + index}: "
            )  # rows of tables are numbered in their text
            start = max(0, at[index] - _MAX_HIT_CHARS // 2) if index in at and len(line) > _MAX_HIT_CHARS else 0
            end = start + (_MAX_HIT_CHARS if index in at else _MAX_CONTEXT_CHARS)
            cut = f"{'…' * (start > 0)}{line[start:end]}{'…' * (end < len(line))}"
            waiting.append(f"{'>' if index in at else ' '} {where}{cut}")
            room -= sum(len(one) + 1 for one in waiting)
            if room < 0:
                return "\n".join(kept), number
            kept += waiting
            waiting, last = [], index
    return "\n".join(kept), 0


def _with_context(lines: list[str], at: dict[int, int], around: int) -> list[int]:
    """Return the indexes of the hits, of the nearest lines around them that are not empty, and of table headers."""
    taken = set(at)
    for index in at:
        taken.update(islice((i for i in range(index - 1, -1, -1) if lines[i].strip()), around))
        taken.update(islice((i for i in range(index + 1, len(lines)) if lines[i].strip()), around))
        top = index
        while around and top and lines[top].startswith("|") and lines[top - 1].startswith("|"):
            top -= 1
        if top < index - 1 and TABLE_RULE.fullmatch(lines[top + 1].rstrip()):
            taken.add(top)
    return sorted(taken)

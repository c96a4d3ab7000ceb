"""Words in a file: lines with all words, else lines with some, with the lines around them."""

from __future__ import annotations

import re
import time
from itertools import islice
from typing import Any, NamedTuple

from agent.files.contents import TABLE_RULE, Contents, ReadLimits, Section

_LINE = 600  # characters of a line that are shown around the words
_BESIDE = 200
_AROUND = (2, 1, 0)  # lines on each side: as many as fit next to all hits
_MOST = 500  # pages with kept lines


class _Page(NamedTuple):
    """A page with lines that were found: where in each."""

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
    passed_over: re.Pattern[str] | None = None,
) -> dict[str, Any]:
    """The lines with the words, from a page on, each under its page: `> 17: the line`, and those around it.

    A search that takes too long ends with its hits so far, and says where to continue. What `passed_over` matches does
    not belong to the text.
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
            low = (passed_over.sub("", line) if passed_over else line).casefold()
            if there := [word for word in wanted if word in low]:
                (with_all if len(there) == len(wanted) else with_some)[index] = line.casefold().find(there[0])
        for which, (pages, at) in enumerate(((every, with_all), (some, with_some))):
            counts[which] += len(at)
            pages += [_Page(number, section, lines, at)] if at and len(pages) < _MOST else []
    has_all = bool(every) or len(wanted) < 2
    pages, found = (every, counts[0]) if has_all else (some, counts[1])
    # as many lines around as fit next to all hits
    shown, unshown = "", 0
    for around in _AROUND:
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
    """The lines that fit, and the number of the first page with a line that does not fit, or 0."""
    kept: list[str] = []
    for number, section, lines, at in pages:
        name = f" ({section.name})" if section.name not in ("", "text", f"page {number}") else ""
        waiting, last = [*([""] if kept else []), f"## page {number}{name}"], -1
        for index in _with_others(lines, at, around):
            if around and last >= 0 and any(line.strip() for line in lines[last + 1 : index]):
                waiting.append("…")
            line = lines[index]
            where = "" if line.startswith("|") else f"{section.line + index}: "  # rows of tables have their own numbers
            start = max(0, at[index] - _LINE // 2) if index in at and len(line) > _LINE else 0
            end = start + (_LINE if index in at else _BESIDE)
            cut = f"{'…' * (start > 0)}{line[start:end]}{'…' * (end < len(line))}"
            waiting.append(f"{'>' if index in at else ' '} {where}{cut}")
            room -= sum(len(one) + 1 for one in waiting)
            if room < 0:
                return "\n".join(kept), number
            kept += waiting
            waiting, last = [], index
    return "\n".join(kept), 0


def _with_others(lines: list[str], at: dict[int, int], around: int) -> list[int]:
    """The lines that were found and those around them: the next ones that are not empty, and the head of a table."""
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

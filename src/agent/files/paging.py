"""Pages of a file: the sections asked for, as far as the limit goes, and how to read on."""

from __future__ import annotations

from typing import Any

from agent.files.contents import Contents, Section, TextContents
from agent.files.problem import FileProblem


def read_pages(contents: Contents, page: int, to: int | None, limit: int) -> dict[str, Any]:
    """The sections from a page to another, whole ones as far as they fit.

    Raises:
        FileProblem: There is no such page.
    """
    last = max(to or page, page)
    taken: list[Section] = []
    cut, following = 0, False
    for section in contents.sections(page):
        room = limit - sum(len(one.text) + len(one.name) + 8 for one in taken)
        if len(taken) > last - page or (taken and len(section.text) > room):
            following = True
            break
        if len(section.text) > room:
            cut = len(section.text)
            section = Section(section.name, _shortened(section.text, room))
        taken.append(section)
    if not taken:
        raise _no_page(contents, page)
    return {
        "where": _where(contents, taken, page, cut),
        "text": taken[0].text if len(taken) == 1 else "\n\n".join(f"## {one.name}\n\n{one.text}" for one in taken),
        "more": _more(page + len(taken), cut, limit, contents.count, following),
        "lost": list(dict.fromkeys(contents.lost)),
    }


def _where(contents: Contents, taken: list[Section], page: int, cut: int) -> str:
    if contents.count == 1 and not cut:
        is_all = not isinstance(contents, TextContents) or contents.is_all
        return "complete" if is_all else taken[0].name
    of = f" of {contents.count:,}" if contents.count else ""
    pages = f"page {page}{of}" if len(taken) == 1 else f"pages {page}-{page + len(taken) - 1}{of}"
    names = taken[0].name if len(taken) == 1 else f"{taken[0].name} to {taken[-1].name}"
    part = f", characters 1–{len(taken[0].text):,} of {cut:,}" if cut else ""
    return f"{pages}{part}" if not names or names == f"page {page}" else f"{pages} ({names}){part}"


def _more(following: int, cut: int, limit: int, count: int | None, is_there: bool) -> str:
    more = []
    if cut:
        more.append(f"Only {limit:,} of this page's {cut:,} characters are shown: use find to see the others.")
    if is_there or (count is not None and following <= count):
        more.append(f"page={following} goes on" + (f" (there are {count:,})." if count else "."))
    return " ".join(more)


def _shortened(text: str, room: int) -> str:
    """The beginning of a text, to the end of a line if one is near."""
    beginning = text[:room]
    end = beginning.rfind("\n")
    return beginning[:end] if end > room * 0.8 else beginning


def _no_page(contents: Contents, page: int) -> FileProblem:
    if contents.count == 0:
        return FileProblem("empty", "The file is well formed, and nothing is in it.")
    there = f"the last one is {contents.count:,}" if contents.count else "it ends before"
    return FileProblem("range", f"There is no page {page:,}: {there}.", remedy="Pages count from 1.")

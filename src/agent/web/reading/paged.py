"""A page that is read as people read: a screenful at a time, by its words, by its links."""

from __future__ import annotations

import re
from typing import NamedTuple

from agent.files.contents import ReadLimits, TextContents, in_sections
from agent.web.page import Page, WebProblem
from mcp_tools.text import one_line

_LINKED = re.compile(r"(?<=\])\(link \d{1,7}\)")  # the number of a link, which no words are looked for in
_AROUND = "Text around the main text:"
_SHORT = 0.1  # share of a screenful that may be shown below the content without being content
_MAIN_TEXT_ONLY = frozenset({"firecrawl"})  # readers that leave out menus, head and foot


class Screen(NamedTuple):
    """A part of a page."""

    text: str
    label: str
    """The kind of page: `complete`, `page 1 of 8, page=2 goes on`; `3 lines with 'tea'`."""


def screen_of(page: Page, number: int = 1, find: str = "", *, size: int = 6000) -> Screen:
    """Return a screenful of a page, or the lines with some words.

    Text around the content comes last, on separate screenfuls unless it is short.

    Args:
        page: The page.
        number: The screenful, from 1; with words, the one to begin with.
        find: Words to look for; case does not matter. Lines with all these words, else lines with some.
        size: Characters of a screenful.

    Raises:
        WebProblem: There is no such screenful.
    """
    content, around = page.markdown, f"{_AROUND}\n\n{page.around}" if page.around else ""
    if len(around) <= size * _SHORT:
        content, around = f"{content}\n\n{around}", ""
    main = in_sections(content.split("\n\n"), size)
    sections = [*main, *(in_sections(around.split("\n\n"), size) if around else [])]
    count = len(sections)
    if not 1 <= number <= count:
        said = f"There is no page {number} of {one_line(page.url, 200)}: the last one is {count}."
        raise WebProblem("no_result", said, remedy="Page numbers start at 1.")
    if words := " ".join(find.split()):
        from agent.files.finding import find_words

        told = find_words(TextContents("page", "", sections), words, number, None, size, ReadLimits(), _LINKED)
        return Screen(told["text"], ". ".join(filter(None, (told["where"], told["more"]))).rstrip("."))
    label = "the main text, whole" if around or page.via in _MAIN_TEXT_ONLY else "complete"
    if count > 1 and (number > 1 or len(main) > 1):
        label = f"page {number} of {count}" + (f", page={number + 1} goes on" * (number not in (len(main), count)))
    if number > len(main):
        label = f"text around the main text; {label}"
    elif around:
        holds = f"{len(_LINKED.findall(around))} links, {len(_LINKED.sub('', page.around).split()):,} words"
        label += f"; page {len(main) + 1} shows the text around it ({holds})"
    return Screen(sections[number - 1].text, label)

"""Splits a page into screenfuls, and finds lines with given words."""

from __future__ import annotations

import re
from typing import NamedTuple

from agent.files.contents import ReadLimits, TextContents, in_sections
from agent.web.page import Page, WebProblem
from mcp_tools.text import one_line

_LINKED = re.compile(r"(?<=\])\(link \d{1,7}\)")  # the number of a link, which is not searched for words
_AROUND = "Text around the main text:"
_SHORT = 0.1  # surrounding text up to this share of a screenful follows the content directly
_MAIN_TEXT_ONLY = frozenset({"firecrawl"})  # these readers leave out menus, header and footer


class PagePart(NamedTuple):
    """A part of a page."""

    text: str
    label: str
    """Description of the part: `complete`, `page 1 of 8, page=2 goes on`, `3 lines with 'tea'`."""


def screen_of(page: Page, number: int = 1, find: str = "", *, size: int = 6000) -> PagePart:
    """Return a screenful of a page, or the lines with given words.

    Text around the content comes last. It starts a new screenful unless it is short.

    Args:
        page: The page.
        number: Number of the screenful, from 1. With `find`, the first one to search.
        find: Words to find, ignoring case. Lines with all the words are returned, or else those with some.
        size: Characters in a screenful.

    Raises:
        WebProblem: The number is too high.
    """
    content, around = page.markdown, f"{_AROUND}\n\n{page.around}" if page.around else ""
    if len(around) <= size * _SHORT:
        content, around = f"{content}\n\n{around}", ""
    main = in_sections(content.split("\n\n"), size)
    sections = [*main, *(in_sections(around.split("\n\n"), size) if around else [])]
    count = len(sections)
    if not 1 <= number <= count:
        message = f"{one_line(page.url, 200)} has no page {number}: the last page is {count}."
        raise WebProblem("no_result", message, remedy="Page numbers start at 1.")
    if words := " ".join(find.split()):
        from agent.files.finding import find_words

        passage = find_words(TextContents("page", "", sections), words, number, None, size, ReadLimits(), _LINKED)
        return PagePart(passage["text"], ". ".join(filter(None, (passage["where"], passage["more"]))).rstrip("."))
    label = "the main text, whole" if around or page.via in _MAIN_TEXT_ONLY else "complete"
    if count > 1 and (number > 1 or len(main) > 1):
        label = f"page {number} of {count}" + (
            f", continue with page={number + 1}" * (number not in (len(main), count))
        )
    if number > len(main):
        label = f"text around the main text; {label}"
    elif around:
        holds = f"{len(_LINKED.findall(around))} links, {len(_LINKED.sub('', page.around).split()):,} words"
        label += f"; page {len(main) + 1} shows the text around it ({holds})"
    return PagePart(sections[number - 1].text, label)

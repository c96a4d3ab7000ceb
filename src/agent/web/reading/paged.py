"""A page that is read as people read: a screenful at a time, by its words, by its links."""

from __future__ import annotations

import re
from typing import NamedTuple

from agent.files.contents import ReadLimits, Section, TextContents
from agent.web.page import Page, WebProblem
from mcp_tools.text import one_line

_LINKED = re.compile(r"(?<=\])\[\d{1,7}\]")  # the number of a link, which no words are looked for in
_HEADING = re.compile(r"\n\n(?=#{1,3} )")
_AROUND = "What stands around the main text:"
_SHORT = 0.1  # share of a screenful that may be shown below the content without being content
_MAIN_TEXT_ONLY = frozenset({"firecrawl"})  # readers that leave out menus, head and foot
_RULE = re.compile(r"\|[\s|:]*-[\s|:-]*")


class Screen(NamedTuple):
    """A part of a page."""

    text: str
    label: str
    """What it is: `complete`, `characters 1–6,000 of 48,210; page 1 of 8, page=2 goes on`; `3 lines with 'tea'`."""


class PagedView:
    """Screenfuls of a page: together they are its text, none of it twice.

    What stands around the content comes last: on screenfuls of its own, unless it is short.

    Args:
        page: What was read.
        size: Characters of a screenful.
    """

    def __init__(self, page: Page, size: int = 6000) -> None:
        self._url, self._size = page.url, size
        content, around = page.markdown, f"\n\n{_AROUND}\n\n{page.around}" if page.around else ""
        if len(around) <= size * _SHORT:
            content, around = content + around, ""
        self._text = content + around
        self._ends = list(_ends(content, size))
        self._content, self._content_pages = len(content), len(self._ends)
        self._whole = "the main text, whole" if around or page.via in _MAIN_TEXT_ONLY else "complete"
        self._around = ""
        if around:
            links, words = len(_LINKED.findall(around)), len(page.around.split())
            self._around = f"; page {len(self._ends) + 1} shows what stands around it ({links} links, {words:,} words)"
            self._ends += [len(content) + end for end in _ends(around, size)]

    @property
    def count(self) -> int:
        """How many screenfuls there are."""
        return len(self._ends)

    def at(self, page: int) -> Screen:
        """A screenful, from 1; where it begins inside of a table, below the table's head.

        Raises:
            WebProblem: There is no screenful with that number.
        """
        start, end = self._span(page)
        more = f", page={page + 1} goes on" if page not in (self._content_pages, self.count) else ""
        at = f"page {page} of {self.count}{more}"
        where = f"characters {start + 1:,}–{end:,} of {self._content:,}; {at}{self._around}"
        if page > self._content_pages:
            where = f"what stands around the main text; {at}"
        elif self._content_pages == 1:
            where = f"{self._whole}{self._around}"
        return Screen(f"{_head_of_table(self._text, start)}{self._text[start:end].strip(chr(10))}", where)

    def find(self, words: str, page: int = 1) -> Screen:
        """The lines that have all the words, else those that have some, each under its screenful.

        Args:
            words: What to look for; case does not matter.
            page: The screenful to begin with, from 1.

        Raises:
            WebProblem: There is no such screenful, or there are no words.
        """
        from agent.files.finding import find_words

        self._span(page)
        if not words.strip():
            raise WebProblem("no_result", "There are no words to find.", remedy="Give the words to look for.")
        spans = [self._span(number) for number in range(1, self.count + 1)]
        parts = [
            Section(f"page {number}", self._text[start:end], self._text.count("\n", 0, start) + 1)
            for number, (start, end) in enumerate(spans, 1)
        ]
        contents = TextContents("page", "", parts)
        told = find_words(contents, " ".join(words.split()), page, None, self._size, ReadLimits(), _LINKED)
        return Screen(told["text"], ". ".join(filter(None, (told["where"], told["more"]))).rstrip("."))

    def _span(self, page: int) -> tuple[int, int]:
        """Where a screenful begins and ends."""
        if not 1 <= page <= self.count:
            said = f"There is no page {page} of {one_line(self._url, 200)}: the last one is {self.count}."
            raise WebProblem("no_result", said, remedy="Pages count from 1.")
        return (self._ends[page - 2] if page > 1 else 0), self._ends[page - 1]


def _ends(text: str, size: int) -> list[int]:
    """Where screenfuls end: before a heading in their second half, else after a paragraph, a line, a word."""
    ends, start = list[int](), 0
    while len(text) - start > size:
        part = text[start : start + size]
        headings = [match.end() for match in _HEADING.finditer(part, size // 2)]
        breaks = (part.rfind(mark) + len(mark) for mark in ("\n\n", "\n", " "))
        end = headings[-1] if headings else next((at for at in breaks if at > size // 2), size)
        start += end
        ends.append(start)
    return [*ends, len(text)]


def _head_of_table(text: str, start: int) -> str:
    """The head of the table in whose midst a part begins."""
    if not start or text[start : start + 1] != "|" or text[start - 1] != "\n":
        return ""
    lines = text[:start].splitlines()
    top = len(lines)
    while top and lines[top - 1].startswith("|"):
        top -= 1
    is_head = top < len(lines) - 1 and _RULE.fullmatch(lines[top + 1].rstrip())
    return f"{lines[top]}\n{lines[top + 1]}\n" if is_head else ""

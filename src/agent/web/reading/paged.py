"""A page that is read as people read: a screenful at a time, by its words, by its links."""

from __future__ import annotations

from agent.files.contents import Section, TextContents
from agent.files.documents.markdown import in_sections
from agent.web.protocol import Page, WebProblem
from mcp_tools.text import one_line


class PagedView:
    """Screenfuls of a page.

    Args:
        page: What was read.
        size: Characters of a screenful.
    """

    def __init__(self, page: Page, size: int = 6000) -> None:
        self._page = page
        self._size = size
        self._parts = in_sections(page.markdown.split("\n\n"), size) if page.markdown else [Section("text", "")]

    @property
    def count(self) -> int:
        """How many screenfuls there are."""
        return len(self._parts)

    def at(self, page: int) -> str:
        """A screenful, with its place and how to go on.

        Args:
            page: From 1.

        Raises:
            WebProblem: There is none of that number.
        """
        self._check(page)
        part = self._parts[page - 1]
        more = f"\n\n[page {page} of {self.count}; page={page + 1} goes on]" if page < self.count else ""
        return f"{part.text}{more}"

    def find(self, words: str, page: int = 1) -> str:
        """The lines that have all the words, else those that have some, each under its screenful.

        Args:
            words: What to look for; case does not matter.
            page: The screenful to begin with, from 1.

        Raises:
            WebProblem: There is no such screenful, or there are no words.
        """
        from agent.files.contents import ReadLimits
        from agent.files.finding import find_words

        self._check(page)
        if not words.strip():
            raise WebProblem("no_result", "There are no words to find.", remedy="Give the words to look for.")
        contents = TextContents(self._page.kind, "", self._parts)
        told = find_words(contents, " ".join(words.split()), page, None, self._size, ReadLimits())
        lines = (told["where"] + (":" if told["text"] else "."), told["text"], told["more"])
        return "\n\n".join(line for line in lines if line)

    def _check(self, page: int) -> None:
        if not 1 <= page <= self.count:
            raise WebProblem(
                "no_result",
                f"There is no page {page} of {one_line(self._page.url, 200)}: the last one is {self.count}.",
                remedy="Pages count from 1.",
            )

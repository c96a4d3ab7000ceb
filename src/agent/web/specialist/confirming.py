"""Whether a second source, independent of the first, says the same."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.web.address import source_of
from agent.web.specialist.quoting import ReadPage, Scored, holding, normal
from agent.web.specialist.terms import Terms

_SHARE = 0.4
"""Of the question's weight, what must stand around a value for it to be the one that is meant."""
_NUMBER = re.compile(r"[-+−]?\d[\d.,:]*\d|\d")
_MOST_WORDS = 6
"""An answer with more words is no single fact that two sources would state alike."""


def value_in(answer: str) -> str:
    """What two sources that agree would both have: of a quantity its number; empty where it is no single fact."""
    text = answer.strip(" .\"'“”")
    if text.casefold() in {"yes", "no", ""} or len(text.split()) > _MOST_WORDS:
        return ""
    number = _NUMBER.search(text)
    if number and number.start() <= 1 and len(text.split()) <= 2:
        return number[0]
    return text


def stating(pages: Sequence[ReadPage], value: str, terms: Terms) -> list[tuple[ReadPage, Scored]]:
    """One page for each independent source that states a value: the one that says most about the question.

    Pages of one registered domain are one source, and so are pages with the same words: one of them is the copy.
    """
    found: list[tuple[ReadPage, Scored]] = []
    sources: set[str] = set()
    texts: set[str] = set()
    for read, scored in holding(pages, value, terms):
        source, text = source_of(read.page.url), normal(scored.passage.text)
        if terms.share(scored.stems) >= _SHARE and source not in sources and text not in texts:
            found.append((read, scored))
            sources.add(source)
            texts.add(text)
    return found

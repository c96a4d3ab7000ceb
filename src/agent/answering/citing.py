"""Which sources an answer rests on, and how it cites them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.answering.answer import Citation
from agent.state import CitedSource
from mcp_tools.text import one_line

_UNKNOWN = re.compile(r"(?:unknown|none|not (?:stated|given|known|found)|n/?a)?[.\s]*", re.IGNORECASE)
_YES_OR_NO = re.compile(r"(?:is|are|was|were|does|do|did|has|have|had|can|will|must|may)\b", re.IGNORECASE)


def stands_there(answer: str, text: str, question: str) -> bool:
    """Whether an answer was copied from a text, and not from the question.

    Args:
        answer: What the model wrote.
        text: What it was shown.
        question: What was asked.
    """
    if _UNKNOWN.fullmatch(answer):
        return False
    if answer.strip(". ").casefold() in {"yes", "no"}:
        return bool(_YES_OR_NO.match(question))
    is_news = not has_words(question, answer) or " or " in question
    return has_words(text, answer) and is_news


def has_words(text: str, words: str) -> bool:
    """Whether words stand in a text one after the other, each whole: 7 is no part of 1976."""
    wanted = plain(words)
    return bool(wanted) and f" {wanted} " in f" {plain(text)} "


def plain(text: str) -> str:
    """The text's letters, digits and points between them, so that layout and marks do not matter."""
    return " ".join(re.findall(r"\w+(?:[.,:]\w+)*", text.casefold()))


_MARK = re.compile(r"\s*\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
_BARE_WORDS = 12
"""An answer with more words is prose, in which citations stay where they are."""
_LISTED = 5
_QUOTE = 240
"""Characters of a quotation under an answer."""
_SHARED = 0.5
"""Of a long answer's words, those that a source must have to be taken for one of it."""


def with_citations(
    text: str, sources: Sequence[CitedSource], *, computed: bool = False, bare_wanted: bool = False
) -> tuple[str, tuple[Citation, ...]]:
    """The answer, and the sources that it rests on.

    Args:
        text: The answer; marks such as [2] cite sources. A bare one loses them, since they are no part of it.
        sources: All that the run found.
        computed: Whether the answer was worked out from what was found, and need not stand in it.
        bare_wanted: Whether the question asks for a form in which no mark stands.
    """
    by_number = {source["number"]: source for source in sources}
    numbers = [number for mark in _MARK.findall(text) for number in map(int, mark.split(",")) if number in by_number]
    bare = _MARK.sub(lambda mark: "" if _is_known(mark[1], by_number) else mark[0], text).strip()
    if numbers:
        chosen = [by_number[number] for number in dict.fromkeys(numbers)]
    else:
        chosen = _saying(bare, sources) or (list(sources) if computed else [])
    shown = bare if bare and (bare_wanted or _is_bare(bare)) else text
    return shown, tuple(_citation(source, bare) for source in chosen[: max(_LISTED, len(set(numbers)))])


def _is_known(mark: str, by_number: dict[int, CitedSource]) -> bool:
    return all(int(number) in by_number for number in mark.split(","))


def _is_bare(text: str) -> bool:
    return len(text.split()) <= _BARE_WORDS and not re.search(r"[.!?]\s+\S", text)


def _saying(text: str, sources: Sequence[CitedSource]) -> list[CitedSource]:
    """The sources that have the answer in a quotation; of a long answer, most of its words."""
    wanted = plain(text).split()
    if len(wanted) <= _BARE_WORDS:
        return [source for source in sources if any(has_words(quote, text) for quote in source["quotes"])]
    words = {word for word in wanted if len(word) > 3}
    return [
        source
        for source in sources
        if words and len(words & set(plain(" ".join(source["quotes"])).split())) >= _SHARED * len(words)
    ]


def _citation(source: CitedSource, text: str) -> Citation:
    return Citation(source["number"], source["url"], source["title"], _quote(source, text))


def _quote(source: CitedSource, text: str) -> str:
    """The quotation that has the answer, or the most telling one; of a table the rows that have the answer."""
    there = [quote for quote in source["quotes"] if has_words(quote, text)]
    quote = next(iter(there or source["quotes"]), "")
    lines = [line for line in quote.splitlines() if has_words(line, text)]
    return one_line(" / ".join(lines) if lines else quote, _QUOTE)

"""How much a page has to do with a question, and why that is thought."""

from __future__ import annotations

from collections.abc import Iterable

from agent.web.specialist.evidence import Grade, Level
from agent.web.specialist.terms import Terms, stem_of, stems_of

_HIGH, _MEDIUM = 0.75, 0.4
_MOST_NAMED = 4


def relevance_of(stems: Iterable[str], terms: Terms) -> Grade:
    """The grade of a page, or of a hit, by which of the question's words it has.

    Args:
        stems: The words of it, as `terms.stems_of` gives them.
        terms: Those of the question.
    """
    there = set(stems)
    share = terms.share(there)
    has = [word for word in terms.words if stem_of(word) in there]
    lacks = [word for word in terms.words if stem_of(word) not in there]
    why = f"it has {_listed(has)}" if has else "it has none of the question's words"
    if not lacks and has:
        why = f"it has all of {_listed(has)}"
    elif lacks and has:
        why += f", not {_listed(lacks)}"
    named = terms.lacking(there)
    level: Level = "high" if share >= _HIGH and not named else "medium" if share >= _MEDIUM else "low"
    return Grade(level, why)


def words_of_hit(title: str, snippet: str, url: str) -> list[str]:
    """The words that a hit shows."""
    return stems_of(f"{title} {snippet} {url.replace('/', ' ').replace('-', ' ').replace('_', ' ')}")


def _listed(words: list[str]) -> str:
    shown = ", ".join(words[:_MOST_NAMED])
    return f"{shown} and {len(words) - _MOST_NAMED} more" if len(words) > _MOST_NAMED else shown

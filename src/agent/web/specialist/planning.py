"""What to search for: at most three queries, and how broadly; by rule where the question is plain."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.web.specialist.evidence import Strategy
from agent.web.specialist.terms import COMMON, Terms, names_in, plain, terms_of

QUERIES = 3
_LONGEST_QUERY = 160
_MOST_WORDS = 10
_COMPARES = re.compile(
    r"\b(?:compare|compared|difference|differ|versus|vs|between|more|less|fewer|than|older|younger|taller|higher|longer"
    r"|larger|bigger|smaller|earlier|later|first|faster|or|both|each|combined|total)\b",
    re.IGNORECASE,
)
_DOUBTS = re.compile(
    r"^(?:is|are|was|were|does|do|did|has|have|had|can|will)\b"
    r"|\b(?:is it true|verify|confirm|really|correct that|fact[- ]?check|rumou?r|claims?|allegedly)\b",
    re.IGNORECASE,
)
_SURVEYS = re.compile(
    r"\b(?:overview|summar(?:y|ise|ize)|explain|introduction|history of|background|pros and cons|compare"
    r"|list (?:all|the)|what are (?:the|some)|which .{0,30}\ball\b|best|recommend|state of the art|developments?)\b",
    re.IGNORECASE,
)
_FRESH = (
    (re.compile(r"\b(?:today|tonight|right now|breaking|yesterday)\b", re.IGNORECASE), "day"),
    (re.compile(r"\b(?:this|last|past) week\b", re.IGNORECASE), "week"),
    (re.compile(r"\b(?:this|last|past) month\b", re.IGNORECASE), "month"),
)
_CLAUSES = re.compile(r"\?\s+|;\s+|,?\s+and\s+(?=(?:what|which|who|whom|when|where|how|why|in which|at which)\b)", re.I)


@dataclass(frozen=True, slots=True)
class Plan:
    """How a search begins."""

    strategy: Strategy
    queries: tuple[str, ...]
    freshness: str = ""


def plan_by_rule(aim: str) -> Plan:
    """Queries by the question's form: one for each clause, or for each of the things that are compared."""
    compared = _compared(aim)
    parts = [_without_names(aim, compared, name) for name in compared] or clauses(aim)
    queries = [words_of(part) for part in parts]
    strategy: Strategy = "broader" if _SURVEYS.search(aim) else "verification" if _DOUBTS.search(aim) else "targeted"
    return Plan(strategy, usable(queries) or (aim[:_LONGEST_QUERY],), freshness_of(aim))


def clauses(aim: str) -> list[str]:
    """The questions that a question is made of, at most three."""
    parts = [part.strip(" ?.,;") for part in _CLAUSES.split(aim)]
    return [part for part in parts if len(part.split()) > 1][:QUERIES] or [aim]


def freshness_of(aim: str) -> str:
    """How new hits must be; empty for any age."""
    return next((name for pattern, name in _FRESH if pattern.search(aim)), "")


def words_of(text: str) -> str:
    """A query: what is quoted, as it is quoted, and the words that a page about it would have, in their order."""
    terms = terms_of(text)
    quoted = [name for name in terms.names if f'"{name}"' in text or f"“{name}”" in text]
    inside = {plain(word) for name in quoted for word in name.split()}
    words = [word for word in terms.words if plain(word) not in inside]
    return " ".join([*(f'"{name}"' for name in quoted), *words][:_MOST_WORDS]) or text.strip()


def broader(query: str, terms: Terms) -> str:
    """The query without what narrows it: quotes, sites, and all but its most telling words."""
    free = re.sub(r"\b(?:site|filetype|intitle|inurl):\S+|[\"“”]", " ", query)
    names = [word for name in terms.names for word in name.split() if plain(word) not in COMMON]
    telling = [word for word in free.split() if word in names] or free.split()
    others = [word for word in free.split() if word not in telling]
    return " ".join([*telling, *others[-1:]][: _MOST_WORDS // 2])


def usable(queries: Sequence[str]) -> tuple[str, ...]:
    """The queries on one line each, none twice, at most three."""
    clean = (" ".join(query.split())[:_LONGEST_QUERY] for query in queries)
    return tuple(dict.fromkeys(query for query in clean if query))[:QUERIES]


def _compared(aim: str) -> list[str]:
    """The names that a question compares; empty where it compares nothing."""
    if not _COMPARES.search(aim):
        return []
    names = [name for name in names_in(aim) if not name.isdigit()]
    return names if 2 <= len(names) <= QUERIES else []


def _without_names(aim: str, names: Sequence[str], kept: str) -> str:
    """The question about one of the things that it compares."""
    for name in names:
        if name != kept:
            aim = aim.replace(name, " ")
    return _COMPARES.sub(" ", aim)

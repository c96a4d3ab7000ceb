"""Makes search queries from a question by rule, and parses queries."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from mcp_tools.library.particulars import FUNCTION_WORDS, QUOTED, quoted_in
from mcp_tools.text import words as words_in

_WORD = re.compile(r"[^\W_]+(?:[-'’.,/:][^\W_]+)*")
_NAME = re.compile(
    r"(?:[A-ZÀ-ÖØ-Þ][\w'’.-]*|\d{1,4})"
    r"(?:\s+(?:(?:of|the|de|du|des|da|van|von|der|den|di|la|le|el|al)\s+){0,2}(?:[A-ZÀ-ÖØ-Þ][\w'’-]*|\d{1,4}))*"
)
_SENTENCE_START = re.compile(r"(?:^|[.?!:]\s+)(\w+)")
_SUFFIXES = ("ations", "ation", "ings", "ing", "ies", "ied", "est", "ers", "er", "ed", "es", "s", "e")
_SAME = {
    "height": "high", "tall": "high", "length": "long", "width": "wide", "breadth": "wide", "depth": "deep",
    "weight": "heavy", "weigh": "heavy", "distance": "far", "age": "old", "size": "large", "big": "large",
    "area": "large", "built": "build", "construct": "build", "completed": "complete", "finish": "complete",
    "wrote": "write", "written": "write", "author": "write", "born": "birth", "birthplace": "birth", "died": "death",
    "dead": "death", "die": "death", "found": "founded", "began": "begin", "start": "begin", "won": "win",
    "winner": "win", "led": "lead", "leader": "lead", "inhabitant": "population", "people": "population",
    "cost": "price", "fee": "price", "fare": "price", "admission": "price", "expensive": "price",
}  # fmt: skip
"""Synonyms: each word with the word that represents it."""


COMMON = FUNCTION_WORDS | words_in(
    """
    according current currently exact find know list look mention mentioned name named names need often page per say
    says search see show site tell upon web website well whether year years
    """
)
_ASKS = words_in(
    "what which who whom whose when where why how is are was were does do did can could tell find name give"
)


@dataclass(frozen=True, slots=True)
class Terms:
    """The words of a question that a relevant page would contain."""

    weights: dict[str, float]  # by stem; names and numbers count twice
    names: tuple[str, ...]  # quoted texts, proper names and numbers, unchanged
    words: tuple[str, ...]  # unchanged, in order, without duplicates

    def share(self, stems: Iterable[str]) -> float:
        """Return the share of the total weight that these stems have, from 0 to 1."""
        there = set(stems)
        total = sum(self.weights.values())
        return sum(weight for stem, weight in self.weights.items() if stem in there) / total if total else 0.0

    def lacking(self, stems: Iterable[str]) -> list[str]:
        """Return the names with a word that is missing in these stems."""
        there = set(stems)
        return [name for name in self.names if not all(stem in there for stem in stems_of(name))]


def terms_of(question: str) -> Terms:
    """Return the terms of a question."""
    names = names_in(question)
    named = {stem for name in names for stem in stems_of(name)}
    words = [word for word in dict.fromkeys(_WORD.findall(question)) if plain(word) not in COMMON and len(word) > 1]
    digits = [word for word in _WORD.findall(question) if word.isdigit()]
    weights = {stem_of(word): 2.0 if stem_of(word) in named else 1.0 for word in [*words, *digits]}
    return Terms(weights, tuple(names), tuple(dict.fromkeys([*words, *digits])))


def names_in(text: str) -> list[str]:
    """Return the quoted texts, proper names and numbers of a text, in order."""
    found = [quoted for quoted in quoted_in(text) if 1 < len(quoted) <= _MAX_QUERY_CHARS // 2]
    rest = QUOTED.sub(" , ", text)
    starts = {match.start(1) for match in _SENTENCE_START.finditer(rest)}
    for match in _NAME.finditer(rest):
        name = match[0].strip(" .'’-")
        first = name.split()[0] if name else ""
        if match.start() in starts:  # every sentence starts with a capital
            if plain(first) in _ASKS | COMMON:
                name = re.sub(r"^(?:of|the|and|for)\s+", "", name[len(first) :].strip())
            elif name == first and not name.isdigit():
                continue
        if name and plain(name) not in COMMON:
            found.append(re.sub(r"['’]s$", "", name))
    return list(dict.fromkeys(found))


def stems_of(text: str) -> list[str]:
    """Return the stems of a text's words, in order."""
    return [stem_of(word) for word in _WORD.findall(text) if plain(word) not in COMMON]


def stem_of(word: str) -> str:
    """Return the approximate stem of a word, or the digits of a number."""
    low = re.sub(r"['’]s$", "", plain(word))
    if low[:1].isdigit():
        return low.replace(",", "") if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", low) else low
    stem = _cut(low)
    return _cut(_SAME.get(low) or _SAME.get(stem) or stem)


def _cut(word: str) -> str:
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 4:
            return word[: -len(suffix)]
    return word


def plain(text: str) -> str:
    """Return the text in lower case, without accents."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c))


QUERIES = 3
_MAX_QUERY_CHARS = 160
_MAX_WORDS = 10
_COMPARES = re.compile(
    r"\b(?:compare|compared|difference|differ|versus|vs|between|more|less|fewer|than|older|younger|taller|higher|longer"
    r"|larger|bigger|smaller|earlier|later|first|faster|or|both|each|combined|total)\b",
    re.I,
)
_FRESH = {
    "day": re.compile(r"\b(?:today|tonight|right now|breaking|yesterday)\b", re.I),
    "week": re.compile(r"\b(?:this|last|past) week\b", re.I),
    "month": re.compile(r"\b(?:this|last|past) month\b", re.I),
}
_CLAUSES = re.compile(r"\?\s+|;\s+|,?\s+and\s+(?=(?:what|which|who|whom|when|where|how|why|in which|at which)\b)", re.I)


def queries_by_rule(aim: str) -> tuple[str, ...]:
    """Return queries for a question: one for each clause, or for each thing that it compares."""
    names = [name for name in names_in(aim) if not name.isdigit()]
    if _COMPARES.search(aim) and 2 <= len(names) <= QUERIES:
        parts = []
        for kept in names:
            others = "|".join(re.escape(name) for name in names if name != kept)
            parts.append(_COMPARES.sub(" ", re.sub(others, " ", aim)))
    else:
        parts = [part for one in _CLAUSES.split(aim) if len((part := one.strip(" ?.,;")).split()) > 1] or [aim]
    return usable(map(words_of, parts)) or (aim[:_MAX_QUERY_CHARS],)


def freshness_of(aim: str) -> str:
    """Return the maximum age of hits that a question asks for; empty for any age."""
    return next((name for name, pattern in _FRESH.items() if pattern.search(aim)), "")


def words_of(text: str) -> str:
    """Return a query of the quoted texts and the words that a relevant page would contain, in order."""
    terms = terms_of(text)
    quoted = [name for name in terms.names if f'"{name}"' in text or f"“{name}”" in text]
    inside = {plain(word) for name in quoted for word in name.split()}
    words = [word for word in terms.words if plain(word) not in inside]
    return " ".join([*(f'"{name}"' for name in quoted), *words][:_MAX_WORDS]) or text.strip()


def broader(query: str, terms: Terms) -> str:
    """Return a broader query: only the most important words, without quotes and site."""
    free = re.sub(r"\b(?:site|filetype|intitle|inurl):\S+|[\"“”]", " ", query)
    names = [word for name in terms.names for word in name.split() if plain(word) not in COMMON]
    telling = [word for word in free.split() if word in names] or free.split()
    others = [word for word in free.split() if word not in telling]
    return " ".join([*telling, *others[-1:]][: _MAX_WORDS // 2])


def usable(queries: Iterable[str]) -> tuple[str, ...]:
    """Return at most three queries, each on one line, without duplicates."""
    clean = (" ".join(query.split())[:_MAX_QUERY_CHARS] for query in queries)
    return tuple(dict.fromkeys(query for query in clean if query))[:QUERIES]


_MAX_TERMS = 32
_QUERY_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_PART = re.compile(r"(?P<not>(?<!\S)-(?!\d))?(?:\"(?P<phrase>[^\"]*)\"|(?P<word>\S+))")
_SITE = re.compile(r"site:(?P<host>[\w.:-]+)(?:/\S*)?$", re.I)
_DAYS = {"day": 1, "week": 7, "month": 31, "year": 366}


@dataclass(frozen=True, slots=True)
class Query:
    """The parts of a query."""

    words: tuple[str, ...]
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    site: str = ""  # a host, including its subdomains
    text: str = ""  # the query as written, without the site


def parse_query(text: str) -> Query:
    """Parse a query.

    Args:
        text: Words, and the usual operators `"a phrase"`, `-without` and `site:host`.
    """
    words: list[str] = []
    phrases: list[str] = []
    without: list[str] = []
    site = rest = ""
    for part in _PART.finditer(text):
        found = _QUERY_WORD.findall(part["phrase"] or part["word"] or "")
        if (host := _SITE.match(part["word"] or "")) and not part["not"]:
            site = host["host"].lower()
            continue
        rest += f" {part[0]}"
        if part["not"] or part["phrase"]:
            (without if part["not"] else phrases).append(" ".join(found))
        else:
            words += found
    telling = [word for word in words if plain(word) not in COMMON] or words
    kept = tuple(dict.fromkeys(word.casefold() for word in telling))[:_MAX_TERMS]
    named = tuple(filter(None, phrases))[:_MAX_TERMS]
    return Query(kept, named, tuple(filter(None, without))[:_MAX_TERMS], site, rest.strip())


def oldest(freshness: str) -> datetime | None:
    """Return the earliest time of hits, or None for any age.

    Args:
        freshness: `day`, `week`, `month` or `year`, or empty.
    """
    days = _DAYS.get(freshness)
    return datetime.now(UTC) - timedelta(days=days) if days else None

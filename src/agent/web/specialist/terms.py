"""What a question is about: its words, the most telling first, and the names in it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

_WORD = re.compile(r"[^\W_]+(?:[-'’.,/:][^\W_]+)*")
_QUOTED = re.compile(r"[\"“«]([^\"”»]{2,80})[\"”»]|(?<!\w)['‘]([^'’]{2,80})['’](?!\w)")
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
"""Words by which questions and pages say the same thing: the one, and the one that stands for both."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


COMMON = _words(
    """
    a about according after again all also am an and any are as at be because been before being between both but by
    can could current currently did do does doing during each exact exactly find for from give given gives had has have
    having he her here him his how i if in into is it its itself just know let list look many me mention mentioned more
    most much must my name named names need no not now of off often on one only or other our out over please page per
    say says search see shall she should show site so some such tell than that the their them then there these they this
    those through to too under until up upon us use used using value very was we web website well were what when where
    whether which while who whom whose why will with would year years you your
    """
)
_ASKS = _words("what which who whom whose when where why how is are was were does do did can could tell find name give")


@dataclass(frozen=True, slots=True)
class Terms:
    """The words of a question that a page about it would have."""

    weights: dict[str, float]
    """By stem; names and numbers weigh twice."""
    names: tuple[str, ...]
    """Quoted texts, proper names and numbers as they are written."""
    words: tuple[str, ...]
    """As they are written, in order, each once."""

    def share(self, stems: Iterable[str]) -> float:
        """How much of the question's weight such words carry, from 0 to 1."""
        there = set(stems)
        total = sum(self.weights.values())
        return sum(weight for stem, weight in self.weights.items() if stem in there) / total if total else 0.0

    def lacking(self, stems: Iterable[str]) -> list[str]:
        """The names of which a word is nowhere among these."""
        there = set(stems)
        return [name for name in self.names if not all(stem in there for stem in stems_of(name))]


def terms_of(question: str) -> Terms:
    """The terms of a question."""
    names = names_in(question)
    named = {stem for name in names for stem in stems_of(name)}
    words = [word for word in dict.fromkeys(_WORD.findall(question)) if plain(word) not in COMMON and len(word) > 1]
    digits = [word for word in _WORD.findall(question) if word.isdigit()]
    weights = {stem_of(word): 2.0 if stem_of(word) in named else 1.0 for word in [*words, *digits]}
    return Terms(weights, tuple(names), tuple(dict.fromkeys([*words, *digits])))


def names_in(text: str) -> list[str]:
    """Quoted texts, proper names and numbers of a text, in order."""
    quoted = [a or b for a, b in _QUOTED.findall(text)]
    rest = _QUOTED.sub(" , ", text)
    starts = {match.start(1) for match in _SENTENCE_START.finditer(rest)}
    found = [*quoted]
    for match in _NAME.finditer(rest):
        name, start = match[0].strip(" .'’-"), match.start()
        first = re.split(r"\s", name, maxsplit=1)[0]
        if start in starts and plain(first) in _ASKS | COMMON:
            name = name[len(first) :].strip()
            name = re.sub(r"^(?:of|the|and|for)\s+", "", name)
        elif start in starts and name == first and not name.isdigit():
            continue  # a sentence's first word is written like a name
        if name and plain(name) not in COMMON:
            found.append(re.sub(r"['’]s$", "", name))
    return list(dict.fromkeys(found))


def stems_of(text: str) -> list[str]:
    """The stems of a text's words, in order."""
    return [stem_of(word) for word in _WORD.findall(text) if plain(word) not in COMMON]


def stem_of(word: str) -> str:
    """What forms of a word have in common, roughly; of a number its digits."""
    low = re.sub(r"['’]s$", "", plain(word))
    if low[:1].isdigit():
        return low.replace(",", "") if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", low) else low
    stem = _cut(low)
    return _cut(_SAME.get(low) or _SAME.get(stem) or stem)


def _cut(word: str) -> str:
    """The word without its ending."""
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 4:
            return word[: -len(suffix)]
    return word


def plain(text: str) -> str:
    """In lower case, without accents."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c))

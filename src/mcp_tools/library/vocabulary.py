"""The words by which tools are found: stems, acronyms, and the parts of a question."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise

from mcp_tools.particulars import FUNCTION_WORDS
from mcp_tools.text import words

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_MIXED = re.compile(r"(?<=[^\W\d])(?=\d)|(?<=\d)(?=[^\W\d])")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")
"""Words of scripts that put no space between words: they are searched by pairs of characters."""
_LONGEST = 20_000
_MOST = 24
"""Words of a query that count: a long question says what it wants early and often."""

_VAGUE_WORDS = words(
    """
    answer compute calculate calculates computes determine determines find finds get return returns
    tell result results number numbers function tool question
    """
)
"""Words that most tools have: dropped when anything else is left."""


def search_words(text: str) -> list[str]:
    """The words of a text that are worth searching for, each once, in order."""
    found = list(dict.fromkeys(word.lower() for word in _WORD.findall(text[:_LONGEST])))
    kept = [word for word in found if word not in FUNCTION_WORDS]
    telling = [word for word in kept if word not in _VAGUE_WORDS and not word.isdigit() and len(word) > 1]
    return (telling or kept)[:_MOST]


_ENDINGS = sorted(
    words(
        """
        ization izations isation isations ational ations ation ating ated ates ator ators ate ative
        ions ion ings ing edly ed ers er ors or ies ied ily iness ness ments ment ally ally al ly
        ities ity ances ance ences ence ical ic ists ist able ible ous ive ing's s es e y
        """
    ),
    key=len,
    reverse=True,
)
_SHORTEST_STEM = 4
_IRREGULAR = {
    form: stem
    for stem, forms in {
        "buy": "bought", "sell": "sold sale sales", "pay": "paid", "build": "built", "draw": "drew drawn",
        "grow": "grew grown growth", "weigh": "weight weights", "high": "height heights higher highest tall",
        "wide": "width", "long": "length lengths longer longest", "deep": "depth", "index": "indices",
        "matrix": "matrices", "vertex": "vertices", "person": "people", "child": "children", "day": "daily",
        "begin": "began begun", "write": "written wrote", "choose": "chosen chose choice choices",
        "conver": "convert converts converted converting converter conversion conversions",
        "divi": "divide divides divided dividing division divisor divisors", "multipl": "multiply multiplied",
        "invers": "invert inverts inverted inverse", "analy": "analyse analyze analysis analyses analyzing",
        "summ": "sum sums summed summing summation", "spee": "speed speeds", "dat": "date dates", "dice": "die",
        "tim": "time times timing", "los": "loss losses lost lose", "hav": "halve half halves",
    }.items()
    for form in forms.split()
}  # fmt: skip
"""Forms that no ending explains, by the stem that stands for them."""


@functools.lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """The part of a word that its forms share: `calcul` for calculate, calculates and calculation."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            kept = word[: -len(ending)]
            return kept[:-1] if len(kept) > _SHORTEST_STEM and kept[-1] == kept[-2] else kept
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def plain_words(text: str) -> list[str]:
    """All words of a text in their order, in small letters and without accents."""
    text = _CAMEL.sub(" ", text[:_LONGEST])
    if text.isascii():
        return _WORD.findall(text.lower())
    text = unicodedata.normalize("NFKD", text)
    text = "".join(character for character in text if not unicodedata.combining(character))
    found: list[str] = []
    for word in _WORD.findall(unicodedata.normalize("NFC", text).lower()):
        if _UNSPACED.search(word):
            found += [first + second for first, second in pairwise(word)]
        else:
            found.append(word)
    return found


def stems(text: str) -> list[str]:
    """The stems of a text's words, in their order, also of both parts of a word such as sha256."""
    found = []
    for word in plain_words(text):
        if word not in FUNCTION_WORDS:
            found.append(stem(word))
            found += [part for part in _MIXED.split(word) if len(part) > 1 and part != word]
    return found


_MOST_LETTERS = 6
_FEWEST_LETTERS = 3


def acronyms(row: Sequence[str], *, most: int = _MOST_LETTERS) -> list[str]:
    """The first letters of words that follow each other, with and without function words: `irr`."""
    found: dict[str, None] = {}
    everything = [word for word in row[: 2 * _MOST] if not word.isdigit()]
    telling = [word for word in everything if word not in FUNCTION_WORDS]
    for part in (everything, telling) if len(telling) < len(everything) else (everything,):
        letters = "".join(word[0] for word in part)
        is_end = [word not in FUNCTION_WORDS for word in part]
        for at in range(len(part) - _FEWEST_LETTERS + 1):
            for end in range(at + _FEWEST_LETTERS, min(at + most, len(part)) + 1) if is_end[at] else ():
                if is_end[end - 1]:
                    found[letters[at:end]] = None
    return list(found)


def joined(row: Sequence[str]) -> Iterator[str]:
    """Neighbouring words as one: `timezone` for time zone, `sha256` for SHA-256."""
    for first, second in pairwise(row):
        if 4 <= len(first + second) <= 24:
            yield first + second


def is_slip(one: str, other: str) -> bool:
    """Return True if two words differ by one letter, or by two that changed places."""
    if abs(len(one) - len(other)) > 1 or one == other:
        return False
    start = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
    if start is None:
        return True
    one, other = one[start:], other[start:]
    return (
        one[1:] == other[1:]
        or one[1:] == other
        or one == other[1:]
        or (one[:2] == other[1::-1] and one[2:] == other[2:])
    )


_PART = re.compile(
    r"(?<=[.!?;])\s+|\n+|,?\s+(?:and\s+)?(?:then|afterwards|finally|next|also|additionally|furthermore)\b,?"
    r"|,\s+and\s+|;|\s+and\s+(?=[a-z]+\s+(?:the|a|an|all|each|every|its|their|how|what|my|me)\b)",
    re.IGNORECASE,
)
_MOST_PARTS = 12
_FEWEST_WORDS = 2


def parts_of(question: str) -> list[str]:
    """Return the parts of a question that may each need a separate tool; nothing if it has one part."""
    found = [part for part in _PART.split(question[:_LONGEST]) if len(search_words(part)) >= _FEWEST_WORDS]
    return found[:_MOST_PARTS] if len(found) > 1 else []


_ALSO = re.compile(r"(?im)^\s*(?:also known as|alias(?:es)?|aka)\s*:\s*(.+)$")


def also_known_as(description: str) -> list[str]:
    """The other names that a description gives: `Also known as: IRR, internal return`."""
    found = [name.strip(" .`'\"") for line in _ALSO.findall(description) for name in re.split(r"[,;]", line)]
    return [name for name in dict.fromkeys(found) if name]

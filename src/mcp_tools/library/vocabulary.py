"""Splits texts into the terms that the search uses: words, stems, acronyms, and the parts of a question."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise

from mcp_tools.library.particulars import FUNCTION_WORDS
from mcp_tools.text import words

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_MIXED = re.compile(r"(?<=[^\W\d])(?=\d)|(?<=\d)(?=[^\W\d])")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")
"""Text in a script without spaces between words. It is searched by pairs of characters."""
_MAX_TEXT_CHARS = 20_000
_MAX_QUERY_WORDS = 24
"""Maximum number of words in a query. Later words are ignored, because a long question states its purpose early."""

_VAGUE_WORDS = words(
    """
    answer compute calculate calculates computes determine determines find finds get return returns
    tell result results number numbers function tool question
    """
)
"""Words that most tools contain. They are dropped unless the query has no others."""


def search_words(text: str) -> list[str]:
    """Return the words of a text that are worth searching for, in order and without duplicates."""
    found = list(dict.fromkeys(word.lower() for word in _WORD.findall(text[:_MAX_TEXT_CHARS])))
    kept = [word for word in found if word not in FUNCTION_WORDS]
    specific = [word for word in kept if word not in _VAGUE_WORDS and not word.isdigit() and len(word) > 1]
    return (specific or kept)[:_MAX_QUERY_WORDS]


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
_MIN_STEM_CHARS = 4
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
"""The stems of irregular forms."""


@functools.lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return the stem that the forms of a word share: `calcul` for calculate, calculates and calculation."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _MIN_STEM_CHARS:
            kept = word[: -len(ending)]
            return kept[:-1] if len(kept) > _MIN_STEM_CHARS and kept[-1] == kept[-2] else kept
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def plain_words(text: str) -> list[str]:
    """Return all words of a text in order, in lower case and without accents."""
    text = _CAMEL.sub(" ", text[:_MAX_TEXT_CHARS])
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
    """Return the stems of a text's words in order. A word such as sha256 also gives its parts."""
    found = []
    for word in plain_words(text):
        if word not in FUNCTION_WORDS:
            found.append(stem(word))
            found += [part for part in _MIXED.split(word) if len(part) > 1 and part != word]
    return found


_MAX_ACRONYM_CHARS = 6
_MIN_ACRONYM_CHARS = 3


def acronyms(row: Sequence[str], *, most: int = _MAX_ACRONYM_CHARS) -> list[str]:
    """Return all acronyms of consecutive words, with and without function words.

    Example:
        >>> acronyms(["internal", "rate", "of", "return"])
        ['iror', 'ror', 'irr']
    """
    found: dict[str, None] = {}
    everything = [word for word in row[: 2 * _MAX_QUERY_WORDS] if not word.isdigit()]
    specific = [word for word in everything if word not in FUNCTION_WORDS]
    for part in (everything, specific) if len(specific) < len(everything) else (everything,):
        letters = "".join(word[0] for word in part)
        is_end = [word not in FUNCTION_WORDS for word in part]
        for at in range(len(part) - _MIN_ACRONYM_CHARS + 1):
            for end in range(at + _MIN_ACRONYM_CHARS, min(at + most, len(part)) + 1) if is_end[at] else ():
                if is_end[end - 1]:
                    found[letters[at:end]] = None
    return list(found)


def joined(row: Sequence[str]) -> Iterator[str]:
    """Yield each pair of consecutive words as one word: `timezone` for time zone, `sha256` for SHA-256."""
    for first, second in pairwise(row):
        if 4 <= len(first + second) <= 24:
            yield first + second


def is_typo(one: str, other: str) -> bool:
    """Return True if two words differ by one letter or by two swapped letters."""
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
_MAX_PARTS = 12
_MIN_PART_WORDS = 2


def parts_of(question: str) -> list[str]:
    """Return the parts of a question that may each need their own tool; empty if it has only one part."""
    found = [part for part in _PART.split(question[:_MAX_TEXT_CHARS]) if len(search_words(part)) >= _MIN_PART_WORDS]
    return found[:_MAX_PARTS] if len(found) > 1 else []


_ALSO = re.compile(r"(?im)^\s*(?:also known as|alias(?:es)?|aka)\s*:\s*(.+)$")


def also_known_as(description: str) -> list[str]:
    """Return the names in a line of a description such as `Also known as: IRR, internal return`."""
    found = [name.strip(" .`'\"") for line in _ALSO.findall(description) for name in re.split(r"[,;]", line)]
    return [name for name in dict.fromkeys(found) if name]

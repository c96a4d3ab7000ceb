"""What a query asks for: words, phrases, a site, an age; nothing of it reaches an index as its syntax."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

_MOST_WORDS = 32
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_PART = re.compile(r"(?P<not>(?<!\S)-(?!\d))?(?:\"(?P<phrase>[^\"]*)\"|(?P<word>\S+))")
_SITE = re.compile(r"site:(?P<host>[\w.:-]+)(?:/\S*)?$", re.I)
_UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f\U00020000-\U0003ffff"
"""Writings without spaces between words: each character is a word."""
_ALONE = re.compile(f"([{_UNSPACED}])")
_SPACED = re.compile(f" ([{_UNSPACED}]) ")
_STOP_WORDS = (
    "a an and are as at be been but by can did do does for from had has have he her his how i if in into is it its"
    " me my of on or our she so than that the their them then there these they this to us was we were what when where"
    " which who whom whose why will with would you your tell please find"
)
_STOP = frozenset(_STOP_WORDS.split())
_DAYS = {"day": 1, "week": 7, "month": 31, "year": 366}


@dataclass(frozen=True, slots=True)
class Query:
    """A query in parts."""

    words: tuple[str, ...]
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    site: str = ""
    """A host; its subdomains count too."""
    text: str = ""
    """The whole as it was written, without the site."""

    @property
    def loosened(self) -> Query:
        """With the phrases as words."""
        words = (*self.words, *(word for phrase in self.phrases for word in _words(phrase)))
        return replace(self, words=tuple(dict.fromkeys(words))[:_MOST_WORDS], phrases=())

    @property
    def expression(self) -> str:
        """The whole in the syntax of FTS5, every part of it quoted."""
        parts = [match_of(phrase) for phrase in self.phrases]
        if self.words:
            parts.append(f"({' OR '.join(match_of(word) for word in self.words)})")
        wanted = " AND ".join(parts)
        return f"({wanted}) NOT ({' OR '.join(match_of(one) for one in self.without)})" if self.without else wanted


def parse_query(text: str) -> Query:
    """The parts of a query.

    Args:
        text: Words; `"a phrase"`, `-without` and `site:host` as in other search engines.
    """
    words: list[str] = []
    phrases: list[str] = []
    without: list[str] = []
    site = rest = ""
    for part in _PART.finditer(text):
        if (host := _SITE.match(part["word"] or "")) and not part["not"]:
            site = host["host"].lower()
            continue
        rest += f" {part[0]}"
        if part["not"]:
            without += [" ".join(_words(part["phrase"] or part["word"] or ""))]
        elif part["phrase"]:
            phrases += [" ".join(_words(part["phrase"]))]
        else:
            words += _words(part["word"] or "")
    telling = [word for word in words if word.casefold() not in _STOP] or words
    kept = tuple(dict.fromkeys(word.casefold() for word in telling))[:_MOST_WORDS]
    return Query(kept, _filled(phrases), _filled(without), site, rest.strip())


def match_of(words: str) -> str:
    """Words as one quoted string of FTS5: they stand one after the other. Words hold no quotes."""
    return f'"{" ".join(spaced(words).split())}"'


def spaced(text: str) -> str:
    """The text with each character of an unspaced writing as a word of its own."""
    return text if text.isascii() else _ALONE.sub(r" \1 ", text)


def unspaced(text: str) -> str:
    """The text as it was."""
    return text if text.isascii() else _SPACED.sub(r"\1", text)


def _words(text: str) -> list[str]:
    return _WORD.findall(text)


def _filled(texts: list[str]) -> tuple[str, ...]:
    return tuple(text for text in texts if text)[:_MOST_WORDS]


def oldest(freshness: str) -> datetime | None:
    """The time before which nothing is wanted; None where any age will do.

    Args:
        freshness: `day`, `week`, `month` or `year`, or empty.
    """
    days = _DAYS.get(freshness)
    return datetime.now(UTC) - timedelta(days=days) if days else None

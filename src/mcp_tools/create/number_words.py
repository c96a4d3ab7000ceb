"""Numbers written in words: "fifty-seven", "one hundred and fifth"."""

from __future__ import annotations

import re

_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS = {
    "first": 1,
    "second": 2,
    "third": 3,
    "fifth": 5,
    "eighth": 8,
    "ninth": 9,
    "twelfth": 12,
    "dozen": 12,
}
_VALUES = {word: number for number, word in enumerate(_UNITS.split())}
_VALUES |= {word: 20 + 10 * index for index, word in enumerate(_TENS.split())}
_VALUES |= {f"{word}th": number for word, number in list(_VALUES.items())}
_VALUES |= {f"{word[:-1]}ieth": _VALUES[word] for word in _TENS.split()} | _ORDINALS
_MULTIPLIERS = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9}
_MULTIPLIERS |= {f"{word}th": number for word, number in list(_MULTIPLIERS.items())}
_TOKEN = re.compile(r"[a-z]+|[^a-z\s-]")


def spoken_numbers(text: str) -> set[int]:
    """The numbers written in words in a text."""
    found: set[int] = set()
    total = group = 0
    inside = False
    for token in [*_TOKEN.findall(text.lower()), "."]:
        if token in _VALUES and not (inside and _clashes(group, _VALUES[token])):
            group += _VALUES[token]
        elif token in _MULTIPLIERS and inside:
            scale = _MULTIPLIERS[token]
            if scale == 100:
                group *= 100
            else:
                total, group = total + group * scale, 0
        elif token == "and" and inside and (group % 100 == 0):  # noqa: S105 - a word
            continue
        else:
            if inside:
                found.add(total + group)
            total, group = 0, _VALUES.get(token, 0)
        inside = token in _VALUES or (inside and token in _MULTIPLIERS)
    return found


def _clashes(group: int, value: int) -> bool:
    """Whether a value cannot follow in the same number: "two three" are two numbers, "twenty three" is one."""
    last = group % 100
    return last != 0 and not (last >= 20 and last % 10 == 0 and 0 < value < 10)

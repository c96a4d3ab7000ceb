"""What is particular to a question: its numbers, names and quoted texts, as they might be copied into code.

Numbers that stand in any code (0, 1, 2) are left alone. Those that are often constants in their own right (small
numbers, 60, 365, 1000 …) are *common*: finding one in the code proves nothing, so it is only a warning. Percentages
count as what they are computed with too: "5%" is 5, 0.05, 1.05 and 0.95. Lower-case words without quotes, such as
units, are nothing particular.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

from mcp_tools.create.question_template import spoken_numbers
from mcp_tools.text import words

_NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?|(?<![\w.])\.\d+")
_SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SCALE = re.compile(rf"\s*({'|'.join(_SCALES)})\b", re.IGNORECASE)
_PERCENT = re.compile(r"\s*(?:%|percent\b|per cent\b)", re.IGNORECASE)
_QUOTED = re.compile(
    r"(?<!\w)'([^'\n]{3,300})'(?!\w)|\"([^\"\n]{3,300})\"|“([^”\n]{3,300})”|‘([^’\n]{3,300})’|`([^`\n]{3,300})`"
)
_INTRODUCED = re.compile(r"\b(?:word|string|phrase|sequence|number|code|password)\s+([A-Za-z0-9_-]{3,300})")
_NAME = re.compile(r"(?<![\w'’])[^\W\d_a-z][\w-]{2,}")
_MIXED = re.compile(r"\b(?=\w*\d)(?=\w*[A-Za-z])\w{3,}\b")
_ORDINAL_OR_UNIT = re.compile(r"\d+[A-Za-z]{1,3}$")
_WORD = re.compile(r"\w[\w-]*")

_TRIVIAL = frozenset(map(Decimal, (0, 1, 2)))
_COMMON = frozenset(
    [Decimal(number) for number in range(3, 14)]
    + [Decimal(n) for n in (15, 16, 20, 24, 26, 28, 29, 30, 31, 32, 50, 52, 60, 64, 90, 97, 100, 128, 180, 255, 256)]
    + [Decimal(n) for n in (360, 365, 366, 400, 500, 512, 1000, 1024, 3600, 10**4, 86400, 10**5, 10**6, 10**9)]
    + [Decimal(n) for n in (10**9 + 7, 10**12)]
    + [Decimal(text) for text in ("0.5", "0.25", "0.75", "0.1", "0.01", "0.001", "1.5", "365.25", "3.14", "3.14159")]
)
_COMMON |= frozenset(
    Decimal(text)
    for text in words(
        """
        1.609344 1.60934 1.609 0.621371 3.785411784 3.78541 3.785 2.54 0.3048 0.9144 0.45359237 0.453592 2.20462
        28.349523125 1852 1.852 273.15 459.67 1.8 9.81 9.8 9.80665 299792458 6.02214076e23 6.022e23 8.314 4.184 4.186
        101325 6371 3.1416
        """
    )
)
"""Conversions and constants of nature: the same in every question that names them."""
_NO_NAMES = words(
    """
    What Which Who Whom Whose When Where Why How Is Are Was Were Do Does Did Can Could Will Would Should Has Have Had
    The This That These Those There They Then Than Its Let Given Give Find Compute Calculate Count Determine Return
    Print Convert Write Tell Show List
    Sort Solve Evaluate Express Round Simplify Suppose Assume Consider Use Using Each Every
    All Any Some Many Much Most Starting After Before Between From For With Without And But Not Answer Question Output
    Input Please Yes None True False Reverse Sum Add Multiply Divide Take Make Create Encode Decode Parse Check Simulate
    UTC GMT ISO ASCII JSON CSV XML HTML URL UTF Unicode Base64 SHA256 MD5 Roman Arabic Latin Greek Gregorian Julian
    Celsius Fahrenheit Kelvin USD EUR GBP JPY CHF Python
    """
)
_WIDEST = 2000
_MOST_TEXTS = 500
"""Of a very long question, the first so many quoted texts count."""


@dataclass(frozen=True, slots=True)
class Literal:
    """Something of the question that stands in the code."""

    text: str
    """How to show it."""
    common: bool = False
    is_text: bool = False


@dataclass(frozen=True)
class Particulars:
    """What is particular to a question."""

    numbers: frozenset[Decimal] = frozenset()
    names: frozenset[str] = frozenset()
    """Single words, as they are spelled."""
    texts: tuple[str, ...] = field(default=())
    """Quoted texts of several words, in lower case."""

    def found_in(self, value: object) -> list[Literal]:
        """What of the question a constant of the code holds."""
        if isinstance(value, str):
            return self._in_text(value)
        if isinstance(value, int) and value.bit_length() > _WIDEST:
            return []  # nobody asks with so long a number, and comparing it would take its time
        if isinstance(value, int | float) and not isinstance(value, bool):
            number = Decimal(value) if isinstance(value, int) else Decimal(repr(value))
            if number in self.numbers:
                return [Literal(str(value) if abs(value) < 10**30 else "a number", common=number in _COMMON)]
        return []

    def _in_text(self, value: str) -> list[Literal]:
        found = [Literal(repr(name), is_text=True) for name in sorted(self._names_in(value))]
        lowered = value.casefold()
        found += [Literal(repr(_cut(text)), is_text=True) for text in self.texts if text in lowered]
        inside = numbers_in(value) & self.numbers
        return found + [Literal(f"{number:f}") for number in sorted(inside - _COMMON)]

    def _names_in(self, value: str) -> set[str]:
        tokens = set(_WORD.findall(value))
        return {name for name in tokens if name in self.names or name.casefold() in self.names}


def particulars(question: str) -> Particulars:
    """Collects what is particular to a question."""
    quoted = [next(filter(None, match.groups())) for match in _QUOTED.finditer(question)]
    texts = [text.strip() for text in quoted[:_MOST_TEXTS]]
    names = {name.rstrip("-") for name in _NAME.findall(question)} - _NO_NAMES
    names |= {token for token in _MIXED.findall(question) if not _ORDINAL_OR_UNIT.match(token)}
    single = [text for text in texts if _WORD.fullmatch(text)]
    introduced = [word for word in _INTRODUCED.findall(question) if word not in _COMMON_WORDS]
    names |= {word.casefold() for word in [*single, *introduced] if not word.isdigit()} - _COMMON_WORDS
    several = tuple(dict.fromkeys(text.casefold() for text in texts if text not in single and not _is_markup(text)))
    numbers = numbers_in(question) | {Decimal(number) for number in spoken_numbers(question)}
    return Particulars(frozenset(numbers) - _TRIVIAL, frozenset(names) - _NO_NAMES, several)


_COMMON_WORDS = words(
    """
    yes no true false none null odd even left right up down north south east west red green blue is are of that the with
    system systems theory sequence sequences which whose contains problem line lines between from for and has and then
    consisting formed where such line
    """
)


def _is_markup(text: str) -> bool:
    return not any(character.isalnum() for character in text)


def _cut(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"


def numbers_in(text: str) -> frozenset[Decimal]:
    """The numbers written with digits in a text, and what percentages and scales make of them."""
    found: set[Decimal] = set()
    for match in _NUMBER.finditer(text):
        parts = [match[0].replace(",", "")]
        if "," in match[0]:
            parts += match[0].split(",")  # a list without blanks looks like thousands
        for part in parts:
            number = _decimal(part)
            if number is None:
                continue
            found.add(number)
            if scale := _SCALE.match(text, match.end()):
                found.add(number * _SCALES[scale[1].lower()])
            if _PERCENT.match(text, match.end()):
                rate = number / 100
                found |= {rate, 1 + rate, 1 - rate}
    return frozenset(found)


def _decimal(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        return None

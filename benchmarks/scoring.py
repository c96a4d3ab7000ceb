"""Compare a given answer with the expected one: lenient about form, strict about content."""

from __future__ import annotations

import ast
import json
import re
import unicodedata
import warnings
from datetime import datetime
from decimal import Decimal
from typing import Any

Json = Any

MAX_ANSWER_CHARS = 10_000
"""A longer answer is always wrong."""
FLOAT_NOISE = Decimal("1e-9")
"""Tolerance for binary floating point."""

_CURRENCY = r"(?:[$€£¥₹]|USD|EUR|GBP|CHF|US\$)"
_UNIT = r"(?:[a-zµ°%€$£¥₹²³/·^]+[23]?\.?)"
_NUMBER = re.compile(
    rf"(?P<sign>[-+]?)\s?{_CURRENCY}?\s?(?P<minus>-?)"
    rf"(?P<digits>(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d*)?|\.\d+)(?P<power>[eE][-+]?\d{{1,3}})?"
    rf"(?P<unit>\s?{_UNIT}(?:\s{_UNIT}){{0,2}})?",
    re.IGNORECASE,
)
_NOT_UNITS = frozenset(
    [
        "hundred",
        "thousand",
        "million",
        "billion",
        "trillion",
        "dozen",
        "k",
        "bn",
        "mio",
        "mn",
        "and",
        "or",
        "to",
        "not",
        "no",
        "but",
        "plus",
        "minus",
        "half",
        "over",
    ]
)
"""Words after a number that change its value, or mean that there are two answers."""
_WRAPPINGS = (("**", "**"), ("`", "`"), ('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("«", "»"))
_DATES = ("%Y-%m-%d", "%Y/%m/%d", "%d %B %Y", "%d %b %Y", "%B %d %Y", "%b %d %Y")
_TIMES = ("", " %H:%M", " %H:%M:%S", "T%H:%M", "T%H:%M:%S")


def is_right(given: str, expected: Json) -> bool:
    """Return True if an answer is the expected value. Never raises.

    Example:
        >>> is_right("It takes **1,234.50** m", 1234.5)
        False
        >>> is_right("**1,234.50** m", 1234.5)
        True

    Args:
        given: The answer as text. Surrounding quotes, emphasis and a final period are ignored.
        expected: Numbers are compared by value, ignoring thousands separators, currencies and units. Text is compared
            ignoring case and whitespace. An ISO date or time may have another unambiguous form. Lists, as JSON or
            separated by commas, are compared item by item. An empty answer is never right.
    """
    text = str(given)
    if len(text) > MAX_ANSWER_CHARS:
        return False
    text = _bare(text)
    if not text:
        return False
    if isinstance(expected, bool):
        return text.casefold() in (("true", "yes") if expected else ("false", "no"))
    if isinstance(expected, int | float):
        return _same_number(text, expected)
    if isinstance(expected, list):
        return _same_list(text, expected)
    return _same_text(text, str(expected))


def _bare(text: str) -> str:
    """Remove quotes and emphasis around an answer, and normalise whitespace and minus signs."""
    text = re.sub(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3})", ",", text)
    text = unicodedata.normalize("NFKC", text.replace("²", "^2").replace("³", "^3")).replace("−", "-")
    text = " ".join(text.split())
    previous = None
    while text != previous:
        previous = text
        text = text.removesuffix(".").strip()
        for opening, closing in _WRAPPINGS:
            if text.startswith(opening) and text.endswith(closing) and len(text) >= len(opening + closing):
                text = text[len(opening) : -len(closing)].strip()
    return text


def _same_number(text: str, expected: int | float) -> bool:
    value = _number(text)
    wanted = Decimal(expected) if isinstance(expected, int) else Decimal(repr(expected))
    if value is None or not wanted.is_finite():
        return False
    return value == wanted if isinstance(expected, int) else abs(value - wanted) <= FLOAT_NOISE


def _number(text: str) -> Decimal | None:
    """Return the text as a number, without its unit, or None."""
    match = _NUMBER.fullmatch(text)
    if match is None or not _NOT_UNITS.isdisjoint((match["unit"] or "").casefold().split()):
        return None
    negative = "-" in (match["sign"] + match["minus"])
    value = Decimal(match["digits"].replace(",", "") + (match["power"] or ""))
    return value.copy_negate() if negative else value  # unary minus would round to 28 digits


def _same_text(text: str, expected: str) -> bool:
    if _folded(text) == _folded(_bare(expected)):
        return True
    wanted = _moment(expected)
    return wanted is not None and _moment(text) == wanted


def _folded(text: str) -> str:
    return re.sub(r"\s*([,/])\s*", r"\1", text.casefold())


def _moment(text: str) -> tuple[datetime, bool] | None:
    """Return the text as a date, and True if it has a time.

    None for other text and for ambiguous dates (03/04/2024).
    """
    plain = re.sub(r"^(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s+", "", text.strip(), flags=re.IGNORECASE)
    plain = re.sub(r"(?<=\d)(?:st|nd|rd|th)\b", "", plain, flags=re.IGNORECASE)
    plain = re.sub(r"\s+", " ", plain.replace(",", " ").replace(" of ", " "))
    for time in _TIMES:
        for day in _DATES:
            try:
                return datetime.strptime(plain, day + time), bool(time)
            except ValueError:
                continue
    return None


def _same_list(text: str, expected: list[Json]) -> bool:
    elements = _elements(text, len(expected))
    if len(elements) != len(expected):
        return False
    return all(is_right(given, wanted) for given, wanted in zip(elements, expected, strict=True))


def _elements(text: str, count: int) -> list[str]:
    """Return the items of a list as texts, from JSON, a Python literal, or text with commas."""
    if text.startswith(("[", "(")):
        for read in (json.loads, _literal):
            try:
                value = read(text)
                if isinstance(value, list | tuple):
                    return [e if isinstance(e, str) else json.dumps(e, default=str) for e in value]
            except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
                continue
    inner = re.sub(r"^[\[({](.*)[\])}]$", r"\1", text).strip()
    if not inner:
        return []
    if count == 1:
        return [inner]
    return [element.strip() for element in re.split(r"[,;]", inner)]


def _literal(text: str) -> Json:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.literal_eval(text)

"""Decides if two results are the same answer."""

from __future__ import annotations

import ast
import math
import re
import warnings

from mcp_tools.tool import Json

_NUMBER = re.compile(r"[-+]?[$€£]?\s?[-+]?(?:\d[\d,]*(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?", re.IGNORECASE)
_BETWEEN = re.compile(r"[,;\n]\s+|[,;\n](?!\d{3}(?!\d))|(?<!\s)\s+and\s+")
_FULL_STOP = re.compile(r"(?<=[\w)\]}'\"`%])\.$")
_WORDS = {"yes": "true", "no": "false"}
_MAX_LITERAL_CHARS = 20_000


def answer_key(value: Json) -> str:
    """Return a text that is equal for equal answers, such as 12.0 and "12", or "Sunday" and "sunday.".

    The key of a dictionary with one entry is only a label and is ignored.

    Example:
        >>> answer_key({"total": 12.0}) == answer_key("12")
        True
    """
    return "|".join(_parts(value))


def agree(value: Json, expected: Json) -> bool:
    """Return True if a result matches an expectation that a person or model wrote.

    An expected number may be rounded to two or more decimals; floating-point noise is ignored. An expected text may
    differ in case and punctuation.
    """
    if isinstance(value, bool) or isinstance(expected, bool):
        return value is expected
    if isinstance(value, int | float) and isinstance(expected, int | float):
        if value == expected or math.isclose(value, expected, rel_tol=1e-9, abs_tol=1e-12):
            return True
        written = re.fullmatch(r"-?\d+\.(\d+)(?:e([-+]\d+))?", repr(expected))
        if written is None or (len(written[1]) == 1 and (abs(expected) < 1 or written[2])):
            return False
        # 540.2 may have been written as 540.20, so it counts as two decimals
        digits = len(written[1]) if written[2] else max(2, len(written[1]))
        return bool(abs(value - expected) <= 0.5000001 * 10.0 ** (int(written[2] or 0) - digits))
    if isinstance(value, list) and isinstance(expected, list):
        return len(value) == len(expected) and all(agree(*pair) for pair in zip(value, expected, strict=True))
    if isinstance(value, dict) and isinstance(expected, dict):
        return value.keys() == expected.keys() and all(agree(value[key], expected[key]) for key in value)
    same_kind = type(value) is type(expected)
    return value == expected or (same_kind and answer_key(value) == answer_key(expected))


def same(value: Json, other: Json) -> bool:
    """Return True if two results are equal up to rounding."""
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    if isinstance(value, int | float) and isinstance(other, int | float):
        return value == other or math.isclose(value, other, rel_tol=1e-6, abs_tol=1e-9)
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(same(*pair) for pair in zip(value, other, strict=True))
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(same(value[key], other[key]) for key in value)
    return bool(value == other)


def _parts(value: Json) -> list[str]:
    if isinstance(value, dict):
        if len(value) > 1:
            return [f"{_scalar(str(key))}: {answer_key(value[key])}" for key in sorted(value, key=str)]
        return [part for inner in value.values() for part in _parts(inner)]
    if isinstance(value, list | tuple):
        return [part for inner in value for part in _parts(inner)]
    if isinstance(value, bool) or value is None:
        return [str(value).lower()]
    if isinstance(value, int | float):
        return [_number(value)]
    text = str(value)
    literal = _literal(text)
    return _parts(literal) if literal is not None else [_scalar(part) for part in _BETWEEN.split(text) if part.strip()]


def _literal(text: str) -> Json:
    """Parse a list or dictionary in Python syntax; None for any other text."""
    bare = text.strip()
    if len(bare) > _MAX_LITERAL_CHARS or bare[:1] + bare[-1:] not in {"[]", "{}", "()"}:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = ast.literal_eval(bare)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None
    return value if isinstance(value, list | dict | tuple) and (value or bare in {"[]", "{}"}) else None


def _scalar(text: str) -> str:
    bare = _FULL_STOP.sub("", text.strip()).strip("()[]{}'\"` ")
    bare = _FULL_STOP.sub("", bare) or text.strip()
    written = bare.replace("−", "-")
    if _NUMBER.fullmatch(written):
        plain = re.sub(r"[,$€£\s]", "", written)
        try:
            return _number(int(plain) if re.fullmatch(r"[-+]?\d+", plain) else float(plain))
        except ValueError:
            pass
    lowered = " ".join(bare.casefold().split())
    return _WORDS.get(lowered, lowered)


def _number(value: float) -> str:
    """Format a number with nine significant digits, or more if the integer part has more than six digits."""
    if isinstance(value, int):
        return str(value) if value.bit_length() < 10_000 else hex(value)
    if not math.isfinite(value):
        return str(value)
    whole = len(str(int(abs(value)))) if abs(value) < 1e15 else 0
    rounded = float(f"{value:.{max(9, whole + 3)}g}") if whole else value
    return str(int(rounded)) if rounded.is_integer() else repr(rounded)

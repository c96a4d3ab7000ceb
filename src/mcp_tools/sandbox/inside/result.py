"""Convert a tool's result to JSON bytes, in the process where the tool runs.

Types that JSON lacks are converted without losing information that a caller needs:

- tuple, set, frozenset, generator and other iterators, range, deque, dict views: list (sets are sorted if possible)
- Decimal, Fraction: a number if it represents the value exactly, otherwise text such as `"0.1"` or `"1/3"`
- date, datetime, time: ISO 8601 text; timedelta: seconds
- dataclass, namedtuple: dict and list; Enum: its value; Path, UUID: text
- numpy scalars and arrays, pandas Series and DataFrame (list of records; missing values are null)
- keys that are not strings: their text

`readable` converts values to the form that people use in answers: `24.50`, `3/4`, `2027-03-14 10:30:00`.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

MAXIMUM_DEPTH = 200
MAXIMUM_ITEMS = 1_000_000
"""Maximum number of items to take from a generator."""
MAXIMUM_DIGITS = 4300
"""Maximum length of an integer, because Python refuses to parse longer ones."""

_STRING = re.compile(rb'"[^"\\]*(?:\\.?[^"\\]*)*"?', re.DOTALL)
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_OTHERS = bytes(set(range(256)) - set(b"[]{}"))


class ResultError(Exception):
    """The result cannot be converted to JSON. The message gives the location and the reason."""


def encode(value: Any) -> bytes:
    """Return a value as UTF-8 JSON.

    Example:
        >>> encode({"range": range(3)})
        b'{"range": [0, 1, 2]}'

    Raises:
        ResultError: The value is cyclic, too deep or not finite, or its type cannot be converted.
    """
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(MAXIMUM_DIGITS)  # Python's default limit, which applies to readers of the JSON
    try:
        # fast path in C; other values take the slow path, whose errors give the location
        data = _FAST.encode(value).encode()
        if is_shallow(data):
            return data
    except (TypeError, ValueError, RecursionError, OverflowError):
        pass
    finally:
        sys.set_int_max_str_digits(before)
    return _SLOW.encode(_json_value(value, "result", ())).encode()


def is_shallow(data: bytes, levels: int = MAXIMUM_DEPTH) -> bool:
    """Return True if JSON text has at most this many levels of nesting."""
    if data.count(b"[") + data.count(b"{") <= levels:
        return True
    left = _STRING.sub(b"", data).translate(_BRACKETS, _OTHERS)
    for _ in range(levels):
        left = left.replace(b"[]", b"")
    return not left


def _json_value(value: Any, where: str, parents: tuple[int, ...]) -> Any:
    """Rebuild a value using only None, bool, int, float, str, list, and dict with string keys."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _checked_text(value, where)
    if isinstance(value, int):
        return _integer(value, where)
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise ResultError(f"{where} is {value}, which is not valid JSON: return None or text instead")
        return float(value)
    if id(value) in parents:
        raise ResultError(f"{where} contains itself: return a value without cycles")
    if len(parents) >= MAXIMUM_DEPTH:
        raise ResultError(f"the result is nested more than {MAXIMUM_DEPTH} levels deep")
    parents = (*parents, id(value))
    if isinstance(value, (list, tuple)):
        return [_json_value(item, f"{where}[{i}]", parents) for i, item in enumerate(value)]
    if not isinstance(value, Mapping):
        return _json_value(convert(value, where), where, parents)
    plain: dict[str, Any] = {}
    for key, item in value.items():
        name = _checked_text(_key(key), f"a key of {where}")
        if name in plain:
            raise ResultError(f"{where} has two keys that both become {name!r}")
        plain[name] = _json_value(item, f"{where}[{key!r}]", parents)
    return plain


def _integer(value: int, where: str) -> int:
    if value.bit_length() > MAXIMUM_DIGITS * 3 and abs(value) >= 10**MAXIMUM_DIGITS:
        raise ResultError(f"{where} is an integer with more than {MAXIMUM_DIGITS:,} digits: return str(value)")
    return int(value)


def _checked_text(value: str, where: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        broken = value[error.start]
        raise ResultError(f"{where} contains the lone surrogate {broken!r}, which is not valid text") from None
    return str(value)


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, (bool, int, float)):
        return json.dumps(key)
    return ", ".join(map(_key, key)) if isinstance(key, tuple) else str(convert(key, "a key"))


def convert(value: Any, where: str = "result") -> Any:
    """Convert a value one step closer to JSON. The result may need further conversion.

    Raises:
        ResultError: The type cannot be converted.
    """
    kind, bases = type(value), _bases(value)
    for name, step in _STEPS.items():
        if name in bases:
            return step(value)
    if hasattr(kind, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in kind.__dataclass_fields__}
    if isinstance(value, (set, frozenset)):
        try:
            return sorted(value)
        except TypeError:
            return sorted(value, key=lambda item: (type(item).__name__, repr(item)))
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterator) or kind.__name__ in _SEQUENCES:
        taken = list(itertools.islice(iter(value), MAXIMUM_ITEMS + 1))
        if len(taken) > MAXIMUM_ITEMS:
            raise ResultError(f"{where} yields more than {MAXIMUM_ITEMS:,} items: return fewer")
        return taken
    name = kind.__qualname__ if kind.__module__ in ("builtins", "tool") else f"{kind.__module__}.{kind.__qualname__}"
    raise ResultError(f"{where} has the type {name}, which does not convert to JSON: {_advice(value)}")


def _advice(value: Any) -> str:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "decode it to str"
    if isinstance(value, complex):
        return "return [value.real, value.imag]"
    return "call it and return its result" if callable(value) else "return numbers, text, lists or dicts"


def readable(value: Any) -> Any:
    """Return a value as JSON, with numbers and dates written the way people write them.

    Example:
        >>> readable([Decimal("24.50"), Fraction(3, 4)])
        ['24.50', '3/4']

    Raises:
        ResultError: The value cannot be converted, is cyclic, or is too large.
    """
    return _readable(value, itertools.count(), 0)


def _readable(value: Any, taken: Iterator[int], depth: int) -> Any:
    if depth > MAXIMUM_DEPTH or next(taken) > _MAX_READABLE_VALUES:
        raise ResultError("the result is too large to be an answer")
    names = _bases(value)
    if name := next((name for name in _READABLE if name in names), None):
        value = _READABLE[name](value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return float(value) if value - value == 0 else str(value)
    if isinstance(value, int):
        return _integer(value, "result")
    if isinstance(value, str):
        return _checked_text(value, "result")
    if isinstance(value, tuple) and (names_of_fields := getattr(value, "_fields", None)):
        value = dict(zip(names_of_fields, value, strict=True))
    if isinstance(value, Mapping):
        plain = {_label(key, taken, depth): _readable(item, taken, depth + 1) for key, item in value.items()}
        if len(plain) != len(value):
            raise ResultError("two keys of the result become the same text")
        return plain
    if isinstance(value, (list, tuple)):
        return [_readable(item, taken, depth + 1) for item in value]
    if isinstance(value, Iterator):  # reading it would consume it
        raise ResultError("the result is an iterator")
    return _readable(convert(value), taken, depth + 1)


def _label(key: Any, taken: Iterator[int], depth: int) -> str:
    if isinstance(key, tuple):
        return ", ".join(_label(part, taken, depth + 1) for part in key)
    return str(_readable(key, taken, depth + 1))


def _bases(value: Any) -> set[str]:
    return {f"{base.__module__}.{base.__qualname__}" for base in type(value).__mro__}


def _decimal_text(value: Any) -> str:
    return format(value, "f") if value.is_finite() and abs(value.adjusted()) < 40 else str(value)


def _scalar_of_numpy(value: Any) -> Any:
    kind = value.dtype.kind
    if kind in "mM":
        return _time_of_numpy(value)
    # for floats other than 64-bit, use the fewest digits that identify the value
    return float(str(value)) if kind == "f" and value.dtype.itemsize != 8 else value.item()


def _time_of_numpy(value: Any) -> Any:
    """Convert a numpy date or duration to Python's type. For nanoseconds, numpy itself would return an integer."""
    unit = "us" if value.dtype.str.rstrip("]")[-2:] in ("ns", "ps", "fs", "as") else ""
    return value.astype(f"{value.dtype.kind}8[{unit}]").item() if unit else value.item()


def _series(value: Any) -> Any:
    value = _without_gaps(value)
    if type(value.index).__name__ == "RangeIndex":
        return value.tolist()
    pairs = list(zip(value.index.tolist(), value.tolist(), strict=True))
    return dict(pairs) if value.index.is_unique else pairs


def _frame(value: Any) -> Any:
    value = value if type(value.index).__name__ == "RangeIndex" else value.reset_index()
    return _without_gaps(value).to_dict("records")


def _exact(value: Any, digits: Any = float) -> int | float | str:
    """Return a Decimal or Fraction as a number if that is exact, otherwise as text."""
    try:
        number = float(value)
    except OverflowError:
        return str(value)
    return number if type(value)(digits(number)) == value else str(value)


def _decimal(value: Any) -> int | float | str:
    if not value.is_finite():
        return float(value)
    if value == value.to_integral_value() and value.as_tuple().exponent >= 0:
        return int(value)
    return _exact(value, repr)


def _without_gaps(value: Any) -> Any:
    return value.astype(object).where(value.notna(), None)


_STEPS: dict[str, Any] = {
    "decimal.Decimal": _decimal,
    "fractions.Fraction": lambda value: int(value) if value.denominator == 1 else _exact(value),
    "pandas._libs.tslibs.nattype._NaT": lambda _: None,
    "pandas._libs.missing.C_NAType": lambda _: None,
    **dict.fromkeys(("datetime.date", "datetime.time"), lambda value: value.isoformat()),
    "datetime.timedelta": lambda value: value.total_seconds(),
    "enum.Enum": lambda value: value.value,
    **dict.fromkeys(("uuid.UUID", "pathlib.PurePath"), str),
    **dict.fromkeys(
        ("pandas.core.frame.DataFrame", "pandas.DataFrame"), lambda value: _without_gaps(value).to_dict("records")
    ),
    **dict.fromkeys(("pandas.core.series.Series", "pandas.Series"), lambda value: _without_gaps(value).tolist()),
    **dict.fromkeys(
        (
            "pandas.core.indexes.base.Index",
            "pandas.Index",
            "pandas.core.arrays.base.ExtensionArray",
            "numpy.ndarray",
        ),
        lambda value: value.tolist(),
    ),
    **dict.fromkeys(("numpy.datetime64", "numpy.timedelta64"), lambda value: _time_of_numpy(value)),
    "numpy.generic": lambda value: value.item(),
}
"""Conversions by the qualified name of a class in the value's MRO, so that no package has to be imported."""

_READABLE: dict[str, Any] = {
    "decimal.Decimal": _decimal_text,
    "pandas._libs.tslibs.nattype._NaT": lambda _: None,
    "fractions.Fraction": str,
    "builtins.complex": lambda value: str(value).strip("()"),
    "pandas._libs.tslibs.timestamps._Timestamp": lambda value: str(value).removesuffix(" 00:00:00"),
    "pandas._libs.tslibs.timedeltas._Timedelta": lambda value: str(value.to_pytimedelta()),
    **dict.fromkeys(("pandas._libs.tslibs.period._Period", "pandas._libs.interval.IntervalMixin"), str),
    **dict.fromkeys(("datetime.date", "datetime.time", "datetime.timedelta"), str),
    "enum.Enum": lambda value: value.value if isinstance(value, (str, int)) or type(value.value) is str else value.name,
    **dict.fromkeys(("builtins.bytes", "builtins.bytearray"), lambda value: value.decode()),
    "numpy.datetime64": lambda value: str(_time_of_numpy(value)),
    "numpy.timedelta64": lambda value: str(_time_of_numpy(value)),
    "numpy.generic": _scalar_of_numpy,
    "numpy.ndarray": lambda value: list(value) if value.ndim else value[()],
    **dict.fromkeys(("pandas.core.series.Series", "pandas.Series"), _series),
    **dict.fromkeys(("pandas.core.frame.DataFrame", "pandas.DataFrame"), _frame),
}
"""Like `_STEPS`, but for `readable`."""
_MAX_READABLE_VALUES = 50_000

_SEQUENCES = {"range", "deque", "dict_keys", "dict_values", "dict_items", "array", "odict_keys", "odict_values"}

_FAST = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=convert)
_SLOW = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False)

"""JSON arguments turned into what a function's annotations ask for."""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import datetime
import decimal
import enum
import fractions
import inspect
import pathlib
import types
import typing
import uuid
from collections.abc import Callable
from typing import Any

_EXACT_FLOAT = 2**53


class ArgumentError(Exception):
    """The function cannot be called with these arguments; the message names the one and the reason."""


def bind(function: Callable[..., Any], arguments: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The positional and keyword arguments of the call, converted by annotation.

    Raises:
        ArgumentError: One is missing, unknown or cannot be converted.
    """
    signature = inspect.signature(function)
    hints = resolved_hints(function)
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    left = dict(arguments)
    for name, parameter in signature.parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            keywords.update(left)
            left = {}
            continue
        if name not in left:
            if parameter.kind is not inspect.Parameter.VAR_POSITIONAL and parameter.default is parameter.empty:
                raise ArgumentError(f"{function.__name__}() needs the argument {parameter.name!r}")
            continue
        value = convert(left.pop(name), hints.get(name, Any), f"argument {name!r}")
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            positional.append(value)
        elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            positional.extend(value)
        else:
            keywords[name] = value
    if left:
        known = ", ".join(signature.parameters) or "none"
        raise ArgumentError(f"{function.__name__}() has no parameter {next(iter(left))!r}; it has: {known}")
    return positional, keywords


def resolved_hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The resolved annotations; those that cannot be resolved count as absent."""
    raw = getattr(function, "__annotations__", {})
    if all(isinstance(hint, type) and hint in _PLAIN for hint in raw.values()):
        return raw
    try:
        return typing.get_type_hints(function, include_extras=True)
    except Exception:  # noqa: BLE001 - a tool's annotation is a tool's code
        return {}


def convert(value: Any, hint: Any, where: str) -> Any:
    """The JSON value as the annotation wants it; unchanged where it has nothing to say.

    Raises:
        ArgumentError: The value cannot be of that type.
    """
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        return convert(value, typing.get_args(hint)[0], where)
    if origin in (typing.Union, types.UnionType):
        return _one_of(value, typing.get_args(hint), where)
    if origin is typing.Literal or hint in (Any, object, None, inspect.Parameter.empty):
        return value
    kind = origin or hint
    if not isinstance(kind, type):
        return value
    if kind is float and type(value) is int and abs(value) <= _EXACT_FLOAT:
        return float(value)
    if kind is int and type(value) is float and value.is_integer():
        return int(value)
    if kind in _PLAIN and origin is None:
        return value
    return _structured(value, kind, typing.get_args(hint), where)


def _one_of(value: Any, options: tuple[Any, ...], where: str) -> Any:
    if value is None and type(None) in options:
        return None
    reasons = []
    # what already is of an option's type stays as it is: "2024" for `str | date` is text
    for option in options:
        if isinstance(option, type) and type(value) is option:
            return value
    for option in options:
        if option is type(None):
            continue
        try:
            converted = convert(value, option, where)
        except ArgumentError as error:
            reasons.append(str(error))
            continue
        if _fits(converted, option):
            return converted
    if reasons:
        raise ArgumentError("; ".join(reasons))
    return value


def _fits(value: Any, option: Any) -> bool:
    kind = typing.get_origin(option) or option
    if not isinstance(kind, type) or typing.is_typeddict(kind):
        return True
    return isinstance(value, kind)


def _structured(value: Any, kind: type, items: tuple[Any, ...], where: str) -> Any:
    if typing.is_typeddict(kind):
        hints = typing.get_type_hints(kind)
        return (
            {k: convert(v, hints.get(k, Any), f"{where}[{k!r}]") for k, v in value.items()}
            if isinstance(value, dict)
            else value
        )
    if dataclasses.is_dataclass(kind):
        return _dataclass(value, kind, where)
    if issubclass(kind, enum.Enum):
        return _enum(value, kind, where)
    if issubclass(kind, tuple):
        return _tuple(value, kind, items, where)
    if issubclass(kind, collections.abc.Mapping):
        return _mapping(value, kind, items, where)
    if kind in _COLLECTIONS:
        return _collection(value, kind, items, where)
    if kind in _SCALARS:
        return _scalar(value, kind, where)
    return value


def _dataclass(value: Any, kind: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise ArgumentError(f"{where} must be an object with the fields of {kind.__name__}")
    hints = typing.get_type_hints(kind)
    known = {field.name for field in dataclasses.fields(kind) if field.init}
    unknown = sorted(value.keys() - known)
    if unknown:
        raise ArgumentError(f"{where}: {kind.__name__} has no field {unknown[0]!r}")
    try:
        return kind(**{k: convert(v, hints.get(k, Any), f"{where}.{k}") for k, v in value.items()})
    except TypeError as error:
        raise ArgumentError(f"{where}: {error}") from None


def _enum(value: Any, kind: type[enum.Enum], where: str) -> Any:
    try:
        return kind(value)
    except ValueError:
        if isinstance(value, str) and value in kind.__members__:
            return kind[value]
        allowed = ", ".join(repr(member.value) for member in kind)
        raise ArgumentError(f"{where} is {value!r}, not one of {allowed}") from None


def _tuple(value: Any, kind: Any, items: tuple[Any, ...], where: str) -> Any:
    if not isinstance(value, list):
        return value
    if hasattr(kind, "_fields"):
        hints = typing.get_type_hints(kind)
        fields = zip(kind._fields, value, strict=False)
        return kind(*(convert(item, hints.get(name, Any), f"{where}.{name}") for name, item in fields))
    if not items:
        return tuple(value)
    if len(items) == 2 and items[1] is ...:
        return tuple(convert(item, items[0], f"{where}[{i}]") for i, item in enumerate(value))
    if len(items) != len(value):
        raise ArgumentError(f"{where} has {len(value)} items instead of {len(items)}")
    pairs = zip(value, items, strict=True)
    return tuple(convert(item, hint, f"{where}[{i}]") for i, (item, hint) in enumerate(pairs))


def _mapping(value: Any, kind: type, items: tuple[Any, ...], where: str) -> Any:
    if not isinstance(value, dict):
        return value
    if len(items) == 2:
        value = {_key(k, items[0], where): convert(v, items[1], f"{where}[{k!r}]") for k, v in value.items()}
    if kind is collections.defaultdict:
        return collections.defaultdict(None, value)
    return kind(value) if kind in (collections.OrderedDict, collections.Counter) else value


def _key(key: str, hint: Any, where: str) -> Any:
    """JSON has text keys only: those of `dict[int, …]` become numbers again."""
    if hint in (int, float):
        try:
            return hint(key)
        except ValueError:
            raise ArgumentError(f"{where} has the key {key!r}, which is no {hint.__name__}") from None
    return convert(key, hint, f"a key of {where}")


def _collection(value: Any, kind: type, items: tuple[Any, ...], where: str) -> Any:
    if not isinstance(value, list):
        return value
    hint = items[0] if items else Any
    converted = [convert(item, hint, f"{where}[{i}]") for i, item in enumerate(value)]
    try:
        return _COLLECTIONS[kind](converted)
    except TypeError as error:
        raise ArgumentError(f"{where}: {error}") from None


def _scalar(value: Any, kind: type, where: str) -> Any:
    try:
        return _SCALARS[kind](value)
    except (ValueError, TypeError, ArithmeticError, AttributeError):
        raise ArgumentError(f"{where} is {value!r}, not {_WORDS.get(kind, kind.__name__)}") from None


def _exact(value: Any) -> Any:
    """A float as the text that people write for it."""
    return repr(value) if isinstance(value, float) else value


_PLAIN: set[type] = {int, float, str, bool, list, dict, type(None), object}
_COLLECTIONS: dict[type, Callable[[list[Any]], Any]] = {
    list: list,
    set: set,
    frozenset: frozenset,
    collections.deque: collections.deque,
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    collections.abc.Iterable: list,
    collections.abc.Collection: list,
    collections.abc.Iterator: iter,
    collections.abc.Set: set,
    collections.abc.MutableSet: set,
}
_SCALARS: dict[type, Callable[[Any], Any]] = {
    datetime.datetime: datetime.datetime.fromisoformat,
    datetime.date: datetime.date.fromisoformat,
    datetime.time: datetime.time.fromisoformat,
    datetime.timedelta: lambda value: datetime.timedelta(seconds=value),
    decimal.Decimal: lambda value: decimal.Decimal(_exact(value)),
    fractions.Fraction: lambda value: fractions.Fraction(_exact(value)),
    pathlib.Path: pathlib.Path,
    uuid.UUID: uuid.UUID,
}
_WORDS = {
    datetime.datetime: "an ISO 8601 date and time such as '2024-02-29T12:30:00'",
    datetime.date: "an ISO 8601 date such as '2024-02-29'",
    datetime.time: "an ISO 8601 time such as '12:30:00'",
    datetime.timedelta: "a number of seconds",
    decimal.Decimal: "a decimal number",
    fractions.Fraction: "a number or a fraction such as '1/3'",
    uuid.UUID: "a UUID",
}

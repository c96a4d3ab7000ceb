"""Converts dataclasses to plain JSON values and back, by their annotations, and parses JSON lines."""

from __future__ import annotations

import codecs
import dataclasses
import enum
import json
import pathlib
import types
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, TypeVar

from mcp_tools.tool import Json

T = TypeVar("T")


def as_plain(value: Any) -> Json:
    """Return the value with dataclasses as objects, tuples as lists and paths as texts."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple):
        return [as_plain(each) for each in value]
    return str(value) if isinstance(value, pathlib.PurePath | enum.Enum) else value


def from_plain(form: type[T], data: Json) -> T:
    """Return the value of this type that `as_plain` converted. Unknown members are ignored.

    Raises:
        KeyError, TypeError, ValueError: The data does not fit the type.
    """
    restored: T = _restored(form, data)
    return restored


def _restored(form: Any, data: Json) -> Any:
    origin, inner = typing.get_origin(form), typing.get_args(form)
    if data is None:
        return None
    if origin in (typing.Union, types.UnionType):
        return _restored(_fitting(inner, data), data)
    if origin in (tuple, list) and inner:
        return origin(_restored(inner[0], each) for each in data)
    if isinstance(form, type) and dataclasses.is_dataclass(form):
        hints = _hints(form)
        return form(**{name: _restored(hints[name], value) for name, value in data.items() if name in hints})
    if isinstance(form, type) and issubclass(form, pathlib.PurePath | enum.Enum):
        return form(data)
    return data


def _fitting(forms: tuple[Any, ...], data: Json) -> Any:
    """Return the type among several that fits the data best: the dataclass with the most matching members."""
    present = [form for form in forms if form is not type(None)]
    if isinstance(data, Mapping):
        records = [form for form in present if isinstance(form, type) and dataclasses.is_dataclass(form)]
        return max(records, key=lambda form: len(data.keys() & _hints(form).keys()), default=present[0])
    return present[0]


@cache
def _hints(form: type[Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(form)
    return {field.name: hints[field.name] for field in dataclasses.fields(form)}


def json_lines(raw: bytes) -> Iterator[tuple[int, dict[str, Json] | str]]:
    """Yield each line's number, and its object or the reason why it is invalid. The reason does not quote the line."""
    for number, line in enumerate(raw.removeprefix(codecs.BOM_UTF8).split(b"\n"), 1):
        if line.strip():
            yield number, _object(line)


def _object(line: bytes) -> dict[str, Json] | str:
    try:
        value = json.loads(line.rstrip().decode())
    except UnicodeDecodeError as error:
        return f"it is not UTF-8 (byte {error.start + 1})"
    except json.JSONDecodeError as error:
        return f"it is not JSON ({error.msg}, character {error.pos + 1})"
    except (ValueError, RecursionError):
        return "its JSON is nested too deeply or contains a number that is too long"
    return value if isinstance(value, dict) else "it is not a JSON object"

"""A function's schemas, JSON Schema 2020-12, from its real signature and its Google-style docstring."""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import datetime
import decimal
import enum
import fractions
import inspect
import json
import pathlib
import re
import types
import typing
import uuid
from collections.abc import Callable, Collection
from typing import Any

from .result import ResultError, encode

_SECTIONS = {
    "args": "parameters", "arguments": "parameters", "parameters": "parameters", "params": "parameters",
    "attributes": "parameters", "returns": "returns", "return": "returns", "yields": "returns",
    "raises": "text", "note": "text", "notes": "text", "examples": "examples", "example": "examples",
}  # fmt: skip
_HEADING = re.compile(r"^(\w+):\s*$")
_PARAMETER = re.compile(r"^\*{0,2}(\w+)\s*(?:\(([^)]*)\))?\s*:\s*(.*)$")
_TYPE = r"(?:(?:int|float|str|bool|list|dict|tuple|set|None|Any)(?:\[[^:]*\])?|\w+(?:\.\w+)+|[\w.]+\[[^:]*\])"
_TYPE_PREFIX = re.compile(rf"^{_TYPE}(?:\s*\|\s*{_TYPE})*:\s+")
_BULLET = re.compile(r"[-*•] |\d+[.)] ")
_DOCTEST = re.compile(r"^[ \t]*>>>.*(?:\n[ \t]*\S.*)*", re.MULTILINE)


@dataclasses.dataclass(slots=True)
class Docstring:
    """A docstring taken apart."""

    text: str = ""
    """Summary and body, without the sections on parameters, result and examples."""
    parameters: dict[str, str] = dataclasses.field(default_factory=dict)
    returns: str = ""


def parse_docstring(docstring: str, names: Collection[str] = ()) -> Docstring:
    """Takes a cleaned docstring apart.

    Args:
        docstring: Without the indentation that it has in the source.
        names: The parameters, if they are known: what else is followed by a colon goes on with a description.
    """
    parts: dict[str, list[str]] = {"text": [], "parameters": [], "returns": [], "examples": []}
    section = "text"
    for line in _DOCTEST.sub("", docstring).splitlines():
        heading = _HEADING.match(line)
        if heading and heading[1].lower() in _SECTIONS:
            section = _SECTIONS[heading[1].lower()]
            if section == "text":
                parts["text"].append(line)
            continue
        if line and not line[0].isspace() and not (section == "parameters" and _named(line, names)):
            section = "text"
        parts[section].append(line)
    returns = ""
    for line in parts["returns"]:
        returns = _continued(returns, line.strip())
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(parts["text"])).strip()
    return Docstring(text, _parameters(parts["parameters"], names), _TYPE_PREFIX.sub("", returns))


def _named(line: str, names: Collection[str]) -> re.Match[str] | None:
    """The beginning of a parameter's description."""
    match = _PARAMETER.match(line)
    return match if match and (not names or match[1] in names) else None


def _continued(description: str, line: str) -> str:
    """A description with one line more: a list keeps its lines, all else is one."""
    return f"{description}{chr(10) if _BULLET.match(line) else ' '}{line}".strip()


def _parameters(lines: list[str], names: Collection[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    present = [line for line in lines if line.strip()]
    if not present:
        return found
    margin = min(len(line) - len(line.lstrip()) for line in present)
    name = ""
    for line in present:
        match = _named(line[margin:], names)
        if match and not line[margin : margin + 1].isspace():
            name = match[1]
            found[name] = match[3]
        elif name:
            found[name] = _continued(found[name], line.strip())
    return found


Schema = dict[str, Any]

_MAXIMUM_DEPTH = 20


class SchemaError(Exception):
    """An annotation has no schema; the message says which, and what to write instead."""


def describe(function: Callable[..., Any]) -> dict[str, Any]:
    """Name, description and both schemas of a function.

    Raises:
        SchemaError: Something in the signature cannot be put into a schema.
    """
    signature = inspect.signature(function)
    hints = _hints(function, f"an annotation of {function.__name__}()")
    documented = parse_docstring(inspect.getdoc(function) or "", signature.parameters)
    returned = _described(_of(hints.get("return", Any), "the return value"), documented.returns)
    return {
        "name": function.__name__,
        "description": documented.text,
        "input_schema": _input(signature, hints, documented),
        "output_schema": {
            "type": "object",
            "properties": {"result": returned},
            "required": ["result"],
            "additionalProperties": False,
        },
    }


def _input(signature: inspect.Signature, hints: dict[str, Any], documented: Docstring) -> Schema:
    properties: dict[str, Schema] = {}
    required: list[str] = []
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
            raise SchemaError(f"the parameter {stars}{name} has no schema: name each parameter")
        schema = _described(_of(hints.get(name, Any), f"the parameter {name!r}"), documented.parameters.get(name))
        if parameter.default is parameter.empty:
            required.append(name)
        else:
            schema = {**schema, **_default(parameter.default)}
        properties[name] = schema
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _described(schema: Schema, description: str | None) -> Schema:
    """The schema with what a docstring says, which knows the place better than the type does."""
    return {**schema, "description": description} if description else schema


def _own_docstring(kind: type) -> Docstring:
    """What a class says of itself and its fields; what Python writes for it says nothing."""
    text = kind.__dict__.get("__doc__") or ""
    return parse_docstring(inspect.cleandoc("" if text.startswith((f"{kind.__name__}(", "An enumeration.")) else text))


def _default(value: Any) -> Schema:
    try:
        return {"default": json.loads(encode(value))}
    except ResultError:
        return {}


def _of(hint: Any, where: str, depth: int = 0) -> Schema:
    """The schema of an annotation."""
    if depth > _MAXIMUM_DEPTH:
        raise SchemaError(f"{where} has a type that contains itself: use dict or list in its place")
    origin, items = typing.get_origin(hint), typing.get_args(hint)
    if hint in (Any, object, inspect.Parameter.empty):
        return {}
    if isinstance(hint, typing.NewType):
        return _of(hint.__supertype__, where, depth)
    if isinstance(hint, typing.TypeVar):
        return _of(hint.__bound__ or Any, where, depth)
    if origin is typing.Annotated:
        schema = _of(items[0], where, depth)
        return _described(schema, next((note for note in items[1:] if isinstance(note, str)), None))
    if origin in (typing.Required, typing.NotRequired, typing.Final):
        return _of(items[0], where, depth)
    if origin is typing.Literal:
        return _values(list(items))
    if origin in (typing.Union, types.UnionType):
        return _union(items, where, depth)
    if hint is None or hint is type(None):
        return {"type": "null"}
    kind = origin or hint
    if not isinstance(kind, type):
        raise _unsupported(hint, where)
    return _of_class(kind, items, hint, where, depth)


def _of_class(kind: type, items: tuple[Any, ...], hint: Any, where: str, depth: int) -> Schema:
    if kind in _SCALARS:
        return dict(_SCALARS[kind])
    if typing.is_typeddict(kind):
        return _typed_dict(kind, where, depth)
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind, where, depth)
    if issubclass(kind, enum.Enum):
        return _described(_values([member.value for member in kind]), _own_docstring(kind).text)
    if issubclass(kind, tuple):
        return _tuple(kind, items, where, depth)
    if issubclass(kind, collections.abc.Mapping):
        return _mapping(kind, items, where, depth)
    if kind in _SETS:
        return {**_array(items, where, depth), "uniqueItems": True}
    if kind in _ARRAYS:
        return _array(items, where, depth)
    for base in (str, bool, int, float):
        if issubclass(kind, base):
            return dict(_SCALARS[base])
    raise _unsupported(hint, where)


def _unsupported(hint: Any, where: str) -> SchemaError:
    shown = hint.__qualname__ if isinstance(hint, type) else str(hint).replace("typing.", "")
    return SchemaError(
        f"{where} is annotated {shown}, which JSON cannot carry: use int, float, str, bool, None, list, dict, "
        "tuple, set, Literal, Enum, TypedDict, a dataclass, date, datetime or Decimal"
    )


def _union(items: tuple[Any, ...], where: str, depth: int) -> Schema:
    options: list[Schema] = []
    for item in items:
        schema = _of(item, where, depth + 1)
        if not schema:
            return {}
        if schema not in options:
            options.append(schema)
    if all(option.keys() == {"type"} and isinstance(option["type"], str) for option in options):
        names = [option["type"] for option in options]
        if "number" in names and "integer" in names:
            names.remove("integer")
        return {"type": names[0] if len(names) == 1 else names}
    return options[0] if len(options) == 1 else {"anyOf": options}


def _values(values: list[Any]) -> Schema:
    names = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
    kinds = [next((name for kind, name in names.items() if isinstance(value, kind)), None) for value in values]
    schema: Schema = {"enum": values}
    if None not in kinds:
        distinct = list(dict.fromkeys(kinds))
        schema["type"] = distinct[0] if len(distinct) == 1 else distinct
    return schema


def _array(items: tuple[Any, ...], where: str, depth: int) -> Schema:
    inner = _of(items[0], where, depth + 1) if items else {}
    return {"type": "array", "items": inner} if inner else {"type": "array"}


def _tuple(kind: type, items: tuple[Any, ...], where: str, depth: int) -> Schema:
    if hasattr(kind, "_fields"):
        return _named_tuple(kind, where, depth)
    if not items:
        return {"type": "array"}
    if len(items) == 2 and items[1] is ...:
        return _array(items[:1], where, depth)
    return _row([_of(item, where, depth + 1) for item in items if item != ()])


def _named_tuple(kind: Any, where: str, depth: int) -> Schema:
    hints, documented = _hints(kind, f"{where}: a field of {kind.__name__}"), _own_docstring(kind)
    row = _row(
        [
            {**_described(_of(hints.get(name, Any), where, depth + 1), documented.parameters.get(name)), "title": name}
            for name in kind._fields
        ]
    )
    return _described(row, documented.text)


def _row(items: list[Schema]) -> Schema:
    return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}


def _mapping(kind: type, items: tuple[Any, ...], where: str, depth: int) -> Schema:
    if kind is collections.Counter:
        return {"type": "object", "additionalProperties": {"type": "integer"}}
    if len(items) != 2:
        return {"type": "object"}
    inner = _of(items[1], where, depth + 1)
    schema: Schema = {"type": "object"}
    if inner:
        schema["additionalProperties"] = inner
    key = _of(items[0], where, depth + 1) if typing.get_origin(items[0]) is typing.Literal else {}
    if "enum" in key:
        schema["propertyNames"] = {"enum": key["enum"]}
    return schema


def _hints(of: Any, where: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(of, include_extras=True)
    except Exception as error:
        raise SchemaError(f"{where} cannot be resolved: {type(error).__name__}: {error}") from error


def _typed_dict(kind: Any, where: str, depth: int) -> Schema:
    hints = _hints(kind, f"{where}: a field of {kind.__name__}")
    fields = {name: _of(hint, f"{where}, field {name!r},", depth + 1) for name, hint in hints.items()}
    return _object(kind, fields, [name for name, hint in hints.items() if _is_required(name, hint, kind)])


def _is_required(name: str, hint: Any, kind: Any) -> bool:
    """The marks on the hint decide: `__required_keys__` misses them where annotations are strings."""
    origin = typing.get_origin(hint)
    return origin is typing.Required or (name in kind.__required_keys__ and origin is not typing.NotRequired)


def _dataclass(kind: Any, where: str, depth: int) -> Schema:
    hints = _hints(kind, f"{where}: a field of {kind.__name__}")
    fields: dict[str, Schema] = {}
    required = []
    for field in dataclasses.fields(kind):
        schema = _of(hints.get(field.name, Any), f"{where}, field {field.name!r},", depth + 1)
        if field.default is not dataclasses.MISSING:
            schema = {**schema, **_default(field.default)}
        elif field.default_factory is dataclasses.MISSING:
            required.append(field.name)
        fields[field.name] = schema
    return _object(kind, fields, required)


def _object(kind: type, fields: dict[str, Schema], required: list[str]) -> Schema:
    documented = _own_docstring(kind)
    described = {name: _described(schema, documented.parameters.get(name)) for name, schema in fields.items()}
    schema = {"type": "object", "properties": described, "required": required, "additionalProperties": False}
    return _described(schema, documented.text)


_NUMBER_OR_TEXT: Schema = {"type": ["number", "string"]}
_SCALARS: dict[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    decimal.Decimal: {**_NUMBER_OR_TEXT, "description": "a decimal number; as text where digits matter"},
    fractions.Fraction: {**_NUMBER_OR_TEXT, "description": "a number, or a fraction such as '1/3'"},
    datetime.date: {"type": "string", "format": "date"},
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.time: {"type": "string", "format": "time"},
    datetime.timedelta: {"type": "number", "description": "seconds"},
    uuid.UUID: {"type": "string", "format": "uuid"},
    pathlib.Path: {"type": "string"},
    pathlib.PurePath: {"type": "string"},
    pathlib.PosixPath: {"type": "string"},
}
_SETS = {set, frozenset, collections.abc.Set, collections.abc.MutableSet}
_ARRAYS = {
    list,
    collections.deque,
    collections.abc.Sequence,
    collections.abc.MutableSequence,
    collections.abc.Iterable,
    collections.abc.Iterator,
    collections.abc.Collection,
    collections.abc.Generator,
    range,
}

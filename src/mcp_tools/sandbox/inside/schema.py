"""Derive JSON Schemas from a function's signature, and convert JSON arguments to the annotated types.

For an annotation, `form` returns its JSON Schema (2020-12) and the conversion of a JSON value to its type.
"""

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
import types
import typing
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

from .docstring import Docstring, parse_docstring
from .result import ResultError, encode

Schema = dict[str, Any]
Convert = Callable[[Any, str], Any]
"""A function that converts a JSON value. The string is the value's location, for error messages."""

_MAX_EXACT_FLOAT = 2**53


class SchemaError(Exception):
    """An annotation has no schema. The message names the annotation and says what to write instead."""


class ArgumentError(Exception):
    """The function cannot be called with these arguments. The message names the invalid argument and the reason."""


class Form(NamedTuple):
    """The JSON Schema of an annotation, and the conversion of a JSON value to its type."""

    schema: Schema
    convert: Convert

    def described(self, description: str | None) -> Form:
        """Return the form with this description, if there is one, in place of the type's own description."""
        return Form({**self.schema, "description": description}, self.convert) if description else self


def describe(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the name, the description and both schemas of a function.

    Raises:
        SchemaError: A parameter or annotation cannot be expressed in a schema.
    """
    signature = inspect.signature(function)
    hints = _hints(function, f"an annotation of {function.__name__}()")
    documented = parse_docstring(inspect.getdoc(function) or "", signature.parameters)
    properties: dict[str, Schema] = {}
    required: list[str] = []
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
            raise SchemaError(f"the parameter {stars}{name} cannot have a schema: name each parameter")
        wanted = form(hints.get(name, Any), f"the parameter {name!r}").described(documented.parameters.get(name))
        properties[name] = wanted.schema
        if parameter.default is parameter.empty:
            required.append(name)
        else:
            properties[name] = wanted.schema | _default(parameter.default)
    returned = form(hints.get("return", Any), "the return value").described(documented.returns)
    return {
        "name": function.__name__,
        "description": documented.text,
        "input_schema": _object(properties, required),
        "output_schema": _object({"result": returned.schema}, ["result"]),
    }


def bind(function: Callable[..., Any], arguments: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the positional and keyword arguments of a call, converted to the annotated types.

    Raises:
        ArgumentError: An argument is missing or unknown, or cannot be converted.
    """
    signature = inspect.signature(function)
    try:
        hints = _hints(function, "")
    except SchemaError:
        hints = {}
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


def convert(value: Any, hint: Any, where: str) -> Any:
    """Convert a JSON value to the annotated type. If the type is unknown, return the value unchanged.

    Raises:
        ArgumentError: The value cannot be converted.
    """
    try:
        wanted = form(hint, where)
    except SchemaError:
        return value
    return wanted.convert(value, where)


def _hints(of: Any, where: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(of, include_extras=True)
    except Exception as error:
        raise SchemaError(f"{where} cannot be resolved: {type(error).__name__}: {error}") from error


def _default(value: Any) -> Schema:
    try:
        return {"default": json.loads(encode(value))}
    except ResultError:
        return {}


def _object(properties: dict[str, Schema], required: list[str]) -> Schema:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _same(value: Any, where: str) -> Any:
    return value


def form(hint: Any, where: str, within: frozenset[type] = frozenset()) -> Form:
    """Return the form of a resolved annotation.

    Args:
        hint: The annotation.
        where: The location of the annotation, for error messages.
        within: The classes with fields that contain the annotation, to detect recursive types.

    Raises:
        SchemaError: The annotation has no schema.
    """
    origin, items = typing.get_origin(hint), typing.get_args(hint)
    if hint in (Any, object, inspect.Parameter.empty):
        return Form({}, _same)
    if hint in (None, type(None)):
        return Form({"type": "null"}, _same)
    if isinstance(hint, typing.NewType):
        return form(hint.__supertype__, where, within)
    if isinstance(hint, typing.TypeVar):
        return form(hint.__bound__ or Any, where, within)
    if origin is typing.Annotated:
        return form(items[0], where, within).described(
            next((note for note in items[1:] if isinstance(note, str)), None)
        )
    if origin in (typing.Required, typing.NotRequired, typing.Final):
        return form(items[0], where, within)
    if origin is typing.Literal:
        return Form(_values(list(items)), _same)
    if origin in (typing.Union, types.UnionType):
        return _union(items, where, within)
    if isinstance(origin or hint, type):
        found = _of_class(origin or hint, items, where, within)
        if found is not None:
            return found
    shown = hint.__qualname__ if isinstance(hint, type) else str(hint).replace("typing.", "")
    raise SchemaError(
        f"{where} has the type {shown}, which does not convert to JSON: use int, float, str, bool, None, list, dict, "
        "tuple, set, Literal, Enum, TypedDict, a dataclass, date, datetime or Decimal"
    )


def _of_class(kind: Any, items: tuple[Any, ...], where: str, within: frozenset[type]) -> Form | None:
    if kind in _SCALARS:
        return _SCALARS[kind]
    if typing.is_typeddict(kind) or dataclasses.is_dataclass(kind) or _is_named_tuple(kind):
        if kind in within:
            raise SchemaError(f"{where} has a type that contains itself: use dict or list instead")
        return _record(kind, where, within | {kind})
    if issubclass(kind, enum.Enum):
        return _enum(kind)
    if issubclass(kind, tuple) and items and items[-1] is not ...:
        return _row([form(item, where, within) for item in items], tuple)
    if issubclass(kind, collections.abc.Mapping):
        return _mapping(kind, items, where, within)
    if kind in _COLLECTIONS:
        return _collection(kind, items, where, within)
    return next((_SCALARS[base] for base in (str, bool, int, float) if issubclass(kind, base)), None)


def _is_named_tuple(kind: type) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def _union(items: tuple[Any, ...], where: str, within: frozenset[type]) -> Form:
    forms = [form(item, where, within) for item in items]

    def convert(value: Any, where: str) -> Any:
        # a value that already has one of the types stays unchanged: "2024" for `str | date` is text
        if any(type(value) is option for option in items):
            return value
        reasons = []
        for option, wanted in zip(items, forms, strict=True):
            try:
                converted = wanted.convert(value, where)
            except ArgumentError as error:
                reasons.append(str(error))
                continue
            if _fits(converted, option):
                return converted
        if reasons:
            raise ArgumentError("; ".join(reasons))
        return value

    schemas = [schema for schema, _ in forms]
    options = [schema for n, schema in enumerate(schemas) if schema not in schemas[:n]]
    if {} in options:
        return Form({}, convert)
    if all(option.keys() == {"type"} and isinstance(option["type"], str) for option in options):
        names = [option["type"] for option in options]
        if "number" in names and "integer" in names:
            names.remove("integer")
        return Form({"type": names[0] if len(names) == 1 else names}, convert)
    return Form(options[0] if len(options) == 1 else {"anyOf": options}, convert)


def _fits(value: Any, option: Any) -> bool:
    kind = typing.get_origin(option) or option
    return not isinstance(kind, type) or typing.is_typeddict(kind) or isinstance(value, kind)


def _values(values: list[Any]) -> Schema:
    names = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
    kinds = [next((name for kind, name in names.items() if isinstance(value, kind)), None) for value in values]
    distinct = list(dict.fromkeys(kinds))
    types = {} if None in kinds else {"type": distinct[0] if len(distinct) == 1 else distinct}
    return {"enum": values, **types}


def _enum(kind: type[enum.Enum]) -> Form:
    def convert(value: Any, where: str) -> Any:
        try:
            return kind(value)
        except ValueError:
            if isinstance(value, str) and value in kind.__members__:
                return kind[value]
            allowed = ", ".join(repr(member.value) for member in kind)
            raise ArgumentError(f"{where} is {value!r}, not one of {allowed}") from None

    return Form(_values([member.value for member in kind]), convert).described(_own_docstring(kind).text)


def _own_docstring(kind: type) -> Docstring:
    """Return the parsed docstring of a class. It is empty if the class has only Python's default docstring."""
    text = kind.__dict__.get("__doc__") or ""
    return parse_docstring(inspect.cleandoc("" if text.startswith((f"{kind.__name__}(", "An enumeration.")) else text))


def _record(kind: Any, where: str, within: frozenset[type]) -> Form:
    """Return the form of a dataclass, a TypedDict or a named tuple."""
    hints, documented = _hints(kind, f"{where}: a field of {kind.__name__}"), _own_docstring(kind)
    is_dataclass = dataclasses.is_dataclass(kind)
    fields = {field.name: field for field in dataclasses.fields(kind)} if is_dataclass else {}
    forms = {
        name: form(hints.get(name, Any), f"{where}, field {name!r},", within).described(documented.parameters.get(name))
        for name in fields or getattr(kind, "_fields", hints)
    }
    if _is_named_tuple(kind):
        titled = [Form({**schema, "title": name}, convert) for name, (schema, convert) in forms.items()]
        return _row(titled, lambda values: kind(*values)).described(documented.text)

    def convert(value: Any, where: str) -> Any:
        if not isinstance(value, dict):
            if is_dataclass:
                raise ArgumentError(f"{where} must be an object with the fields of {kind.__name__}")
            return value
        if is_dataclass and (unknown := sorted(value.keys() - {name for name, field in fields.items() if field.init})):
            raise ArgumentError(f"{where}: {kind.__name__} has no field {unknown[0]!r}")
        converted = {k: forms[k].convert(v, f"{where}.{k}") if k in forms else v for k, v in value.items()}
        try:
            return kind(**converted) if is_dataclass else converted
        except TypeError as error:
            raise ArgumentError(f"{where}: {error}") from None

    properties = {name: wanted.schema for name, wanted in forms.items()}
    if not is_dataclass:
        required = [name for name, hint in hints.items() if _is_required(name, hint, kind)]
        return Form(_object(properties, required), convert).described(documented.text)
    missing = dataclasses.MISSING
    properties |= {
        name: properties[name] | _default(f.default) for name, f in fields.items() if f.default is not missing
    }
    required = [name for name, f in fields.items() if f.default is missing and f.default_factory is missing]
    return Form(_object(properties, required), convert).described(documented.text)


def _is_required(name: str, hint: Any, kind: Any) -> bool:
    """Check `Required` and `NotRequired`, which `__required_keys__` does not detect in string annotations."""
    origin = typing.get_origin(hint)
    return origin is typing.Required or (name in kind.__required_keys__ and origin is not typing.NotRequired)


def _row(forms: list[Form], make: Callable[[Any], Any]) -> Form:
    """Return the form of a list with a fixed length and a form for each item."""

    def convert(value: Any, where: str) -> Any:
        if not isinstance(value, list):
            return value
        if len(value) != len(forms):
            raise ArgumentError(f"{where} has {len(value)} items instead of {len(forms)}")
        return make(
            [one.convert(item, f"{where}[{n}]") for n, (item, one) in enumerate(zip(value, forms, strict=True))]
        )

    schemas = [schema for schema, _ in forms]
    return Form({"type": "array", "prefixItems": schemas, "minItems": len(forms), "maxItems": len(forms)}, convert)


def _mapping(kind: type, items: tuple[Any, ...], where: str, within: frozenset[type]) -> Form:
    key, item = items if len(items) == 2 else (Any, int if kind is collections.Counter else Any)
    keys, values = form(key, where, within), form(item, where, within)

    def convert(value: Any, where: str) -> Any:
        if not isinstance(value, dict):
            return value
        value = {_key(k, key, keys, where): values.convert(v, f"{where}[{k!r}]") for k, v in value.items()}
        if kind is collections.defaultdict:
            return collections.defaultdict(None, value)
        return kind(value) if kind in (collections.OrderedDict, collections.Counter) else value

    schema: Schema = {"type": "object"}
    if values.schema:
        schema["additionalProperties"] = values.schema
    if typing.get_origin(key) is typing.Literal:
        schema["propertyNames"] = {"enum": keys.schema["enum"]}
    return Form(schema, convert)


def _key(key: str, hint: Any, wanted: Form, where: str) -> Any:
    """Convert a key. JSON keys are strings, so keys of a `dict[int, …]` are converted back to numbers."""
    if hint in (int, float):
        try:
            return hint(key)
        except ValueError:
            raise ArgumentError(f"{where} has the key {key!r}, which is not a valid {hint.__name__}") from None
    return wanted.convert(key, f"a key of {where}")


def _collection(kind: type, items: tuple[Any, ...], where: str, within: frozenset[type]) -> Form:
    item = form(items[0] if items else Any, where, within)

    def convert(value: Any, where: str) -> Any:
        if not isinstance(value, list):
            return value
        converted = [item.convert(one, f"{where}[{n}]") for n, one in enumerate(value)]
        try:
            return _COLLECTIONS[kind](converted)
        except TypeError as error:
            raise ArgumentError(f"{where}: {error}") from None

    schema: Schema = {"type": "array", "items": item.schema} if item.schema else {"type": "array"}
    return Form({**schema, "uniqueItems": True} if issubclass(kind, collections.abc.Set) else schema, convert)


def _scalar(make: Callable[[Any], Any], words: str, **schema: Any) -> Form:
    def convert(value: Any, where: str) -> Any:
        try:
            return make(value)
        except (ValueError, TypeError, ArithmeticError, AttributeError):
            raise ArgumentError(f"{where} is {value!r}, not {words}") from None

    return Form(schema, convert)


def _exact(value: Any) -> Any:
    """Return a float as its shortest decimal text."""
    return repr(value) if isinstance(value, float) else value


_EITHER = ["number", "string"]
_PATH = _scalar(pathlib.Path, "a path", type="string")
_SCALARS: dict[Any, Form] = {
    str: Form({"type": "string"}, _same),
    bool: Form({"type": "boolean"}, _same),
    int: Form({"type": "integer"}, lambda v, _: int(v) if type(v) is float and v.is_integer() else v),
    float: Form({"type": "number"}, lambda v, _: float(v) if type(v) is int and abs(v) <= _MAX_EXACT_FLOAT else v),
    decimal.Decimal: _scalar(
        lambda value: decimal.Decimal(_exact(value)), "a decimal number",
        type=_EITHER, description="a decimal number; as text where digits matter",
    ),
    fractions.Fraction: _scalar(
        lambda value: fractions.Fraction(_exact(value)), "a number or a fraction such as '1/3'",
        type=_EITHER, description="a number, or a fraction such as '1/3'",
    ),
    datetime.date: _scalar(
        datetime.date.fromisoformat, "an ISO 8601 date such as '2024-02-29'", type="string", format="date"
    ),
    datetime.datetime: _scalar(
        datetime.datetime.fromisoformat, "an ISO 8601 date and time such as '2024-02-29T12:30:00'",
        type="string", format="date-time",
    ),
    datetime.time: _scalar(
        datetime.time.fromisoformat, "an ISO 8601 time such as '12:30:00'", type="string", format="time"
    ),
    datetime.timedelta: _scalar(
        lambda value: datetime.timedelta(seconds=value), "a number of seconds", type="number", description="seconds"
    ),
    uuid.UUID: _scalar(uuid.UUID, "a UUID", type="string", format="uuid"),
    pathlib.Path: _PATH, pathlib.PurePath: _PATH, pathlib.PosixPath: _PATH,
}  # fmt: skip
_LISTS = (
    list, range, collections.abc.Sequence, collections.abc.MutableSequence, collections.abc.Iterable,
    collections.abc.Collection, collections.abc.Generator,
)  # fmt: skip
_COLLECTIONS: dict[type, Callable[[list[Any]], Any]] = {
    **dict.fromkeys(_LISTS, list),
    **dict.fromkeys((set, collections.abc.Set, collections.abc.MutableSet), set),
    **{kind: kind for kind in (tuple, frozenset, collections.deque)},
    collections.abc.Iterator: iter,
}

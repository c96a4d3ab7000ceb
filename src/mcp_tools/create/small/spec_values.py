"""The values of a spec, and their types: what the model wrote, as what it is."""

from __future__ import annotations

import ast
import json

from mcp_tools.create.literals import as_number
from mcp_tools.fits import surely_fits
from mcp_tools.tool import Json

_JSON_TYPES = {"int": "integer", "float": "number", "str": "string", "bool": "boolean"}

TYPES = [
    *_JSON_TYPES,
    *(f"list[{scalar}]" for scalar in _JSON_TYPES),
    "list[list[int]]",
    "list[list[float]]",
    "list[list[str]]",
    *(f"dict[str, {scalar}]" for scalar in _JSON_TYPES),
    "dict[str, list[int]]",
    "dict[str, list[str]]",
    "list[dict[str, str]]",
]


def referred(value: Json, type_: str, texts: dict[str, str]) -> Json:
    """The passage that a value refers to, as text or as lines; None when it refers to none."""
    name = value[0] if isinstance(value, list) and len(value) == 1 else value
    text = texts.get(name) if isinstance(name, str) else None
    return text.splitlines() if text is not None and (type_ == "list[str]" or isinstance(value, list)) else text


def as_declared(value: Json, type_: str) -> Json:
    """The value in its declared type where the model wrote it another way: `7.0` or "7" as 7. Nothing of it changes."""
    if isinstance(value, str) and value[:1] in "([{" and type_.endswith("]"):
        try:
            value = json.loads(json.dumps(ast.literal_eval(value)))
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            return value
    if isinstance(value, list) and type_.startswith("list["):
        return [as_declared(inner, type_[5:-1]) for inner in value]
    if isinstance(value, dict) and type_.startswith("dict["):
        return {key: as_declared(inner, type_[10:-1]) for key, inner in value.items()}
    if type_ in {"int", "float"} and isinstance(value, str):
        number = as_number(value.removesuffix("%").rstrip())
        if number is None:
            return value
        value = int(number) if number == number.to_integral_value() else float(number)
    if type_ == "float" and type(value) is int:
        return float(value) if int(float(value)) == value else value
    return int(value) if type_ == "int" and isinstance(value, float) and value.is_integer() else value


def type_schema(annotation: str) -> dict[str, Json]:
    """The JSON Schema of an annotation that a spec may use."""
    if annotation in _JSON_TYPES:
        return {"type": _JSON_TYPES[annotation]}
    if annotation.startswith("list["):
        return {"type": "array", "items": type_schema(annotation[5:-1])}
    if annotation.startswith("dict[str, "):
        return {"type": "object", "additionalProperties": type_schema(annotation[10:-1])}
    return {}


def type_of(value: Json, declared: str) -> str:
    """The declared type, or the value's own where it does not fit."""
    return declared if surely_fits(value, type_schema(declared)) else _own_type([value])


def _own_type(values: list[Json]) -> str:
    """The type that all the values have; those of an empty list are integers."""
    kinds = {type(value) for value in values}
    for kind, name in ((int, "int"), (str, "str"), (bool, "bool")):
        if kinds <= {kind}:
            return name
    if kinds <= {int, float}:
        return "float"
    if kinds == {list}:
        return f"list[{_own_type([inner for value in values for inner in value])}]"
    if kinds == {dict}:
        return f"dict[str, {_own_type([inner for value in values for inner in value.values()])}]"
    return "Any"

"""The values of a spec, and their types: what the model wrote, as what it is."""

from __future__ import annotations

import ast
import json
import re

from mcp_tools.tool import Json

_SCALARS = ["int", "float", "str", "bool"]


TYPES = [
    *_SCALARS,
    *(f"list[{scalar}]" for scalar in _SCALARS),
    "list[list[int]]",
    "list[list[float]]",
    "list[list[str]]",
    *(f"dict[str, {scalar}]" for scalar in _SCALARS),
    "dict[str, list[int]]",
    "dict[str, list[str]]",
    "list[dict[str, str]]",
]


def referred(value: Json, type_: str, texts: dict[str, str]) -> Json:
    """The passage that a value refers to, as text or as lines; None when it refers to none."""
    name = value[0] if isinstance(value, list) and len(value) == 1 else value
    text = texts.get(name) if isinstance(name, str) else None
    return text.splitlines() if text is not None and (type_ == "list[str]" or isinstance(value, list)) else text


def typed(value: Json, question: str) -> Json:
    """Numbers, points and lists that the model wrote as text become what they are.

    Text that the question quotes stays text, and so do digits that start with 0.
    """
    if isinstance(value, list):
        return [typed(inner, question) for inner in value]
    if isinstance(value, str) and value[:1] in "([{" and value[-1:] in ")]}":
        try:
            return json.loads(json.dumps(ast.literal_eval(value)))
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            return value
    if isinstance(value, str) and re.fullmatch(r"[1-9]\d*", value) and not re.search(rf"['\"`]{value}['\"`]", question):
        return int(value)
    return value


def fitting(value: Json, type_: str) -> Json:
    """The value in the declared scalar type, where nothing is lost by it."""
    if type_ == "float" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type_ == "int" and isinstance(value, float) and value.is_integer():
        return int(value)
    if type_ in {"int", "float"} and isinstance(value, str):
        try:
            number = float(value.replace(",", "").rstrip("%"))
        except ValueError:
            return value
        return int(number) if type_ == "int" and number.is_integer() else number
    return value


def type_of(value: Json, declared: str) -> str:
    """The declared type, or the value's own where the two disagree."""
    kinds = {bool: "bool", int: "int", float: "float", str: "str"}
    if declared in _SCALARS:
        own = kinds.get(type(value))
        return own if own and (own, declared) != ("int", "float") else _container(value, declared)
    return _container(value, declared)


def _container(value: Json, declared: str) -> str:
    if isinstance(value, dict) and not declared.startswith("dict"):
        return f"dict[str, {_inner(list(value.values()))}]"
    if isinstance(value, list) and not declared.startswith("list"):
        return f"list[{_inner(value)}]"
    if isinstance(value, list) and declared.startswith("list["):
        return f"list[{_inner(value)}]" if value else declared
    if isinstance(value, dict) and value:
        return f"dict[str, {_inner(list(value.values()))}]"
    return declared


def _inner(values: list[Json]) -> str:
    kinds = {type(value) for value in values}
    if kinds <= {int}:
        return "int"
    if kinds <= {int, float}:
        return "float"
    if kinds == {str}:
        return "str"
    if kinds == {bool}:
        return "bool"
    if kinds == {list}:
        return f"list[{_inner([inner for value in values for inner in value])}]"
    if kinds == {dict}:
        return f"dict[str, {_inner([inner for value in values for inner in value.values()])}]"
    return "Any"

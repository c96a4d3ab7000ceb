"""Whether a value fits a JSON Schema beyond doubt, for the few keywords that nearly every schema is made of.

The whole of JSON Schema takes `jsonschema` tens of milliseconds to import and a tenth of a millisecond a value. Most
values fit, and most schemas are plain: only where this says no does anyone need to look closer, and to say why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_KINDS: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
_NOTES = frozenset({"title", "description", "default", "examples"})
_DEEPEST = 50


def surely_fits(value: Any, schema: Any, depth: int = 0) -> bool:
    """True when the value fits; False when it does not, or when the schema says more than is known here."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return False
    return all(
        keyword in _NOTES or ((test := _TESTS.get(keyword)) is not None and test(value, wanted, schema, depth))
        for keyword, wanted in schema.items()
    )


def _has_type(value: Any, wanted: Any, schema: dict[str, Any], depth: int) -> bool:
    kinds = [wanted] if isinstance(wanted, str) else wanted
    return isinstance(kinds, list) and any(
        isinstance(kind, str) and kind in _KINDS and _KINDS[kind](value) for kind in kinds
    )


def _has_properties(value: Any, wanted: Any, schema: dict[str, Any], depth: int) -> bool:
    if not isinstance(value, dict) or not isinstance(wanted, dict):
        return False
    return all(surely_fits(value[name], inner, depth + 1) for name, inner in wanted.items() if name in value)


def _has_required(value: Any, wanted: Any, schema: dict[str, Any], depth: int) -> bool:
    if not isinstance(value, dict) or not isinstance(wanted, list):
        return False
    return all(isinstance(name, str) and name in value for name in wanted)


def _has_no_others(value: Any, wanted: Any, schema: dict[str, Any], depth: int) -> bool:
    properties = schema.get("properties", {})
    if not isinstance(value, dict) or not isinstance(properties, dict) or "patternProperties" in schema:
        return False
    others = [inner for name, inner in value.items() if name not in properties]
    if isinstance(wanted, bool):
        return wanted or not others
    return all(surely_fits(inner, wanted, depth + 1) for inner in others)


def _has_items(value: Any, wanted: Any, schema: dict[str, Any], depth: int) -> bool:
    return isinstance(value, list) and all(surely_fits(item, wanted, depth + 1) for item in value)


def _is_one_of(value: Any, wanted: Any, schema: dict[str, Any], depth: int) -> bool:
    return isinstance(value, str) and isinstance(wanted, list) and value in wanted


def _is_const(value: Any, wanted: Any, schema: dict[str, Any], depth: int) -> bool:
    return isinstance(value, str) and value == wanted


def _fits_any(value: Any, wanted: Any, schema: dict[str, Any], depth: int) -> bool:
    return isinstance(wanted, list) and any(surely_fits(value, branch, depth + 1) for branch in wanted)


def _is_short(value: Any, wanted: Any, schema: dict[str, Any], depth: int) -> bool:
    return isinstance(value, str) and type(wanted) is int and len(value) <= wanted


_TESTS: dict[str, Callable[[Any, Any, dict[str, Any], int], bool]] = {
    "type": _has_type,
    "properties": _has_properties,
    "required": _has_required,
    "additionalProperties": _has_no_others,
    "items": _has_items,
    "enum": _is_one_of,
    "const": _is_const,
    "anyOf": _fits_any,
    "maxLength": _is_short,
}

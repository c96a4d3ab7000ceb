"""JSON in a model's text: found between prose and fences, held against a schema, and put in OpenAI's strict form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from mcp_tools.library.arguments import surely_fits
from mcp_tools.text import one_line

Schema = dict[str, Any]

_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL | re.IGNORECASE)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])')
"""A comma before a bracket, outside of texts: these stand in the group."""
_MOST_STARTS = 50
"""Opening brackets that are tried: prose full of them should not cost seconds."""


class NoJsonError(ValueError):
    """No JSON value that fits; the message says why, for the model to read."""


def fitting_json(text: str, schema: dict[str, Any]) -> Any:
    """The first JSON value in the text that fits the schema.

    Raises:
        NoJsonError: There is none; the message names the misfit of the first value found.
    """
    problem = ""
    for value in _values(text):
        if (found := misfit(value, schema)) is None:
            return value
        problem = problem or found
    raise NoJsonError(problem or f"this is no JSON: {one_line(text, 80)!r}")


def all_fitting(text: str, schema: dict[str, Any]) -> list[Any]:
    """The JSON objects in the text that fit the schema and stand in no other that fits, in order."""
    found, end = [], 0
    for start, value, after in _standing(text, r"{"):
        if start >= end and misfit(value, schema) is None:
            found.append(value)
            end = after
    return found


def misfit(value: Any, schema: dict[str, Any], *, lengths: bool = False) -> str | None:
    """Where and how a value fails to fit the schema; None when it fits.

    A text that is longer than `maxLength` fits unless `lengths` count: in schemas of ours that is a grammar's hold on a
    model that rambles; asking again would cost more than the words too many.
    """
    if not lengths:
        schema = _without_lengths(schema)
    if surely_fits(value, schema) or (validator := _validator(json.dumps(schema))).is_valid(value):
        return None
    from jsonschema.exceptions import best_match

    error = best_match(validator.iter_errors(value))
    where = error.json_path.removeprefix("$").removeprefix(".")
    return one_line((f"at {where}: " if where else "") + str(error.message), 300)


def _without_lengths(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_lengths(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {k: v for k, v in schema.items() if not (k == "maxLength" and isinstance(v, int))}
    return {k: v if k in ("enum", "const") else _without_lengths(v) for k, v in kept.items()}


@lru_cache(maxsize=64)
def _validator(schema: str) -> Any:
    from jsonschema import Draft202012Validator
    from referencing import Registry

    # An empty registry: a `$ref` elsewhere is an error and never fetched.
    return Draft202012Validator(json.loads(schema), registry=Registry())


def _values(text: str) -> Iterator[Any]:
    """JSON values in the text, the likeliest first."""
    for candidate in [text.strip(), *(m.strip() for m in _FENCE.findall(text))]:
        for variant in (candidate, _TRAILING_COMMA.sub(lambda found: found[1] or "", candidate)):
            try:
                yield DECODER.decode(variant)
                break
            except (ValueError, RecursionError):
                continue
    yield from (value for _, value, _ in _standing(text, r"[{\[]"))


def _standing(text: str, brackets: str) -> Iterator[tuple[int, Any, int]]:
    """Where values begin, at brackets that a pattern finds, the values, and where they end."""
    for start in [found.start() for found in re.finditer(brackets, text)][:_MOST_STARTS]:
        try:
            value, end = DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        yield start, value, end


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
"""Reads JSON and nothing beyond it: no NaN, no Infinity."""


_DROPPED = {
    "$schema", "$id", "title", "default", "examples", "uniqueItems", "minLength", "maxLength",
    "minProperties", "maxProperties", "readOnly", "writeOnly", "deprecated",
}  # fmt: skip
"""Strict mode refuses them or does not know them; the answer is validated against the whole schema anyway."""

_KEPT = {
    "type", "description", "enum", "const", "properties", "required", "additionalProperties", "items",
    "anyOf", "$ref", "$defs", "definitions", "pattern", "format", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems",
}  # fmt: skip


def strict_schema(schema: Schema) -> Schema | None:
    """The schema with every object closed and every property required; None if it cannot be said that way.

    A property that was optional may be null instead; its description says which default that means, and `without_nulls`
    takes those nulls out again.
    """
    try:
        return _strict(schema)
    except _NotStrictError:
        return None


class _NotStrictError(Exception):
    """The schema says something that strict mode cannot."""


def _strict(schema: Any) -> Schema:
    if not isinstance(schema, dict):
        raise _NotStrictError
    result: Schema = {key: value for key, value in schema.items() if key not in _DROPPED}
    if "oneOf" in result:
        result["anyOf"] = result.pop("oneOf") + result.get("anyOf", [])
    if set(result) - _KEPT or not set(result) & {"type", "enum", "const", "anyOf", "$ref"}:
        raise _NotStrictError
    for key in ("$defs", "definitions"):
        if key in result:
            result[key] = {name: _strict(value) for name, value in result[key].items()}
    if "anyOf" in result:
        result["anyOf"] = [_strict(branch) for branch in result["anyOf"]]
    types = result.get("type", ())
    if types == "array" or "array" in types:
        result["items"] = _strict(result.get("items"))
    if types == "object" or "object" in types or "properties" in result:
        _close_object(result)
    return result


def _close_object(result: Schema) -> None:
    """Closes the object in place."""
    if result.get("additionalProperties", False) not in (False, None) or "properties" not in result:
        raise _NotStrictError
    needed = set(result.get("required", ()))
    properties = {}
    for name, value in result["properties"].items():
        closed = _strict(value)
        may_be_null = "$ref" not in value and _allows_null(value, value)
        if name not in needed and not may_be_null and value.get("default") is not None:
            said = f"Null means {json.dumps(value['default'])}."
            closed["description"] = f"{closed.get('description', '')} {said}".strip()
        properties[name] = closed if name in needed or may_be_null else {"anyOf": [closed, {"type": "null"}]}
    result["properties"] = properties
    result["required"] = list(properties)
    result["additionalProperties"] = False


def without_nulls(value: Any, schema: Any, root: Any = None) -> Any:
    """The answer without the nulls that stand for an absent optional property."""
    root = schema if root is None else root
    schema = _resolve(schema, root)
    if isinstance(value, list):
        items = schema.get("items", {})
        return [without_nulls(item, items, root) for item in value]
    if not isinstance(value, dict):
        return value
    for branch in [*schema.get("anyOf", ()), *schema.get("oneOf", ())]:
        if "properties" not in schema and set(value) <= set(_resolve(branch, root).get("properties", ())):
            return without_nulls(value, branch, root)
    properties, needed = schema.get("properties", {}), set(schema.get("required", ()))
    return {
        name: without_nulls(item, properties.get(name, {}), root)
        for name, item in value.items()
        if item is not None or name in needed or name not in properties or _allows_null(properties[name], root)
    }


def _resolve(schema: Any, root: Any, depth: int = 0) -> Schema:
    if not isinstance(schema, dict):
        return {}
    reference = schema.get("$ref", "")
    if not reference.startswith("#/") or depth > 20:
        return schema
    target: Any = root
    for part in reference[2:].split("/"):
        target = target.get(part.replace("~1", "/").replace("~0", "~"), {}) if isinstance(target, dict) else {}
    return _resolve(target, root, depth + 1)


def _allows_null(schema: Any, root: Any) -> bool:
    schema = _resolve(schema, root)
    types = schema.get("type")
    if types == "null" or (isinstance(types, list) and "null" in types):
        return True
    if None in schema.get("enum", ()) or not schema:
        return True
    return any(_allows_null(branch, root) for branch in [*schema.get("anyOf", ()), *schema.get("oneOf", ())])

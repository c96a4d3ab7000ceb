"""JSON in a model's text: found between prose and fences, and held against a schema."""

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


def without_nulls(values: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """The members of an object, but the nulls by which models say that an optional one is absent."""
    own, needed = schema.get("properties", {}), schema.get("required", ())
    loose = {**schema, "required": []}

    def stands(name: str, value: Any) -> bool:
        return value is not None or name in needed or name not in own or misfit({name: None}, loose) is None

    return {name: value for name, value in values.items() if stands(name, value)}

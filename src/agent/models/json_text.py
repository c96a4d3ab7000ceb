"""JSON in a model's text: found between prose and fences, and held against a schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

from mcp_tools.library.arguments import surely_fits
from mcp_tools.text import one_line

Schema = dict[str, Any]

_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL | re.IGNORECASE)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])')
"""A comma before a bracket, outside of texts: these stand in the group."""
_MOST_STARTS = 50
"""Maximum number of opening brackets that are tried, so that prose with many brackets does not cost seconds."""
_MOST_MISFITS = 5
"""Maximum number of misfits that are reported together, so that one reply can fix them all."""


class NoJsonError(ValueError):
    """No JSON value that fits; the message says why, for the model to read."""

    def __init__(self, problem: str, *, is_json: bool = False) -> None:
        super().__init__(problem)
        self.is_json = is_json
        """True if there is JSON, of another form."""


def fitting_json(text: str, schema: dict[str, Any]) -> Any:
    """The first JSON value in the text that fits the schema.

    Raises:
        NoJsonError: There is no such value; the message names the misfit of the first value found.
    """
    problem = ""
    for value in _values(text):
        if (found := misfit(value, schema)) is None:
            return value
        problem = problem or found
    raise NoJsonError(problem or f"this is no JSON: {one_line(text, 80)!r}", is_json=bool(problem))


def all_fitting(text: str, schema: dict[str, Any]) -> list[Any]:
    """The JSON objects in the text that fit the schema and stand in no other that fits, in order."""
    found, end = [], 0
    for start, value, after in _standing(text, r"{"):
        if start >= end and misfit(value, schema) is None:
            found.append(value)
            end = after
    return found


def misfit(value: Any, schema: dict[str, Any], *, lengths: bool = False) -> str | None:
    """Return where and how a value fails to fit the schema, in up to five places; None when it fits.

    A text that is longer than `maxLength` fits unless `lengths` count. In our schemas, a maximum length stops a model
    that rambles; asking again would cost more than the extra words.
    """
    if not lengths:
        schema = _without_lengths(schema)
    if surely_fits(value, schema) or (validator := _validator(json.dumps(schema))).is_valid(value):
        return None
    from jsonschema.exceptions import best_match

    found = []
    for error in islice(validator.iter_errors(value), _MOST_MISFITS):
        likeliest = best_match([error])  # of the alternatives that a schema gives
        where = likeliest.json_path.removeprefix("$").removeprefix(".")
        found.append(one_line((f"at {where}: " if where else "") + str(likeliest.message), 300))
    return "; ".join(found)


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
    """Yield the start, value and end of each JSON value at a bracket that a pattern finds."""
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


def without_nulls(value: Any, schema: Schema, root: Schema | None = None) -> Any:
    """A value without the nulls by which models say that an optional member is absent, at any depth.

    The schema may use the definitions of the one around it, `root`.
    """
    root = schema if root is None else root
    if str(ref := schema.get("$ref", "")).startswith("#/$defs/"):
        definition: Any = root.get("$defs", {}).get(ref.removeprefix("#/$defs/"), {})
        schema = definition if isinstance(definition, dict) else {}  # `true` and `false` are schemas, too
    if isinstance(value, list):
        items = schema.get("items")
        return [without_nulls(each, items, root) for each in value] if isinstance(items, dict) else value
    if not isinstance(value, dict):
        return value
    own, needed, kept = schema.get("properties", {}), schema.get("required", ()), {}
    for name, member in value.items():
        if member is None and name in own and name not in needed:
            validator = _validator(json.dumps(root))  # of the whole schema, into which references may lead
            if not validator.evolve(schema=own[name]).is_valid(None):
                continue
        kept[name] = without_nulls(member, own[name], root) if isinstance(own.get(name), dict) else member
    return kept

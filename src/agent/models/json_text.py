"""JSON in a model's text: found between prose and code fences, and checked against a schema."""

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
"""A comma before a closing bracket. Strings match too, as the group, so that commas inside them are kept."""
_MAX_STARTS = 50
"""Maximum number of opening brackets to try. Without a limit, prose with many brackets would take seconds."""
_MAX_MISFITS = 5
"""Maximum number of misfits to report together, so that the model can fix them in one reply."""


class NoJsonError(ValueError):
    """No JSON value matches the schema. The message tells the model why."""

    def __init__(self, problem: str, *, is_json: bool = False) -> None:
        super().__init__(problem)
        self.is_json = is_json
        """True if the text has JSON that does not match."""


def fitting_json(text: str, schema: dict[str, Any]) -> Any:
    """Return the first JSON value in the text that matches the schema.

    Example:
        >>> fitting_json('Sure! {"n": 1} is the answer.', {"type": "object", "required": ["n"]})
        {'n': 1}

    Raises:
        NoJsonError: No value matches. The message says what is wrong with the first value in the text.
    """
    problem = ""
    for value in _values(text):
        if (found := misfit(value, schema)) is None:
            return value
        problem = problem or found
    raise NoJsonError(problem or f"this is not JSON: {one_line(text, 80)!r}", is_json=bool(problem))


def misfit(value: Any, schema: dict[str, Any], *, lengths: bool = False) -> str | None:
    """Return up to five problems of a value, each with its location; None if the value matches the schema.

    `maxLength` is ignored unless `lengths` is set. In our schemas it only stops a model that rambles, and asking again
    would cost more than the extra words.
    """
    if not lengths:
        schema = _without_lengths(schema)
    if surely_fits(value, schema) or (validator := _validator(json.dumps(schema))).is_valid(value):
        return None
    from jsonschema.exceptions import best_match

    found = []
    for error in islice(validator.iter_errors(value), _MAX_MISFITS):
        likeliest = best_match([error])  # for `anyOf`: the closest alternative
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

    # With an empty registry, a `$ref` to another document is an error instead of a download.
    return Draft202012Validator(json.loads(schema), registry=Registry())


def _values(text: str) -> Iterator[Any]:
    """Yield JSON values in the text, likeliest first: the whole text, then code fences, then values in prose."""
    for candidate in [text.strip(), *(m.strip() for m in _FENCE.findall(text))]:
        for variant in (candidate, _TRAILING_COMMA.sub(lambda found: found[1] or "", candidate)):
            try:
                yield DECODER.decode(variant)
                break
            except (ValueError, RecursionError):
                continue
    yield from (value for _, value, _ in _values_at(text, r"[{\[]"))


def _values_at(text: str, brackets: str) -> Iterator[tuple[int, Any, int]]:
    """Yield the start, value and end of each JSON value that begins with one of the brackets (a pattern)."""
    for start in [found.start() for found in re.finditer(brackets, text)][:_MAX_STARTS]:
        try:
            value, end = DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        yield start, value, end


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
"""Strict JSON: NaN and Infinity are errors."""


def without_nulls(value: Any, schema: Schema, root: Schema | None = None) -> Any:
    """Remove nulls that stand for absent optional members, at any depth.

    Models often write `"unit": null` where they should leave out `unit`. Nulls that the schema allows are kept.
    `$ref` is looked up in `root`, the schema of the whole value.
    """
    root = schema if root is None else root
    if str(ref := schema.get("$ref", "")).startswith("#/$defs/"):
        definition: Any = root.get("$defs", {}).get(ref.removeprefix("#/$defs/"), {})
        schema = definition if isinstance(definition, dict) else {}  # `true` and `false` are schemas too
    if isinstance(value, list):
        items = schema.get("items")
        return [without_nulls(each, items, root) for each in value] if isinstance(items, dict) else value
    if not isinstance(value, dict):
        return value
    properties, required, kept = schema.get("properties", {}), schema.get("required", ()), {}
    for name, member in value.items():
        if member is None and name in properties and name not in required:
            validator = _validator(json.dumps(root))  # built from `root`, so that references resolve
            if not validator.evolve(schema=properties[name]).is_valid(None):
                continue
        is_described = isinstance(properties.get(name), dict)
        kept[name] = without_nulls(member, properties[name], root) if is_described else member
    return kept

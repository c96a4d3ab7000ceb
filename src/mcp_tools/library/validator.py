"""Validates values against untrusted schemas, in bounded time.

It is jsonschema's validator, except that it ignores `pattern`, follows a limited number of references, and compares
large lists by their JSON. Ignoring patterns is harmless, because the tool itself checks its arguments.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from mcp_tools.tool import Json

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator, ValidationError

MAX_MISFITS = 2_000
_MAX_REFERENCES = 5_000
_MAX_COMPARED_ITEMS = 50
"""Longer lists are compared by their JSON, because jsonschema needs quadratic time."""
_references: ContextVar[int] = ContextVar("references")
_Found = Iterator["ValidationError"]


class TooMuchWorkError(Exception):
    """A schema refers to itself too often for validation."""


def misfits_in(schema: dict[str, Json], value: Json) -> list[ValidationError]:
    """Return the first `MAX_MISFITS` errors of a value.

    Raises:
        SchemaError: The schema is invalid.
        Unresolvable: A reference points outside the schema. It is not fetched.
        TooMuchWorkError: The schema refers to itself too often.
        RecursionError: The schema or the value is nested too deeply.
    """
    validator = _validator(json.dumps(schema, sort_keys=True))
    token = _references.set(0)
    try:
        return list(itertools.islice(validator.iter_errors(value), MAX_MISFITS))
    finally:
        _references.reset(token)


@functools.lru_cache(maxsize=512)
def _validator(schema: str) -> Draft202012Validator:
    """Return the validator of a schema, which is given as JSON so that it can be cached."""
    from jsonschema import Draft202012Validator
    from referencing import Registry

    registry: Registry[Any] = Registry()
    content = json.loads(schema)
    Draft202012Validator.check_schema(content)
    found: Draft202012Validator = _bounded()(content, registry=registry)
    return found


def _untried(validator: Any, wanted: Any, value: Any, schema: Any) -> _Found:
    return iter(())


@functools.cache
def _bounded() -> Any:
    from jsonschema import Draft202012Validator, ValidationError, validators

    own = Draft202012Validator.VALIDATORS

    def additional(validator: Any, wanted: Any, value: Any, schema: Any) -> _Found:
        """Skip the check if there are patterns for names, because these decide which names are additional."""
        if "patternProperties" not in schema:
            yield from own["additionalProperties"](validator, wanted, value, schema)

    def reference(validator: Any, wanted: Any, value: Any, schema: Any) -> _Found:
        _references.set(_references.get() + 1)
        if _references.get() > _MAX_REFERENCES:
            raise TooMuchWorkError
        yield from own["$ref"](validator, wanted, value, schema)

    def any_of(validator: Any, wanted: Any, value: Any, schema: Any) -> _Found:
        """Stop at the first error in each branch."""
        if not any(validator.evolve(schema=branch).is_valid(value) for branch in wanted):
            yield ValidationError(f"{value!r} is not valid under any of the given schemas")

    def unique(validator: Any, wanted: Any, value: Any, schema: Any) -> _Found:
        if not isinstance(value, list) or len(value) <= _MAX_COMPARED_ITEMS:
            yield from own["uniqueItems"](validator, wanted, value, schema)
        elif wanted and len({json.dumps(_with_integers(item), sort_keys=True) for item in value}) < len(value):
            yield ValidationError(f"{value!r} has non-unique elements")

    def enum(validator: Any, wanted: Any, value: Any, schema: Any) -> _Found:
        if not isinstance(value, str | int | float) or value not in [one for one in wanted if type(one) is type(value)]:
            yield from own["enum"](validator, wanted, value, schema)

    return validators.extend(  # type: ignore[no-untyped-call]  # not annotated
        Draft202012Validator,
        {
            "pattern": _untried,
            "patternProperties": _untried,
            "unevaluatedProperties": _untried,
            "additionalProperties": additional,
            "$ref": reference,
            "$dynamicRef": reference,
            "anyOf": any_of,
            "uniqueItems": unique,
            "enum": enum,
        },
    )


def _with_integers(value: Json) -> Json:
    """Replace floats without fraction by integers, so that equal values have equal JSON."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _with_integers(inner) for name, inner in value.items()}
    return [_with_integers(inner) for inner in value] if isinstance(value, list) else value

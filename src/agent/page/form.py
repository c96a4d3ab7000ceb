"""Builds a form for a tool's arguments from its inputSchema, with one field per parameter.

All fields take text. A text parameter uses it unchanged; other parameters parse it as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mcp_tools.errors import ArgumentsError
from mcp_tools.library.arguments import alternatives, kinds_of
from mcp_tools.text import one_line
from mcp_tools.tool import Json

MOST = 40
"""Maximum number of fields. A tool with more parameters gets a single field for a JSON object."""
_LIMITS = {
    "minimum": "at least", "exclusiveMinimum": "more than", "maximum": "at most", "exclusiveMaximum": "less than",
    "minLength": "at least this many characters:", "maxLength": "at most this many characters:", "pattern": "like",
    "format": "format", "minItems": "at least this many items:", "maxItems": "at most this many items:",
}  # fmt: skip
_EXAMPLES = {"array": "[1, 2]", "object": '{"name": "value"}', "integer": "12", "number": "1.5"}


@dataclass(frozen=True, slots=True)
class Field:
    """One parameter."""

    name: str
    kinds: tuple[str, ...]
    """JSON types that the parameter accepts; empty if it accepts any type."""
    is_required: bool
    about: str
    """The parameter's type, limits and description on one line."""
    default: str = ""
    """Initial text of the field."""
    choices: tuple[str, ...] = ()
    """The allowed values as JSON, if the schema lists them."""

    @property
    def is_text(self) -> bool:
        """True if the text is used as the value without being parsed."""
        return not self.choices and {*self.kinds} - {"null"} == {"string"}

    @property
    def is_long(self) -> bool:
        """True if a value may need several lines."""
        return not self.choices and bool({"array", "object"} & {*self.kinds} or not self.kinds)

    @property
    def example(self) -> str:
        """An example value."""
        return next((_EXAMPLES[kind] for kind in self.kinds if kind in _EXAMPLES), "" if self.kinds else "JSON")


WHOLE = Field("arguments", ("object",), True, "all arguments, as one JSON object", "{}")
"""The single field of a tool whose parameters do not fit a form."""


def fields_of(schema: dict[str, Json]) -> list[Field] | None:
    """Return the fields for an inputSchema, or None if it does not fit a form."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list) or len(properties) > MOST:
        return None
    if not properties and schema.get("additionalProperties", True) is not False:
        return None
    return [_field(name, one, schema, is_required=name in required) for name, one in properties.items()]


def _field(name: str, schema: Json, root: dict[str, Json], *, is_required: bool) -> Field:
    branches = alternatives(schema, root)
    own: dict[str, Any] = {
        key: value for one in [*branches, schema] if isinstance(one, dict) for key, value in one.items()
    }
    kinds = kinds_of(schema, root)
    known = tuple(sorted(kinds)) if len(kinds) < len(_ALL) else ()
    values = [value for one in branches for value in _values(one)] if all(map(_values, branches)) else []
    accepted = " or ".join(kind for kind in known if kind != "null" or len(known) == 1) or "any JSON value"
    limits = [f"{words} {one_line(str(own[key]), 60)}" for key, words in _LIMITS.items() if key in own]
    needed = "required" if is_required else "optional"
    described = one_line(str(own.get("description", "")), 300)
    about = f"{', '.join([accepted, needed, *limits])}{f' — {described}' if described else ''}"
    field = Field(name, known, is_required, about, choices=tuple(dict.fromkeys(map(_json, values))))
    return replace(field, default=_default(field, own))


_ALL = {"null", "boolean", "integer", "number", "string", "array", "object"}


def _values(schema: dict[str, Json]) -> list[Json]:
    """Return the allowed values if the schema lists them."""
    if isinstance(listed := schema.get("enum"), list):
        return [*listed]
    if "const" in schema:
        return [schema["const"]]
    values: dict[object, list[Json]] = {"boolean": [True, False], "null": [None]}
    return values.get(str(schema.get("type")), [])


def _default(field: Field, schema: dict[str, Json]) -> str:
    value = schema.get("default")
    if field.choices:
        first = field.choices[0] if field.is_required else ""
        return found if (found := _json(value)) in field.choices and "default" in schema else first
    if value is None:
        return ""
    return value if field.is_text and isinstance(value, str) else _json(value)


def arguments_of(fields: Sequence[Field], texts: Sequence[object]) -> dict[str, Json]:
    """Return the arguments entered in a form. Empty optional fields are left out.

    Raises:
        ArgumentsError: A required field is empty, or a text is invalid JSON. The message names all such fields.
    """
    found: dict[str, Json] = {}
    problems = []
    for field, text in zip(fields, texts, strict=True):
        given = text if isinstance(text, str) else ""
        is_emptied = field.is_text and bool(field.default) and not given
        if not given.strip() and not field.is_text and field.is_required:
            problems.append(f"{field.name} is required")
        elif not given.strip() and not field.is_required and not is_emptied:
            continue
        elif field.is_text:
            found[field.name] = given
        else:
            try:
                found[field.name] = json.loads(given, parse_constant=_refuse)
            except (ValueError, RecursionError) as error:
                hint = '; write a text as "text"' if not field.kinds or "string" in field.kinds else ""
                example = f", such as {field.example}" if field.example not in ("", "JSON") else ""
                problems.append(
                    f"{field.name}: {one_line(given, 60)!r} is not valid JSON{example} ({one_line(str(error))}){hint}"
                )
    if problems:
        raise ArgumentsError("\n".join(problems))
    return found


def _refuse(constant: str) -> Json:
    raise ValueError(f"{constant} is not valid JSON")


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)

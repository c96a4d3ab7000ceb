"""The schema of a stranger's arguments, made plain: references put in, bounded, and nothing but the common keywords.

What the model sees is what its arguments must fit; the server checks the rest itself.
"""

from __future__ import annotations

import json
from typing import Any

from mcp_tools.text import one_line
from mcp_tools.tool import Json

_LONGEST_HINT = 200
"""Of a parameter's description."""
_LARGEST_SCHEMA = 8_000
"""Characters of JSON. What is larger is shown as its parameters' names and types."""
_DEEPEST = 8
_SHARED = (
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
)


def plain_schema(schema: dict[str, Json], *, described: bool = True) -> dict[str, Json]:
    """The schema of arguments with references put in, and nothing but the common keywords; always an object.

    Args:
        schema: As its server, or its file, has it.
        described: Whether the descriptions of parameters stay.
    """
    plain = _plain(schema, schema, 0)
    if not described:
        plain = _undescribed(plain)
    plain = {"properties": {}, **plain, "type": "object"}
    if len(json.dumps(plain)) > _LARGEST_SCHEMA:
        kinds = {name: _kind_only(inner) for name, inner in list(plain["properties"].items())[:100]}
        required = [name for name in plain.get("required", []) if name in kinds]
        plain = {"type": "object", "properties": kinds, "required": required}
    return plain


def _undescribed(plain: Json) -> Json:
    """Without descriptions; a parameter of that name is no text, and stays."""
    if isinstance(plain, list):
        return [_undescribed(part) for part in plain]
    if not isinstance(plain, dict):
        return plain
    return {
        key: _undescribed(part) for key, part in plain.items() if not (key == "description" and isinstance(part, str))
    }


def _kind_only(schema: dict[str, Json]) -> dict[str, Json]:
    return {"type": schema["type"]} if isinstance(schema.get("type"), str) else {}


def _plain(schema: Json, root: dict[str, Json], depth: int) -> dict[str, Any]:
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return {}
    if isinstance(schema.get("$ref"), str):
        return _plain(_referenced(schema["$ref"], root), root, depth + 1)
    plain: dict[str, Any] = {}
    if _is_kind(schema.get("type")):
        plain["type"] = schema["type"]
    if isinstance(schema.get("description"), str):
        plain["description"] = one_line(schema["description"], _LONGEST_HINT)
    for key in ("enum", "const"):
        if key in schema and (key == "const" or (isinstance(schema[key], list) and schema[key])):
            plain[key] = schema[key]
    for key in _SHARED:
        if isinstance(schema.get(key), int | float) and not isinstance(schema[key], bool):
            plain[key] = schema[key]
    _add_parts(plain, schema, root, depth)
    return plain


def _add_parts(plain: dict[str, Any], schema: dict[str, Json], root: dict[str, Json], depth: int) -> None:
    """Adds what is inside: properties, items, choices."""
    properties = schema.get("properties")
    if isinstance(properties, dict):
        plain["properties"] = {name: _plain(inner, root, depth + 1) for name, inner in properties.items()}
        required = schema.get("required")
        if isinstance(required, list):
            plain["required"] = [name for name in required if isinstance(name, str) and name in properties]
        if isinstance(schema.get("additionalProperties"), bool):
            plain["additionalProperties"] = schema["additionalProperties"]
    if isinstance(schema.get("items"), dict):
        plain["items"] = _plain(schema["items"], root, depth + 1)
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), list) and schema[key]:
            plain["anyOf"] = [_plain(branch, root, depth + 1) for branch in schema[key][:20]]


_KINDS = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})


def _is_kind(value: Json) -> bool:
    if isinstance(value, str):
        return value in _KINDS
    return isinstance(value, list) and bool(value) and all(isinstance(kind, str) and kind in _KINDS for kind in value)


def _referenced(reference: str, root: dict[str, Json]) -> Json:
    """What a reference inside the schema leads to; a reference to elsewhere leads nowhere."""
    if not reference.startswith("#/"):
        return {}
    target: Json = root
    for part in reference[2:].split("/"):
        target = target.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(target, dict) else None
    return target

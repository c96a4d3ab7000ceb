"""Definitions of external tools, cleaned for models: unique valid names, short descriptions, simple schemas.

Descriptions are untrusted. A definition with hidden characters is left out.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp_tools.definition import lint
from mcp_tools.text import one_line
from mcp_tools.tool import Json, Tool

_MAX_DESCRIPTION_CHARS = 200
_MAX_SCHEMA_CHARS = 8_000
"""Size limit of a schema as JSON. Larger schemas are reduced to parameter names and types."""
_MAX_DEPTH = 8
_MAX_NAME_CHARS, _MAX_NAME_WORDS = 64, 4
"""Limits of names and choices. Longer ones count as prose."""
_LIMIT_KEYWORDS = (
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
    """Return a simplified argument schema: an object with only common keywords and with references resolved.

    Args:
        schema: The schema from the server or a tool's file.
        described: True to keep prose, that is, descriptions, and names or choices that are whole sentences.
    """
    plain = {"properties": {}, **_simple_schema(schema, schema, 0, described), "type": "object"}
    if len(json.dumps(plain)) > _MAX_SCHEMA_CHARS:
        shown = list(plain["properties"].items())[:100]
        kinds = {name: {"type": one["type"]} if isinstance(one.get("type"), str) else {} for name, one in shown}
        required = [name for name in plain.get("required", []) if name in kinds]
        plain = {"type": "object", "properties": kinds, "required": required}
    return plain


def _simple_schema(schema: Json, root: dict[str, Json], depth: int, described: bool) -> dict[str, Any]:
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return {}
    if isinstance(schema.get("$ref"), str):
        return _simple_schema(_referenced(schema["$ref"], root), root, depth + 1, described)
    plain: dict[str, Any] = {}
    if _is_type(schema.get("type")):
        plain["type"] = schema["type"]
    if described and isinstance(schema.get("description"), str):
        plain["description"] = one_line(schema["description"], _MAX_DESCRIPTION_CHARS)
    choices = {"enum": schema["enum"]} if isinstance(schema.get("enum"), list) and schema["enum"] else {}
    choices |= {"const": schema["const"]} if "const" in schema else {}
    if described or all(map(_is_name_like, [*choices.get("enum", ()), choices.get("const")])):
        plain |= choices
    for key in _LIMIT_KEYWORDS:
        if isinstance(schema.get(key), int | float) and not isinstance(schema[key], bool):
            plain[key] = schema[key]
    return plain | _parts(schema, lambda part: _simple_schema(part, root, depth + 1, described), described)


def _parts(schema: dict[str, Json], inner: Callable[[Json], dict[str, Any]], described: bool) -> dict[str, Any]:
    """Return the simplified subschemas: properties, items and alternatives."""
    plain: dict[str, Any] = {}
    properties, required = schema.get("properties"), schema.get("required")
    if isinstance(properties, dict):
        shown = {name: inner(part) for name, part in properties.items() if described or _is_name_like(name)}
        plain["properties"] = shown
        if isinstance(required, list):
            plain["required"] = [name for name in required if isinstance(name, str) and name in shown]
        if isinstance(schema.get("additionalProperties"), bool):
            plain["additionalProperties"] = schema["additionalProperties"]
    if isinstance(schema.get("items"), dict):
        plain["items"] = inner(schema["items"])
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), list) and schema[key]:
            plain["anyOf"] = [inner(branch) for branch in schema[key][:20]]
    return plain


_TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None", "array": "list"}
_MAX_TYPE_CHARS, _MAX_TYPE_DEPTH = 300, 3


def returned_type(schema: dict[str, Json] | None) -> str:
    """Return the type of a tool's result in programs as a Python annotation such as `list[str]`; see `replies.py`."""
    if schema is None:
        return "str"
    plain = plain_schema(schema, described=False)
    members = list(plain["properties"].items())
    if len(members) == 1:
        ((name, inner),) = members
        is_content = name == "content" and {"type", "text"} <= inner.get("items", {}).get("properties", {}).keys()
        plain = (
            inner if name == "result" or inner.get("type") == "string" else {"type": "string"} if is_content else plain
        )
    return one_line(_type_of(plain, 0), _MAX_TYPE_CHARS)


def _type_of(schema: dict[str, Any], depth: int) -> str:
    if branches := schema.get("anyOf"):
        return " | ".join(dict.fromkeys(_type_of(branch, depth) for branch in branches))
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(_TYPES.get(one, "dict") for one in kind)
    if kind == "array" and schema.get("items"):
        return f"list[{_type_of(schema['items'], depth + 1)}]"
    if kind == "object" and schema.get("properties") and depth < _MAX_TYPE_DEPTH:
        return (
            f"{{{', '.join(f'{name}: {_type_of(inner, depth + 1)}' for name, inner in schema['properties'].items())}}}"
        )
    return _TYPES.get(str(kind), "dict" if kind == "object" else "Any")


def _is_name_like(value: Json) -> bool:
    """Return True unless the value is a string that looks like prose."""
    return not isinstance(value, str) or (len(value) <= _MAX_NAME_CHARS and len(value.split()) <= _MAX_NAME_WORDS)


_JSON_TYPES = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})


def _is_type(value: Json) -> bool:
    if isinstance(value, str):
        return value in _JSON_TYPES
    return (
        isinstance(value, list) and bool(value) and all(isinstance(kind, str) and kind in _JSON_TYPES for kind in value)
    )


def _referenced(reference: str, root: dict[str, Json]) -> Json:
    """Return the target of a reference within the schema, or an empty schema for any other reference."""
    if not reference.startswith("#/"):
        return {}
    target: Json = root
    for part in reference[2:].split("/"):
        target = target.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(target, dict) else None
    return target


SEPARATOR = "__"
LONGEST_NAME = 64
"""Maximum length of function names that model endpoints accept. MCP allows twice as many characters."""
LONGEST_DESCRIPTION = 600
_REFUSED = frozenset({"shape", "depth", "hidden"})
"""Lint rules that exclude a tool. Long texts, unusual names and unusual schemas are repaired instead."""


@dataclass(frozen=True, slots=True)
class ExternalTool:
    """A tool of an external server."""

    name: str
    """Name of the form `server__tool`, valid for MCP and model endpoints."""
    server: str
    tool: str
    description: str
    input_schema: dict[str, Json]
    """Argument schema, simplified by `plain_schema`."""
    output_schema: dict[str, Json] | None = None
    hints: dict[str, Json] = field(default_factory=dict)
    """Annotations from the server, not verified."""

    def as_tool(self) -> Tool:
        """Return the tool in the form that search and validation use."""
        return Tool(self.name, self.description, self.input_schema, {}, "")

    def pinned(self) -> str:
        """Return the definition as JSON. If it changes, the user has to trust the tool again."""
        schemas = {"inputSchema": self.input_schema, "outputSchema": self.output_schema}
        return json.dumps({"description": self.description, **schemas, "annotations": self.hints}, sort_keys=True)


@dataclass(frozen=True, slots=True)
class ToolListing:
    """The usable tools of one server, and notes about the others."""

    tools: tuple[ExternalTool, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RawListing:
    """The tool definitions as the server sent them."""

    definitions: tuple[Json, ...] = ()
    notes: tuple[str, ...] = ()
    """Problems with pages of the list."""


def listing_of(server: str, definitions: Sequence[Json], most: int, problems: Sequence[str] = ()) -> ToolListing:
    """Return the usable tools among a server's definitions, with a note about each unusable one.

    Args:
        server: The server's name.
        definitions: The definitions as the server sent them.
        most: Maximum number of tools.
        problems: Problems with pages of the list, which become notes.
    """
    tools: dict[str, ExternalTool] = {}
    notes = [f"the server {server}: {note}" for note in problems]
    names = {str(each.get("name", "")) for each in definitions if isinstance(each, dict)}
    shared = Counter(public_name(server, tool) for tool in names)
    for number, given in enumerate(definitions[:most], 1):
        tool = str(given.get("name", "")) if isinstance(given, dict) else ""
        name = public_name(server, tool, is_shared=shared[public_name(server, tool)] > 1)
        definition, ignored = _cleaned(given) if isinstance(given, dict) else ({}, [])
        shown = one_line(name, 80) if tool else f"number {number}"
        if flaw := _problem_of(definition) if isinstance(given, dict) else "it is not an object":
            notes.append(f"the tool {shown} of the server {server} is ignored: {flaw}")
        elif name in tools:
            notes.append(f"the server {server} lists the tool {shown} twice; the first one is used")
        else:
            tools[name] = _tool(name, server, definition)
            notes += [f"the tool {shown}: its {why}" for why in ignored]
    if len(definitions) > most:
        notes.append(f"the server {server} has more than {most} tools; the rest are ignored")
    return ToolListing(tuple(tools.values()), tuple(notes))


_OPTIONAL: dict[str, type] = {"title": str, "description": str, "annotations": dict}


def _cleaned(given: dict[str, Json]) -> tuple[dict[str, Json], list[str]]:
    """Return the parts of a definition that we use, and notes about invalid optional parts.

    A missing or empty inputSchema means that the tool has no arguments.
    """
    schema = given.get("inputSchema")
    kept: dict[str, Json] = {"name": given.get("name")}
    kept["inputSchema"] = {"type": "object"} if schema is None or schema == {} else schema
    ignored: list[str] = []
    for key, form in _OPTIONAL.items():
        if isinstance(given.get(key), form):
            kept[key] = given[key]
        elif given.get(key) is not None:
            ignored.append(f"{key} is ignored: {_kind_of(given[key])}")
    promised = given.get("outputSchema")
    if promised is not None and (flaw := _schema_problem(promised)):
        ignored.append(f"outputSchema is ignored: {flaw}")
    elif promised is not None:
        kept["outputSchema"] = promised
    return kept, ignored


def _schema_problem(schema: Json) -> str:
    """Return the reason why a schema does not describe an object, or an empty string if it does."""
    if not isinstance(schema, dict):
        return _kind_of(schema)
    kinds, properties = schema.get("type", "object"), schema.get("properties", {})
    if kinds != "object" and not (isinstance(kinds, list) and "object" in kinds):
        return f"its type is {one_line(repr(kinds), 80)}, but MCP requires 'object'"
    if not isinstance(properties, dict):
        return f"properties: {_kind_of(properties)}"
    wrong = next((name for name, inner in properties.items() if not isinstance(inner, dict | bool)), None)
    return f"properties.{one_line(wrong, 80)}: {_kind_of(properties[wrong])}, not a schema" if wrong is not None else ""


def _kind_of(value: Json) -> str:
    names = {"str": "text", "dict": "an object", "list": "a list", "NoneType": "null", "bool": "a boolean"}
    return f"it is {names.get(type(value).__name__, 'a number')}"


def public_name(server: str, tool: str, *, is_shared: bool = False) -> str:
    """Return `server__tool`. If that is not a valid name, it is altered or truncated, and a hash is added.

    A dot becomes `_` without a hash, unless another tool of this server would get the same name.
    """
    wanted = f"{server}{SEPARATOR}{tool}"
    name = re.sub(r"[^A-Za-z0-9_-]", "_", wanted)
    changed = any(c not in "-_." and not c.isalnum() for c in wanted) or not wanted.isascii()
    changed = changed or (is_shared and "." in tool)
    if len(name) <= LONGEST_NAME and not changed:
        return name
    mark = hashlib.sha256(wanted.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[: LONGEST_NAME - len(mark) - 1]}_{mark}"


def prefix_of(server: str) -> str:
    """Return the prefix of a server's tool names."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", f"{server}{SEPARATOR}")[: LONGEST_NAME - 9]


def _problem_of(definition: dict[str, Json]) -> str:
    """Return the reason why a definition is unusable, or an empty string if it is usable."""
    if not definition.get("name"):
        return "it has no name"
    if flaw := _schema_problem(definition.get("inputSchema")):
        return f"inputSchema: {flaw}"
    found = next((flag for flag in lint(definition) if flag.rule in _REFUSED), None)
    return f"{found.where}: {found.message}" if found else ""


def suspicions_of(definition: dict[str, Json]) -> list[str]:
    """Return the parts of a definition that look like an attack on the model. Models see the tool anyway."""
    return [f"{found.where}: {found.message}" for found in lint(definition) if found.severity == "warning"]


def _tool(name: str, server: str, definition: dict[str, Json]) -> ExternalTool:
    description = str(definition.get("description") or definition.get("title") or "")
    schema = definition.get("inputSchema")
    output = definition.get("outputSchema")
    hints = definition.get("annotations")
    return ExternalTool(
        name,
        server,
        str(definition["name"]),
        one_line(description, LONGEST_DESCRIPTION),
        plain_schema(schema if isinstance(schema, dict) else {}),
        output if isinstance(output, dict) else None,
        hints if isinstance(hints, dict) else {},
    )

"""The tools of external servers as we show them: valid unique names, cut descriptions, plain schemas.

What a server says of its tools is data of a stranger. A definition with hidden characters is left out.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp_tools.definition import lint
from mcp_tools.text import middle_left_out, one_line, printable
from mcp_tools.tool import Json, Tool

_LONGEST_HINT = 200
_LARGEST_SCHEMA = 8_000
"""Characters of JSON. What is larger is shown as its parameters' names and types."""
_DEEPEST = 8
_LONGEST_WORD, _MOST_WORDS = 64, 4
"""Of a name or a choice; what is longer is prose."""
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
        described: Whether prose stays: descriptions, and names and choices that are sentences.
    """
    plain = {"properties": {}, **_plain(schema, schema, 0, described), "type": "object"}
    if len(json.dumps(plain)) > _LARGEST_SCHEMA:
        shown = list(plain["properties"].items())[:100]
        kinds = {name: {"type": one["type"]} if isinstance(one.get("type"), str) else {} for name, one in shown}
        required = [name for name in plain.get("required", []) if name in kinds]
        plain = {"type": "object", "properties": kinds, "required": required}
    return plain


def _plain(schema: Json, root: dict[str, Json], depth: int, described: bool) -> dict[str, Any]:
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return {}
    if isinstance(schema.get("$ref"), str):
        return _plain(_referenced(schema["$ref"], root), root, depth + 1, described)
    plain: dict[str, Any] = {}
    if _is_kind(schema.get("type")):
        plain["type"] = schema["type"]
    if described and isinstance(schema.get("description"), str):
        plain["description"] = one_line(schema["description"], _LONGEST_HINT)
    choices = {"enum": schema["enum"]} if isinstance(schema.get("enum"), list) and schema["enum"] else {}
    choices |= {"const": schema["const"]} if "const" in schema else {}
    if described or all(map(_is_plain, [*choices.get("enum", ()), choices.get("const")])):
        plain |= choices
    for key in _SHARED:
        if isinstance(schema.get(key), int | float) and not isinstance(schema[key], bool):
            plain[key] = schema[key]
    return plain | _parts(schema, lambda part: _plain(part, root, depth + 1, described), described)


def _parts(schema: dict[str, Json], inner: Callable[[Json], dict[str, Any]], described: bool) -> dict[str, Any]:
    """What is inside a schema: properties, items, choices."""
    plain: dict[str, Any] = {}
    properties, required = schema.get("properties"), schema.get("required")
    if isinstance(properties, dict):
        shown = {name: inner(part) for name, part in properties.items() if described or _is_plain(name)}
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


def _is_plain(value: Json) -> bool:
    """Whether a name or a choice is one, and no prose."""
    return not isinstance(value, str) or (len(value) <= _LONGEST_WORD and len(value.split()) <= _MOST_WORDS)


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


SEPARATOR = "__"
LONGEST_NAME = 64
"""Of a function, at the models' endpoints; MCP allows twice as much."""
LONGEST_DESCRIPTION = 600
_REFUSED = frozenset({"shape", "depth", "hidden"})
"""Rules of the lint that leave a tool out. Long texts are cut here, and foreign names and schemas made plain."""


@dataclass(frozen=True, slots=True)
class ExternalTool:
    """A tool of an external server."""

    name: str
    """`server__tool`, valid for MCP and for models' endpoints."""
    server: str
    tool: str
    description: str
    input_schema: dict[str, Json]
    """Plain and bounded; arguments must fit it."""
    output_schema: dict[str, Json] | None = None
    hints: dict[str, Json] = field(default_factory=dict)
    """The server's annotations, which nobody has checked."""

    def as_tool(self) -> Tool:
        """The form in which search and validation know tools."""
        return Tool(self.name, self.description, self.input_schema, {}, "")

    def pinned(self) -> str:
        """What its server says of it, as JSON: another text is another tool."""
        schemas = {"inputSchema": self.input_schema, "outputSchema": self.output_schema}
        return json.dumps({"description": self.description, **schemas, "annotations": self.hints}, sort_keys=True)


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools of one server, and what was left out of its list."""

    tools: tuple[ExternalTool, ...] = ()
    notes: tuple[str, ...] = ()


def listing_of(server: str, definitions: Iterable[dict[str, Json]], most: int) -> Listing:
    """The tools of a server's list.

    At most `most` of them are taken.
    """
    tools: dict[str, ExternalTool] = {}
    notes: list[str] = []
    listed = list(definitions)
    told = {str(definition.get("name", "")) for definition in listed}
    shared = Counter(public_name(server, tool) for tool in told)
    for definition in listed[:most]:
        tool = str(definition.get("name", ""))
        name = public_name(server, tool, is_shared=shared[public_name(server, tool)] > 1)
        if flaw := _flaw(definition):
            notes.append(f"a tool of the server {server} is left out: {one_line(name, 80)}: {flaw}")
        elif name in tools:
            notes.append(f"the server {server} lists {one_line(name, 80)} twice; the first counts")
        else:
            tools[name] = _tool(name, server, definition)
    if len(listed) > most:
        notes.append(f"the server {server} has more than {most} tools; the others are left out")
    return Listing(tuple(tools.values()), tuple(notes))


def public_name(server: str, tool: str, *, is_shared: bool = False) -> str:
    """`server__tool`; where that is no valid name, with a hash of what was changed or cut.

    A dot becomes `_` without a hash, unless another tool of the server would share that name.
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
    """How the names of a server's tools begin."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", f"{server}{SEPARATOR}")[: LONGEST_NAME - 9]


def _flaw(definition: dict[str, Json]) -> str:
    """Why a definition is not shown; empty when it is."""
    if not definition.get("name"):
        return "it has no name"
    found = next((flag for flag in lint(definition) if flag.rule in _REFUSED), None)
    return f"{found.where}: {found.message}" if found else ""


def suspicions_of(definition: dict[str, Json]) -> list[str]:
    """What in a definition reads as if it was written to misuse a model; the tool is shown all the same."""
    return [f"{found.where}: {found.message}" for found in lint(definition) if found.severity == "warning"]


def _tool(name: str, server: str, definition: dict[str, Json]) -> ExternalTool:
    told = str(definition.get("description") or definition.get("title") or "")
    schema = definition.get("inputSchema")
    output = definition.get("outputSchema")
    hints = definition.get("annotations")
    return ExternalTool(
        name,
        server,
        str(definition["name"]),
        one_line(told, LONGEST_DESCRIPTION),
        plain_schema(schema if isinstance(schema, dict) else {}),
        output if isinstance(output, dict) else None,
        hints if isinstance(hints, dict) else {},
    )


_LONGEST_VALUE = 200
"""Characters of a text that counts as a value rather than as material to read."""


@dataclass(frozen=True, slots=True)
class ServerReply:
    """The outcome of one call, as plain JSON values."""

    ok: bool
    text: str
    value: Json = None
    """The result, when it is a single number, truth value or short text."""
    kind: str = ""
    """Of a failure: `tool`, `arguments`, `timeout`, `gone`, `unknown` …"""
    seconds: float = 0.0


def reply_of(content: Sequence[Any], structured: Json, *, is_error: bool, most: int) -> ServerReply:
    """The reply that a result stands for.

    Of its text `most` characters are kept.
    """
    told = "\n".join(filter(None, (_shown(block) for block in content)))
    text = _joined(told, structured)
    cut = middle_left_out(printable(text), most)
    if is_error:
        return ServerReply(False, cut or "the tool failed without a word", kind="tool")
    return ServerReply(True, cut or "(an empty result)", _single(told, structured))


def _shown(block: Any) -> str:
    """A content block as text; what is no text is named with its kind and size."""
    match block.type:
        case "text":
            return str(block.text)
        case "image" | "audio":
            return f"[{block.type} {block.mime_type}, {_size(block.data)}]"
        case "resource_link":
            return f"[resource {block.name}: {block.uri}]"
        case "resource":
            inside = block.resource
            body = getattr(inside, "text", None)
            if body is not None:
                return f"[resource {inside.uri}]\n{body}"
            return f"[resource {inside.uri}, {inside.mime_type or 'binary'}, {_size(inside.blob)}]"
    return f"[{block.type}]"


def _size(base64: str) -> str:
    return f"{len(base64) * 3 // 4:,} bytes"


def _joined(told: str, structured: Json) -> str:
    """Both forms of a result where they differ; most servers send the same twice."""
    if structured is None:
        return told
    as_text = json.dumps(structured, ensure_ascii=False)
    inner = structured["result"] if isinstance(structured, dict) and set(structured) == {"result"} else structured
    if not told:
        return as_text
    if _same(told, structured) or _same(told, inner):
        return told
    return f"{told}\n{as_text}"


def _same(told: str, value: Json) -> bool:
    if isinstance(value, str) and told == value:
        return True
    try:
        return bool(json.loads(told) == value)
    except (ValueError, RecursionError):
        return isinstance(value, list) and told == "\n".join(str(item) for item in value)


def _single(told: str, structured: Json) -> Json:
    value = structured
    if isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))
    if structured is None:
        value = _number(told)
    if isinstance(value, bool | int | float):
        return value
    is_short = isinstance(value, str) and len(value) <= _LONGEST_VALUE and "\n" not in value.strip()
    return printable(value) if is_short else None


def _number(text: str) -> Json:
    """The number that is all of a text; None when it is none."""
    try:
        value = json.loads(text) if len(text) < 40 else None
    except ValueError:
        return None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None

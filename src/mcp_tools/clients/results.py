"""What a call of an external tool gave: its content as text, and as a value where it is a single one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_tools.library import validate_result
from mcp_tools.text import printable
from mcp_tools.tool import Json, Tool

_LONGEST_VALUE = 200
"""Characters of a text that counts as a value rather than as material to read."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The outcome of one call, as plain JSON values."""

    ok: bool
    text: str
    """The result, or what went wrong, as data."""
    value: Json = None
    """The result, when it is a single number, truth value or short text."""
    kind: str = ""
    """Of a failure: `tool`, `arguments`, `timeout`, `gone`, `unknown` …"""
    seconds: float = 0.0


def reply_of(content: Sequence[Any], structured: Json, *, is_error: bool, most: int) -> Reply:
    """The reply that a result stands for.

    Args:
        content: MCP content blocks.
        structured: The result's structuredContent; None when it has none.
        is_error: Whether the tool said that it failed.
        most: Characters of the text that are kept.
    """
    told = "\n".join(filter(None, (_shown(block) for block in content)))
    text = _joined(told, structured)
    cut = shortened(printable(text), most)
    if is_error:
        return Reply(False, cut or "the tool failed without a word", kind="tool")
    return Reply(True, cut or "(an empty result)", _single(told, structured))


def misfits_of(tool: str, schema: dict[str, Json] | None, structured: Json) -> list[str]:
    """What of a structured result is not what the tool's outputSchema promises."""
    if schema is None or structured is None:
        return []
    whole = {"type": "object", "properties": {"result": _without_patterns(schema)}}
    return validate_result(Tool(tool, "", {}, whole, ""), structured)


def shortened(text: str, most: int) -> str:
    """The text, or its two ends with a note between them of how much was left out."""
    if len(text) <= most:
        return text
    head = most * 3 // 4
    tail = most - head
    return f"{text[:head]}\n[… {len(text) - head - tail:,} of {len(text):,} characters left out …]\n{text[-tail:]}"


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


def _without_patterns(schema: Json) -> Json:
    """The schema without regular expressions: one of a stranger may take forever."""
    if isinstance(schema, dict):
        return dict(_parts_without_patterns(schema))
    return [_without_patterns(inner) for inner in schema] if isinstance(schema, list) else schema


def _parts_without_patterns(schema: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    for key, inner in schema.items():
        if key == "properties" and isinstance(inner, dict):
            yield key, {name: _without_patterns(part) for name, part in inner.items()}
        elif key not in {"pattern", "patternProperties"}:
            yield key, _without_patterns(inner)

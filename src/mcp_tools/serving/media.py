"""Images, sounds and documents: what an outputSchema marks with `contentMediaType` reaches the client as such.

JSON Schema 2020-12 has the words for it (Validation, section 8). A result may be marked, or an item of a list; with
`contentEncoding: base64` it is binary.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from mcp_tools.tool import Json, Tool

_MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9.+-]{1,100}")


def with_media(tool: Tool, value: Json) -> tuple[Json, list[dict[str, Json]]]:
    """A result as text shows it, with the size of each image or sound in its place, and the media as MCP content.

    What is no base64, although it is marked so, stays as it is.
    """
    schema = tool.output_schema.get("properties", {}).get("result", {})
    if "contentMediaType" in schema:
        return _shown(tool.name, schema, value, 0)
    if not isinstance(value, list) or not ("prefixItems" in schema or "items" in schema):
        return value, []
    parts = [_shown(tool.name, inner, item, at) for at, (inner, item) in enumerate(_items(schema, value))]
    return [shown for shown, _ in parts], [block for _, blocks in parts for block in blocks]


def _items(schema: dict[str, Json], values: list[Json]) -> Iterator[tuple[dict[str, Json], Json]]:
    first = schema.get("prefixItems", [])
    for at, value in enumerate(values):
        found = first[at] if at < len(first) else schema.get("items")
        yield found if isinstance(found, dict) else {}, value


def _shown(name: str, schema: dict[str, Json], value: Json, at: int) -> tuple[Json, list[dict[str, Json]]]:
    media_type = schema.get("contentMediaType")
    if not isinstance(value, str) or not isinstance(media_type, str) or not _MEDIA_TYPE.fullmatch(media_type):
        return value, []
    uri = f"alita://results/{name}/{at}"
    if schema.get("contentEncoding") != "base64":
        return value, [{"type": "resource", "resource": {"uri": uri, "mimeType": media_type, "text": value}}]
    try:
        size = len(base64.b64decode(value, validate=True))
    except (binascii.Error, ValueError):
        return value, []
    kind = media_type.partition("/")[0]
    block: dict[str, Json] = {"type": kind, "data": value, "mimeType": media_type}
    if kind not in {"image", "audio"}:
        block = {"type": "resource", "resource": {"uri": uri, "mimeType": media_type, "blob": value}}
    return f"{media_type}, {size:,} bytes", [block]

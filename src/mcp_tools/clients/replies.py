"""Results of external tools: text, value and files.

Results are not required to be valid MCP. Content of an unknown kind is only mentioned; the rest is used.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import math
import mimetypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcp_tools.text import middle_left_out, one_line, printable
from mcp_tools.tool import Json

_MAX_VALUE_CHARS = 200
"""Maximum length of a text that counts as a value. Longer texts are material to read."""
_MAX_UNKNOWN_CHARS = 2_000
WRAPPER = "result"
"""Name of the member in which servers wrap a value that is not an object."""
_MAX_FILES = 20
_SUFFIXES = {"audio/wav": ".wav", "audio/mp3": ".mp3", "audio/ogg": ".ogg", "image/webp": ".webp", "image/jpg": ".jpg"}


@dataclass(frozen=True, slots=True)
class ReplyFile:
    """An image, audio file or other file in a result."""

    name: str
    """Name of the file in the reply's text."""
    kind: str
    """MIME type. Empty if the server did not send one."""
    data: str = ""
    """Content in base64. Empty once the file is saved."""
    path: str = ""


@dataclass(frozen=True, slots=True)
class ServerReply:
    """The outcome of a call."""

    ok: bool
    text: str
    value: Json = None
    """The result if it is a single number, boolean or short text, otherwise None."""
    kind: str = ""
    """Kind of failure: `tool`, `answer` (a protocol error), `arguments`, `timeout`, `gone`, `unknown` …"""
    seconds: float = 0.0
    files: tuple[ReplyFile, ...] = ()
    returned: tuple[Json, ...] = ()
    """The value that programs get, as a one-element tuple. Empty if programs get the text."""


def reply_of(
    result: dict[str, Any], hide: Callable[[str], str], *, most: int, schema: dict[str, Json] | None = None
) -> ServerReply:
    """Convert an MCP result to a reply.

    Args:
        result: The result as the server sent it.
        hide: Removes secrets from a text.
        most: Maximum number of characters to show. A longer text is truncated, and added in full as a file.
        schema: The tool's outputSchema.
    """
    files: list[ReplyFile] = []
    content, structured = result.get("content"), result.get("structuredContent")
    blocks = content if isinstance(content, list) else [] if content is None else [content]
    plain = "\n".join(filter(None, (_block_text(block, files) for block in blocks)))
    if content is None and structured is None:  # some older servers use other keys for the content
        known = {"_meta", "isError", "resultType"}
        structured = {key: value for key, value in result.items() if key not in known} or None
    text = hide(printable(_combined_text(plain, structured, blocks)))
    cut = middle_left_out(text, most)
    if cut != text:
        files.append(
            ReplyFile("whole_result.txt", "text/plain", base64.b64encode(text.encode("utf-8", "replace")).decode())
        )
        cut += "\n[file whole_result.txt: the whole result]"
    if result.get("isError") in (True, "true"):
        return ServerReply(False, cut or "the tool failed without a message", kind="tool", files=tuple(files))
    shown = cut or "(an empty result)"
    value = _single_value(plain, structured) if not files else None
    returned = _cleaned(_returned(plain, structured, blocks, schema), hide)
    returns = () if returned == shown else (returned,)
    return ServerReply(True, shown, _cleaned(value, hide), files=tuple(files), returned=returns)


def _cleaned(value: Json, hide: Callable[[str], str]) -> Json:
    """Make all strings in a value printable, and remove secrets."""
    if isinstance(value, dict):
        return {hide(printable(name)): _cleaned(inner, hide) for name, inner in value.items()}
    if isinstance(value, list):
        return [_cleaned(inner, hide) for inner in value]
    return hide(printable(value)) if isinstance(value, str) else value


def _returned(text: str, structured: Json, blocks: list[Json], schema: dict[str, Json] | None) -> Json:
    """Return the value that programs get: the text, or the structured content without its wrapper."""
    if structured is None:
        return text
    members = structured if isinstance(structured, dict) else {}
    if len(members) != 1 or (schema and len(schema.get("properties") or members) != 1):
        return structured
    ((name, value),) = members.items()
    if (blocks and value == blocks) or (isinstance(value, str) and _is_same(text, value, [])):
        return text
    return value if name == WRAPPER or isinstance(value, str) else structured


def _block_text(block: Any, files: list[ReplyFile]) -> str:
    """Return a content block as text. Other content is mentioned in the text, and its data is added to `files`."""
    if not isinstance(block, dict):
        return block if isinstance(block, str) else _as_json(block)
    kind, inside = block.get("type"), block.get("resource")
    if kind == "resource_link":
        more = ", ".join(str(block[key]) for key in ("mimeType", "description") if block.get(key))
        text = f"{one_line(str(block.get('name', '')), 200)}: {one_line(str(block.get('uri', '')), 1000)}"
        return f"[resource {text}{f' ({one_line(more, 300)})' if more else ''}]"
    if kind == "resource" and isinstance(inside, dict):
        place = f"resource {one_line(str(inside.get('uri', '')), 1000)}"
        if isinstance(inside.get("text"), str):
            return f"[{place}]\n{inside['text']}"
        return _file(place, inside.get("blob"), inside.get("mimeType"), files)
    if isinstance(block.get("text"), str):
        return str(block["text"]) if kind == "text" else f"[{one_line(str(kind), 40)}]\n{block['text']}"
    if isinstance(block.get("data"), str):
        return _file(one_line(str(kind), 40), block["data"], block.get("mimeType"), files)
    brief = middle_left_out(_as_json(block), _MAX_UNKNOWN_CHARS)
    return f"[content of the unknown type {one_line(repr(kind), 40)}: {brief}]"


def _file(what: str, data: Json, kind: Json, files: list[ReplyFile]) -> str:
    mime = one_line(str(kind or ""), 100)
    try:
        packed = "".join(str(data).rpartition(";base64,")[2].split())
        size = len(base64.b64decode(packed, validate=True))
    except (binascii.Error, ValueError):
        return f"[{what} {mime}: its data is not valid base64]"
    about = f"{mime or 'binary'}, {size:,} bytes"
    if len(files) >= _MAX_FILES or not size:
        return f"[{what}: {about}, not kept]"
    suffix = _SUFFIXES.get(mime) or mimetypes.guess_extension(mime) or ".bin"
    name = f"{mime.partition('/')[0] or 'file'}_{len(files) + 1}{suffix}"
    files.append(ReplyFile(name, mime, packed))
    return f"[{what} in the file {name}: {about}]"


def _as_json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _combined_text(text: str, structured: Json, blocks: list[Json]) -> str:
    """Combine the text and the structured content. If both are the same, as with most servers, show it once."""
    if structured is None:
        return text
    is_single = isinstance(structured, dict) and len(structured) == 1
    name, single = next(iter(structured.items())) if is_single else ("", structured)
    if name == WRAPPER and (not text or _is_same(text, structured, [])):
        return single if isinstance(single, str) else _as_json(single)
    if text and (_is_same(text, structured, blocks) or _is_same(text, single, blocks)):
        return text
    return text if single == "" else "\n".join(filter(None, [text, _as_json(structured)]))


def _is_same(text: str, value: Json, blocks: list[Json]) -> bool:
    """Return True if a text, or the blocks that it was made from, has the same content as a value."""
    if isinstance(value, str) and text.strip() == value.strip():
        return True
    texts = [block.get("text") if isinstance(block, dict) else block for block in blocks]
    return _json_or_text(text) == value or (
        isinstance(value, list) and value in (blocks, texts, [*map(_json_or_text, texts)])
    )


def _json_or_text(text: Json) -> Json:
    """Parse the text as JSON. Return it unchanged if it is not JSON."""
    with contextlib.suppress(ValueError, TypeError, RecursionError):
        return json.loads(text)
    return text


def _single_value(text: str, structured: Json) -> Json:
    value = structured
    if isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))
    if structured is None:
        value = _number(text)
    if isinstance(value, bool | int | float):
        return value if math.isfinite(value) else None
    is_short = isinstance(value, str) and len(value) <= _MAX_VALUE_CHARS and "\n" not in value.strip()
    return value if is_short else None


def _number(text: str) -> Json:
    """Return the number that makes up a text, as a string if JSON would spell it differently. Otherwise None."""
    value = _json_or_text(text) if len(text) < 40 else None
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if _as_json(value) == text.strip() else text.strip()

"""The results of external tools as a run sees them: texts, values, and the files that came with them.

A result is taken as its server sent it: what is of an unknown kind is named, and the rest counts.
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

_LONGEST_VALUE = 200
"""Characters of a text that counts as a value rather than as material to read."""
_LONGEST_UNKNOWN = 2_000
WRAPPER = "result"
"""The member in which servers send a value that is no object."""
_MOST_FILES = 20
_SUFFIXES = {"audio/wav": ".wav", "audio/mp3": ".mp3", "audio/ogg": ".ogg", "image/webp": ".webp", "image/jpg": ".jpg"}


@dataclass(frozen=True, slots=True)
class ReplyFile:
    """A picture, a sound or another file in a result."""

    name: str
    """As the text of the reply calls it."""
    kind: str
    """Its MIME type; empty if its server does not say."""
    data: str = ""
    """Its bytes in base64, until they are saved."""
    path: str = ""
    """Path of the saved file."""


@dataclass(frozen=True, slots=True)
class ServerReply:
    """The outcome of one call, as plain JSON values."""

    ok: bool
    text: str
    value: Json = None
    """The result, when it is a single number, truth value or short text."""
    kind: str = ""
    """For a failure: `tool`, `answer` (an error of the protocol), `arguments`, `timeout`, `gone`, `unknown` …"""
    seconds: float = 0.0
    files: tuple[ReplyFile, ...] = ()
    returned: tuple[Json, ...] = ()
    """The one value that a program gets; empty if that is the text."""


def reply_of(
    result: dict[str, Any], hide: Callable[[str], str], *, most: int, schema: dict[str, Json] | None = None
) -> ServerReply:
    """The reply that a result of MCP stands for.

    Args:
        result: As its server sent it.
        hide: Takes secrets out of a text.
        most: Characters of its text that are shown. A longer one comes whole as a file, too.
        schema: The tool's outputSchema.
    """
    files: list[ReplyFile] = []
    content, structured = result.get("content"), result.get("structuredContent")
    blocks = content if isinstance(content, list) else [] if content is None else [content]
    told = "\n".join(filter(None, (_shown(block, files) for block in blocks)))
    if content is None and structured is None:  # some older servers have the result under other names
        known = {"_meta", "isError", "resultType"}
        structured = {key: value for key, value in result.items() if key not in known} or None
    text = hide(printable(_joined(told, structured, blocks)))
    cut = middle_left_out(text, most)
    if cut != text:
        files.append(
            ReplyFile("whole_result.txt", "text/plain", base64.b64encode(text.encode("utf-8", "replace")).decode())
        )
        cut += "\n[file whole_result.txt: the whole result]"
    if result.get("isError") in (True, "true"):
        return ServerReply(False, cut or "the tool failed without a word", kind="tool", files=tuple(files))
    shown = cut or "(an empty result)"
    value = _single(told, structured) if not files else None
    returned = _clean(_returned(told, structured, blocks, schema), hide)
    returns = () if returned == shown else (returned,)
    return ServerReply(True, shown, _clean(value, hide), files=tuple(files), returned=returns)


def _clean(value: Json, hide: Callable[[str], str]) -> Json:
    """A value with all its texts printable and free of secrets."""
    if isinstance(value, dict):
        return {hide(printable(name)): _clean(inner, hide) for name, inner in value.items()}
    if isinstance(value, list):
        return [_clean(inner, hide) for inner in value]
    return hide(printable(value)) if isinstance(value, str) else value


def _returned(told: str, structured: Json, blocks: list[Json], schema: dict[str, Json] | None) -> Json:
    """The result as a program gets it: the text, or the structured content, which may wrap a single value."""
    if structured is None:
        return told
    members = structured if isinstance(structured, dict) else {}
    if len(members) != 1 or (schema and len(schema.get("properties") or members) != 1):
        return structured
    ((name, value),) = members.items()
    if (blocks and value == blocks) or (isinstance(value, str) and _same(told, value, [])):
        return told
    return value if name == WRAPPER or isinstance(value, str) else structured


def _shown(block: Any, files: list[ReplyFile]) -> str:
    """A content block as text; what is no text is named and, if it has data, added to the files."""
    if not isinstance(block, dict):
        return block if isinstance(block, str) else _as_json(block)
    kind, inside = block.get("type"), block.get("resource")
    if kind == "resource_link":
        more = ", ".join(str(block[key]) for key in ("mimeType", "description") if block.get(key))
        told = f"{one_line(str(block.get('name', '')), 200)}: {one_line(str(block.get('uri', '')), 1000)}"
        return f"[resource {told}{f' ({one_line(more, 300)})' if more else ''}]"
    if kind == "resource" and isinstance(inside, dict):
        place = f"resource {one_line(str(inside.get('uri', '')), 1000)}"
        if isinstance(inside.get("text"), str):
            return f"[{place}]\n{inside['text']}"
        return _file(place, inside.get("blob"), inside.get("mimeType"), files)
    if isinstance(block.get("text"), str):
        return str(block["text"]) if kind == "text" else f"[{one_line(str(kind), 40)}]\n{block['text']}"
    if isinstance(block.get("data"), str):
        return _file(one_line(str(kind), 40), block["data"], block.get("mimeType"), files)
    brief = middle_left_out(_as_json(block), _LONGEST_UNKNOWN)
    return f"[content of the kind {one_line(repr(kind), 40)}, which is not known here: {brief}]"


def _file(what: str, data: Json, kind: Json, files: list[ReplyFile]) -> str:
    """The text in place of a file, which is added to the files."""
    mime = one_line(str(kind or ""), 100)
    try:
        packed = "".join(str(data).rpartition(";base64,")[2].split())
        size = len(base64.b64decode(packed, validate=True))
    except (binascii.Error, ValueError):
        return f"[{what} {mime}: its data is no base64]"
    about = f"{mime or 'binary'}, {size:,} bytes"
    if len(files) >= _MOST_FILES or not size:
        return f"[{what}: {about}, not kept]"
    suffix = _SUFFIXES.get(mime) or mimetypes.guess_extension(mime) or ".bin"
    name = f"{mime.partition('/')[0] or 'file'}_{len(files) + 1}{suffix}"
    files.append(ReplyFile(name, mime, packed))
    return f"[{what} in the file {name}: {about}]"


def _as_json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _joined(told: str, structured: Json, blocks: list[Json]) -> str:
    """Both forms of a result where they differ; most servers send the same twice."""
    if structured is None:
        return told
    is_single = isinstance(structured, dict) and len(structured) == 1
    name, single = next(iter(structured.items())) if is_single else ("", structured)
    if name == WRAPPER and (not told or _same(told, structured, [])):
        return single if isinstance(single, str) else _as_json(single)
    if told and (_same(told, structured, blocks) or _same(told, single, blocks)):
        return told
    return told if single == "" else "\n".join(filter(None, [told, _as_json(structured)]))


def _same(told: str, value: Json, blocks: list[Json]) -> bool:
    """Return True if a text, or the blocks that it was made of, say the same as a value."""
    if isinstance(value, str) and told.strip() == value.strip():
        return True
    texts = [block.get("text") if isinstance(block, dict) else block for block in blocks]
    return _read(told) == value or (isinstance(value, list) and value in (blocks, texts, [*map(_read, texts)]))


def _read(text: Json) -> Json:
    """The value that a text holds as JSON; another text is itself."""
    with contextlib.suppress(ValueError, TypeError, RecursionError):
        return json.loads(text)
    return text


def _single(told: str, structured: Json) -> Json:
    value = structured
    if isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))
    if structured is None:
        value = _number(told)
    if isinstance(value, bool | int | float):
        return value if math.isfinite(value) else None
    is_short = isinstance(value, str) and len(value) <= _LONGEST_VALUE and "\n" not in value.strip()
    return value if is_short else None


def _number(text: str) -> Json:
    """Return the number that a text consists of, in its spelling if JSON's differs; None for other texts."""
    value = _read(text) if len(text) < 40 else None
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if _as_json(value) == text.strip() else text.strip()

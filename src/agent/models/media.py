"""Video and audio in messages. A message part only names the file or URL; the file is read when the request is sent."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from agent.models.failures import Endpoint, Failure, Kind
from agent.models.protocol import Message
from agent.models.wire import Body
from mcp_tools.small_files import read_small

MAX_INLINE_BYTES = 14_000_000
"""Largest file that fits in a request: Gemini accepts 20 MB, and base64 adds a third."""
_MEDIA_TYPES = {
    **{"mp4": "video/mp4", "mov": "video/mov", "webm": "video/webm", "mkv": "video/x-matroska", "avi": "video/avi"},
    **{"mp3": "audio/mp3", "wav": "audio/wav", "m4a": "audio/mp4", "flac": "audio/flac", "ogg": "audio/ogg"},
    "aac": "audio/aac",
}
"""Gemini's names of the media types, by kind of file."""
MEDIA_KINDS = frozenset(_MEDIA_TYPES)
"""Kinds of video and audio files that messages can name."""


def media_part(source: str | Path, kind: str = "") -> dict[str, Any]:
    """Return the message part for a video's URL, or for a video or audio file of the given kind (`mp4`)."""
    if isinstance(source, str):
        return {"type": "video_url", "video_url": {"url": source}}
    name = "video_url" if _MEDIA_TYPES[kind].startswith("video/") else "input_audio"
    return {"type": name, name: {"url": f"{source.as_uri()}#{_MEDIA_TYPES[kind]}"}}


class NamedMedia(NamedTuple):
    """The file or URL in a message part."""

    url: str
    path: Path | None
    media_type: str


def named_media(part: dict[str, Any]) -> NamedMedia | None:
    """Return the video or audio that a message part names; None for any other part."""
    if part.get("type") not in ("video_url", "input_audio"):
        return None
    url = str(part[part["type"]]["url"])
    parts = urlsplit(url)
    return NamedMedia(url, Path(unquote(parts.path)) if parts.scheme == "file" else None, parts.fragment)


def base64_of(path: Path, endpoint: Endpoint) -> str:
    """Return the file's bytes in base64.

    Raises:
        Failure: The file cannot be read, or is larger than `MAX_INLINE_BYTES`.
    """
    try:
        size = path.stat().st_size
        if size > MAX_INLINE_BYTES:
            detail = f"{path.name} has {size:,} bytes; the limit for one request is {MAX_INLINE_BYTES:,} bytes"
            raise Failure(Kind.REFUSED, endpoint, detail)
        return base64.b64encode(read_small(path, MAX_INLINE_BYTES)).decode()
    except OSError as error:
        raise Failure(Kind.REFUSED, endpoint, f"{path.name} cannot be read: {error.strerror}") from None


def with_media_content(body: Body, endpoint: Endpoint) -> Body:
    """Replace the named files by their content, as `video_url` and `input_audio` parts of Chat Completions.

    Raises:
        Failure: A file cannot be read, or is too large.
    """

    def with_content(part: dict[str, Any]) -> dict[str, Any]:
        if (named := named_media(part)) is None or named.path is None:
            return part
        data = base64_of(named.path, endpoint)
        if part["type"] == "input_audio":
            return {"type": "input_audio", "input_audio": {"data": data, "format": named.media_type[len("audio/") :]}}
        return {"type": "video_url", "video_url": {"url": f"data:{named.media_type};base64,{data}"}}

    return {**body, "messages": map_parts(body["messages"], with_content)}


def map_parts(messages: Sequence[Message], change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> list[Message]:
    """Return the messages with `change` applied to each part. Parts for which it returns None are removed."""
    changed = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            message = {**message, "content": [part for one in content if (part := change(one)) is not None]}
        changed.append(message)
    return changed

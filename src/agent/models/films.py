"""Films and sounds in messages: named by their place, and read when they are sent, in the form of the endpoint."""

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

LARGEST = 14_000_000
"""Bytes of a file that goes into a request: Gemini takes 20 MB, and base64 adds a third."""
_TYPES = {
    **{"mp4": "video/mp4", "mov": "video/mov", "webm": "video/webm", "mkv": "video/x-matroska", "avi": "video/avi"},
    **{"mp3": "audio/mp3", "wav": "audio/wav", "m4a": "audio/mp4", "flac": "audio/flac", "ogg": "audio/ogg"},
    "aac": "audio/aac",
}
"""Media types as Gemini calls them, by kind of file."""
FILMS_AND_SOUNDS = frozenset(_TYPES)
"""Kinds of files that can be named in messages."""


def part_of(place: str | Path, kind: str = "") -> dict[str, Any]:
    """The part of a message that names a film or a sound: by its address on the web, or as a file of some kind."""
    if isinstance(place, str):
        return {"type": "video_url", "video_url": {"url": place}}
    form = "video_url" if _TYPES[kind].startswith("video/") else "input_audio"
    return {"type": form, form: {"url": f"{place.as_uri()}#{_TYPES[kind]}"}}


class NamedMedia(NamedTuple):
    """The file or web address that a part names."""

    url: str
    path: Path | None
    media_type: str


def named_in(part: dict[str, Any]) -> NamedMedia | None:
    """The film or sound that a part names; None for any other part."""
    if part.get("type") not in ("video_url", "input_audio"):
        return None
    url = str(part[part["type"]]["url"])
    place = urlsplit(url)
    return NamedMedia(url, Path(unquote(place.path)) if place.scheme == "file" else None, place.fragment)


def content_of(path: Path, endpoint: Endpoint) -> str:
    """The bytes of a film or sound, in base64.

    Raises:
        Failure: It cannot be read, or is too large for a request.
    """
    try:
        size = path.stat().st_size
        if size > LARGEST:
            said = f"{path.name} has {size:,} bytes; a request takes {LARGEST:,}"
            raise Failure(Kind.REFUSED, endpoint, said)
        return base64.b64encode(read_small(path, LARGEST)).decode()
    except OSError as error:
        raise Failure(Kind.REFUSED, endpoint, f"{path.name} cannot be read: {error.strerror}") from None


def with_films(body: Body, endpoint: Endpoint) -> Body:
    """The request with films and sounds as Chat Completions takes them: `video_url`, `input_audio`.

    Raises:
        Failure: One cannot be read, or is too large.
    """

    def sent(part: dict[str, Any]) -> dict[str, Any]:
        if (named := named_in(part)) is None or named.path is None:
            return part
        data = content_of(named.path, endpoint)
        if part["type"] == "input_audio":
            return {"type": "input_audio", "input_audio": {"data": data, "format": named.media_type[len("audio/") :]}}
        return {"type": "video_url", "video_url": {"url": f"data:{named.media_type};base64,{data}"}}

    return {**body, "messages": with_parts(body["messages"], sent)}


def with_parts(messages: Sequence[Message], change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> list[Message]:
    """Return the messages with each part changed, or removed if it becomes None."""
    changed = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            message = {**message, "content": [part for one in content if (part := change(one)) is not None]}
        changed.append(message)
    return changed

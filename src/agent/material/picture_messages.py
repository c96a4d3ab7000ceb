"""Pictures in the messages to a model: selects, names and sends them."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from agent.models.media import map_parts
from agent.models.protocol import Message, Request
from agent.state import Picture, Step
from mcp_tools.prompt import data_block
from mcp_tools.small_files import RECORD, read_small
from mcp_tools.text import one_line, printable

_MOST = 16
_MOST_BYTES = 12_000_000
"""Maximum number and bytes of pictures in a request. Above either limit, pictures of the oldest steps are only
named."""
SHOWS = (
    "- You see pictures: `read` shows a picture, a page of a scan or the pictures of a document; in a program, "
    "`show(image)` shows a PIL image, such as a part that is enlarged."
)
"""Instruction for a model that sees pictures."""
_WATCHED = "- `read` has a film watched, or a sound heard, with the question in mind."


@dataclass
class Sight:
    """The models that can look at a run's pictures, and their texts so far."""

    is_shown: bool = False
    """True if the answering model is shown pictures. It becomes False when the endpoint refuses one."""
    has_vision: bool = False
    """True if the role `vision` has a model that sees pictures."""
    watches: bool = False
    """True if the role `media` has a model that accepts video and audio."""
    watched: dict[tuple[str, str], str] = field(default_factory=dict)
    """Texts of the `media` model, by place and question."""
    descriptions: dict[str, str] = field(default_factory=dict)
    """Texts by picture path, for pictures that could not be shown to the answering model."""

    @property
    def abilities(self) -> str:
        """Instructions for the answering model about pictures and films."""
        return "\n".join([SHOWS] * self.is_shown + [_WATCHED] * self.watches)


def parts_of(pictures: Sequence[Picture]) -> list[dict[str, Any]]:
    """Return the parts of a message that refer to pictures. Their data is inserted when the message is sent."""
    parts: list[dict[str, Any]] = []
    for picture in pictures:
        place = f"{Path(picture['path']).as_uri()}#{picture['kind']}"
        note = f" ({picture['note']})" if picture["note"] else ""
        parts.append({"type": "text", "text": f"{_shown_name(picture)}{note}:"})
        parts.append({"type": "image_url", "image_url": {"url": place}})
    return parts


def _shown_name(picture: Picture) -> str:
    return one_line(printable(picture["name"]), 120)


class PicturesOfSteps:
    """Pictures of a conversation. Each is shown once, and pictures of the oldest steps are only named.

    Pictures in `first` come with the question, and the calls of `in_short` are shown in short.
    """

    def __init__(self, sight: Sight, first: Sequence[Picture], steps: Sequence[Step], in_short: set[str]) -> None:
        self._sight = sight
        self._sent = {picture["path"] for picture in first}
        self._dropped = set(in_short)
        count, size = len(first), _bytes(first)
        waiting: list[Step] = []
        for step in (step for step in steps if step.get("pictures")):
            waiting.append(step)
            count, size = count + len(step["pictures"]), size + _bytes(step["pictures"])
            # removes half at a time, which helps prompt caches
            while len(waiting) > 1 and (count > _MOST or size > _MOST_BYTES):
                while len(waiting) > 1 and (count > _MOST // 2 or size > _MOST_BYTES // 2):
                    oldest = waiting.pop(0)
                    count, size = count - len(oldest["pictures"]), size - _bytes(oldest["pictures"])
                    self._dropped.add(oldest["call"])

    def of(self, step: Step) -> list[dict[str, Any]]:
        """Return the message parts of a step. Call this in the order of the conversation."""
        return [part for picture in step.get("pictures", []) for part in self._parts(picture, step["call"])]

    def _parts(self, picture: Picture, call: str) -> Iterator[dict[str, Any]]:
        name, path = _shown_name(picture), picture["path"]
        if not self._sight.is_shown:
            yield {"type": "text", "text": not_shown(picture, self._sight)}
        elif call in self._dropped:
            yield {"type": "text", "text": f"{name} is not shown any more; show({path!r}) in a program shows it again."}
        elif path in self._sent:
            yield {"type": "text", "text": f"{name} is shown above."}
        else:
            self._sent.add(path)
            yield from parts_of([picture])


def not_shown(picture: Picture, sight: Sight) -> str:
    """Return the text that replaces a picture that could not be shown."""
    name, text = _shown_name(picture), sight.descriptions.get(picture["path"], "")
    head = f"{name} could not be shown to you"
    return f"{head}, but this is known:\n{data_block(name, text)}" if text else f"{head}."


def _bytes(pictures: Sequence[Picture]) -> int:
    return sum(picture["bytes"] for picture in pictures)


def without_pictures(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with only their text."""
    return map_parts(messages, lambda part: part if part.get("type") == "text" else None)


def with_pictures(request: Request) -> Request:
    """Return the request with the data of the pictures that its messages name by path."""
    return replace(request, messages=map_parts(request.messages, _filled))


def _filled(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") != "image_url":
        return part
    place = urlsplit(part["image_url"]["url"])
    try:
        data = base64.b64encode(read_small(Path(unquote(place.path)), RECORD)).decode()
    except OSError as error:
        return {"type": "text", "text": f"(it cannot be shown any more: {error.strerror})"}
    return {"type": "image_url", "image_url": {"url": f"data:{place.fragment};base64,{data}"}}

"""What a model that reads pictures sees in an attached one."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from agent.errors import ModelDeclinedError, ModelOutputError, ModelRefusedError
from agent.events import Note
from agent.models.protocol import Completion, Message, Model, Role, ToolChoice
from mcp_tools.prompt import load_prompt

if TYPE_CHECKING:
    from agent.context import Context
    from agent.state import AttachedFile

LARGEST = 20_000_000
"""Bytes of a picture that is sent."""
_TYPES = {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}
"""What endpoints take."""
_TOKENS = 600


def can_be_sent(file: AttachedFile) -> bool:
    """Whether endpoints take such a picture."""
    return not file["problem"] and file["kind"] in _TYPES and file["size"] <= LARGEST


def picture_part(file: AttachedFile) -> dict[str, Any]:
    """The part of a message that names a picture; the picture itself is put in when the message is sent."""
    place = f"{Path(file['path']).as_uri()}#{_TYPES[file['kind']]}"
    return {"type": "image_url", "image_url": {"url": place}}


async def describe_picture(context: Context, file: AttachedFile, question: str) -> str:
    """What the vision role says of a picture, for the question; empty without such a role, or when it cannot say."""
    if not context.sees:
        context.emit(Note(f"{file['name']} is known by its text only: name a model for `vision` to have it looked at"))
        return ""
    if file["kind"] not in _TYPES or file["size"] > LARGEST:
        what = f"a {file['kind']} of {file['size']:,} bytes"
        context.emit(Note(f"{file['name']} is not shown to the vision model: {what} cannot be sent"))
        return ""
    messages = load_prompt("agent", "picture").render(question=question)
    messages[-1]["content"] = [{"type": "text", "text": messages[-1]["content"]}, picture_part(file)]
    try:
        completion = await context.complete(Role.VISION, messages, temperature=0, max_tokens=_TOKENS)
    except (ModelOutputError, ModelRefusedError, ModelDeclinedError) as refused:
        context.emit(Note(f"the vision model does not read {file['name']}: {refused.message}"))
        return ""
    return completion.text.strip()


class WithPictures:
    """A model whose messages name pictures by their place, which become data when they are sent."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The model's own."""
        return self._model.name

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: dict[str, Any] | None = None,
        tools: Sequence[dict[str, Any]] | None = None,
        tool_choice: ToolChoice = "auto",
        max_tokens: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        stop: Sequence[str] | None = None,
        on_delta: Callable[[str], None] | None = None,
    ) -> Completion:
        """Completes messages; see `agent.models.protocol.Model`."""
        return await self._model.complete(
            [_filled(message) for message in messages],
            schema=schema,
            tools=tools,
            tool_choice=tool_choice,
            max_tokens=max_tokens,
            temperature=temperature,
            seed=seed,
            stop=stop,
            on_delta=on_delta,
        )

    async def aclose(self) -> None:
        """Closes the model."""
        await self._model.aclose()


def _filled(message: Message) -> Message:
    content = message.get("content")
    if not isinstance(content, list):
        return message
    return {**message, "content": [_part(part) for part in content]}


def _part(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") != "image_url":
        return part
    place = urlsplit(part["image_url"]["url"])
    try:
        data = base64.b64encode(Path(unquote(place.path)).read_bytes()).decode()
    except OSError as error:
        raise ModelRefusedError(f"the picture {unquote(place.path)} cannot be read: {error.strerror}") from error
    return {"type": "image_url", "image_url": {"url": f"data:{place.fragment};base64,{data}"}}

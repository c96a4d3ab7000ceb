"""MCP elicitation: ask the client's user, mainly before reading files on the server's machine."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp_types import (
    ClientCapabilities,
    ElicitationCapability,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)

from mcp_tools.serving.client_call import ClientCall, ClientReply, digest, error_reply
from mcp_tools.text import one_line
from mcp_tools.tool import Json

_MAX_FILES = 16
_MAX_PATH_CHARS = 4096
_MAX_ANSWERS = 16
FILES_SCHEMA: dict[str, Json] = {
    "type": "array",
    "items": {"type": "string", "minLength": 1, "maxLength": _MAX_PATH_CHARS},
    "maxItems": _MAX_FILES,
    "description": "Absolute paths of files on the server's machine to read. A person is asked first.",
}
_FORM: dict[str, Json] = {
    "type": "object",
    "properties": {"allow": {"type": "boolean", "title": "Allow", "description": "Allow reading these files."}},
    "required": ["allow"],
}


def can_ask(context: ServerRequestContext[Any, Any]) -> bool:
    """Return True if the client declared support for elicitation."""
    return context.session.check_client_capability(ClientCapabilities(elicitation=ElicitationCapability()))


def is_inside(name: str, folder: Path) -> bool:
    """Return True if an absolute path lies inside a folder after symbolic links are resolved."""
    return Path(name).is_absolute() and Path(os.path.realpath(name)).is_relative_to(os.path.realpath(folder))


async def ask_user(
    call: ClientCall, question: str, form: dict[str, Json], seconds: float
) -> ElicitResult | InputRequiredResult | None:
    """Return the user's answer, or None if the user did not answer.

    A client of the 2026 protocol gets an `InputRequiredResult` and repeats its call with the answer. An answer is
    accepted only once, and only if this server or another replica asked exactly that question.
    """
    if call.context.session.can_send_request:
        try:
            async with asyncio.timeout(seconds):
                return await call.context.session.elicit_form(question, form, call.context.request_id)
        except (TimeoutError, MCPError, NoBackChannelError, ValueError):
            return None
    for key, answer in islice((call.params.input_responses or {}).items(), _MAX_ANSWERS):
        if isinstance(answer, ElicitResult) and await call.markers.take(_question_marker(key, question)):
            return answer
    params = ElicitRequestFormParams(message=question, requested_schema=form)
    key = f"read-{secrets.token_urlsafe(24)}"
    await call.markers.put(_question_marker(key, question), seconds)
    return InputRequiredResult(input_requests={key: ElicitRequest(params=params)})


def _question_marker(key: str, question: str) -> str:
    return f"asked {digest(key, question)}"


async def ask_to_read(
    call: ClientCall, files: Sequence[str], who: str, seconds: float, *, optional: Sequence[str] = ()
) -> tuple[Path, ...] | ClientReply | InputRequiredResult:
    """Ask the user whether `who` may read these files.

    Until the user agrees, the reply does not reveal whether a file exists or where a link leads.

    Args:
        call: The client's call.
        files: Absolute paths of the files.
        who: The reader, such as `the tool count_words`.
        seconds: Time limit for the answer.
        optional: Paths in `files` that may be missing.

    Returns:
        The files that may be read, or a refusal, or the question to send to a client of the 2026 protocol.
    """
    if len(files) > _MAX_FILES:
        message = f"the call lists {len(files)} files; the limit is {_MAX_FILES}"
        return error_reply("arguments", message, remedy="")
    if wrong := [name for name in files if not name.startswith("/") or "\0" in name]:
        message = f"{one_line(wrong[0], 300)} is not an absolute path"
        return error_reply("arguments", message, remedy="Give absolute paths of files on the server's machine.")
    if not can_ask(call.context):
        return _refusal("this client cannot ask its user whether the files may be read")
    question = f"May {who} read {', '.join(one_line(name, 300) for name in files)}?"
    answer = await ask_user(call, question, _FORM, seconds)
    if isinstance(answer, InputRequiredResult):
        return answer
    if answer is None or answer.action != "accept" or not (answer.content or {}).get("allow"):
        return _refusal("the user did not allow these files to be read")
    found = [name for name in files if name not in optional or _is_file(name)]
    if problem := next(filter(None, map(_check_file, found)), None):
        return problem
    return tuple(map(Path, found))


def _is_file(name: str) -> bool:
    return os.path.isfile(name)  # noqa: PTH113 - Path raises on long names


def _check_file(name: str) -> ClientReply | None:
    """Return an error if an allowed path is missing or is a link, otherwise None."""
    if not _is_file(name):
        remedy = "Give absolute paths of files on the server's machine."
        return error_reply("arguments", f"there is no file {one_line(name, 300)}", remedy=remedy)
    if (target := os.path.realpath(name)) != name:
        shown = one_line(target, 300)
        remedy = f"Call again with {shown}, so that the user is asked about that file."
        return error_reply("denied", f"{one_line(name, 300)} is a link to {shown}", remedy=remedy)
    return None


def _refusal(message: str) -> ClientReply:
    return error_reply(
        "denied", message, remedy="Pass the content of the files in the arguments or in the question instead."
    )


def absolute_paths(arguments: dict[str, Json]) -> list[str]:
    """Return the distinct arguments, and items of list arguments, that look like absolute paths."""
    values = [part for value in arguments.values() for part in (value if isinstance(value, list) else [value])]
    found = [value for value in values if isinstance(value, str) and value.startswith("/") and "\0" not in value]
    return [value for value in dict.fromkeys(found) if len(value) <= _MAX_PATH_CHARS]

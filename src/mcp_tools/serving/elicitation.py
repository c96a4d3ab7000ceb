"""Files of the server's machine that a client wants read: a person is asked through the client first."""

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

_MOST_FILES = 16
_LONGEST_PATH = 4096
_MOST_ANSWERS = 16
FILES_SCHEMA: dict[str, Json] = {
    "type": "array",
    "items": {"type": "string", "minLength": 1, "maxLength": _LONGEST_PATH},
    "maxItems": _MOST_FILES,
    "description": "Absolute paths of files on the server's machine to read. A person is asked first.",
}
_FORM: dict[str, Json] = {
    "type": "object",
    "properties": {"allow": {"type": "boolean", "title": "Allow", "description": "Let these files be read."}},
    "required": ["allow"],
}


def can_ask(context: ServerRequestContext[Any, Any]) -> bool:
    """Return True if the client said that it can ask a person."""
    return context.session.check_client_capability(ClientCapabilities(elicitation=ElicitationCapability()))


def lies_in(name: str, folder: Path) -> bool:
    """True if a path lies in a folder, links resolved."""
    return Path(name).is_absolute() and Path(os.path.realpath(name)).is_relative_to(os.path.realpath(folder))


async def elicited(
    call: ClientCall, question: str, form: dict[str, Json], seconds: float
) -> ElicitResult | InputRequiredResult | None:
    """The answer, if there is one; in the era of 2026 the client is asked to call again with it.

    An answer counts once, and only to a question that this server or another replica asked in the same words.
    """
    if call.context.session.can_send_request:
        try:
            async with asyncio.timeout(seconds):
                return await call.context.session.elicit_form(question, form, call.context.request_id)
        except (TimeoutError, MCPError, NoBackChannelError, ValueError):
            return None
    for key, answer in islice((call.params.input_responses or {}).items(), _MOST_ANSWERS):
        if isinstance(answer, ElicitResult) and await call.markers.take(_note_of(key, question)):
            return answer
    params = ElicitRequestFormParams(message=question, requested_schema=form)
    key = f"read-{secrets.token_urlsafe(24)}"
    await call.markers.put(_note_of(key, question), seconds)
    return InputRequiredResult(input_requests={key: ElicitRequest(params=params)})


def _note_of(key: str, question: str) -> str:
    return f"asked {digest(key, question)}"


async def granted(
    call: ClientCall, files: Sequence[str], who: str, seconds: float, *, perhaps: Sequence[str] = ()
) -> tuple[Path, ...] | ClientReply | InputRequiredResult:
    """The files that a person lets somebody read; a refusal; or the question, for a client that then calls again.

    The existence of a file, and a link's target, are only revealed after a person has allowed reading it. Files of
    `perhaps` may be missing.
    """
    if len(files) > _MOST_FILES:
        message = f"{len(files)} files are named, and a call reads at most {_MOST_FILES}"
        return error_reply("arguments", message, remedy="")
    if wrong := [name for name in files if not name.startswith("/") or "\0" in name]:
        message = f"{one_line(wrong[0], 300)} is no absolute path"
        return error_reply("arguments", message, remedy="Give absolute paths of files on the server's machine.")
    if not can_ask(call.context):
        return _refusal("this client cannot ask a person whether the files may be read")
    question = f"May {who} read {', '.join(one_line(name, 300) for name in files)}?"
    answer = await elicited(call, question, _FORM, seconds)
    if isinstance(answer, InputRequiredResult):
        return answer
    if answer is None or answer.action != "accept" or not (answer.content or {}).get("allow"):
        return _refusal("nobody allowed that the files be read")
    found = [name for name in files if name not in perhaps or _is_file(name)]
    if problem := next(filter(None, map(_problem_of, found)), None):
        return problem
    return tuple(map(Path, found))


def _is_file(name: str) -> bool:
    return os.path.isfile(name)  # noqa: PTH113 - Path raises on long names


def _problem_of(name: str) -> ClientReply | None:
    """Return why an allowed file cannot be read under its name."""
    if not _is_file(name):
        remedy = "Give absolute paths of files on the server's machine."
        return error_reply("arguments", f"there is no file {one_line(name, 300)}", remedy=remedy)
    if (there := os.path.realpath(name)) != name:
        shown = one_line(there, 300)
        remedy = f"Call again with {shown}, so that a person is asked about it."
        return error_reply("denied", f"{one_line(name, 300)} leads to {shown}", remedy=remedy)
    return None


def _refusal(message: str) -> ClientReply:
    return error_reply("denied", message, remedy="Give what is in them as arguments or in the question instead.")


def files_in(arguments: dict[str, Json]) -> list[str]:
    """Return possible absolute paths of files among the arguments of a tool."""
    values = [part for value in arguments.values() for part in (value if isinstance(value, list) else [value])]
    found = [value for value in values if isinstance(value, str) and value.startswith("/") and "\0" not in value]
    return [value for value in dict.fromkeys(found) if len(value) <= _LONGEST_PATH]

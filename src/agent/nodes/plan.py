"""plan: finds tools that may fit, looks at attached files, and has a brief written, before the first decision."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import Any, cast

from langgraph.runtime import Runtime

from agent.actions.server_tools import ALL_TOOLS, arranged
from agent.actions.tools import SHOWN_TOOLS, shown_tool
from agent.consent.external_tools import SERVER
from agent.context import Context
from agent.events import Note, ToolFound
from agent.material.attached import look_at_files
from agent.models.protocol import Role
from agent.state import State
from mcp_tools.clients.definitions import SEPARATOR
from mcp_tools.errors import LibraryError, UnknownToolError
from mcp_tools.library.approvals import errors_of
from mcp_tools.text import count_of
from mcp_tools.tool import Status, Tool

_STANDS_ALONE = 12
"""Words from which on a message is searched for by itself; a shorter one may refer to the turn before it."""
_MOST_OFFERED = 12
_LONG_MESSAGE = 20
"""Line breaks from which on a message, such as one with a pasted log, is a file of the conversation, too."""
SHOWN_FLAWS = 3
"""`alita tools list` tells them all."""


async def plan(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Finds the few tools of the library, and of external servers, that may fit the question."""
    context = runtime.context
    for flaw in (await context.library.flaws())[:SHOWN_FLAWS]:
        context.emit(Note(flaw))
    fitting = [tool for tool in await _fitting(state, context) if not errors_of(tool)]
    drafts = [tool.name for tool in fitting if tool.status is not Status.VERIFIED]
    if drafts:
        context.emit(Note(f"Not approved on this machine: {', '.join(drafts)} (alita tools approve NAME)"))
    wants_tool = state.get("wish") == "create"  # an approved one of the library, or a new one
    tools = [shown_tool(tool) for tool in fitting if not wants_tool or tool.name not in drafts]
    if not wants_tool:
        offered = state.get("offered", [])
        found_now = await context.external.search(state["question"], ALL_TOOLS)
        tools = arranged(tools, found_now, offered, set(offered))
    for tool in tools:
        context.emit(ToolFound(tool["name"], server=tool.get(SERVER, "")))
    fresh = [tool[SERVER] for tool in tools if SERVER in tool and tool["name"] not in state.get("offered", [])]
    for server, count in Counter(fresh).items():
        context.emit(Note(f"the server {server} offers {count_of(count, 'tool')}"))
    found: dict[str, Any] = {"tools": tools}
    known = state.get("attached", [])
    if new := await look_at_files(context, known):
        found["attached"] = [*known, *new]
    if state["question"].count("\n") >= _LONG_MESSAGE and not state.get("rules"):
        path = context.workspace.keep_text("message.txt", state["question"])
        found["remarks"] = [*state.get("remarks", []), f"For programs, this message is also a file: {path}"]
    if keys := await context.hosts.stored_keys():
        found["remarks"] = [*found.get("remarks", state.get("remarks", [])), keys]
    if wants_tool:
        return found
    return found | await context.strategy(Role.COORDINATOR).brief(cast(State, {**state, **found}), context)


async def _fitting(state: State, context: Context) -> list[Tool]:
    """The tools that earlier turns offered, in their order, and those that the library finds for this one."""
    question, said = state["question"], state.get("said", [])
    if context.room.earlier and len(said) > 1 and len(question.split()) < _STANDS_ALONE:
        question = f"{question} {said[-1]}"
    tools: dict[str, Tool] = {}
    own = [name for name in state.get("offered", []) if SEPARATOR not in name]
    for name in own[-_MOST_OFFERED:]:
        with contextlib.suppress(UnknownToolError, LibraryError):
            tools[name] = await context.library.get(name)
    for tool in await context.library.search(question, SHOWN_TOOLS):
        tools.setdefault(tool.name, tool)
    return list(tools.values())

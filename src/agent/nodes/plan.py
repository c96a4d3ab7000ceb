"""The node before the first decision: finds tools, inspects attached files, and asks for a brief."""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import replace
from typing import Any, cast

from langgraph.runtime import Runtime

from agent.actions.server_tools import ALL_TOOLS, arranged
from agent.actions.tools import shown_tool
from agent.context import Context
from agent.events import Note, ToolFound
from agent.material.attached import look_at_files
from agent.models.protocol import Role
from agent.state import State, ToolRef, Wrapped
from mcp_tools.clients.definitions import SEPARATOR
from mcp_tools.errors import LibraryError, UnknownToolError
from mcp_tools.library.approvals import errors_of
from mcp_tools.text import count_of
from mcp_tools.tool import Status, Tool, signature_of

_STANDS_ALONE = 12
"""Number of words. A shorter message may refer to the previous turn, so tools are searched with both texts."""
_MOST_OFFERED = 12
_LONG_MESSAGE = 20
"""Number of line breaks. A longer message, such as a pasted log, is also saved as a file."""
SHOWN_FLAWS = 3
"""Maximum number of flaws to show; `alita tools list` shows all of them."""


async def plan(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Find tools of the library and of external servers that may fit the question, and prepare the run."""
    context = runtime.context
    for flaw in (await context.library.flaws())[:SHOWN_FLAWS]:
        context.emit(Note(flaw))
    wants_tool = state["purpose"].wants_tool
    wraps = await _package(state, context)
    tools, others = await _own_tools(state, context)
    if not wants_tool:
        offered = state.get("offered", [])
        found_now = await context.external.search(state["question"], ALL_TOOLS)
        tools = arranged(tools, found_now, offered, set(offered))
    for tool in tools:
        if tool.name not in others and not tool.is_draft:  # a note names the drafts
            context.emit(ToolFound(tool.name, server=tool.server))
    fresh = [tool.server for tool in tools if tool.is_external and tool.name not in state.get("offered", [])]
    for server, count in Counter(fresh).items():
        context.emit(Note(f"the server {server} offers {count_of(count, 'tool')}"))
    found: dict[str, Any] = {"tools": tools, **({"wraps": wraps} if wraps else {})}
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


async def _package(state: State, context: Context) -> Wrapped | None:
    """Return the package that the tool will wrap."""
    if not (around := state.get("around")):
        return None
    from agent.actions.wrapping import read_package

    return await read_package(around, state["question"], context)


async def _own_tools(state: State, context: Context) -> tuple[list[ToolRef], set[str]]:
    """Return the library tools to show, and the names of those that do not fit the question itself."""
    fitting, others, is_all = await _fitting(state, context)
    drafts = [tool.name for tool in fitting if tool.status is not Status.VERIFIED]
    if drafts:
        context.emit(
            Note(f"These tools are not approved on this machine: {', '.join(drafts)} (alita tools approve NAME)")
        )
    wants_tool = state["purpose"].wants_tool
    if around := state.get("around"):  # only tools that wrap this package
        fitting, others = ([one for one in some if around in one.capabilities.packages] for some in (fitting, others))
    tools = [shown_tool(tool) for tool in fitting if not wants_tool or tool.name not in drafts]
    if is_all:  # the order must not depend on the question, so that prompts can be cached
        tools = sorted([*tools, *map(shown_tool, others)], key=lambda tool: tool.name)
    elif not wants_tool:
        tools += [replace(shown_tool(tool), signature=signature_of(tool)) for tool in others]
    return tools, {tool.name for tool in others}


async def _fitting(state: State, context: Context) -> tuple[list[Tool], list[Tool], bool]:
    """Return the tools offered in earlier turns, in their order, then the tools found for this question.

    Also return approved tools that fit less well, and True if they are all of the library's tools.
    """
    question, messages = state["question"], state.get("said", [])
    if context.room.earlier and len(messages) > 1 and len(question.split()) < _STANDS_ALONE:
        question = f"{question} {messages[-1]}"
    tools: dict[str, Tool] = {}
    own = [name for name in state.get("offered", []) if SEPARATOR not in name]
    for name in own[-_MOST_OFFERED:]:
        with contextlib.suppress(UnknownToolError, LibraryError):
            tools[name] = await context.library.get(name)
    limits = context.strategy(Role.COORDINATOR).limits
    offer = await context.library.offered(question, most=limits.tools, small=limits.small_library)
    for tool in offer.fitting:
        tools.setdefault(tool.name, tool)
    others = [tool for tool in offer.others if tool.name not in tools] if limits.small_library else []
    return [one for one in tools.values() if not errors_of(one)], others, offer.is_all

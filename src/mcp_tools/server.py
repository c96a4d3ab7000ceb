"""The MCP server: every client gets the tools of the library, and a few built-in ones.

Tools run in the sandbox, never in this process. Failures are results that a model can act on.
"""

from __future__ import annotations

import contextlib
import secrets
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from mcp_tools.library.library import Library
from mcp_tools.sandbox.protocol import Sandbox
from mcp_tools.serving.audit_log import AuditLog
from mcp_tools.serving.builtin_tools import Agent, BuiltinTools
from mcp_tools.serving.catalogue import Catalogue, ChangeNotifier
from mcp_tools.serving.client_call import BuiltinTool, InMemoryMarkers, Markers, ServerLimits
from mcp_tools.serving.propose_tool import ProposalRules
from mcp_tools.serving.resources import Completions, Prompt, Prompts, ToolResources
from mcp_tools.serving.served_files import ServedOutputs
from mcp_tools.serving.tool_calls import ToolCalls, ToolRunner

if TYPE_CHECKING:
    from mcp_tools.run import Carried

INSTRUCTIONS = (
    "Tools that were written, tested and kept by alita; each runs in a sandbox, and reaches only what it says. "
    "search_tools finds tools for a task, call_tool calls any of them. create_tool makes the one that is missing; "
    "propose_tool adds one that you wrote."
)

BUILTIN_TOOLS = ("search_tools", "describe_tool", "call_tool", "propose_tool", "create_tool", "ask", "run_code")
"""The names that no tool of the library is listed under."""


@dataclass(frozen=True, slots=True)
class Extra:
    """Further tools of each kind."""

    tools: Sequence[BuiltinTool] = ()
    prompts: Mapping[str, Prompt] = field(default_factory=dict)
    """By name."""
    resources: type[ToolResources] = ToolResources


class ToolServer(Server[dict[str, Any]]):
    """A low-level server that promises clients of 2025, too, to tell of changes."""

    ready: Callable[[], Awaitable[None]]
    """Raises if no call could be taken now."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """State of a new connection."""
        told = notification_options or NotificationOptions(tools_changed=True, resources_changed=True)
        return super().create_initialization_options(told, experimental_capabilities, extensions)


def build_server(
    library: Library,
    sandbox: Sandbox,
    *,
    offered: str = "all",
    agent: Agent | None = None,
    audit: AuditLog | None = None,
    limits: ServerLimits | None = None,
    extra: Extra | None = None,
    outputs: ServedOutputs | None = None,
    carried: Carried | None = None,
    folder: Path | None = None,
    proposals: ProposalRules | None = None,
    markers: Markers | None = None,
) -> ToolServer:
    """The server of a library, ready to be run over any transport.

    `offered` is `all`, `meta` for the built-in tools alone, or patterns of names, separated by commas. The sandbox is
    open, and closed by the caller. Without an agent `ask` and `create_tool` say that they cannot. Without `outputs`, no
    file that a tool writes is kept; without `carried`, no host is reached. Programs, and tools that open files, may
    read `folder` unasked. Clients' proposals are kept as `proposals` says; without it they become drafts.
    Without `markers`, an answer to a question counts only at the server that asked it.
    """
    limits, extra = limits or ServerLimits(), extra or Extra()
    catalogue = Catalogue(library, offered, {*BUILTIN_TOOLS, *(tool.name for tool in extra.tools)})
    runner, notifier = ToolRunner(catalogue, sandbox, limits, outputs, carried, folder), ChangeNotifier(catalogue)
    builtin = [*BuiltinTools(catalogue, runner, agent, limits, proposals or ProposalRules()).tools(), *extra.tools]
    calling = ToolCalls(catalogue, runner, builtin, limits, audit, markers or InMemoryMarkers())
    resources = extra.resources(catalogue, limits)
    prompts = Prompts(resources, extra.prompts)

    @contextlib.asynccontextmanager
    async def lifespan(_: Server[dict[str, Any]]) -> AsyncIterator[dict[str, Any]]:
        async with notifier.running():
            yield {}

    server = ToolServer("alita", version=version("alita"), title="alita", instructions=INSTRUCTIONS, lifespan=lifespan)
    server.ready = catalogue.renew
    server.middleware += [notifier.remember_connection, _without_exceptions]
    add = server.add_request_handler
    add("subscriptions/listen", types.SubscriptionsListenRequestParams, ListenHandler(notifier.bus))
    add("tools/list", types.PaginatedRequestParams, calling.list)
    add("tools/call", types.CallToolRequestParams, calling.call)
    add("resources/list", types.PaginatedRequestParams, resources.list)
    add("resources/templates/list", types.PaginatedRequestParams, resources.list_templates)
    add("resources/read", types.ReadResourceRequestParams, resources.read)
    add("prompts/list", types.PaginatedRequestParams, prompts.list)
    add("prompts/get", types.GetPromptRequestParams, prompts.get)
    add("completion/complete", types.CompleteRequestParams, Completions(catalogue, prompts).complete)
    return server


async def _without_exceptions(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Middleware that hides the texts of exceptions from clients: the SDK would send them to clients of 2025."""
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except Exception as failure:  # noqa: BLE001 - the boundary to the client: told on stderr, with its id
        error_id = secrets.token_hex(4)
        text = "".join(traceback.format_exception(failure))
        print(f"alita: error {error_id} in {ctx.method}: {text}", file=sys.stderr, flush=True)
        raise MCPError(types.INTERNAL_ERROR, f"Internal server error (error {error_id})") from None


async def serve_stdio(server: ToolServer, limits: ServerLimits | None = None) -> None:
    """Serves one client over this process's stdin and stdout, until it leaves."""
    from mcp_tools.serving.stdio import stdio

    async with stdio((limits or ServerLimits()).message_bytes) as wire:
        await server.run(wire, wire, server.create_initialization_options())

"""The MCP server, which offers the library's tools and a few built-in ones to every client.

Tools run in the sandbox, never in this process. A failed call returns an error that the calling model can act on.
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
from mcp_tools.serving.builtin_tools import BuiltinTools, QuestionAgent
from mcp_tools.serving.catalogue import Catalogue, ChangeNotifier
from mcp_tools.serving.client_call import BuiltinTool, InMemoryMarkers, Markers, ServerLimits
from mcp_tools.serving.propose_tool import ProposalRules
from mcp_tools.serving.resources import ClientPrompt, Completions, Prompts, ToolResources
from mcp_tools.serving.served_files import ServedOutputs
from mcp_tools.serving.tool_calls import AuditLog, ToolCalls, ToolRunner

if TYPE_CHECKING:
    from mcp_tools.run import Carried

INSTRUCTIONS = (
    "Tools that were written, tested and kept by alita; each runs in a sandbox, and reaches only what it says. "
    "search_tools finds tools for a task, call_tool calls any of them. create_tool makes the one that is missing; "
    "propose_tool adds one that you wrote."
)

BUILTIN_TOOLS = ("search_tools", "describe_tool", "call_tool", "propose_tool", "create_tool", "ask", "run_code")
"""Names of the built-in tools. Library tools are never listed under these names."""


@dataclass(frozen=True, slots=True)
class Extra:
    """Additional tools, prompts and resources of a server."""

    tools: Sequence[BuiltinTool] = ()
    prompts: Mapping[str, ClientPrompt] = field(default_factory=dict)
    resources: type[ToolResources] = ToolResources


class ToolServer(Server[dict[str, Any]]):
    """The SDK's low-level server, extended to declare `listChanged` to clients of the 2025 protocol."""

    ready: Callable[[], Awaitable[None]]
    """Function that raises if the server cannot handle calls now."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """Return the initialization options with `listChanged` for tools and resources."""
        changes = notification_options or NotificationOptions(tools_changed=True, resources_changed=True)
        return super().create_initialization_options(changes, experimental_capabilities, extensions)


def build_server(
    library: Library,
    sandbox: Sandbox,
    *,
    offered: str = "all",
    agent: QuestionAgent | None = None,
    audit: AuditLog | None = None,
    limits: ServerLimits | None = None,
    extra: Extra | None = None,
    outputs: ServedOutputs | None = None,
    carried: Carried | None = None,
    folder: Path | None = None,
    proposals: ProposalRules | None = None,
    markers: Markers | None = None,
) -> ToolServer:
    """Build a server for a library. It can run over any transport.

    Example:
        async with BubblewrapSandbox() as sandbox:
            await serve_stdio(build_server(library, sandbox))

    Args:
        library: The library that is served.
        sandbox: An open sandbox. The caller closes it.
        offered: `all`, or `meta` to list only built-in tools, or comma-separated name patterns.
        agent: Handles `ask` and `create_tool`. Without an agent, both tools return an error.
        audit: The audit log, which gets one line per call.
        limits: Limits of messages and calls.
        extra: Additional tools, prompts and resources.
        outputs: Collects the files that tools write. Without it, these files are lost.
        carried: Authorises and sends requests to hosts. Without it, tools cannot reach any host.
        folder: A folder that programs, and tools that open files, may read without asking the user.
        proposals: Rules for tools that clients propose. Without rules, proposed tools become drafts.
        markers: Memory that replicas share. Without it, only the server that asked a question accepts the answer.
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
    """Middleware that hides exception texts, which the SDK would send to clients of the 2025 protocol."""
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except Exception as failure:  # noqa: BLE001 - the client gets only an id; the text goes to stderr
        error_id = secrets.token_hex(4)
        text = "".join(traceback.format_exception(failure))
        print(f"alita: error {error_id} in {ctx.method}: {text}", file=sys.stderr, flush=True)
        raise MCPError(types.INTERNAL_ERROR, f"Internal server error (error {error_id})") from None


async def serve_stdio(server: ToolServer, limits: ServerLimits | None = None) -> None:
    """Serve one client over this process's stdin and stdout until the client closes stdin."""
    from mcp_tools.serving.stdio import stdio

    async with stdio((limits or ServerLimits()).message_bytes) as transport:
        await server.run(transport, transport, server.create_initialization_options())

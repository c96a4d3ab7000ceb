"""`alita serve`: serves the tool library to MCP clients over stdio or HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import sys
from collections.abc import Coroutine
from contextlib import closing
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from agent.cli import exits, options
from agent.cli.options import opt
from agent.cli.output import print_note, warn_of_isolation
from mcp_tools.errors import UsageError

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.question import FolderGrant
    from mcp_tools.library.library import Library
    from mcp_tools.serving.http import ListenOptions
    from mcp_tools.serving.server import Extra


app = options.App("Serves the tool library to MCP clients.")


@app.command(settings=f"model base_url {options.LIMITS} tools_dir no_isolation yes allow_private no_cache")
def serve(
    http: Annotated[
        str | None, opt("--http HOST:PORT", "Serve over HTTP instead of stdio; port 0 picks a free one.")
    ] = None,
    token_file: Annotated[
        Path | None, opt("--token-file FILE", "File with the bearer token; or set ALITA_SERVE_TOKEN.")
    ] = None,
    no_token: Annotated[bool, opt("--no-token", "Require no token; only on a loopback address.")] = False,
    allow_host: Annotated[
        list[str] | None, opt("--allow-host NAME", "Host name that clients use; may be repeated.")
    ] = None,
    tools: Annotated[
        str, opt("--tools WHICH", "Tools to serve: all, meta, or patterns such as 'convert_*,is_*'.")
    ] = "all",
    folder: options.FolderOf = None,
    write: options.Write = False,
    **_: object,
) -> None:
    """Serves the tool library to MCP clients over stdin and stdout, or over HTTP with --http.

    Clients get every approved tool, and also search_tools, describe_tool, call_tool, propose_tool, create_tool,
    ask and run_code. Limits apply to each question.
    """
    from agent.configuration.settings_sources import SERVE_TOKEN

    if http is None and sys.stdin is not None and sys.stdin.isatty():
        print_note("Serving MCP on stdin and stdout, for an MCP client to start. Press Ctrl-C to stop.")
        print_note(
            "To add alita to a client: alita mcp install CLIENT. To serve over HTTP: alita serve --http HOST:PORT"
        )
    gc.disable()  # garbage collection during imports would take a tenth of the start-up time
    settings = options.settings()
    if not tools.strip():
        raise UsageError("--tools is empty.", remedy="Use all, meta, or a pattern such as 'convert_*'.")
    grant = _granted(settings, folder, write)
    listen = None
    if http is not None:
        from mcp_tools.serving.http import listen_options

        listen = listen_options(
            http,
            token=os.environ.pop(SERVE_TOKEN, ""),  # child processes must not inherit it
            token_file=token_file,
            no_token=no_token,
            host_names=tuple(allow_host or ()),
        )
    elif token_file or no_token or allow_host:
        raise UsageError("--token-file, --no-token and --allow-host need --http.", remedy="Add --http 127.0.0.1:8765")
    run(settings, tools, listen, grant=grant)


def _granted(settings: Settings, folder: Path | None, write: bool) -> FolderGrant | None:
    """Return the folder that clients' programs may read. Programs run by `ask` may also change a copy of it."""
    from agent.material.folder import checked_folder
    from agent.question import FolderGrant

    if folder is None:
        if write:
            raise UsageError("--write needs a folder.", remedy="Name the folder: alita serve --folder DIR --write")
        return None
    own = (settings.data_dir, settings.cache_dir, settings.runs_dir, settings.config_dir)
    return FolderGrant(checked_folder(folder, own), writes=write)


class Own(NamedTuple):
    """Tools that are served instead of the user's library."""

    library: Library
    extra: Extra


def run(
    settings: Settings,
    tools: str,
    listen: ListenOptions | None,
    own: Own | None = None,
    grant: FolderGrant | None = None,
) -> None:
    """Serve the user's tools, or `own`, until the client disconnects or a signal arrives.

    Raises:
        UserError: No isolation is available, or the address is in use.
    """
    exits.run_until_signal(_serve(settings, tools, listen, own, grant))


async def _serve(
    settings: Settings, tools: str, listen: ListenOptions | None, own: Own | None, grant: FolderGrant | None
) -> None:
    from agent.resources import open_for

    # importing the protocol takes longest, so the sandbox starts in the meantime
    importing = asyncio.create_task(asyncio.to_thread(import_module, "mcp_tools.serving.server"))
    sandbox = await open_for(settings)
    try:
        await importing
        from agent.calls.host_requests import call_consent, carried
        from agent.cli.serving import ServedAlita
        from agent.store.redact import Redactor
        from agent.store.tool_records import open_library, open_markers
        from mcp_tools.serving.propose_tool import ProposalRules
        from mcp_tools.serving.served_files import ServedOutputs
        from mcp_tools.serving.server import build_server, serve_stdio
        from mcp_tools.serving.tool_calls import AuditLog

        warn_of_isolation(settings, sandbox.isolation)
        served = own.library if own else open_library(settings)
        log = AuditLog(settings.data_dir / "audit" / "calls.jsonl", redact=Redactor(settings.secrets).text)
        with closing(served) as library, closing(log) as audit:
            agent, extra = ServedAlita(settings, grant), own.extra if own else None
            outputs = ServedOutputs(settings.data_dir / "served")
            consent = call_consent(settings, None, print_note)
            server = build_server(
                library,
                sandbox,
                offered=tools,
                agent=agent,
                audit=audit,
                extra=extra,
                outputs=outputs,
                folder=grant.path if grant else None,
                carried=partial(carried, settings, consent),
                proposals=ProposalRules(settings.approval, partial(carried, settings, consent, is_new=True)),
                markers=open_markers(settings),
            )
            gc.freeze()
            gc.enable()
            try:
                if listen is None:
                    await serve_stdio(server)
                else:
                    from mcp_tools.serving.http import serve_http

                    await serve_http(server, listen, report=print_note)
            finally:
                await _shielded(agent.aclose())
                outputs.close()
    finally:
        await _shielded(sandbox.aclose())


async def _shielded(ending: Coroutine[Any, Any, None]) -> None:
    """Wait for a cleanup to finish, even if the current task is cancelled."""
    task = asyncio.create_task(ending)
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(task)
    task.result()

"""`alita serve`: the tool library for every MCP client, over stdio or HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent.cli import options

app = options.new_app("Serves the tool library to MCP clients.")


@app.command()
def serve(
    context: typer.Context,
    http: Annotated[
        str | None,
        typer.Option("--http", metavar="HOST:PORT", help="Serve over HTTP, not stdio; port 0 takes a free one."),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", metavar="FILE", help="Holds the bearer token; or set ALITA_SERVE_TOKEN."),
    ] = None,
    no_token: Annotated[bool, typer.Option("--no-token", help="Ask for no token; on a loopback address only.")] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="A name that clients reach it by; may be repeated."),
    ] = None,
    tools: Annotated[
        str,
        typer.Option("--tools", metavar="WHICH", help="all, meta, or patterns of names: 'convert_*,is_*'."),
    ] = "all",
    model: options.Model = None,
    base_url: options.BaseUrl = None,
    max_steps: options.MaxSteps = None,
    max_seconds: options.MaxSeconds = None,
    max_cost: options.MaxCost = None,
    max_tokens: options.MaxTokens = None,
    tools_dir: options.ToolsDir = None,
    no_isolation: options.NoIsolation = False,
    allow_private: options.AllowPrivate = False,
    no_cache: options.NoCache = False,
) -> None:
    """Serves the tool library to MCP clients, over stdin and stdout unless --http says otherwise.

    Clients get every approved tool, and beside them search_tools, describe_tool, call_tool, create_tool, ask and
    run_code. The limits hold for each question that a client asks.
    """
    flags = options.flags(context.params)
    from agent.cli.servers.serving import Wanted, run

    run(flags, Wanted(http, token_file, no_token, tuple(allow_host or ()), tools))

"""One call of a tool from the command line, and the object that `alita tools run --json` prints."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from agent.cli.output import print_note
from agent.configuration.settings import Settings
from agent.sandboxes import isolation_lowered, open_for
from mcp_tools.errors import AlitaError, ArgumentsError
from mcp_tools.library import Library
from mcp_tools.run import RefusedSourceError, run_source, run_tool
from mcp_tools.sandbox.protocol import Isolation, Level
from mcp_tools.tool import Json, Tool


async def call(
    settings: Settings, library: Library, tool: Tool | str, arguments: dict[str, Json], read: tuple[Path, ...]
) -> dict[str, Json]:
    """Runs a tool of the library, or a source; what the tool or its caller did wrong is in the result."""
    sandbox = await open_for(settings)
    started = time.perf_counter()
    try:
        if sandbox.isolation.level is Level.WEAK:
            print_note("Warning: nothing isolates this tool; it runs as you, because --no-isolation was said.")
        if lowered := isolation_lowered(settings, sandbox.isolation):
            print_note(f"Warning: {lowered}")
        if isinstance(tool, str):
            outcome = await run_source(tool, arguments, sandbox, read=read)
        else:
            outcome = await run_tool(tool, arguments, sandbox, read=read)
            library.record_call(tool.name, outcome.ok, outcome.problem.kind if outcome.problem else None)
    except (ArgumentsError, RefusedSourceError) as error:
        kind = "arguments" if isinstance(error, ArgumentsError) else "checks"
        return _result(sandbox.isolation, time.perf_counter() - started, error=(kind, str(error)))
    finally:
        await sandbox.aclose()
    if outcome.problem is not None:
        problem = outcome.problem
        return _result(outcome.isolation, outcome.seconds, error=(problem.kind, problem.message))
    return _result(outcome.isolation, outcome.seconds, value=outcome.value)


def refused(error: AlitaError) -> dict[str, Any]:
    """The same object for a call that never came to a sandbox."""
    return {**_result(None, 0.0, error=(type(error).__name__, error.message)), "remedy": error.remedy}


def shown(value: Json) -> str:
    """A result for people: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _result(
    isolation: Isolation | None, seconds: float, *, value: Json = None, error: tuple[str, str] | None = None
) -> dict[str, Any]:
    return {
        "ok": error is None,
        "value": value,
        "error": None if error is None else {"kind": error[0], "message": error[1]},
        "seconds": round(seconds, 6),
        "isolation": str(isolation.level) if isolation else None,
    }

"""What `alita serve` does: opens the library and the sandbox, serves until the client leaves or a signal comes."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import sys
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agent.cli import exits
from agent.cli.output import print_note
from mcp_tools.errors import UsageError

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from mcp_tools.library import Library
    from mcp_tools.sandbox.protocol import Sandbox
    from mcp_tools.server import Extra
    from mcp_tools.serving.transports.http import Door

_CLOSING = 10.0
"""Seconds between a signal and the end."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """How it shall be served."""

    http: str | None = None
    token_file: Path | None = None
    no_token: bool = False
    allow_host: tuple[str, ...] = ()
    tools: str = "all"


class Own(NamedTuple):
    """What is served in place of the user's tools."""

    library: Library
    extra: Extra


def run(flags: dict[str, Any], wanted: Wanted, own: Own | None = None) -> None:
    """Serves until the client leaves, or a signal ends it.

    Args:
        flags: Settings from the command line.
        wanted: How it is served.
        own: A library of the caller's, with prompts and documents; the user's tools when not given.

    Raises:
        UserError: A flag cannot be what was meant, the machine offers no isolation, or the address is taken.
    """
    from agent.configuration.settings_sources import read_settings

    if wanted.http is None and sys.stdin is not None and sys.stdin.isatty():
        print_note("Serving MCP on stdin and stdout, which a client opens; a terminal is none. Ctrl-C ends it.")
        print_note("Into a client's settings: alita mcp install CLIENT. Over HTTP: alita serve --http HOST:PORT")
    gc.disable()  # nothing that starting makes is garbage: looking for it takes a tenth of the start
    settings = read_settings(flags)
    if not wanted.tools.strip():
        raise UsageError("--tools names nothing.", remedy="Say all, meta, or a pattern such as 'convert_*'.")
    door = _door(wanted) if wanted.http is not None else None
    if door is None and (wanted.token_file or wanted.no_token or wanted.allow_host):
        raise UsageError("A token and a host are for HTTP only.", remedy="Add --http 127.0.0.1:8765")
    ending: list[float] = []
    with (
        contextlib.suppress(KeyboardInterrupt),
        exits.Watch(lambda: ending[0] - time.monotonic() if ending else None, lambda: 0),
    ):
        exits.run(_serve(settings, wanted, door, ending, own))


async def _serve(settings: Settings, wanted: Wanted, door: Door | None, ending: list[float], own: Own | None) -> None:
    task = asyncio.current_task()
    assert task is not None

    def end() -> None:
        ending.append(time.monotonic() + _CLOSING)
        task.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, end)
    with contextlib.suppress(asyncio.CancelledError):
        await _open_and_serve(settings, wanted, door, own)


async def _open_and_serve(settings: Settings, wanted: Wanted, door: Door | None, own: Own | None) -> None:
    from agent.resources import isolation_lowered, open_for

    # the protocol takes longest to import: meanwhile the sandbox starts
    importing = asyncio.create_task(asyncio.to_thread(import_module, "mcp_tools.server"))
    sandbox = await open_for(settings)
    try:
        await importing
        if lowered := isolation_lowered(settings, sandbox.isolation):
            print_note(f"Warning: {lowered}")
        from mcp_tools.library import Library

        if own is not None:
            await _with(settings, wanted, door, own.library, sandbox, own.extra)
            return
        with contextlib.closing(Library(settings.tools_dir, settings.approvals_file)) as library:
            await _with(settings, wanted, door, library, sandbox, None)
    finally:
        await _shielded(sandbox.aclose())


async def _with(
    settings: Settings,
    wanted: Wanted,
    door: Door | None,
    library: Library,
    sandbox: Sandbox,
    extra: Extra | None,
) -> None:
    from agent.serving import ServedAlita
    from agent.store.redact import Redactor
    from mcp_tools.server import build_server, serve_stdio
    from mcp_tools.serving.audit import AuditLog

    agent = ServedAlita(settings)
    audit = AuditLog(settings.data_dir / "audit" / "calls.jsonl", redact=Redactor(settings.secrets).text)
    server = build_server(library, sandbox, offered=wanted.tools, agent=agent, audit=audit, extra=extra)
    _greet(library, sandbox)
    gc.freeze()
    gc.enable()
    try:
        if door is None:
            await serve_stdio(server)
        else:
            from mcp_tools.serving.transports.http import serve_http

            await serve_http(server, door, tell=print_note)
    finally:
        await _shielded(agent.aclose())
        audit.close()


async def _shielded(ending: Awaitable[None]) -> None:
    """Lets an ending finish, whatever ends meanwhile."""
    task = asyncio.ensure_future(ending)
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(task)
    task.result()


def _greet(library: Library, sandbox: Sandbox) -> None:
    from mcp_tools.sandbox.protocol import Level

    if sandbox.isolation.level is Level.WEAK:
        print_note("Warning: nothing isolates the tools; they run as you, because --no-isolation was said.")


def _door(wanted: Wanted) -> Door:
    from agent.configuration.settings_sources import SERVE_TOKEN
    from mcp_tools.serving.transports.http import open_door

    return open_door(
        wanted.http or "",
        token=os.environ.pop(SERVE_TOKEN, ""),  # no process that is started later gets it
        token_file=wanted.token_file,
        no_token=wanted.no_token,
        names=wanted.allow_host,
    )

"""Asks at the terminal whether a proved tool is kept, and shows its code and its checks before."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
from typing import IO

from agent.approval import Approve, Proposal
from agent.cli.output import print_note
from agent.cli.render import Display
from mcp_tools.text import one_line, printable

TERMINAL = "/dev/tty"
_WIDTH = 200


def asking(display: Display) -> Approve | None:
    """Asks at the terminal of this process; None when there is none, or nobody would see the question."""
    try:
        with open(TERMINAL, "rb", buffering=0):  # noqa: PTH123 - a device
            pass
    except OSError:
        return None
    if sys.__stderr__ is None or not sys.__stderr__.isatty():  # a live display stands in for sys.stderr
        return None

    async def approve(proposal: Proposal) -> bool:
        with display.paused():
            for line in shown(proposal):
                print_note(line)
            return await _answered()

    return approve


def shown(proposal: Proposal) -> list[str]:
    """What someone reads before deciding; a bar before each line of the code keeps it from passing for ours."""
    return [
        "",
        f"A new tool: {one_line(proposal.signature, _WIDTH)}",
        f"  {one_line(proposal.purpose, _WIDTH)}",
        *(f"  │ {line}" for line in printable(proposal.source).rstrip().split("\n")),
        *(f"  ✓ {one_line(line, _WIDTH)}" for line in proposal.checks),
        "It runs in the sandbox only. If it is not kept, its result answers the question all the same.",
    ]


async def _answered() -> bool:
    """Yes or no from the terminal; a terminal that went away says no."""
    with open(TERMINAL, "rb", buffering=0) as terminal:  # noqa: PTH123, ASYNC230 - a device, which opens at once
        termios.tcflush(terminal.fileno(), termios.TCIFLUSH)  # what was typed before the question is no answer to it
        while True:
            sys.stderr.write("Keep it? [y/n] ")
            sys.stderr.flush()
            line = await _line(terminal)
            word = line.decode("utf-8", "replace").strip().lower()
            if word in {"y", "yes"}:
                return True
            if word in {"n", "no"} or not line:
                return False


async def _line(terminal: IO[bytes]) -> bytes:
    """The next line, without keeping the loop from Ctrl-C; empty at the end of the input."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(terminal.fileno(), ready.set)
    try:
        await ready.wait()
        return os.read(terminal.fileno(), 4096)
    except OSError:
        return b""
    finally:
        loop.remove_reader(terminal.fileno())

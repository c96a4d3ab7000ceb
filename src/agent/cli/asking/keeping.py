"""Asks at the terminal whether a proved tool is kept, or an external one called, and shows all of it before."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import termios
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import IO

from agent.cli.output import print_note
from agent.consent.approval import Approve, Proposal
from agent.consent.external_tools import CallProposal, Confirm
from mcp_tools.text import one_line, printable

TERMINAL = "/dev/tty"
Paused = Callable[[], AbstractContextManager[None]]
_WIDTH = 200


def asking(paused: Paused) -> Approve | None:
    """Asks at the terminal whether a tool is kept; None when there is no terminal, or nobody would see the question."""
    if not _somebody_is_there():
        return None

    async def approve(proposal: Proposal) -> bool:
        return await _asked(paused, shown(proposal), "Keep it?")

    return approve


def confirming(paused: Paused, *, doubts: bool) -> Confirm | None:
    """Asks at the terminal whether an external tool is called, or a doubtful action done; None as for `asking`.

    Args:
        paused: Keeps the screen still meanwhile.
        doubts: Whether doubtful actions are asked about; without, they are not done.
    """
    if not _somebody_is_there():
        return None

    async def confirm(call: CallProposal) -> bool:
        return (doubts or not call.is_doubtful) and await _asked(paused, shown_call(call), "Call it?")

    return confirm


def _somebody_is_there() -> bool:
    try:
        with open(TERMINAL, "rb", buffering=0):  # noqa: PTH123 - a device
            pass
    except OSError:
        return False
    return sys.__stderr__ is not None and sys.__stderr__.isatty()  # a live display stands in for sys.stderr


async def _asked(paused: Paused, lines: list[str], question: str) -> bool:
    with paused():
        for line in lines:
            print_note(line)
        return await _answered(question)


def shown_call(call: CallProposal) -> list[str]:
    """What someone reads before an external tool is called; all of it, as any part may matter."""
    return [
        "",
        f"A call of {call.name}: {call.reason}.",
        f"  arguments: {json.dumps(call.arguments)}",
        *([f"  now defined as: {call.definition}"] if call.definition else []),
    ]


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


async def _answered(question: str) -> bool:
    """Yes or no from the terminal; a terminal that went away says no."""
    with open(TERMINAL, "rb", buffering=0) as terminal:  # noqa: PTH123, ASYNC230 - a device, which opens at once
        termios.tcflush(terminal.fileno(), termios.TCIFLUSH)  # what was typed before the question is no answer to it
        while True:
            sys.stderr.write(f"{question} [y/n] ")
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

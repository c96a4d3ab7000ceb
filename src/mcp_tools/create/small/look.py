"""Look first: does a tool of the library already do what a spec wants?"""

from __future__ import annotations

from dataclasses import dataclass

from mcp_tools.create.protocol import Request, Shelf
from mcp_tools.create.small.spec import Wanted
from mcp_tools.errors import ArgumentsError
from mcp_tools.library import validate_arguments
from mcp_tools.library.trust import SERVED
from mcp_tools.sandbox.protocol import Limits, Sandbox
from mcp_tools.tool import Json, Tool

_NEIGHBOURS = 3


@dataclass(frozen=True, slots=True)
class Look:
    """What was found, and what was looked at and does not fit."""

    tool: Tool | None
    value: Json = None
    rejected: tuple[str, ...] = ()


async def look(wanted: Wanted, request: Request, library: Shelf, sandbox: Sandbox) -> Look:
    """The tool that takes the wanted parameters by their names and answers; none is guessed to fit."""
    rejected = []
    spec = wanted.spec
    for tool in await library.search(f"{spec.name.replace('_', ' ')} {spec.purpose}", _NEIGHBOURS):
        if tool.status not in SERVED:  # also one that came with the folder, whatever evidence it claims
            rejected.append(f"{tool.name}: {tool.status}")
            continue
        if tool.name != spec.name and tool.description.strip() != spec.purpose.strip():
            rejected.append(f"{tool.name}: made for something else ({tool.description.strip()[:80]})")
            continue
        try:
            validate_arguments(tool, wanted.arguments)
        except ArgumentsError as misfit:
            rejected.append(f"{tool.name}: takes other arguments ({misfit.message[:80]})")
            continue
        outcome = await sandbox.run(request.job(tool.source, tool.name, wanted.arguments, Limits()))
        if outcome.ok:
            return Look(tool, outcome.value, tuple(rejected))
        rejected.append(f"{tool.name}: fails on these arguments")
    return Look(None, rejected=tuple(rejected))

"""How a tool is born: spec, look, tests, code, checks, trial, repair, vote, proof, registration."""

from __future__ import annotations

from mcp_tools.create.protocol import Creation, Request, Shelf, Watcher, Writer
from mcp_tools.create.small.keep import keep
from mcp_tools.create.small.look import look
from mcp_tools.create.small.paths import with_paths
from mcp_tools.create.small.spec import write_spec
from mcp_tools.create.small.workshop import Workshop
from mcp_tools.sandbox.protocol import Sandbox


async def create_tool(
    request: Request, *, writer: Writer, sandbox: Sandbox, library: Shelf, watcher: Watcher
) -> Creation:
    """Creates the tool that a question lacks, proves it and keeps it.

    Returns:
        A registered tool with the arguments of the question; or, when nothing could be proven, the result of the best
        program as `scratch`, which is not kept.

    Raises:
        CreationError: No program gave any result.
    """
    wanted = with_paths(await write_spec(request, writer), request.files)
    for change in wanted.changes:
        watcher.note(change)
    watcher.spec_written(wanted.spec, wanted.arguments)
    found = await look(wanted, request, library, sandbox)
    if found.tool is not None:
        return Creation(
            wanted.spec, wanted.arguments, found.tool, "reuse", found.value, "in the library", found.rejected
        )
    workshop = Workshop(wanted, request, writer, sandbox, watcher)
    verdict = await workshop.work()
    return await keep(workshop, verdict, library, rejected=found.rejected)

"""Run a library tool, or source code that is not registered yet, with checked arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mcp_tools.checks.check import CheckReport, check
from mcp_tools.checks.header import declared
from mcp_tools.checks.source import CheckedSource
from mcp_tools.errors import ModelFixableError
from mcp_tools.hosts import Carry
from mcp_tools.library.arguments import aside, validate_arguments, validate_result
from mcp_tools.library.dependencies import Needs
from mcp_tools.packages import file_packages, imported
from mcp_tools.sandbox.protocol import Job, Limits, Outcome, Problem, Sandbox
from mcp_tools.tool import Json, Status, Tool

if TYPE_CHECKING:
    from mcp_tools.library.library import Library

Carried = Callable[[Tool, Needs], AbstractAsyncContextManager[Carry | None]]
"""A function that checks the permissions of one call and opens the carrier for the hosts that the tool declares.

It raises an `AlitaError` if the user does not permit the call.
"""


class RefusedSourceError(ModelFixableError):
    """The source does not pass the checks and is not run."""

    def __init__(self, report: CheckReport) -> None:
        super().__init__("\n".join(["The source does not pass the checks:", *map(str, report.findings)]))
        self.report = report


async def run_tool(
    tool: Tool,
    arguments: dict[str, Json],
    sandbox: Sandbox,
    *,
    read: Sequence[Path] = (),
    write: Path | None = None,
    limits: Limits | None = None,
    needs: Needs = Needs(),  # noqa: B008 - frozen
    carried: Carried | None = None,
) -> Outcome:
    """Run a tool in the sandbox, together with the tools that it imports.

    A result that does not match the tool's outputSchema is a problem of kind `result`. Time and memory limits that an
    approved tool declares override `limits`. The tool can write to the folder `write` only if it declares the `write`
    capability. Without `carried`, the tool cannot reach any host; with it, only the hosts that it declares itself.

    Raises:
        ArgumentsError: The arguments do not match the tool's inputSchema.
        HostError: A declared host is invalid.
        AlitaError: `carried` does not permit the call.
    """
    await aside(arguments, validate_arguments, tool.name, tool.input_schema, arguments)
    granted = tuple(path.absolute() for path in read)
    folder = write if tool.capabilities.write else None
    packages = needs.and_packages(imported(tool.source, tool.capabilities.packages))
    job = Job(
        tool.source,
        tool.name,
        arguments,
        read=granted,
        write=folder,
        modules=needs.modules,
        packages=packages,
        limits=limits_of(tool, limits or Limits()),
    )
    async with carried(tool, needs) if carried else nullcontext() as carry:
        outcome = await sandbox.run(job, carry=carry)
    misfits = await aside(outcome.value, validate_result, tool, outcome.value) if outcome.ok else []
    if not misfits:
        return outcome
    message = f"the result does not fit the tool's output schema: {'; '.join(misfits)}"
    return replace(outcome, ok=False, value=None, problem=Problem("result", message))


OutcomeClass = Literal["refused", "arguments", "environment", "upstream", "bug"]
"""The reason why a call failed.

`refused`: an error that the tool's docstring documents. `arguments`: invalid arguments. `environment`: a limit or a
layer of the sandbox. `upstream`: an exception after a host responded. `bug`: a bug in the tool.
"""
_CLASS_OF_KIND: dict[str, OutcomeClass] = {
    "arguments": "arguments",
    **dict.fromkeys(
        ("wall_time", "cpu_time", "memory", "quota", "denied", "sandbox", "not_recorded", "result_size"), "environment"
    ),
}


async def run_kept(library: Library, tool: Tool, arguments: dict[str, Json], sandbox: Sandbox, **more: Any) -> Outcome:
    """Run a library tool as `run_tool` does, and count the call."""
    outcome = await run_tool(tool, arguments, sandbox, **more)
    library.record_call(
        tool.name, outcome.ok, outcome_class(tool, outcome), version=tool.source_hash, arguments=arguments
    )
    library.record_calls(outcome.called)
    return outcome


def outcome_class(tool: Tool, outcome: Outcome) -> OutcomeClass | None:
    """Return the class of a failed call, or None if the call succeeded."""
    if outcome.problem is None:
        return None
    if outcome.problem.kind != "exception":
        return _CLASS_OF_KIND.get(outcome.problem.kind, "bug")
    raised, documented = outcome.problem.message.partition(":")[0].strip(), tool.description.partition("Raises:")[2]
    if raised and re.search(rf"\b{re.escape(raised)}\b", documented):
        return "refused"
    if raised == "ValueError":
        return "arguments"
    return "upstream" if outcome.requests else "bug"


def limits_of(tool: Tool, usual: Limits) -> Limits:
    """Return the limits of a tool's calls: `usual`, overridden by those that an approved tool declares."""
    if tool.status is not Status.VERIFIED:
        return usual
    seconds, memory = tool.capabilities.seconds, tool.capabilities.memory_mb
    if seconds is not None:
        usual = replace(usual, wall_seconds=seconds, cpu_seconds=seconds)
    return usual if memory is None else replace(usual, memory_mb=memory)


async def run_source(
    source: str,
    arguments: dict[str, Json],
    sandbox: Sandbox,
    *,
    read: Sequence[Path] = (),
    write: Path | None = None,
    limits: Limits | None = None,
    needs: Needs = Needs(),  # noqa: B008 - frozen
    carried: Carried | None = None,
) -> Outcome:
    """Check a source as registration does, derive its schema, and run it with the capabilities in its header.

    Raises:
        LibraryError: The header is invalid.
        RefusedSourceError: The source does not pass the checks.
        ArgumentsError: The arguments do not match the function.
        HostError: A declared host is invalid.
        AlitaError: `carried` does not permit the call.
    """
    header = declared(source)
    packages = (*header.packages, *(file_packages() if read else ()))
    capabilities = replace(header, read=bool(read), packages=packages, tools=tuple(needs.modules))
    report = check(source, capabilities=capabilities)
    if not report.ok:
        raise RefusedSourceError(report)
    entry = CheckedSource(source).entry
    assert entry is not None, "the checks let only sources with a public function pass"
    packages = needs.and_packages(imported(source, capabilities.packages))
    draft = Tool(entry.name, "", {}, {}, source, provenance={"capabilities": asdict(capabilities)})
    async with carried(draft, needs) if carried else nullcontext():
        described = await sandbox.describe(source, entry.name, packages=packages, modules=needs.modules)
    if isinstance(described, Problem):
        return Outcome(False, sandbox.isolation, problem=described)
    tool = described.as_tool(source, {"capabilities": asdict(capabilities)})
    return await run_tool(tool, arguments, sandbox, read=read, write=write, limits=limits, needs=needs, carried=carried)

"""Runs a tool of the library, or a source that is not in it yet, with arguments that fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mcp_tools.checks.check import check
from mcp_tools.checks.protocol import Report
from mcp_tools.checks.source import Source
from mcp_tools.errors import ModelFixableError
from mcp_tools.library import validate_arguments, validate_result
from mcp_tools.sandbox.protocol import Description, Job, Limits, Outcome, Problem, Sandbox
from mcp_tools.tool import Capabilities, Json, Tool


class RefusedSourceError(ModelFixableError):
    """A source that does not pass the checks, and is therefore not run."""

    def __init__(self, report: Report) -> None:
        wrong = [f"line {f.line}: {f.rule}: {f.message}" for f in report.findings if f.severity == "error"]
        super().__init__("The source does not pass the checks:\n" + "\n".join(wrong))
        self.report = report


async def run_tool(
    tool: Tool,
    arguments: dict[str, Json],
    sandbox: Sandbox,
    *,
    read: Sequence[Path] = (),
    limits: Limits | None = None,
) -> Outcome:
    """Runs a tool in the sandbox. A result that the tool's outputSchema does not promise is a problem of kind `result`.

    Args:
        tool: The tool.
        arguments: Its arguments, validated before it runs.
        sandbox: Where it runs.
        read: Files or folders that it may read.
        limits: The usual ones when not given.

    Raises:
        ArgumentsError: The arguments do not fit the tool's inputSchema.
    """
    validate_arguments(tool, arguments)
    granted = tuple(path.absolute() for path in read)
    outcome = await sandbox.run(Job(tool.source, tool.name, arguments, read=granted, limits=limits or Limits()))
    misfits = validate_result(tool, outcome.value) if outcome.ok else []
    if not misfits:
        return outcome
    message = f"the result is not what the tool promises: {'; '.join(misfits)}"
    return replace(outcome, ok=False, value=None, problem=Problem("result", message))


async def run_source(
    source: str,
    arguments: dict[str, Json],
    sandbox: Sandbox,
    *,
    read: Sequence[Path] = (),
    limits: Limits | None = None,
) -> Outcome:
    """Checks a source as registration would, derives its schema, and runs it.

    Raises:
        RefusedSourceError: It does not pass the checks.
        ArgumentsError: The arguments do not fit the function.
    """
    report = check(source, capabilities=Capabilities(read=bool(read)))
    if not report.ok:
        raise RefusedSourceError(report)
    entry = Source(source, Capabilities(), None, None).entry
    assert entry is not None, "the checks let only sources with a public function pass"
    described = await sandbox.describe(source, entry.name)
    if isinstance(described, Problem):
        return Outcome(False, sandbox.isolation, problem=described)
    return await run_tool(_as_tool(described, source), arguments, sandbox, read=read, limits=limits)


def _as_tool(described: Description, source: str) -> Tool:
    return Tool(described.name, described.description, described.input_schema, described.output_schema, source)

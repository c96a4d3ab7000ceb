"""Runs the calls of a proposed tool in the sandbox. Equal calls run once, and all calls share a time limit."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from mcp_tools.create.documented_function import DocumentedFunction
from mcp_tools.create.interfaces import Proposal, Test, TrialCall
from mcp_tools.create.sample_files import with_files
from mcp_tools.definition import definition_of
from mcp_tools.errors import ArgumentsError
from mcp_tools.hosts import Carry, recorded
from mcp_tools.library.arguments import surely_fits, validate_arguments
from mcp_tools.library.dependencies import Needs
from mcp_tools.packages import imported
from mcp_tools.sandbox.call import outcomes
from mcp_tools.sandbox.protocol import Job, Limits, Outcome, Problem, Sandbox
from mcp_tools.tool import Json, Status, Tool

_MAX_TITLE_CHARS = 80
_CALL_SECONDS = 5.0
_BATCH_SECONDS = 2.0
"""Time limit for all calls that share a process."""
_TRIAL_SECONDS = 20.0
"""Time limit for all trial calls together."""


class ProposalRunner:
    """Calls a proposed tool with the files, packages and tools that the proposal allows."""

    def __init__(self, proposal: Proposal, sandbox: Sandbox) -> None:
        files = {str(path) for path in proposal.files}
        self.proposal = proposal
        self.file_parameters = [
            name for name, value in proposal.arguments.items() if any(leaf in files for leaf in leaves(value))
        ]
        """Parameters that hold an attached file. There are no other values to try for them."""
        self.runs = 1
        """Number of calls so far, including the question's own call."""
        self.used = 0.0
        """Seconds used by all calls, as measured by the sandbox. A replay gives the same number."""
        self._sandbox = sandbox
        self._outcomes: dict[tuple[str, str], Outcome] = {}
        self._seconds = 0.0
        self.exchanges: tuple[Json, ...] = ()
        """Requests and responses of the question's own call. Later calls get these responses."""

    async def describe(self, function: DocumentedFunction) -> Tool | Problem:
        """Build the tool from a function; its schemas come from the sandbox."""
        declared = self.proposal.capabilities
        source = function.source.text
        packages = imported(source, declared.packages)
        needs = self.proposal.needs
        described = await self._sandbox.describe(
            source, function.spec.name, packages=needs.and_packages(packages), modules=needs.modules
        )
        if isinstance(described, Problem):
            return described
        capabilities = replace(declared, packages=packages, read=declared.read and bool(self.file_parameters))
        tool = described.as_tool(source, {"capabilities": asdict(capabilities)})
        summary = function.spec.purpose.rstrip(".")
        title = summary if len(summary) <= _MAX_TITLE_CHARS else tool.name.replace("_", " ").capitalize()
        return replace(tool, status=Status.VERIFIED, annotations={"title": title, **definition_of(tool)["annotations"]})

    async def run(self, tool: Tool, call: TrialCall) -> Outcome:
        """Return the outcome of a call. An equal call of the same source is not made again."""
        known = self._outcomes.get((tool.source, call.key))
        if known is not None:
            return known
        outcome = await self.run_fresh(tool.source, tool.name, call)
        self.runs += 1
        self._seconds += outcome.seconds
        self.remember(tool.source, call, outcome)
        return outcome

    async def try_run(self, tool: Tool, call: TrialCall) -> Outcome | None:
        """Like `run`, but return None if the call cannot be tried.

        A call cannot be tried if its arguments do not fit the schema, the trial time is used up, or it sends a request
        for which no response is recorded.
        """
        is_known = (tool.source, call.key) in self._outcomes
        if not is_known and (self._seconds > _TRIAL_SECONDS or misfits(tool, call.arguments)):
            return None
        outcome = await self.run(tool, call)
        return None if is_unrecorded(outcome) else outcome

    async def run_each(
        self,
        source: str,
        name: str,
        calls: Sequence[dict[str, Json]],
        seconds: float = _BATCH_SECONDS,
        *,
        wall_per_cpu: float = 1,
    ) -> list[Outcome | None]:
        """Run several calls of a source in one process.

        Args:
            source: The tool's source, or a mutant.
            name: The function to call.
            calls: The arguments of each call.
            seconds: Limit of processor time for all calls.
            wall_per_cpu: Limit of wall time, as a multiple of `seconds`.

        Returns:
            One outcome per call; None for calls that did not start within the limit.
        """
        read, needs = (*self.proposal.files, *self.proposal.data), self.proposal.needs
        return await self._run_each(source, name, calls, seconds, read, needs, wall_per_cpu)

    async def run_examiner_code(self, source: str, name: str, calls: Sequence[dict[str, Json]]) -> list[Outcome | None]:
        """Like `run_each`, for code by the examiner, which may read no files and import no tools."""
        return await self._run_each(source, name, calls, _BATCH_SECONDS, (), Needs())

    async def _run_each(
        self,
        source: str,
        name: str,
        calls: Sequence[dict[str, Json]],
        seconds: float,
        read: tuple[Path, ...],
        needs: Needs,
        wall_per_cpu: float = 1,
    ) -> list[Outcome | None]:
        if not calls:
            return []
        packages = needs.and_packages(imported(source, self.proposal.capabilities.packages))
        limits = Limits(wall_seconds=seconds * wall_per_cpu, cpu_seconds=math.ceil(seconds))
        job = Job(
            source,
            name,
            read=read,
            modules=needs.modules,
            packages=packages,
            limits=limits,
            calls=tuple(calls),
            call_seconds=seconds / 4,
        )
        outcome = await self._sandbox.run(job)
        self.used += outcome.seconds
        return [one and replace(one, seconds=outcome.seconds / len(calls)) for one in outcomes(outcome, len(calls))]

    async def run_together(self, tool: Tool, calls: Sequence[TrialCall]) -> list[Outcome | None]:
        """Like `try_run` for each call, but new calls share one process if they cannot affect each other."""
        runs_alone = self.proposal.capabilities.hosts or self.proposal.capabilities.write
        new = {
            call.key: call
            for call in calls
            if not (runs_alone or call.files or (tool.source, call.key) in self._outcomes)
            and not misfits(tool, call.arguments)
        }
        if len(new) > 1 and self._seconds <= _TRIAL_SECONDS:
            found = await self.run_each(tool.source, tool.name, [call.arguments for call in new.values()])
            for call, outcome in zip(new.values(), found, strict=True):
                if outcome is not None and not _is_timeout(outcome):
                    self.runs += 1
                    self._seconds += outcome.seconds
                    self.remember(tool.source, call, outcome)
        return [await self.try_run(tool, call) for call in calls]

    async def run_first(self, name: str, call: TrialCall, seconds: float, carry: Carry | None) -> Outcome:
        """Make the question's own call, with real requests and files that are kept.

        Later calls get only the responses that this call received.
        """
        code, write = self.proposal.code, self.proposal.write
        outcome = await self.run_fresh(code, name, call, seconds, write=write, carry=carry)
        self.exchanges = outcome.exchanges
        return outcome

    async def run_fresh(
        self,
        source: str,
        name: str,
        call: TrialCall,
        seconds: float = _CALL_SECONDS,
        *,
        write: Path | None = None,
        carry: Carry | None = None,
        needs: Needs | None = None,
        wall_per_cpu: float = 1,
    ) -> Outcome:
        """Run a call, even if an equal one has run before.

        Args:
            source: The source to run, which need not be the proposal's.
            name: The function to call.
            call: The arguments, and the files to write first.
            seconds: Limit of processor time.
            write: Folder for the files that the call writes; None to delete them.
            carry: Sends the call's requests. By default, the requests get the recorded responses.
            needs: The tools that the source may import, if other than the proposal's.
            wall_per_cpu: Limit of wall time, as a multiple of `seconds`.
        """
        if carry is None and self.proposal.capabilities.hosts:
            carry = recorded(self.exchanges)
        source, needs = with_files(source, call.files), needs or self.proposal.needs
        packages = needs.and_packages(imported(source, self.proposal.capabilities.packages))
        read = (*self.proposal.files, *self.proposal.data)
        memory = self.proposal.capabilities.memory_mb or Limits().memory_mb
        limits = Limits(wall_seconds=seconds * wall_per_cpu, cpu_seconds=math.ceil(seconds), memory_mb=memory)
        job = Job(
            source,
            name,
            call.arguments,
            read=read,
            write=write,
            modules=needs.modules,
            packages=packages,
            limits=limits,
        )
        outcome = await self._sandbox.run(job, carry=carry)
        self.used += outcome.seconds
        return outcome

    def results_of(self, tool: Tool) -> list[Test]:
        """Return the successful calls of a tool so far as tests, except calls with files of their own."""
        known = ((json.loads(key), one) for (source, key), one in self._outcomes.items() if source == tool.source)
        return [Test(dict(of), one.value, "reference") for (of, files), one in known if one.ok and not files]

    def remember(self, source: str, call: TrialCall, outcome: Outcome) -> None:
        """Store the outcome of a call, so that it is not made again."""
        self._outcomes[source, call.key] = outcome


def is_unrecorded(outcome: Outcome) -> bool:
    """Return True if a call sent a request with no recorded response. Its outcome says nothing about the tool."""
    return outcome.problem is not None and outcome.problem.kind == "not_recorded"


def _is_timeout(outcome: Outcome) -> bool:
    """Return True if a call in a batch timed out, perhaps while loading a package for all. It then runs again alone."""
    return outcome.problem is not None and outcome.problem.kind == "cpu_time"


def misfits(tool: Tool, arguments: dict[str, Json]) -> list[str]:
    """Return the reason why arguments do not fit a tool's schema, as a list of one message; empty if they fit."""
    try:
        validate_arguments(tool.name, tool.input_schema, arguments)
    except ArgumentsError as misfit:
        return [misfit.message]
    return []


def without_absent(arguments: dict[str, Json], schema: dict[str, Json]) -> dict[str, Json]:
    """Return the arguments without nulls, except where null is a value of the schema or the parameter is required."""
    optional = {name: inner for name, inner in schema["properties"].items() if name not in schema["required"]}
    return {
        name: value
        for name, value in arguments.items()
        if value is not None or name not in optional or surely_fits(None, optional[name])
    }


def known_arguments(arguments: dict[str, Json], tool: Tool) -> dict[str, Json]:
    """Return the arguments without those for which the tool has no parameter."""
    return {name: value for name, value in arguments.items() if name in tool.input_schema["properties"]}


def leaves(value: Json) -> Iterator[Json]:
    """Yield the scalars inside a JSON value, including dictionary keys."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value

"""Runs a proposed tool: each call once, within one time limit for all, with the files of its tests."""

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

_LONGEST_TITLE = 80
_CALL_SECONDS = 5.0
_CALLS_SECONDS = 2.0
"""Time limit for many calls in one process."""
_TRIAL_SECONDS = 20.0
"""Time limit for all trial calls together."""


class ProposalRunner:
    """Calls the tool of a proposal, which says what the tool may read and import."""

    def __init__(self, proposal: Proposal, sandbox: Sandbox) -> None:
        files = {str(path) for path in proposal.files}
        self.proposal = proposal
        self.file_parameters = [
            name for name, value in proposal.arguments.items() if any(leaf in files for leaf in leaves(value))
        ]
        """The parameters that take attached files, for which there is no other value to try."""
        self.runs = 1
        """The question's own call, and those that `run` made."""
        self.used = 0.0
        """Seconds of all calls together, as the sandbox measured them: a replay finds the same."""
        self._sandbox = sandbox
        self._outcomes: dict[tuple[str, str], Outcome] = {}
        self._seconds = 0.0
        self.exchanges: tuple[Json, ...] = ()
        """The hosts' responses in the question's own call."""

    async def describe(self, function: DocumentedFunction) -> Tool | Problem:
        """The tool that a function makes, with its schemas."""
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
        title = summary if len(summary) <= _LONGEST_TITLE else tool.name.replace("_", " ").capitalize()
        return replace(tool, status=Status.VERIFIED, annotations={"title": title, **definition_of(tool)["annotations"]})

    async def run(self, tool: Tool, call: TrialCall) -> Outcome:
        """Return the outcome of a call; equal calls of the same source are made once."""
        known = self._outcomes.get((tool.source, call.key))
        if known is not None:
            return known
        outcome = await self.run_fresh(tool.source, tool.name, call)
        self.runs += 1
        self._seconds += outcome.seconds
        self.remember(tool.source, call, outcome)
        return outcome

    async def try_run(self, tool: Tool, call: TrialCall) -> Outcome | None:
        """Like `run`, but None for a call that cannot be tried.

        This holds for a new call with arguments that do not fit the schema, a call after the time is used up, and one
        that sends a host an unrecorded request.
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
        seconds: float = _CALLS_SECONDS,
        *,
        patience: float = 1,
    ) -> list[Outcome | None]:
        """Makes calls of a version of the tool in one process; None for those that it did not come to in this time.

        With `patience`, the seconds are processor time, and its wall time may be this many times longer.
        """
        read, needs = (*self.proposal.files, *self.proposal.data), self.proposal.needs
        return await self._run_each(source, name, calls, seconds, read, needs, patience)

    async def run_of_examiner(self, source: str, name: str, calls: Sequence[dict[str, Json]]) -> list[Outcome | None]:
        """The same with code of the examiner, which may read nothing and imports no tools."""
        return await self._run_each(source, name, calls, _CALLS_SECONDS, (), Needs())

    async def _run_each(
        self,
        source: str,
        name: str,
        calls: Sequence[dict[str, Json]],
        seconds: float,
        read: tuple[Path, ...],
        needs: Needs,
        patience: float = 1,
    ) -> list[Outcome | None]:
        if not calls:
            return []
        packages = needs.and_packages(imported(source, self.proposal.capabilities.packages))
        limits = Limits(wall_seconds=seconds * patience, cpu_seconds=math.ceil(seconds))
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
        """Like `try_run` of each, but what is new runs in one process where that can make no difference."""
        needs_own = self.proposal.capabilities.hosts or self.proposal.capabilities.write
        new = {
            call.key: call
            for call in calls
            if not (needs_own or call.files or (tool.source, call.key) in self._outcomes)
            and not misfits(tool, call.arguments)
        }
        if len(new) > 1 and self._seconds <= _TRIAL_SECONDS:
            found = await self.run_each(tool.source, tool.name, [call.arguments for call in new.values()])
            for call, outcome in zip(new.values(), found, strict=True):
                if outcome is not None and not _is_late(outcome):
                    self.runs += 1
                    self._seconds += outcome.seconds
                    self.remember(tool.source, call, outcome)
        return [await self.try_run(tool, call) for call in calls]

    async def run_first(self, name: str, call: TrialCall, seconds: float, carry: Carry | None) -> Outcome:
        """Make the question's own call: its requests are carried out and its files are kept.

        The responses that it gets are all that later calls get.
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
        patience: float = 1,
    ) -> Outcome:
        """Makes a call of any source, whether or not an equal one was made; only in `write` its files stay.

        It may import the tools that the proposal needs, or others if they are given.
        """
        if carry is None and self.proposal.capabilities.hosts:
            carry = recorded(self.exchanges)
        source, needs = with_files(source, call.files), needs or self.proposal.needs
        packages = needs.and_packages(imported(source, self.proposal.capabilities.packages))
        read = (*self.proposal.files, *self.proposal.data)
        memory = self.proposal.capabilities.memory_mb or Limits().memory_mb
        limits = Limits(wall_seconds=seconds * patience, cpu_seconds=math.ceil(seconds), memory_mb=memory)
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
        """Return the results of all calls of a tool so far, except calls with their own files."""
        known = ((json.loads(key), one) for (source, key), one in self._outcomes.items() if source == tool.source)
        return [Test(dict(of), one.value, "reference") for (of, files), one in known if one.ok and not files]

    def remember(self, source: str, call: TrialCall, outcome: Outcome) -> None:
        """Takes an outcome for what a call of this source gives."""
        self._outcomes[source, call.key] = outcome


def is_unrecorded(outcome: Outcome) -> bool:
    """True if the call asked a host for what is not recorded: it says nothing about the tool."""
    return outcome.problem is not None and outcome.problem.kind == "not_recorded"


def _is_late(outcome: Outcome) -> bool:
    """True if a call among many took too long: it may have loaded what a package loads once, and is made alone."""
    return outcome.problem is not None and outcome.problem.kind == "cpu_time"


def misfits(tool: Tool, arguments: dict[str, Json]) -> list[str]:
    """Why the tool's schema does not take some arguments; empty when it does."""
    try:
        validate_arguments(tool.name, tool.input_schema, arguments)
    except ArgumentsError as misfit:
        return [misfit.message]
    return []


def without_absent(arguments: dict[str, Json], schema: dict[str, Json]) -> dict[str, Json]:
    """The arguments without the nulls that stand for an absent one."""
    optional = {name: inner for name, inner in schema["properties"].items() if name not in schema["required"]}
    return {
        name: value
        for name, value in arguments.items()
        if value is not None or name not in optional or surely_fits(None, optional[name])
    }


def fitted(arguments: dict[str, Json], tool: Tool) -> dict[str, Json]:
    """The arguments that the tool still takes."""
    return {name: value for name, value in arguments.items() if name in tool.input_schema["properties"]}


def leaves(value: Json) -> Iterator[Json]:
    """The scalars inside a JSON value, dictionary keys included."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value

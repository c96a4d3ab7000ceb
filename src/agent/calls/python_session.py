"""The Python session of a conversation: its programs share variables, and may call the run's own functions."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.answer import OutputFile
from agent.calls.recorder import Recorder, opened
from agent.consent.program_text import ProgramText
from agent.material.outputs import Outputs
from agent.records import as_plain, from_plain
from mcp_tools.errors import AlitaError, ModelFixableError
from mcp_tools.hosts import Carry, HostRequest
from mcp_tools.sandbox.inside.scratch import is_full
from mcp_tools.sandbox.protocol import BlockResult, Limits, Sandbox, Session, SessionOutcome, Writable
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from mcp_tools.environments.store import Environments


KIND = "session"
FETCH = "fetch"
"""The host function that carries a program's requests to declared hosts."""
LIMITS = Limits(wall_seconds=120, memory_mb=2048, output_bytes=400_000, file_bytes=256_000_000)
MOST_CALLS = 100
_LONGEST_REQUEST = 400_000
_MOST_REQUESTED = 2_000_000
"""Maximum characters of JSON in the arguments of all calls of a program. The journal keeps these arguments."""

Answering = Callable[[str, dict[str, Json]], Awaitable[Json]]


class FunctionCallError(ModelFixableError):
    """A program's call to a function of the run failed. The program gets it as an exception."""


@dataclass(eq=False)
class LivePython:
    """The Python process of a conversation. It outlives the runs of single turns."""

    session: Session | None = None
    host: Answering | None = None
    """Answers the calls of the program that is running."""
    tools: set[str] = field(default_factory=set)
    """Names of the library tools that were loaded into this process."""

    async def answer(self, name: str, arguments: dict[str, Json]) -> Json:
        """Answer a call of the running program."""
        assert self.host is not None, "a program runs in a turn, which answers it"
        return await self.host(name, arguments)

    async def aclose(self) -> None:
        """End the process."""
        if self.session is not None:
            await asyncio.shield(self.session.aclose())


class PythonSession:
    """Runs blocks of code in one process, or returns the recorded outcomes.

    Calls to the run's functions are recorded one by one. A replay makes the same calls, so that the run has the same
    information afterwards; its sandbox is None. Programs may read the folders and write into the copy of the user's
    folder. A `live` process belongs to the conversation and stays open.

    Attributes:
        text: The programs run so far. Requests of programs are checked against them.
        results: Results of external servers, by server name.
        sent: Arguments of the programs' calls, in parts.
        written: Files that the last block wrote for the user.
    """

    def __init__(
        self,
        sandbox: Sandbox | None,
        calls: Recorder,
        folders: Sequence[Path],
        live: LivePython | None = None,
        environments: Environments | None = None,
        outputs: Outputs | None = None,
        copy: Writable | None = None,
    ) -> None:
        self._sandbox = sandbox
        self._calls = calls
        self._folders = tuple(folders)
        self._live = live or LivePython()
        self._is_own = live is None
        self._environments = environments
        self._outputs = outputs
        self._copy = copy
        self.written: list[OutputFile] = []
        self._answer: Answering | None = None
        self._carry: Carry | None = None
        self._asked: list[list[Json]] = []
        self._was_replayed = False
        self._room = 0
        self.text = ProgramText()
        self.results: defaultdict[str, list[str]] = defaultdict(list)
        self.sent: list[dict[str, str]] = []

    def another(self) -> PythonSession:
        """Return a session of the same run with separate variables."""
        return PythonSession(
            self._sandbox,
            self._calls,
            self._folders,
            environments=self._environments,
            outputs=self._outputs,
            copy=self._copy,
        )

    async def run(
        self,
        code: str,
        *,
        files: Sequence[Path],
        tools: Mapping[str, str],
        functions: Sequence[str],
        answer: Answering,
        servers: Mapping[str, str] | None = None,
        packages: Sequence[str] = (),
        carry: Carry | None = None,
        seconds: float | None = None,
    ) -> SessionOutcome:
        """Run a block with the packages that the user allowed. `carry` answers its requests to hosts.

        `seconds` is the block's declared time limit, if it is longer than usual.

        The block may import the tools and the modules of servers.

        Raises:
            ModelFixableError: The packages are unavailable.
            StoppedError: The run's time is over.
            IsolationError: The sandbox is broken.
        """
        self._answer, self._asked, self._room, self._carry = answer, [], _MOST_REQUESTED, carry
        modules = {**tools, **(servers or {})}
        self.text.add(code, modules, packages)

        async def work() -> dict[str, Any]:
            was_there = self._live.session is not None
            session = self._opened(files, modules, functions)
            for name, source in modules.items():
                session.offer(name, source)
            self._live.tools |= tools.keys()
            if packages and self._environments is not None:
                session.import_from(await self._built(self._environments, packages))
            before = self._outputs.snapshot() if self._outputs is not None else {}
            of_copy = {}
            if self._copy is not None:  # the copy may have many files
                of_copy = await asyncio.to_thread(Outputs(self._copy.folder).snapshot)
            async with self._calls.budget.within():  # installing packages does not count against the time limit
                left = self._calls.budget.seconds_left
                most = max(LIMITS.wall_seconds, seconds or 0)
                limits = replace(LIMITS, wall_seconds=most if left is None else max(0.5, min(most, left)))
                outcome = await session.run(code, limits=limits, hosts=carry is not None)
            if self._was_replayed:
                outcome, self._was_replayed = replace(outcome, fresh=outcome.fresh or not was_there), False
            outcome = replace(outcome, called=tuple(one for one in outcome.called if one.name in self._live.tools))
            written = self._outputs.kept_since(before) if self._outputs is not None else []
            if self._outputs is not None and outcome.problem is not None and outcome.problem.kind == "quota":
                # an unreadable folder would stop all later programs
                self._outputs.remove_new_folders({*before, *(file.name for file in written)})
            await asyncio.to_thread(self._remove_new_in_copy, of_copy)
            return {
                "outcome": as_plain(outcome),
                "asked": list(self._asked),
                "written": [as_plain(file) for file in written],
            }

        request: dict[str, Json] = {"code": code, "modules": sorted(modules)}
        request |= {"packages": [*packages]} if packages else {}
        recorded = await self._calls.call(KIND, request, work)
        if not self._calls.journal.is_live:
            self._was_replayed = True
            for name, arguments in recorded["asked"]:
                with contextlib.suppress(AlitaError):  # the program got the same error
                    await answer(name, arguments)
        self.written = [OutputFile(**file) for file in recorded.get("written", [])]
        return from_plain(SessionOutcome, recorded["outcome"])

    async def _built(self, environments: Environments, packages: Sequence[str]) -> Path:
        try:
            return await environments.ready(packages)
        except AlitaError as error:  # the error ends the step, not the run
            raise ModelFixableError(f"The packages could not be installed: {error}") from error

    def _opened(self, files: Sequence[Path], modules: Mapping[str, str], functions: Sequence[str]) -> Session:
        self._live.host = self._host
        if self._live.session is None:
            for folder in self._folders:
                folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            built = () if self._environments is None else (self._environments.make_built_folder(),)
            read = (*files, *self._folders, *built)
            self._live.session = opened(self._sandbox).session(
                read=read,
                write=self._writable(),
                modules=modules,
                functions=functions,
                host=self._live.answer,
            )
        return self._live.session

    def _remove_new_in_copy(self, before: dict[str, tuple[int, int]]) -> None:
        """Remove the files that a program added to a full copy, so that the next program can write."""
        copy = self._copy
        if copy is not None and is_full(str(copy.folder), copy.bytes, copy.entries):
            place = Outputs(copy.folder)
            place.remove([file for file in place.written_since(before) if file.name not in before])
            place.remove_new_folders(before)

    def _writable(self) -> list[Writable]:
        outputs = [Writable(self._outputs.make())] if self._outputs is not None else []
        return [*outputs, *([self._copy] if self._copy is not None else [])]

    async def variables(self, names: Sequence[str]) -> BlockResult | None:
        """Return the programs' variables as an object; None if one is missing or is not a JSON value.

        Raises:
            StoppedError: The run's time is over.
        """
        code = f"{{name: globals()[name] for name in {list(names)!r}}}"
        request: dict[str, Json] = {"code": code, "modules": []}
        if self._live.session is None and not self._calls.journal.holds(KIND, request):  # missing in older runs
            return None
        assert self._answer is not None
        return (await self.run(code, files=(), tools={}, functions=(), answer=self._answer)).result

    async def _host(self, name: str, arguments: dict[str, Json]) -> Json:
        assert self._answer is not None
        if name == FETCH:  # the carrier limits and records requests itself
            if self._carry is None:
                raise FunctionCallError("This program declares no hosts.")
            return await self._carry(HostRequest.read(arguments))
        if len(self._asked) >= MOST_CALLS:
            raise FunctionCallError(f"A program may call the run's functions {MOST_CALLS} times.")
        if name != "show":  # `show` keeps its picture in a file
            self._room -= (size := len(json.dumps(arguments)))
            if size > _LONGEST_REQUEST or self._room < 0:
                most = f"{_LONGEST_REQUEST:,} in one call, {_MOST_REQUESTED:,} in all"
                raise FunctionCallError(f"{name}(): the arguments of calls may take {most} characters.")
        self._asked.append([name, arguments])
        return await self._answer(name, arguments)

    async def aclose(self) -> None:
        """End the process, unless it belongs to a conversation."""
        if self._is_own:
            await self._live.aclose()

"""A run's models, sandbox and library, with calls in the journal and within the budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from agent.budget import Budget
from agent.consent.consent import Consent
from agent.learning.gap_records import GapRecord, GapRecords
from agent.material.picture_messages import with_pictures
from agent.models.protocol import Completion, Model, Request
from agent.models.roles import Models
from agent.records import as_plain, from_plain
from agent.store.journal import Journal, made_by
from mcp_tools.create.interfaces import RefusedToolError
from mcp_tools.hosts import Carry
from mcp_tools.library.library import Library, Offer
from mcp_tools.sandbox.protocol import (
    Description,
    Host,
    Isolation,
    Job,
    Outcome,
    Problem,
    Sandbox,
    Session,
    Writable,
)
from mcp_tools.tool import CallCount, Json, Tool

T = TypeVar("T")

_SHORTEST = 0.5
"""Seconds that a call in the sandbox has even when the run's time is over: what is short may end."""


class JournaledModel:
    """A model with completions that are recorded and replayed; None for a replay, which asks none."""

    def __init__(
        self, model: Model | None, journal: Journal, budget: Budget | None = None, *, name: str = "", role: str = ""
    ) -> None:
        self._model = model
        self._journal = journal
        self._budget = budget or Budget()
        self._role = role
        self._wanted = name or (model.name if model else "")
        self._answering = self._wanted

    @property
    def name(self) -> str:
        """The model that answered last, which may be a fallback; a replay finds the same."""
        return self._answering

    async def complete(self, request: Request) -> Completion:
        """Complete, or return the recorded completion; `on_delta` gets its text in one piece."""

        async def ask() -> Json:
            model = made_by(self._model)
            async with self._budget.asking():
                completion = await model.complete(with_pictures(request))
            return {**as_plain(completion), "by": completion.by or model.name, "role": self._role}

        told: dict[str, Any] = await self._journal.call("model", self._key(request), ask)
        self._answering = told.get("by", self._wanted)
        completion = from_plain(Completion, told)
        if request.on_delta is not None and not self._journal.is_live:
            request.on_delta(completion.text)
        return completion

    def _key(self, request: Request) -> dict[str, Any]:
        """Return the fields that identify a recorded call: all but the listener and default values."""
        given = {field.name: getattr(request, field.name) for field in fields(request) if field.name != "on_delta"}
        key = {name: value for name, value in given.items() if value is not None and value != "auto"}
        return {"model": self._wanted, **key}

    async def aclose(self) -> None:
        """Closes the model, not the journal."""
        if self._model is not None:
            await self._model.aclose()


class RunModels:
    """The models of one run by role; a replay has none, and is given what was recorded."""

    def __init__(
        self, models: Models | None, names: Callable[[str], Sequence[str]], journal: Journal, budget: Budget
    ) -> None:
        def journaled(role: str) -> Model:
            model = models.for_role(role) if models is not None else None
            return JournaledModel(model, journal, budget, name=names(role)[0], role=role)

        self.for_role = cache(journaled)


class JournaledSandbox:
    """A sandbox with outcomes that are recorded and replayed; None for a replay. No call outlasts the run's budget."""

    def __init__(self, sandbox: Sandbox | None, journal: Journal, budget: Budget | None = None) -> None:
        self._sandbox = sandbox
        self._journal = journal
        self._budget = budget or Budget()

    @property
    def isolation(self) -> Isolation:
        """The sandbox's own."""
        return made_by(self._sandbox).isolation

    async def run(self, job: Job, *, carry: Carry | None = None) -> Outcome:
        """Runs one call, or gives the recorded outcome."""
        left_out = ("write",) if job.calls else ("write", "calls", "call_seconds")
        request = {name: value for name, value in as_plain(job).items() if name not in left_out}
        outcome, _ = await self._journal.recorded(
            "sandbox", request, Outcome, lambda: made_by(self._sandbox).run(self._in_time(job), carry=carry)
        )
        return outcome

    def _in_time(self, job: Job) -> Job:
        """The call in its own time, or in what is left to the run."""
        left = self._budget.seconds_left
        if left is None or left >= job.limits.wall_seconds:
            return job
        return replace(job, limits=replace(job.limits, wall_seconds=max(left, _SHORTEST)))

    async def describe(
        self, source: str, function: str, *, packages: tuple[str, ...] = (), modules: Mapping[str, str] | None = None
    ) -> Description | Problem:
        """Derives both schemas, or gives the recorded ones."""
        request: dict[str, Json] = {"source": source, "describe": function}
        request |= {"packages": packages} if packages else {}
        request |= {"modules": dict(modules)} if modules else {}
        found, _ = await self._journal.recorded(
            "sandbox",
            request,
            Description | Problem,
            lambda: made_by(self._sandbox).describe(source, function, packages=packages, modules=modules),
        )
        return found

    def session(
        self,
        *,
        read: Sequence[Path] = (),
        write: Sequence[Writable] = (),
        modules: Mapping[str, str] | None = None,
        functions: Sequence[str] = (),
        host: Host | None = None,
    ) -> Session:
        """The sandbox's own."""
        return made_by(self._sandbox).session(read=read, write=write, modules=modules, functions=functions, host=host)

    async def aclose(self) -> None:
        """Ends the sandbox, not the journal."""
        if self._sandbox is not None:
            await self._sandbox.aclose()


GAPS = "gaps"


class JournaledGaps:
    """Gap records as a run finds them: recorded and replayed; None for a replay, which reads none."""

    def __init__(self, records: GapRecords | None, journal: Journal, *, reviewed: bool = False) -> None:
        self._records = records
        self._journal = journal
        self._reviewed = reviewed

    async def find(self, question: str, kind: str) -> tuple[GapRecord, ...]:
        """The records that fit a question best; what is found counts as shown in this run."""

        async def look() -> tuple[GapRecord, ...]:
            if self._records is None:
                return ()
            found = self._records.find(question, kind, reviewed=self._reviewed)
            self._records.note_shown((record.id for record in found), self._journal.path.parent.name)
            return tuple(found)

        request: dict[str, Json] = {"question": question, "kind": kind}
        found, _ = await self._journal.recorded(GAPS, request, tuple[GapRecord, ...], look)
        return found


class JournaledLibrary:
    """A library with recorded answers; a replay neither reads nor changes it."""

    def __init__(self, library: Library, journal: Journal, consent: Consent | None = None, question: str = "") -> None:
        self._consent = consent
        self._library = library
        self._question = question
        self._journal = journal
        self._known: dict[str, Tool] = {}

    @property
    def folder(self) -> Path:
        """The library's own."""
        return self._library.folder

    async def search(self, query: str, limit: int) -> list[Tool]:
        """The tools that fit a query best, best first."""

        def look() -> tuple[Tool, ...]:
            return tuple(hit.tool for hit in self._library.search(query, limit=limit))

        return list(await self._recorded({"search": query, "limit": limit}, tuple[Tool, ...], look))

    async def offered(self, question: str, *, most: int, small: int) -> Offer:
        """The tools that fit a question, and others: all of a small library, the nearest of a large one."""
        request: dict[str, Json] = {"offered": question, "most": most, "small": small}
        return await self._recorded(request, Offer, lambda: self._library.offered(question, most=most, small=small))

    async def get(self, name: str) -> Tool:
        """The tool of a name, which stays the same for the whole run once it was asked for.

        Raises:
            UnknownToolError: There is no such tool.
        """
        if name not in self._known:
            self._known[name] = await self._recorded({"get": name}, Tool, lambda: self._library.get(name))
        return self._known[name]

    async def flaws(self) -> list[str]:
        """Return files of the folder that are no tools, each with its remedy."""
        request: dict[str, Json] = {"flaws": True}
        flaws = self._library.flaws
        return await self._recorded(request, list[str], lambda: [f"{f.message} ({f.remedy})" for f in flaws()])

    async def register(self, tool: Tool, *, replaces: Tool | None = None, is_draft: bool = False) -> Tool:
        """Keeps a tool that may be kept; registering the same source again changes nothing.

        Raises:
            RefusedToolError: It is not to be kept.
        """
        if self._consent is not None and (reason := await self._consent.refusal_of_tool(tool)):
            raise RefusedToolError(reason)
        request = {"register": tool.name, "source": tool.source}
        request |= {"replaces": replaces.source_hash} if replaces else {}

        def keep() -> Tool:
            return self._library.register(tool, replace=replaces is not None, instead_of=replaces, is_draft=is_draft)

        registered = await self._recorded(request, Tool, keep)
        if not is_draft:
            self._known[registered.name] = registered
        return registered

    async def merge(self, tool: Tool, name: str) -> Tool:
        """Make a tool known by the name of an equivalent one."""
        request: dict[str, Json] = {"merge": tool.name, "name": name}
        merged = await self._recorded(request, Tool, lambda: self._library.merge(tool, name))
        self._known[tool.name] = merged
        return merged

    async def record_call(self, tool: Tool, ok: bool, kind: str | None, arguments: Json = None) -> None:
        """Counts the call of a tool that was just made; one that the journal gave was counted when it was made."""
        if self._journal.is_live:
            version = tool.source_hash
            self._library.record_call(
                tool.name, ok, kind, version=version, arguments=arguments, question=self._question
            )

    async def record_calls(self, called: Iterable[CallCount]) -> None:
        """Counts calls of imported tools that were just made."""
        if self._journal.is_live:
            self._library.record_calls(called, question=self._question)

    async def _recorded(self, request: dict[str, Json], form: Any, look: Callable[[], T]) -> T:
        async def work() -> T:
            return look()

        found, _ = await self._journal.recorded("library", request, form, work)
        return found

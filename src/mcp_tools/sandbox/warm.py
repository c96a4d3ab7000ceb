"""A sandbox with one warm interpreter per environment, which forks a child for each call."""

from __future__ import annotations

import asyncio
import itertools
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

from mcp_tools.environments.lock import PackageError
from mcp_tools.environments.store import Environments
from mcp_tools.errors import IsolationError, UserError
from mcp_tools.hosts import Carry
from mcp_tools.packages import is_provided
from mcp_tools.sandbox.call import WatchedCall
from mcp_tools.sandbox.environment import Environment, GrantError, packages_of
from mcp_tools.sandbox.protocol import (
    Description,
    Host,
    Isolation,
    Job,
    Limits,
    Outcome,
    Problem,
    ProblemKind,
    Writable,
)
from mcp_tools.sandbox.session import LiveSession
from mcp_tools.sandbox.zygote import CALLS_AT_ONCE, Ready, Zygote
from mcp_tools.tool import Json

KEPT_ENVIRONMENTS = 6
"""Number of interpreters to keep. Beyond it, the least recently used idle ones stop, except the default one."""

_DESCRIBE_LIMITS = Limits(wall_seconds=10, cpu_seconds=10)
_LOADING_SECONDS, _LOADING_MB = 20.0, 1_024
"""Extra time and memory for calls in a locked environment, because each call loads its packages itself."""


class WarmSandbox:
    """Base class of the back ends. A sandbox belongs to the event loop that opened it."""

    calls_per_zygote = 2000

    def __init__(self) -> None:
        self.environments: Environments | None = None
        """Source of the packages that do not come with alita. None if such packages are unavailable."""
        self._zygotes: OrderedDict[Environment, asyncio.Task[Zygote]] = OrderedDict()
        self._retired: dict[asyncio.Task[None], Zygote] = {}
        self._numbers = itertools.count(1)
        self._real: dict[str, str] = {}  # the first resolved target of each granted path
        self._slots = asyncio.Semaphore(CALLS_AT_ONCE)
        self._isolation: Isolation | None = None
        self._closed = False

    @property
    def isolation(self) -> Isolation:
        """The isolation in force. Raises `IsolationError` before the sandbox is open."""
        if self._isolation is None:
            raise IsolationError("the sandbox is not open", remedy="call `await sandbox.open()` first")
        return self._isolation

    async def open(self) -> None:
        """Start the default interpreter, which also tests all layers.

        Raises:
            IsolationError: This back end does not work here.
        """
        await self._zygote(Environment())

    async def run(self, job: Job, *, carry: Carry | None = None) -> Outcome:
        """Run one call; see `Sandbox.run`."""
        return await self._run(job, "call", carry)

    async def describe(
        self, source: str, function: str, *, packages: tuple[str, ...] = (), modules: Mapping[str, str] | None = None
    ) -> Description | Problem:
        """Derive both schemas; see `Sandbox.describe`."""
        job = Job(source, function, modules=dict(modules or {}), packages=packages, limits=_DESCRIBE_LIMITS)
        outcome = await self._run(job, "describe")
        return _description(outcome.value) if outcome.problem is None else outcome.problem

    def session(
        self,
        *,
        read: Sequence[Path] = (),
        write: Sequence[Writable] = (),
        modules: Mapping[str, str] | None = None,
        functions: Sequence[str] = (),
        host: Host | None = None,
    ) -> LiveSession:
        """Return a session that has not started yet; see `Sandbox.session`."""
        return LiveSession(self, read=read, write=write, modules=modules or {}, functions=functions, host=host)

    async def interpreter(self, environment: Environment) -> Zygote:
        """Return the warm interpreter of an environment.

        Raises:
            GrantError: This back end cannot grant a path.
            IsolationError: The sandbox is broken or closed.
        """
        self._check(environment)
        return await self._zygote(environment)

    def next_call(self) -> int:
        """Return a new call number."""
        return next(self._numbers)

    async def aclose(self) -> None:
        """End all processes of the sandbox."""
        self._closed = True
        tasks = list(self._zygotes.values())
        self._zygotes.clear()
        for task in tasks:
            task.cancel()  # cancels interpreters that are still starting
        started = [found for found in map(_result, tasks) if found is not None]
        await asyncio.gather(*(zygote.end() for zygote in (*started, *self._retired.values())))
        await asyncio.gather(*tasks, *self._retired, return_exceptions=True)

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _create(self, environment: Environment) -> Zygote:
        """Return an interpreter for an environment. It is not started yet."""
        raise NotImplementedError

    def _judge(self, ready: Ready) -> Isolation:
        """Return the isolation that results from an interpreter's test of its layers.

        Raises:
            IsolationError: A layer of this back end is missing.
        """
        raise NotImplementedError

    def _check(self, environment: Environment) -> None:
        """Check that this back end can grant all paths.

        Raises:
            GrantError: One of the paths cannot be granted.
        """
        for grant in environment.read:
            first = self._real.setdefault(grant.path, grant.real)
            if grant.real != first:
                raise GrantError(
                    f"the granted path {grant.path!r} pointed to {first!r} and now points to {grant.real!r}"
                )

    async def _run(self, job: Job, what: str, carry: Carry | None = None) -> Outcome:
        try:
            environment = Environment.of(job, await self._built(job))
            self._check(environment)
        except GrantError as error:
            return self._refusal("denied", str(error))
        if environment.built:
            job = replace(job, limits=_for_loading(job.limits))
        async with self._slots:
            try:
                zygote = await self._zygote(environment)
            except GrantError as error:
                return self._refusal("denied", str(error))
            try:
                call = WatchedCall(zygote, self.next_call(), job, what, carry)
            except (TypeError, ValueError, RecursionError) as error:
                return self._refusal("arguments", f"the arguments are not JSON: {error}")
            outcome, trusted = await call.watch(self.isolation)
        if not trusted or zygote.calls >= self.calls_per_zygote:
            self.retire(environment, zygote)
        return outcome

    async def _built(self, job: Job) -> str:
        """Return the folder of a job's packages, building it if necessary. Empty if all packages come with alita.

        Raises:
            GrantError: The packages are unavailable.
        """
        packages = packages_of(job)
        if all(map(is_provided, packages)):
            return ""
        if self.environments is None:
            raise GrantError(f"packages that do not come with alita are unavailable here: {', '.join(packages)}")
        try:
            return str(await self.environments.ready(packages))
        except (PackageError, UserError) as error:
            raise GrantError(str(error)) from error

    def _refusal(self, kind: ProblemKind, message: str) -> Outcome:
        return Outcome(ok=False, isolation=self.isolation, problem=Problem(kind, message))

    async def _zygote(self, environment: Environment) -> Zygote:
        """Return the interpreter of an environment, and start a new one if necessary."""
        while not self._closed:
            task = self._zygotes.get(environment)
            if task is None:
                task = self._zygotes[environment] = asyncio.create_task(self._start(environment))
                self._retire_unused()
            self._zygotes.move_to_end(environment)
            try:
                zygote = await asyncio.shield(task)
            except asyncio.CancelledError:
                if task.cancelled():
                    raise IsolationError("the sandbox is closed") from None
                raise
            except Exception:
                if self._zygotes.get(environment) is task:
                    del self._zygotes[environment]
                raise
            if zygote.alive and zygote.calls < self.calls_per_zygote:
                return zygote
            self.retire(environment, zygote)
        raise IsolationError("the sandbox is closed")

    async def _start(self, environment: Environment) -> Zygote:
        zygote = self._create(environment)
        try:
            ready = await zygote.start()
        except IsolationError as error:
            if any(grant.real in error.message for grant in environment.read):  # the file was removed in the meantime
                raise GrantError(error.message) from error
            raise
        try:
            if ready.changed:
                raise GrantError(f"the granted path {ready.changed[0]!r} was replaced while it was being opened")
            isolation = self._judge(ready)
            known = self._isolation
            if known is not None and isolation != known:
                raise IsolationError(
                    f"the isolation was {known.level} ({', '.join(known.layers)}) at the start and is now "
                    f"{isolation.level} ({', '.join(isolation.layers)})",
                    remedy="run: alita doctor",
                )
        except (IsolationError, GrantError):
            await zygote.end()
            raise
        self._isolation = isolation
        return zygote

    def retire(self, environment: Environment, zygote: Zygote) -> None:
        """Take an interpreter out of service. It is stopped after its last running call."""
        task = self._zygotes.get(environment)
        if task is not None and _result(task) is zygote:
            del self._zygotes[environment]
        if not zygote.retired:
            zygote.retired = True
            ending = asyncio.create_task(zygote.end_when_idle())
            self._retired[ending] = zygote
            ending.add_done_callback(self._retired.pop)

    def _retire_unused(self) -> None:
        for environment, task in list(self._zygotes.items()):
            zygote = _result(task)
            if len(self._zygotes) > KEPT_ENVIRONMENTS and zygote and not zygote.busy and environment != Environment():
                self.retire(environment, zygote)


def _result(task: asyncio.Task[Zygote]) -> Zygote | None:
    """Return the started interpreter, or None if the task is unfinished or failed."""
    return None if not task.done() or task.cancelled() or task.exception() is not None else task.result()


def _for_loading(limits: Limits) -> Limits:
    return replace(
        limits,
        wall_seconds=limits.wall_seconds + _LOADING_SECONDS,
        cpu_seconds=limits.cpu_seconds + _LOADING_SECONDS,
        memory_mb=limits.memory_mb + _LOADING_MB,
    )


_KEYWORDS = frozenset(
    {"type", "enum", "properties", "required", "additionalProperties", "items", "prefixItems", "minItems", "maxItems"}
    | {"uniqueItems", "propertyNames", "anyOf", "format", "title", "description", "default"}
)
"""The schema keywords that `inside.schema` writes."""
_MAX_SCHEMA_DEPTH = 60


def _is_derived(schema: Json, depth: int = 0) -> bool:
    """Return True if a schema has only keywords that we derive.

    Code inside can forge a schema, and a forged `pattern` or `$ref` could make validation run forever.
    """
    if isinstance(schema, bool):
        return True
    if not isinstance(schema, dict) or depth > _MAX_SCHEMA_DEPTH or not schema.keys() <= _KEYWORDS:
        return False
    properties, rows = schema.get("properties", {}), [schema.get(key, []) for key in ("prefixItems", "anyOf")]
    if not isinstance(properties, dict) or not all(isinstance(row, list) for row in rows):
        return False
    inner = [schema[key] for key in ("items", "additionalProperties", "propertyNames") if key in schema]
    return all(_is_derived(one, depth + 1) for one in [*properties.values(), *rows[0], *rows[1], *inner])


def _description(value: Json) -> Description | Problem:
    """Check the form of a reply, which untrusted code may have forged, because its source was executed."""
    match value:
        case {
            "name": str() as name,
            "description": str() as text,
            "input_schema": dict() as takes,
            "output_schema": dict() as gives,
        } if len(value) == 4 and _is_derived(takes) and _is_derived(gives):
            return Description(name, text, takes, gives)
    return Problem("result", "the code wrote into the sandbox's result channel while its schemas were derived")

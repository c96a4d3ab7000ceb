"""A sandbox of warm interpreters: one per environment, each forking a child per call."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections import OrderedDict
from dataclasses import replace

from mcp_tools.errors import IsolationError
from mcp_tools.sandbox.environment import Environment
from mcp_tools.sandbox.protocol import Description, Isolation, Job, Limits, Outcome, Problem
from mcp_tools.sandbox.supervisor import Seen, Supervisor
from mcp_tools.sandbox.zygote import Ready, Zygote

CALLS_PER_ZYGOTE = 2000
"""After so many calls an interpreter is replaced by a fresh one."""
KEPT_ENVIRONMENTS = 6
IDLE_SECONDS = 300.0
"""An interpreter without calls for so long is ended, except the plain one."""

_DESCRIBE_LIMITS = Limits(wall_seconds=10, cpu_seconds=10)


class WarmSandbox:
    """What the back ends share. A sandbox belongs to the event loop in which it was opened."""

    calls_per_zygote = CALLS_PER_ZYGOTE

    def __init__(self) -> None:
        self._zygotes: OrderedDict[Environment, asyncio.Task[Zygote]] = OrderedDict()
        self._used: dict[Environment, float] = {}
        self._retired: set[Zygote] = set()
        self._numbers = itertools.count(1)
        self._places = asyncio.Semaphore(max(4, 4 * (os.cpu_count() or 1)))
        self._isolation: Isolation | None = None
        self._closed = False

    @property
    def isolation(self) -> Isolation:
        """What is in force: known once the sandbox was opened."""
        if self._isolation is None:
            raise IsolationError("the sandbox was not opened", remedy="await sandbox.open() first")
        return self._isolation

    async def open(self) -> None:
        """Starts the plain interpreter, which is also the probe.

        Raises:
            IsolationError: The isolation of this back end cannot be had here.
        """
        await self._zygote(Environment())

    async def run(self, job: Job) -> Outcome:
        """Runs one call. Code that fails gives an outcome; only a broken sandbox raises `IsolationError`."""
        return await self._run(job, "call")

    async def describe(self, source: str, function: str) -> Description | Problem:
        """Derives both schemas from the real signature, inside the sandbox."""
        outcome = await self._run(Job(source=source, entry=function, limits=_DESCRIBE_LIMITS), "describe")
        if outcome.problem is not None:
            return outcome.problem
        return Description(**outcome.value)

    async def aclose(self) -> None:
        """Ends every process of the sandbox."""
        self._closed = True
        tasks = list(self._zygotes.values())
        self._zygotes.clear()
        started = await asyncio.gather(*tasks, return_exceptions=True)
        zygotes = {*self._retired, *(found for found in started if isinstance(found, Zygote))}
        self._retired.clear()
        await asyncio.gather(*(zygote.end() for zygote in zygotes))
        self._release()

    async def __aenter__(self) -> WarmSandbox:
        """Opens the sandbox."""
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Closes it."""
        await self.aclose()

    def _create(self, environment: Environment) -> Zygote:
        """A new interpreter for an environment, not yet started."""
        raise NotImplementedError

    def _judge(self, ready: Ready) -> Isolation:
        """The isolation that an interpreter has, from what it found when it tried.

        Raises:
            IsolationError: A layer of this back end is missing.
        """
        raise NotImplementedError

    def _release(self) -> None:
        """Gives back what the back end holds outside its interpreters."""

    async def _run(self, job: Job, what: str) -> Outcome:
        environment = Environment.of(job)
        wanting = environment.problem
        if wanting:
            return Outcome(ok=False, isolation=self.isolation, problem=Problem("denied", wanting))
        try:
            supervisor = Supervisor(job, what, self.isolation)
        except (TypeError, ValueError, RecursionError) as error:
            problem = Problem("arguments", f"the arguments are not JSON: {error}")
            return Outcome(ok=False, isolation=self.isolation, problem=problem)
        async with self._places:
            zygote = await self._zygote(environment)
            seen = await supervisor.watch(zygote, next(self._numbers))
        await self._retire_if_due(environment, zygote, seen)
        problem = seen.outcome.problem
        if problem and problem.kind == "sandbox" and seen.outcome.seconds and "layer" in problem.message:
            raise IsolationError(problem.message)
        return seen.outcome

    async def _zygote(self, environment: Environment) -> Zygote:
        """The interpreter of an environment, started now if there is none that can go on."""
        if self._closed:
            raise IsolationError("the sandbox is closed")
        task = self._zygotes.get(environment)
        if task is not None and task.done() and (task.exception() or not task.result().alive):
            await self._drop(environment)
            task = None
        if task is None:
            task = asyncio.create_task(self._start(environment))
            self._zygotes[environment] = task
            await self._make_room()
        self._zygotes.move_to_end(environment)
        self._used[environment] = time.monotonic()
        return await asyncio.shield(task)

    async def _start(self, environment: Environment) -> Zygote:
        zygote = self._create(environment)
        ready = await zygote.start()
        try:
            isolation = self._judge(ready)
            known = self._isolation
            if known is not None and isolation != known:
                raise IsolationError(
                    f"the isolation was {known.level} ({', '.join(known.layers)}) at the start and is now "
                    f"{isolation.level} ({', '.join(isolation.layers)})",
                    remedy="alita doctor",
                )
        except IsolationError:
            await zygote.end()
            raise
        self._isolation = isolation
        return zygote

    async def _retire_if_due(self, environment: Environment, zygote: Zygote, seen: Seen) -> None:
        if seen.trusted and zygote.calls < self.calls_per_zygote:
            return
        zygote.retired = True
        task = self._zygotes.get(environment)
        if task is not None and task.done() and not task.exception() and task.result() is zygote:
            await self._drop(environment)
        elif zygote in self._retired and not zygote.busy:
            await self._bury(zygote)

    async def _drop(self, environment: Environment) -> None:
        """Takes an interpreter out of service; it ends when its last call has ended."""
        task = self._zygotes.pop(environment, None)
        self._used.pop(environment, None)
        if task is None or (task.done() and task.exception()):
            return
        zygote = await task
        zygote.retired = True
        self._retired.add(zygote)
        if not zygote.busy:
            await self._bury(zygote)

    async def _bury(self, zygote: Zygote) -> None:
        self._retired.discard(zygote)
        await zygote.end()

    async def _make_room(self) -> None:
        now = time.monotonic()
        plain = Environment()
        for environment in [e for e in self._zygotes if e != plain][:-1]:
            idle = now - self._used.get(environment, now) > IDLE_SECONDS
            if idle or len(self._zygotes) > KEPT_ENVIRONMENTS:
                await self._drop(environment)



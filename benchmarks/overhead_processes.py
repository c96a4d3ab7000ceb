"""The processes that `overhead.py` starts. Each measures one thing and prints it as JSON."""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from agent.alita import Alita
from agent.configuration.settings import Settings
from agent.configuration.settings_sources import read_settings
from agent.events import Event, StepStarted
from agent.resources import Resources
from mcp_tools.hosts import Carry
from mcp_tools.library.library import Library
from mcp_tools.sandbox.protocol import Job, Outcome, Sandbox
from mcp_tools.tool import Status, Tool

QUESTION = "What remains of 1000 when multiplied by 7 and divided by the modulus 97, step by step?"
ROUNDS = {1: 15, 40: 2}
"""Number of runs per process, by the number of calls in a run."""
SOURCE = '''def multiply_modulo(number: int, factor: int, modulus: int) -> int:
    """Multiply a number by a factor and give the remainder of the division by a modulus."""
    return number * factor % modulus
'''
SDK_TOOL = {
    "type": "function",
    "function": {
        "name": "multiply_modulo",
        "description": "Multiply a number by a factor and give the remainder of the division by a modulus.",
        "parameters": {
            "type": "object",
            "properties": {name: {"type": "integer"} for name in ("number", "factor", "modulus")},
            "required": ["number", "factor", "modulus"],
            "additionalProperties": False,
        },
    },
}
SDK_SYSTEM = "Answer the question with the tool."
"""Kept short, because the baseline has no instructions."""

Figures = dict[str, Any]


def the_tool() -> Tool:
    """Return the only tool of the library."""
    parameters: Any = SDK_TOOL["function"]["parameters"]  # type: ignore[index]
    result = {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}
    description: Any = SDK_TOOL["function"]["description"]  # type: ignore[index]
    return Tool("multiply_modulo", description, parameters, result, SOURCE, status=Status.VERIFIED)


class Moment(NamedTuple):
    """Wall time and processor time. Processor time is meaningful even on a busy machine."""

    wall: float
    cpu: float
    """Processor time of this thread only."""

    def __sub__(self, other: Moment) -> Moment:
        return Moment(self.wall - other.wall, self.cpu - other.cpu)


def now() -> Moment:
    """Read both clocks."""
    return Moment(time.perf_counter(), time.thread_time())


def medians(moments: list[Moment]) -> Moment:
    """Return the median of each clock."""
    return Moment(*(statistics.median(column) for column in zip(*moments, strict=True)))


class TimedSandbox:
    """A sandbox that adds up the time of its calls."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.seconds: list[Moment] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)

    async def run(self, job: Job, *, carry: Carry | None = None) -> Outcome:
        """Run one call."""
        started = now()
        try:
            return await self._sandbox.run(job)
        finally:
            self.seconds.append(now() - started)


class TimedOpened(Resources):
    """The real resources, with a timed sandbox."""

    timed: TimedSandbox

    async def sandbox(self, settings: Settings) -> Sandbox:
        """Return the timed sandbox."""
        if self._sandbox is None:
            self.timed = TimedSandbox(await super().sandbox(settings))
            self._sandbox = self.timed
        return self._sandbox


class TimedAlita(Alita):
    """The real Alita, with a timed sandbox."""

    def __init__(self, settings: Settings, **options: Any) -> None:
        super().__init__(settings, **options)
        self._opened: TimedOpened = TimedOpened(self._external, self._tell)

    @property
    def timed(self) -> TimedSandbox:
        """The timed sandbox."""
        return self._opened.timed


def _settings(url: str, calls: int) -> Settings:
    flags = {"model": f"calls-{calls}", "base_url": url, "max_steps": 1000, "replan_steps": 0, "use_cache": False}
    return read_settings(flags)


async def ask_alita(url: str, calls: int) -> Figures:
    """Measure alita."""
    settings = _settings(url, calls)
    Library(settings.tools_dir, settings.data_dir).register(the_tool())
    rounds = []
    async with TimedAlita.open(settings) as alita:
        await alita.ask(QUESTION)
        for _ in range(ROUNDS[calls]):
            rounds.append(await _one_round(alita, calls))
    return {name: statistics.median(r[name] for r in rounds) for name in rounds[0]}


async def _one_round(alita: TimedAlita, calls: int) -> Figures:
    times: list[Moment] = []

    def listen(event: Event) -> None:
        if isinstance(event, StepStarted):
            times.append(now())

    alita.timed.seconds.clear()
    started = time.perf_counter()
    answer = await alita.ask(QUESTION, on_event=listen)
    wall = time.perf_counter() - started
    sandboxed = alita.timed.seconds
    if answer.text != "done" or len(times) != calls + 1 or len(sandboxed) != calls:
        raise SystemExit(f"not what was scripted: {answer}")
    pairs = [after - before - inside for before, after, inside in zip(times, times[1:], sandboxed, strict=False)]
    return {
        "pair": medians(pairs).wall,
        "last_pair": medians(pairs[-5:]).wall,
        "pair_cpu": medians(pairs[-5:]).cpu,
        "run": (wall - sum(inside.wall for inside in sandboxed)) / (calls + 1),
        "sandbox": medians(sandboxed).wall,
    }


async def send_bare(url: str, found: list[bytes]) -> Figures:
    """Measure a bare client that sends bodies and parses the responses as JSON."""
    import httpx2

    headers = {"content-type": "application/json", "authorization": "Bearer none"}
    async with httpx2.AsyncClient() as client:
        seconds: list[list[Moment]] = [[] for _ in found]
        for _ in range(max(3, 60 // len(found))):
            for body, taken in zip(found, seconds, strict=True):
                started = now()
                response = await client.post(f"{url}/chat/completions", content=body, headers=headers)
                json.loads(response.content)
                taken.append(now() - started)
    trips = [medians(taken) for taken in seconds]
    return {"trips": [trip.wall for trip in trips], "cpu": medians(trips[-5:]).cpu}


async def ask_sdk(url: str, calls: int) -> Figures:
    """Measure the bare SDK, with a tool loop as in its documentation."""
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=url, api_key="none")
    walls = []
    for _ in range(ROUNDS[calls] + 1):
        messages: list[Any] = [{"role": "system", "content": SDK_SYSTEM}, {"role": "user", "content": QUESTION}]
        walls.append([])
        while True:
            started = time.perf_counter()
            completion = await client.chat.completions.create(
                model=f"calls-{calls}",
                messages=messages,
                tools=[SDK_TOOL],  # type: ignore[list-item]
            )
            walls[-1].append(time.perf_counter() - started)
            message = completion.choices[0].message
            if not message.tool_calls:
                break
            messages.append(message.model_dump(exclude_none=True))
            for call in message.tool_calls:
                given = json.loads(call.function.arguments)  # type: ignore[union-attr]
                result = given["number"] * given["factor"] % given["modulus"]
                messages.append({"role": "tool", "tool_call_id": call.id, "content": str(result)})
    await client.close()
    return {"walls": [statistics.median(column) for column in zip(*walls[1:], strict=True)]}


async def ask_once(url: str, calls: int) -> Figures:
    """Ask one question without a warm-up."""
    settings = _settings(url, calls)
    Library(settings.tools_dir, settings.data_dir).register(the_tool())
    async with Alita.open(settings) as alita:
        return {"text": (await alita.ask(QUESTION)).text}


async def resume(url: str, calls: int) -> Figures:
    """Resume the last run."""
    settings = _settings(url, calls)
    async with Alita.open(settings) as alita:
        return {"text": (await alita.resume()).text}


PROCESSES: dict[str, Callable[[str, str], Any]] = {
    "alita": lambda url, argument: ask_alita(url, int(argument)),
    "trip": lambda url, argument: send_bare(url, Path(argument).read_bytes().splitlines()),
    "sdk": lambda url, argument: ask_sdk(url, int(argument)),
    "once": lambda url, argument: ask_once(url, int(argument)),
    "resume": lambda url, argument: resume(url, int(argument)),
}


if __name__ == "__main__":
    process, url, argument = sys.argv[1:]
    print(json.dumps(asyncio.run(PROCESSES[process](url, argument))))

"""One call seen from outside: its pipes, its deadline, and what its report or its silence means."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, get_args

from mcp_tools.sandbox.inside.child import MAGIC
from mcp_tools.sandbox.protocol import Isolation, Job, Limits, Outcome, Problem, ProblemKind
from mcp_tools.sandbox.zygote import Ending, Zygote

_HEADER = len(MAGIC) + 8
_ENVELOPE = 100_000
"""What a report may take beside its value: measurements, or a problem with its traceback."""
_CHUNK = 1 << 18
_GRACE_SECONDS = 2.0
"""How long a killed child may take to be gone before its interpreter is ended as well."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of one call, and whether its interpreter can go on."""

    outcome: Outcome
    trusted: bool
    """False after a surprise in the protocol: the interpreter is replaced."""


class _Intake:
    """Reads one pipe to its end, keeping no more than a limit."""

    def __init__(self, limit: int, changed: Callable[[], None]) -> None:
        self.data = bytearray()
        self.over = False
        """Whether more came than was kept."""
        self.ended = False
        self._limit = limit
        self._changed = changed
        self._read, self.write = os.pipe()
        os.set_blocking(self._read, False)
        asyncio.get_running_loop().add_reader(self._read, self.take)

    def take(self) -> None:
        """Reads what is there."""
        try:
            chunk = os.read(self._read, _CHUNK)
        except BlockingIOError:
            return
        if not chunk:
            self.close()
        elif len(self.data) < self._limit:
            self.over = len(self.data) + len(chunk) > self._limit
            self.data += chunk[: self._limit - len(self.data)]
        else:
            self.over = True
        self._changed()

    def close(self) -> None:
        """Stops reading."""
        if not self.ended:
            self.ended = True
            asyncio.get_running_loop().remove_reader(self._read)
            os.close(self._read)

    @property
    def text(self) -> str:
        """What was kept, as text."""
        return self.data.decode(errors="replace")


class Supervisor:
    """Watches one call from its start to its end.

    Args:
        job: What to run.
        what: `call`, or `describe` for the schemas of the entry instead of its result.
        isolation: What is in force, for the outcome.
    """

    def __init__(self, job: Job, what: str, isolation: Isolation) -> None:
        self._job = job
        self._limits = job.limits
        self._isolation = isolation
        self._request = _request(job, what)
        self._settled = asyncio.Event()
        self._result = _Intake(job.limits.result_bytes + _ENVELOPE, self._changed)
        self._output = _Intake(job.limits.output_bytes, self._changed)
        self._errors = _Intake(job.limits.output_bytes, self._changed)
        self._ending: Ending | None = None

    async def watch(self, zygote: Zygote, call: int) -> Seen:
        """Runs the call in an interpreter, ends it at its deadline, and says what came of it."""
        started = time.monotonic()
        ended = self._begin(zygote, call)
        timely = True
        try:
            async with asyncio.timeout(self._limits.wall_seconds):
                await self._settled.wait()
        except TimeoutError:
            timely = False
            await self._stop(zygote, call, ended)
        finally:
            if not self._complete:
                zygote.kill(call)
            for intake in self._intakes:
                intake.close()
        return self._judge(timely, time.monotonic() - started)

    @property
    def _intakes(self) -> tuple[_Intake, _Intake, _Intake]:
        return self._result, self._output, self._errors

    def _begin(self, zygote: Zygote, call: int) -> asyncio.Future[Ending]:
        ended = zygote.send(call, [self._request, *(intake.write for intake in self._intakes)])
        os.close(self._request)
        for intake in self._intakes:
            os.close(intake.write)
        ended.add_done_callback(self._end)
        return ended

    async def _stop(self, zygote: Zygote, call: int, ended: asyncio.Future[Ending]) -> None:
        zygote.kill(call)
        await asyncio.wait([ended], timeout=_GRACE_SECONDS)
        if not ended.done():
            await zygote.end()

    def _end(self, ended: asyncio.Future[Ending]) -> None:
        if not ended.cancelled():
            self._ending = ended.result()
        self._changed()

    def _changed(self) -> None:
        """Settles the call when its report is whole or its process gone, and its output has been read."""
        read = self._output.ended and self._errors.ended
        if self._ending is not None and not (read and self._result.ended):
            # gone: what it left in the pipes is all there will be, though a stray holder may keep them open
            asyncio.get_running_loop().call_later(0.05, self._settled.set)
        elif (read and self._complete) or (self._ending is not None and self._result.ended):
            self._settled.set()

    @property
    def _complete(self) -> bool:
        data = self._result.data
        return data.startswith(MAGIC) and len(data) >= _HEADER and len(data) >= _HEADER + _length(data)

    def _judge(self, timely: bool, seconds: float) -> Seen:
        report = _parsed(self._result.data) if self._complete and timely else None
        if report is not None:
            return self._reported(report, seconds)
        problem = self._silence(timely)
        lost = self._ending is not None and self._ending.lost
        forged = bool(self._result.data) and timely and not self._result.over
        peak = self._ending.peak_kb / 1024 if self._ending else 0.0
        return Seen(self._outcome(seconds, peak, problem=problem), trusted=not (lost or forged))

    def _reported(self, report: dict[str, Any], seconds: float) -> Seen:
        measured = min(float(report["seconds"]), seconds)
        peak = float(report["peak_kb"]) / 1024
        if report["ok"]:
            return Seen(self._outcome(measured, peak, value=report["value"]), trusted=True)
        problem = Problem(**report["problem"])
        return Seen(self._outcome(measured, peak, problem=problem), trusted=problem.kind != "sandbox")

    def _outcome(self, seconds: float, peak: float, *, value: Any = None, problem: Problem | None = None) -> Outcome:
        return Outcome(
            ok=problem is None,
            isolation=self._isolation,
            value=value,
            problem=problem,
            stdout=self._output.text,
            stderr=self._errors.text,
            cut=self._output.over or self._errors.over,
            seconds=seconds,
            peak_memory_mb=round(peak, 1),
        )

    def _silence(self, timely: bool) -> Problem:
        """Why no report came."""
        limits = self._limits
        if not timely:
            return Problem("wall_time", f"stopped after {limits.wall_seconds:.1f} s: the time limit of this call")
        if self._result.over:
            return Problem("result_size", f"the result is larger than the limit of {limits.result_bytes:,} bytes")
        if self._result.data:
            return Problem("result", "the code wrote into the sandbox's result channel: return the value instead")
        if self._ending is None or self._ending.lost:
            return Problem("sandbox", "the sandbox's interpreter ended during the call: try again")
        return Problem(*_death(self._ending, limits))


def _death(ending: Ending, limits: Limits) -> tuple[ProblemKind, str]:
    if not os.WIFSIGNALED(ending.status):
        code = os.waitstatus_to_exitcode(ending.status)
        return "exit", f"the process ended itself with status {code} (os._exit) before its result was sent"
    number = os.WTERMSIG(ending.status)
    # a little less than the limit: the kernel counts in ticks
    spent = ending.cpu_seconds >= limits.cpu_seconds - 0.1
    if number == signal.SIGXCPU or (number == signal.SIGKILL and spent):
        return "cpu_time", f"stopped after {limits.cpu_seconds:.1f} s of processor time: the limit of this call"
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    if number == signal.SIGKILL:
        return "memory", "the process was killed by the system (SIGKILL), most likely for want of memory"
    hint = ": endless recursion, or a fault in native code" if number == signal.SIGSEGV else ""
    return "exit", f"the process was ended by {name} before its result was sent{hint}"


def _request(job: Job, what: str) -> int:
    """The job as a file in memory that the child reads."""
    body = {
        "what": what,
        "source": job.source,
        "entry": job.entry,
        "arguments": job.arguments,
        "modules": job.modules,
        "limits": asdict(job.limits),
    }
    data = json.dumps(body).encode()
    descriptor = os.memfd_create("job")
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    return descriptor


def _length(data: bytearray) -> int:
    return int.from_bytes(data[len(MAGIC) : _HEADER], "big")


def _parsed(data: bytearray) -> dict[str, Any] | None:
    """The report, if it has the right form: tool code can write into this pipe too."""
    try:
        report = json.loads(data[_HEADER : _HEADER + _length(data)])
        right = (
            isinstance(report["ok"], bool)
            and isinstance(report["seconds"], (int, float))
            and isinstance(report["peak_kb"], (int, float))
            and ("value" in report if report["ok"] else _is_problem(report.get("problem")))
        )
    except (ValueError, KeyError, AttributeError, RecursionError):
        return None
    return report if right else None


def _is_problem(problem: Any) -> bool:
    return (
        isinstance(problem, dict)
        and problem.keys() == {"kind", "message", "traceback", "line"}
        and isinstance(problem["message"], str)
        and isinstance(problem["traceback"], str)
        and (problem["line"] is None or isinstance(problem["line"], int))
        and problem["kind"] in get_args(ProblemKind)
    )

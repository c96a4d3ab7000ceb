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
from mcp_tools.sandbox.inside.result import MAXIMUM_DEPTH, is_shallow
from mcp_tools.sandbox.inside.scratch import QUOTA_BYTES, QUOTA_FILES
from mcp_tools.sandbox.pipes import Inlet, Output
from mcp_tools.sandbox.protocol import Isolation, Job, Limits, Outcome, Problem, ProblemKind
from mcp_tools.sandbox.zygote import Ending, Zygote
from mcp_tools.tool import Json

_HEADER = len(MAGIC) + 8
_ENVELOPE = 100_000
"""What a report may take beside its value: measurements, or a problem with its traceback."""
_LAST_LINE = 1 << 31
OVER_QUOTA = (
    f"the call put more into its scratch folder than the {QUOTA_BYTES:,} bytes and {QUOTA_FILES:,} files that it may "
    "hold: write less"
)


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of one call, and whether its interpreter can go on."""

    outcome: Outcome
    trusted: bool
    """False after a surprise in the protocol: the interpreter is replaced."""


class _Report(Inlet):
    """What comes through a call's own pipe, of which no more than a limit is kept."""

    def __init__(self, limit: int, changed: Callable[[], None]) -> None:
        super().__init__(changed)
        self.data = bytearray()
        self.over = False
        """Whether more came than was kept."""
        self._limit = limit

    def _got(self, chunk: bytes) -> None:
        room = self._limit - len(self.data)
        self.over = self.over or len(chunk) > room
        self.data += chunk[:room]


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
        self._result = _Report(job.limits.result_bytes + _ENVELOPE, self._changed)
        self._output, self._errors = Output(self._changed), Output(self._changed)
        self._result.start()
        for output in (self._output, self._errors):
            output.capture(job.limits.output_bytes)
        self._ending: Ending | None = None

    async def watch(self, zygote: Zygote, call: int) -> Seen:
        """Runs the call in an interpreter, ends it when it is answered or late, and says what came of it."""
        started = time.monotonic()
        timely = True
        try:
            ended = self._begin(zygote, call)
            async with asyncio.timeout(self._limits.wall_seconds):
                await self._settled.wait()
        except TimeoutError:
            timely = False
            zygote.kill(call)
            await asyncio.wait([ended])  # for the next call not to go to an interpreter that hangs
        finally:
            if self._complete:
                zygote.release(call)
            else:
                zygote.kill(call)
            for intake in self._intakes:
                intake.close()
        return self._judge(timely, time.monotonic() - started)

    @property
    def _intakes(self) -> tuple[_Report, Output, Output]:
        return self._result, self._output, self._errors

    def _begin(self, zygote: Zygote, call: int) -> asyncio.Future[Ending]:
        ended = zygote.send(call, [self._request, *(intake.theirs for intake in self._intakes)])
        os.close(self._request)
        for intake in self._intakes:
            os.close(intake.theirs)
        ended.add_done_callback(self._end)
        return ended

    def _end(self, ended: asyncio.Future[Ending]) -> None:
        if not ended.cancelled():
            self._ending = ended.result()
        self._changed()

    def _changed(self) -> None:
        """Settles the call when its report is whole, wrong, or cannot come any more, and its output has been read."""
        read = self._output.ended and self._errors.ended
        if self._ending is not None and not (read and self._result.ended):
            # gone: what it left in the pipes is all there will be, though a stray holder may keep them open
            asyncio.get_running_loop().call_later(0.05, self._settled.set)
        elif (read and self._complete) or (self._ending is not None and self._result.ended) or self._forged:
            self._settled.set()

    @property
    def _complete(self) -> bool:
        data = self._result.data
        return len(data) >= _HEADER and len(data) == _HEADER + _length(data) and not self._forged

    @property
    def _forged(self) -> bool:
        """Whether what came cannot be the beginning of a report: only tool code writes such things."""
        data = self._result.data
        too_long = len(data) >= _HEADER and len(data) > _HEADER + _length(data)
        return self._result.over or too_long or not MAGIC.startswith(data[: len(MAGIC)])

    def _judge(self, timely: bool, seconds: float) -> Seen:
        lost = self._ending is not None and self._ending.lost
        if not timely:
            problem = Problem("wall_time", passed("wall_time", self._limits))
            return Seen(self._outcome(seconds, problem=problem), trusted=not lost)
        report = _parsed(bytes(self._result.data[_HEADER:])) if self._complete else None
        if report is None:
            return Seen(self._outcome(seconds, problem=self._silence()), trusted=not (lost or self._result.data))
        if report["ok"]:
            return Seen(self._outcome(seconds, value=report["value"]), trusted=True)
        problem = Problem(**report["problem"])
        return Seen(self._outcome(seconds, problem=problem), trusted=problem.kind != "sandbox")

    def _outcome(self, seconds: float, *, value: Any = None, problem: Problem | None = None) -> Outcome:
        return Outcome(
            ok=problem is None,
            isolation=self._isolation,
            value=value,
            problem=problem,
            stdout=self._output.text,
            stderr=self._errors.text,
            cut=self._output.cut or self._errors.cut,
            seconds=seconds,
        )

    def _silence(self) -> Problem:
        """Why no report came that can be believed."""
        if self._result.over:
            return Problem("result_size", f"the result is larger than the limit of {self._limits.result_bytes:,} bytes")
        if self._result.data:
            return Problem("result", "the code wrote into the sandbox's result channel: return the value instead")
        if self._ending is None or self._ending.lost:
            return Problem("sandbox", "the sandbox's interpreter ended during the call: try again")
        if self._ending.over_quota:
            return Problem("denied", OVER_QUOTA)
        return Problem(*death(self._ending, self._limits))


def passed(kind: ProblemKind, limits: Limits) -> str:
    """What is said of code that took longer than it may."""
    if kind == "cpu_time":
        return f"stopped after {limits.cpu_seconds:.1f} s of processor time: the limit of this call"
    return f"stopped after {limits.wall_seconds:.1f} s: the time limit of this call"


def death(ending: Ending, limits: Limits) -> tuple[ProblemKind, str]:
    """What the end of a process means whose report did not come."""
    if not os.WIFSIGNALED(ending.status):
        code = os.waitstatus_to_exitcode(ending.status)
        return "exit", f"the process ended itself with status {code} (os._exit) before its result was sent"
    number = os.WTERMSIG(ending.status)
    # a little less than the limit: the kernel counts in ticks
    spent = ending.cpu_seconds >= limits.cpu_seconds - 0.1
    if number == signal.SIGXCPU or (number == signal.SIGKILL and spent):
        return "cpu_time", passed("cpu_time", limits)
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


def _parsed(data: bytes) -> dict[str, Any] | None:
    """The report, if it has the right form: tool code can write into this pipe too."""
    report = decoded(data)
    right = isinstance(report, dict) and (
        (report.keys() == {"ok", "value"} and report["ok"] is True)
        or (report.keys() == {"ok", "problem"} and report["ok"] is False and is_problem(report["problem"]))
    )
    return report if right else None


def decoded(data: bytes) -> Json:
    """What a child sent; None where it is not such JSON as can be passed on."""
    if not is_shallow(data, MAXIMUM_DEPTH + 1):
        return None
    try:
        found: Json = json.loads(data.decode())
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None
    return found


def is_problem(problem: Any) -> bool:
    """Whether it has the fields of a `Problem`."""
    return (
        isinstance(problem, dict)
        and problem.keys() == {"kind", "message", "traceback", "line"}
        and problem["kind"] in get_args(ProblemKind)
        and isinstance(problem["message"], str)
        and isinstance(problem["traceback"], str)
        and (problem["line"] is None or (type(problem["line"]) is int and 0 < problem["line"] <= _LAST_LINE))
    )

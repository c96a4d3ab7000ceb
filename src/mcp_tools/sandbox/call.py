"""The host's side of one call: enforce the deadline, read the report, and explain how the call ended."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import time
from collections.abc import Container, Sequence
from dataclasses import asdict
from typing import Any, get_args

from mcp_tools.errors import AlitaError
from mcp_tools.hosts import MAX_RECORDED_BYTES, Carry, HostRequest, NotRecordedError, without_cookies
from mcp_tools.sandbox.inside.imported import MAX_COUNTED_TOOLS
from mcp_tools.sandbox.inside.result import MAXIMUM_DEPTH, is_shallow
from mcp_tools.sandbox.inside.scratch import QUOTA_BYTES, QUOTA_FILES
from mcp_tools.sandbox.pipes import FrameError, Pipes
from mcp_tools.sandbox.protocol import Isolation, Job, Limits, Outcome, Problem, ProblemKind, Writable
from mcp_tools.sandbox.zygote import ChildEnding, Zygote
from mcp_tools.tool import CallCount, Json

_ENVELOPE_BYTES = 100_000
"""Space in a report for everything except the value, such as a problem with its traceback."""
_MAX_LINE = 1 << 31
_MAX_CALLS = 10**10
"""Maximum plausible count. A larger one is forged, because no process can make so many calls in time."""
_MAX_PARALLEL_REQUESTS = 8
_MAX_UNREAD_BYTES = 64_000_000
"""Limit on the total size of responses that the code has not read yet."""
_FORGED = "the code wrote into the sandbox's result channel: return the value instead"


class WatchedCall:
    """A running call. `what` is `call` to run the job, or `describe` to derive schemas.

    The constructor starts the call.

    Raises:
        TypeError, ValueError, RecursionError: The arguments are not JSON.
    """

    def __init__(self, zygote: Zygote, number: int, job: Job, what: str, carry: Carry | None = None) -> None:
        self._zygote = zygote
        self._number = number
        self._limits = job.limits
        self._write = [Writable(job.write)] if job.write is not None else []
        self._settled = asyncio.Event()
        self._report: dict[str, Any] | None = None
        self._forged = False
        self._modules = job.modules.keys()
        self._called: tuple[CallCount, ...] = ()
        self._carry = carry
        self._carrying: dict[int, asyncio.Task[None]] = {}
        self._clock: asyncio.Timeout | None = None
        self._left = job.limits.wall_seconds  # wall time left; the clock is paused while requests are carried out
        self._since = time.monotonic()
        self._requests = 0
        self._exchanges: list[Json] = []
        self._room = MAX_RECORDED_BYTES
        self._unrecorded = ""
        self._error: Exception | None = None
        """An unexpected exception from `carry`."""
        self._over = False
        """True once the call has ended or reached its time limit. No further request is carried out."""
        request = {name: getattr(job, name) for name in ("source", "entry", "arguments", "modules")}
        request |= {"calls": job.calls, "call_seconds": job.call_seconds} if job.calls else {}
        data = json.dumps({**request, "what": what, "hosts": carry is not None, "limits": asdict(job.limits)}).encode()
        largest = job.limits.result_bytes + _ENVELOPE_BYTES
        self._pipes = Pipes(self._take, self._break, largest, self._changed)
        self._pipes.start(job.limits.output_bytes)
        self._gone = zygote.send(number, self._pipes.theirs)
        self._gone.add_done_callback(self._went)
        self._pipes.messages.put(data)

    async def watch(self, isolation: Isolation) -> tuple[Outcome, bool]:
        """Wait for the call to end, and kill it at its deadline.

        Returns:
            The outcome, and True if the interpreter can be used again.
        """
        started = time.monotonic()
        problem = None
        try:
            async with asyncio.timeout(self._limits.wall_seconds) as self._clock:
                await self._settled.wait()
        except TimeoutError:
            self._over = True
            problem = Problem("wall_time", time_limit_message("wall_time", self._limits))
            self._zygote.kill(self._number)
            await asyncio.wait([self._gone])  # so that the next call is not sent to an interpreter that hangs
        finally:
            self._over = True
            if self._report is not None and not self._forged:
                self._zygote.release(self._number)
            else:
                self._zygote.kill(self._number)
            await self._stop_carrying()
            self._pipes.close()
            if self._write:  # the folder may be read or given to another call next
                await asyncio.wait([self._gone])
        if self._error is not None:
            raise self._error
        trusted = not (self._gone.done() and self._gone.result().lost) and not self._forged
        report = self._report or {}
        if problem is None and (self._forged or not report):
            problem = Problem("result", _FORGED) if self._forged else self._exit_problem()
        elif problem is None and not report["ok"]:
            problem = Problem(**report["problem"])
        if self._unrecorded:
            problem = Problem("not_recorded", self._unrecorded)
        outcome = Outcome(
            ok=problem is None,
            isolation=isolation,
            value=report.get("value") if problem is None else None,
            problem=problem,
            stdout=self._pipes.output.text,
            stderr=self._pipes.errors.text,
            cut=self._pipes.cut,
            seconds=time.monotonic() - started,
            called=self._called,
            requests=self._requests,
            exchanges=tuple(self._exchanges) if self._room >= 0 else (),
        )
        return outcome, trusted and (problem is None or problem.kind != "sandbox")

    def _take(self, body: bytes) -> None:
        report = decoded(body)
        if self._carry is not None and isinstance(report, dict) and report.keys() == {"ask", "request"}:
            return self._begin(report["ask"], report["request"], self._carry)
        keys = report.keys() - {"called"} if isinstance(report, dict) else set()
        right = (keys == {"ok", "value"} and report["ok"] is True) or (
            keys == {"ok", "problem"} and report["ok"] is False and is_problem(report["problem"])
        )
        if not right or self._report is not None:
            raise FrameError(_FORGED)
        self._called = call_counts(report.get("called", {}), self._modules)
        self._report = report
        self._changed()
        return None

    def _begin(self, number: Json, request: Json, carry: Carry) -> None:
        """Start to carry out a request. Meanwhile, the call's clock is paused."""
        if type(number) is not int or number in self._carrying or self._report is not None:
            raise FrameError(_FORGED)
        if len(self._carrying) >= _MAX_PARALLEL_REQUESTS or self._pipes.messages.unsent > _MAX_UNREAD_BYTES:
            raise FrameError(_FORGED)
        if self._over:
            return
        if not self._carrying:
            self._left -= time.monotonic() - self._since
            self._set_clock(None)
        self._carrying[number] = asyncio.create_task(self._answer(number, request, carry))

    async def _answer(self, number: int, asked: Json, carry: Carry) -> None:
        message: dict[str, Json] = {"error": "the request failed"}
        try:
            request = HostRequest.read(asked)
            response = await carry(request)
            self._requests += 1
            exchange = {"request": without_cookies(request.as_json()), "response": without_cookies(response)}
            self._room -= len(json.dumps(exchange))
            if self._room >= 0:
                self._exchanges.append(exchange)
            message = {"value": response}
        except NotRecordedError as error:
            self._unrecorded = self._unrecorded or error.message
            message = {"error": error.message}
        except AlitaError as error:
            message = {"error": str(error)}
        except Exception as error:  # noqa: BLE001 - a bug, which `watch` raises
            self._error = error
            self._settled.set()
        finally:
            self._carrying.pop(number, None)
            if not self._carrying:
                self._since = time.monotonic()
                self._set_clock(asyncio.get_running_loop().time() + max(self._left, 0.0))
        self._pipes.messages.send({"answer": number, **message})

    def _set_clock(self, when: float | None) -> None:
        if self._clock is not None and not self._clock.expired():
            with contextlib.suppress(RuntimeError):  # the call has already ended
                self._clock.reschedule(when)

    async def _stop_carrying(self) -> None:
        tasks = [*self._carrying.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _break(self, _: str) -> None:
        self._forged = True
        self._settled.set()

    def _changed(self) -> None:
        """Settle the call once its report has arrived and its output has been read."""
        if self._report is not None and self._pipes.output.ended and self._pipes.errors.ended:
            self._settled.set()

    def _exit_problem(self) -> Problem:
        return problem_of_exit(self._gone.result(), self._limits, self._write)

    def _went(self, gone: asyncio.Future[ChildEnding]) -> None:
        """Read what is left in the pipes after the child has exited, because another process may hold them open."""
        if not gone.cancelled():
            self._pipes.rest()
            self._forged = self._forged or bool(self._pipes.frames.data)
            self._settled.set()


def time_limit_message(kind: ProblemKind, limits: Limits) -> str:
    """Return the message for code that exceeded its `cpu_time` or `wall_time`."""
    if kind == "cpu_time":
        return f"the call was stopped at its limit of {limits.cpu_seconds:.1f} s of processor time"
    return f"the call was stopped at its time limit of {limits.wall_seconds:.1f} s"


def problem_of_exit(ending: ChildEnding, limits: Limits, write: Sequence[Writable] = ()) -> Problem:
    """Explain why a process exited without a report. `write` lists the folders that it could write into."""
    if ending.lost:
        return Problem("sandbox", "the sandbox's interpreter exited during the call: try again")
    if ending.over_quota:
        message = f"the call exceeded the limits of its scratch folder: {QUOTA_BYTES:,} bytes and {QUOTA_FILES:,} files"
        message += "".join(f"; {one.bytes:,} bytes and {one.entries:,} files in {one.folder}" for one in write)
        return Problem("quota", message)
    if not os.WIFSIGNALED(ending.status):
        code = os.waitstatus_to_exitcode(ending.status)
        return Problem("exit", f"the process exited with status {code} (os._exit) before it sent its result")
    number = os.WTERMSIG(ending.status)
    # slightly below the limit, because the kernel counts in ticks
    spent = ending.cpu_seconds >= limits.cpu_seconds - 0.1
    if number == signal.SIGXCPU or (number == signal.SIGKILL and spent):
        return Problem("cpu_time", time_limit_message("cpu_time", limits))
    if number == signal.SIGKILL:
        return Problem(
            "memory", "the process was killed by the system (SIGKILL), most likely because it ran out of memory"
        )
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    hint = "; the cause may be endless recursion or a bug in native code" if number == signal.SIGSEGV else ""
    return Problem("exit", f"the process was killed by {name} before it sent its result{hint}")


def decoded(data: bytes) -> Json:
    """Return a child's message, or None if it is not JSON that we can pass on."""
    if not is_shallow(data, MAXIMUM_DEPTH + 1):
        return None
    try:
        found: Json = json.loads(data.decode())
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None
    return found


def call_counts(reported: Json, modules: Container[str]) -> tuple[CallCount, ...]:
    """Check a child's counts of calls of these modules.

    The child may lie, so the counts are bounded, and no permission depends on them.

    Raises:
        FrameError: The counts have a form that only forged counts can have.
    """
    if not isinstance(reported, dict) or len(reported) > MAX_COUNTED_TOOLS:
        raise FrameError(_FORGED)
    found = []
    for name, numbers in reported.items():
        match numbers:
            case [int() as calls, int() as failed] if name in modules and 0 <= failed <= calls <= _MAX_CALLS:
                found.append(CallCount(name, calls, failed))
            case _:
                raise FrameError(_FORGED)
    return tuple(found)


def outcomes(outcome: Outcome, count: int) -> list[Outcome | None]:
    """Split the outcome of a job with `count` calls. The item is None for a call without a valid report."""
    reports = outcome.value if outcome.ok and isinstance(outcome.value, list) else []
    found: list[Outcome | None] = []
    for one in reports[:count]:
        match one:
            case {"ok": True, "value": value} if len(one) == 2:
                found.append(Outcome(True, outcome.isolation, value))
            case {"ok": False, "problem": problem} if len(one) == 2 and is_problem(problem):
                found.append(Outcome(False, outcome.isolation, problem=Problem(**problem)))
            case _:
                found.append(None)
    return found + [None] * (count - len(found))


def is_problem(problem: Any) -> bool:
    """Return True if a value from inside has the fields of a `Problem`."""
    return (
        isinstance(problem, dict)
        and problem.keys() == {"kind", "message", "traceback", "line"}
        and problem["kind"] in get_args(ProblemKind)
        and isinstance(problem["message"], str)
        and isinstance(problem["traceback"], str)
        and (problem["line"] is None or (type(problem["line"]) is int and 0 < problem["line"] <= _MAX_LINE))
    )

"""The host's side of a session: a long-lived process that runs blocks of code and calls functions of the host."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from mcp_tools.errors import AlitaError, IsolationError
from mcp_tools.sandbox.call import call_counts, decoded, is_problem, problem_of_exit, time_limit_message
from mcp_tools.sandbox.environment import Environment, GrantError
from mcp_tools.sandbox.inside.session import CALLS_AT_ONCE, MAX_REQUEST_BYTES
from mcp_tools.sandbox.pipes import FrameError, Pipes
from mcp_tools.sandbox.protocol import BlockResult, Host, Limits, Problem, ProblemKind, SessionOutcome, Writable
from mcp_tools.sandbox.zygote import ChildEnding, Zygote
from mcp_tools.tool import CallCount, Json

INTERRUPT_SECONDS = 1.0
"""Seconds that an interrupted block has to end before its process is killed."""
STOP_SECONDS = 0.15
"""Seconds that a block has to end if its caller was cancelled."""
MAX_FRAME_BYTES = 4_000_000
MAX_CALL_BYTES = MAX_REQUEST_BYTES + 1_000
"""Size limit of a call with its name and number. Our code inside never sends a larger call."""
MAX_ANSWER_BYTES = 32_000_000
MAX_UNREAD_BYTES = 2 * MAX_ANSWER_BYTES
"""Limit on the total size of answers that the code has not read yet."""
_CPU_CHECK_SECONDS = 1.0
_IMPORTS_MB = 384
"""Address space for importing packages, in addition to the memory limit."""


class Interpreters(Protocol):
    """The part of `WarmSandbox` that a session needs."""

    async def interpreter(self, environment: Environment) -> Zygote:
        """Return the warm interpreter of an environment.

        Raises:
            GrantError: A path cannot be granted.
            IsolationError: The sandbox is broken or closed.
        """

    def next_call(self) -> int:
        """Return a new call number."""

    def retire(self, environment: Environment, zygote: Zygote) -> None:
        """Take an interpreter out of service. It is stopped after its last running call."""


class LiveSession:
    """A session of a warm sandbox. `Sandbox.session` documents the arguments."""

    def __init__(
        self,
        sandbox: Interpreters,
        *,
        read: Sequence[Path],
        write: Sequence[Writable],
        modules: Mapping[str, str],
        functions: Sequence[str],
        host: Host | None,
    ) -> None:
        if functions and host is None:
            raise ValueError("functions need a host that answers their calls")
        self._sandbox = sandbox
        self._read, self._write = tuple(read), tuple(write)
        self._functions = [_parse_function(text) for text in functions]
        self._host = host
        self._modules = dict(modules)
        self._unknown = dict(modules)  # not sent to the process yet
        self._paths: list[str] = []
        self._process: _Process | None = None
        self._running = asyncio.Lock()
        self._interpreter: tuple[Environment, Zygote] | None = None
        self._blocks = 0
        self._closed = False

    def offer(self, name: str, source: str) -> None:
        """Make a module importable, starting with the next block; see `Session.offer`."""
        if self._modules.get(name) != source:
            self._modules[name] = self._unknown[name] = source

    def import_from(self, folder: Path) -> None:
        """Make the packages in a folder importable, starting with the next block; see `Session.import_from`."""
        self._paths = [str(folder), *(path for path in self._paths if path != str(folder))]

    async def run(self, code: str, *, limits: Limits, hosts: bool = False) -> SessionOutcome:
        """Run a block of code; see `Session.run`."""
        async with self._running:
            process, fresh = self._process, False
            if process is None or process.ended:
                fresh = process is not None
                try:
                    process = self._process = await self._start(limits)
                except GrantError as error:
                    return SessionOutcome(Problem("denied", str(error)))
            self._blocks += 1
            modules, self._unknown = self._unknown, {}
            try:
                block = {"run": self._blocks, "code": code, "modules": modules, "paths": self._paths, "hosts": hosts}
                outcome = await process.run(block, limits)
            finally:
                if not process.trusted and self._interpreter is not None:
                    self._sandbox.retire(*self._interpreter)
            return replace(outcome, fresh=fresh)

    async def aclose(self) -> None:
        """End the process."""
        self._closed = True
        if self._process is not None:
            await self._process.end()
        if (
            self._interpreter is not None and (self._read or self._write) and not self._interpreter[1].busy
        ):  # no other session uses this interpreter
            self._sandbox.retire(*self._interpreter)

    async def _start(self, limits: Limits) -> _Process:
        if self._closed:
            raise IsolationError("the session is closed")
        environment = await asyncio.to_thread(Environment.of_session, self._read, self._write)
        zygote = await self._sandbox.interpreter(environment)
        self._interpreter = environment, zygote
        self._unknown = dict(self._modules)
        return _Process(zygote, self._sandbox.next_call(), self._functions, self._host, limits, self._write)


class _Block:
    """A running block of code. Its clock is paused while the host answers its calls."""

    def __init__(self, number: int, limits: Limits) -> None:
        self.number = number
        self.limits = limits
        self.settled = asyncio.Event()
        self.tasks: dict[int, asyncio.Task[None]] = {}
        """Running calls to the host, by the number that the process gave them."""
        self.late = False
        self.timer: asyncio.TimerHandle | None = None
        """Timer for the time limit, and then for killing the process if the interrupt has no effect."""
        self.watch: asyncio.TimerHandle | None = None
        """Timer for the next check of the process's processor time."""
        self.begun = False
        self.done = False
        self.value = ""
        self.data: BlockResult | None = None
        self.called: tuple[CallCount, ...] = ()
        self.problem: Problem | None = None
        self.error: Exception | None = None
        """An unexpected exception in a function of the host."""
        self.has_waited = False
        """True if the block has called the host. Its threads may compute while the clock is paused."""
        self.cpu: float | None = None
        """Processor time of the process when the block started, in seconds."""
        self._spent = 0.0
        self._since: float | None = None

    @property
    def seconds(self) -> float:
        """Elapsed time in seconds, excluding pauses of the clock."""
        return self._spent + (0.0 if self._since is None else time.monotonic() - self._since)

    def run_clock(self, *, run: bool) -> None:
        """Start or stop the clock."""
        self._spent, self._since = self.seconds, time.monotonic() if run else None


class _Process:
    def __init__(
        self,
        zygote: Zygote,
        call: int,
        functions: Sequence[tuple[str, str]],
        host: Host | None,
        limits: Limits,
        write: Sequence[Writable],
    ) -> None:
        self._zygote = zygote
        self._write = write
        self.trusted = True
        """False after a protocol violation, in which case the interpreter is replaced."""
        self._call = call
        self._names = {name for name, _ in functions}
        self._host = host
        self._block: _Block | None = None
        self._modules: set[str] = set()
        self._killed = False
        self._pipes = Pipes(self._take, self._break, MAX_FRAME_BYTES)
        self._gone = zygote.send(call, self._pipes.theirs)
        self._gone.add_done_callback(self._went)
        given = {"memory_mb": limits.memory_mb, "imports_mb": _IMPORTS_MB, "file_bytes": limits.file_bytes}
        self._pipes.messages.send({"what": "session", "limits": given, "functions": functions})

    @property
    def ended(self) -> bool:
        """True if the process cannot run more blocks."""
        return self._killed or self._gone.done()

    async def run(self, message: dict[str, Any], limits: Limits) -> SessionOutcome:
        """Run a block of code."""
        block = self._block = _Block(message["run"], limits)
        self._modules |= message["modules"].keys()
        self._pipes.start(limits.output_bytes)
        self._set_clock(block, run=True)
        try:
            either: list[asyncio.Future[Any]] = [self._zygote.resume(self._call), self._gone]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            self._check_cpu(block)
            self._pipes.messages.send(message)
            block.begun = True
            await block.settled.wait()
        except asyncio.CancelledError:
            await self._stop(block)
            raise
        except BaseException:
            self._kill()
            raise
        finally:
            await self._finish(block)
        if block.error is not None:
            raise block.error
        stdout = self._pipes.output.text
        return SessionOutcome(
            problem=self._problem(block),
            value="" if stdout else block.value,
            result=block.data if block.data is not None and block.data.text == stdout.strip() else None,
            stdout=stdout,
            stderr=self._pipes.errors.text,
            cut=self._pipes.cut,
            seconds=block.seconds,
            called=block.called,
        )

    async def _stop(self, block: _Block) -> None:
        """End a block after its caller was cancelled. Keep the process if an interrupt ends the block quickly."""
        if block.begun and not self.ended:
            block.late = True
            self._pipes.messages.send({"interrupt": block.number})
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STOP_SECONDS):
                    await block.settled.wait()
        if not block.settled.is_set():
            self._kill()

    async def _finish(self, block: _Block) -> None:
        block.run_clock(run=False)
        block.settled.set()  # from here on the process can start no call
        for timer in filter(None, (block.timer, block.watch)):
            timer.cancel()
        tasks, block.tasks = block.tasks, {}
        for asked, task in tasks.items():
            self._pipes.messages.send({"answer": asked, "error": "the code block ended before the answer arrived"})
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)
        if block.error is not None or not self.trusted:
            self._kill()
        if self.ended:
            await asyncio.wait([self._gone])
        self._pipes.rest()
        self._pipes.stop()
        self._block = None
        if self.ended:
            self._pipes.close()
        else:
            self._zygote.pause(self._call)

    async def end(self) -> None:
        """Kill the process if it is still running."""
        self._kill()
        await asyncio.wait([self._gone])
        if self._block is None:
            self._pipes.close()

    def _kill(self) -> None:
        self._killed = True
        self._zygote.kill(self._call)

    def _went(self, _: asyncio.Future[ChildEnding]) -> None:
        if self._block is not None:
            self._pipes.frames.rest()  # the process may have sent a last message
            self._block.settled.set()

    def _set_clock(self, block: _Block, *, run: bool) -> None:
        block.run_clock(run=run)
        if not block.late:
            if block.timer is not None:
                block.timer.cancel()
            loop = asyncio.get_running_loop()
            left = max(0.0, block.limits.wall_seconds - block.seconds)
            block.timer = loop.call_later(left, self._interrupt, block) if run else None

    def _interrupt(self, block: _Block) -> None:
        """Interrupt a block after its time limit, and kill its process if it does not end soon."""
        block.late = True
        self._pipes.messages.send({"interrupt": block.number})
        block.timer = asyncio.get_running_loop().call_later(INTERRUPT_SECONDS, self._kill)

    def _check_cpu(self, block: _Block) -> None:
        """Check the processor time once a second, because threads can compute while the clock is paused."""
        if self._block is block and not self.ended:
            self._zygote.ask_time(self._call, partial(self._computed, block))
            block.watch = asyncio.get_running_loop().call_later(_CPU_CHECK_SECONDS, self._check_cpu, block)

    def _computed(self, block: _Block, seconds: float) -> None:
        block.cpu = seconds if block.cpu is None else block.cpu
        if self._block is block and block.has_waited and seconds - block.cpu > block.limits.wall_seconds:
            if block.timer is not None and not block.late:
                block.timer.cancel()
            if not block.late:
                self._interrupt(block)

    def _take(self, body: bytes) -> None:
        block, message = self._block, decoded(body)
        if block is None or not isinstance(message, dict):
            raise FrameError
        problem = message.get("problem")
        if message.keys() == {"ask", "name", "arguments"}:
            if len(body) > MAX_CALL_BYTES:
                raise FrameError(f"the sandbox sent a call of more than {MAX_CALL_BYTES:,} bytes")
            self._serve(block, message["ask"], message["name"], message["arguments"])
        elif message.keys() == {"end", "value", "data", "problem", "called"} and (
            problem is None or is_problem(problem)
        ):
            if message["end"] != block.number or not isinstance(message["value"], str):
                raise FrameError
            block.called = call_counts(message["called"], self._modules)
            block.done, block.value, block.data = True, message["value"], _result(message["data"])
            block.problem = Problem(**problem) if isinstance(problem, dict) else None
            block.settled.set()
        elif message.keys() == {"ok", "problem"} and isinstance(problem, dict) and is_problem(problem):
            self._break(str(problem["message"]), "sandbox")
        else:
            raise FrameError

    def _break(self, message: str, kind: ProblemKind = "result") -> None:
        """Stop trusting the process after a message that only code inside could have forged."""
        self.trusted = False
        if self._block is not None:
            self._block.problem = Problem(kind, message)
            self._block.settled.set()

    def _serve(self, block: _Block, number: Json, name: Json, arguments: Json) -> None:
        if not (isinstance(number, int) and isinstance(name, str) and isinstance(arguments, dict)):
            raise FrameError
        # twice as many, because an interrupted call stops waiting inside while the host still works on it
        if number in block.tasks or name not in self._names or len(block.tasks) >= 2 * CALLS_AT_ONCE:
            raise FrameError
        if block.late or block.settled.is_set():
            self._pipes.messages.send({"answer": number, "error": "the block was stopped before this call"})
            return
        block.has_waited = True
        self._set_clock(block, run=False)
        block.tasks[number] = asyncio.create_task(self._answer(block, number, name, arguments))

    async def _answer(self, block: _Block, number: int, name: str, arguments: dict[str, Json]) -> None:
        assert self._host is not None, "a session with functions needs a host"
        try:
            value = await self._host(name, arguments)
            data = json.dumps({"answer": number, "value": value}).encode()
            if len(data) > MAX_ANSWER_BYTES or self._pipes.messages.unsent + len(data) > MAX_UNREAD_BYTES:
                message = f"the result of {name}() exceeds {MAX_ANSWER_BYTES:,} bytes, or too many results are unread"
                data = json.dumps({"answer": number, "error": message}).encode()
            self._pipes.messages.put(data)
        except AlitaError as error:
            self._pipes.messages.send({"answer": number, "error": str(error)})
        except Exception as error:  # noqa: BLE001 - a bug, which `run` raises
            block.error = error
            block.settled.set()
        finally:
            if block.tasks.pop(number, None) and not block.tasks:
                self._set_clock(block, run=True)

    def _problem(self, block: _Block) -> Problem | None:
        found, limits = block.problem, block.limits
        if block.late:
            where = (found.traceback, found.line) if found is not None else ("", None)
            found = Problem("wall_time", time_limit_message("wall_time", limits), *where)
        elif found is None and not block.done:
            # sessions have no processor time limit, because each block has a wall time limit
            found = problem_of_exit(replace(self._gone.result(), cpu_seconds=0.0), limits, self._write)
        if found is None or not self.ended:
            return found
        return replace(found, message=f"{found.message}. The process was stopped, so its variables are lost")


def _result(data: Json) -> BlockResult | None:
    if data is None:
        return None
    if not isinstance(data, dict) or data.keys() != {"said", "plain", "text"} or not isinstance(data["text"], str):
        raise FrameError
    return BlockResult(data["said"], data["plain"], data["text"])


def _parse_function(text: str) -> tuple[str, str]:
    signature = text if "(" in text else f"{text}(**arguments)"
    try:
        (function,) = ast.parse(f"def {signature}: ...").body
    except (SyntaxError, ValueError):
        function = None
    if not isinstance(function, ast.FunctionDef) or function.args.vararg or len(function.body) != 1:
        raise ValueError(f"a function must be a name or a signature such as search(query, limit=5), not {text!r}")
    return function.name, ast.unparse(function.args)

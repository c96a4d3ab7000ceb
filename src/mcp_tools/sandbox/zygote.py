"""The host's end of a warm interpreter: start it, give it calls, kill them, end it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_tools import child
from mcp_tools.errors import IsolationError
from mcp_tools.sandbox.environment import DEVICES, PRELOADED, VARIABLES, Environment, inside_source
from mcp_tools.sandbox.inside import scratch

CALLS_AT_ONCE = max(4, 4 * (os.cpu_count() or 1))
"""More have to wait."""
SCRATCHES = CALLS_AT_ONCE + 8
"""Folders of calls that an interpreter can have at once: some are prepared ahead, some still being removed."""
LEAVING_SECONDS = 0.05
"""How long a child may stay after its answer before it is killed."""
GRACE_SECONDS = 2.0
"""How long a killed child may take to be gone before its interpreter is ended as well."""
START_SECONDS = 30.0
"""A start takes some 30 ms, with large packages on a cold disk seconds."""

_BOOTSTRAP = """
import sys
sys.path[:] = {path!r}
sys.path.insert(0, {parent!r})
from {package}.zygote import main
del sys.path[0]
{before}
main()
"""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the warm interpreter is told when it starts."""

    environment: Environment
    scratch: tuple[str, ...]
    """Folders as seen inside: a call has one of them while it runs, and its own folder in it."""
    layers: tuple[str, ...]
    """`landlock`, `seccomp`: what each child is put under besides limits."""
    scratch_is_private: bool = False
    """Whether each of them is a file system of its own. Otherwise all are one folder of the host's."""
    deny_metadata: bool = False
    user: tuple[int, ...] | None = None
    """Become the first of these users that is possible, when started as root."""
    user_is_private: bool = True
    """Whether threads counted for the user are the sandbox's alone."""
    before: str = ""
    """Python to run before the loop begins: what a back end puts around the interpreter from within."""

    def command(self, control: int) -> list[str]:
        """The interpreter's command line."""
        parent, package = os.path.split(inside_source())
        path = list(self.environment.search_path)
        start = _BOOTSTRAP.format(path=path, parent=parent, package=package, before=self.before)
        told = json.dumps(
            {
                "readable": self.environment.readable,
                "granted": self.environment.paths,
                "devices": DEVICES,
                "scratch": self.scratch,
                "scratch_is_private": self.scratch_is_private,
                "layers": self.layers,
                "deny_metadata": self.deny_metadata,
                "user": self.user,
                "user_is_private": self.user_is_private,
                "packages": () if self.environment.live else self.environment.found.names,
                "hidden": self.environment.found.hidden,
                "has_session": self.environment.live,
                "preload": PRELOADED,
            }
        )
        return [child.executable(), "-I", "-S", "-X", "utf8", "-c", start, str(control), told]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a child ended."""

    status: int
    """As `os.waitpid` gives it."""
    cpu_seconds: float = 0.0
    over_quota: bool = False
    """Whether it was killed for what it put into its scratch folder."""
    lost: bool = False
    """Whether the whole interpreter ended, taking the call along."""


@dataclass(slots=True)
class Ready:
    """What the interpreter found when it tried its layers out."""

    layers: tuple[str, ...]
    landlock_abi: int
    """What the kernel offers; 0 for nothing."""
    root: bool
    """Whether calls run as root of the whole machine, or as what a namespace makes of it."""
    faults: tuple[str, ...] = field(default=())
    """Layers that could not be put on, or did not hold."""


class Zygote:
    """One warm interpreter.

    Args:
        wrap: Puts the isolation around a command line.
        settings: What it is told.
    """

    def __init__(self, wrap: Callable[[list[str]], list[str]], settings: Settings) -> None:
        self.calls = 0
        """How many calls it was given."""
        self.retired = False
        """Whether it should get no more calls."""
        self._wrap = wrap
        self._settings = settings
        self._waiting: dict[int, asyncio.Future[Ending]] = {}
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._errors = -1
        self._faulty = False
        self._due: dict[int, asyncio.TimerHandle] = {}
        self._spent: dict[int, Callable[[], None]] = {}
        self._end: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[Ready] | None = None

    @property
    def pid(self) -> int:
        """The outermost process."""
        return self._process.pid if self._process else 0

    @property
    def busy(self) -> int:
        """Calls under way."""
        return len(self._waiting)

    @property
    def alive(self) -> bool:
        """Whether it can still be given calls."""
        return self._control is not None and not self.retired and not self._faulty

    async def start(self) -> Ready:
        """Starts the interpreter and waits until it is ready.

        Raises:
            IsolationError: It did not start; the message is what it or its wrapping said.
        """
        loop = asyncio.get_running_loop()
        self._ready = loop.create_future()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._errors = os.memfd_create("sandbox-errors")
        ours.setblocking(False)
        self._control = ours
        with theirs:
            command = self._wrap(self._settings.command(theirs.fileno()))
            try:
                # without the event loop, whose own way of starting takes longer
                self._process = child.popen(command, env=VARIABLES, stderr=self._errors, pass_fds=[theirs.fileno()])
            except OSError as error:
                await self.end()
                raise IsolationError(f"{command[0]} could not be started: {error}") from error
        loop.add_reader(ours.fileno(), self._listen)
        try:
            return await asyncio.wait_for(self._ready, START_SECONDS)
        except (TimeoutError, ConnectionError):
            said = self._said()
            await self.end()
            raise IsolationError(f"the sandbox did not start: {said or 'no answer'}") from None
        except BaseException:
            await self.end()
            raise

    def send(self, call: int, descriptors: list[int]) -> asyncio.Future[Ending]:
        """Starts a child for a call; the future tells how it ended.

        Args:
            call: The call's number.
            descriptors: For the job, the result, output and errors.
        """
        ended: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        if self._control is None:
            ended.set_result(Ending(0, lost=True))
            return ended
        self._waiting[call] = ended
        self.calls += 1
        try:
            socket.send_fds(self._control, [b"r %d" % call], descriptors)
        except OSError:
            self._lose()
        return ended

    def begin(self, call: int, cpu_seconds: float, spent: Callable[[], None]) -> None:
        """Lets the child of a session go on with a block of code.

        Args:
            call: The call's number.
            cpu_seconds: Processor time that the block may use.
            spent: Called when it has.
        """
        self._spent[call] = spent
        self._tell(b"b %d %d" % (call, int(cpu_seconds * 1000)))

    def pause(self, call: int) -> None:
        """Stops the child of a session until its next block."""
        self._spent.pop(call, None)
        self._tell(b"p %d" % call)

    def release(self, call: int) -> None:
        """Leaves the child of an answered call a moment to end by itself, which saves a message, then kills it."""
        if call in self._waiting and call not in self._due:
            self._due[call] = asyncio.get_running_loop().call_later(LEAVING_SECONDS, self.kill, call)

    def kill(self, call: int) -> None:
        """Kills the child of a call, if it still runs; one that is not gone soon takes its interpreter along."""
        if self._control is None or call not in self._waiting:
            return
        if due := self._due.pop(call, None):
            due.cancel()
        if self._tell(b"k %d" % call):
            self._due[call] = asyncio.get_running_loop().call_later(GRACE_SECONDS, self._ending)

    def _tell(self, message: bytes) -> bool:
        """Sends a message, or finds that the interpreter is gone."""
        if self._control is None:
            return False
        try:
            self._control.send(message)
        except OSError:
            self._lose()
            return False
        return True

    async def end_when_idle(self) -> None:
        """Waits for the calls under way, each of which is killed at its deadline, and ends the interpreter."""
        if self._waiting:
            await asyncio.wait(list(self._waiting.values()))
        await self.end()

    async def end(self) -> None:
        """Ends the interpreter and every process in it, and removes what its calls left."""
        await asyncio.shield(self._ending())

    def _ending(self) -> asyncio.Task[None]:
        if self._end is None:
            self._end = asyncio.create_task(self._finish())
        return self._end

    async def _finish(self) -> None:
        self._lose()
        if self._errors >= 0:
            os.close(self._errors)
        process = self._process
        if process is not None:
            deadline = time.monotonic() + 1.0
            while process.poll() is None and time.monotonic() < deadline:  # noqa: ASYNC110 - nothing tells of it sooner
                await asyncio.sleep(0.002)
            if process.poll() is None:
                for pid in _children(process.pid):  # what bubblewrap started: a group of its own
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            # the group too: children of a back end without a namespace of their own
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            if process.poll() is None:
                await asyncio.to_thread(process.wait)
        if not self._settings.scratch_is_private:
            with contextlib.suppress(OSError):
                await asyncio.to_thread(scratch.remove, self._settings.scratch[0])

    def _listen(self) -> None:
        assert self._control is not None
        try:
            message = self._control.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            message = b""
        if not message:
            self._lose()
        elif message.startswith(b"R "):
            self._greet(json.loads(message[2:]))
        elif message.startswith(b"d "):
            call, status, milliseconds, over = map(int, message[2:].split())
            ended = self._waiting.pop(call, None)
            self._spent.pop(call, None)
            if due := self._due.pop(call, None):
                due.cancel()
            if ended and not ended.done():
                ended.set_result(Ending(status, milliseconds / 1000, bool(over)))
        elif message.startswith(b"c "):
            if spent := self._spent.pop(int(message[2:]), None):
                spent()
        elif message == b"x":
            self._faulty = True

    def _greet(self, said: dict[str, Any]) -> None:
        faults = [f"{layer}: {reason}" for layer, reason in said["errors"].items()]
        faults += [f"{gap} was possible in spite of every layer" for gap in said.get("gaps", ())]
        faults += [said["error"]] if "error" in said else []
        ready = Ready(tuple(said["layers"]), said["landlock_abi"], said["root"], tuple(faults))
        if self._ready and not self._ready.done():
            self._ready.set_result(ready)

    def _lose(self) -> None:
        """Closes the socket, which ends the interpreter, and gives up the calls under way."""
        self._hang_up()
        if self._ready and not self._ready.done():
            self._ready.set_exception(ConnectionError("the interpreter ended"))
        for due in self._due.values():
            due.cancel()
        self._due.clear()
        waiting, self._waiting = self._waiting, {}
        for ended in waiting.values():
            if not ended.done():
                ended.set_result(Ending(0, lost=True))

    def _hang_up(self) -> None:
        if self._control is not None:
            asyncio.get_running_loop().remove_reader(self._control.fileno())
            self._control.close()
            self._control = None

    def _said(self) -> str:
        size = os.fstat(self._errors).st_size
        text = os.pread(self._errors, 4000, max(0, size - 4000))
        return text.decode(errors="replace").strip()


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []

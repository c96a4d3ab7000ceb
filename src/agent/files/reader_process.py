"""Processes that read untrusted files. A file that crashes, hangs or takes over its parser harms only that process."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

from agent.files.contents import FileProblem, ReadLimits, too_large
from mcp_tools import child
from mcp_tools.sandbox.environment import system_paths
from mcp_tools.sandbox.inside.scratch import bytes_in
from mcp_tools.worker import Worker

Serve: TypeAlias = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
"""Carries out a task that the confined process cannot carry out itself, such as calling a speech endpoint."""
_SYSTEM_PATHS = (
    *("/usr/share", "/usr/local/lib", "/etc/fonts", "/etc/mime.types", "/etc/localtime"),
    *("/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system"),
)
"""Paths that libraries read: fonts, media types, the number of cores."""
_GRACE_SECONDS = 2.0  # between the deadline of a process and the kill
_WATCH_SECONDS = 0.25
_MAX_PROCESSES = 3


@functools.cache
def confinement_gaps() -> str:
    """Return what reading processes can still do on this machine; empty if they are fully confined."""
    if sys.platform != "linux":
        return "they can use the network and write files, because only Linux supports this sandbox"
    from mcp_tools.sandbox.inside import confinement, seccomp

    gaps = []
    if confinement.landlock_abi() < 1:
        gaps.append("read and write your files, because this kernel has no Landlock")
    if confinement.platform_machine() not in seccomp.AUDIT_ARCH:
        gaps.append(f"use the network, because there is no filter for {confinement.platform_machine()}")
    return f"they can {'; and '.join(gaps)}" if gaps else ""


class ReadingProcess(Worker):
    """A process that runs `agent.files.reader_worker` and carries out requests one after the other.

    It can read its libraries and the paths that its first request grants, and write to its own folder. It cannot start
    processes or use the network.
    """

    _is_overfull = False
    """True if it was killed because it wrote too much."""

    @classmethod
    async def start(cls, warm: Sequence[str] = ()) -> ReadingProcess:
        """Start a process. It imports the modules in `warm` before its first request."""
        scratch = Path(
            tempfile.mkdtemp(prefix="alita-read-")
        )  # not in a thread: a cancelled thread would leave the folder behind
        try:
            return await cls.launch(
                f"from agent.files.reader_worker import main; main({','.join(warm)!r})",
                scratch,
                child.environment("ALITA_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", TMPDIR=str(scratch)),
                child.DEVNULL,
            )
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise

    async def ask(
        self,
        request: dict[str, Any],
        limits: ReadLimits,
        *,
        read: Sequence[str] = (),
        write: Sequence[str] = (),
        serve: Serve | None = None,
    ) -> dict[str, Any]:
        """Carry out a request. If the caller is cancelled, the process is stopped.

        Args:
            request: The request as JSON.
            limits: The limits of this request.
            read: Files and folders that the process may read. The first request's paths apply to all later requests.
            write: Folders that it may write to, in addition to its own.
            serve: Carries out tasks for the process; None if it has none.

        Returns:
            The reply.

        Raises:
            FileProblem: The file cannot be read, or the process died.
        """
        granted = {"read": _granted(read), "write": [str(self.folder), *write]}
        watching = asyncio.create_task(self._watch(granted["write"], 2 * limits.unpacked))
        try:
            async with asyncio.timeout(limits.seconds + _GRACE_SECONDS):
                await self.say({**request, "limits": asdict(limits), "granted": granted})
                while (reply := await self.hear()) is not None and serve is not None and "ask" in reply:
                    await self.say(await serve(reply["ask"]))
        except BaseException as error:
            await self.aclose()
            if isinstance(error, TimeoutError):
                raise _death(-signal.SIGALRM, request, limits) from None
            raise
        finally:
            watching.cancel()
        if reply is None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.process.wait(), _GRACE_SECONDS)
            await self.aclose()
            if self._is_overfull:
                message = f"Reading {request['name']} took more than {2 * limits.unpacked:,} bytes of disk space."
                raise FileProblem("too_large", message)
            raise _death(self.process.returncode or 0, request, limits)
        if problem := reply.get("problem"):
            raise FileProblem(problem["reason"], problem["message"], remedy=problem["remedy"])
        return reply

    async def _watch(self, folders: Sequence[str], most: int) -> None:
        """Kill the process when the files in its folders have grown by more than `most` bytes."""

        def bytes_written() -> int:
            return sum(bytes_in(folder, self.process.pid) for folder in folders)

        before = await asyncio.to_thread(bytes_written)
        while await asyncio.to_thread(bytes_written) - before <= most:  # noqa: ASYNC110 - no event reports the size of a folder
            await asyncio.sleep(_WATCH_SECONDS)
        self._is_overfull = True
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    async def aclose(self) -> None:
        """Stop the process and delete its folder."""
        await super().aclose()
        await asyncio.shield(asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True))


async def read_in_process(
    request: dict[str, Any],
    limits: ReadLimits,
    *,
    read: Sequence[str] = (),
    write: Sequence[str] = (),
    serve: Serve | None = None,
) -> dict[str, Any]:
    """Carry out a request in a new process; see `ReadingProcess.ask`.

    Raises:
        FileProblem: The file cannot be read, or the process died.
    """
    process = await ReadingProcess.start()
    try:
        return await process.ask(request, limits, read=read, write=write, serve=serve)
    finally:
        await process.aclose()


class ReadingProcesses:
    """A pool of processes for many small requests without files. Each process imports `warm` when it starts."""

    def __init__(self, *warm: str) -> None:
        self._warm = warm
        self._idle: list[asyncio.Task[ReadingProcess]] = []
        self._slots = asyncio.Semaphore(_MAX_PROCESSES)

    def prepare(self) -> None:
        """Start a process in the background if none is idle."""
        if not self._idle:
            self._idle.append(asyncio.create_task(ReadingProcess.start(self._warm)))

    async def ask(self, request: dict[str, Any], limits: ReadLimits) -> dict[str, Any]:
        """Carry out a request; see `ReadingProcess.ask`.

        Raises:
            FileProblem: The request cannot be carried out, or the process died.
        """
        async with self._slots:
            self.prepare()
            started = self._idle.pop()
            process = await started
            try:
                reply = await process.ask(request, limits)
            except BaseException:
                await process.aclose()
                raise
            self._idle.append(started)
            return reply

    async def aclose(self) -> None:
        """Stop all idle processes."""
        while self._idle:
            with contextlib.suppress(OSError):  # the process never started
                await (await self._idle.pop()).aclose()


def _granted(read: Sequence[str]) -> list[str]:
    """Return the existing paths that a process may read: the interpreter, its libraries and `read`."""
    wanted = (*system_paths(), *sys.path, *_SYSTEM_PATHS, *read)
    return [path for path in dict.fromkeys(wanted) if Path(path).is_absolute() and Path(path).exists()]


def _death(status: int, request: dict[str, Any], limits: ReadLimits) -> FileProblem:
    """Return the problem for a process that exited without a reply."""
    name, kind = request["name"], request["kind"]
    if status in (-signal.SIGABRT, -signal.SIGKILL):
        return too_large(name, limits)
    if status == -signal.SIGALRM:
        return FileProblem("timeout", f"Reading {name} took longer than {limits.seconds:g} seconds.")
    message = signal.Signals(-status).name if -status in set(signal.Signals) else f"status {status}"
    return FileProblem("damaged", f"{name} crashed the program that reads {kind} files ({message}).")

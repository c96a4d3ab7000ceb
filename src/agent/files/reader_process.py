"""Processes that read untrusted files, so that a bomb, hang, crash or takeover of a parser stays in there."""

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
"""Does for a process what it cannot do itself, and gives the reply."""
_SYSTEM = (
    *("/usr/share", "/usr/local/lib", "/etc/fonts", "/etc/mime.types", "/etc/localtime"),
    *("/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system"),
)
"""Paths that libraries read: fonts, kinds of files, the number of cores."""
_GRACE_SECONDS = 2.0  # how long after its own deadline a process is given to be gone
_WATCH_SECONDS = 0.25
_AT_ONCE = 3


@functools.cache
def confinement_gaps() -> str:
    """Return abilities that reading processes still have on this machine; empty if they are confined."""
    if sys.platform != "linux":
        return "they can use the network and write files: only Linux can take that from a process"
    from mcp_tools.sandbox.inside import confinement, seccomp

    gaps = []
    if confinement.landlock_abi() < 1:
        gaps.append("read and write your files: this kernel offers no Landlock")
    if confinement.platform_machine() not in seccomp.AUDIT_ARCH:
        gaps.append(f"use the network: there is no filter for {confinement.platform_machine()}")
    return f"they can {'; and '.join(gaps)}" if gaps else ""


class ReadingProcess(Worker):
    """A process of `agent.files.reader_worker` that carries out requests, one after the other.

    It reads its libraries and what its first request grants, writes its own folder, starts no process and has no
    network.
    """

    _is_overfull = False
    """True if it was ended for what it wrote."""

    @classmethod
    async def start(cls, warm: Sequence[str] = ()) -> ReadingProcess:
        """Starts one, which imports the modules of `warm` before its first request."""
        scratch = Path(tempfile.mkdtemp(prefix="alita-read-"))  # in no thread: a cancelled one would leave the folder
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
        """Carries out a request. If the caller is cancelled meanwhile, the process ends.

        Args:
            request: The request, as plain JSON.
            limits: Its limits.
            read: Files and folders that the process may read; the first request's hold for all.
            write: Folders that it may write, as well as its own.
            serve: Answers what the process asks meanwhile; None if it has no questions.

        Returns:
            The reply.

        Raises:
            FileProblem: The file cannot be read, or the process came to no good end.
        """
        granted = {"read": _granted(read), "write": [str(self.folder), *write]}
        watching = asyncio.create_task(self._watch(granted["write"], 2 * limits.unpacked))
        try:
            async with asyncio.timeout(limits.seconds + _GRACE_SECONDS):
                await self.say({**request, "limits": asdict(limits), "granted": granted})
                while (told := await self.hear()) is not None and serve is not None and "ask" in told:
                    await self.say(await serve(told["ask"]))
        except BaseException as error:
            await self.aclose()
            if isinstance(error, TimeoutError):
                raise _death(-signal.SIGALRM, request, limits) from None
            raise
        finally:
            watching.cancel()
        if told is None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.process.wait(), _GRACE_SECONDS)
            await self.aclose()
            if self._is_overfull:
                said = f"Reading {request['name']} took more than {2 * limits.unpacked:,} bytes of disk space."
                raise FileProblem("too_large", said)
            raise _death(self.process.returncode or 0, request, limits)
        if problem := told.get("problem"):
            raise FileProblem(problem["reason"], problem["message"], remedy=problem["remedy"])
        return told

    async def _watch(self, folders: Sequence[str], most: int) -> None:
        """End the process when all files in its folders together exceed this many bytes."""

        def taken() -> int:
            return sum(bytes_in(folder, self.process.pid) for folder in folders)

        before = await asyncio.to_thread(taken)
        while await asyncio.to_thread(taken) - before <= most:  # noqa: ASYNC110 - a folder tells nobody
            await asyncio.sleep(_WATCH_SECONDS)
        self._is_overfull = True
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    async def aclose(self) -> None:
        """Ends it, and removes its folder."""
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
    """Carries out a request in a new process; see `ReadingProcess.ask`.

    Raises:
        FileProblem: The file cannot be read, or the process came to no good end.
    """
    process = await ReadingProcess.start()
    try:
        return await process.ask(request, limits, read=read, write=write, serve=serve)
    finally:
        await process.aclose()


class ReadingProcesses:
    """Processes for many small requests without files, kept from one to the next; each imports `warm` beforehand."""

    def __init__(self, *warm: str) -> None:
        self._warm = warm
        self._idle: list[asyncio.Task[ReadingProcess]] = []
        self._places = asyncio.Semaphore(_AT_ONCE)

    def prepare(self) -> None:
        """Starts a process in the background if none is idle."""
        if not self._idle:
            self._idle.append(asyncio.create_task(ReadingProcess.start(self._warm)))

    async def ask(self, request: dict[str, Any], limits: ReadLimits) -> dict[str, Any]:
        """Carries out a request; see `ReadingProcess.ask`.

        Raises:
            FileProblem: It cannot be carried out, or the process came to no good end.
        """
        async with self._places:
            self.prepare()
            started = self._idle.pop()
            process = await started
            try:
                told = await process.ask(request, limits)
            except BaseException:
                await process.aclose()
                raise
            self._idle.append(started)
            return told

    async def aclose(self) -> None:
        """Ends all idle processes."""
        while self._idle:
            with contextlib.suppress(OSError):  # it never started
                await (await self._idle.pop()).aclose()


def _granted(read: Sequence[str]) -> list[str]:
    """The existing paths that a process may read: the interpreter, its libraries, and what is granted in addition."""
    wanted = (*system_paths(), *sys.path, *_SYSTEM, *read)
    return [path for path in dict.fromkeys(wanted) if Path(path).is_absolute() and Path(path).exists()]


def _death(status: int, request: dict[str, Any], limits: ReadLimits) -> FileProblem:
    """The problem when a process ends without a reply."""
    name, kind = request["name"], request["kind"]
    if status in (-signal.SIGABRT, -signal.SIGKILL):
        return too_large(name, limits)
    if status == -signal.SIGALRM:
        return FileProblem("timeout", f"{name} was not read within {limits.seconds:g} seconds.")
    said = signal.Signals(-status).name if -status in set(signal.Signals) else f"status {status}"
    return FileProblem("damaged", f"{name} ended the program that reads {kind} files ({said}).")

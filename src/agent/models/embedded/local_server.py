"""Finding the embedded model's server, and starting it when there is none."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from agent.errors import ModelUnreachableError, StorageError
from agent.models.embedded.server_state import (
    ALREADY_RUNNING,
    ServerFiles,
    ServerOptions,
    ServerState,
    files_of,
    running,
)
from agent.models.retry import Notify
from mcp_tools import child
from mcp_tools.atomic import private, private_folder
from mcp_tools.text import one_line

_VARIABLES = ("TMPDIR", "PYTHON*", "GGML_*", "CUDA_*", "HIP_*", "ROCR_*", "VK_*")

_STARTED: list[subprocess.Popen[bytes]] = []
"""Servers outlive who started them; while both live, the starter must reap one that ends."""


def started() -> list[subprocess.Popen[bytes]]:
    """The servers that this process started, and that outlive it."""
    return list(_STARTED)


class LocalServer:
    """The server with these options, wherever it came from.

    Args:
        runtime: The folder where processes leave word of their servers.
        options: How the server is started.
        notify: Told that the model is being loaded.
        start_timeout: Seconds that loading may take.
        hung_after: Seconds of silence after which a server that had loaded is taken for hung, and ended.
    """

    def __init__(
        self,
        runtime: Path,
        options: ServerOptions,
        *,
        notify: Notify | None = None,
        start_timeout: float = 180.0,
        hung_after: float = 20.0,
    ) -> None:
        self._runtime = runtime
        self._options = options
        self._notify = notify
        self._start_timeout = start_timeout
        self._hung_after = hung_after
        self._starting = asyncio.Lock()

    @property
    def files(self) -> ServerFiles:
        """Its state, lock and log."""
        return files_of(self._runtime, self._options)

    def begin(self) -> None:
        """Starts it, if need be, without waiting for it.

        Raises:
            ModelUnreachableError: The library is missing.
            StorageError: The runtime folder cannot be written.
        """
        self._spawn(self.files)

    async def find(self) -> ServerState:
        """The server, started if need be.

        Raises:
            ModelUnreachableError: It cannot be started, or does not answer.
            StorageError: The runtime folder cannot be written.
        """
        async with self._starting:
            files = self.files
            state = files.read()
            if state is not None and state.ready and await _answers(state):
                return state
            return await self._start(files)

    async def _start(self, files: ServerFiles) -> ServerState:
        if self._notify:
            self._notify("loading the embedded model")
        began = tried = time.monotonic()
        process = self._spawn(files)
        while time.monotonic() < began + self._start_timeout:
            state = files.read()
            if state is not None and state.ready:
                if await _answers(state):
                    if self._notify and self._options.prefixes and not state.prefixes:
                        self._notify(f"prompts are read anew each time: {self._options.prefixes} cannot be written")
                    return state
                if time.monotonic() - began > self._hung_after:
                    _kill(state)
            if process.poll() is not None:
                if process.returncode != ALREADY_RUNNING:
                    raise _not_started(files, process.returncode)
                # Another one holds the lock. Should it end before it is of use, the next attempt takes its place.
                if time.monotonic() - tried > 2.0:
                    process, tried = self._spawn(files), time.monotonic()
            await asyncio.sleep(0.1)
        raise _not_answering(files)

    def _spawn(self, files: ServerFiles) -> subprocess.Popen[bytes]:
        _require_xllamacpp()
        o = self._options
        command = [sys.executable, "-P", "-m", "agent.models.embedded.server", "--weights", str(o.weights.resolve())]
        command += ["--stem", str(files.stem), "--context", str(o.context), "--parallel", str(o.parallel)]
        command += ["--threads", str(o.threads), "--idle", str(o.idle)]
        command += ["--prefixes", str(o.prefixes.resolve())] if o.prefixes else []
        try:
            private_folder(files.stem.parent)
            # Appending: of two that start at once, the one that finds the lock taken must not empty the log.
            with open(files.log, "ab", opener=private) as log:
                process = child.popen(command, env=child.environment(*_VARIABLES), stdout=log, stderr=log)
        except OSError as exc:
            raise StorageError(
                f"the embedded model's server needs {files.stem.parent}: {exc.strerror or exc}",
                remedy="Make the folder writable, or set ALITA_HOME to another one.",
            ) from None
        _STARTED[:] = [earlier for earlier in _STARTED if earlier.poll() is None]
        _STARTED.append(process)
        return process


def stop_servers(runtime: Path, *, wait: float = 10.0) -> int:
    """Ends the embedded model's servers of this runtime folder and says how many there were."""
    found = running(runtime)
    for _, state in found:
        _kill(state, signal.SIGTERM)
    deadline = time.monotonic() + wait
    while any(state.alive for _, state in found) and time.monotonic() < deadline:
        time.sleep(0.05)
    for files, state in found:
        _kill(state)
        files.state.unlink(missing_ok=True)
    return len(found)


def _kill(state: ServerState, number: signal.Signals = signal.SIGKILL) -> None:
    """Ends the server, and no other process that got its number meanwhile."""
    if state.alive:
        with contextlib.suppress(ProcessLookupError):
            os.kill(state.pid, number)


@atexit.register
def _leave_running() -> None:
    """Keeps the interpreter from warning of servers that outlive it, as they are meant to."""
    for process in _STARTED:
        if process.poll() is None:
            process.returncode = 0


async def _answers(state: ServerState) -> bool:
    import httpx2

    try:
        async with httpx2.AsyncClient(trust_env=False, timeout=3.0) as client:
            response = await client.get(f"http://127.0.0.1:{state.port}/health")
            return response.status_code == 200
    except httpx2.HTTPError:
        return False


def _require_xllamacpp() -> None:
    if importlib.util.find_spec("xllamacpp") is None:
        raise ModelUnreachableError(
            "the embedded model needs the package xllamacpp, which is not installed",
            remedy='Install it with: pip install "alita[local]" — or set OPENAI_API_KEY or --base-url.',
        )


def _not_started(files: ServerFiles, status: int) -> ModelUnreachableError:
    return ModelUnreachableError(
        f"the embedded model's server ended with status {status}: {_last_words(files)}",
        remedy=f"Its log is {files.log}. `alita doctor` checks the weights; loading them takes about 2 GB of memory.",
    )


def _not_answering(files: ServerFiles) -> ModelUnreachableError:
    state = files.read()
    end = f"End it with `kill {state.pid}` and try again. " if state else "Try again. "
    return ModelUnreachableError("the embedded model's server does not answer", remedy=f"{end}Its log is {files.log}.")


def _last_words(files: ServerFiles) -> str:
    try:
        lines = files.log.read_text(errors="replace").strip().splitlines()
    except OSError:
        return "no log"
    return one_line(lines[-1] if lines else "nothing said", 200)

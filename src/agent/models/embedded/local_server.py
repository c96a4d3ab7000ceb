"""The embedded model's server: the files through which processes share it; finding it, starting it, ending it."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import hashlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from agent.errors import ModelUnreachableError, StorageError
from agent.models.failures import Notify
from mcp_tools import child
from mcp_tools.atomic import private, private_folder, write_whole
from mcp_tools.errors import os_errors_as
from mcp_tools.text import one_line

_VARIABLES = ("TMPDIR", "PYTHON*", "GGML_*", "CUDA_*", "HIP_*", "ROCR_*", "VK_*")
_HEALTH_SECONDS = 3.0
_START_SECONDS = 180.0
"""Limit of loading, in seconds."""
_WRITABLE = "Make the folder writable, or set ALITA_HOME to another one."
_STARTED: list[subprocess.Popen[bytes]] = []
"""Servers outlive who started them; while both live, the starter must reap one that ends."""


@dataclass(frozen=True)
class ServerOptions:
    """The server's start options. Other options make another server."""

    weights: Path
    context: int = 16384
    parallel: int = 8
    idle: float = 900.0
    """Seconds without a request after which it ends; 0 for never."""
    prefixes: Path | None = None
    """The folder in which the beginnings of prompts are kept, for all engines; None: they are not."""

    @property
    def engine(self) -> str:
        """Names the weights and the library: what one computed is of no use to another."""
        stat = self.weights.stat()
        same = [str(self.weights.resolve()), stat.st_size, stat.st_mtime_ns]
        with contextlib.suppress(PackageNotFoundError):
            same.append(version("xllamacpp"))
        return _hash(same)

    @property
    def kept(self) -> Path | None:
        """The folder of this engine's prefixes."""
        return self.prefixes and self.prefixes / self.engine

    @property
    def key(self) -> str:
        """Name of the server with these weights and options."""
        prefixes = self.prefixes and str(self.prefixes.resolve())
        return _hash([self.engine, self.context, self.parallel, prefixes])


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class ServerState:
    """A server as it describes itself."""

    pid: int
    born: str
    """Start time of the process, in the kernel's ticks; distinguishes it from a later process with the same number."""
    port: int = 0
    token: str = ""
    threads: int = 0
    idle: float = 0.0
    started: float = 0.0
    prefixes: str = ""
    """The folder of the prefixes that it takes back; empty when none can be kept."""

    @property
    def ready(self) -> bool:
        """It has loaded."""
        return self.port > 0

    @property
    def alive(self) -> bool:
        """Its process exists, and is no other that got its number."""
        return self.born == born(self.pid) != ""

    def end(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Ends the server, and no other process that got its number meanwhile."""
        if self.alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


class ServerFiles:
    """The files of one server in the runtime folder: all have one stem.

    The state's modification time is the last request's; the lock is held by the client that starts the server, until
    it is ready; the log has what the server prints.
    """

    def __init__(self, stem: Path) -> None:
        self.stem = stem
        self.state, self.lock, self.log = (stem.with_suffix(suffix) for suffix in (".json", ".lock", ".log"))

    def read(self) -> ServerState | None:
        """The state of a server that lives; None without a server."""
        try:
            state = ServerState(**json.loads(self.state.read_text()))
        except (OSError, ValueError, TypeError):
            return None
        return state if state.alive else None

    def write(self, state: ServerState) -> None:
        """Writes the state so that only this user can read it, whole or not at all."""
        write_whole(self.state, json.dumps(asdict(state)).encode())

    def touch(self) -> None:
        """Notes that the server is being used."""
        with contextlib.suppress(OSError):
            os.utime(self.state)


def running(runtime: Path) -> list[tuple[ServerFiles, ServerState]]:
    """The servers that live."""
    found = [ServerFiles(path.with_suffix("")) for path in sorted(runtime.glob("embedded-*.json"))]
    return [(files, state) for files in found if (state := files.read()) is not None]


def born(pid: int) -> str:
    """Return the start time of a process, from /proc if it exists; empty if there is no such process."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if after_name[0] in "ZX" else after_name[19]
    except OSError:
        if Path("/proc/self").exists():
            return ""
    with contextlib.suppress(PermissionError):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return ""
    return "unknown"


def started() -> list[subprocess.Popen[bytes]]:
    """The servers that this process started, and that outlive it."""
    return list(_STARTED)


@atexit.register
def _leave_running() -> None:
    """Silence the interpreter's warning about servers that outlive it, which is intended."""
    for process in _STARTED:
        if process.poll() is None:
            process.returncode = 0


class LocalServer:
    """The server with these options, whichever process started it; `runtime` is the folder of the servers' states."""

    def __init__(self, runtime: Path, options: ServerOptions, *, notify: Notify | None = None) -> None:
        self.files = ServerFiles(runtime / f"embedded-{options.key}")
        self._options = options
        self._notify = notify or (lambda _: None)
        self._starting = asyncio.Lock()

    async def find(self) -> ServerState:
        """The server, started if need be.

        Raises:
            ModelUnreachableError: It cannot be started, or does not answer.
            StorageError: The runtime folder cannot be written.
        """
        async with self._starting:
            return await self._found()

    async def _found(self) -> ServerState:
        from filelock import FileLock, Timeout

        files, deadline = self.files, time.monotonic() + _START_SECONDS
        process: subprocess.Popen[bytes] | None = None
        is_told = False
        lock = FileLock(files.lock, blocking=False)
        try:
            while time.monotonic() < deadline:
                state = files.read()
                if state is not None and state.ready and await _answers(state):
                    if process and self._options.prefixes and not state.prefixes:
                        self._notify(f"prompts cannot be cached: {self._options.prefixes} is not writable")
                    return state
                if not is_told:
                    self._notify("loading the embedded model")
                    is_told = True
                if process is not None and process.poll() is not None:
                    raise self._ended(process.returncode)
                if process is None and state is None:
                    remark = f"the embedded model's server needs {files.stem.parent}"
                    with os_errors_as(StorageError, remark, _WRITABLE), contextlib.suppress(Timeout):
                        lock.acquire()  # unless another process starts it
                        process = self.begin() if files.read() is None else None
                await asyncio.sleep(0.1)
        finally:
            lock.release()
        state = files.read()
        end = f"End it with `kill {state.pid}` and try again. " if state else "Try again. "
        raise ModelUnreachableError(
            "the embedded model's server did not answer", remedy=f"{end}Its log is {files.log}."
        )

    def _ended(self, status: int) -> ModelUnreachableError:
        said = (self.files.log.read_text(errors="replace").strip() or "nothing said").splitlines()[-1]
        return ModelUnreachableError(
            f"the embedded model's server ended with status {status}: {one_line(said, 200)}",
            remedy=f"Its log is {self.files.log}. `alita doctor` checks the weights; "
            "loading them takes about 2 GB of memory.",
        )

    def begin(self) -> subprocess.Popen[bytes]:
        """Start it without waiting for it; of two that were started, one ends.

        Raises:
            ModelUnreachableError: The library is missing.
            StorageError: The runtime folder cannot be written.
        """
        if importlib.util.find_spec("xllamacpp") is None:
            raise ModelUnreachableError(
                "the embedded model needs the package xllamacpp, which is not installed",
                remedy="`alita doctor` says how to install the extra [local]. Or set OPENAI_API_KEY or --base-url.",
            )
        files, o = self.files, self._options
        folders = {"weights": str(o.weights.resolve()), "prefixes": str(o.prefixes.resolve()) if o.prefixes else None}
        options = json.dumps(asdict(o) | folders)
        command = [sys.executable, "-P", "-m", "agent.models.embedded.server", str(files.stem.absolute()), options]
        with os_errors_as(StorageError, f"the embedded model's server needs {files.stem.parent}", _WRITABLE):
            private_folder(files.stem.parent)
            with open(files.log, "wb", opener=private) as log:
                process = child.popen(command, env=child.environment(*_VARIABLES), stdout=log, stderr=log)
        _STARTED[:] = [*(earlier for earlier in _STARTED if earlier.poll() is None), process]
        return process


def stop_servers(runtime: Path, *, wait: float = 10.0) -> int:
    """Ends the embedded model's servers of this runtime folder and says how many there were."""
    found = running(runtime)
    for _, state in found:
        state.end(signal.SIGTERM)
    deadline = time.monotonic() + wait
    while any(state.alive for _, state in found) and time.monotonic() < deadline:
        time.sleep(0.05)
    for files, state in found:
        state.end()
        files.state.unlink(missing_ok=True)
    return len(found)


async def _answers(state: ServerState) -> bool:
    import httpx2

    try:
        async with httpx2.AsyncClient(trust_env=False, timeout=_HEALTH_SECONDS) as client:
            return (await client.get(f"http://127.0.0.1:{state.port}/health")).status_code == 200
    except httpx2.HTTPError:
        return False

"""Client side of the embedded model's server: find it, start it, stop it. Processes share it through state files."""

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
_LOADING_SECONDS = 180.0
_WRITABLE = "Make the folder writable, or set ALITA_HOME to another folder."
_STARTED: list[subprocess.Popen[bytes]] = []
"""Servers that this process started. They may outlive it, but if one exits earlier, this process must reap it."""


@dataclass(frozen=True)
class ServerOptions:
    """Options of a server. Clients with equal options share one server."""

    weights: Path
    context: int = 16384
    parallel: int = 8
    idle: float = 900.0
    """The server exits after this many seconds without a request; 0 keeps it running."""
    prefixes: Path | None = None
    """Folder for stored prompt prefixes; None to store none."""

    @property
    def engine(self) -> str:
        """Hash of the weights file and the library version. Stored prefixes are only valid for one engine."""
        stat = self.weights.stat()
        same = [str(self.weights.resolve()), stat.st_size, stat.st_mtime_ns]
        with contextlib.suppress(PackageNotFoundError):
            same.append(version("xllamacpp"))
        return _hash(same)

    @property
    def prefix_folder(self) -> Path | None:
        """The folder of this engine's prefixes."""
        return self.prefixes and self.prefixes / self.engine

    @property
    def key(self) -> str:
        """Hash of the weights and options, which names the server's files."""
        prefixes = self.prefixes and str(self.prefixes.resolve())
        return _hash([self.engine, self.context, self.parallel, prefixes])


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class ServerState:
    """Content of a server's state file."""

    pid: int
    born: str
    """Start time of the process, in kernel ticks, because process ids are reused."""
    port: int = 0
    token: str = ""
    threads: int = 0
    idle: float = 0.0
    started: float = 0.0
    prefixes: str = ""
    """Folder of the stored prefixes that the server can load; empty if they cannot be stored."""

    @property
    def ready(self) -> bool:
        """True after the model has been loaded."""
        return self.port > 0

    @property
    def alive(self) -> bool:
        """True if the process still runs, and its id was not reused by another one."""
        return self.born == process_start(self.pid) != ""

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to the server, unless it has exited."""
        if self.alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


class ServerFiles:
    """The files of one server in the runtime folder, `STEM.json`, `STEM.lock` and `STEM.log`.

    The state's modification time is the time of the last request. A client that starts the server holds the lock until
    the server is ready. The log contains the server's output.
    """

    def __init__(self, stem: Path) -> None:
        self.stem = stem
        self.state, self.lock, self.log = (stem.with_suffix(suffix) for suffix in (".json", ".lock", ".log"))

    def read(self) -> ServerState | None:
        """Return the server's state; None if no server runs."""
        try:
            state = ServerState(**json.loads(self.state.read_text()))
        except (OSError, ValueError, TypeError):
            return None
        return state if state.alive else None

    def write(self, state: ServerState) -> None:
        """Write the state atomically, readable only by this user."""
        write_whole(self.state, json.dumps(asdict(state)).encode())

    def touch(self) -> None:
        """Record that the server is in use."""
        with contextlib.suppress(OSError):
            os.utime(self.state)


def running_servers(runtime: Path) -> list[tuple[ServerFiles, ServerState]]:
    """Return the running servers of a runtime folder."""
    found = [ServerFiles(path.with_suffix("")) for path in sorted(runtime.glob("embedded-*.json"))]
    return [(files, state) for files in found if (state := files.read()) is not None]


def process_start(pid: int) -> str:
    """Return the start time of a process, in kernel ticks; `unknown` without /proc, empty if no such process runs."""
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
    """Return the servers that this process started. Do not kill them when the process exits."""
    return list(_STARTED)


@atexit.register
def _leave_running() -> None:
    """Suppress Python's warning about child processes that are still running."""
    for process in _STARTED:
        if process.poll() is None:
            process.returncode = 0


class LocalServer:
    """A server with the given options, started by this process or another one.

    `runtime` is the folder of the state files.
    """

    def __init__(self, runtime: Path, options: ServerOptions, *, notify: Notify | None = None) -> None:
        self.files = ServerFiles(runtime / f"embedded-{options.key}")
        self._options = options
        self._notify = notify or (lambda _: None)
        self._finding = asyncio.Lock()

    async def find(self) -> ServerState:
        """Return the state of the running server. If none runs, start it and wait until it is ready.

        Raises:
            ModelUnreachableError: The server cannot be started, or does not answer.
            StorageError: The runtime folder cannot be written.
        """
        async with self._finding:
            return await self._find()

    async def _find(self) -> ServerState:
        from filelock import FileLock, Timeout

        files, deadline = self.files, time.monotonic() + _LOADING_SECONDS
        process: subprocess.Popen[bytes] | None = None
        has_notified = False
        lock = FileLock(files.lock, blocking=False)
        try:
            while time.monotonic() < deadline:
                state = files.read()
                if state is not None and state.ready and await _is_healthy(state):
                    if process and self._options.prefixes and not state.prefixes:
                        self._notify(f"prompts cannot be cached: {self._options.prefixes} is not writable")
                    return state
                if not has_notified:
                    self._notify("loading the embedded model")
                    has_notified = True
                if process is not None and process.poll() is not None:
                    raise self._exited(process.returncode)
                if process is None and state is None:
                    message = f"the embedded model's server cannot use its folder {files.stem.parent}"
                    with os_errors_as(StorageError, message, _WRITABLE), contextlib.suppress(Timeout):
                        lock.acquire()  # fails with Timeout while another process starts the server
                        process = self.start() if files.read() is None else None
                await asyncio.sleep(0.1)
        finally:
            lock.release()
        state = files.read()
        end = f"Stop the server with `kill {state.pid}` and try again. " if state else "Try again. "
        raise ModelUnreachableError(
            "the embedded model's server did not answer", remedy=f"{end}Its log is {files.log}."
        )

    def _exited(self, status: int) -> ModelUnreachableError:
        last_line = (self.files.log.read_text(errors="replace").strip() or "no output").splitlines()[-1]
        return ModelUnreachableError(
            f"the embedded model's server exited with status {status}: {one_line(last_line, 200)}",
            remedy=f"Its log is {self.files.log}. `alita doctor` checks the weights; "
            "loading them takes about 2 GB of memory.",
        )

    def start(self) -> subprocess.Popen[bytes]:
        """Start the server without waiting for it. If two are started, one of them exits.

        Raises:
            ModelUnreachableError: The library is missing.
            StorageError: The runtime folder cannot be written.
        """
        if importlib.util.find_spec("xllamacpp") is None:
            raise ModelUnreachableError(
                "the embedded model needs the package xllamacpp, which is not installed",
                remedy="`alita doctor` shows how to install the extra [local]. Or set OPENAI_API_KEY or --base-url.",
            )
        files, o = self.files, self._options
        folders = {"weights": str(o.weights.resolve()), "prefixes": str(o.prefixes.resolve()) if o.prefixes else None}
        options = json.dumps(asdict(o) | folders)
        command = [sys.executable, "-P", "-m", "agent.models.embedded.server", str(files.stem.absolute()), options]
        with os_errors_as(
            StorageError, f"the embedded model's server cannot use its folder {files.stem.parent}", _WRITABLE
        ):
            private_folder(files.stem.parent)
            with open(files.log, "wb", opener=private) as log:
                process = child.popen(command, env=child.environment(*_VARIABLES), stdout=log, stderr=log)
        _STARTED[:] = [*(earlier for earlier in _STARTED if earlier.poll() is None), process]
        return process


def stop_servers(runtime: Path, *, wait: float = 10.0) -> int:
    """Stop all servers of a runtime folder, and return their number. After `wait` seconds they are killed."""
    found = running_servers(runtime)
    for _, state in found:
        state.kill(signal.SIGTERM)
    deadline = time.monotonic() + wait
    while any(state.alive for _, state in found) and time.monotonic() < deadline:
        time.sleep(0.05)
    for files, state in found:
        state.kill()
        files.state.unlink(missing_ok=True)
    return len(found)


async def _is_healthy(state: ServerState) -> bool:
    import httpx2

    try:
        async with httpx2.AsyncClient(trust_env=False, timeout=_HEALTH_SECONDS) as client:
            return (await client.get(f"http://127.0.0.1:{state.port}/health")).status_code == 200
    except httpx2.HTTPError:
        return False

"""What is known of the embedded model's server: the files through which processes share it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from mcp_tools.atomic import write_whole

ALREADY_RUNNING = 75
"""Exit status of a server that found another one holding the lock."""


@dataclass(frozen=True)
class ServerOptions:
    """How the server is started. Other options make another server."""

    weights: Path
    context: int = 16384
    """Tokens that all slots share."""
    parallel: int = 8
    """Answers that are written at once."""
    idle: float = 900.0
    """Seconds without a request after which it ends; 0 for never."""
    threads: int = 0
    """0: as many as there are cores that nobody else keeps busy."""
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

    def key(self) -> str:
        """Names this server among those of other weights or options."""
        return _hash(
            [self.engine, self.context, self.parallel, self.threads, str(self.prefixes and self.prefixes.resolve())]
        )


@dataclass(frozen=True, slots=True)
class ServerState:
    """A server as it describes itself."""

    pid: int
    born: str
    """When the process started, in the kernel's count: tells it from a later process with its number."""
    weights: str
    port: int = 0
    """0 while it loads."""
    token: str = ""
    """The key that requests must carry."""
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


@dataclass(frozen=True, slots=True)
class ServerFiles:
    """The files of one server in the runtime folder."""

    stem: Path

    @property
    def state(self) -> Path:
        """The state; its modification time is the last request's."""
        return self.stem.with_suffix(".json")

    @property
    def lock(self) -> Path:
        """Held by the server as long as it lives."""
        return self.stem.with_suffix(".lock")

    @property
    def log(self) -> Path:
        """What the server prints, from its last start on."""
        return self.stem.with_suffix(".log")

    def read(self) -> ServerState | None:
        """The state of a server that lives; None if there is none."""
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


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:12]


def files_of(runtime: Path, options: ServerOptions) -> ServerFiles:
    """The files of the server with these options."""
    return ServerFiles(runtime / f"embedded-{options.key()}")


def running(runtime: Path) -> list[tuple[ServerFiles, ServerState]]:
    """The servers that live."""
    found = [ServerFiles(path.with_suffix("")) for path in sorted(runtime.glob("embedded-*.json"))]
    return [(files, state) for files in found if (state := files.read()) is not None]


def born(pid: int) -> str:
    """When a process started, as /proc counts it; empty when there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "" if Path("/proc/self/stat").exists() else _born_without_proc(pid)
    after_name = stat.rpartition(")")[2].split()
    return "" if after_name[0] in "ZX" else after_name[19]


def _born_without_proc(pid: int) -> str:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "unknown"

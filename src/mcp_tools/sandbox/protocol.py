"""The seam of the sandbox: run this source with these arguments under these limits, get a typed outcome."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal, Protocol

from mcp_tools.hosts import Carry
from mcp_tools.tool import CallCount, Json, Tool


class Level(StrEnum):
    """Strength of the isolation of model-written code from the machine."""

    STRONG = "strong"
    """Namespaces around, and rlimits, Landlock and seccomp in each child."""
    MEDIUM = "medium"
    """No namespaces, but rlimits, Landlock and seccomp, and not root."""
    WEAK = "weak"
    """A fresh process with limits only. Runs only where the user named the risk."""


@dataclass(frozen=True, slots=True)
class Isolation:
    """The isolation that is in force: probed by trying, never assumed."""

    level: Level
    backend: str
    """`bubblewrap`, `sandlock` or `none`."""
    layers: tuple[str, ...] = ()
    """The layers in force: `namespaces`, `landlock`, `seccomp`, `rlimits`, `supervisor` …"""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one call. At any limit, the call ends with a problem that names it."""

    wall_seconds: float = 10.0
    cpu_seconds: float = 10.0
    memory_mb: int = 512
    """Address space beyond what the interpreter had at the start of the call, in MiB."""
    output_bytes: int = 1_000_000
    """Captured stdout and stderr, each; of more, the beginning and the end are kept, and the outcome says so."""
    result_bytes: int = 10_000_000
    file_bytes: int = 64_000_000
    """The largest file that the call may write in its scratch folder."""


OUTPUT_BYTES, OUTPUT_FILES = 1_000_000_000, 2_000
"""The most that programs may leave for the user."""


@dataclass(frozen=True, slots=True)
class Writable:
    """A folder that code may write into, and how much it may hold."""

    folder: Path
    bytes: int = OUTPUT_BYTES
    entries: int = OUTPUT_FILES
    """Files and folders."""


ProblemKind = Literal[
    "exception",  # the code raised an exception; message and traceback are its own
    "syntax",  # the source does not compile
    "missing_function",  # the source has no such function
    "arguments",  # the function cannot be called with these arguments
    "result",  # the result is not JSON, not finite, too deep, cyclic, or has surrogates
    "result_size",  # the result is larger than its limit
    "wall_time",  # the call took longer than its limit
    "cpu_time",  # the call used more processor time than its limit
    "memory",  # the call needed more memory than its limit
    "exit",  # sys.exit, os._exit or a signal ended the call without a result
    "quota",  # the call wrote more than its folders may hold
    "denied",  # the sandbox refused a file, the network or a process
    "not_recorded",  # the code sent a host a request without a recorded response
    "sandbox",  # the sandbox itself failed
]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why there is no value, in words a model or a person can act on."""

    kind: ProblemKind
    message: str
    """One or two sentences: what happened, which limit or line."""
    traceback: str = ""
    """The code's own traceback, frames of the tool's file only."""
    line: int | None = None
    """The line of the tool's source where it happened."""


@dataclass(frozen=True, slots=True)
class Job:
    """One call."""

    source: str
    entry: str | None
    """The function to call with `arguments`; None runs the source as a program."""
    arguments: dict[str, Json] = field(default_factory=dict)
    read: tuple[Path, ...] = ()
    """Files or folders that may be read, seen inside at the same absolute path."""
    write: Path | None = None
    """A folder that may be read and written, in which the call begins; its scratch folder if None."""
    modules: dict[str, str] = field(default_factory=dict)
    """Sources of library tools that it may import by name."""
    packages: tuple[str, ...] = ()
    """Packages of the host's environment wanted inside, read-only. The base packages need not be named."""
    limits: Limits = field(default_factory=Limits)
    calls: tuple[dict[str, Json], ...] = ()
    """Arguments of several calls instead of one: all in one process, each with the source executed again. The value is
    the list of what they gave, as `mcp_tools.sandbox.call.outcomes` reads it; the first that is late is the last."""
    call_seconds: float = 0.0
    """Processor time of each call in seconds; after three times as long, no further call begins. Loading packages is
    apart."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of one call."""

    ok: bool
    isolation: Isolation
    value: Json = None
    """The function's result as JSON; for a program, None."""
    problem: Problem | None = None
    stdout: str = ""
    stderr: str = ""
    cut: bool = False
    """True if output was longer than the limit."""
    seconds: float = 0.0
    """Wall time of the call, from outside: nothing that runs inside can change it."""
    called: tuple[CallCount, ...] = ()
    """Calls of tools among the modules, as the process counted them; none of one that was killed."""
    requests: int = 0
    """Requests to hosts that were answered."""
    exchanges: tuple[Json, ...] = ()
    """These requests with their responses, as `mcp_tools.hosts.recorded` takes them; none if they are large."""


@dataclass(frozen=True, slots=True)
class Description:
    """The real signature and docstring of a function, derived inside the sandbox."""

    name: str
    description: str
    """The docstring's summary and body, without its Args section."""
    input_schema: dict[str, Json]
    output_schema: dict[str, Json]

    def as_tool(self, source: str, provenance: dict[str, Json]) -> Tool:
        """The tool that the described source makes, not yet proved."""
        return Tool(self.name, self.description, self.input_schema, self.output_schema, source, provenance=provenance)


Host = Callable[[str, dict[str, Json]], Awaitable[Json]]
"""Answers a call from inside a session: the function's name and arguments. The message of an `AlitaError` that it
raises becomes an exception there; every other error ends the block and is raised by `Session.run`."""


@dataclass(frozen=True, slots=True)
class Result:
    """The one value that a block printed or ends with."""

    said: Json
    """As a person writes it: dates, fractions and decimals are text."""
    plain: Json
    """As JSON: a decimal is a number where that is exact."""
    text: str
    """The printed text."""


@dataclass(frozen=True, slots=True)
class SessionOutcome:
    """Outcome of one block of code in a session."""

    problem: Problem | None = None
    """Why the block did not come to its end; `line` counts in this block."""
    value: str = ""
    """The `repr` of the expression that the block ends with, if nothing was printed."""
    result: Result | None = None
    """The value for answers; None if the block gave no value, or printed several."""
    stdout: str = ""
    """The printed text; above the limit, its beginning and its end."""
    stderr: str = ""
    cut: bool = False
    """True if printed output was longer than the limit."""
    seconds: float = 0.0
    """Wall time of the block without what the host's functions took, from outside."""
    fresh: bool = False
    """True if a new process ran it because the last one ended: variables of earlier blocks are gone."""
    called: tuple[CallCount, ...] = ()
    """Calls of tools among the modules, as the process counted them; none of one that was killed."""

    @property
    def ok(self) -> bool:
        """True if the block came to its end."""
        return self.problem is None


class Session(Protocol):
    """One sandboxed Python process that keeps its variables between calls."""

    def offer(self, name: str, source: str) -> None:
        """Makes a further module importable from the next block on."""

    def import_from(self, folder: Path) -> None:
        """Makes the packages of a folder importable from the next block on; the session may read it."""

    async def run(self, code: str, *, limits: Limits, hosts: bool = False) -> SessionOutcome:
        """Runs a block of code; blocks wait for each other.

        With `hosts`, requests of `urllib.request` become calls of the host's function `fetch`, also in later blocks.

        A block that takes too long is interrupted, so that variables stay; where that does not help, its process is
        ended. The limits on memory and files hold from the first block of a process on; processor time has none.

        Raises:
            IsolationError: The sandbox is broken or closed.
        """

    async def aclose(self) -> None:
        """Ends the process."""


class Sandbox(Protocol):
    """Runs model-written code, always under the same isolation."""

    @property
    def isolation(self) -> Isolation:
        """The isolation in force."""

    async def run(self, job: Job, *, carry: Carry | None = None) -> Outcome:
        """Runs one call. Code that fails gives an outcome; only a broken sandbox raises `IsolationError`.

        `carry` answers the requests that the code makes with `urllib.request`. Without it, there is no network.
        """

    async def describe(
        self, source: str, function: str, *, packages: tuple[str, ...] = (), modules: Mapping[str, str] | None = None
    ) -> Description | Problem:
        """Derives both schemas from the real signature, inside the sandbox, where it may import both."""

    def session(
        self,
        *,
        read: Sequence[Path] = (),
        write: Sequence[Writable] = (),
        modules: Mapping[str, str] | None = None,
        functions: Sequence[str] = (),
        host: Host | None = None,
    ) -> Session:
        """A session that is not started yet. Base packages and packages for files can be imported in it.

        Args:
            read: Files and folders that may be read, also what comes into the folders later.
            write: Folders that code may write into; it begins in the first. Without one, what it writes is gone with
                the process.
            modules: Sources of library tools by the name to import.
            functions: Functions of the host that code may call: `search(query, limit=5)`, or a bare name where all
                arguments are given by name. Defaults stay with the host: only what a call gives is sent.
            host: Answers these calls.

        Raises:
            ValueError: A function is not written as a name or a signature.
        """

    async def aclose(self) -> None:
        """Ends every process of the sandbox."""

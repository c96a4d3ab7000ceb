"""The interface of the sandbox: run source code with arguments under limits, and get a typed outcome."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal, Protocol

from mcp_tools.hosts import Carry
from mcp_tools.tool import CallCount, Json, Tool


class Level(StrEnum):
    """The strength of the isolation between model-written code and the machine."""

    STRONG = "strong"
    """Namespaces around the interpreter, and rlimits, Landlock and seccomp in each child."""
    MEDIUM = "medium"
    """Rlimits, Landlock and seccomp without namespaces, and never as root."""
    WEAK = "weak"
    """A fresh process with resource limits only. Used only if the user asks for it explicitly."""


@dataclass(frozen=True, slots=True)
class Isolation:
    """The isolation in force. Every layer was tested when the sandbox was opened, never assumed."""

    level: Level
    backend: str
    """`bubblewrap`, `sandlock` or `none`."""
    layers: tuple[str, ...] = ()
    """Layers in force: `namespaces`, `sandlock`, `landlock`, `seccomp`, `rlimits`, `supervisor`."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one call. A call that reaches a limit ends with a problem that names the limit."""

    wall_seconds: float = 10.0
    cpu_seconds: float = 10.0
    memory_mb: int = 512
    """Limit, in MiB, of the address space that the call may add to the interpreter's own."""
    output_bytes: int = 1_000_000
    """Limit for each of stdout and stderr. The middle of longer output is omitted; see `Outcome.cut`."""
    result_bytes: int = 10_000_000
    file_bytes: int = 64_000_000
    """Size limit for each file that the call writes."""


OUTPUT_BYTES, OUTPUT_FILES = 1_000_000_000, 2_000
"""Default limits on the bytes and entries in a folder that programs write into."""


@dataclass(frozen=True, slots=True)
class Writable:
    """A folder that code may write into, with limits on its contents."""

    folder: Path
    bytes: int = OUTPUT_BYTES
    entries: int = OUTPUT_FILES


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
    """The reason why a call returned no value, in words that a model or a person can act on."""

    kind: ProblemKind
    message: str
    """One or two sentences that say what happened, with the limit or line involved."""
    traceback: str = ""
    """The traceback, reduced to frames in the tool and its modules."""
    line: int | None = None
    """The line in the tool's source where the problem occurred."""


@dataclass(frozen=True, slots=True)
class Job:
    """One call of model-written code."""

    source: str
    entry: str | None
    """The function to call with `arguments`. None runs the source as a program."""
    arguments: dict[str, Json] = field(default_factory=dict)
    read: tuple[Path, ...] = ()
    """Files or folders that the call may read. Inside the sandbox, their absolute paths are the same."""
    write: Path | None = None
    """The call's working directory, which it may read and write. None means the call's scratch folder."""
    modules: dict[str, str] = field(default_factory=dict)
    """Source code of the library tools that the code may import, by module name."""
    packages: tuple[str, ...] = ()
    """Packages to make importable, in addition to the base packages."""
    limits: Limits = field(default_factory=Limits)
    calls: tuple[dict[str, Json], ...] = ()
    """Arguments of several calls to make in one process, instead of `arguments`. The source is executed again for each
    call, and a call that exceeds its time limit is the last one. `mcp_tools.sandbox.call.outcomes` reads the value."""
    call_seconds: float = 0.0
    """Processor time limit for each of `calls`, excluding package loading. Once the wall time reaches three times this
    limit, no further call starts."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one call."""

    ok: bool
    isolation: Isolation
    value: Json = None
    """The function's result as JSON, or None for a program."""
    problem: Problem | None = None
    stdout: str = ""
    stderr: str = ""
    cut: bool = False
    """True if part of stdout or stderr was omitted because of the limit."""
    seconds: float = 0.0
    """Wall time, measured outside the sandbox, so that the code cannot falsify it."""
    called: tuple[CallCount, ...] = ()
    """Calls of imported tools, as counted inside. Empty if the process was killed."""
    requests: int = 0
    """Number of requests to hosts that got a response."""
    exchanges: tuple[Json, ...] = ()
    """These requests and their responses, in the form that `mcp_tools.hosts.recorded` takes. Empty if too large."""


@dataclass(frozen=True, slots=True)
class Description:
    """A function's name, description and schemas, derived from its signature and docstring inside the sandbox."""

    name: str
    description: str
    """The docstring without the sections on arguments, results and examples."""
    input_schema: dict[str, Json]
    output_schema: dict[str, Json]

    def as_tool(self, source: str, provenance: dict[str, Json]) -> Tool:
        """Return an unproved tool with this description."""
        return Tool(self.name, self.description, self.input_schema, self.output_schema, source, provenance=provenance)


Host = Callable[[str, dict[str, Json]], Awaitable[Json]]
"""A function that answers calls from code in a session. It gets the called function's name and arguments.

If it raises an `AlitaError`, the code gets an exception with the same message. Any other exception ends the block, and
`Session.run` raises it."""


@dataclass(frozen=True, slots=True)
class BlockResult:
    """The only value that a block printed, or the value of its last expression."""

    said: Json
    """The value as a person would write it: dates, fractions and decimals are text."""
    plain: Json
    """The value as JSON: a decimal is a number if the conversion is exact."""
    text: str


@dataclass(frozen=True, slots=True)
class SessionOutcome:
    """The outcome of one block of code in a session."""

    problem: Problem | None = None
    """The reason why the block did not finish. `line` is relative to the start of the block."""
    value: str = ""
    """The `repr` of the block's last expression if nothing was printed."""
    result: BlockResult | None = None
    """The block's value. None if there is no value or if the block printed several values."""
    stdout: str = ""
    """The printed text. If it exceeds the limit, its middle is omitted."""
    stderr: str = ""
    cut: bool = False
    """True if part of the printed text was omitted because of the limit."""
    seconds: float = 0.0
    """Wall time, excluding time spent in host functions. It is measured outside the sandbox."""
    fresh: bool = False
    """True if the previous process had exited, so the variables of earlier blocks are lost."""
    called: tuple[CallCount, ...] = ()
    """Calls of imported tools, as counted inside. Empty if the process was killed."""

    @property
    def ok(self) -> bool:
        """True if the block finished without a problem."""
        return self.problem is None


class Session(Protocol):
    """A sandboxed Python process that keeps its variables between blocks of code."""

    def offer(self, name: str, source: str) -> None:
        """Make a module importable, starting with the next block."""

    def import_from(self, folder: Path) -> None:
        """Make the packages in a folder importable, starting with the next block. The session must have read access."""

    async def run(self, code: str, *, limits: Limits, hosts: bool = False) -> SessionOutcome:
        """Run a block of code. Blocks run one at a time.

        A block that exceeds its wall time is interrupted, and the variables are kept. If the interrupt does not end the
        block, its process is killed. The first block's memory and file limits apply to the whole process. Processor
        time is not limited.

        Args:
            code: The code of the block.
            limits: The limits of the block.
            hosts: True to turn `urllib.request` requests into calls of the host function `fetch` from this block on.

        Raises:
            IsolationError: The sandbox is broken or closed.
        """

    async def aclose(self) -> None:
        """End the process."""


class Sandbox(Protocol):
    """Runs model-written code under one fixed isolation.

    Example:
        async with BubblewrapSandbox() as sandbox:
            outcome = await sandbox.run(Job("def f(n: int): return n * 2", "f", {"n": 4}))
        assert outcome.value == 8
    """

    @property
    def isolation(self) -> Isolation:
        """The isolation in force."""

    async def run(self, job: Job, *, carry: Carry | None = None) -> Outcome:
        """Run one call.

        Args:
            job: The code, its arguments and its limits.
            carry: Sends the requests that the code makes with `urllib.request`. Without it, there is no network access.

        Returns:
            The outcome, even if the code fails.

        Raises:
            IsolationError: The sandbox is broken.
        """

    async def describe(
        self, source: str, function: str, *, packages: tuple[str, ...] = (), modules: Mapping[str, str] | None = None
    ) -> Description | Problem:
        """Derive a function's schemas from its signature.

        The source is executed inside the sandbox and may import `packages` and `modules`.
        """

    def session(
        self,
        *,
        read: Sequence[Path] = (),
        write: Sequence[Writable] = (),
        modules: Mapping[str, str] | None = None,
        functions: Sequence[str] = (),
        host: Host | None = None,
    ) -> Session:
        """Return a session, which starts with its first block. Code can import base and file packages.

        Args:
            read: Files and folders that code may read, including files that are added to the folders later.
            write: Folders that code may write into. The first one is the working directory. If there are none, files
                that code writes are lost when the process ends.
            modules: Source code of library tools, by module name.
            functions: Host functions that code may call, as signatures such as `search(query, limit=5)`, or as bare
                names for functions that take only keyword arguments. Only the arguments that are given are sent; the
                host applies its own defaults.
            host: Answers these calls.

        Raises:
            ValueError: A function is neither a name nor a signature.
        """

    async def aclose(self) -> None:
        """End all processes of the sandbox."""

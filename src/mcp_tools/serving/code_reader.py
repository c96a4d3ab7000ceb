"""Code of clients, parsed in a separate process: Python may take long, and would hold up all other calls."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import json
import resource
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from mcp_tools import child
from mcp_tools.errors import LibraryError, ModelFixableError
from mcp_tools.header import declared
from mcp_tools.library.dependencies import module_names

_SMALL = 8_000
"""Characters: any code of this length is parsed in milliseconds."""
_CPU_SECONDS, _WALL_SECONDS, _MEMORY = 5, 30.0, 2 << 30
_AT_ONCE = 2
_MOST_PARTS = 1_000
"""Parts of one f-string: the time that Python takes grows with the square of their number."""


class UnreadableCodeError(ModelFixableError):
    """Code takes too long to parse."""


@dataclass(frozen=True, slots=True)
class Reading:
    """All that must be known of code before it runs; little if it does not parse, which the sandbox says."""

    functions: list[str] = field(default_factory=list)
    """The functions that it defines, in order."""
    modules: list[str] = field(default_factory=list)
    """The modules that it imports and that may be tools."""
    hosts: list[str] = field(default_factory=list)
    """The hosts that it declares."""
    parts: int = 0
    """The most parts that one of its f-strings has."""
    wrong_header: str = ""


class CodeReader:
    """Reads code of clients, of few at a time."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def read(self, source: str, packages: Sequence[str] = ()) -> Reading:
        """Reads code that may import tools, but for the names of these packages.

        Raises:
            UnreadableCodeError: Python takes too long to parse it.
            LibraryError: Its header is wrong.
        """
        if len(source) <= _SMALL:
            found = _reading(source, packages)
        else:
            async with self._turns:
                found = await _read_apart(source, packages)
        if found.wrong_header:
            raise LibraryError(found.wrong_header)
        return found

    async def require_quick(self, source: str) -> None:
        """Refuses code that cannot be parsed many times.

        Raises:
            UnreadableCodeError: It takes too long.
            LibraryError: Its header is wrong.
        """
        if (parts := (await self.read(source)).parts) > _MOST_PARTS:
            raise UnreadableCodeError(f"an f-string of the code has {parts:,} parts, and {_MOST_PARTS:,} are read")


async def _read_apart(source: str, packages: Sequence[str]) -> Reading:
    code = "from mcp_tools.serving.code_reader import read_input; read_input()"
    process = await child.start(
        child.python(code), env=child.environment(), stdin=child.PIPE, stdout=child.PIPE, private=True
    )
    said = json.dumps([source, [*packages]]).encode()
    try:
        async with asyncio.timeout(_WALL_SECONDS):
            answer, _ = await process.communicate(said)
        return Reading(**json.loads(answer))
    except (TimeoutError, ValueError, TypeError):
        raise UnreadableCodeError(
            f"Python takes more than {_CPU_SECONDS} s to parse the code: write it in small steps"
        ) from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def read_input() -> None:
    """Reads the code on standard input, in the child."""
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    source, packages = json.load(sys.stdin)
    print(json.dumps(asdict(_reading(source, packages))))


def _reading(source: str, packages: Sequence[str]) -> Reading:
    try:
        hosts, wrong = [*declared(source).hosts], ""
    except LibraryError as error:
        hosts, wrong = [], error.message
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Reading(hosts=hosts, wrong_header=wrong)
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    parts = max((len(node.values) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)), default=0)
    return Reading(functions, module_names(source, packages), hosts, parts, wrong)

"""Parse clients' code in a separate process, because parsing can be slow and would block all other calls."""

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
from mcp_tools.checks.header import declared
from mcp_tools.errors import LibraryError, ModelFixableError
from mcp_tools.library.dependencies import module_names

_SMALL_CHARS = 8_000
"""Code up to this length is parsed in this process, because that takes only milliseconds, even for hostile code."""
_CPU_SECONDS, _WALL_SECONDS, _MEMORY_BYTES = 5, 30.0, 2 << 30
_MAX_PARALLEL = 2
_MAX_FSTRING_PARTS = 1_000
"""Limit, because Python's parsing time grows with the square of the number of parts in one f-string."""


class UnreadableCodeError(ModelFixableError):
    """The code takes too long to parse."""


@dataclass(frozen=True, slots=True)
class ParsedCode:
    """Facts about code that are needed before it runs. If the code has a syntax error, the sandbox reports it."""

    functions: list[str] = field(default_factory=list)
    """Names of top-level functions, in order."""
    modules: list[str] = field(default_factory=list)
    """Names of imported modules that may be library tools."""
    hosts: list[str] = field(default_factory=list)
    """Hosts that the code's header declares."""
    parts: int = 0
    """Number of parts in the code's longest f-string."""
    wrong_header: str = ""


class CodeReader:
    """Parses clients' code, at most two texts at a time."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(_MAX_PARALLEL)

    async def read(self, source: str, packages: Sequence[str] = ()) -> ParsedCode:
        """Parse code. Imports of `packages` are not treated as imports of library tools.

        Raises:
            UnreadableCodeError: Python takes too long to parse the code.
            LibraryError: The code's header is invalid.
        """
        if len(source) <= _SMALL_CHARS:
            found = _parse(source, packages)
        else:
            async with self._slots:
                found = await _parse_in_child(source, packages)
        if found.wrong_header:
            raise LibraryError(found.wrong_header)
        return found

    async def require_quick(self, source: str) -> None:
        """Refuse code that parses too slowly for a proof, which parses the code many times.

        Raises:
            UnreadableCodeError: Parsing takes too long.
            LibraryError: The header is invalid.
        """
        if (parts := (await self.read(source)).parts) > _MAX_FSTRING_PARTS:
            raise UnreadableCodeError(f"an f-string has {parts:,} parts; the limit is {_MAX_FSTRING_PARTS:,}")


async def _parse_in_child(source: str, packages: Sequence[str]) -> ParsedCode:
    code = "from mcp_tools.serving.code_reader import parse_stdin; parse_stdin()"
    process = await child.start(
        child.python(code), env=child.environment(), stdin=child.PIPE, stdout=child.PIPE, private=True
    )
    request = json.dumps([source, [*packages]]).encode()
    try:
        async with asyncio.timeout(_WALL_SECONDS):
            answer, _ = await process.communicate(request)
        return ParsedCode(**json.loads(answer))
    except (TimeoutError, ValueError, TypeError):
        raise UnreadableCodeError(
            f"Python needs more than {_CPU_SECONDS} s to parse the code: write it in small steps"
        ) from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def parse_stdin() -> None:
    """Parse the code on stdin and print the result as JSON. Runs in the child process."""
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    source, packages = json.load(sys.stdin)
    print(json.dumps(asdict(_parse(source, packages))))


def _parse(source: str, packages: Sequence[str]) -> ParsedCode:
    try:
        hosts, wrong = [*declared(source).hosts], ""
    except LibraryError as error:
        hosts, wrong = [], error.message
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ParsedCode(hosts=hosts, wrong_header=wrong)
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    parts = max((len(node.values) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)), default=0)
    return ParsedCode(functions, module_names(source, packages), hosts, parts, wrong)

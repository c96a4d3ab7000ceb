"""The tools of the library that some code imports, directly or through others."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from mcp_tools.errors import LibraryError, UnknownToolError
from mcp_tools.library.tool_files import valid_name
from mcp_tools.packages import BASE_PACKAGES, FILE_PACKAGES, IMPORT_NAMES, import_name, imported, imports
from mcp_tools.tool import Status, Tool

Get = Callable[[str], Awaitable[Tool]]
"""Gives the tool of a name, as `Library.get` does."""

MOST_TOOLS = 50
"""The most tools that one call imports."""
_BEHIND = frozenset(map(import_name, (*BASE_PACKAGES, *FILE_PACKAGES))) | frozenset(IMPORT_NAMES.values())


@dataclass(frozen=True, slots=True)
class Needs:
    """Tools that some code imports, and those that these import."""

    tools: tuple[Tool, ...] = ()

    @property
    def modules(self) -> dict[str, str]:
        """Their sources by name."""
        return {tool.name: tool.source for tool in self.tools}

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages that they import."""
        found = (package for tool in self.tools for package in imported(tool.source, tool.capabilities.packages))
        return tuple(dict.fromkeys(found))

    def version_of(self, tool: Tool) -> str:
        """The hash of a tool's source, and of all sources that run with it, each under its name."""
        if not self.tools:
            return tool.source_hash
        hashes = [tool.source_hash, *sorted(f"{one.name}:{one.source_hash}" for one in self.tools)]
        return hashlib.sha256(" ".join(hashes).encode()).hexdigest()

    def and_packages(self, packages: Iterable[str]) -> tuple[str, ...]:
        """Packages of the code itself and theirs."""
        return tuple(dict.fromkeys((*packages, *self.packages)))


async def needs_of(names: Iterable[str], get: Get, *, of: str = "") -> Needs:
    """The approved tools of these names and all that they import, for the tool `of` or for a program.

    Raises:
        LibraryError: One is missing, damaged or not approved, or they import each other in a circle; the message names
            the way to it.
    """
    found: dict[str, Tool] = {}

    async def follow(name: str, way: tuple[str, ...]) -> None:
        if name in way:
            raise LibraryError(f"{_way(way, name)}tools may not import each other in a circle")
        if name in found:
            return
        if len(found) + len(way) >= MOST_TOOLS:
            raise LibraryError(f"{_way(way, name)}a call may bring {MOST_TOOLS} tools")
        try:
            tool = await get(name)
        except (UnknownToolError, LibraryError) as error:
            wrong = f"there is no tool {name!r}" if isinstance(error, UnknownToolError) else error.message
            raise LibraryError(f"{_way(way, name)}{wrong}", remedy=error.remedy) from None
        if tool.status is not Status.VERIFIED:
            raise LibraryError(f"{_way(way, name)}{name} is a draft", remedy=f"alita tools approve {name}")
        for inner in tool.capabilities.tools:
            await follow(inner, (*way, name))
        if tool.name != name:  # an additional name, such as that of a merged tool
            await follow(tool.name, way)
            source = f"from {tool.name} import {tool.name} as {name}\n"
            tool = replace(tool, name=name, source=source)
        found[name] = tool

    for name in names:
        await follow(name, (of,) if of else ())
    return Needs(tuple(found.values()))


def _way(way: Sequence[str], name: str) -> str:
    return f"{' → '.join((*way, name))}: " if way else ""


async def tools_imported(
    source: str, get: Get, *, declared: Sequence[str] = (), packages: Sequence[str] = ()
) -> list[str]:
    """The tools that a source imports by name, from the library or declared by itself.

    Raises:
        LibraryError: It imports too many modules.
    """
    return await tools_among(module_names(source, packages), get, declared=declared)


async def tools_among(modules: Sequence[str], get: Get, *, declared: Sequence[str] = ()) -> list[str]:
    """The same of the modules that a source imports; see `module_names`.

    Raises:
        LibraryError: There are too many.
    """
    if len(modules) > MOST_TOOLS:  # each is looked for
        raise LibraryError(f"the code imports {len(modules):,} modules that may be tools; {MOST_TOOLS} are allowed")
    found = []
    for name in modules:
        if name not in declared:
            try:
                await get(name)
            except UnknownToolError:
                continue
            except LibraryError:
                pass  # `needs_of` says what is wrong with it
        found.append(name)
    return found


def module_names(source: str, packages: Sequence[str] = ()) -> list[str]:
    """The modules that a source imports and that may be tools: none of Python, of usual or of given packages."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    others = sys.stdlib_module_names | _BEHIND | {*map(import_name, packages)}
    return [
        name
        for name in dict.fromkeys(module for _, module, _ in imports(tree))
        if valid_name(name) and name not in others
    ]

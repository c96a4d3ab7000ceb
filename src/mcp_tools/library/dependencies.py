"""Finds the tools that some code imports from the library, directly or through other tools."""

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
"""Returns the tool with a given name. Raises `UnknownToolError` or `LibraryError`, like `Library.get`."""

MAX_IMPORTED_TOOLS = 50
_PROVIDED = frozenset(map(import_name, (*BASE_PACKAGES, *FILE_PACKAGES))) | frozenset(IMPORT_NAMES.values())


@dataclass(frozen=True, slots=True)
class Needs:
    """All tools that some code imports, directly or indirectly."""

    tools: tuple[Tool, ...] = ()

    @property
    def modules(self) -> dict[str, str]:
        """The source of each tool, by its name."""
        return {tool.name: tool.source for tool in self.tools}

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages that the tools import."""
        found = (package for tool in self.tools for package in imported(tool.source, tool.capabilities.packages))
        return tuple(dict.fromkeys(found))

    def version_of(self, tool: Tool) -> str:
        """Return a hash of a tool's source together with the sources that it imports."""
        if not self.tools:
            return tool.source_hash
        hashes = [tool.source_hash, *sorted(f"{one.name}:{one.source_hash}" for one in self.tools)]
        return hashlib.sha256(" ".join(hashes).encode()).hexdigest()

    def and_packages(self, packages: Iterable[str]) -> tuple[str, ...]:
        """Return `packages` and the packages of the tools, without duplicates."""
        return tuple(dict.fromkeys((*packages, *self.packages)))


async def needs_of(names: Iterable[str], get: Get, *, of: str = "") -> Needs:
    """Collect approved tools and all tools that they import.

    Args:
        names: The names of the tools.
        get: Returns a tool.
        of: The tool that imports them; empty for a program.

    Raises:
        LibraryError: A tool is missing, damaged or not approved, or tools import each other in a circle. The message
            contains the chain of imports.
    """
    found: dict[str, Tool] = {}

    async def follow(name: str, way: tuple[str, ...]) -> None:
        if name in way:
            raise LibraryError(f"{_chain(way, name)}tools cannot import each other in a circle")
        if name in found:
            return
        if len(found) + len(way) >= MAX_IMPORTED_TOOLS:
            raise LibraryError(f"{_chain(way, name)}a call can import at most {MAX_IMPORTED_TOOLS} tools")
        try:
            tool = await get(name)
        except (UnknownToolError, LibraryError) as error:
            wrong = f"there is no tool {name!r}" if isinstance(error, UnknownToolError) else error.message
            raise LibraryError(f"{_chain(way, name)}{wrong}", remedy=error.remedy) from None
        if tool.status is not Status.VERIFIED:
            raise LibraryError(
                f"{_chain(way, name)}{name} is a draft", remedy=f"approve it first: alita tools approve {name}"
            )
        for inner in tool.capabilities.tools:
            await follow(inner, (*way, name))
        if tool.name != name:  # an alias
            await follow(tool.name, way)
            source = f"from {tool.name} import {tool.name} as {name}\n"
            tool = replace(tool, name=name, source=source)
        found[name] = tool

    for name in names:
        await follow(name, (of,) if of else ())
    return Needs(tuple(found.values()))


def _chain(way: Sequence[str], name: str) -> str:
    return f"{' → '.join((*way, name))}: " if way else ""


async def tools_imported(
    source: str, get: Get, *, declared: Sequence[str] = (), packages: Sequence[str] = ()
) -> list[str]:
    """Return the names of the tools that a source imports.

    Args:
        source: The source.
        get: Returns a tool.
        declared: Names that the source declares as tools. They are included even if the library does not contain them.
        packages: Packages that the source declares.

    Raises:
        LibraryError: The source imports too many modules that may be tools.
    """
    return await tools_among(module_names(source, packages), get, declared=declared)


async def tools_among(modules: Sequence[str], get: Get, *, declared: Sequence[str] = ()) -> list[str]:
    """Return the modules of a source that are tools; see `module_names` and `tools_imported`.

    Raises:
        LibraryError: There are too many modules.
    """
    if len(modules) > MAX_IMPORTED_TOOLS:  # each one is a lookup
        raise LibraryError(
            f"the code imports {len(modules):,} modules that may be tools; the limit is {MAX_IMPORTED_TOOLS}"
        )
    found = []
    for name in modules:
        if name not in declared:
            try:
                await get(name)
            except UnknownToolError:
                continue
            except LibraryError:
                pass  # `needs_of` reports the damage
        found.append(name)
    return found


def module_names(source: str, packages: Sequence[str] = ()) -> list[str]:
    """Return the imported modules that may be tools: not from the standard library or from an available package."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    others = sys.stdlib_module_names | _PROVIDED | {*map(import_name, packages)}
    return [
        name
        for name in dict.fromkeys(module for _, module, _ in imports(tree))
        if valid_name(name) and name not in others
    ]

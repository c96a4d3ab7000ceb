"""The functions of a Python module, each with what it needs of the module."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from mcp_tools.checks.source import Source

MOST_TOOLS = 1_000
"""Tools that one import takes in."""
_LONGEST = 1_000_000
"""Limit of a module that is imported function by function, in characters."""


def functions_of(text: str, wanted: str = "") -> list[tuple[str, str]]:
    """Name and source of each public function, or of the wanted one; a single one keeps the whole file.

    The source of one function among several has the unchanged imports, constants, classes and helpers that it uses.
    """
    try:
        source = Source(text if len(text) <= _LONGEST else "")
        public = [node for node in source.public_functions if node.name != "main"]
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the checks say so
        return []
    if len(public) <= 1:
        return [(node.name, text) for node in public]
    if len(public) > MOST_TOOLS:  # the caller refuses them all
        return [(node.name, "") for node in public]
    bound = [(node, {*_bound(node)}) for node in source.tree.body if node not in source.guards]
    chosen = [node.name for node in public if wanted in ("", node.name)]
    return [(name, _part(source, bound, {name, *source.used_by(name)})) for name in chosen]


def _part(source: Source, bound: Sequence[tuple[ast.stmt, set[str]]], wanted: set[str]) -> str:
    """The statements of a module that bind these names."""
    lines = source.text.split("\n")
    parts = []
    for node, names in bound:
        if (isinstance(node, ast.ImportFrom) and node.module == "__future__") or wanted & names:
            first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
            text = "\n".join(lines[first - 1 : node.end_lineno])
            parts.append(f"\n\n{text}" if isinstance(node, ast.FunctionDef | ast.ClassDef) else text)
    return "\n".join(parts).lstrip("\n") + "\n"


def _bound(node: ast.stmt) -> Iterator[str]:
    """The names that a statement at the top level binds."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
        return
    for part in ast.walk(node):
        if isinstance(part, ast.alias):
            yield (part.asname or part.name).partition(".")[0]
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id

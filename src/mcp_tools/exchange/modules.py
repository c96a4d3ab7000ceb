"""Split a Python module into its functions, each with the imports and helpers that it needs."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from mcp_tools.checks.source import CheckedSource

MAX_TOOLS = 1_000
_MAX_MODULE_CHARS = 1_000_000


def functions_of(text: str, wanted: str = "") -> list[tuple[str, str]]:
    """Return the name and source of each public function, or only of the function `wanted`.

    A function's source includes, unchanged, all imports, constants, classes and helpers that it uses. A module with
    only one public function is returned whole.
    """
    try:
        source = CheckedSource(text if len(text) <= _MAX_MODULE_CHARS else "")
        public = [node for node in source.public_functions if node.name != "main"]
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the checks will report the error
        return []
    if len(public) <= 1:
        return [(node.name, text) for node in public]
    if len(public) > MAX_TOOLS:  # the caller refuses them all
        return [(node.name, "") for node in public]
    bound = [(node, {*_bound(node)}) for node in source.tree.body if node not in source.guards]
    chosen = [node.name for node in public if wanted in ("", node.name)]
    return [(name, _part(source, bound, {name, *source.used_by(name)})) for name in chosen]


def _part(source: CheckedSource, bound: Sequence[tuple[ast.stmt, set[str]]], wanted: set[str]) -> str:
    """Return the statements of a module that bind these names."""
    lines = source.text.split("\n")
    parts = []
    for node, names in bound:
        if (isinstance(node, ast.ImportFrom) and node.module == "__future__") or wanted & names:
            first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
            text = "\n".join(lines[first - 1 : node.end_lineno])
            parts.append(f"\n\n{text}" if isinstance(node, ast.FunctionDef | ast.ClassDef) else text)
    return "\n".join(parts).lstrip("\n") + "\n"


def _bound(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a top-level statement binds."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
        return
    for part in ast.walk(node):
        if isinstance(part, ast.alias):
            yield (part.asname or part.name).partition(".")[0]
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id

"""A source under another function name, so that a second tool can stand beside the first."""

from __future__ import annotations

import ast
import re


def renamed(source: str, old: str, new: str) -> str:
    """The source with its top-level function `old`, and every use of it, called `new`.

    Attributes, keywords and parameters of the same name are left alone, and so are texts and comments, except for the
    calls that a docstring shows behind `>>>`.
    """
    if old == new:
        return source
    lines = source.encode().splitlines(keepends=True)
    for line, column in sorted(_places(source, old), reverse=True):
        text = lines[line - 1]
        if text[column : column + len(old)] == old.encode():
            lines[line - 1] = text[:column] + new.encode() + text[column + len(old) :]
    shown = re.compile(rf"^([ \t]*>>> .*?)\b{re.escape(old)}\(", re.MULTILINE)
    return shown.sub(rf"\g<1>{new}(", b"".join(lines).decode())


def _places(source: str, name: str) -> set[tuple[int, int]]:
    """Line and byte column of each place where the name stands for the function."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    places = {
        (node.lineno, node.col_offset) for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name
    }
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            keyword = "async def " if isinstance(node, ast.AsyncFunctionDef) else "def "
            places.add((node.lineno, node.col_offset + len(keyword)))
    return places

"""Names of tools: valid in Python, over MCP and as file names, and free of confusion."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Container

LONGEST = 64
_SHAPE = re.compile(rf"[a-z][a-z0-9_]{{0,{LONGEST - 1}}}", re.ASCII)
_RESERVED = frozenset(keyword.kwlist) | frozenset(keyword.softkwlist) | frozenset(dir(builtins))


def valid_name(text: str) -> bool:
    """Whether a tool may be called so: `^[a-z][a-z0-9_]{0,63}$`, no keyword and no builtin of Python."""
    return _SHAPE.fullmatch(text) is not None and text not in _RESERVED


def free_name(name: str, taken: Container[str]) -> str:
    """The name itself, or with the first of `_2`, `_3` … that is not taken, within the longest length."""
    if name not in taken:
        return name
    number = 2
    while (candidate := f"{name[: LONGEST - len(str(number)) - 1]}_{number}") in taken:
        number += 1
    return candidate


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

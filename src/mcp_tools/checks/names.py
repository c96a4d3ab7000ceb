"""Rules on names: each is bound somewhere, and none makes code or waits for a person."""

from __future__ import annotations

import ast
import builtins
import difflib
import importlib
import sys
from collections.abc import Iterator

from mcp_tools.checks.imports import refusal
from mcp_tools.checks.source import Remark, Source
from mcp_tools.packages import BASE_PACKAGES, import_name

_BUILTINS = frozenset(dir(builtins)) | {
    "__name__", "__file__", "__annotations__", "__builtins__", "__qualname__", "__module__",
}  # fmt: skip
_FORBIDDEN = {
    "eval": "it runs text as code; parse the text, or use ast.literal_eval",
    "exec": "it runs text as code; write the code itself",
    "compile": "it makes code from text; write the code itself",
    "__import__": "use an `import` line",
    "__builtins__": "use the builtin itself",
    "__loader__": "use an `import` line",
    "__spec__": "use an `import` line",
    "input": "it waits for a person; make what it asks for a parameter",
    "breakpoint": "remove it",
    "help": "remove it",
    "exit": "a tool returns; raise ValueError for bad input",
    "quit": "a tool returns; raise ValueError for bad input",
}
_HOMES = (
    "bisect", "collections", "copy", "dataclasses", "datetime", "decimal", "enum", "fractions", "functools", "heapq",
    "itertools", "math", "operator", "pathlib", "statistics", "string", "typing", "zoneinfo",
)  # fmt: skip
"""Where a name that is used without its import is looked for: importing these does nothing else."""
_ALIASES = {"np": "numpy", "pd": "pandas", "plt": "matplotlib", "sp": "sympy", "dt": "datetime"}


def undefined_name(source: Source) -> Iterator[Remark]:
    """Each name is a builtin, imported, or bound in its scope."""
    if "*" in source.origins:
        return  # it may bind anything; `allowed-imports` speaks of it
    for name in source.free_names - _BUILTINS:
        if lines := [node.lineno for node in source.all_of(ast.Name) if node.id == name]:
            yield Remark(min(lines), f"name {name!r} is not defined; {_remedy(name, source)}")


def _remedy(name: str, source: Source) -> str:
    if home := next((module for module in _HOMES if hasattr(importlib.import_module(module), name)), ""):
        return f"add `from {home} import {name}`"
    if name in sys.stdlib_module_names and not refusal(name):
        return f"add `import {name}`"
    packages = list(map(import_name, BASE_PACKAGES))
    if module := _ALIASES.get(name):
        if module in sys.stdlib_module_names or module in packages:
            return f"add `import {module} as {name}`"
        return f"{module} is not available; a tool may import {', '.join(packages)}"
    bound = {node.id for node in source.all_of(ast.Name)} | {node.arg for node in source.all_of(ast.arg)}
    known = [*(bound | source.names) - source.free_names, *dir(builtins)]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    return f"did you mean {near[0]!r}? Else import it or define it" if near else "import it or define it"


def forbidden_builtin(source: Source) -> Iterator[Remark]:
    """No `eval`, `exec`, `compile`, `__import__` or `input`: a tool makes no code and asks nobody."""
    for node in source.all_of(ast.Name):
        if node.id in _FORBIDDEN and node.id in source.free_names and node not in source.guard:
            yield Remark(node.lineno, f"{node.id!r} may not be used: {_FORBIDDEN[node.id]}")

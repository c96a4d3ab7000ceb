"""Rules on names: each is defined, and none reaches out of the function."""

from __future__ import annotations

import builtins
import difflib
import sys
from collections.abc import Iterator

from mcp_tools.checks import modules
from mcp_tools.checks.rule import Remark
from mcp_tools.checks.scopes import FreeName
from mcp_tools.checks.source import Source
from mcp_tools.packages import BASE_PACKAGES, import_name

_BUILTINS = frozenset(dir(builtins)) | {
    "__name__",
    "__file__",
    "__class__",
    "__annotations__",
    "__builtins__",
}
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


def undefined_name(source: Source) -> Iterator[Remark]:
    """Each name is a builtin, imported, or bound somewhere in its scope."""
    if source.has_star_import:
        return  # it may bind anything; `allowed-imports` speaks of it
    seen: set[str] = set()
    for free in source.free_names:
        if free.name not in _BUILTINS and free.name not in seen:
            seen.add(free.name)
            yield Remark(free.node.lineno, f"name {free.name!r} is not defined; {_remedy(free)}")


def _remedy(free: FreeName) -> str:
    name = free.name
    if name in modules.MODULE_OF:
        return f"add `from {modules.MODULE_OF[name]} import {name}`"
    if name in sys.stdlib_module_names and not modules.refusal(name):
        return f"add `import {name}`"
    if name in modules.USUAL_ALIASES:
        module = modules.USUAL_ALIASES[name]
        if module in sys.stdlib_module_names or module in map(import_name, BASE_PACKAGES):
            return f"add `import {module} as {name}`"
        return f"{module} is not available; a tool may import {', '.join(map(import_name, BASE_PACKAGES))}"
    near = difflib.get_close_matches(name, [*free.visible, *dir(builtins)], n=1, cutoff=0.75)
    return f"did you mean {near[0]!r}? Else import it or define it" if near else "import it or define it"


def forbidden_builtin(source: Source) -> Iterator[Remark]:
    """No eval, exec, compile, __import__, input: a tool makes no code and asks nobody."""
    for free in source.free_names:
        if free.name in _FORBIDDEN and free.node not in source.guard:
            yield Remark(free.node.lineno, f"{free.name!r} may not be used: {_FORBIDDEN[free.name]}")

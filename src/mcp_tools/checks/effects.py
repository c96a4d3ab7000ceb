"""The rule on effects: importing the file does nothing but define."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mcp_tools.checks.source import Remark, Source, annotation_nodes
from mcp_tools.text import words

_ACTING_BUILTINS = words("print input open")
_ACTING_METHODS = words("read_text read_bytes write_text write_bytes unlink rmdir mkdir touch rename iterdir")


def nothing_on_import(source: Source) -> Iterator[Remark]:
    """Importing the file defines and computes constants: it prints, asks, opens and waits for nothing."""
    waiting: list[ast.AST] = [statement for statement in source.tree.body if statement not in source.guards]
    for node in waiting:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += [*node.args.defaults, *(value for value in node.args.kw_defaults if value)]
            if not isinstance(node, ast.Lambda):
                waiting += [*node.decorator_list, *annotation_nodes(node)]
            continue
        if (isinstance(node, ast.Expr) and _calls_own(source, node.value)) or (
            isinstance(node, ast.Call) and _acts(source, node.func)
        ):
            text = ast.unparse(node).partition("\n")[0]
            shown = text if len(text) <= 60 else text[:59] + "…"
            where = 'move it into the function, or under `if __name__ == "__main__":`'
            yield Remark(node.lineno, f"`{shown}` would run on import; {where}")
            continue
        waiting += ast.iter_child_nodes(node)


def _calls_own(source: Source, value: ast.expr) -> bool:
    """Whether this calls a function of the file, whose result would be thrown away."""
    names = {function.name for function in source.functions}
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in names


def _acts(source: Source, function: ast.expr) -> bool:
    """Whether a call does more than compute."""
    match function:
        case ast.Name(id=name) if name in source.names:
            is_entry = source.entry is not None and name == source.entry.name
            return is_entry or (source.origins.get(name), name) == ("time", "sleep")
        case ast.Name(id=name):
            return name in _ACTING_BUILTINS
        case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in source.origins:
            return source.origins[name] in {"os", "shutil"} or (source.origins[name], attr) == ("time", "sleep")
        case ast.Attribute(attr=attr):
            return attr in _ACTING_METHODS
    return False

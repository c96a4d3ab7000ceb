"""What a function inside another one, or a helper beside it, may read and change of its surroundings."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from mcp_tools.checks.scopes import parameters
from mcp_tools.checks.syntax import children, walk

SILENT = frozenset({"print", "isinstance", "type", "id", "breakpoint"})
"""Builtins whose call alone, as a statement, changes nothing."""


@dataclass
class Closure:
    """A function or class inside: it sees what is around it when it is called, and may change it."""

    reads: frozenset[str]
    """Names around it."""
    changes: frozenset[str]


_SCALARS = frozenset(
    {"len", "int", "str", "float", "bool", "sum", "abs", "range", "round", "ord", "chr", "pow", "divmod"}
)
"""Builtins whose results share nothing with their arguments."""


def shared_names(value: ast.AST) -> set[str]:
    """The names whose objects the value of an expression may be, hold, or be a part of."""
    match value:
        case ast.Name(id=name):
            return {name}
        case ast.BinOp() | ast.Compare() | ast.UnaryOp() | ast.JoinedStr() | ast.Lambda() | ast.Constant():
            return set()
        case ast.Call(func=ast.Name(id=name)) if name in _SCALARS:
            return set()
    return {name for child in children(value) for name in shared_names(child)}


def changes_surroundings(helper: ast.AST) -> bool:
    """Whether a helper may act by changing what it was given, or what the module holds, rather than by returning."""
    for node in walk(helper):
        if isinstance(node, ast.Global):
            return True
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            return True
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and not is_silent(node.value):
            return True
    return False


def is_silent(call: ast.Call) -> bool:
    """Whether this is a call of a builtin that changes nothing."""
    return isinstance(call.func, ast.Name) and call.func.id in SILENT


def closure_of(node: ast.AST) -> Closure:
    """What a function, lambda or class inside reads, and what it may change, of the names around it."""
    definitions = [
        inner for inner in walk(node) if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    ]
    own = {parameter.arg for definition in definitions for parameter in parameters(definition)}
    reads: set[str] = set()
    changes: set[str] = set()
    for inner in walk(node):
        if isinstance(inner, ast.Name):
            (reads if isinstance(inner.ctx, ast.Load) else own).add(inner.id)
        elif isinstance(inner, ast.Nonlocal | ast.Global):
            changes.update(inner.names)
        elif isinstance(inner, ast.Call):
            places = [*inner.args, *([inner.func.value] if isinstance(inner.func, ast.Attribute) else [])]
            changes |= {base for place in places if (base := _base(place))}
        elif isinstance(inner, ast.Subscript | ast.Attribute) and not isinstance(inner.ctx, ast.Load):
            changes |= {base for base in [_base(inner)] if base}
    own -= {name for inner in walk(node) if isinstance(inner, ast.Nonlocal | ast.Global) for name in inner.names}
    return Closure(frozenset(reads | changes) - own, frozenset(changes) - own)


def _base(place: ast.AST) -> str:
    while isinstance(place, ast.Subscript | ast.Attribute | ast.Starred):
        place = place.value
    return place.id if isinstance(place, ast.Name) else ""

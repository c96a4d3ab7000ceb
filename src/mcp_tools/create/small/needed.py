"""Which statements of a reply a function needs: the rest are examples, tests and runners."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator, Sequence

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def needed_for(name: str, body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements at module level that the function `name` needs, in their order; of equal definitions the last."""
    last = {node.name: node for node in body if isinstance(node, _DEFINITIONS)}
    waiting = [
        node
        for node in body
        if not _is_runner(node) and (not isinstance(node, _DEFINITIONS) or last[node.name] is node)
    ]
    wanted, kept = {name}, [node for node in body if _binds_unseen(node)]
    while found := [node for node in waiting if not wanted.isdisjoint(touched(node))]:
        kept += found
        waiting = [node for node in waiting if node not in found]
        for node in found:
            wanted |= names_used(ast.unparse(node))
    return [node for node in body if node in kept]


def names_used(code: str) -> set[str]:
    """The names that code takes from the module level, whether they are bound there or not."""
    top = symtable.symtable(code, "<tool>", "exec")
    return {
        symbol.get_name()
        for table in _tables(top)
        for symbol in table.get_symbols()
        if symbol.is_referenced() and (table is top or symbol.is_global())
    }


def touched(node: ast.stmt) -> set[str]:
    """The names that a statement binds or changes at module level."""
    if isinstance(node, _DEFINITIONS):
        return {node.name}
    return bound(node) | {name for inner in ast.walk(node) if (name := _changes(inner)) is not None}


def bound(node: ast.stmt) -> set[str]:
    """The names that a statement binds at module level."""
    if isinstance(node, _DEFINITIONS):
        return {node.name}
    return {name for inner in ast.walk(node) if (name := _binds(inner)) is not None}


def _binds(node: ast.AST) -> str | None:
    if isinstance(node, ast.alias):
        return (node.asname or node.name).split(".")[0]
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    return None


def _changes(node: ast.AST) -> str | None:
    if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
        return _base(node)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return _base(node.value.func) if isinstance(node.value.func, ast.Attribute) else None
    return None


def _base(node: ast.expr) -> str | None:
    """`table` of `table[1].rows`."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _binds_unseen(node: ast.stmt) -> bool:
    """Whether an import matters without a name that tells it: `from __future__`, `from x import *`."""
    return isinstance(node, ast.ImportFrom) and (node.module == "__future__" or node.names[0].name == "*")


def _is_runner(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and any(
        isinstance(inner, ast.Name) and inner.id == "__name__" for inner in ast.walk(node.test)
    )


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _tables(child)

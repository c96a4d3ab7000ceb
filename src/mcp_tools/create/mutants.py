"""Wrong versions of a tool's code, of which its tests must catch some."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from random import Random

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
}


def mutants(source: str, *, count: int = 6, seed: int = 0) -> list[str]:
    """Up to `count` versions of the source that each differ from it in one place."""
    tree = ast.parse(source)
    places = [index for index, node in _walk_tool(tree) if _mutate(copy.copy(node))]
    Random(seed).shuffle(places)  # noqa: S311 - a repeatable choice
    versions = []
    for index in places[:count]:
        version = copy.deepcopy(tree)
        _mutate(list(ast.walk(version))[index])
        versions.append(ast.unparse(version))
    return versions


def _walk_tool(tree: ast.Module) -> Iterator[tuple[int, ast.AST]]:
    """Every node of the code, without the runner and without annotations, by its position in walking order."""
    left_out: set[ast.AST] = set()
    for node in ast.walk(tree):
        if node in tree.body and isinstance(node, ast.If):
            left_out.update(ast.walk(node))
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            left_out.update(ast.walk(part) if part is not None else ())
    return ((index, node) for index, node in enumerate(ast.walk(tree)) if node not in left_out)


def _mutate(node: ast.AST) -> bool:
    """Swaps the comparison, the operator or min and max, or raises the number of a node; False for any other node."""
    match node:
        case ast.Compare(ops=[first, *others]) if type(first) in _COMPARISONS:
            node.ops = [_COMPARISONS[type(first)](), *others]
        case ast.BinOp() | ast.AugAssign() if type(node.op) in _OPERATORS:
            node.op = _OPERATORS[type(node.op)]()
        case ast.BoolOp():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.Name(id="min" | "max", ctx=ast.Load()):
            node.id = "max" if node.id == "min" else "min"
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool) and value + 1 != value:
            node.value = value + 1
        case _:
            return False
    return True

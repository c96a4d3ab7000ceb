"""Wrong versions of a tool's code, of which its tests must catch some."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from random import Random

from mcp_tools.create.unseen import unseen

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
_TOLERANCE = 1e-3
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
}


def mutants(source: str, *, count: int = 6, seed: int = 0, guards: bool = True) -> Iterator[str]:
    """Up to `count` versions of the source that each differ from it in one place; perhaps not in what refuses input."""
    nodes = _walk_tool(ast.parse(source), guards)
    places = [index for index, node in nodes if _mutate(copy.copy(node)) or _is_removable(node)]
    Random(seed).shuffle(places)  # noqa: S311 - a repeatable choice
    for index in places[:count]:
        version = ast.parse(source)  # quicker than a copy
        node = [*ast.walk(version)][index]
        if not _mutate(node):
            _Without(node).visit(version)
        yield ast.unparse(version)


def _is_removable(node: ast.AST) -> bool:
    """Return True if the code still has a meaning without this statement: a step, a guard, a call for its effect."""
    match node:
        case ast.AugAssign() | ast.Break() | ast.Continue() | ast.Expr(value=ast.Call()):
            return True
        case ast.If(orelse=[], body=[ast.Raise() | ast.Return() | ast.Continue() | ast.Break()]):
            return True
    return False


class _Without(ast.NodeTransformer):
    def __init__(self, removed: ast.AST) -> None:
        self._removed = removed

    def visit(self, node: ast.AST) -> ast.AST:
        return ast.copy_location(ast.Pass(), node) if node is self._removed else super().visit(node)


def _walk_tool(tree: ast.Module, guards: bool) -> Iterator[tuple[int, ast.AST]]:
    """Every node of the code that a result may tell of, without the runner, by its position in walking order."""
    left_out = unseen(tree)
    for node in ast.walk(tree):
        if node in tree.body and isinstance(node, ast.If):
            left_out.update(ast.walk(node))
        if not guards and isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], ast.Raise):
            left_out.update((node, *ast.walk(node.test)))
        if isinstance(node, ast.keyword) and node.arg == "strict":
            left_out.update(ast.walk(node))  # a check that zip makes again
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            left_out.update(ast.walk(part) if part is not None else ())
    return ((index, node) for index, node in enumerate(ast.walk(tree)) if node not in left_out)


def _mutate(node: ast.AST) -> bool:
    """Swaps the comparison, the operator or min and max, or changes the constant of a node; False for any other."""
    match node:
        case ast.Compare(
            ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()], comparators=[ast.Constant(value=float(x))]
        ) if 0 < abs(x) < _TOLERANCE:
            return False  # whether a tolerance itself is within it shows in no result
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
        case ast.Constant(value=bool() as value):
            node.value = not value
        case _:
            return False
    return True

"""Wrong versions of a source: a test suite that fails none of them is not evidence."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
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
    """Up to `count` versions of the source that each differ from it in one place.

    A result left out is noticed by any test at all, so that it tells something only where nothing else can be changed.
    """
    tree = ast.parse(source)
    places = list(_places(tree)) or list(_results(tree))
    Random(seed).shuffle(places)  # noqa: S311 - a repeatable choice
    versions = []
    for index, change in places[:count]:
        version = copy.deepcopy(tree)
        change(list(ast.walk(version))[index])
        versions.append(ast.unparse(ast.fix_missing_locations(version)))
    return versions


def _places(tree: ast.Module) -> Iterator[tuple[int, Callable[[ast.AST], None]]]:
    """Positions in walking order, each with the change to make there; the runner is never called."""
    for index, node in _walk_tool(tree):
        if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS:
            yield index, _swap_comparison
        elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _OPERATORS:
            yield index, _swap_operator
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            yield index, _raise_constant


def _results(tree: ast.Module) -> Iterator[tuple[int, Callable[[ast.AST], None]]]:
    for index, node in _walk_tool(tree):
        if isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) != "None":
            yield index, _return_nothing


def _walk_tool(tree: ast.Module) -> Iterator[tuple[int, ast.AST]]:
    """Every node of the code, without the runner and without annotations, by its position in walking order."""
    left_out: set[ast.AST] = set()
    for node in ast.walk(tree):
        if node in tree.body and isinstance(node, ast.If):
            left_out.update(ast.walk(node))
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            left_out.update(ast.walk(part) if part is not None else ())
    return ((index, node) for index, node in enumerate(ast.walk(tree)) if node not in left_out)


def _swap_comparison(node: ast.AST) -> None:
    assert isinstance(node, ast.Compare)
    node.ops[0] = _COMPARISONS[type(node.ops[0])]()


def _swap_operator(node: ast.AST) -> None:
    assert isinstance(node, ast.BinOp | ast.AugAssign)
    node.op = _OPERATORS[type(node.op)]()


def _raise_constant(node: ast.AST) -> None:
    assert isinstance(node, ast.Constant)
    assert isinstance(node.value, int)
    node.value += 1


def _return_nothing(node: ast.AST) -> None:
    assert isinstance(node, ast.Return)
    node.value = ast.Constant(None)

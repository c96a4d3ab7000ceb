"""Places of a tool's code where a change shows in no result: no test can be asked to notice it."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator

from mcp_tools.text import words

_LARGE = 1_000_000
"""No test comes to a limit such as this one."""
_LARGE_LENGTH = 1_000
"""The same of a limit of a length."""
_MANY = 20
"""So many rounds of a loop, or digits of precision, are more than enough."""
_SIZES = words("buffering bufsize chunk_size chunksize maxsize")
_SIZED = words(
    "read read1 readinto recv lru_cache field_size_limit setrecursionlimit set_int_max_str_digits iter_content"
)
_PRECISION = words("prec precision")
_FOLDED: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.LShift: lambda one, by: one * 2**by,
    ast.Pow: pow,
}


def unseen(tree: ast.Module) -> set[ast.AST]:
    """The nodes of a module that no result can tell of."""
    found = {inner for node in _silent(tree) for inner in ast.walk(node)}
    numbers = {
        node.targets[0].id: (node, number)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        if (number := _number(node.value)) is not None
    }
    by_name = {name: number for name, (_, number) in numbers.items()}
    for node in ast.walk(tree):
        found.update(_idle(node, by_name))
        for part in _too_large(node, by_name):
            found.update(ast.walk(part))
    for name, (node, _) in numbers.items():
        uses = _uses(tree, name)
        if uses and all(use in found for use in uses):
            found.update(ast.walk(node))
    return found


def _silent(tree: ast.Module) -> Iterator[ast.AST]:
    """Messages, decorators, and values that only messages show."""
    raised = {inner for node in ast.walk(tree) if isinstance(node, ast.Raise) for inner in ast.walk(node)}
    yield from raised
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        yield from function.decorator_list
        for node in ast.walk(function):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    if _only_in(function, name, raised):
                        yield value
                case ast.For(
                    target=ast.Tuple(elts=[ast.Name(id=name), *_]),
                    iter=ast.Call(func=ast.Name(id="enumerate"), args=[_, *starts], keywords=named),
                ) if _only_in(function, name, raised):
                    yield from (*starts, *named)


def _uses(tree: ast.AST, name: str) -> list[ast.AST]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    ]


def _only_in(function: ast.AST, name: str, places: set[ast.AST]) -> bool:
    uses = _uses(function, name)
    return bool(uses) and all(use in places for use in uses)


def _is_over(part: ast.AST, limit: float, by_name: dict[str, float]) -> bool:
    number = by_name.get(part.id) if isinstance(part, ast.Name) else _number(part)
    return number is not None and abs(number) >= limit


def _large_sides(node: ast.Compare, by_name: dict[str, float]) -> list[ast.expr]:
    sides = [node.left, *node.comparators]
    least = _LARGE_LENGTH if any(_is_length(side) for side in sides) else _LARGE
    return [side for side in sides if _is_over(side, least, by_name)]


def _idle(node: ast.AST, by_name: dict[str, float]) -> Iterator[ast.AST]:
    """Return the node itself, if another operator makes no difference."""
    match node:
        case ast.Compare() if _large_sides(node, by_name):
            yield node
        case ast.BinOp(op=ast.Add() | ast.Sub(), right=ast.Constant(value=int() | float() as value)) if not value:
            yield node


def _too_large(node: ast.AST, by_name: dict[str, float]) -> Iterator[ast.AST]:
    """Parts of a node that are so large that a little more, or less, makes no difference."""
    match node:
        case ast.Compare():
            yield from _large_sides(node, by_name)
        case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=[rounds])):
            body = ast.Module(node.body, [])
            leaves = any(isinstance(inner, ast.Break | ast.Return) for inner in ast.walk(body))
            if not _uses(body, name) and (leaves or name == "_") and _is_over(rounds, _MANY, by_name):
                yield rounds
        case ast.Assign(targets=[ast.Attribute(attr=name) | ast.Name(id=name)], value=value):
            if name in _PRECISION and _is_over(value, _MANY, by_name):
                yield value
        case ast.keyword(arg=str(name), value=value):
            if name in _SIZES or (name in _PRECISION and _is_over(value, _MANY, by_name)):
                yield value
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=args) if name in _SIZED:
            yield from (part for part in args if _is_over(part, _LARGE_LENGTH, by_name))


def _is_length(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"


def _number(node: ast.AST) -> float | None:
    """The number that a constant expression such as `1 << 20` or `10**6` stands for."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            number = _number(inner)
            return None if number is None else -number
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _FOLDED:
            one, other = _number(left), _number(right)
            if one is None or other is None or abs(one) > 10**30 or abs(other) > 10**30:
                return None
            if isinstance(op, ast.Pow | ast.LShift) and abs(other) > 300:
                return None
            try:
                folded = _FOLDED[type(op)](one, other)
            except (ArithmeticError, ValueError):
                return None
            return folded if isinstance(folded, int | float) else None
    return None

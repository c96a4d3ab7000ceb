"""Which names a source reads without binding them, by Python's rules of scope."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, get_args

from mcp_tools.checks.syntax import children, walk

_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Scope = ast.Module | ast.ClassDef | _Definition | _Comprehension

_OPENING = frozenset(get_args(_Definition) + get_args(_Comprehension) + (ast.Module, ast.ClassDef, ast.comprehension))
_TELLING = _OPENING | {
    ast.Name, ast.Import, ast.ImportFrom, ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping,
    ast.NamedExpr, ast.Global, ast.Nonlocal,
}  # fmt: skip
"""Kinds of nodes that bind names or open scopes: all others are only walked through."""


class FreeName(NamedTuple):
    """A name that is read and that no scope of the source binds."""

    name: str
    node: ast.Name
    visible: frozenset[str]
    """What is bound where it is read: what may have been meant."""


@dataclass
class _Bindings:
    bound: set[str] = field(default_factory=set)
    hidden_inside: bool = False
    """A class: functions inside do not see its names."""


def module_names(tree: ast.Module) -> set[str]:
    """What a module binds at its top level, `global` statements of its functions included."""
    declared = {name for node in walk(tree) if isinstance(node, ast.Global) for name in node.names}
    return _bound_in(tree) | declared


def free_names(tree: ast.Module, names: set[str]) -> list[FreeName]:
    """Every read of a name that is bound in no scope around it; `names` are those of the module."""
    found: list[FreeName] = []
    _visit(tree, [_Bindings(names)], found)
    return found


def _visit(node: ast.AST, scopes: list[_Bindings], found: list[FreeName]) -> None:
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load) and not any(node.id in scope.bound for scope in scopes):
            found.append(FreeName(node.id, node, frozenset().union(*(scope.bound for scope in scopes))))
        return
    if type(node) not in _OPENING:
        for child in children(node):
            _visit(child, scopes, found)
        return
    for child, inside in _children(node):
        _visit(child, _enter(node, scopes) if inside and isinstance(node, _Scope) else scopes, found)


def _enter(scope: _Scope, scopes: list[_Bindings]) -> list[_Bindings]:
    if isinstance(scope, ast.Module):
        return scopes
    around = [outer for outer in scopes if not outer.hidden_inside]
    if isinstance(scope, _Comprehension):
        around = scopes  # its own first iterable is read in the class around it; one rule serves for the rest
    special = {"__class__", "__qualname__", "__module__"} if isinstance(scope, ast.ClassDef) else set()
    return [*around, _Bindings(_bound_in(scope) | special, isinstance(scope, ast.ClassDef))]


def _children(node: ast.AST) -> Iterator[tuple[ast.AST, bool]]:
    """Each child, and whether it is evaluated inside the scope that the node opens."""
    outside: list[ast.AST] = []
    if isinstance(node, _Definition):
        outside += [*node.args.defaults, *(value for value in node.args.kw_defaults if value)]
        if not isinstance(node, ast.Lambda):
            generic = bool(getattr(node, "type_params", None))  # their names are seen by the annotations
            outside += [*node.decorator_list, *(() if generic else annotation_nodes(node))]
            yield from ((annotation, True) for annotation in annotation_nodes(node) if generic)
    elif isinstance(node, ast.ClassDef):
        outside += [*node.decorator_list, *node.bases, *node.keywords]
    elif isinstance(node, _Comprehension):
        outside.append(node.generators[0].iter)
    apart = set(map(id, outside))
    yield from ((child, False) for child in outside)
    for child in children(node):
        if isinstance(child, ast.arguments):
            continue
        if isinstance(child, ast.comprehension):
            parts: list[ast.AST] = [child.target, child.iter, *child.ifs]
            yield from ((part, True) for part in parts if id(part) not in apart)
        elif id(child) not in apart:
            yield child, True


def annotation_nodes(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    """The annotations of a function's parameters and of its return, as far as they are there."""
    found = [parameter.annotation for parameter in parameters(node)] + [node.returns]
    return [annotation for annotation in found if annotation is not None]


def parameters(node: _Definition) -> list[ast.arg]:
    """All parameters of a function or lambda, in order, `*args` and `**kwargs` last."""
    listed = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return listed + [extra for extra in (node.args.vararg, node.args.kwarg) if extra]


def _bound_in(scope: _Scope) -> set[str]:
    """The names that a scope binds itself, without those of the scopes inside it."""
    bound: set[str] = set()
    if isinstance(scope, _Definition):
        bound |= {parameter.arg for parameter in parameters(scope)}
    bound |= {parameter.name for parameter in getattr(scope, "type_params", ())}
    elsewhere: set[str] = set()
    waiting: list[ast.AST] = list(children(scope))
    while waiting:
        node = waiting.pop()
        if type(node) not in _TELLING:
            waiting += children(node)
            continue
        bound |= _bound_by(node)
        if isinstance(node, ast.Global | ast.Nonlocal):
            elsewhere.update(node.names)
        if isinstance(node, _Comprehension):
            waiting += _walrus_targets(node)
        elif isinstance(node, ast.ClassDef | _Definition):
            waiting += _evaluated_around(node)
        elif isinstance(scope, _Comprehension) and isinstance(node, ast.NamedExpr):
            waiting.append(node.value)
        else:
            waiting += children(node)
    return bound - elsewhere


def _evaluated_around(node: ast.ClassDef | _Definition) -> list[ast.AST]:
    return [child for child, inside in _children(node) if not inside]


def _walrus_targets(node: _Comprehension) -> list[ast.AST]:
    """What `:=` binds inside a comprehension belongs to the scope around it."""
    return [inner.target for inner in walk(node) if isinstance(inner, ast.NamedExpr)]


def _bound_by(node: ast.AST) -> set[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return {name}
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return {alias.asname or alias.name.partition(".")[0] for alias in names}
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return {name}
        case ast.MatchMapping(rest=str(name)):
            return {name}
    return set()

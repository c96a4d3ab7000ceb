"""Functions at module level under other names, wherever their names mean them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def rename_functions(tree: ast.Module, names: Mapping[str, str]) -> None:
    """Renames functions at module level in place; parameters and local names that hide them keep theirs."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.name = names.get(node.name, node.name)
    _rename(tree.body, names)


def _rename(nodes: Sequence[ast.AST], names: Mapping[str, str]) -> None:
    for node in nodes:
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
        elif isinstance(node, ast.Global):
            node.names = [names.get(name, name) for name in node.names]
        elif isinstance(node, _Scope):
            body = node.body if isinstance(node.body, list) else [node.body]
            _rename([child for child in ast.iter_child_nodes(node) if child not in body], names)
            _rename(body, _without(names, _bound_in(node, body)))
        elif isinstance(node, ast.ClassDef):
            _rename_class(node, names)
        elif isinstance(node, _Comprehension):
            _rename_comprehension(node, names)
        else:
            _rename(list(ast.iter_child_nodes(node)), names)


def _rename_comprehension(node: _Comprehension, names: Mapping[str, str]) -> None:
    """Only its first iterable is read outside of its own scope."""
    targets = {name for part in node.generators for name in _stored(part.target)}
    first = node.generators[0].iter
    _rename([first], names)
    own = [child for child in ast.iter_child_nodes(node) if child is not node.generators[0]]
    own += [child for child in ast.iter_child_nodes(node.generators[0]) if child is not first]
    _rename(own, _without(names, targets))


def _rename_class(node: ast.ClassDef, names: Mapping[str, str]) -> None:
    """What a class binds hides nothing from its methods."""
    _rename([*node.bases, *node.keywords, *node.decorator_list], names)
    own = _without(names, set(_bindings(node.body)))
    for child in node.body:
        _rename([child], names if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else own)


def _without(names: Mapping[str, str], hidden: set[str]) -> Mapping[str, str]:
    return {old: new for old, new in names.items() if old not in hidden}


def _bound_in(node: _Scope, body: Sequence[ast.AST]) -> set[str]:
    arguments = {inner.arg for inner in ast.walk(node.args) if isinstance(inner, ast.arg)}
    outer = {name for inner in body for part in ast.walk(inner) if isinstance(part, ast.Global) for name in part.names}
    return (arguments | set(_bindings(body))) - outer


def _bindings(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """The names that statements bind in their own scope."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).split(".")[0]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif not isinstance(node, ast.Lambda | _Comprehension):
            yield from _bindings(list(ast.iter_child_nodes(node)))
            if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
                yield node.name


def _stored(node: ast.AST) -> Iterator[str]:
    return (inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name))

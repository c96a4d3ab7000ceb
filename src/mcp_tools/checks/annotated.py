"""Rules on annotations: all there, and of kinds that JSON can carry."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mcp_tools.checks.rule import Remark
from mcp_tools.checks.scopes import parameters
from mcp_tools.checks.source import Source

_INSTEAD = {
    "bytes": "str (base64)",
    "complex": "list[float] of two numbers",
    "bytearray": "str (base64)",
    "Callable": "str that names the choice",
    "DataFrame": "list[dict[str, Any]]",
    "Series": "list[float]",
    "ndarray": "list[float]",
    "string": "str",
    "integer": "int",
    "number": "float",
    "array": "list",
    "boolean": "bool",
}


def typed(source: Source) -> Iterator[Remark]:
    """Each parameter and the return of the public function is annotated."""
    if not source.entry:
        return
    for parameter in parameters(source.entry):
        if parameter.annotation is None:
            name = parameter.arg
            yield Remark(parameter.lineno, f"parameter {name!r} has no annotation; write `{name}: int`, or what it is")
    if source.entry.returns is None:
        yield Remark(
            source.entry.lineno,
            f"{source.entry.name!r} has no return annotation; write `-> int:`, or what it is",
        )


def json_types(source: Source) -> Iterator[Remark]:
    """No annotation is of a kind that JSON cannot carry. The schema, derived in the sandbox, has the last word."""
    if not source.entry:
        return
    aliases = _aliases(source.tree)
    for parameter in parameters(source.entry):
        if parameter.annotation is not None:
            for misfit in _misfits(parameter.annotation, aliases):
                yield Remark(parameter.annotation.lineno, f"parameter {parameter.arg!r}: {misfit}")
    if source.entry.returns is not None and not _is_none(source.entry.returns):
        for misfit in _misfits(source.entry.returns, aliases):
            yield Remark(source.entry.returns.lineno, f"the return: {misfit}")


def _is_none(annotation: ast.expr) -> bool:
    return isinstance(annotation, ast.Constant) and annotation.value is None


def _aliases(tree: ast.Module) -> dict[str, ast.expr | None]:
    """Names of types that the module makes: an alias by its value, a class by None."""
    found: dict[str, ast.expr | None] = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name] = None if isinstance(value, ast.Call) else value  # NewType, TypeVar, namedtuple
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                found[name] = value
            case ast.ClassDef(name=name):
                found[name] = None
    return found


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _misfits(annotation: ast.expr, aliases: dict[str, ast.expr | None], depth: int = 0) -> Iterator[str]:
    """What JSON cannot carry in an annotation, in words."""
    if depth > 20:
        yield "the type refers to itself; write it out"
        return
    match annotation:
        case ast.Constant(value=value) if value is None or value is ...:
            return
        case ast.Constant(value=str(text)):
            yield from _misfits(_parsed(text), aliases, depth + 1)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from _misfits(left, aliases, depth + 1)
            yield from _misfits(right, aliases, depth + 1)
        case ast.Subscript(value=base, slice=inner):
            yield from _generic_misfits(_last_name(base), _items(inner), aliases, depth)
        case ast.Name() | ast.Attribute():
            yield from _name_misfits(_last_name(annotation), aliases, depth)
        case _:
            yield f"`{ast.unparse(annotation)}` is no type; write int, str, list[...] or dict[str, ...]"


def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Name(id=text[:40], ctx=ast.Load())


def _items(inner: ast.expr) -> list[ast.expr]:
    return inner.elts if isinstance(inner, ast.Tuple) else [inner]


def _name_misfits(name: str, aliases: dict[str, ast.expr | None], depth: int) -> Iterator[str]:
    if name in aliases:
        meant = aliases[name]
        if meant is not None:
            yield from _misfits(meant, aliases, depth + 1)
    elif name in _INSTEAD:
        yield f"JSON cannot carry `{name}`; use {_INSTEAD[name]} and convert inside the function"


def _generic_misfits(
    base: str, items: list[ast.expr], aliases: dict[str, ast.expr | None], depth: int
) -> Iterator[str]:
    if base == "Literal":
        return
    yield from _name_misfits(base, {}, depth)
    for item in items[:1] if base == "Annotated" else items if base not in _INSTEAD else ():
        yield from _misfits(item, aliases, depth + 1)

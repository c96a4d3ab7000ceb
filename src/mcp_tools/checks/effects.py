"""Rules on effects: nothing happens on import, and a call only computes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mcp_tools.checks import modules
from mcp_tools.checks.modules import words
from mcp_tools.checks.rule import Remark
from mcp_tools.checks.source import Function, Source, is_guard
from mcp_tools.checks.structure import own_nodes
from mcp_tools.checks.syntax import children

_PURE_BUILTINS = words(
    """
    abs bool bytes chr complex dict divmod enumerate filter float format frozenset hash int len list
    map max min object ord pow property staticmethod classmethod range repr reversed round set slice
    sorted str sum super tuple type zip any all
    """
)
_PURE_METHODS = words(
    """
    split rsplit splitlines strip lstrip rstrip upper lower title casefold replace join format
    encode decode items keys values fromkeys maketrans copy union difference intersection index
    count removeprefix removesuffix zfill fromisoformat hex from_iterable quantize fromhex
    """
)
_OS_READING = words(
    """
    path listdir scandir walk stat fspath sep linesep getcwd PathLike altsep extsep curdir pardir
    """
)
_SYS = words(
    """
    maxsize maxunicode float_info int_info hash_info byteorder version_info version
    setrecursionlimit getrecursionlimit set_int_max_str_digits get_int_max_str_digits getsizeof
    intern stderr
    """
)
_WRITING_METHODS = words(
    """
    write_text write_bytes unlink rmdir mkdir touch symlink_to hardlink_to chmod rmtree extractall
    """
)


def nothing_on_import(source: Source) -> Iterator[Remark]:
    """The top level holds only imports, definitions, constants and the `__main__` guard."""
    yield from _busy_statements(source, source.tree.body)


def _busy_statements(source: Source, body: list[ast.stmt]) -> Iterator[Remark]:
    for statement in body:
        match statement:
            case ast.Import() | ast.ImportFrom() | ast.Pass():
                continue
            case ast.Expr(value=ast.Constant()):
                continue
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from _busy_definition(source, statement)
            case ast.ClassDef():
                for part in [
                    *statement.decorator_list,
                    *statement.bases,
                    *(k.value for k in statement.keywords),
                ]:
                    yield from _busy_expression(source, part)
                yield from _busy_statements(source, statement.body)
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                yield from _busy_expression(source, value)
            case ast.AnnAssign() | ast.If() if isinstance(statement, ast.AnnAssign) or is_guard(statement):
                if isinstance(statement, ast.If) and statement.orelse:
                    yield from _busy_statements(source, statement.orelse)
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=inner, orelse=[]):
                yield from _busy_statements(source, inner)
            case _ if type(statement).__name__ == "TypeAlias":
                continue
            case _:
                yield Remark(
                    statement.lineno,
                    f"`{_shown(statement)}` would run on import; move it into the function,"
                    ' or under `if __name__ == "__main__":`',
                )


def _busy_definition(source: Source, function: Function) -> Iterator[Remark]:
    defaults = [*function.args.defaults, *(value for value in function.args.kw_defaults if value)]
    for part in [*function.decorator_list, *defaults]:
        yield from _busy_expression(source, part)


def _busy_expression(source: Source, expression: ast.expr) -> Iterator[Remark]:
    """The calls in an expression that do more than compute a constant."""
    waiting: list[ast.AST] = [expression]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Lambda):
            waiting += [*node.args.defaults, *(value for value in node.args.kw_defaults if value)]
            continue
        if isinstance(node, ast.Call) and not _is_pure(source, node.func):
            yield Remark(
                node.lineno,
                f"`{_shown(node)}` would be called on import; call it inside the function"
                " (with functools.cache on a helper, if it is costly)",
            )
            continue
        waiting += children(node)


def _is_pure(source: Source, function: ast.expr) -> bool:
    match function:
        case ast.Name(id=name):
            origin = source.origins.get(name)
            if origin is not None:
                return origin in modules.PURE_ON_IMPORT
            return (name in _PURE_BUILTINS and name not in source.names) or name in source.classes
        case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in source.origins:
            return source.origins[name] in modules.PURE_ON_IMPORT or attr in _PURE_METHODS
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id=name))) if name in source.origins:
            return source.origins[name] in modules.PURE_ON_IMPORT
        case ast.Attribute(attr=attr):
            return attr in _PURE_METHODS
        case ast.Call(func=inner):
            return _is_pure(source, inner)
    return False


def _shown(node: ast.AST) -> str:
    text = ast.unparse(node).partition("\n")[0]
    return text if len(text) <= 60 else text[:59] + "…"


def only_computes(source: Source) -> Iterator[Remark]:
    """No process, no exit, no change of a file or of the interpreter."""
    for node in source.all_of(ast.Attribute):
        if isinstance(node.value, ast.Name) and node not in source.guard:
            yield from _misuse(node, source.origins.get(node.value.id, ""), node.attr)
        if node.attr in _WRITING_METHODS and source.reads_files:
            yield Remark(node.lineno, f".{node.attr}() changes files; a tool only reads, return the content instead")
    for taken in source.all_of(ast.ImportFrom):
        for alias in taken.names:
            yield from _misuse(taken, taken.module or "", alias.name)


def _misuse(node: ast.Attribute | ast.ImportFrom, module: str, attr: str) -> Iterator[Remark]:
    if module == "os" and attr not in _OS_READING:
        yield Remark(node.lineno, f"os.{attr} may not be used: a tool only computes, and reads the files granted to it")
    elif module == "sys" and attr == "exit":
        yield Remark(node.lineno, "sys.exit ends the tool without a result; return, or raise ValueError for bad input")
    elif module == "sys" and attr in {"argv", "stdin"} and isinstance(node, ast.Attribute):
        yield Remark(node.lineno, f"sys.{attr} is empty in a tool; make what it holds a parameter")
    elif module == "sys" and attr == "stdout":
        yield Remark(node.lineno, "sys.stdout is not the result; return the value")
    elif module == "sys" and attr not in _SYS | {"argv", "stdin"}:
        yield Remark(node.lineno, f"sys.{attr} may not be used: a tool does not touch the interpreter")
    elif module in {"io", "codecs", "bz2", "gzip", "lzma"} and attr in {"open", "open_code", "FileIO"}:
        yield Remark(node.lineno, f"{module}.{attr} opens a file; use open(), which needs the read capability")


def endless_loop(source: Source) -> Iterator[Remark]:
    """A `while True` can end: it holds a break, a return, a raise or a yield."""
    for node in source.all_of(ast.While):
        if isinstance(node.test, ast.Constant) and node.test.value and not _can_end(node):
            yield Remark(node.lineno, "this loop never ends; give it a condition, a break or a return")


def _can_end(loop: ast.While) -> bool:
    if any(
        isinstance(node, ast.Return | ast.Raise | ast.Yield | ast.YieldFrom | ast.Await) for node in own_nodes(loop)
    ):
        return True
    return any(_breaks(statement) for statement in loop.body)


def _breaks(node: ast.AST) -> bool:
    """Whether a break in it ends the loop around it, rather than a loop inside."""
    if isinstance(node, ast.Break):
        return True
    if isinstance(node, ast.For | ast.AsyncFor | ast.While):
        return any(_breaks(statement) for statement in node.orelse)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr):
        return False
    return any(_breaks(child) for child in children(node))

"""Rules on the shape of the file: one public function that a caller can use from its signature alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mcp_tools.checks.rule import Remark
from mcp_tools.checks.source import Function, Source
from mcp_tools.checks.syntax import children
from mcp_tools.library.tool_names import valid_name


def one_public_function(source: Source) -> Iterator[Remark]:
    """One public function is the tool: the one of the wanted name, else the one that uses the others."""
    public = [function.name for function in source.public_functions]
    wanted = source.function
    if wanted and wanted not in {function.name for function in source.functions}:
        yield Remark(0, f"there is no function {wanted!r} at the top level; define `def {wanted}(...)`")
        if len(public) == 1:
            yield Remark(source.public_functions[0].lineno, f"rename {public[0]!r} to {wanted!r}")
    elif not public:
        yield Remark(0, "there is no public function; define the tool as one function at the top level")
    elif not wanted and len(source.candidates) > 1:
        names = " and ".join(repr(function.name) for function in source.candidates)
        yield Remark(
            source.candidates[-1].lineno,
            f"{names} could each be the tool; start the names of the others with an underscore",
        )


def function_name(source: Source) -> Iterator[Remark]:
    """The name is snake_case, at most 64 characters, and hides no keyword or builtin."""
    if source.entry and not valid_name(source.entry.name):
        yield Remark(
            source.entry.lineno,
            f"{source.entry.name!r} cannot name a tool; use lower-case snake_case of at most 64 characters"
            " that is no keyword and no builtin",
        )


def plain_function(source: Source) -> Iterator[Remark]:
    """A plain function: whoever imports the tool calls it without an event loop."""
    if isinstance(source.entry, ast.AsyncFunctionDef):
        yield Remark(source.entry.lineno, f"{source.entry.name!r} is async; make it a plain `def`")


def named_parameters(source: Source) -> Iterator[Remark]:
    """No *args and no **kwargs: arguments come by name, as JSON."""
    if not source.entry:
        return
    arguments = source.entry.args
    for extra, stars in ((arguments.vararg, "*"), (arguments.kwarg, "**")):
        if extra:
            yield Remark(extra.lineno, f"{stars}{extra.arg} hides what the tool takes; name each parameter")


def docstring(source: Source) -> Iterator[Remark]:
    """A docstring: its first line tells when to use the tool."""
    if source.entry and not (ast.get_docstring(source.entry) or "").strip():
        yield Remark(
            source.entry.lineno,
            f"{source.entry.name!r} has no docstring; say in one sentence what it returns, then `Args:`",
        )


def returns_value(source: Source) -> Iterator[Remark]:
    """It returns its result; printing is no result."""
    if not source.entry or isinstance(source.entry, ast.AsyncFunctionDef):
        return
    nodes = list(_own_nodes(source.entry))
    if any(isinstance(node, ast.Return) and not _is_none(node.value) for node in nodes):
        return
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in nodes):
        return
    prints = [node for node in nodes if isinstance(node, ast.Call) and _is_name(node.func, "print")]
    if prints:
        yield Remark(prints[-1].lineno, "it prints its result and returns nothing; return the value instead")
    else:
        yield Remark(source.entry.lineno, f"{source.entry.name!r} never returns a value; end it with `return result`")


def _is_none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _own_nodes(function: Function) -> Iterator[ast.AST]:
    """The nodes of a body without those of the functions and classes inside it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting += children(node)

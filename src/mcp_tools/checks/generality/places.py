"""The constants of a source, and where they stand: in a table, as an outcome, as one of several choices."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mcp_tools.checks.source import Source
from mcp_tools.checks.syntax import walk

_Display = ast.List | ast.Tuple | ast.Set | ast.Dict
_TABLE_FROM = 3
"""A display with at least so many other constants, and more of them than of the question's, is a table."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of the code."""

    value: object
    line: int
    is_docstring: bool
    is_choice: bool
    """Compared with something, or returned as it is: a word a general tool may well know."""
    around: ast.AST | None
    """The outermost display that it is an element of."""

    def in_table(self, is_asked: Callable[[object], bool]) -> bool:
        """Whether it is one entry of a table that is mostly not of the question."""
        if self.around is None:
            return False
        values = [node.value for node in walk(self.around) if isinstance(node, ast.Constant)]
        asked = sum(map(is_asked, values))
        return len(values) - asked >= max(_TABLE_FROM, asked + 1)


def constants(source: Source) -> Iterator[Constant]:
    """The constants that take part in the computing, and the docstrings; not messages, annotations, or the runner."""
    for node in source.all_of(ast.Constant):
        if not isinstance(node.value, str | int | float) or node in source.guard:
            continue
        place = _place(source, node)
        if place is not None:
            yield place


def _place(source: Source, node: ast.Constant) -> Constant | None:
    inner: ast.AST = node
    around: ast.AST | None = None
    choice, direct = False, True
    for parent in source.ancestors(node):
        if _leaves_computing(parent, inner):
            return None
        if isinstance(parent, ast.Expr) and inner is node:
            return Constant(node.value, node.lineno, True, False, None)
        if isinstance(parent, _Display):
            around = parent
        elif isinstance(parent, ast.Compare | ast.MatchValue) or (direct and _is_outcome(parent)):
            choice = True
        elif not isinstance(parent, ast.IfExp | ast.JoinedStr | ast.FormattedValue):
            direct = False
        if isinstance(parent, ast.stmt):
            break
        inner = parent
    return Constant(node.value, node.lineno, False, choice, around)


def _leaves_computing(parent: ast.AST, child: ast.AST) -> bool:
    """Whether the child is a message or an annotation of its parent."""
    match parent:
        case ast.Raise():
            return True
        case ast.Assert(msg=message):
            return child is message
        case ast.Call(func=ast.Name(id="print")):
            return True
        case ast.arg():
            return True
        case ast.AnnAssign(annotation=annotation):
            return child is annotation
        case ast.FunctionDef(returns=returns) | ast.AsyncFunctionDef(returns=returns):
            return child is returns
    return False


def _is_outcome(parent: ast.AST) -> bool:
    match parent:
        case ast.Return() | ast.Yield() | ast.Call(func=ast.Attribute(attr="append" | "add")):
            return True
    return False

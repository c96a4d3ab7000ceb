"""A source under check, parsed once, with the views that the rules share."""

from __future__ import annotations

import ast
import symtable
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeVar

from mcp_tools.tool import Capabilities

Node = TypeVar("Node", bound=ast.AST)
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Remark(NamedTuple):
    """One place where a source breaks a rule."""

    line: int
    """1 for the first line; 0 for the file as a whole."""
    message: str
    """The problem, and the change that fixes it."""


@dataclass(frozen=True)
class Source:
    """A source, and what is known about what it should be. Views are computed once, when asked for."""

    raw: str | bytes
    capabilities: Capabilities = field(default_factory=Capabilities)
    function: str | None = None
    """The name that the public function must have, if that is known."""

    @cached_property
    def data(self) -> bytes:
        """The source as the bytes of a file; a lone surrogate stays visible as bytes that are not UTF-8."""
        return self.raw if isinstance(self.raw, bytes) else self.raw.encode("utf-8", "surrogatepass")

    @cached_property
    def text(self) -> str:
        """The source as text. Only after `encoding` has passed."""
        return self.data.decode("utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree. Only after `parses` has passed."""
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(self.text)
            compile(tree, "<tool>", "exec", dont_inherit=True)  # sees what the parser does not: a stray `return`
        return tree

    @cached_property
    def _by_kind(self) -> dict[type, list[ast.AST]]:
        found: dict[type, list[ast.AST]] = {}
        for node in ast.walk(self.tree):
            found.setdefault(type(node), []).append(node)
        return found

    def all_of(self, kind: type[Node]) -> list[Node]:
        """Every node of one kind, parents first."""
        return self._by_kind.get(kind, [])  # type: ignore[return-value]  # grouped by their type

    @cached_property
    def guards(self) -> list[ast.If]:
        """The statements `if __name__ == "__main__":`."""
        return [node for node in self.tree.body if isinstance(node, ast.If) and is_guard(node)]

    @cached_property
    def scopes(self) -> symtable.SymbolTable:
        """Python's own view of which names are bound where."""
        with warnings.catch_warnings(action="ignore"):
            return symtable.symtable(self.text, "<tool>", "exec")

    @cached_property
    def names(self) -> set[str]:
        """Names that the module binds at its top level, also through `global` in its functions."""
        return bound_names(self.scopes)

    @cached_property
    def free_names(self) -> set[str]:
        """Names that are read and that no scope of the source binds: builtins, and what is undefined."""
        return free_names(self.scopes)

    @cached_property
    def origins(self) -> dict[str, str]:
        """The module that each imported name stands for or comes from."""
        found: dict[str, str] = {}
        for plain in self.all_of(ast.Import):
            for alias in plain.names:
                top = alias.name.partition(".")[0]
                found[alias.asname or top] = alias.name if alias.asname else top
        for node in self.all_of(ast.ImportFrom):
            found.update((alias.asname or alias.name, node.module or ".") for alias in node.names)
        return found

    @cached_property
    def functions(self) -> list[Function]:
        """The functions at the top level."""
        return [node for node in self.tree.body if isinstance(node, Function)]

    @property
    def public_functions(self) -> list[Function]:
        """The functions at the top level without a leading underscore."""
        return [node for node in self.functions if not node.name.startswith("_")]

    @cached_property
    def entry(self) -> Function | None:
        """The tool's function: the one of the wanted name, else the last that may be meant."""
        named = [node for node in self.functions if node.name == self.function]
        found = named or self.candidates
        return found[-1] if found else None

    @cached_property
    def candidates(self) -> list[Function]:
        """The public functions that may be the tool: unused by others; of several, the one with a docstring."""
        public = [function for function in self.public_functions if function.name != "main"] or self.public_functions
        others = {function.name: self.used_by(function.name) for function in public}
        used = {name for user, names in others.items() for name in names if name != user}
        unused = [function for function in public if function.name not in used]
        found = unused or public
        documented = [function for function in found if ast.get_docstring(function)]
        return documented if len(documented) == 1 else found

    def used_by(self, name: str) -> set[str]:
        """Return the module's names that one name needs, directly or through others."""
        found: set[str] = set()
        waiting = [name]
        while waiting:
            fresh = self._uses.get(waiting.pop(), set()) - found
            found |= fresh
            waiting += fresh
        return found

    @cached_property
    def _uses(self) -> dict[str, set[str]]:
        """For each name at the top level the names of the module that its statements read."""
        uses: dict[str, set[str]] = {}
        for statement in self.tree.body:
            if statement in self.guards:
                continue
            names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
            read = {node.id for node in names if isinstance(node.ctx, ast.Load)} & self.names
            bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
            for name in {statement.name} if isinstance(statement, Function | ast.ClassDef) else bound:
                uses.setdefault(name, set()).update(read)
        return uses


def is_guard(node: ast.stmt) -> bool:
    """Return True if this is `if __name__ == "__main__":`."""
    return isinstance(node, ast.If) and set(ast.unparse(node.test).split(" == ")) == {"__name__", "'__main__'"}


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for inside in table.get_children():
        yield from _tables(inside)


def bound_names(module: symtable.SymbolTable) -> set[str]:
    """Return the names that a module binds at its top level, also through `global` in its functions."""
    inside = {s.get_name() for t in _tables(module) for s in t.get_symbols() if s.is_declared_global()}
    return inside | {s.get_name() for s in module.get_symbols() if s.is_assigned() or s.is_imported()}


def free_names(module: symtable.SymbolTable) -> set[str]:
    """The names that a module reads, at its top level or inside, and binds nowhere."""
    symbols = [symbol for table in _tables(module) for symbol in table.get_symbols()]
    return {s.get_name() for s in symbols if s.is_referenced() and s.is_global()} - bound_names(module)


def parameters(node: Function | ast.Lambda) -> list[ast.arg]:
    """All parameters of a function or lambda, in order, `*args` and `**kwargs` last."""
    listed = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return listed + [extra for extra in (node.args.vararg, node.args.kwarg) if extra]


def annotation_nodes(node: Function) -> list[ast.expr]:
    """Yield the existing annotations of a function's parameters and of its return."""
    found = [parameter.annotation for parameter in parameters(node)] + [node.returns]
    return [annotation for annotation in found if annotation is not None]

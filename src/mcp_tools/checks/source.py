"""A parsed source, with the properties that the rules share."""

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
    """Line number, from 1; 0 for the file as a whole."""
    message: str
    """The problem, and the change that fixes it."""


@dataclass(frozen=True)
class CheckedSource:
    """A source to check. Its properties are computed when they are first used."""

    raw: str | bytes
    capabilities: Capabilities = field(default_factory=Capabilities)
    function: str | None = None
    """The name that the public function must have; None allows any name."""

    @cached_property
    def data(self) -> bytes:
        """The source as bytes. A lone surrogate becomes invalid UTF-8, so that `encoding` reports it."""
        return self.raw if isinstance(self.raw, bytes) else self.raw.encode("utf-8", "surrogatepass")

    @cached_property
    def text(self) -> str:
        """The source as text. Use it only after the rule `encoding` has passed."""
        return self.data.decode("utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree. Use it only after the rule `parses` has passed."""
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(self.text)
            compile(
                tree, "<tool>", "exec", dont_inherit=True
            )  # finds errors that the parser misses, such as a stray `return`
        return tree

    @cached_property
    def _by_kind(self) -> dict[type, list[ast.AST]]:
        found: dict[type, list[ast.AST]] = {}
        for node in ast.walk(self.tree):
            found.setdefault(type(node), []).append(node)
        return found

    def all_of(self, kind: type[Node]) -> list[Node]:
        """Return all nodes of a type, parents first."""
        return self._by_kind.get(kind, [])  # type: ignore[return-value]  # grouped by type

    @cached_property
    def guards(self) -> list[ast.If]:
        """The statements `if __name__ == "__main__":`."""
        return [node for node in self.tree.body if isinstance(node, ast.If) and is_guard(node)]

    @cached_property
    def scopes(self) -> symtable.SymbolTable:
        """Python's symbol table of the module."""
        with warnings.catch_warnings(action="ignore"):
            return symtable.symtable(self.text, "<tool>", "exec")

    @cached_property
    def names(self) -> set[str]:
        """Names that the module binds at its top level, including `global` statements in functions."""
        return bound_names(self.scopes)

    @cached_property
    def free_names(self) -> set[str]:
        """Names that are read but not bound anywhere in the source: builtins and undefined names."""
        return free_names(self.scopes)

    @cached_property
    def origins(self) -> dict[str, str]:
        """The module that each imported name is, or comes from."""
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
        """The top-level functions."""
        return [node for node in self.tree.body if isinstance(node, Function)]

    @property
    def public_functions(self) -> list[Function]:
        """The top-level functions without a leading underscore."""
        return [node for node in self.functions if not node.name.startswith("_")]

    @cached_property
    def entry(self) -> Function | None:
        """The tool's function: the one with the required name, or the last candidate."""
        named = [node for node in self.functions if node.name == self.function]
        found = named or self.candidates
        return found[-1] if found else None

    @cached_property
    def candidates(self) -> list[Function]:
        """Public functions that no other one uses; if only one of these has a docstring, just that one."""
        public = [function for function in self.public_functions if function.name != "main"] or self.public_functions
        others = {function.name: self.used_by(function.name) for function in public}
        used = {name for user, names in others.items() for name in names if name != user}
        unused = [function for function in public if function.name not in used]
        found = unused or public
        documented = [function for function in found if ast.get_docstring(function)]
        return documented if len(documented) == 1 else found

    def used_by(self, name: str) -> set[str]:
        """Return the top-level names that a name needs, directly or through others."""
        found: set[str] = set()
        waiting = [name]
        while waiting:
            fresh = self._uses.get(waiting.pop(), set()) - found
            found |= fresh
            waiting += fresh
        return found

    @cached_property
    def _uses(self) -> dict[str, set[str]]:
        """The top-level names that are read by the definition of each top-level name."""
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
    """Return the names that a module binds at its top level, including `global` statements in functions."""
    inside = {s.get_name() for t in _tables(module) for s in t.get_symbols() if s.is_declared_global()}
    return inside | {s.get_name() for s in module.get_symbols() if s.is_assigned() or s.is_imported()}


def free_names(module: symtable.SymbolTable) -> set[str]:
    """Return the names that a module or its functions read but do not bind anywhere."""
    symbols = [symbol for table in _tables(module) for symbol in table.get_symbols()]
    return {s.get_name() for s in symbols if s.is_referenced() and s.is_global()} - bound_names(module)


def parameters(node: Function | ast.Lambda) -> list[ast.arg]:
    """Return all parameters of a function or lambda in order, with `*args` and `**kwargs` last."""
    listed = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return listed + [extra for extra in (node.args.vararg, node.args.kwarg) if extra]


def annotation_nodes(node: Function) -> list[ast.expr]:
    """Return the annotations of a function's parameters and of its result."""
    found = [parameter.annotation for parameter in parameters(node)] + [node.returns]
    return [annotation for annotation in found if annotation is not None]

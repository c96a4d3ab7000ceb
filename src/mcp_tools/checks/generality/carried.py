"""What each name of a function carries while it is run abstractly: its value, what it stands for, what changes it."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod

from mcp_tools.checks.generality.closures import Closure, shared_names
from mcp_tools.checks.syntax import walk

Carried = frozenset[str]
"""Names of parameters."""
NOTHING: Carried = frozenset()


class Places(ABC):
    """The names of a running function.

    Args:
        parameters: The parameters of the function.
        module_names: What the module binds.
    """

    def __init__(self, parameters: Carried, module_names: set[str]) -> None:
        self.all = parameters
        self.module_names = module_names
        self.values: dict[str, Carried] = {}
        self.closures: dict[str, Closure] = {}
        self.links: dict[str, set[str]] = {}
        """Names that may stand for one object or for parts of it: a change through one is seen through the others."""
        self.control: Carried = NOTHING
        """What decides whether the present statement runs."""
        self.decided: Carried = NOTHING
        """What decided an earlier break, continue, return or exception: it reaches all that follows."""
        self.shared: Carried = NOTHING
        """What has reached names of the module."""

    @abstractmethod
    def read(self, node: ast.AST | None) -> Carried:
        """What an expression carries."""

    def link(self, target: ast.expr, value: ast.expr) -> None:
        """Notes that a target may stand for what the value's names stand for."""
        names = {node.id for node in walk(target) if isinstance(node, ast.Name)}
        shared = shared_names(value)
        for one in names:
            for other in shared - {one}:
                self.links.setdefault(one, set()).add(other)
                self.links.setdefault(other, set()).add(one)

    def linked(self, name: str) -> set[str]:
        """The name itself and all that may stand for the same object."""
        found = {name}
        waiting = [name]
        while waiting:
            fresh = self.links.get(waiting.pop(), set()) - found
            found |= fresh
            waiting += fresh
        return found

    def store(self, target: ast.AST, carried: Carried) -> None:
        """Binds a target anew: what it carried before is gone."""
        match target:
            case ast.Name(id=name):
                self.values[name] = carried
                self.closures.pop(name, None)
            case ast.Tuple(elts=places) | ast.List(elts=places):
                for place in places:
                    self.store(place, carried)
            case ast.Starred(value=place):
                self.store(place, carried)
            case _:
                self.add(target, carried)

    def add(self, target: ast.AST, carried: Carried) -> None:
        """Something is changed in place: what it carried stays."""
        carried |= self.control | self.decided
        while isinstance(target, ast.Subscript | ast.Attribute | ast.Starred | ast.Call):
            if isinstance(target, ast.Subscript):
                carried |= self.read(target.slice)
            target = target.func if isinstance(target, ast.Call) else target.value
        if isinstance(target, ast.Name):
            for name in self.linked(target.id):
                if name in self.values:
                    self.values[name] |= carried
                else:
                    self.shared |= carried

    def augment(self, target: ast.expr, carried: Carried) -> None:
        """`target += value`: a name carries both, an item is changed in place."""
        if isinstance(target, ast.Name) and target.id in self.values:
            self.values[target.id] |= carried | self.control | self.decided
        else:
            self.add(target, carried)

    def name(self, name: str) -> Carried:
        """What a name carries when it is read; a function inside carries what it reads."""
        if name not in self.values and name in ("locals", "vars"):
            return self.all
        carried = self.values.get(name, self.shared if name in self.module_names else NOTHING)
        closure = self.closures.get(name)
        if closure is not None:
            seen = {name}
            carried |= self._seen_by(closure, seen)
        return carried

    def _seen_by(self, closure: Closure, seen: set[str]) -> Carried:
        carried = NOTHING
        for name in closure.reads - seen:
            seen.add(name)
            carried |= self.values.get(name, NOTHING)
            if name in self.closures:
                carried |= self._seen_by(self.closures[name], seen)
        return carried

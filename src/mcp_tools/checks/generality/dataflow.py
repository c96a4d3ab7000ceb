"""Which parameters of a function reach its result: an abstract run that carries sets of parameters for values.

Assignment replaces what a name carries, so a parameter that is overwritten before it is read reaches nothing.
A condition reaches whatever is assigned or returned under it, and everything after it when it decides a break, a
continue or a return. Raising, asserting and printing reach nothing. Where a call cannot be followed, its result
carries all arguments, and so does whatever it may have changed: the answer errs towards "reaches".
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from mcp_tools.checks.generality.carried import NOTHING, Carried, Places
from mcp_tools.checks.generality.closures import SILENT, changes_surroundings, closure_of
from mcp_tools.checks.modules import words
from mcp_tools.checks.scopes import parameters
from mcp_tools.checks.syntax import children, walk

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_CHANGES_NOTHING = SILENT | words("len range int str float bool sum min max abs sorted enumerate zip map")

_MOST_PASSES = 20
_DEEPEST_CALLS = 8


def reaching(function: ast.FunctionDef | ast.AsyncFunctionDef, module: ast.Module, names: set[str]) -> Carried:
    """The parameters whose values at the call can change what the function returns."""
    helpers = {node.name: node for node in module.body if isinstance(node, _FUNCTIONS)}
    return _Summaries(helpers, names).of(function)


@dataclass
class _Summaries:
    """What reaches the result of each function of the module, each computed once."""

    helpers: dict[str, ast.FunctionDef | ast.AsyncFunctionDef]
    names: set[str]
    """What the module binds."""
    known: dict[str, Carried] = field(default_factory=dict)
    acting: dict[str, bool] = field(default_factory=dict)
    depth: int = 0

    def of(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Carried:
        everything = frozenset(parameter.arg for parameter in parameters(function))
        if self.depth >= _DEEPEST_CALLS:
            return everything
        if function.name not in self.known:
            self.known[function.name] = everything  # what a recursive call may be taken to carry
            self.depth += 1
            self.known[function.name] = _Run(function, self).result()
            self.depth -= 1
        return self.known[function.name]

    def acts(self, name: str) -> bool:
        """Whether this is a helper that changes what it was given, or what the module holds."""
        if name not in self.acting:
            self.acting[name] = name in self.helpers and changes_surroundings(self.helpers[name])
        return self.acting[name]

    def dropped(self, call: ast.Call) -> set[ast.expr]:
        """The arguments of a call that a helper of the module never uses for its result."""
        if not isinstance(call.func, ast.Name) or call.func.id not in self.helpers:
            return set()
        if any(isinstance(argument, ast.Starred) for argument in call.args):
            return set()
        helper = self.helpers[call.func.id]
        if self.acts(helper.name) or helper.decorator_list:
            return set()
        used = self.of(helper)
        listed = [*helper.args.posonlyargs, *helper.args.args]
        unused = [value for value, parameter in zip(call.args, listed, strict=False) if parameter.arg not in used]
        known = {parameter.arg for parameter in parameters(helper)}
        unused += [word.value for word in call.keywords if word.arg in known and word.arg not in used]
        return set(unused)


class _Run(Places):
    """One abstract run of a function, repeated until no loop changes anything more."""

    def __init__(self, function: ast.FunctionDef | ast.AsyncFunctionDef, summaries: _Summaries) -> None:
        super().__init__(frozenset(parameter.arg for parameter in parameters(function)), summaries.names)
        self.function = function
        self.summaries = summaries
        self.heads: dict[ast.AST, dict[str, Carried]] = {}
        """What any pass has brought to the head of each loop."""
        self.returned: Carried = NOTHING

    def result(self) -> Carried:
        for _ in range(_MOST_PASSES):
            before = (self.returned, self.decided, self.shared, {k: dict(v) for k, v in self.heads.items()})
            self.values = {name: frozenset({name}) for name in self.all}
            self.closures = {}
            self.block(self.function.body)
            if before == (self.returned, self.decided, self.shared, self.heads):
                return self.returned & self.all
        return self.all

    # Statements

    def block(self, body: Iterable[ast.AST]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self.bind(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.bind(target, value)
            case ast.AugAssign(target=target, value=value):
                self.augment(target, self.read(value))
            case ast.Return(value=value):
                self.returned |= self.read(value) | self.control | self.decided
                self.decided |= self.control
            case ast.Break() | ast.Continue():
                self.decided |= self.control
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self.values[node.name] = NOTHING
                self.closures[node.name] = closure_of(node)
            case _:
                self.compound(node)

    def compound(self, node: ast.AST) -> None:
        match node:
            case ast.If(test=test, body=body, orelse=orelse):
                self.branches(self.read(test), [body, orelse])
            case ast.For() | ast.AsyncFor() | ast.While():
                self.loop(node)
            case ast.Try() | ast.TryStar():
                self.attempt(node)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                for item in items:
                    carried = self.read(item.context_expr)
                    if item.optional_vars:
                        self.link(item.optional_vars, item.context_expr)
                        self.store(item.optional_vars, carried | self.control | self.decided)
                self.block(body)
            case ast.Match(subject=subject, cases=cases):
                self.matching(self.read(subject), cases)
            case ast.Delete(targets=targets):
                for target in targets:
                    self.add(target, self.read(target))
            case _:
                for child in children(node):
                    self.read(child)  # an expression, raise, assert: what a call in it changes, what `:=` binds

    def branches(self, test: Carried, bodies: Iterable[list[ast.stmt]]) -> None:
        around, start = self.control, self.values
        self.control = around | test
        ends = []
        for body in bodies:
            self.values = dict(start)
            self.block(body)
            ends.append(self.values)
        self.values = _joined(ends)
        self.control = around

    def matching(self, subject: Carried, cases: list[ast.match_case]) -> None:
        around, start = self.control, self.values
        self.control = around | subject
        ends = [start]
        for case in cases:
            self.values = dict(start)
            for part in walk(case.pattern):
                name = getattr(part, "name", None) or getattr(part, "rest", None)
                if isinstance(name, str):
                    self.values[name] = subject | self.control
            if case.guard:
                self.control |= self.read(case.guard)
            self.block(case.body)
            ends.append(self.values)
        self.values = _joined(ends)
        self.control = around

    def loop(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        """One pass over a loop, from all that any earlier pass has brought to its head."""
        around = self.control
        self.values = _joined([self.values, self.heads.get(node, {})])
        if isinstance(node, ast.While):
            self.control = around | self.read(node.test)
        else:
            carried = self.read(node.iter)
            self.control = around | carried
            self.link(node.target, node.iter)
            self.store(node.target, carried | self.control | self.decided)
        start = dict(self.values)
        self.block(node.body)
        self.values = _joined([start, self.values])
        self.heads[node] = _joined([self.heads.get(node, {}), self.values])
        self.block(node.orelse)
        self.control = around

    def attempt(self, node: ast.Try | ast.TryStar) -> None:
        """A try statement: whatever its body reads decides which handler runs."""
        start = dict(self.values)
        raised = NOTHING
        for statement in node.body:
            self.statement(statement)
            raised |= self.read_inside(statement)
        tried = self.values
        middle = _joined([start, tried])
        if any(not _only_raises(handler.body) for handler in node.handlers):
            self.decided |= raised
        ends = []
        for handler in node.handlers:
            self.values = dict(middle)
            if handler.name:
                self.values[handler.name] = raised
            self.block(handler.body)
            ends.append(self.values)
        self.values = tried
        self.block(node.orelse)
        self.values = _joined([self.values, *ends])
        self.block(node.finalbody)

    def read_inside(self, statement: ast.AST) -> Carried:
        names = (node for node in walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
        return frozenset().union(*(self.name(node.id) for node in names))

    def bind(self, target: ast.expr, value: ast.expr) -> None:
        self.link(target, value)
        match target, value:
            case (ast.Name(id=name), ast.Lambda()):
                self.values[name] = NOTHING
                self.closures[name] = closure_of(value)
            case (ast.Tuple(elts=places) | ast.List(elts=places), ast.Tuple(elts=parts) | ast.List(elts=parts)) if len(
                places
            ) == len(parts) and not any(isinstance(part, ast.Starred) for part in [*places, *parts]):
                carried = [self.read(part) | self.control | self.decided for part in parts]
                for place, part in zip(places, carried, strict=True):
                    self.store(place, part)
            case _:
                self.store(target, self.read(value) | self.control | self.decided)

    # Expressions

    def read(self, node: ast.AST | None) -> Carried:
        """What an expression carries."""
        match node:
            case None | ast.Constant():
                return NOTHING
            case ast.Name(id=name):
                return self.name(name)
            case ast.Call():
                return self.call(node)
            case ast.NamedExpr(target=target, value=value):
                carried = self.read(value)
                self.store(target, carried | self.control | self.decided)
                return carried
            case ast.Lambda():
                return self.hiding([parameter.arg for parameter in parameters(node)], [node.body])
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return self.comprehension(node)
            case ast.Yield(value=value) | ast.YieldFrom(value=value):
                carried = self.read(value)
                self.returned |= carried | self.control | self.decided
                return carried
        carried = NOTHING
        for child in children(node):
            carried |= self.read(child)
        return carried

    def hiding(self, names: list[str], parts: list[ast.AST]) -> Carried:
        kept = self.values
        self.values = {**kept, **dict.fromkeys(names, NOTHING)}
        carried = frozenset().union(*(self.read(part) for part in parts))
        self.values = {**self.values, **{name: kept[name] for name in names if name in kept}}
        return carried

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> Carried:
        kept = dict(self.values)
        carried = NOTHING
        bound: set[str] = set()
        for generator in node.generators:
            source = self.read(generator.iter)
            carried |= source
            self.store(generator.target, source)
            bound |= {part.id for part in walk(generator.target) if isinstance(part, ast.Name)}
            for condition in generator.ifs:
                carried |= self.read(condition)
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        for part in parts:
            carried |= self.read(part)
        for name in bound:
            self.values.pop(name, None)
            if name in kept:
                self.values[name] = kept[name]
        return carried

    def call(self, node: ast.Call) -> Carried:
        dropped = self.summaries.dropped(node) if not self.is_local(node.func) else set()
        values = [*node.args, *(word.value for word in node.keywords)]
        carried = frozenset().union(*(self.read(value) for value in values if value not in dropped))
        around = carried | self.read(node.func)
        if not (isinstance(node.func, ast.Name) and node.func.id in _CHANGES_NOTHING):
            self.change(node.func, values, around)
        return around

    def change(self, function: ast.expr, values: list[ast.expr], carried: Carried) -> None:
        """A call may change its arguments, the object whose method it is, and what the function sees."""
        if isinstance(function, ast.Attribute):
            self.add(function.value, carried)
        for value in values:
            if isinstance(value, ast.Name | ast.Attribute | ast.Subscript | ast.Starred):
                self.add(value, carried)
        if isinstance(function, ast.Name) and function.id in self.closures:
            for name in self.closures[function.id].changes:
                self.add(ast.Name(name, ast.Load()), carried)
        elif isinstance(function, ast.Name) and function.id in self.values:
            self.add(function, carried)  # a method under a name of its own: `append = found.append`
        elif isinstance(function, ast.Name) and self.summaries.acts(function.id):
            self.shared |= carried

    def is_local(self, function: ast.expr) -> bool:
        return isinstance(function, ast.Name) and function.id in self.values


def _joined(states: Iterable[dict[str, Carried]]) -> dict[str, Carried]:
    joined: dict[str, Carried] = {}
    for state in states:
        for name, carried in state.items():
            joined[name] = joined.get(name, NOTHING) | carried
    return joined


def _only_raises(body: list[ast.stmt]) -> bool:
    return (
        bool(body) and isinstance(body[-1], ast.Raise) and not any(isinstance(node, ast.Return) for node in walk(*body))
    )

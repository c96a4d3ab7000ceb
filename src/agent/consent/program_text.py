"""The values in a program's own text: only these come from the model, since other code may run in the sandbox.

Code inside can do anything with its objects, so the text alone is read here, and nothing that the program says of
itself. Loops over values that the text lists are worked out: `for n in range(3): read(f"{SITE}/{n}")` asks for three
addresses of its text, and for no other.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice, product
from typing import TypeAlias
from urllib.parse import quote, quote_plus

from agent.consent.safe_modules import Uses

Scalar: TypeAlias = str | int | float
Bag: TypeAlias = frozenset[Scalar]

_MOST = 200
"""Values of one expression; of more, none is taken as written."""
_PASSES = 3
"""Number of passes over a text: values of names are built on values of other names."""
_COUNTED = 50
"""Steps of a counter such as `page += 1`."""
_MOST_WORK = 20_000
"""Expressions that are worked out for one program."""
_LONGEST = 2_000
"""Characters of a value that other values are made of."""
_WIDE = re.compile(r"\d{4}|\*|\{[^}]*\{")
"""A width in a format that fills the memory."""
_NOTHING: Bag = frozenset()
_METHODS = frozenset({"replace", "lower", "upper", "title", "capitalize", "strip", "rstrip", "lstrip"})
_QUOTES = {"quote": quote, "quote_plus": quote_plus}


class ProgramText:
    """The programs of one session, which share their variables."""

    def __init__(self) -> None:
        self.runs_data = ""
        """The first name in them that is not known as harmless, and may run code out of data; empty without one."""
        self._uses = Uses()
        self._values: set[str] = set()
        self._names: defaultdict[str, Bag] = defaultdict(frozenset)
        self._functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda] = {}
        self._left = 0

    def add(self, code: str, modules: Mapping[str, str] | None = None, packages: Sequence[str] = ()) -> None:
        """Reads a further program; one that does not compile never runs.

        Args:
            code: The program.
            modules: The modules of the run that it may import, such as approved tools, with their source.
            packages: Packages of strangers that it may import: they may hold modules of any name.
        """
        self._left = _MOST_WORK
        self.runs_data = self.runs_data or self._unknown(code, modules or {}) or next(iter(packages), "")
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            nodes = list(ast.walk(ast.parse(code)))
            for node in nodes:
                self._add(_scalars(node.value) if isinstance(node, ast.Constant) else _NOTHING)
            for _ in range(_PASSES):
                for node in nodes:
                    self._learn(node)
            for call in (node for node in nodes if isinstance(node, ast.Call)):
                for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
                    self._add(self._bag(argument))

    def _unknown(self, code: str, modules: Mapping[str, str]) -> str:
        """The first use of what is not known as harmless, in a program or in the modules that it may import."""
        try:
            nodes = list(ast.walk(ast.parse(code)))
        except (SyntaxError, ValueError):
            return ""
        except (RecursionError, MemoryError):
            return "a program too deep to read"
        found = self._uses.unknown(nodes, modules)
        imported = {name.partition(".")[0] for node in nodes for name in _imports(node)} & modules.keys() - {"servers"}
        rest = {name: source for name, source in modules.items() if name not in imported}
        return found or next(filter(None, (ProgramText()._unknown(modules[one], rest) for one in sorted(imported))), "")

    def holds(self, value: str) -> bool:
        """True if a value stands in the text, or is one of those that a loop of the text goes through."""
        return value in self._values

    def holds_name(self, name: str) -> bool:
        """True if a name stands in the text, in capitals or not."""
        return any(len(value) == len(name) and value.lower() == name for value in self._values)

    def _add(self, bag: Bag) -> None:
        for value in map(str, bag):
            parts = (part.strip() for line in value.splitlines() for part in (line, *line.split(), *line.split(",")))
            self._values.update((value, value.strip(), *parts))

    def _learn(self, node: ast.AST) -> None:
        """The values that a statement gives to names."""
        match node:
            case ast.Assign(targets=targets, value=value):
                if isinstance(value, ast.Lambda) and isinstance(targets[0], ast.Name):
                    self._functions[targets[0].id] = value
                self._bind(targets, self._bag(value))
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
                self._bind([target], self._bag(value))
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                self._bind([target], self._bag(value))
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=ast.Constant(value=int() as step)):
                starts = [start for start in self._names[name] if isinstance(start, int)][:1]
                self._names[name] |= {start + step * count for start in starts for count in range(_COUNTED)}
            case ast.AugAssign(target=target, value=value):
                self._bind([target], self._bag(value))
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                self._functions[name] = node
            case ast.Call():
                self._give(node)

    def _bind(self, targets: Iterable[ast.expr], bag: Bag) -> None:
        for target in targets:
            for node in ast.walk(target):
                if isinstance(node, ast.Name) and len(self._names[node.id] | bag) <= _MOST:
                    self._names[node.id] |= bag

    def _give(self, call: ast.Call) -> None:
        """Gives a function's parameters the arguments of its call; of `map(f, values)` too."""
        function = self._functions.get(call.func.id) if isinstance(call.func, ast.Name) else None
        if function is not None:
            names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
            for name, value in [*zip(names, call.args, strict=False), *((one.arg, one.value) for one in call.keywords)]:
                if name is not None:
                    self._bind([ast.Name(name)], self._bag(value))
        for argument in call.args:
            given = self._functions.get(argument.id) if isinstance(argument, ast.Name) else argument
            if isinstance(given, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                others = frozenset[Scalar]().union(*(self._bag(other) for other in call.args if other is not argument))
                self._bind([ast.Name(one.arg) for one in given.args.args], others)

    def _bag(self, node: ast.expr | None) -> Bag:
        """All values that an expression may have; of a container, those in it. Empty where the text does not say.

        Raises:
            RecursionError: The text takes too long to work out.
        """
        self._left -= 1
        if self._left < 0:
            raise RecursionError
        match node:
            case ast.Constant(value=value):
                return _scalars(value)
            case ast.Name(id=name):
                return self._names[name]
            case ast.JoinedStr(values=parts):
                return _bounded("".join(map(str, one)) for one in product(*map(self._bag, parts)))
            case ast.FormattedValue(value=value, conversion=-1, format_spec=spec):
                forms = self._bag(spec) if spec else frozenset({""})
                return _bounded(_formatted(one, form) for one, form in product(self._bag(value), map(str, forms)))
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                one, other = self._bag(left), self._bag(right)
                joined = (a + b for a, b in product(one, other) if isinstance(a, str) and isinstance(b, str))
                return _bounded([*islice(joined, _MOST + 1), *one, *other]) if one and other else _NOTHING
            case ast.BinOp(left=left, op=ast.Mod(), right=right):
                return self._formatted("%", left, right.elts if isinstance(right, ast.Tuple) else [right])
            case ast.Call():
                return self._of_call(node)
        return self._all(_parts(node))

    def _all(self, nodes: Iterable[ast.expr]) -> Bag:
        return _bounded(value for node in nodes for value in self._bag(node))

    def _of_call(self, call: ast.Call) -> Bag:
        name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        bags = [self._bag(argument) for argument in call.args]
        if name == "range" and 0 < len(bags) < 4 and all(bags):
            numbers = (range(*map(int, one)) for one in product(*bags) if len(one) < 3 or one[2])
            return _bounded(number for one in numbers for number in one[: _MOST + 1])
        if name in _QUOTES:
            return _bounded(_QUOTES[name](str(one)) for one in (bags[0] if bags else ()))
        if name == "format" and owner is not None:
            return self._formatted("{}", owner, call.args)
        if name in _METHODS and owner is not None:
            calls = product(_bounded(self._bag(owner)), *map(_bounded, bags))
            return _bounded(getattr(one, name)(*map(str, more)) for one, *more in calls if isinstance(one, str))
        if name in self._functions:
            function = self._functions[name]
            if isinstance(function, ast.Lambda):
                return self._bag(function.body)
            return self._all(one.value for one in ast.walk(function) if isinstance(one, ast.Return) and one.value)
        if name in {"str", "list", "tuple", "set", "sorted", "reversed", "enumerate", "zip", "dict", "iter", "next"}:
            return _bounded(value for bag in bags for value in bag)
        if name in {"items", "keys", "values", "get", "copy"} and owner is not None:
            return self._bag(owner)
        if name in {"split", "splitlines"} and owner is not None:
            separator = next((str(one) for bag in bags for one in bag), None) if name == "split" else "\n"
            return _bounded(part for one in self._bag(owner) for part in str(one).split(separator or None))
        return _NOTHING

    def _formatted(self, way: str, text: ast.expr, values: list[ast.expr]) -> Bag:
        found: list[Scalar] = []
        for form, *given in islice(product(_bounded(self._bag(text)), *map(self._bag, values)), _MOST + 1):
            if _WIDE.search(str(form)):
                continue
            try:
                found.append(str(form).format(*given) if way == "{}" else str(form) % tuple(given))
            except (TypeError, ValueError, LookupError, AttributeError):
                continue
        return _bounded(found)


def _parts(node: ast.expr | None) -> list[ast.expr]:
    """Return the expressions that an expression takes its value from."""
    match node:
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts) | ast.BoolOp(values=parts):
            return parts
        case ast.Dict(keys=keys, values=values):
            return [*filter(None, keys), *values]
        case ast.IfExp(body=one, orelse=other):
            return [one, other]
        case ast.Starred(value=value) | ast.Subscript(value=value) | ast.NamedExpr(value=value):
            return [value]
        case ast.ListComp(elt=value) | ast.SetComp(elt=value) | ast.GeneratorExp(elt=value):
            return [value]
    return []


def _scalars(value: object) -> Bag:
    is_scalar = isinstance(value, str | int | float) and not isinstance(value, bool)
    return frozenset({value}) if is_scalar else _NOTHING  # type: ignore[arg-type] # checked


def _bounded(values: Iterable[Scalar]) -> Bag:
    found = frozenset(one for one in islice(values, _MOST + 1) if not isinstance(one, str) or len(one) <= _LONGEST)
    return found if len(found) <= _MOST else _NOTHING


def _formatted(value: Scalar, form: str) -> str:
    try:
        return "" if _WIDE.search(form) else format(value, form)
    except ValueError:
        return ""


def _imports(node: ast.AST) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=str() as module):
            return [module]
    return []

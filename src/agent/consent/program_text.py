"""Finds the values that a program's text contains. Only these come from the model that wrote the program.

A running program may have been changed by data that it loaded, so only its text can be trusted. Loops over listed
values are evaluated: `for n in range(3): read(f"{SITE}/{n}")` contains exactly three addresses.
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

from agent.consent.safe_modules import ModuleUses

Scalar: TypeAlias = str | int | float
Values: TypeAlias = frozenset[Scalar]

_MAX = 200
"""Maximum values of an expression. An expression with more values counts as having none."""
_PASSES = 3
"""Number of passes over a text, since names may be defined by other names."""
_MAX_COUNTER_STEPS = 50
"""Maximum steps of a counter such as `page += 1`."""
_MAX_EXPRESSIONS = 20_000
_MAX_CHARS = 2_000
_WIDE = re.compile(r"\d{4}|\*|\{[^}]*\{")
"""Finds format widths that could exhaust the memory."""
_NOTHING: Values = frozenset()
_METHODS = frozenset({"replace", "lower", "upper", "title", "capitalize", "strip", "rstrip", "lstrip"})
_QUOTES = {"quote": quote, "quote_plus": quote_plus}


class ProgramText:
    """The programs of a session, which share their variables."""

    def __init__(self) -> None:
        self.runs_data = ""
        """The first name used that could run code from data, or an empty string."""
        self._uses = ModuleUses()
        self._values: set[str] = set()
        self._names: defaultdict[str, Values] = defaultdict(frozenset)
        self._functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda] = {}
        self._left = 0

    def add(self, code: str, modules: Mapping[str, str] | None = None, packages: Sequence[str] = ()) -> None:
        """Read another program. A program that does not compile is ignored, since it never runs.

        Args:
            code: The program.
            modules: Sources, by name, of modules that it may import, such as approved tools.
            packages: Third-party packages that it may import. They may contain modules of any name.
        """
        self._left = _MAX_EXPRESSIONS
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
                    self._add(self._values_of(argument))

    def _unknown(self, code: str, modules: Mapping[str, str]) -> str:
        """Return the first unsafe name used in a program or in the modules that it imports."""
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
        """Return True if the text contains the value, or one of its loops produces it."""
        return value in self._values

    def holds_name(self, name: str) -> bool:
        """Return True if the text contains the name, ignoring case."""
        return any(len(value) == len(name) and value.lower() == name for value in self._values)

    def _add(self, values: Values) -> None:
        for value in map(str, values):
            parts = (part.strip() for line in value.splitlines() for part in (line, *line.split(), *line.split(",")))
            self._values.update((value, value.strip(), *parts))

    def _learn(self, node: ast.AST) -> None:
        """Record the values that a statement assigns to names."""
        match node:
            case ast.Assign(targets=targets, value=value):
                if isinstance(value, ast.Lambda) and isinstance(targets[0], ast.Name):
                    self._functions[targets[0].id] = value
                self._bind(targets, self._values_of(value))
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
                self._bind([target], self._values_of(value))
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                self._bind([target], self._values_of(value))
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=ast.Constant(value=int() as step)):
                starts = [start for start in self._names[name] if isinstance(start, int)][:1]
                self._names[name] |= {start + step * count for start in starts for count in range(_MAX_COUNTER_STEPS)}
            case ast.AugAssign(target=target, value=value):
                self._bind([target], self._values_of(value))
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                self._functions[name] = node
            case ast.Call():
                self._give(node)

    def _bind(self, targets: Iterable[ast.expr], values: Values) -> None:
        for target in targets:
            for node in ast.walk(target):
                if isinstance(node, ast.Name) and len(self._names[node.id] | values) <= _MAX:
                    self._names[node.id] |= values

    def _give(self, call: ast.Call) -> None:
        """Assign the arguments of a call to the function's parameters, including calls like `map(f, values)`."""
        function = self._functions.get(call.func.id) if isinstance(call.func, ast.Name) else None
        if function is not None:
            names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
            for name, value in [*zip(names, call.args, strict=False), *((one.arg, one.value) for one in call.keywords)]:
                if name is not None:
                    self._bind([ast.Name(name)], self._values_of(value))
        for argument in call.args:
            given = self._functions.get(argument.id) if isinstance(argument, ast.Name) else argument
            if isinstance(given, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                others = frozenset[Scalar]().union(
                    *(self._values_of(other) for other in call.args if other is not argument)
                )
                self._bind([ast.Name(one.arg) for one in given.args.args], others)

    def _values_of(self, node: ast.expr | None) -> Values:
        """Return all values that an expression, or an item of a container, may have. Empty if the text does not say.

        Raises:
            RecursionError: The expression takes too long to evaluate.
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
                return _bounded("".join(map(str, one)) for one in product(*map(self._values_of, parts)))
            case ast.FormattedValue(value=value, conversion=-1, format_spec=spec):
                forms = self._values_of(spec) if spec else frozenset({""})
                return _bounded(_formatted(one, form) for one, form in product(self._values_of(value), map(str, forms)))
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                one, other = self._values_of(left), self._values_of(right)
                joined = (a + b for a, b in product(one, other) if isinstance(a, str) and isinstance(b, str))
                return _bounded([*islice(joined, _MAX + 1), *one, *other]) if one and other else _NOTHING
            case ast.BinOp(left=left, op=ast.Mod(), right=right):
                return self._formatted("%", left, right.elts if isinstance(right, ast.Tuple) else [right])
            case ast.Call():
                return self._values_of_call(node)
        return self._all(_parts(node))

    def _all(self, nodes: Iterable[ast.expr]) -> Values:
        return _bounded(value for node in nodes for value in self._values_of(node))

    def _values_of_call(self, call: ast.Call) -> Values:
        name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        arguments = [self._values_of(argument) for argument in call.args]
        if name == "range" and 0 < len(arguments) < 4 and all(arguments):
            numbers = (range(*map(int, one)) for one in product(*arguments) if len(one) < 3 or one[2])
            return _bounded(number for one in numbers for number in one[: _MAX + 1])
        if name in _QUOTES:
            return _bounded(_QUOTES[name](str(one)) for one in (arguments[0] if arguments else ()))
        if name == "format" and owner is not None:
            return self._formatted("{}", owner, call.args)
        if name in _METHODS and owner is not None:
            calls = product(_bounded(self._values_of(owner)), *map(_bounded, arguments))
            return _bounded(getattr(one, name)(*map(str, more)) for one, *more in calls if isinstance(one, str))
        if name in self._functions:
            function = self._functions[name]
            if isinstance(function, ast.Lambda):
                return self._values_of(function.body)
            return self._all(one.value for one in ast.walk(function) if isinstance(one, ast.Return) and one.value)
        if name in {"str", "list", "tuple", "set", "sorted", "reversed", "enumerate", "zip", "dict", "iter", "next"}:
            return _bounded(value for values in arguments for value in values)
        if name in {"items", "keys", "values", "get", "copy"} and owner is not None:
            return self._values_of(owner)
        if name in {"split", "splitlines"} and owner is not None:
            separator = next((str(one) for values in arguments for one in values), None) if name == "split" else "\n"
            return _bounded(part for one in self._values_of(owner) for part in str(one).split(separator or None))
        return _NOTHING

    def _formatted(self, way: str, text: ast.expr, values: list[ast.expr]) -> Values:
        found: list[Scalar] = []
        for form, *given in islice(product(_bounded(self._values_of(text)), *map(self._values_of, values)), _MAX + 1):
            if _WIDE.search(str(form)):
                continue
            try:
                found.append(str(form).format(*given) if way == "{}" else str(form) % tuple(given))
            except (TypeError, ValueError, LookupError, AttributeError):
                continue
        return _bounded(found)


def _parts(node: ast.expr | None) -> list[ast.expr]:
    """Return the inner expressions that make up an expression's value."""
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


def _scalars(value: object) -> Values:
    is_scalar = isinstance(value, str | int | float) and not isinstance(value, bool)
    return frozenset({value}) if is_scalar else _NOTHING  # type: ignore[arg-type] # checked


def _bounded(values: Iterable[Scalar]) -> Values:
    found = frozenset(one for one in islice(values, _MAX + 1) if not isinstance(one, str) or len(one) <= _MAX_CHARS)
    return found if len(found) <= _MAX else _NOTHING


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

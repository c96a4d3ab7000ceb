"""Expressions about a result, such as `result["rate"]` or `round(result[0]["area"], 2)`.

A test may check such a part instead of the whole result. The expressions come from files by other people, so they are
never run as code; this module evaluates a small subset of Python itself.
"""

from __future__ import annotations

import ast
import functools
import json
import operator
from collections.abc import Callable, Iterable
from typing import Any

from mcp_tools.text import words
from mcp_tools.tool import Json

RESULT = "result"
"""The name that stands for the result."""
_MAX_CHARS = 500
_MAX_DIGITS = 400
_MAX_STEPS = 200_000
"""Maximum number of values to compute. Every hundred items or characters of a value count as one more."""
FUNCTIONS: dict[str, Callable[..., Any]] = {
    one.__name__: one for one in (abs, all, any, bool, float, int, len, list, max, min, round, set, sorted, str, sum)
}
_METHODS = words("count endswith get index items keys lower splitlines startswith strip upper values")
_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
}
_KINDS = (ast.Load, ast.Store, ast.operator, ast.cmpop, ast.unaryop, ast.boolop, ast.keyword, ast.comprehension)
_FORMS = (
    *(ast.Constant, ast.Name, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Subscript, ast.Slice, ast.Attribute),
    *(ast.Call, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.ListComp, ast.GeneratorExp),
)


@functools.lru_cache(maxsize=512)
def read_part(text: str) -> ast.expr:
    """Parse an expression about a result.

    Raises:
        ValueError: The text is not an expression, or it is not in the supported subset of Python.
    """
    try:
        tree = ast.parse(text[: _MAX_CHARS + 1], mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(str(error)) from None
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    odd = next((node for node in ast.walk(tree) if not isinstance(node, _FORMS + _KINDS) or not _is_known(node)), None)
    if odd is not None or len(text) > _MAX_CHARS or names.count(RESULT) != 1:
        raise ValueError(f"this does not read a part of a result: {text:.200}")
    return tree


def _is_known(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return name in FUNCTIONS
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in _METHODS
        case ast.Call():
            return False
        case ast.ListComp(generators=[one]) | ast.GeneratorExp(generators=[one]):
            return isinstance(one.target, ast.Name) and not one.is_async
        case ast.ListComp() | ast.GeneratorExp():
            return False
        case ast.BinOp(op=op):
            return type(op) in _OPERATORS
        case ast.UnaryOp(op=ast.Invert()):
            return False
    return True


def part_of(value: Json, text: str) -> Json:
    """Evaluate an expression about a result; an empty expression gives the whole result.

    Raises:
        ValueError: The expression cannot be evaluated, or its value is not a JSON value.

    Example:
        >>> part_of([{"area": 2.347}], 'round(result[0]["area"], 2)')
        2.35
    """
    if not text:
        return value
    try:
        found = _Evaluator(value).evaluate(read_part(text))
        return json.loads(json.dumps(found, allow_nan=False))
    except (TypeError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"{text:.200} cannot be read from the result: {type(error).__name__}: {error}") from None


def with_call(text: str, call: str) -> str:
    """Put a call in the place of `result` in an expression."""
    if not text:
        return call
    try:
        tree = read_part(text)
    except ValueError:
        return f"{text:.200} of {call}"
    node = next(node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == RESULT)
    written = text.encode()
    return f"{written[: node.col_offset].decode()}{call}{written[node.end_col_offset :].decode()}"


class _Evaluator:
    """Evaluates one expression, within a limited number of steps."""

    def __init__(self, result: Json) -> None:
        self._names: dict[str, Json] = {RESULT: result}
        self._steps_left = _MAX_STEPS

    def evaluate(self, node: ast.AST | None) -> Json:
        value = self._value(node)
        self._steps_left -= 1 + (len(value) // 100 if isinstance(value, str | list | dict | set) else 0)
        if self._steps_left < 0:
            raise ValueError("it takes too long to read this from the result")
        return value

    def _value(self, node: ast.AST | None) -> Json:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self._names[name]
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return [self.evaluate(part) for part in parts]
            case ast.Set(elts=parts):
                return {self.evaluate(part) for part in parts}
            case ast.Dict(keys=keys, values=values):
                return {str(self.evaluate(key)): self.evaluate(value) for key, value in zip(keys, values, strict=True)}
            case ast.Subscript(value=of, slice=ast.Slice(lower=lower, upper=upper, step=step)):
                return self.evaluate(of)[slice(*(part and self.evaluate(part) for part in (lower, upper, step)))]
            case ast.Subscript(value=of, slice=key):
                return _member(self.evaluate(of), self.evaluate(key))
            case ast.Attribute(value=of, attr=name):  # records are dictionaries here
                return _member(self.evaluate(of), name)
        return self._computed(node)

    def _computed(self, node: ast.AST | None) -> Json:
        match node:
            case ast.Call():
                return self._called(node)
            case ast.BinOp(left=left, op=op, right=right):
                return _OPERATORS[type(op)](*_numbers(self.evaluate(left), self.evaluate(right)))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not self.evaluate(operand)
            case ast.UnaryOp(op=op, operand=operand):
                value = self.evaluate(operand)
                return -value if isinstance(op, ast.USub) else +value
            case ast.BoolOp(op=op, values=values):
                found = all if isinstance(op, ast.And) else any
                return found(bool(self.evaluate(value)) for value in values)
            case ast.Compare(left=left, ops=ops, comparators=others):
                values = [self.evaluate(part) for part in (left, *others)]
                pairs = zip(ops, values, values[1:], strict=False)
                return all(_OPERATORS[type(op)](one, other) for op, one, other in pairs)
            case ast.ListComp(elt=element, generators=[one]) | ast.GeneratorExp(elt=element, generators=[one]):
                return [self.evaluate(element) for _ in self._each(one)]
        raise TypeError("unsupported expression")

    def _each(self, one: ast.comprehension) -> Iterable[None]:
        """Bind the loop variable to each item that meets the conditions."""
        assert isinstance(one.target, ast.Name)
        for member in [*self.evaluate(one.iter)]:
            self._names[one.target.id] = member
            if all(self.evaluate(condition) for condition in one.ifs):
                yield

    def _called(self, node: ast.Call) -> Json:
        arguments = [self.evaluate(part) for part in node.args]
        named = {word.arg: self.evaluate(word.value) for word in node.keywords if word.arg}
        if isinstance(node.func, ast.Name):
            _require_quick(node.func.id, arguments, named)
            return FUNCTIONS[node.func.id](*arguments, **named)
        assert isinstance(node.func, ast.Attribute)
        value = getattr(self.evaluate(node.func.value), node.func.attr)(*arguments, **named)
        return value if isinstance(value, str | list | int | float | None) else [*value]


def _require_quick(function: str, arguments: list[Json], named: dict[str, Json]) -> None:
    """Refuse calls that take much longer than their size suggests: `round(1, -10**9)`, `sum(lists, [])`."""
    numbers = [one for one in (*arguments[1:], *named.values()) if isinstance(one, int)]
    if function == "round" and any(abs(one) > _MAX_DIGITS for one in numbers):
        raise ValueError(f"round() is limited to {_MAX_DIGITS} digits")
    if function == "sum" and not all(isinstance(one, int | float) for one in (*arguments[1:], *named.values())):
        raise TypeError("sum() can only add numbers")


def _member(value: Json, key: Json) -> Json:
    return value[str(key)] if isinstance(value, dict) else value[key]


def _numbers(*values: Json) -> tuple[Json, ...]:
    if not all(isinstance(value, int | float) for value in values):
        raise TypeError("the operands must be numbers")
    return values

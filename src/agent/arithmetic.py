"""Plain arithmetic, computed exactly and without a model."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

_LEAD = re.compile(r"^\s*(?:what\s+is|what's|how\s+much\s+is|compute|calculate|evaluate)\b", re.IGNORECASE)
_PLAIN = re.compile(r"^[\d\s.,+\-−*×·/÷^%()]+$")
_MAX_LENGTH = 300
_MAX_DIGITS = 2000
_MAX_EXPONENT = 10_000


def compute(question: str) -> str | None:
    """The exact result of a question that is nothing but arithmetic; None when it is anything else.

    Knows + - * / // % ** ^ and parentheses, with × ÷ · − as people type them and commas between thousands. A result
    that is no finite decimal number is given with twelve significant digits.
    """
    text = _LEAD.sub("", question).strip().rstrip("?=. ")
    if len(text) > _MAX_LENGTH or not _PLAIN.match(text) or not re.search(r"\d\s*[^\d\s.,)]", text):
        return None
    if re.search(r"\d,(?!\d{3}(?!\d))", text) or re.search(r"\d\s+\d", text):
        return None
    python = text.replace(",", "")
    for written, meant in (("^", "**"), ("×", "*"), ("·", "*"), ("÷", "/"), ("−", "-")):
        python = python.replace(written, meant)
    try:
        return _written(_value(ast.parse(python.strip(), mode="eval").body))
    except (SyntaxError, ValueError, ZeroDivisionError, OverflowError, RecursionError, MemoryError):
        return None


_OPERATIONS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: Fraction(a // b),
    ast.Mod: lambda a, b: a % b,
}


def _value(node: ast.expr) -> Fraction:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return Fraction(ast.unparse(node)) if type(node.value) is int else Fraction(Decimal(repr(node.value)))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        operand = _value(node.operand)
        return -operand if isinstance(node.op, ast.USub) else operand
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return _power(_value(node.left), _value(node.right))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_value(node.left), _value(node.right))
    raise ValueError("not plain arithmetic")


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1 or abs(exponent) > _MAX_EXPONENT:
        raise ValueError("not an exact power")
    size = max(len(str(base.numerator)), len(str(base.denominator))) * abs(int(exponent))
    if size > _MAX_DIGITS:
        raise ValueError("too large to be meant")
    return Fraction(base ** int(exponent))


def _written(value: Fraction) -> str:
    if value.denominator == 1:
        return str(value.numerator)
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest == 1 and value.denominator.bit_length() < 40:
        digits = Decimal(value.numerator) / Decimal(value.denominator)
        if Fraction(digits) == value:
            return f"{digits:f}"
    return f"{float(value):.12g}"

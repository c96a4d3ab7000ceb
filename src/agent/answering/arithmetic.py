"""Plain arithmetic, computed exactly and without a model."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from decimal import Context, Decimal, Inexact
from fractions import Fraction

_LEAD = re.compile(r"^\s*(?:what\s+is|what['’]s|how\s+much\s+is|compute|calculate|evaluate)\b:?", re.IGNORECASE)
_PLAIN = re.compile(r"^[\d\s.,+\-−*×·/÷^%()]+$")
_NUMBER = re.compile(r"\d[\d.,]*|\.\d[\d.,]*")
_WELL_WRITTEN = re.compile(r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+")
_PERCENT = re.compile(r"%\s*(?![\d\s(.])|\d%\s|%$")
_DAY, _MONTH, _YEAR = r"(?:0?[1-9]|[12]\d|3[01])", r"(?:0?[1-9]|1[0-2])", r"(?:\d{4}|\d{1,2})"
_DATE = "|".join(
    f"{a}(?P<sign{i}>[-/]){b}(?P=sign{i}){c}"
    for i, (a, b, c) in enumerate(((_YEAR, _MONTH, _DAY), (_DAY, _MONTH, _YEAR), (_MONTH, _DAY, _YEAR)))
)
_NO_ARITHMETIC = re.compile(
    rf"^(?:{_DATE})$"
    rf"|(?<![\d.])\d{{4}}-{_MONTH}-{_DAY}(?![\d.])"
    r"|^(?:\+?\(?\d{1,4}\)?-)*\d{3}-\d{4}$"  # telephone numbers
    r"|^\d{3}-\d\d-\d{4}$|^97[89](?:-\d+){4}$"  # social security numbers and ISBNs
    r"|^(?:9/11|24/7)$"
)
"""Dates such as 2024-10-12, 3/4/2021 and 3-4-5, and other texts with signs between numbers."""
_MAX_LENGTH = 300
_MAX_DIGITS = 2000
_MAX_EXPONENT = 10_000
_MAX_DECIMALS = 60
_SIGNIFICANT = 12


def compute(question: str) -> str | None:
    """Return the exact result of a question that is pure arithmetic; None for any other question.

    Supports + - * / // % ** ^ and parentheses, the signs × ÷ · −, and commas between thousands. A result without a
    finite decimal form has twelve significant digits, or all digits of its integer part. Dates, telephone numbers and
    percentages are not arithmetic.
    """
    text = " ".join(_LEAD.sub("", question).strip().rstrip("?=. ").split())
    if len(text) > _MAX_LENGTH or not _PLAIN.match(text) or _PERCENT.search(text) or _NO_ARITHMETIC.search(text):
        return None
    if not all(_WELL_WRITTEN.fullmatch(number) for number in _NUMBER.findall(text)) or re.search(
        r"\d \d|(?<!\d),", text
    ):
        return None
    python = text.replace(",", "")
    for written, meant in (("^", "**"), ("×", "*"), ("·", "*"), ("÷", "/"), ("−", "-")):
        python = python.replace(written, meant)
    try:
        tree = ast.parse(python, mode="eval").body
        if not any(isinstance(node, ast.BinOp) for node in ast.walk(tree)):
            return None
        return _written(_value(tree, python))
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


def _value(node: ast.expr, text: str) -> Fraction:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return Fraction(text[node.col_offset : node.end_col_offset])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        operand = _value(node.operand, text)
        return -operand if isinstance(node.op, ast.USub) else operand
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return _power(_value(node.left, text), _value(node.right, text))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_value(node.left, text), _value(node.right, text))
    raise ValueError("not plain arithmetic")


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1 or abs(exponent) > _MAX_EXPONENT:
        raise ValueError("not an exact power")
    size = max(len(str(base.numerator)), len(str(base.denominator))) * abs(int(exponent))
    if size > _MAX_DIGITS:
        raise ValueError("too large to be meant")
    return Fraction(base ** int(exponent))


def _written(value: Fraction) -> str:
    """Return the number exactly if it is short; else with twelve significant digits, or its integer part."""
    if value.denominator == 1:
        return str(value.numerator)
    whole = len(str(abs(value.numerator) // value.denominator))
    exact = Context(prec=whole + _MAX_DECIMALS)
    written = exact.divide(Decimal(value.numerator), Decimal(value.denominator))
    if not exact.flags[Inexact]:
        return f"{written.normalize(exact):f}"
    context = Context(prec=max(_SIGNIFICANT, whole + 4))
    near = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    return f"{near.normalize(context):{'f' if abs(value) > 1e-6 else ''}}"

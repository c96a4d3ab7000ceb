"""The tool in a program: the function whose call gives the answer, without what answers one question only."""

from __future__ import annotations

import ast
import json
import re
import symtable
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from agent.answering.arithmetic import compute
from mcp_tools.checks.source import free_names, parameters
from mcp_tools.create.question_template import spoken_numbers
from mcp_tools.create.variations import without_parameter
from mcp_tools.particulars import capitalised_in, numbers_in, quoted_in
from mcp_tools.text import words
from mcp_tools.tool import Json

_TYPES = {bool: "bool", int: "int", float: "float", str: "str"}


@dataclass(frozen=True, slots=True)
class LiteralCall:
    """A function, and the call of it that a program makes with values that it writes out."""

    source: str
    """The function with what it needs of the program."""
    name: str
    arguments: dict[str, Json]

    @property
    def function(self) -> ast.FunctionDef:
        """The function's definition."""
        found = [node for node in ast.parse(self.source).body if isinstance(node, ast.FunctionDef)]
        return next(node for node in reversed(found) if node.name == self.name)


def call_in(program: str) -> LiteralCall | None:
    """The last call with literal arguments that a program makes of its own function.

    The values may stand in variables; the call may stand under `if __name__ == "__main__"` or in `main()`.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(program)
            functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
            statements = list(_statements(tree.body))
            values = _values(statements)
            for node in (node for statement in reversed(statements) for node in ast.walk(statement)):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions:
                    name = node.func.id
                    if arguments := _arguments(node, functions[name], values):
                        return _without_unread(LiteralCall(_needed(program, tree, name), name, arguments))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    return None


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """What the program does, without its definitions."""
    for node in body:
        is_main = isinstance(node, ast.FunctionDef) and node.name == "main" and not parameters(node)
        is_runner = isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)
        if isinstance(node, ast.FunctionDef | ast.If) and (is_main or is_runner):
            yield from _statements(node.body)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node


def _values(statements: Sequence[ast.stmt]) -> dict[str, Json]:
    """The variables that are bound once, to a literal."""
    bound = [name for statement in statements for name in _bound(statement)]
    found: dict[str, Json] = {}
    for statement in statements:
        pairs: list[tuple[ast.expr, ast.expr]] = []
        match statement:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=elements)):
                pairs = list(zip(names, elements, strict=False))
            case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value):
                pairs = [(target, value)]
        for target, value in pairs:
            if isinstance(target, ast.Name) and bound.count(target.id) == 1:
                try:
                    found[target.id] = _literal(value, found)
                except (ValueError, TypeError):
                    continue
    return found


def _arguments(call: ast.Call, function: ast.FunctionDef, values: dict[str, Json]) -> dict[str, Json] | None:
    names = [parameter.arg for parameter in parameters(function)]
    given = [*zip(names, call.args, strict=False), *((word.arg or "", word.value) for word in call.keywords)]
    try:
        return {name: _literal(node, values) for name, node in given} if len(call.args) <= len(names) else None
    except (ValueError, TypeError):
        return None


def _literal(node: ast.expr, values: dict[str, Json]) -> Json:
    """The JSON value of a literal, or of a variable that holds one.

    Raises:
        ValueError, TypeError: It is none.
    """
    if isinstance(node, ast.Name) and node.id in values:
        return values[node.id]
    if isinstance(node, ast.List | ast.Tuple):
        return [_literal(element, values) for element in node.elts]
    if isinstance(node, ast.BinOp) and (exact := compute(ast.unparse(node))) is not None:
        return json.loads(exact)
    return json.loads(json.dumps(ast.literal_eval(node), allow_nan=False))


def _needed(program: str, tree: ast.Module, name: str) -> str:
    """The statements that a function needs, as they are written, with the comments before them."""
    wanted, kept = {name}, list[ast.stmt]()
    while found := [node for node in tree.body if node not in kept and wanted & set(_bound(node))]:
        kept += found
        wanted |= {
            name for node in found for name in free_names(symtable.symtable(ast.unparse(node), "<program>", "exec"))
        }
    lines = program.splitlines(keepends=True)
    text, end = "", 0
    for node in tree.body:
        if node in kept or (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            text += "".join(lines[end : node.end_lineno])
        end = node.end_lineno or end
    return f"{text.strip()}\n"


def _without_unread(call: LiteralCall) -> LiteralCall:
    source, arguments = call.source, dict(call.arguments)
    for name in call.arguments:
        if len(arguments) > 1 and (shorter := without_parameter(source, call.name, name)) is not None:
            source = shorter
            del arguments[name]
    return LiteralCall(source, call.name, arguments)


def _bound(node: ast.stmt) -> list[str]:
    """The names that a statement binds outside of functions."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return names + [(n.asname or n.name).partition(".")[0] for n in ast.walk(node) if isinstance(n, ast.alias)]


def documented(
    call: LiteralCall, value: Json, summary: str, about: dict[str, str], returns: str, refused: dict[str, str]
) -> str:
    """The source with a whole docstring, and with what is missing: annotations, and checks of the input."""
    node = call.function
    for parameter in parameters(node):
        parameter.annotation = parameter.annotation or _annotation(call.arguments.get(parameter.arg))
    raised = [*(f"ValueError: {said}." for said in refused.values()), *_raised(node)]
    lines = call.source.splitlines()
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    code = textwrap.indent("\n".join(map(ast.unparse, body)), "    ").splitlines()
    if body and body[0].lineno > node.lineno:
        first = body[0].lineno - 1
        while lines[first - 1].lstrip().startswith("#"):
            first -= 1
        code = lines[first : node.end_lineno]
    given = ", ".join(f"{name}={argument!r}" for name, argument in call.arguments.items())
    parts = {
        "Args": [f"{name}: {said}" for name, said in about.items()],
        "Returns": [returns],
        "Raises": list(dict.fromkeys(raised)),
        "Example": [f">>> {call.name}({given})", repr(value)],
    }
    text = "\n\n".join(
        [summary, *("\n    ".join([f"{name}:", *said]) for name, said in parts.items() if said or name == "Args")]
    ).replace("\\", "\\\\")
    head = f"def {call.name}({ast.unparse(node.args)}) -> {ast.unparse(node.returns or _annotation(value))}:"
    said = textwrap.indent(f'"""{text}\n"""', "    ")
    checks = [f"    if {when}:\n        raise ValueError({said!r})" for when, said in refused.items()]
    return "\n".join([*lines[: node.lineno - 1], head, said, *checks, *code, *lines[node.end_lineno :]]) + "\n"


def _raised(node: ast.FunctionDef) -> Iterator[str]:
    for inner in ast.walk(node):
        match inner:
            case ast.Raise(exc=ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str(text)), *_])):
                yield f"{name}: {' '.join(text.split())}"
            case ast.Raise(exc=ast.Call(func=ast.Name(id=name)) | ast.Name(id=name)):
                yield f"{name}: The input cannot be taken."


def _annotation(value: Json) -> ast.expr:
    return ast.parse(_type(value), mode="eval").body


def _type(value: Json) -> str:
    if not isinstance(value, list | dict):
        return _TYPES.get(type(value), "None")
    inner = {_type(each) for each in (value.values() if isinstance(value, dict) else value)}
    one = inner.pop() if len(inner) == 1 else "float" if inner == {"int", "float"} else ""
    name, key = ("dict", "str, ") if isinstance(value, dict) else ("list", "")
    return f"{name}[{key}{one}]" if one else name


_NAMED = re.compile(
    r"\b(?:word|string|phrase|sequence|number|code|password)\s+([\w-]{3,300})"
    r"|\b((?=\w*\d)(?=\w*[A-Za-z])(?!\d+[A-Za-z]{1,3}\b)\w{3,})\b"
)
"""Words that the question introduces, and what is made of letters and digits, unless it is `57th` or `12km`."""
_TRIVIAL = frozenset(map(Decimal, (0, 1, 2)))
_COMMON = frozenset(map(Decimal, [*range(3, 14), 16, 24, 28, 29, 30, 31, 32, 52, 60, 64, 90, 100, 180, 256, 360])) | {
    *map(Decimal, (365, 366, 400, 512, 1000, 1024, 3600, 10_000, 86_400, 10**6, 10**9)),
    *map(Decimal, words("0.5 0.25 0.75 0.1 0.01 1.5 1.8 2.54 3.14 9.81 273.15")),
}
"""What is computed with in many questions: it may stand in the code of one that gives it."""
_COMMON_WORDS = words("the true false none yes no odd even utc gmt iso ascii celsius fahrenheit kelvin roman python")
_WIDEST = 2000
"""Bits of a number: nobody asks with a longer one, and comparing it would take its time."""


@dataclass(frozen=True, slots=True)
class Particulars:
    """What is particular to a question."""

    numbers: frozenset[Decimal]
    texts: frozenset[str]

    def found_in(self, constant: object, given: Sequence[Json]) -> str:
        """What of the question a constant of the code holds; empty for nothing, and for what is common and given."""
        if isinstance(constant, str):
            lowered = constant.casefold()
            text = next((text for text in self.texts if text == lowered or (" " in text and text in lowered)), "")
            inside = (numbers_in(constant) & self.numbers) - _COMMON
            return repr(text[:40]) if text else f"{min(inside):f}" if inside else ""
        if isinstance(constant, bool) or not isinstance(constant, int | float):
            return ""
        if isinstance(constant, int) and constant.bit_length() > _WIDEST:
            return ""
        number = Decimal(constant) if isinstance(constant, int) else Decimal(repr(constant))
        is_fine = number not in self.numbers or (number in _COMMON and constant in given)
        return "" if is_fine else str(constant)


def particulars(question: str) -> Particulars:
    """Collects what is particular to a question."""
    named = [introduced or mixed for introduced, mixed in _NAMED.findall(question)]
    texts = {text.casefold() for text in [*quoted_in(question), *capitalised_in(question), *named] if len(text) > 2}
    is_text = (text for text in texts - _COMMON_WORDS if any(map(str.isalnum, text)) and not text.isdigit())
    numbers = numbers_in(question) | {Decimal(number) for number in spoken_numbers(question)}
    return Particulars(numbers - _TRIVIAL, frozenset(is_text))

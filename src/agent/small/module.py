"""The tool in a program: the function whose call gives the answer, without what answers one question only."""

from __future__ import annotations

import ast
import json
import re
import symtable
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

from agent.answering.arithmetic import compute
from mcp_tools.checks.source import free_names, parameters
from mcp_tools.create.question_template import spoken_numbers
from mcp_tools.create.unused import without_parameter
from mcp_tools.text import words
from mcp_tools.tool import Json

_TYPES = {bool: "bool", int: "int", float: "float", str: "str"}


@dataclass(frozen=True, slots=True)
class Call:
    """A function, and the call of it that a program makes with values that it writes out."""

    source: str
    """The function with what it needs of the program."""
    name: str
    arguments: dict[str, Json]


def call_in(program: str) -> Call | None:
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
            for statement in reversed(statements):
                for node in ast.walk(statement):
                    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions:
                        arguments = _arguments(node, functions[node.func.id], values)
                        if arguments:
                            source = _without_the_rest(program, tree, node.func.id)
                            return _without_unread(Call(source, node.func.id, arguments))
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
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if bound.count(name) == 1:
                pairs = [(name, value)]
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if bound.count(name) == 1:
                pairs = [(name, value)]
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=elements)):
                pairs = [
                    (name.id, element)
                    for name, element in zip(names, elements, strict=False)
                    if isinstance(name, ast.Name) and bound.count(name.id) == 1
                ]
            case _:
                pairs = []
        for name, node in pairs:
            try:
                found[name] = _literal(node, found)
            except (ValueError, TypeError):
                continue
    return found


def _arguments(call: ast.Call, function: ast.FunctionDef, values: dict[str, Json]) -> dict[str, Json] | None:
    names = [parameter.arg for parameter in parameters(function)]
    if len(call.args) > len(names):
        return None
    given = [*zip(names, call.args, strict=False), *((word.arg or "", word.value) for word in call.keywords)]
    try:
        return {name: _literal(node, values) for name, node in given}
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


def _without_the_rest(program: str, tree: ast.Module, name: str) -> str:
    """The statements that a function needs, as they are written."""
    wanted, kept = {name}, list[ast.stmt]()
    while found := [node for node in tree.body if node not in kept and wanted & set(_bound(node))]:
        kept += found
        wanted |= {
            name for node in found for name in free_names(symtable.symtable(ast.unparse(node), "<program>", "exec"))
        }
    lines = program.splitlines()
    text, before = "", None
    for node in tree.body:
        if node in kept or (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            decorators = getattr(node, "decorator_list", [])
            first = min([node.lineno, *(decorator.lineno for decorator in decorators)]) - 1
            kinds = {_kind(node), _kind(before or node)}
            between = "\n\n\n" if "definition" in kinds else "\n" if len(kinds) == 1 else "\n\n"
            text += between + "\n".join(lines[_with_comments(lines, first) : node.end_lineno]).rstrip()
            before = node
    return f"{text.strip()}\n"


def _kind(node: ast.stmt) -> str:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return "import"
    return "definition" if isinstance(node, ast.FunctionDef | ast.ClassDef) else "constant"


def _without_unread(call: Call) -> Call:
    """The call without the parameters that the function never reads."""
    source, arguments = call.source, dict(call.arguments)
    for name in call.arguments:
        if len(arguments) > 1 and (shorter := without_parameter(source, call.name, name)) is not None:
            source = shorter
            del arguments[name]
    return Call(source, call.name, arguments)


def _with_comments(lines: list[str], first: int) -> int:
    """Where a statement begins with the comments above it."""
    while first and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    return first


def _bound(node: ast.stmt) -> list[str]:
    """The names that a statement binds outside of functions."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return names + [(n.asname or n.name).partition(".")[0] for n in ast.walk(node) if isinstance(n, ast.alias)]


def documented(
    call: Call, value: Json, summary: str, about: dict[str, str], returns: str, refused: dict[str, str]
) -> str:
    """The source with a whole docstring, and with what is missing: annotations, and checks of the input.

    Args:
        call: The function and a call of it.
        value: What the call gives, which becomes the docstring's example.
        summary: What the function computes.
        about: What each parameter is.
        returns: What the result is.
        refused: What is said of input that the function cannot take, by the condition.
    """
    node = function_of(call)
    for parameter in parameters(node):
        if parameter.annotation is None:
            parameter.annotation = _annotation(call.arguments.get(parameter.arg))
    raised = [*(f"ValueError: {said}." for said in refused.values()), *_raised(node)]
    lines = call.source.splitlines()
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    code = textwrap.indent("\n".join(map(ast.unparse, body)), "    ").splitlines()
    if body and body[0].lineno > node.lineno:
        code = lines[_with_comments(lines, body[0].lineno - 1) : node.end_lineno]
    given = ", ".join(f"{name}={argument!r}" for name, argument in call.arguments.items())
    text = "\n".join(
        [
            summary,
            "",
            "Args:",
            *(f"    {name}: {said}" for name, said in about.items()),
            "",
            "Returns:",
            f"    {returns}",
            *(["", "Raises:", *(f"    {line}" for line in dict.fromkeys(raised))] if raised else []),
            "",
            "Example:",
            f"    >>> {call.name}({given})",
            f"    {value!r}",
        ]
    ).replace("\\", "\\\\")
    returned = ast.unparse(node.returns or _annotation(value))
    head = f"def {call.name}({ast.unparse(node.args)}) -> {returned}:"
    said = textwrap.indent(f'"""{text}\n"""', "    ")
    checks = [f"    if {when}:\n        raise ValueError({said!r})" for when, said in refused.items()]
    return "\n".join([*lines[: node.lineno - 1], head, said, *checks, *code, *lines[node.end_lineno :]]) + "\n"


def _raised(node: ast.FunctionDef) -> Iterator[str]:
    """What the code itself raises, as a docstring says it."""
    for inner in ast.walk(node):
        match inner:
            case ast.Raise(exc=ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str(text)), *_])):
                yield f"{name}: {' '.join(text.split())}"
            case ast.Raise(exc=ast.Call(func=ast.Name(id=name)) | ast.Name(id=name)):
                yield f"{name}: The input cannot be taken."


def function_of(call: Call) -> ast.FunctionDef:
    """The definition of the function that is called."""
    tree = ast.parse(call.source)
    return next(node for node in reversed(tree.body) if isinstance(node, ast.FunctionDef) and node.name == call.name)


def _annotation(value: Json) -> ast.expr:
    """The type of a JSON value."""
    return ast.parse(_type(value), mode="eval").body


def _type(value: Json) -> str:
    if isinstance(value, list):
        inner = {_type(each) for each in value}
        return f"list[{inner.pop()}]" if len(inner) == 1 else "list[float]" if inner == {"int", "float"} else "list"
    if isinstance(value, dict):
        inner = {_type(each) for each in value.values()}
        return f"dict[str, {inner.pop()}]" if len(inner) == 1 else "dict"
    return _TYPES.get(type(value), "None")


_NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?|(?<![\w.])\.\d+")
_SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SCALE = re.compile(rf"\s*({'|'.join(_SCALES)})\b", re.IGNORECASE)
_PERCENT = re.compile(r"\s*(?:%|percent\b|per cent\b)", re.IGNORECASE)
_QUOTED = re.compile(
    r"(?<!\w)'([^'\n]{3,300})'(?!\w)|\"([^\"\n]{3,300})\"|“([^”\n]{3,300})”|‘([^’\n]{3,300})’|`([^`\n]{3,300})`"
)
_INTRODUCED = re.compile(r"\b(?:word|string|phrase|sequence|number|code|password)\s+([A-Za-z0-9_-]{3,300})")
_NAME = re.compile(r"(?<![\w'’])[^\W\d_a-z][\w-]{2,}")
_MIXED = re.compile(r"\b(?=\w*\d)(?=\w*[A-Za-z])\w{3,}\b")
_ORDINAL_OR_UNIT = re.compile(r"\d+[A-Za-z]{1,3}$")
_WORD = re.compile(r"\w[\w-]*")

_TRIVIAL = frozenset(map(Decimal, (0, 1, 2)))
_COMMON = frozenset(
    [Decimal(number) for number in range(3, 14)]
    + [Decimal(n) for n in (15, 16, 20, 24, 26, 28, 29, 30, 31, 32, 50, 52, 60, 64, 90, 97, 100, 128, 180, 255, 256)]
    + [Decimal(n) for n in (360, 365, 366, 400, 500, 512, 1000, 1024, 3600, 10**4, 86400, 10**5, 10**6, 10**9)]
    + [Decimal(n) for n in (10**9 + 7, 10**12)]
    + [Decimal(text) for text in ("0.5", "0.25", "0.75", "0.1", "0.01", "0.001", "1.5", "365.25", "3.14", "3.14159")]
)
_COMMON |= frozenset(
    Decimal(text)
    for text in words(
        """
        1.609344 1.60934 1.609 0.621371 3.785411784 3.78541 3.785 2.54 0.3048 0.9144 0.45359237 0.453592 2.20462
        28.349523125 1852 1.852 273.15 459.67 1.8 9.81 9.8 9.80665 299792458 6.02214076e23 6.022e23 8.314 4.184 4.186
        101325 6371 3.1416
        """
    )
)
"""Conversions and constants of nature: the same in every question that names them."""
_NO_NAMES = words(
    """
    What Which Who Whom Whose When Where Why How Is Are Was Were Do Does Did Can Could Will Would Should Has Have Had
    The This That These Those There They Then Than Its Let Given Give Find Compute Calculate Count Determine Return
    Print Convert Write Tell Show List
    Sort Solve Evaluate Express Round Simplify Suppose Assume Consider Use Using Each Every
    All Any Some Many Much Most Starting After Before Between From For With Without And But Not Answer Question Output
    Input Please Yes None True False Reverse Sum Add Multiply Divide Take Make Create Encode Decode Parse Check Simulate
    UTC GMT ISO ASCII JSON CSV XML HTML URL UTF Unicode Base64 SHA256 MD5 Roman Arabic Latin Greek Gregorian Julian
    Celsius Fahrenheit Kelvin USD EUR GBP JPY CHF Python
    """
)
_WIDEST = 2000
_MOST_TEXTS = 500
"""Of a very long question, the first so many quoted texts count."""


@dataclass(frozen=True, slots=True)
class Literal:
    """Something of the question that stands in the code."""

    text: str
    """How to show it."""
    common: bool = False
    is_text: bool = False


@dataclass(frozen=True)
class Particulars:
    """What is particular to a question."""

    numbers: frozenset[Decimal] = frozenset()
    names: frozenset[str] = frozenset()
    """Single words, as they are spelled."""
    texts: tuple[str, ...] = field(default=())
    """Quoted texts of several words, in lower case."""

    def found_in(self, value: object) -> list[Literal]:
        """What of the question a constant of the code holds."""
        if isinstance(value, str):
            return self._in_text(value)
        if isinstance(value, int) and value.bit_length() > _WIDEST:
            return []  # nobody asks with so long a number, and comparing it would take its time
        if isinstance(value, int | float) and not isinstance(value, bool):
            number = Decimal(value) if isinstance(value, int) else Decimal(repr(value))
            if number in self.numbers:
                return [Literal(str(value) if abs(value) < 10**30 else "a number", common=number in _COMMON)]
        return []

    def _in_text(self, value: str) -> list[Literal]:
        found = [Literal(repr(name), is_text=True) for name in sorted(self._names_in(value))]
        lowered = value.casefold()
        found += [Literal(repr(_cut(text)), is_text=True) for text in self.texts if text in lowered]
        inside = numbers_in(value) & self.numbers
        return found + [Literal(f"{number:f}") for number in sorted(inside - _COMMON)]

    def _names_in(self, value: str) -> set[str]:
        tokens = set(_WORD.findall(value))
        return {name for name in tokens if name in self.names or name.casefold() in self.names}


def particulars(question: str) -> Particulars:
    """Collects what is particular to a question."""
    quoted = [next(filter(None, match.groups())) for match in _QUOTED.finditer(question)]
    texts = [text.strip() for text in quoted[:_MOST_TEXTS]]
    names = {name.rstrip("-") for name in _NAME.findall(question)} - _NO_NAMES
    names |= {token for token in _MIXED.findall(question) if not _ORDINAL_OR_UNIT.match(token)}
    single = [text for text in texts if _WORD.fullmatch(text)]
    introduced = [word for word in _INTRODUCED.findall(question) if word not in _COMMON_WORDS]
    names |= {word.casefold() for word in [*single, *introduced] if not word.isdigit()} - _COMMON_WORDS
    several = tuple(dict.fromkeys(text.casefold() for text in texts if text not in single and not _is_markup(text)))
    numbers = numbers_in(question) | {Decimal(number) for number in spoken_numbers(question)}
    return Particulars(frozenset(numbers) - _TRIVIAL, frozenset(names) - _NO_NAMES, several)


_COMMON_WORDS = words(
    """
    yes no true false none null odd even left right up down north south east west red green blue is are of that the with
    system systems theory sequence sequences which whose contains problem line lines between from for and has and then
    consisting formed where such line
    """
)


def _is_markup(text: str) -> bool:
    return not any(character.isalnum() for character in text)


def _cut(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"


def numbers_in(text: str) -> frozenset[Decimal]:
    """The numbers written with digits in a text, and what percentages and scales make of them."""
    found: set[Decimal] = set()
    for match in _NUMBER.finditer(text):
        parts = [match[0].replace(",", "")]
        if "," in match[0]:
            parts += match[0].split(",")  # a list without blanks looks like thousands
        for part in parts:
            number = _decimal(part)
            if number is None:
                continue
            found.add(number)
            if scale := _SCALE.match(text, match.end()):
                found.add(number * _SCALES[scale[1].lower()])
            if _PERCENT.match(text, match.end()):
                rate = number / 100
                found |= {rate, 1 + rate, 1 - rate}
    return frozenset(found)


def _decimal(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        return None

"""The tool in a program: the function whose call gives the answer, without what answers one question only."""

from __future__ import annotations

import ast
import json
import symtable
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.answering.arithmetic import compute
from mcp_tools.checks.source import free_names, parameters
from mcp_tools.create.unused import without_parameter
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

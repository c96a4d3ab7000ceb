"""Reads a tool's spec from its code: the signature and docstring of its public function."""

from __future__ import annotations

import ast
import doctest
import inspect
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from mcp_tools.checks.source import CheckedSource, Function, annotation_nodes, parameters
from mcp_tools.create.interfaces import Test
from mcp_tools.create.result_part import FUNCTIONS, RESULT, read_part
from mcp_tools.sandbox.inside.docstring import parse_docstring
from mcp_tools.tool import Capabilities, Json, Parameter, ToolSpec

_LOOSE = frozenset({doctest.ELLIPSIS, doctest.SKIP})
"""Doctest options that allow an example to show only a part of its result."""


@dataclass(frozen=True, slots=True)
class DocumentedFunction:
    """The public function of a source, with its documentation."""

    spec: ToolSpec
    source: CheckedSource
    docstring: str
    definition: str
    """Types, signature and docstring, without the body. The examiner sees nothing else."""
    examples: tuple[Test, ...] = ()
    """Tests from the docstring's `>>>` calls with literal arguments and a literal result."""
    unused: tuple[str, ...] = ()
    """The docstring's other `>>>` expressions."""


def read_function(source: str, name: str, capabilities: Capabilities) -> DocumentedFunction | None:
    """Read a function's spec from a source that parses.

    Args:
        source: The source.
        name: The function; empty for the only public function.
        capabilities: The capabilities that the tool declares.

    Returns:
        The function; None if the source has no such function.
    """
    checked = CheckedSource(source, capabilities, name or None)
    entry = checked.entry
    if entry is None:
        return None
    docstring = inspect.cleandoc(ast.get_docstring(entry, clean=False) or "")
    documented = parse_docstring(docstring, [parameter.arg for parameter in parameters(entry)])
    taken = tuple(
        Parameter(
            parameter.arg,
            ast.unparse(parameter.annotation) if parameter.annotation else "Any",
            documented.parameters.get(parameter.arg) or _annotated(parameter.annotation),
        )
        for parameter in parameters(entry)
    )
    summary = " ".join(documented.text.split("\n\n")[0].split())
    returns = ast.unparse(entry.returns) if entry.returns else "Any"
    spec = ToolSpec(entry.name, summary, taken, returns, capabilities)
    signature = f"def {entry.name}({ast.unparse(entry.args)}) -> {returns}:"
    body = "\n".join(f"    {line}" if line else "" for line in f'"""{docstring}\n"""'.splitlines())
    definition = "\n\n".join([*_types_of(checked, entry), f"{signature}\n{body}"])
    tests, unused = _examples(docstring, entry)
    return DocumentedFunction(spec, checked, docstring, definition, tuple(tests), tuple(unused))


def _examples(docstring: str, entry: Function) -> tuple[list[Test], list[str]]:
    """Return the tests in a docstring's examples, and the examples that cannot become tests."""
    tests, unused, assigned = list[Test](), list[str](), dict[str, ast.expr]()
    try:
        listed = doctest.DocTestParser().get_examples(docstring)
    except ValueError:  # misplaced `>>>`
        return tests, unused
    names = [parameter.arg for parameter in parameters(entry)]
    for example in listed:
        match _statement(example.source):
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                assigned[name] = _Named(assigned).visit(value)
            case ast.Expr(value=expression):
                try:
                    tests.append(_example(example, _Named(assigned).visit(expression), entry, names))
                except (ValueError, RecursionError):
                    unused.append(example.source.strip())
    return tests, unused


def _example(example: doctest.Example, expression: ast.expr, entry: Function, names: Sequence[str]) -> Test:
    wanted, returns_text = example.want, entry.returns is not None and ast.unparse(entry.returns) == "str"
    match expression:
        case ast.Call(func=ast.Name(id="print"), args=[ast.Call() as printed], keywords=[]) if returns_text:
            expression, wanted = printed, repr(wanted.removesuffix("\n").replace("<BLANKLINE>", ""))
    function, given, part = _tested(expression, names)
    raised = (example.exc_msg or "").partition(":")[0].strip().rpartition(".")[2]
    if function != entry.name or (raised and part) or _LOOSE & example.options.keys():
        raise ValueError("the example cannot become a test of the function")
    expected = None if raised else read_value(wanted)
    return Test(given, expected, "docstring", bool(raised), "the docstring's example", part=part, error=raised)


def _statement(text: str) -> ast.stmt | None:
    try:
        body = ast.parse(text).body
    except (SyntaxError, RecursionError, MemoryError):
        return None
    return body[0] if len(body) == 1 else None


class _Named(ast.NodeTransformer):
    """Replaces names with the expressions assigned to them."""

    def __init__(self, assigned: dict[str, ast.expr]) -> None:
        self._assigned = assigned

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._assigned.get(node.id, node)


class _Cut(ast.NodeTransformer):
    """Replaces a call with the name that stands for its result."""

    def __init__(self, call: ast.Call) -> None:
        self._call = call

    def visit(self, node: ast.AST) -> ast.AST:
        return ast.Name(RESULT, ast.Load()) if node is self._call else super().visit(node)


def read_tested(text: str, names: Sequence[str]) -> tuple[str, dict[str, Json], str]:
    """Parse a call, perhaps inside an expression, such as `area(2, unit='cm')["value"]`.

    Args:
        text: The expression.
        names: The function's parameter names, in order.

    Returns:
        The function's name, its arguments, and the expression about its result, such as `result["value"]`; the
        expression is empty for the whole result.

    Raises:
        ValueError: There is not exactly one call, an argument is not a JSON literal, or the expression is too complex.

    Example:
        >>> read_tested("area(2, unit='cm')['value']", ["width", "unit"])
        ('area', {'width': 2, 'unit': 'cm'}, "result['value']")
    """
    try:
        return _tested(_parsed(text), names)
    except RecursionError as error:
        raise ValueError(str(error)) from None


def _tested(tree: ast.expr, names: Sequence[str]) -> tuple[str, dict[str, Json], str]:
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in FUNCTIONS
    ]
    if len(calls) != 1:
        raise ValueError(f"a test must contain exactly one call of the function: {ast.unparse(tree):.200}")
    function, given = _call(calls[0], names)
    part = "" if tree is calls[0] else ast.unparse(_Cut(calls[0]).visit(tree))
    if part:
        read_part(part)
    return function, given, part


def _call(node: ast.Call, names: Sequence[str]) -> tuple[str, dict[str, Json]]:
    match node:
        case ast.Call(func=ast.Name(id=function), args=args, keywords=keywords) if len(args) <= len(names):
            given = {name: _literal(value) for name, value in zip(names, args, strict=False)}
            if all(word.arg and word.arg not in given for word in keywords):
                return function, given | {word.arg: _literal(word.value) for word in keywords if word.arg}
    raise ValueError(f"the arguments of the call must be literals: {ast.unparse(node):.200}")


def read_value(text: str) -> Json:
    """Return the JSON value of a Python literal.

    Raises:
        ValueError: The text is not a literal, or JSON has no such value.
    """
    return _literal(_parsed(text))


def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(str(error)) from None


def _literal(node: ast.expr) -> Json:
    try:
        return json.loads(json.dumps(ast.literal_eval(node), allow_nan=False))
    except (TypeError, RecursionError, MemoryError) as error:
        raise ValueError(str(error)) from None


def _annotated(annotation: ast.expr | None) -> str:
    """Return the description in `Annotated[int, "how many"]`; empty for any other annotation."""
    match annotation:
        case ast.Subscript(
            value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[_, ast.Constant(value=str(text)), *_])
        ):
            return text
    return ""


def _types_of(source: CheckedSource, entry: Function) -> list[str]:
    """Return the code of all classes and aliases that the function's annotations use, without methods."""
    texts = {name: _without_methods(node) for node in source.tree.body for name in _bound(node)}
    wanted: set[str] = set()
    waiting = " ".join(map(ast.unparse, annotation_nodes(entry)))
    while found := set(re.findall(r"\w+", waiting)) & texts.keys() - wanted:
        wanted |= found
        waiting = " ".join(texts[name] for name in found)
    return [text for name, text in texts.items() if name in wanted]


def _bound(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _without_methods(node: ast.stmt) -> str:
    if isinstance(node, ast.ClassDef):
        kept = [part for part in node.body if not isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)]
        node = ast.ClassDef(node.name, node.bases, node.keywords, kept or [ast.Pass()], node.decorator_list)
    return ast.unparse(ast.fix_missing_locations(node))

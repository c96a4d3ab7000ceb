"""The spec of a tool, read from its code: the signature and docstring of its public function."""

from __future__ import annotations

import ast
import doctest
import inspect
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcp_tools.checks.source import Function, Source, annotation_nodes, parameters
from mcp_tools.create.interfaces import Test
from mcp_tools.sandbox.inside.docstring import parse_docstring
from mcp_tools.tool import Capabilities, Json, Parameter, ToolSpec


@dataclass(frozen=True, slots=True)
class DocumentedFunction:
    """The public function of a source, as its writer documented it."""

    spec: ToolSpec
    source: Source
    docstring: str
    definition: str
    """Types, signature and docstring, without any code: all that an examiner sees."""
    examples: tuple[Test, ...] = ()
    """The docstring's `>>>` calls, as far as arguments and result are literals."""


def read_function(source: str, name: str, capabilities: Capabilities) -> DocumentedFunction | None:
    """The spec in a source that parses; None when it has no such function. No name means its one public function."""
    checked = Source(source, capabilities, name or None)
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
    return DocumentedFunction(spec, checked, docstring, definition, tuple(_examples(docstring, entry)))


def _examples(docstring: str, entry: Function) -> Iterator[Test]:
    try:
        listed = doctest.DocTestParser().get_examples(docstring)
    except ValueError:  # its prompts are misplaced
        return
    names = [parameter.arg for parameter in parameters(entry)]
    for example in listed:
        try:
            function, given = read_call(example.source, names)
            if function == entry.name:
                yield Test(given, read_value(example.want), "docstring", because="the docstring's example")
        except ValueError:
            continue


def read_call(text: str, names: Sequence[str]) -> tuple[str, dict[str, Json]]:
    """The function and the arguments of a call such as `area(2, unit='cm')`; its parameters have these names in order.

    Raises:
        ValueError: It is no call, or not all of its arguments are literals that JSON carries.
    """
    match _parsed(text):
        case ast.Call(func=ast.Name(id=function), args=args, keywords=keywords) if len(args) <= len(names):
            given = {name: _literal(value) for name, value in zip(names, args, strict=False)}
            if all(word.arg and word.arg not in given for word in keywords):
                return function, given | {word.arg: _literal(word.value) for word in keywords if word.arg}
    raise ValueError(f"not a call with literal arguments: {text:.200}")


def read_value(text: str) -> Json:
    """The JSON value of a Python literal.

    Raises:
        ValueError: It is none.
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
    """The description in `Annotated[int, "how many"]`."""
    match annotation:
        case ast.Subscript(
            value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[_, ast.Constant(value=str(text)), *_])
        ):
            return text
    return ""


def _types_of(source: Source, entry: Function) -> list[str]:
    """The classes, without methods, and aliases that the function's annotations name, directly or through others."""
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

"""The spec that code carries itself: its one public function's signature and docstring, and how good they are."""

from __future__ import annotations

import ast
import doctest
import inspect
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from mcp_tools.checks.modules import words
from mcp_tools.checks.scopes import annotation_nodes, parameters
from mcp_tools.checks.source import Function, Source
from mcp_tools.create.protocol import Test
from mcp_tools.sandbox.inside.docstring import parse
from mcp_tools.tool import Capabilities, Json, Parameter, ToolSpec

_GENERIC = (
    "number num text string str value val arg argument param parameter input var variable item thing given"
    " int integer float bool list dict array obj object data foo bar baz"
)
_PLACEHOLDER = re.compile(
    rf"(?:(?:{_GENERIC.replace(' ', '|')})_?\d+|args?|arguments?|params?|parameters?|vars?|foo|bar|baz)"
)
_SAYS_NOTHING = words("a an the of to for in thi that these it i are be as function tool return returned")
"""Words that add nothing to a name, without the plural's s."""
_SAYS_THE_TYPE = words("value given input parameter argument int integer float number str string text bool list dict")
"""Words that add nothing to a parameter's name and type."""


@dataclass(frozen=True, slots=True)
class Written:
    """A function as its writer documented it."""

    spec: ToolSpec
    text: str
    """Types, signature and docstring, without any code: all that an examiner sees."""
    summary: str
    """The first paragraph of the docstring."""
    examples: tuple[Test, ...] = ()
    """The docstring's `>>>` calls, as far as arguments and result are literals."""


def read_function(source: str, name: str, capabilities: Capabilities) -> Written | None:
    """The spec in a source that parses; None when it has no such function.

    Args:
        source: The whole file.
        name: The function that is the tool; empty for its one public function.
        capabilities: What the tool may use.
    """
    checked = Source(source, capabilities, name or None)
    entry = checked.entry
    if entry is None:
        return None
    docstring = inspect.cleandoc(ast.get_docstring(entry, clean=False) or "")
    documented = parse(docstring, [parameter.arg for parameter in parameters(entry)])
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
    types = [_without_methods(node) for node in _types_of(checked, entry)]
    signature = f"def {entry.name}({ast.unparse(entry.args)}) -> {returns}:"
    body = "\n".join(f"    {line}" if line else "" for line in f'"""{docstring}\n"""'.splitlines())
    return Written(spec, "\n\n".join([*types, f"{signature}\n{body}"]), summary, tuple(_examples(docstring, entry)))


def _examples(docstring: str, entry: Function) -> Iterator[Test]:
    try:
        listed = doctest.DocTestParser().get_examples(docstring)
    except ValueError:  # its prompts are misplaced
        return
    names = [parameter.arg for parameter in parameters(entry)]
    for example in listed:
        try:
            call = ast.parse(example.source.strip(), mode="eval").body
            expected = _literal(ast.parse(example.want.strip(), mode="eval").body)
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == entry.name:
                given = {name: _literal(value) for name, value in zip(names, call.args, strict=False)}
                given |= {word.arg: _literal(word.value) for word in call.keywords if word.arg}
                yield Test(given, expected, "docstring", because="the docstring's example")
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
            continue


def _literal(node: ast.expr) -> Json:
    """The JSON value of a literal.

    Raises:
        ValueError, TypeError: It is none.
    """
    return json.loads(json.dumps(ast.literal_eval(node), allow_nan=False))


def _annotated(annotation: ast.expr | None) -> str:
    """The description in `Annotated[int, "how many"]`."""
    match annotation:
        case ast.Subscript(
            value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[_, ast.Constant(value=str(text)), *_])
        ):
            return text
    return ""


def _types_of(source: Source, entry: Function) -> list[ast.stmt]:
    """The classes and aliases of the module that annotations of the function name, directly or through others."""
    types = [node for node in source.tree.body if isinstance(node, ast.ClassDef | ast.Assign | ast.AnnAssign)]
    wanted = {name for part in annotation_nodes(entry) for name in _named(part)}
    while more := {name for node in types if _bound(node) & wanted for name in _named(node)} - wanted:
        wanted |= more
    return [node for node in types if _bound(node) & wanted]


def _named(node: ast.AST) -> set[str]:
    """The names in a type, those in quotes too; what methods do with names is nothing of the type."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return set()
    found = {node.id} if isinstance(node, ast.Name) else set()
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        found |= {name for name in re.findall(r"\w+", node.value) if len(node.value) < 200}
    return found.union(*map(_named, ast.iter_child_nodes(node)))


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


def shortcomings(written: Written) -> Iterator[str]:
    """Why nobody else could use the tool from its definition: names and descriptions that say nothing."""
    spec = written.spec
    if not spec.parameters:
        yield f"{spec.name} takes no parameter, so that its result is always the same"
    if not _words(written.summary) - _words(spec.name) - _SAYS_NOTHING:
        yield f"the docstring of {spec.name} says no more than its name; say what it computes, and from what"
    yield from placeholders(spec)
    for parameter in spec.parameters:
        if not parameter.description.strip():
            yield f"the docstring's Args do not describe {parameter.name!r}; say what it is, in which unit"
        elif not _words(parameter.description) - _words(parameter.name) - _SAYS_NOTHING - _SAYS_THE_TYPE:
            yield f"the description of {parameter.name!r} only repeats its name; say what it is, in which unit"


def placeholders(spec: ToolSpec) -> Iterator[str]:
    """Parameters whose names say nothing of what they hold."""
    for parameter in spec.parameters:
        if _PLACEHOLDER.fullmatch(parameter.name.casefold()):
            yield f"{parameter.name!r} is a placeholder; name the parameter after what it holds"


def _words(text: str) -> set[str]:
    """The words of a text, without the plural's s."""
    return {word.removesuffix("s") for word in re.findall(r"[^\W_]+", text.casefold())}

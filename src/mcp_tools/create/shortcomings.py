"""Finds what makes a tool useless for others: missing documentation, or code that fits one question only."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mcp_tools.create.documented_function import DocumentedFunction
from mcp_tools.sandbox.inside.docstring import parse_docstring
from mcp_tools.text import words
from mcp_tools.tool import Json

_GENERIC = (
    "number num text string str value val arg argument param parameter input var variable item thing given"
    " int integer float bool list dict array obj object data foo bar baz"
)
_PLACEHOLDER = re.compile(
    rf"(?:(?:{_GENERIC.replace(' ', '|')})_?\d+|args?|arguments?|params?|parameters?|vars?|foo|bar|baz)"
)
_SAYS_NOTHING = words("a an the of to for in thi that these it i are be as function tool return returned")
"""Words that add nothing to a name, without a plural s."""
_SAYS_THE_TYPE = words("value given input parameter argument int integer float number str string text bool list dict")
"""Words that add nothing to a parameter's name and type."""
_RAISES = re.compile(r"^\s*Raises:\s*$", re.MULTILINE)
_ERROR_TEXT = re.compile(r"\s*error\b\s*[:!-]", re.IGNORECASE)
_MAX_QUOTED = 60
"""Maximum number of characters that code may repeat from the question: enough for a message, but not for data."""
_MIN_VALUE_CHARS = 3


def shortcomings(function: DocumentedFunction, question: str, arguments: dict[str, Json]) -> Iterator[str]:
    """Yield the problems that the author has to fix.

    Args:
        function: The function.
        question: The question that it answers.
        arguments: The arguments that answer the question.
    """
    yield from _of_the_definition(function)
    yield from _of_the_code(function)
    yield from _of_one_question(function, " ".join(question.split()), arguments)


def _of_the_definition(function: DocumentedFunction) -> Iterator[str]:
    spec = function.spec
    if not spec.parameters:
        yield f"{spec.name} takes no parameters, so its result is always the same"
    if not _words(spec.purpose) - _words(spec.name) - _SAYS_NOTHING:
        yield f"the docstring of {spec.name} only repeats its name; say what it computes and from what"
    for parameter in spec.parameters:
        if _PLACEHOLDER.fullmatch(parameter.name.casefold()):
            yield f"{parameter.name!r} is a placeholder; name the parameter after its content"
    for parameter in spec.parameters:
        if not parameter.description.strip():
            yield f"the docstring's Args do not describe {parameter.name!r}; say what it is and in which unit"
        elif not _words(parameter.description) - _words(parameter.name) - _SAYS_NOTHING - _SAYS_THE_TYPE:
            yield f"the description of {parameter.name!r} only repeats its name; say what it is and in which unit"
    documented = parse_docstring(function.docstring)
    for name in documented.parameters.keys() - {parameter.name for parameter in spec.parameters}:
        if name.islower():
            yield f"the docstring's Args describe {name!r}, which is not a parameter of {spec.name}"
    if not _words(documented.returns) - _SAYS_NOTHING - _SAYS_THE_TYPE - {"result"}:
        yield "the docstring has no informative Returns section; say what the result is and in which unit or form"


def _of_the_code(function: DocumentedFunction) -> Iterator[str]:
    used = {function.spec.name, *function.source.used_by(function.spec.name)}
    nodes = [node for part in function.source.functions if part.name in used for node in ast.walk(part)]
    if not _RAISES.search(function.docstring):
        raised = next((node.exc for node in nodes if isinstance(node, ast.Raise) and node.exc), None)
        if raised is not None:
            name = ast.unparse(raised.func if isinstance(raised, ast.Call) else raised)
            yield f"the code raises {name}, but the docstring has no Raises section; say for which input"
    for node in nodes:
        returned = node.value if isinstance(node, ast.Return) else None
        if isinstance(returned, ast.JoinedStr) and returned.values:
            returned = returned.values[0]
        match returned:
            case ast.Constant(value=str(text)) if _ERROR_TEXT.match(text):
                yield f"line {returned.lineno} returns an error message as a result; raise ValueError instead"


def _of_one_question(function: DocumentedFunction, question: str, arguments: dict[str, Json]) -> Iterator[str]:
    types = {parameter.name: parameter.type for parameter in function.spec.parameters}
    parts = set(function.spec.name.split("_"))
    for name, value in arguments.items():
        word = str(value).casefold() if type(value) in (int, str) else ""
        if word in parts and "Literal" not in types.get(name, "") and (word.isdigit() or len(word) >= _MIN_VALUE_CHARS):
            yield f"the name {function.spec.name} contains {word!r}, the value of {name!r}; name the general concept"
        if isinstance(value, str) and len(value) > _MAX_QUOTED and " ".join(value.split()) == question:
            yield f"{name!r} is the question itself; take the values that the computation needs"
    for node in function.source.all_of(ast.Constant):
        text = " ".join(node.value.split()) if isinstance(node.value, str) else ""
        if len(text) > _MAX_QUOTED and text in question:
            yield f"line {node.lineno} contains {text[:_MAX_QUOTED]!r}… from the question; take the data as a parameter"


def _words(text: str) -> set[str]:
    return {word.removesuffix("s") for word in re.findall(r"[^\W_]+", text.casefold())}

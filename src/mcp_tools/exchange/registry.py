"""Read Open-Alita's `mcp_tools_registry.json`, and complete the code in its entries.

An entry has a `name`, a `description`, `metadata` with the strings `args`, `returns` and `requires`, and the code in
`script_content`. Missing types and docstrings are added to the code if the entry or the code itself determines them.
"""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO

from mcp_tools.checks.source import CheckedSource, Function, parameters
from mcp_tools.checks.structure import MAX_SOURCE_BYTES
from mcp_tools.create.variations import without_parameter
from mcp_tools.text import one_line
from mcp_tools.tool import Json

_FENCE = re.compile(r"\A\s*```(?:python|py)?[ \t]*\n(?P<code>.*?)\n?```\s*\Z", re.DOTALL | re.IGNORECASE)
_TYPES = {
    "int": "int", "integer": "int", "float": "float", "number": "float", "str": "str", "string": "str", "text": "str",
    "bool": "bool", "boolean": "bool", "list": "list", "array": "list", "dict": "dict", "dictionary": "dict",
    "object": "dict",
}  # fmt: skip
_CALLS = {"str": "str", "int": "int", "float": "float", "bool": "bool", "len": "int", "list": "list", "dict": "dict",
          "sorted": "list"}  # fmt: skip


def entries_of(registry: Json) -> list[Json]:
    """Return the entries of a registry.

    Raises:
        ValueError: The value is not a registry.
    """
    listed = registry.get("tools") if isinstance(registry, dict) else registry
    if not isinstance(listed, list):
        raise ValueError("it is not a registry: a registry is a list of entries with `name` and `script_content`")
    return listed


def repaired(text: str, name: str, about: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return the repaired code and a list of repairs. Code with a syntax error is returned unchanged.

    Args:
        text: The code.
        name: Name of the tool's function.
        about: The texts in the registry entry.
    """
    done: list[str] = []
    if fenced := _FENCE.match(text):
        text = f"{fenced['code']}\n"
        done.append("Markdown fence removed")
    mended = text
    try:
        for repair in (_documented, _unread, _typed) if _entry(text, name) and len(text) <= MAX_SOURCE_BYTES else ():
            tried, more = repair(mended, name, about)
            if _entry(tried, name):
                mended, done = tried, done + more
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError, StopIteration):
        return text, done[:1] if fenced else []
    return mended, done


def _entry(text: str, name: str) -> ast.FunctionDef | None:
    try:
        tree = CheckedSource(text).tree
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return next((node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name), None)


def _required(text: str, name: str) -> ast.FunctionDef:
    found = _entry(text, name)
    assert found is not None, "repairs never remove the function"
    return found


def _unread(text: str, name: str, about: Mapping[str, str]) -> tuple[str, list[str]]:
    done = []
    for parameter in parameters(_required(text, name)):
        shorter = without_parameter(text, name, parameter.arg)
        if shorter is not None and _entry(shorter, name):
            text = shorter
            done.append(f"unused parameter {parameter.arg} removed")
    return text, done


def _typed(text: str, name: str, about: Mapping[str, str]) -> tuple[str, list[str]]:
    """Add annotations that can be inferred from defaults, the entry's texts or the returned values."""
    node, done = _required(text, name), []
    listed = [*node.args.posonlyargs, *node.args.args]
    defaults = {p.arg: value for p, value in zip(reversed(listed), reversed(node.args.defaults), strict=False)}
    places: list[tuple[int, int, str]] = []
    for parameter in listed:
        kind = _type_of(defaults.get(parameter.arg)) or _type_in_text(about.get("args", ""), parameter.arg)
        if parameter.annotation is None and kind:
            places.append((parameter.end_lineno or 0, parameter.end_col_offset or 0, f": {kind}"))
            done.append(f"{parameter.arg} annotated as {kind}")
    kinds = {*_returned(node)}
    kind = (kinds.pop() if len(kinds) == 1 else "") or _type_in_text(about.get("returns", ""), "")
    if node.returns is None and kind and (end := _colon(text, node)):
        places.append((*end, f" -> {kind}"))
        done.append(f"result annotated as {kind}")
    lines = text.split("\n")
    for line, column, written in sorted(places, reverse=True):
        data = lines[line - 1].encode()
        lines[line - 1] = (data[:column] + written.encode() + data[column:]).decode()
    return "\n".join(lines), done


def _documented(text: str, name: str, about: Mapping[str, str]) -> tuple[str, list[str]]:
    node = _required(text, name)
    summary = one_line(about.get("description", ""), 500).replace("\\", "").replace('"""', "'''").rstrip('" ')
    if ast.get_docstring(node) or not summary or node.body[0].lineno == node.lineno:
        return text, []
    lines = text.split("\n")
    first = _first_line(node) - 1
    margin = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    lines.insert(first, f'{margin}"""{summary}"""')
    return "\n".join(lines), ["docstring written from its description"]


def _first_line(node: Function) -> int:
    first = node.body[0]
    decorators: Sequence[ast.expr] = getattr(first, "decorator_list", ())
    return min([first.lineno, *(one.lineno for one in decorators)])


def _type_of(node: ast.expr | None) -> str:
    match node:
        case ast.Constant(value=value) if type(value) in (int, float, str, bool):
            return type(value).__name__
        case ast.JoinedStr():
            return "str"
        case ast.List() | ast.ListComp():
            return "list"
        case ast.Dict() | ast.DictComp():
            return "dict"
        case ast.Compare():
            return "bool"
        case ast.Call(func=ast.Name(id=name)):
            return _CALLS.get(name, "")
    return ""


def _type_in_text(texts: str, name: str) -> str:
    """Return a name's type in a text such as `length (float), width (float)`. Without a name, return the first type."""
    found = re.search(rf"\b{re.escape(name)}\s*[(:]\s*(\w+)", texts)
    return _TYPES.get(found[1].lower(), "") if found else ""


def _returned(node: ast.FunctionDef) -> Iterator[str]:
    """Yield the types of all values that a function returns. An unknown type is an empty string."""
    values: dict[str, set[str]] = {}
    for part in ast.walk(node):
        match part:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                values.setdefault(name, set()).add(_type_of(value))
            case ast.AugAssign(target=ast.Name(id=name)) | ast.For(target=ast.Name(id=name)):
                values.setdefault(name, set()).add("")
    for part in ast.walk(node):
        if isinstance(part, ast.Return):
            if isinstance(part.value, ast.Name):
                yield from values.get(part.value.id, {""})
            else:
                yield _type_of(part.value)


def _colon(text: str, node: ast.FunctionDef) -> tuple[int, int] | None:
    """Return the line and byte column of the colon at the end of a function's signature."""
    depth = 0
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.start[0] < node.lineno:
            continue
        depth += (token.string in "([{" and token.type == tokenize.OP) - (
            token.string in ")]}" and token.type == tokenize.OP
        )
        if token.type == tokenize.OP and token.string == ":" and not depth:
            return token.start[0], len(token.line[: token.start[1]].encode())
    return None

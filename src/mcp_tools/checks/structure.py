"""Rules about the structure of a source: size, encoding, syntax, and the public function."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mcp_tools.checks.source import CheckedSource, Function, Remark, annotation_nodes, parameters
from mcp_tools.definition import find_hidden
from mcp_tools.library.tool_files import valid_name
from mcp_tools.text import words

MAX_SOURCE_BYTES = 64 * 1024
_MAX_INTEGER_BITS = 14_000
"""Python does not print integers with more than 4,300 digits."""
MAX_DEPTH = 150
"""Limit of the syntax tree's depth, because it is walked recursively."""


def size(source: CheckedSource) -> Iterator[Remark]:
    """Has at most 64 kB."""
    if len(source.data) > MAX_SOURCE_BYTES:
        yield Remark(
            0, f"the source has {len(source.data):,} bytes; the limit is {MAX_SOURCE_BYTES:,}; pass data as a parameter"
        )


def encoding(source: CheckedSource) -> Iterator[Remark]:
    """Is encoded in UTF-8."""
    data = source.data
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        yield Remark(line, f"byte {error.start} (0x{data[error.start]:02x}) is not UTF-8; save the file as UTF-8")


def hidden_characters(source: CheckedSource) -> Iterator[Remark]:
    """Contains no invisible characters, and none that change the direction of text."""
    for number, line in enumerate(source.text.replace("\r\n", "\n").split("\n"), start=1):
        for character in dict.fromkeys(find_hidden(line, lines=True)):
            yield Remark(
                number, f"this line contains the hidden character {character}; remove it or write it as an escape"
            )


def parses(source: CheckedSource) -> Iterator[Remark]:
    """Can be parsed and compiled."""
    try:
        _ = source.tree
    except SyntaxError as error:
        line = error.lineno or 0
        lines = source.text.splitlines()
        shown = lines[line - 1].strip()[:80] if 0 < line <= len(lines) else ""
        yield Remark(line, f"Python says: {error.msg}" + (f", at `{shown}`" if shown else ""))
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        what = "it is nested too deeply" if isinstance(error, RecursionError | MemoryError) else str(error)
        yield Remark(0, f"Python cannot parse the code: {what}; write it in small steps")
    else:
        for node in source.all_of(ast.Constant):
            if isinstance(node.value, int) and node.value.bit_length() > _MAX_INTEGER_BITS:
                yield Remark(node.lineno, "this number has too many digits for Python to print; compute it instead")


def nesting(source: CheckedSource) -> Iterator[Remark]:
    """Has a syntax tree of at most 150 levels."""
    level: list[ast.AST] = [source.tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    line = min(getattr(node, "lineno", 0) for node in level)
    yield Remark(line, f"the code is nested more than {MAX_DEPTH} levels deep; split the expression or use a table")


def one_public_function(source: CheckedSource) -> Iterator[Remark]:
    """Has one public function that is the tool: the one with the requested name, or the one that uses the others."""
    public = [function.name for function in source.public_functions]
    wanted = source.function
    if wanted and wanted not in {function.name for function in source.functions}:
        yield Remark(0, f"there is no function {wanted!r} at the top level; define `def {wanted}(...)`")
        if len(public) == 1:
            yield Remark(source.public_functions[0].lineno, f"rename {public[0]!r} to {wanted!r}")
    elif not public:
        yield Remark(0, "the code has no public function; define the tool as one function at the top level")
    elif not wanted and len(source.candidates) > 1:
        names = " and ".join(repr(function.name) for function in source.candidates)
        yield Remark(
            source.candidates[-1].lineno,
            f"{names} could each be the tool; begin all these names but one with an underscore",
        )


def function_name(source: CheckedSource) -> Iterator[Remark]:
    """Has a function name in snake_case, with at most 64 characters, that is not a keyword or builtin."""
    if source.entry and not valid_name(source.entry.name):
        yield Remark(
            source.entry.lineno,
            f"{source.entry.name!r} is not a valid tool name; use lower-case snake_case with at most 64 characters,"
            " and no keyword or builtin",
        )


def plain_function(source: CheckedSource) -> Iterator[Remark]:
    """Is a plain function, not async, because callers have no event loop."""
    if isinstance(source.entry, ast.AsyncFunctionDef):
        yield Remark(source.entry.lineno, f"{source.entry.name!r} is async; make it a plain `def`")


def named_parameters(source: CheckedSource) -> Iterator[Remark]:
    """Has no *args or **kwargs, because arguments are named JSON values."""
    if not source.entry:
        return
    arguments = source.entry.args
    for extra, stars in ((arguments.vararg, "*"), (arguments.kwarg, "**")):
        if extra:
            yield Remark(extra.lineno, f"{stars}{extra.arg} hides the tool's parameters; name each one")


def typed(source: CheckedSource) -> Iterator[Remark]:
    """Has annotations for each parameter and for the result of the public function."""
    if not source.entry:
        return
    for parameter in parameters(source.entry):
        if parameter.annotation is None:
            name = parameter.arg
            yield Remark(
                parameter.lineno, f"parameter {name!r} has no annotation; write its type, such as `{name}: int`"
            )
    if source.entry.returns is None:
        message = f"{source.entry.name!r} has no return annotation; write its type, such as `-> int:`"
        yield Remark(source.entry.lineno, message)


def docstring(source: CheckedSource) -> Iterator[Remark]:
    """Has a docstring. Its first line says when to use the tool."""
    if source.entry and not (ast.get_docstring(source.entry) or "").strip():
        yield Remark(
            source.entry.lineno,
            f"{source.entry.name!r} has no docstring; say in one sentence what it returns, then `Args:`",
        )


def returns_value(source: CheckedSource) -> Iterator[Remark]:
    """Returns its result, and does not only print it."""
    if not source.entry or isinstance(source.entry, ast.AsyncFunctionDef):
        return
    nodes = list(_own_nodes(source.entry))
    returned = [node.value for node in nodes if isinstance(node, ast.Return) and node.value is not None]
    if any(not isinstance(value, ast.Constant) or value.value is not None for value in returned):
        return
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in nodes):
        return
    prints = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) == "print"]
    if prints:
        yield Remark(prints[-1].lineno, "the function prints its result and returns nothing; return the value instead")
    else:
        yield Remark(source.entry.lineno, f"{source.entry.name!r} never returns a value; end it with `return result`")


def _own_nodes(function: Function) -> Iterator[ast.AST]:
    """Yield the nodes of a function's body, without nested functions and classes."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


_ACTING_BUILTINS = words("print input open")
_ACTING_METHODS = words("read_text read_bytes write_text write_bytes unlink rmdir mkdir touch rename iterdir")


def nothing_on_import(source: CheckedSource) -> Iterator[Remark]:
    """Does not print, read input, open files or wait when it is imported."""
    waiting: list[ast.AST] = [statement for statement in source.tree.body if statement not in source.guards]
    for node in waiting:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += [*node.args.defaults, *(value for value in node.args.kw_defaults if value)]
            if not isinstance(node, ast.Lambda):
                waiting += [*node.decorator_list, *annotation_nodes(node)]
            continue
        if isinstance(node, ast.Call) and _acts(source, node.func):
            text = ast.unparse(node).partition("\n")[0]
            shown = text if len(text) <= 60 else text[:59] + "…"
            where = 'move it into the function, or under `if __name__ == "__main__":`'
            yield Remark(node.lineno, f"`{shown}` would run on import; {where}")
            continue
        waiting += ast.iter_child_nodes(node)


def _acts(source: CheckedSource, function: ast.expr) -> bool:
    """Return True if a call has effects."""
    match function:
        case ast.Name(id=name) if name in source.names:
            is_entry = source.entry is not None and name == source.entry.name
            return is_entry or (source.origins.get(name), name) == ("time", "sleep")
        case ast.Name(id=name):
            return name in _ACTING_BUILTINS
        case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in source.origins:
            return source.origins[name] in {"os", "shutil"} or (source.origins[name], attr) == ("time", "sleep")
        case ast.Attribute(attr=attr):
            return attr in _ACTING_METHODS
    return False

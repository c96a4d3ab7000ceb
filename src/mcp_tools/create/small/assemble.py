"""From a model's text to a tool's file: what a rule can mend, no model needs to."""

from __future__ import annotations

import ast
import builtins
import re
import sys
import textwrap
import warnings
from collections.abc import Callable, Sequence

from mcp_tools.create.small.needed import bound, names_used, needed_for, touched
from mcp_tools.create.small.rename import rename_functions
from mcp_tools.packages import imported
from mcp_tools.tool import ToolSpec

_FENCE = re.compile(r"```[^\n`]*\n(.*?)(?:^[ \t]*```|```[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_FENCE_LINE = re.compile(r"^[ \t]*```[^\n`]*$", re.MULTILINE)
_TYPES_OF_DATETIME = frozenset(["datetime", "date", "timedelta", "time", "timezone", "tzinfo", "UTC"])
_FROM_MODULE = {
    "collections": ("Counter", "defaultdict", "deque", "OrderedDict", "namedtuple"),
    "dataclasses": ("dataclass",),
    "datetime": ("date", "timedelta", "timezone"),
    "decimal": ("Decimal", "ROUND_HALF_UP", "ROUND_HALF_EVEN", "ROUND_DOWN", "ROUND_UP", "getcontext"),
    "fractions": ("Fraction",),
    "functools": ("lru_cache", "cache", "reduce"),
    "itertools": (
        "permutations",
        "combinations",
        "product",
        "accumulate",
        "groupby",
        "combinations_with_replacement",
        "chain",
        "islice",
        "pairwise",
        "zip_longest",
    ),
    "heapq": ("heappush", "heappop", "heapify"),
    "math": (
        "gcd",
        "lcm",
        "sqrt",
        "ceil",
        "floor",
        "comb",
        "perm",
        "factorial",
        "isqrt",
        "prod",
        "log2",
        "log10",
        "pi",
    ),
    "typing": ("Any", "Optional", "Union", "List", "Dict", "Tuple", "Set", "Iterable", "Callable"),
}
_OF_PACKAGES = {"pd": "pandas", "pandas": "pandas", "openpyxl": "openpyxl", "pypdfium2": "pypdfium2"}
"""Names by which packages are used, where they are not imported."""
_OUTSIDE = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
"""Statements that stand outside of the function that others become."""
_HOME_OF = {name: module for module, names in _FROM_MODULE.items() for name in names}
COMMON_MODULES = frozenset(
    [
        *("bisect", "calendar", "collections", "csv", "datetime", "decimal", "fractions", "functools", "hashlib"),
        *("heapq", "io", "itertools", "json", "math", "operator", "random", "re", "statistics", "string", "textwrap"),
        *("unicodedata", "zoneinfo"),
    ]
)


def extract_code(text: str) -> str:
    """The longest fenced block of a reply, or the reply itself when there is none.

    A reply may also go on with a block that its prompt has opened: then it is code up to the first fence.
    """
    text = text.replace("\r\n", "\n")
    before, *after = _FENCE_LINE.split(text, maxsplit=1)
    if after and (_is_code(before) or (before.strip() and not after[0].strip())):
        return textwrap.dedent(before).strip() + "\n"
    blocks = _FENCE.findall(text)
    return textwrap.dedent(max(blocks, key=len) if blocks else text).strip() + "\n"


def _is_code(text: str) -> bool:
    """Whether a text is Python, and not a word or a list that happens to be."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(textwrap.dedent(text)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(not isinstance(node, ast.Expr | ast.AnnAssign) or _is_call(node) for node in body)


def _is_call(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


def assemble(text: str, spec: ToolSpec, *, patterns: Sequence[str] = ()) -> str:
    """The file of a tool from a model's reply.

    Keeps the wanted function and what it needs; drops example calls, tests and runners; adds imports of the standard
    library that were forgotten, functions of the patterns that are called as if they were there, the docstring and
    annotations that the spec knows, and a runner. Text that does not parse is returned as it is, for the checks to
    say so.

    Args:
        text: The reply.
        spec: What is wanted.
        patterns: Code that the model was shown.
    """
    code = extract_code(text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _assembled(ast.parse(code), spec, patterns)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code


def assemble_program(text: str, *, patterns: Sequence[str] = ()) -> str:
    """A whole program from a model's reply, with what it forgot: imports, functions of the patterns, the last print."""
    code = extract_code(text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code)
            _print_last(tree)
            _add_forgotten(tree, patterns)
            return f"{_spaced(tree.body)}\n"
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code


def _assembled(tree: ast.Module, spec: ToolSpec, patterns: Sequence[str]) -> str:
    _add_forgotten(tree, patterns)
    _as_function(tree, spec)
    entry = _entry(tree, spec)
    if entry is not None:
        tree.body = needed_for(entry.name, tree.body)
        _name(entry, tree, spec.name)
        _complete(entry, spec)
    body = _spaced(tree.body)
    return f"{_header(imported(body, spec.capabilities.packages))}\n\n{body}\n{_runner(spec.name)}"


def _add_forgotten(tree: ast.Module, patterns: Sequence[str]) -> None:
    """Defines what is used and bound nowhere: what the patterns define, then names of the standard library."""
    missing = _missing_names(tree)
    for pattern in patterns:
        body = ast.parse(pattern).body
        defined = [name for node in body if not isinstance(node, ast.Import | ast.ImportFrom) for name in bound(node)]
        wanted = [name for name in defined if name in missing]
        for name in dict.fromkeys(wanted):
            known = {ast.dump(node) for node in tree.body}
            tree.body = [*(node for node in needed_for(name, body) if ast.dump(node) not in known), *tree.body]
            missing.remove(name)
    position = sum(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)
    tree.body[position:position] = _missing_imports(ast.fix_missing_locations(tree))


def _as_function(tree: ast.Module, spec: ToolSpec) -> None:
    """Statements that compute with the parameters and print the result become the function.

    What they assign to a parameter's name as a literal is the value of this question, and goes. Functions stay outside
    unless they use a variable of the statements.
    """
    printed = _printed_last(tree)
    parameters = {parameter.name for parameter in spec.parameters}
    if printed is None or any(isinstance(node, ast.FunctionDef) and node.name == spec.name for node in tree.body):
        return
    if not parameters <= names_used(ast.unparse(tree)):
        return
    statements = [node for node in tree.body[:-1] if not _gives_value(node, parameters)]
    variables = parameters | {name for node in statements if not isinstance(node, _OUTSIDE) for name in touched(node)}
    inside = [
        node
        for node in statements
        if not isinstance(node, _OUTSIDE)
        or (isinstance(node, ast.FunctionDef) and variables & names_used(ast.unparse(node)))
    ]
    function = ast.parse(f"{spec.signature}\n    pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = [*inside, ast.Return(printed)]
    tree.body = [*(node for node in statements if node not in inside), function]
    ast.fix_missing_locations(tree)


def _printed_last(tree: ast.Module) -> ast.expr | None:
    """The one value that the last statement prints."""
    last = tree.body[-1] if tree.body else None
    if not (isinstance(last, ast.Expr) and isinstance(last.value, ast.Call)):
        return None
    call = last.value
    is_print = isinstance(call.func, ast.Name) and call.func.id == "print" and len(call.args) == 1 and not call.keywords
    return call.args[0] if is_print and not isinstance(call.args[0], ast.Starred) else None


def _print_last(tree: ast.Module) -> None:
    """Prints the value of the last statement if nothing is printed at all."""
    last = tree.body[-1] if tree.body else None
    prints = any(isinstance(node, ast.Name) and node.id == "print" for node in ast.walk(tree))
    if isinstance(last, ast.Expr) and not prints:
        last.value = ast.Call(ast.Name("print", ast.Load()), [last.value], [])
        ast.fix_missing_locations(tree)


def _gives_value(node: ast.stmt, parameters: set[str]) -> bool:
    """Whether a statement gives a parameter a literal value, or its own."""
    if not (isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)):
        return False
    name = node.targets[0].id
    if name not in parameters:
        return False
    if isinstance(node.value, ast.Name):
        return node.value.id == name
    try:
        ast.literal_eval(node.value)
    except (ValueError, TypeError, SyntaxError):
        return False
    return True


def _entry(tree: ast.Module, spec: ToolSpec) -> ast.FunctionDef | None:
    """The function that is wanted: by its name, else by its parameters, else the last one."""
    functions = [node for node in reversed(tree.body) if isinstance(node, ast.FunctionDef)]
    wanted = [parameter.name for parameter in spec.parameters]
    fits: tuple[Callable[[ast.FunctionDef], bool], ...] = (
        lambda function: function.name == spec.name,
        lambda function: [argument.arg for argument in function.args.args] == wanted,
        lambda function: function.name != "main" and not function.name.startswith("test"),
        lambda _: True,
    )
    return next((function for fit in fits for function in functions if fit(function)), None)


def _name(entry: ast.FunctionDef, tree: ast.Module, name: str) -> None:
    """Gives the wanted function its name; other functions become private."""
    taken = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    taken |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef)} | {name}
    renames = {entry.name: name}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node is not entry and (node.name == name or node.name[0] != "_"):
            private = f"_{node.name}"
            while private in taken:
                private += "_"
            renames[node.name] = private
            taken.add(private)
    rename_functions(tree, renames)


def _complete(function: ast.FunctionDef, spec: ToolSpec) -> None:
    types = {parameter.name: parameter.type for parameter in spec.parameters}
    for argument in [*function.args.args, *function.args.kwonlyargs]:
        if argument.annotation is None and argument.arg in types:
            argument.annotation = ast.parse(types[argument.arg], mode="eval").body
    if function.returns is None:
        function.returns = ast.parse(spec.returns, mode="eval").body
    docstring = _docstring(spec)
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        first.value = ast.Constant(docstring)
    else:
        function.body.insert(0, ast.Expr(ast.Constant(docstring)))


def _docstring(spec: ToolSpec) -> str:
    lines = [" ".join(spec.purpose.split()) or spec.name.replace("_", " ")]
    if spec.parameters:
        lines += ["", "Args:"]
        lines += [f"    {p.name}: {p.description.strip() or p.name.replace('_', ' ')}" for p in spec.parameters]
    return textwrap.indent("\n".join(lines), "    ").lstrip() + ("\n    " if len(lines) > 1 else "")


def _missing_names(tree: ast.Module) -> set[str]:
    known = {name for node in tree.body for name in bound(node)}
    return names_used(ast.unparse(tree)) - known - set(dir(builtins))


def _missing_imports(tree: ast.Module) -> list[ast.stmt]:
    """Imports of the standard library for names that are used and bound nowhere."""
    missing = sorted(_missing_names(tree))
    found: list[ast.stmt] = []
    for name in missing:
        if name == "datetime" and not _used_as_module(tree, name):
            found.append(ast.ImportFrom("datetime", [ast.alias(name)], 0))
        elif name in COMMON_MODULES and name in sys.stdlib_module_names:
            found.append(ast.Import([ast.alias(name)]))
        elif name in _HOME_OF:
            found.append(ast.ImportFrom(_HOME_OF[name], [ast.alias(name)], 0))
        elif name in _OF_PACKAGES:
            module = _OF_PACKAGES[name]
            found.append(ast.Import([ast.alias(module, None if name == module else name)]))
    return found


def _used_as_module(tree: ast.Module, name: str) -> bool:
    """Whether `datetime.datetime`, `datetime.date` … is meant rather than the class."""
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        and node.attr in _TYPES_OF_DATETIME
        for node in ast.walk(tree)
    )


def _header(packages: Sequence[str]) -> str:
    listed = ", ".join(f'"{package}"' for package in packages)
    return f'# /// script\n# requires-python = ">=3.11"\n# dependencies = [{listed}]\n# ///'


def _spaced(body: Sequence[ast.stmt]) -> str:
    """The statements, with two blank lines around each definition."""
    text = ""
    after_definition = False
    for node in body:
        is_definition = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        between = "\n\n\n" if is_definition or after_definition else "\n"
        text += (between if text else "") + ast.unparse(ast.fix_missing_locations(node))
        after_definition = is_definition
    return text


def _runner(name: str) -> str:
    return textwrap.dedent(f"""

        if __name__ == "__main__":
            import json
            import sys

            print(json.dumps({name}(**json.loads(sys.argv[1])), ensure_ascii=False))
        """)

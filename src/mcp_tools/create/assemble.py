"""From a model's text to a tool's file: what a rule can mend, no model needs to."""

from __future__ import annotations

import ast
import builtins
import re
import sys
import textwrap
import warnings
from collections.abc import Callable, Sequence

from mcp_tools.create.needed import names_used, needed_for, touched
from mcp_tools.create.rename import rename_functions
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


def assemble(text: str, spec: ToolSpec) -> str:
    """The file of a tool from a model's reply.

    Keeps the wanted function and what it needs; drops example calls, tests and runners; adds imports of the standard
    library that were forgotten, the docstring and annotations that the spec knows, and a runner. Text that does not
    parse is returned as it is, for the checks to say so.
    """
    code = extract_code(text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _assembled(ast.parse(code), spec)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code


def _assembled(tree: ast.Module, spec: ToolSpec) -> str:
    entry = _entry(tree, spec)
    if entry is not None:
        tree.body = needed_for(entry.name, tree.body)
        _name(entry, tree, spec.name)
        _complete(entry, spec)
    position = sum(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)
    tree.body[position:position] = _missing_imports(ast.fix_missing_locations(tree))
    return f"{_header(spec)}\n\n{_spaced(tree.body)}\n{_runner(spec.name)}"


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


def _missing_imports(tree: ast.Module) -> list[ast.stmt]:
    """Imports of the standard library for names that are used and bound nowhere."""
    bound = {name for node in tree.body for name in touched(node)}
    missing = sorted(names_used(ast.unparse(tree)) - bound - set(dir(builtins)))
    found: list[ast.stmt] = []
    for name in missing:
        if name == "datetime" and not _used_as_module(tree, name):
            found.append(ast.ImportFrom("datetime", [ast.alias(name)], 0))
        elif name in COMMON_MODULES and name in sys.stdlib_module_names:
            found.append(ast.Import([ast.alias(name)]))
        elif name in _HOME_OF:
            found.append(ast.ImportFrom(_HOME_OF[name], [ast.alias(name)], 0))
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


def _header(spec: ToolSpec) -> str:
    packages = ", ".join(f'"{package}"' for package in spec.capabilities.packages)
    return f'# /// script\n# requires-python = ">=3.11"\n# dependencies = [{packages}]\n# ///'


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

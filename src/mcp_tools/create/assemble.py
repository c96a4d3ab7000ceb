"""From a model's text to a tool's file: what a rule can mend, no model needs to."""

from __future__ import annotations

import ast
import builtins
import re
import sys
import textwrap

from mcp_tools.tool import ToolSpec

_FENCE = re.compile(r"```[ \t]*(?:python|py)?[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
_FROM_MODULE = {
    "collections": ("Counter", "defaultdict", "deque", "OrderedDict", "namedtuple"),
    "dataclasses": ("dataclass",),
    "datetime": ("date", "timedelta"),
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
    ),
    "math": ("gcd", "lcm", "sqrt", "ceil", "floor", "comb", "factorial", "isqrt", "prod", "log2"),
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
    """The longest fenced block of a reply, or the reply itself when there is none."""
    blocks = _FENCE.findall(text)
    return textwrap.dedent(max(blocks, key=len) if blocks else text).strip() + "\n"


def assemble(text: str, spec: ToolSpec) -> str:
    """The file of a tool from a model's reply.

    Keeps imports, definitions and constants; drops example calls, prints and runners at module level; adds imports of
    the standard library that were forgotten, the docstring and annotations that the spec knows, and a runner. Text
    that does not parse is returned as it is, for the checks to say so.
    """
    code = extract_code(text)
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return code
    tree.body = [node for node in tree.body if _belongs(node)]
    function = _entry(tree, spec.name)
    if function is not None:
        _complete(function, spec)
    tree.body[:0] = _missing_imports(tree)
    body = ast.unparse(ast.fix_missing_locations(tree))
    return f"{_header(spec)}\n{_spaced(body)}\n{_runner(spec.name)}"


def _belongs(node: ast.stmt) -> bool:
    """Whether a statement may stand at module level."""
    if isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return True
    if isinstance(node, ast.Assign | ast.AnnAssign):
        calls = [inner for inner in ast.walk(node) if isinstance(inner, ast.Call)]
        return not any(isinstance(call.func, ast.Name) and call.func.id not in dir(builtins) for call in calls)
    return False


def _entry(tree: ast.Module, name: str) -> ast.FunctionDef | None:
    """The function that is wanted; a sole function of another name is renamed, unwanted ones become private."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    entry = next((f for f in functions if f.name == name), functions[-1] if functions else None)
    if entry is None:
        return None
    renames = {f.name: f"_{f.name}" for f in functions if f is not entry and not f.name.startswith("_")}
    renames[entry.name] = name
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.Name):
            key = node.name if isinstance(node, ast.FunctionDef) else node.id
            if key in renames and isinstance(node, ast.FunctionDef):
                node.name = renames[key]
            elif key in renames and isinstance(node, ast.Name):
                node.id = renames[key]
    return entry


def _complete(function: ast.FunctionDef, spec: ToolSpec) -> None:
    types = {parameter.name: parameter.type for parameter in spec.parameters}
    for argument in function.args.args:
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
    lines = [spec.purpose]
    if spec.parameters:
        lines += ["", "Args:"]
        lines += [f"    {p.name}: {p.description or p.name.replace('_', ' ')}" for p in spec.parameters]
    return "\n    ".join(lines) + ("\n    " if len(lines) > 1 else "")


def _missing_imports(tree: ast.Module) -> list[ast.stmt]:
    """Imports of the standard library for names that are used and bound nowhere."""
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    bound = _bound_names(tree)
    missing = sorted(used - bound - set(dir(builtins)))
    found: list[ast.stmt] = []
    for name in missing:
        if name == "datetime" and not _used_as_module(tree, name):
            found.append(ast.ImportFrom("datetime", [ast.alias(name)], 0))
        elif name in COMMON_MODULES and name in sys.stdlib_module_names:
            found.append(ast.Import([ast.alias(name)]))
        elif name in _HOME_OF:
            found.append(ast.ImportFrom(_HOME_OF[name], [ast.alias(name)], 0))
    return found


def _bound_names(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
    return names


def _used_as_module(tree: ast.Module, name: str) -> bool:
    """Whether `datetime.datetime`, `datetime.date` … is meant rather than the class."""
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        and node.attr in {"datetime", "date", "timedelta", "time", "timezone"}
        for node in ast.walk(tree)
    )


def _header(spec: ToolSpec) -> str:
    packages = ", ".join(f'"{package}"' for package in spec.capabilities.packages)
    return f'# /// script\n# requires-python = ">=3.11"\n# dependencies = [{packages}]\n# ///'


def _spaced(body: str) -> str:
    """Two blank lines before each definition at module level."""
    return re.sub(r"\n+(?=(?:@|def |class |async def ))", "\n\n\n", body)


def _runner(name: str) -> str:
    return textwrap.dedent(f"""

        if __name__ == "__main__":
            import json
            import sys

            print(json.dumps({name}(**json.loads(sys.argv[1])), ensure_ascii=False))
        """)

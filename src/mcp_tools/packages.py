"""Packages beyond the standard library: what tools that read files may import, and what a source does import."""

from __future__ import annotations

import ast
import functools
import importlib.util
import re
import warnings
from collections.abc import Sequence

from mcp_tools.checks.modules import IMPORT_NAMES

FILE_PACKAGES = ("pandas", "openpyxl", "python-calamine", "pypdfium2", "pillow")
"""What programs that read files are given, where it is installed."""
_BEHIND = {"pandas": {"read_excel": ("openpyxl", "python-calamine"), "ExcelFile": ("openpyxl", "python-calamine")}}
"""What a function of a package imports by itself."""


@functools.cache
def file_packages() -> tuple[str, ...]:
    """Of the packages for files those that are installed."""
    return tuple(name for name in FILE_PACKAGES if importlib.util.find_spec(import_name(name)) is not None)


def import_name(package: str) -> str:
    """What a distribution is imported as, from its name or a requirement such as `numpy>=2`."""
    name = re.split(r"[^\w.-]", package.strip(), maxsplit=1)[0]
    return IMPORT_NAMES.get(name.lower(), name.replace("-", "_"))


def imported(source: str, packages: Sequence[str]) -> tuple[str, ...]:
    """Of the packages those that a source imports: a call that needs none keeps its plain, warm interpreter."""
    if not packages:
        return ()
    tops, names = _imports(source)
    wanted = {package for package in packages if import_name(package) in tops}
    for package, functions in _BEHIND.items():
        if package in wanted:
            wanted |= {name for function, behind in functions.items() if function in names for name in behind}
    return tuple(package for package in packages if package in wanted)


def _imports(source: str) -> tuple[set[str], set[str]]:
    """The top modules that a source imports, and the names it takes from objects and modules."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set(), set()
    tops, names = set[str](), set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            tops |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            tops.add(node.module.partition(".")[0])
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
    return tops, names

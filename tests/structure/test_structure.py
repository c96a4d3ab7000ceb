"""The shape of `src`: which way imports go, and what files are called."""

from __future__ import annotations

import ast
import functools
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"
FILES = {
    ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__"): path for path in SRC.rglob("*.py")
}


def imported(tree: ast.AST, module: str, *, everywhere: bool) -> Iterator[str]:
    """The modules that a file imports; those of functions and of types alone only where wanted."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = module.split(".")
            package = module if FILES[module].name == "__init__.py" else ".".join(parts[:-1])
            base = package.rsplit(".", node.level - 1)[0] if node.level > 1 else package
            start = f"{base}.{node.module}".rstrip(".") if node.level else str(node.module)
            start = base if node.level and not node.module else start
            yield from (f"{start}.{a.name}" if f"{start}.{a.name}" in FILES else start for a in node.names)
        elif isinstance(node, ast.expr):
            continue
        elif everywhere or not (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            or (isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING")
        ):
            yield from imported(node, module, everywhere=everywhere)


@functools.cache
def trees() -> dict[str, ast.Module]:
    """Our modules as Python reads them."""
    return {module: ast.parse(path.read_text("utf-8")) for module, path in FILES.items()}


@functools.cache
def graph(*, everywhere: bool) -> dict[str, set[str]]:
    """Our modules, and those of ours that each of them imports."""
    return {
        module: {name for name in imported(tree, module, everywhere=everywhere) if name in FILES and name != module}
        for module, tree in trees().items()
    }


def test_no_imports_go_in_circles() -> None:
    try:
        TopologicalSorter(graph(everywhere=False)).prepare()
    except CycleError as loop:
        pytest.fail(" → ".join(loop.args[1]))


def test_the_tools_know_nothing_of_the_agent() -> None:
    wrong = [module for module, names in graph(everywhere=True).items() if module.startswith("mcp_tools")
             if any(name.split(".")[0] == "agent" for name in names)]  # fmt: skip
    assert wrong == []


def test_what_serves_small_models_is_imported_in_one_place() -> None:
    outside = [
        module
        for module, names in graph(everywhere=True).items()
        if not module.startswith("agent.small") and any(name.startswith("agent.small") for name in names)
    ]
    assert outside == ["agent.strategy"]


def test_no_file_name_occurs_in_three_folders() -> None:
    names = Counter(path.name for path in FILES.values() if path.name != "__init__.py")
    assert [name for name, count in names.items() if count > 2] == []

"""Rules about the structure of `src`: imports, file names, and the places that may start processes."""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("structure")  # one worker parses the modules once
SRC = Path(__file__).parents[2] / "src"
FILES = {
    ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__"): path for path in SRC.rglob("*.py")
}


def imported(tree: ast.AST, module: str, *, functions: bool, types: bool) -> Iterator[str]:
    """Yield the modules that a file imports.

    Args:
        functions: Include imports inside functions.
        types: Include imports under `if TYPE_CHECKING`.
    """
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
        elif (
            isinstance(node, ast.expr)
            or (isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not functions)
            or (isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING" and not types)
        ):
            continue
        else:
            yield from imported(node, module, functions=functions, types=types)


@functools.cache
def trees() -> dict[str, ast.Module]:
    """Return the syntax tree of each of our modules."""
    return {module: ast.parse(path.read_text("utf-8")) for module, path in FILES.items()}


@functools.cache
def graph(*, functions: bool = True, types: bool = True) -> dict[str, set[str]]:
    """Return the imports among our modules: for each module, those that it imports."""
    return {
        module: {name for name in imported(tree, module, functions=functions, types=types) if name in FILES} - {module}
        for module, tree in trees().items()
    }


IMPORTS = Path(__file__).with_name("imports.md")


def unit(module: str) -> str:
    """Return the folder or file of a module as the tables name it: `agent/web`, `agent/state.py`."""
    return "/".join(FILES[module].relative_to(SRC).parts[:2])


@dataclass
class Layers:
    """The tables of `imports.md`."""

    row_of: dict[str, str] = field(default_factory=dict)
    """Row of each folder and file, by names such as `agent/web` and `agent/state.py`."""
    allowed: dict[str, set[str]] = field(default_factory=dict)
    """Rows that a row may import, by names such as `agent/web` and `agent/run types`."""

    def allow(self, module: str, name: str) -> bool:
        """Return True if a module may import another, or if the tables do not cover the pair."""
        pair = unit(module), unit(name)
        if not set(pair) <= self.row_of.keys() or pair[0].split("/")[0] != pair[1].split("/")[0]:
            return True
        return self.row_of[pair[1]] in self.allowed[self.row_of[pair[0]]]


@functools.cache
def layers() -> Layers:
    """Read the tables."""
    found = Layers()
    text = IMPORTS.read_text("utf-8")
    for package in ("agent", "mcp_tools"):
        part = text.partition(f"## `src/{package}/`")[2].partition("\n## ")[0]
        full = functools.partial(_full, package)
        above: set[str] = set()
        for first, second in re.findall(r"(?m)^\| ([^|]+?) \| ([^|]*?) ?\|$", part)[1:]:
            row = full(first.partition(": ")[0])
            found.row_of |= {full(each): row for each in re.findall(r"`(.+?)`", first)}
            named = above if second == "all above" else {full(each) for each in second.split(", ") if each}
            assert named <= above, f"{row} names rows that are not above it: {named - above}"
            found.allowed[row] = {row, *named} | (above & {full("base")})
            above = above | {row}
    return found


def _full(package: str, name: str) -> str:
    return f"{package}/{name.strip('`/')}"


def test_the_tables_have_every_folder_and_file() -> None:
    there = {unit(module) for module, path in FILES.items() if path.parent != SRC}
    assert there - {"agent/__init__.py", "mcp_tools/__init__.py"} == layers().row_of.keys()


def test_a_file_imports_only_what_the_tables_allow() -> None:
    wrong = [
        f"{module} imports {name}"
        for module, names in graph(types=False).items()
        for name in sorted(names)
        if not layers().allow(module, name)
    ]
    assert wrong == []


def test_there_is_no_circular_import_in_modules_functions_or_annotations() -> None:
    try:
        TopologicalSorter(graph()).prepare()
    except CycleError as loop:
        pytest.fail(" → ".join(loop.args[1]))


def test_mcp_tools_never_imports_agent() -> None:
    wrong = [module for module, names in graph().items() if module.startswith("mcp_tools")
             if any(name.split(".")[0] == "agent" for name in names)]  # fmt: skip
    assert wrong == []


def test_the_small_strategy_is_imported_in_one_place() -> None:
    outside = [
        module
        for module, names in graph().items()
        if not module.startswith("agent.small") and any(name.startswith("agent.small") for name in names)
    ]
    assert outside == ["agent.strategy"]


def test_the_library_is_opened_in_one_place() -> None:
    # it knows the database with approvals, which several machines may share
    opening = [
        module for module, path in FILES.items() if re.search(r"(?<!class )\bLibrary\(", path.read_text("utf-8"))
    ]
    assert opening == ["agent.store.tool_records"]


def test_no_file_name_occurs_in_three_folders() -> None:
    names = Counter(path.name for path in FILES.values() if path.name != "__init__.py")
    assert [name for name, count in names.items() if count > 2] == []


def test_no_class_name_occurs_twice() -> None:
    classes = Counter(
        node.name
        for module, tree in trees().items()
        if not module.startswith(
            ("mcp_tools.exchange.starter", "mcp_tools.exchange.standalone")
        )  # code that is exported
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in classes.items() if count > 1] == []


STARTERS = {
    "subprocess": {"Popen", "run", "call", "check_call", "check_output", "getoutput", "getstatusoutput"},
    "asyncio": {"create_subprocess_exec", "create_subprocess_shell"},
    "multiprocessing": {"Process", "Pool", "get_context", "Manager", "Queue", "Value", "Lock"},
    "os": {"system", "popen", "startfile", "posix_spawn", "posix_spawnp"},
    "pty": {"spawn", "fork"},
    "webbrowser": {"open", "open_new", "open_new_tab", "get"},
}
PREFIXES = {"os": ("exec", "spawn")}
ALLOWED = {
    # the only place that starts child processes
    "mcp_tools/child.py": {"subprocess.Popen", "asyncio.create_subprocess_exec"},
    # continues in the checkout's own interpreter
    "gaia_benchmark.py": {"os.execv"},
}


def starts(tree: ast.AST) -> set[str]:
    """Return the functions in a module that start processes, whichever way it imports them."""
    used = set()
    for node in ast.walk(tree):
        names: list[tuple[str, str]] = []
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names = [(node.value.id, node.attr)]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [(node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [("", a.name) for a in node.names if a.name in {"pty", "webbrowser", "concurrent.futures.process"}]
        for module, name in names:
            if name in STARTERS.get(module, ()) or name.startswith(PREFIXES.get(module, "\0")) or not module:
                used.add(f"{module}.{name}")
            if name in {"ProcessPoolExecutor", "subprocess_exec", "subprocess_shell"}:
                used.add(f"{module}.{name}")
    return used


def test_processes_are_started_in_one_place() -> None:
    found = {}
    for module, tree in trees().items():
        used = starts(tree)
        if used - {"subprocess.Popen"} or ("subprocess.Popen" in used and _calls_popen(tree)):
            found[FILES[module].relative_to(SRC).as_posix()] = used
    assert found == ALLOWED


def _calls_popen(tree: ast.Module) -> bool:
    """Return True if a module calls `Popen`, rather than naming it as a type."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return any(isinstance(call.func, ast.Attribute) and call.func.attr == "Popen" for call in calls)


def test_code_that_starts_a_process_is_found() -> None:
    for code in (
        "import subprocess\nsubprocess.run(['x'])",
        "from subprocess import check_output",
        "import os\nos.execvp('x', [])",
        "import webbrowser",
        "from concurrent.futures import ProcessPoolExecutor",
    ):
        assert starts(ast.parse(code)), code

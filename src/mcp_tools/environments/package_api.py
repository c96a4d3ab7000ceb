"""Describes the public functions and classes of an installed package, for a model that writes a tool around it.

This file's text runs as a program in the sandbox, which is the only place where the package is read and imported.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import math
import re
import time
from email import message_from_string
from importlib import metadata
from pathlib import Path
from typing import Any

MOST_SECONDS = 6.0
"""Time limit for reading sources."""
LARGEST_SOURCE = 400_000
MOST_ENTRIES = 20_000
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ABOUT, _DOC, _SHORT, _METHODS, _MODULES = 1_200, 600, 100, 12, 10
_COMMON = {"the", "and", "for", "with", "from", "that", "this", "what", "which", "into", "are", "not", "has", "have"}
_APART = {"tests", "test", "testing", "conftest", "setup", "examples", "benchmarks"}

Entry = dict[str, Any]
"""`module`, `name`, `text` (its signatures), `doc`."""


def surface(distribution: str, task: str, most: int) -> dict[str, Any]:
    """Describe the parts of a package that suit a task best.

    Args:
        distribution: Name of the package.
        task: The task in words. Functions and modules that share its words come first.
        most: Limit of the description, in characters.

    Returns:
        `version`; `modules`, the top-level modules; `text`, the description; and `failure`, the reason if the main
        module cannot be imported.
    """
    found = metadata.distribution(distribution)
    files = [str(file) for file in found.files or () if not str(file).startswith("..") and "dist-info" not in str(file)]
    tops = list(dict.fromkeys(file.partition("/")[0].partition(".")[0] for file in files if not file.startswith("_")))
    named = (found.read_text("top_level.txt") or "").split()
    tops = [top for top in named if top in tops] or tops
    usual = distribution.lower().replace("-", "_")
    tops.sort(key=lambda top: (top.lower() != usual, top.lower() not in usual.split("_")) if not named else (0, 0))
    entries, abouts, unread = _entries_of(str(found.locate_file("")), files, tops, _stems(task))
    failure = ""
    try:
        for top in tops[:1]:
            _add_of_module(importlib.import_module(top), top, entries)
    except Exception as error:  # noqa: BLE001 - code of others
        failure = f"{type(error).__name__}: {error}"[:500]
    about = message_from_string(found.read_text("METADATA") or "")
    head = [f"{distribution} {found.version.partition('+')[0]}: {about['Summary'] or ''}".strip(": ")]
    if long := str(about.get_payload()).strip():
        head += ["", long[:_ABOUT], ""]
    head += [f"{file}: not read" for file in unread if "(" in file][:5]
    text = _fitting_part("\n".join(head), entries, abouts, task, most)
    return {"version": str(found.version), "modules": tops, "text": text[:most], "failure": failure}


def _entries_of(
    root: str, files: list[str], tops: list[str], wanted: set[str]
) -> tuple[dict[tuple[str, str], Entry], dict[str, str], list[str]]:
    """Return all entries by module and name, each module's docstring, and the files that were not read."""
    entries: dict[tuple[str, str], Entry] = {}
    abouts: dict[str, str] = {}
    unread: list[str] = []
    shown: list[tuple[str, str, set[str]]] = []
    sources = [file for file in files if file.endswith(".py") and file.partition("/")[0].partition(".")[0] in tops]
    sources = [file for file in sources if not _APART & {*file.removesuffix(".py").split("/")}]
    sources.sort(key=lambda file: (not wanted & _stems(file), file.count("/"), file))
    end = time.monotonic() + MOST_SECONDS
    for file in sources:
        path = Path(root, file)
        if time.monotonic() > end or len(entries) > MOST_ENTRIES or path.stat().st_size > LARGEST_SOURCE:
            unread.append(file)
            continue
        module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            unread.append(f"{file} ({type(error).__name__})")
            continue
        abouts[module] = ast.get_docstring(tree) or ""
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name[0] != "_":
                doc = ast.get_docstring(node) or ""
                entries[module, node.name] = {"module": module, "name": node.name, "text": _head(node), "doc": doc}
            elif isinstance(node, ast.ImportFrom) and file.endswith("__init__.py") and _is_public(module):
                above = module.split(".")[: module.count(".") + 2 - node.level] if node.level else []
                home = ".".join([*above, *filter(None, [node.module])])
                shown.append((module, home, {one.name for one in node.names}))
    for module, home, names in shown:
        for (where, name), entry in entries.items():
            if where == home and not names.isdisjoint((name, "*")) and not _is_public(entry["module"]):
                entry["module"] = module
    return entries, abouts, unread


def _head(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    if isinstance(node, ast.ClassDef):
        inner = [one for one in node.body if isinstance(one, ast.FunctionDef)]
        shown = [one for one in inner if one.name[0] != "_" or one.name == "__init__"]
        bases = f"({', '.join(map(ast.unparse, node.bases))})" if node.bases else ""
        fields = [one for one in node.body if isinstance(one, ast.AnnAssign)]
        lines = [f"class {node.name}{bases}", *(f"    {ast.unparse(one)}"[:_SHORT] for one in fields[:_METHODS])]
        lines += [f"    {_head(one)}" for one in shown[:_METHODS]]
        lines += [f"    … {len(shown) - _METHODS} more methods"] if len(shown) > _METHODS else []
        return "\n".join(lines)
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"def {node.name}({ast.unparse(node.args)}){result}"[:300]


def _add_of_module(module: Any, top: str, entries: dict[tuple[str, str], Entry]) -> None:
    """Move entries to the main module if it exports them, and add functions without Python source."""
    for name in [name for name in getattr(module, "__all__", None) or dir(module) if isinstance(name, str)]:
        try:
            value = getattr(module, name)
            home, own = str(getattr(value, "__module__", "") or ""), str(getattr(value, "__name__", "") or name)
        except Exception:  # noqa: BLE001, S112 - code of others
            continue
        if name.startswith("_") or inspect.ismodule(value) or not callable(value):
            continue
        if (home, own) in entries:
            entries[home, own]["module"] = top
        elif home.partition(".")[0] in (top, f"_{top}", "") and (top, name) not in entries:
            try:
                signature = str(inspect.signature(value))
            except (ValueError, TypeError):
                signature = "(…)"
            doc = inspect.getdoc(value) or ""
            kind = "class" if inspect.isclass(value) else "def"
            entries[top, name] = {"module": top, "name": name, "text": f"{kind} {name}{signature}"[:300], "doc": doc}


def _fitting_part(head: str, found: dict[tuple[str, str], Entry], abouts: dict[str, str], task: str, most: int) -> str:
    """Return as many entries as fit: the best ones with their docstrings, then others with one line each."""
    entries = [one for one in found.values() if _is_public(one["module"])]
    wanted = _stems(task)
    fits = {one: len(wanted & _stems(f"{one} {text}")) for one, text in abouts.items()}
    offering = {one["module"] for one in entries}.intersection(abouts)
    modules = sorted(offering, key=lambda one: (-fits[one], one.count("."), one))
    others = [one for one in modules if not fits[one]][_MODULES:]
    modules = [one for one in modules if one not in others]
    lines, room = [head, "", "Modules:"], most - len(head) - 200
    for module in modules:
        line = f"- {module}: {_first(abouts[module])}".rstrip(": ")
        if (room := room - len(line) - 1) < most * 0.6:
            break
        lines.append(line)
    lines += [f"- … {len(offering)} in all"] if len(lines) - 3 < len(offering) else []
    shown: dict[str, list[str]] = {}
    left = room
    for one in _ranked(entries, abouts, wanted):
        doc = one["doc"].strip()
        doc = doc[:_DOC] if left > room * 0.6 else _first(doc)
        text = one["text"] + "".join(f"\n    {line}".rstrip() for line in doc.split("\n") if doc)
        top = "" if one["module"] in shown else f"\n# {one['module']}\n{abouts.get(one['module'], '')[:_DOC]}".rstrip()
        if (left := left - len(text) - len(top) - 2) < 0:
            lines.append(f"({len(entries)} functions and classes in all; those that fit the task least are left out)")
            break
        shown.setdefault(one["module"], [top]).append(text)
    return "\n".join([*lines, *("\n".join(part) for part in shown.values())])


def _ranked(entries: list[Entry], abouts: dict[str, str], wanted: set[str]) -> list[Entry]:
    """Sort the entries by the number of wanted words in them. Rare words weigh more."""
    about = {module: _stems(f"{module} {_first(text)}") for module, text in abouts.items()}
    bags = [
        (_stems(one["name"]), about.get(one["module"], _stems(one["module"])), _stems(one["doc"][:2_000]))
        for one in entries
    ]
    counts = {word: sum(any(word in part for part in bag) for bag in bags) for word in wanted}
    weight = {word: math.log(1 + len(bags) / (1 + count)) for word, count in counts.items()}

    def score(place: int) -> float:
        name, module, doc = bags[place]
        fits: float = sum(
            weight[word] * (3 if word in name else 2 if word in module else 1 if word in doc else 0) for word in wanted
        )
        return float(fits - 0.05 * entries[place]["module"].count("."))

    return [entries[place] for place in sorted(range(len(entries)), key=lambda place: (-score(place), place))]


def _first(text: str) -> str:
    return text.strip().partition("\n")[0][:_SHORT]


def _is_public(module: str) -> bool:
    return not any(part[:1] == "_" for part in module.split("."))


def _stems(text: str) -> set[str]:
    """Return the first five letters of each word, without very common words."""
    found = {word.lower()[:5] for word in _WORD.findall(text)}
    return {word for word in found if (len(word) > 2 or word.isdigit()) and word not in _COMMON}

"""Attached files as variables of a program: the modules that it imports, `attached` and what stands behind it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from agent.material.attached import TABLES, TREES, readable
from agent.state import AttachedFile, State

MODULE = "attached"
_PREFIX = f"{MODULE}_"
_PACKAGE = "agent.small.programs.inside"
_IN_ORDER = re.compile(
    r"^\s*\|?(?:\s*:?-+:?\s*\|)+|(?:^\s*(?:[-*+]|\d{1,3}[.)])\s+\S.*\n\s*){3}|(?:^[^:|\n]{1,60}:\s*[-+$€£]?\d.*\n\s*){3}",
    re.MULTILINE,
)
"""The rule below a table's header in Markdown, three items of a list, or three lines of a label and a number."""
TEXTS = frozenset(["txt", "md", "source", "pdb", "cif", "svg"])
"""Kinds that a program reads as text as they are."""
_AS_TEXT = (".pages.jsonl", ".transcript.json", ".md", ".txt")
"""How the files end in which readers write a text."""


def modules_for(state: State) -> dict[str, str]:
    """The sources of the modules; the variables of `attached` are what the files hold."""
    specs = [_spec(file) for file in openable(state)]
    source = (
        f"from {_PREFIX}loading import load\n"
        f"from {_PREFIX}telling import tell\n"
        f"_named = load({specs!r})\nglobals().update(_named)\n__all__ = list(_named)\n"
    )
    return {MODULE: source, **_inside()}


def openable(state: State) -> list[AttachedFile]:
    """The files that the module opens."""
    return [file for file in readable(state) if file["kind"] in TABLES | TREES or text_of(file)]


def text_of(file: AttachedFile) -> str:
    """The path of a file's text; empty where it has none."""
    if file["kind"] in TEXTS:
        return file["path"]
    return next((path for path in file["data"] if path.endswith(_AS_TEXT)), "")


def variables_of(state: State) -> str:
    """A program that tells the variables' names, and what they hold."""
    return f"import {MODULE}\nprint(', '.join({MODULE}._named))\nprint({MODULE}.tell({MODULE}._named))\n"


def packages_of(files: Sequence[AttachedFile]) -> tuple[str, ...]:
    """What the module imports for these files."""
    kinds = {file["kind"] for file in files}
    books = kinds & {"xlsx", "xls", "xlsb", "ods"}
    tables = kinds & (TABLES | TREES) or any(map(holds_tables, files))
    return (*(["pandas"] if tables else []), *(["openpyxl", "python-calamine"] if books else []))


def _spec(file: AttachedFile) -> dict[str, Any]:
    facts = {name: file["facts"].get(name) for name in ("delimiter", "decimal", "encoding", "header")}
    return {
        **{"name": file["name"], "path": file["path"], "kind": file["kind"], "text": text_of(file)},
        "tables": holds_tables(file),
        "facts": {name: fact for name, fact in facts.items() if fact is not None},
    }


def holds_tables(file: AttachedFile) -> bool:
    """Whether the text of a file has tables, lists or labelled lines, as far as its beginning shows."""
    return bool(text_of(file)) and _IN_ORDER.search(file["beginning"]) is not None


@cache
def _inside() -> dict[str, str]:
    """The modules behind `attached`: there they stand side by side, since no package of ours is there."""
    sources = {Path(file.name).stem: file.read_text("utf-8") for file in resources.files(_PACKAGE).iterdir()
               if file.name.endswith(".py") and file.name != "__init__.py"}  # fmt: skip
    return {
        f"{_PREFIX}{name}": source.replace(f"from {_PACKAGE}.", f"from {_PREFIX}") for name, source in sources.items()
    }

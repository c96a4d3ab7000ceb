"""Attached files as variables of a program: the module `attached` that it imports."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

from agent.attached import TABLES, TREES, readable
from agent.state import AttachedFile, State

MODULE = "attached"
TEXTS = frozenset(["txt", "md", "source", "pdb", "cif", "svg"])
"""Kinds that a program reads as text as they are."""
_AS_TEXT = (".pages.jsonl", ".transcript.json", ".md", ".txt")
"""How the files end in which readers write a text."""
_COLOUR = r"\bcolou?r|\bfill(?:ed)?\b|\bhighlight|\bshaded?\b|\b(?:green|red|blue|yellow|orange|purple|pink|gr[ae]y)\b"
_LOOKS = {
    "fill": re.compile(_COLOUR, re.IGNORECASE),
    "font_colour": re.compile(_COLOUR, re.IGNORECASE),
    "bold": re.compile(r"\bbold", re.IGNORECASE),
    "comment": re.compile(r"\b(?:comment|note)s?\b", re.IGNORECASE),
    "formula": re.compile(r"\bformula", re.IGNORECASE),
    "hidden": re.compile(r"\bhidden\b", re.IGNORECASE),
}
"""What cells of a workbook have beside values, and how questions speak of it."""


def module_source(state: State) -> str:
    """The source of the module, whose variables are what the files hold."""
    looks = [look for look, words in _LOOKS.items() if words.search(state["question"])]
    specs = [_spec(file, looks=looks) for file in openable(state)]
    ending = f"_named = load({specs!r})\nglobals().update(_named)\n__all__ = list(_named)\n"
    return f"{_inside()}\n\n{ending}"


def openable(state: State) -> list[AttachedFile]:
    """The files that the module opens."""
    return [file for file in readable(state) if file["kind"] in TABLES | TREES or text_of(file)]


def text_of(file: AttachedFile) -> str:
    """The path of a file's text; empty where it has none."""
    if file["kind"] in TEXTS:
        return file["path"]
    return next((path for path in file["data"] if path.endswith(_AS_TEXT)), "")


def variables_of(state: State) -> str:
    """A program that tells what the variables hold."""
    return f"import {MODULE}\nprint({MODULE}.tell({MODULE}._named))\n"


def packages_of(files: Sequence[AttachedFile]) -> tuple[str, ...]:
    """What the module imports for these files."""
    kinds = {file["kind"] for file in files}
    books = kinds & {"xlsx", "xls", "xlsb", "ods"}
    return (*(["pandas"] if kinds & (TABLES | TREES) else []), *(["openpyxl", "python-calamine"] if books else []))


def _spec(file: AttachedFile, *, looks: list[str]) -> dict[str, Any]:
    facts = {name: file["facts"].get(name) for name in ("delimiter", "decimal", "encoding", "header")}
    cells = looks if file["kind"] == "xlsx" else []
    return {
        **{"name": file["name"], "path": file["path"], "kind": file["kind"], "text": text_of(file), "cells": cells},
        "facts": {name: fact for name, fact in facts.items() if fact is not None},
    }


@cache
def _inside() -> str:
    return (resources.files("agent.programs") / "inside.py").read_text(encoding="utf-8")

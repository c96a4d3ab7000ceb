"""Programs name files by their names: in the sandbox these stand for the paths where the files are."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Sequence

from agent.attached import paths_by_name
from agent.state import AttachedFile


def with_paths(source: str, files: Sequence[AttachedFile]) -> str:
    """The program with the path of a file for each text that is its name; else unchanged, to the last character."""
    places = paths_by_name(files)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
    named = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _meant(node.value) in places
    ]
    if not named:
        return source
    for node in named:
        assert isinstance(node.value, str)
        node.value = places[_meant(node.value)]
    return ast.unparse(tree) + "\n"


def _meant(text: str) -> str:
    return text.removeprefix("./")

"""The paths of attached files are arguments that a rule adds to a small model's spec, and no model copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mcp_tools.create.small.spec import Wanted
from mcp_tools.tool import Json, Parameter


def with_paths(wanted: Wanted, files: Sequence[Path]) -> Wanted:
    """The spec with a parameter in front for each file, and the arguments with the paths."""
    if not files:
        return wanted
    names = path_names(files)
    given = {name: str(path) for name, path in zip(names, files, strict=True)}
    kept = tuple(p for p in wanted.spec.parameters if p.name not in given)
    added = tuple(Parameter(name, "str", f"Path of a file such as {Path(path).name}.") for name, path in given.items())
    arguments = {name: value for name, value in wanted.arguments.items() if name not in given}
    return replace(wanted, spec=replace(wanted.spec, parameters=(*added, *kept)), arguments={**given, **arguments})


def path_names(files: Sequence[Path]) -> list[str]:
    """What the parameters are called."""
    return ["path"] if len(files) == 1 else [f"path_{number}" for number in range(1, len(files) + 1)]


def without_paths(arguments: dict[str, Json], files: Sequence[Path]) -> dict[str, Json]:
    """The arguments that may take other values: there is no second file of the kind to try."""
    paths = {str(path) for path in files}
    return {name: value for name, value in arguments.items() if not (isinstance(value, str) and value in paths)}

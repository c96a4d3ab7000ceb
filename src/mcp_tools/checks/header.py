"""The PEP 723 header of a source: its packages, and in `[tool.alita]` its other capabilities."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from mcp_tools.errors import LibraryError
from mcp_tools.packages import BASE_PACKAGES, import_name, imported
from mcp_tools.small_files import toml_of
from mcp_tools.tool import Capabilities, Json

_BLOCK = re.compile(r"(?m)^# /// script[ \t]*\n(?P<body>(?:^#(?:| .*)\n)*?)^# ///[ \t]*$")

_MAX_BLOCKS = 10


def declared(source: str) -> Capabilities:
    """Return the capabilities that a source declares; the defaults if it has no header.

    Raises:
        LibraryError: The header is not valid TOML, or declares something unknown.
    """
    table = _read(source)
    own = table.get("tool", {}).get("alita", {})
    try:
        return Capabilities.from_json({**own, "packages": table.get("dependencies", [])})
    except ValueError as error:
        raise LibraryError(f"the `# /// script` block is invalid: {error}") from None


def with_declared(source: str, packages: Iterable[str] = (), **own: Json) -> str:
    """Add packages and capabilities to the header of a source, at the end of the source so that line numbers stay.

    A package replaces a declared one of the same name.
    """
    packages, own = [*packages], {name: value for name, value in own.items() if value}
    if not source.strip() or not (packages or own):
        return source
    try:
        table = _read(source)
    except LibraryError:  # `declared` will report the problem
        return source
    given = {import_name(one) for one in packages}
    kept = [one for one in table.get("dependencies", []) if not isinstance(one, str) or import_name(one) not in given]
    named = [*dict.fromkeys((*kept, *packages))]
    own = {**table.get("tool", {}).get("alita", {}), **own}
    return f"{_BLOCK.sub('', source).rstrip()}\n\n{_block(named, own)}\n"


def with_header(source: str, capabilities: Capabilities) -> str:
    """Return the source with a new header at the top, so that `uv run` can run it.

    The header lists the packages and tools that the source imports.
    """
    table = _read(source)
    bare = _BLOCK.sub("", source).lstrip("\n") if table else source
    named = imported(bare, tuple(dict.fromkeys((*BASE_PACKAGES, *capabilities.packages))))
    own = {name: value for name, value in table.get("tool", {}).get("alita", {}).items() if name != "tools"}
    own |= {"tools": [*capabilities.tools]} if capabilities.tools else {}
    if not named and not own:
        return bare
    block = _block(named, own, 'requires-python = ">=3.11"')
    return f"{block}\n\n{bare}"


def _read(source: str) -> dict[str, Any]:
    if source.count("# /// script") > _MAX_BLOCKS:  # searching for the end of each one would take too long
        raise LibraryError(f"the code contains more than {_MAX_BLOCKS} `# /// script` blocks; keep one")
    if (block := _BLOCK.search(source)) is None:
        return {}
    text = "\n".join(line.removeprefix("#").removeprefix(" ") for line in block["body"].splitlines())
    try:
        table = toml_of(text.encode())
    except ValueError as error:
        raise LibraryError(f"the `# /// script` block is not valid TOML: {error}") from None
    tool = table.get("tool", {})
    own = tool.get("alita", {}) if isinstance(tool, dict) else None
    if not isinstance(own, dict) or not isinstance(table.get("dependencies", []), list):
        raise LibraryError("the `# /// script` block is invalid: `dependencies` must be a list, `[tool.alita]` a table")
    return table


def _block(packages: Iterable[str], own: Mapping[str, Json], *lines: str) -> str:
    body = [*lines, f"dependencies = {json.dumps([*packages])}"]
    if own:
        body += ["", "[tool.alita]", *(f"{name} = {json.dumps(value, default=str)}" for name, value in own.items())]
    text = "\n".join(f"# {line}".rstrip() for line in body)
    return f"# /// script\n{text}\n# ///"

"""Export tools as an MCP server in a single Python file."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files as resources

from mcp_tools.exchange.members import Members
from mcp_tools.exchange.parcel import Parcel
from mcp_tools.text import count_of

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}\.py")
TOOLS = "EXPORTED_TOOLS"
"""Name of the variable that holds each tool's source and JSON file as strings."""
SERVER_PACKAGES = ("mcp>=2.1,<3",)
WARNING = "The tools are not isolated: they run with the permissions of the user who starts them."


def files(parcels: Sequence[Parcel], target: str) -> Members:
    """Return the server file, keyed by the target's name."""
    listed = "".join(
        f"    {one.name!r}: (\n{literal(one.source.decode())},\n{literal(one.document.decode())},\n    ),\n"
        for one in parcels
    )
    packages = dict.fromkeys((*SERVER_PACKAGES, *(name for one in parcels for name in one.packages)))
    text = f'''{header(packages)}
"""An MCP server with {count_of(len(parcels), "tool")} of alita: `uv run {target}` serves them over stdin and stdout.

{WARNING}
"""

from __future__ import annotations

{standalone("calling")}

{standalone("serving")}

{TOOLS} = {{
{listed}}}


if __name__ == "__main__":
    sources = Sources({{name: source for name, (source, _) in {TOOLS}.items()}})
    serve(
        {target.removesuffix(".py")!r},
        {{name: sources.function(name) for name in {TOOLS}}},
        {{name: json.loads(document) for name, (_, document) in {TOOLS}.items()}},
    )
'''
    return {target: text.encode()}


def header(packages: Iterable[str]) -> str:
    """Return a PEP 723 block that declares these packages."""
    return f'# /// script\n# requires-python = ">=3.11"\n# dependencies = {json.dumps([*packages])}\n# ///'


def standalone(module: str) -> str:
    """Return the code of a module in `standalone/`, without its docstring and its imports from alita."""
    text = resources("mcp_tools.exchange.standalone").joinpath(f"{module}.py").read_text(encoding="utf-8")
    body = text.partition("from __future__ import annotations\n")[2]
    return re.sub(r"(?m)^from mcp_tools\..*\n|  # (?:type: ignore|noqa).*$", "", body).strip()


def literal(text: str) -> str:
    """Return a text as a Python string literal, in a readable form if possible."""
    escaped = text.replace("\\", "\\\\").replace("'''", "\\'\\'\\'")
    escaped = re.sub(r"(?m)^# ///", r"\\x23 ///", escaped)  # a file may have only one PEP 723 block
    code = f"'''\\\n{escaped}'''"
    try:
        return code if ast.literal_eval(code) == text else repr(text)
    except SyntaxError:  # the text ends with a quote
        return repr(text)


def tools_in(source: bytes) -> dict[str, tuple[str, str]] | None:
    """Return each tool's source and JSON file from an exported server without running it. None for other files."""
    if TOOLS.encode() not in source:
        return None
    try:
        for node in ast.parse(source).body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if name == TOOLS:
                    found = ast.literal_eval(value)
                    return {str(one): (str(texts[0]), str(texts[1])) for one, texts in found.items()}
    except (SyntaxError, ValueError, TypeError, AttributeError, IndexError, RecursionError, MemoryError):
        pass
    return None

"""Export tools as a wheel: a package of functions, with a command that serves them over MCP."""

from __future__ import annotations

import ast
import base64
import hashlib
import re
from collections.abc import Collection, Sequence

from mcp_tools.errors import UsageError
from mcp_tools.exchange.members import Members
from mcp_tools.exchange.parcel import Parcel
from mcp_tools.exchange.server_file import SERVER_PACKAGES, WARNING, standalone
from mcp_tools.text import count_of, one_line

NAME = re.compile(r"(?P<package>[a-z][a-z0-9_]{0,63})-(?P<version>\d{1,9}(?:\.\d{1,9}){0,4})-py3-none-any\.whl")


def files(parcels: Sequence[Parcel], target: str) -> Members:
    """Return the files of the wheel. `RECORD` comes last."""
    found = NAME.fullmatch(target)
    assert found is not None, "`export` checks the name"
    package, version = found["package"], found["version"]
    names = [one.name for one in parcels]
    if package in names:
        raise UsageError(
            f"the package has the same name as its tool {package}.", remedy=f"Name the package {package}_tools."
        )
    imports = "".join(f"from .tools.{name} import {name}\n" for name in names)
    every, summary = ", ".join(map(repr, names)), f"{count_of(len(names), 'tool')} of alita"
    members: dict[str, str | bytes] = {
        f"{package}/__init__.py": f'"""{summary}.\n\n{WARNING}\n"""\n\n{imports}\n__all__ = [{every}]\n',
        f"{package}/_calling.py": f"from __future__ import annotations\n\n{standalone('calling')}\n",
        f"{package}/_serving.py": f"from __future__ import annotations\n\n{_serving(package)}\n",
        f"{package}/py.typed": "",
        f"{package}/tools/__init__.py": "",
    }
    for one in parcels:
        members[f"{package}/tools/{one.name}.py"] = with_dots(one.source.decode(), one.tool.capabilities.tools)
        members[f"{package}/tools/{one.name}.json"] = one.document
    about = f"{package}-{version}.dist-info"
    members[f"{about}/METADATA"] = _metadata(parcels, package, version)
    members[f"{about}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: alita\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    command = package.replace("_", "-")
    members[f"{about}/entry_points.txt"] = f"[console_scripts]\n{command}-server = {package}._serving:main\n"
    made = {name: content.encode() if isinstance(content, str) else content for name, content in members.items()}
    rows = [f"{name},{record_hash(content)},{len(content)}\n" for name, content in made.items()]
    return {**made, f"{about}/RECORD": "".join([*rows, f"{about}/RECORD,,\n"]).encode()}


def require_whole(members: Members) -> None:
    """Check a wheel's files against the hashes in its RECORD.

    Raises:
        ValueError: A file does not match, or there is no RECORD.
    """
    record = next((name for name in members if name.endswith(".dist-info/RECORD")), "")
    rows = [line.rsplit(",", 2) for line in members.get(record, b"").decode(errors="replace").splitlines()]
    known = {row[0]: row[1] for row in rows if len(row) == 3}
    for name, content in members.items():
        if name != record and known.get(name) != record_hash(content):
            raise ValueError(f"{one_line(name, 80)} does not match its hash in RECORD")


def record_hash(content: bytes) -> str:
    """Return the hash of a file in the format used in a wheel's RECORD."""
    return f"sha256={base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()}"


def _metadata(parcels: Sequence[Parcel], package: str, version: str) -> str:
    needed = dict.fromkeys(name for one in parcels for name in one.packages)
    purposes = "\n".join(f"- {one.name}: {one_line(one.tool.summary, 200)}" for one in parcels)
    return "".join(
        [
            f"Metadata-Version: 2.1\nName: {package.replace('_', '-')}\nVersion: {version}\n",
            f"Summary: {count_of(len(parcels), 'tool')} of alita\nRequires-Python: >=3.11\n",
            *(f"Requires-Dist: {one}\n" for one in needed),
            "Provides-Extra: mcp\n",
            *(f'Requires-Dist: {one}; extra == "mcp"\n' for one in SERVER_PACKAGES),
            f"Description-Content-Type: text/markdown\n\n{WARNING}\n\n{purposes}\n",
        ]
    )


def _serving(package: str) -> str:
    return f'''from ._calling import call

{standalone("serving")}


def main() -> None:
    """Serves the tools of this package over stdin and stdout."""
    import {package}
    from pathlib import Path

    here = Path(__file__).with_name("tools")
    names = {package}.__all__
    try:
        import mcp_types
    except ImportError:
        raise SystemExit("The server needs the package mcp: pip install '{package.replace("_", "-")}[mcp]'") from None
    serve(
        {package!r},
        {{name: getattr({package}, name) for name in names}},
        {{name: json.loads((here / f"{{name}}.json").read_text("utf-8")) for name in names}},
    )'''


def with_dots(source: str, tools: Collection[str]) -> str:
    """Convert a source's imports of other tools to relative imports."""
    return _changed(source, tools, 0)


def without_dots(source: str, tools: Collection[str]) -> str:
    """Undo `with_dots`."""
    return _changed(source, tools, 1)


def _changed(source: str, tools: Collection[str], level: int) -> str:
    if not tools:
        return source
    lines = source.split("\n")
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        line, rest = lines[node.lineno - 1], node.col_offset
        if isinstance(node, ast.ImportFrom) and node.level == level and (node.module or "") in tools:
            old, new = ("from ", "from .") if level == 0 else ("from .", "from ")
        elif level == 0 and isinstance(node, ast.Import) and {one.name for one in node.names} <= {*tools}:
            old, new = "import ", "from . import "
        elif (
            level
            and isinstance(node, ast.ImportFrom)
            and not node.module
            and {one.name for one in node.names} <= {*tools}
        ):
            old, new = "from . import ", "import "
        else:
            continue
        if line[rest:].startswith(old):
            lines[node.lineno - 1] = line[:rest] + new + line[rest + len(old) :]
    return "\n".join(lines)

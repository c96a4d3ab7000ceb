"""The two files of a tool: `<name>.py`, the source, and `<name>.json`, the MCP tool object.

The JSON file contains the SHA-256 of its source. A missing file or a different hash is a flaw, which is reported with a
remedy. Old versions are `.alita/versions/NAME/HASH.py` and `HASH.json`. Anyone who can write to the folder can add
versions, so only those that were approved are served.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import errno
import hashlib
import itertools
import json
import keyword
import os
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mcp_tools.errors import LibraryError
from mcp_tools.library.folder import META_HASH, VERSIONS, read, within
from mcp_tools.small_files import json_of
from mcp_tools.tool import Capabilities, Json, Status, Tool

_MAX_NAME_LENGTH = 64
_NAME = re.compile(rf"[a-z][a-z0-9_]{{0,{_MAX_NAME_LENGTH - 1}}}", re.ASCII)
_RESERVED = frozenset(keyword.kwlist) | frozenset(keyword.softkwlist) | frozenset(dir(builtins))


def valid_name(text: str) -> bool:
    """Return True if a tool may have this name: `^[a-z][a-z0-9_]{0,63}$`, but no Python keyword or builtin."""
    return _NAME.fullmatch(text) is not None and text not in _RESERVED


def free_name(name: str, taken: Container[str]) -> str:
    """Return the name, or the name with the first free suffix of `_2`, `_3`, and so on.

    Example:
        >>> free_name("area", {"area", "area_2"})
        'area_3'
    """
    if name not in taken:
        return name
    number = 2
    while (candidate := f"{name[: _MAX_NAME_LENGTH - len(str(number)) - 1]}_{number}") in taken:
        number += 1
    return candidate


def renamed(source: str, old: str, new: str) -> str:
    """Rename the top-level function `old` of a source to `new`, with all its uses and the `>>>` examples in docstrings.

    Other things of the same name are left alone: attributes, class members, keyword arguments, local names, strings and
    comments.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
    others = {
        part
        for scope in ast.walk(tree)
        if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and old in _bound(scope)
        for statement in _body(scope)
        for part in ast.walk(statement)
    }
    members = (part for scope in ast.walk(tree) if isinstance(scope, ast.ClassDef) for part in scope.body)
    for member in members:
        if isinstance(member, ast.Assign | ast.AnnAssign):
            targets = member.targets if isinstance(member, ast.Assign) else [member.target]
            others |= {part for target in targets for part in ast.walk(target)}
    uses = (node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == old and node not in others)
    places = {(node.lineno, node.col_offset) for node in uses}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == old:
            places.add((node.lineno, len("async def " if isinstance(node, ast.AsyncFunctionDef) else "def ")))
    lines = source.encode().splitlines(keepends=True)
    for line, column in sorted(places, reverse=True):
        text = lines[line - 1]
        if text[column:].startswith(old.encode()):
            lines[line - 1] = text[:column] + new.encode() + text[column + len(old) :]
    shown = re.compile(rf"^([ \t]*>>> .*?)\b{re.escape(old)}\(", re.MULTILINE)
    return shown.sub(rf"\g<1>{new}(", b"".join(lines).decode())


def _body(scope: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Sequence[ast.AST]:
    return [scope.body] if isinstance(scope, ast.Lambda) else scope.body


def _bound(scope: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Iterator[str | None]:
    """Yield the names that a function binds locally, except by assignment, where renaming both sides is harmless."""
    yield from (part.arg for part in ast.iter_child_nodes(scope.args) if isinstance(part, ast.arg))
    parts = list(_body(scope))
    while parts:
        part = parts.pop()
        match part:
            case ast.alias():
                yield part.asname or part.name
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield part.name
                continue  # its inner definitions are local
            case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar():
                yield part.name
        parts += ast.iter_child_nodes(part)


META_STATUS = "alita/status"
META_PROVENANCE = "alita/provenance"

CAPABILITIES = "capabilities"
"""Key that a person may add to the JSON file to change the capabilities. An approval moves it to the provenance."""

FlawKind = Literal["corrupt", "changed", "incomplete", "unreadable", "name"]


@dataclass(frozen=True, slots=True)
class Flaw:
    """The reason why files in the folder are not a usable tool, with a remedy."""

    name: str
    kind: FlawKind
    message: str
    remedy: str


def source_path(folder: Path, name: str) -> Path:
    """Return the path of a tool's source."""
    return folder / f"{name}.py"


def object_path(folder: Path, name: str) -> Path:
    """Return the path of a tool's JSON file."""
    return folder / f"{name}.json"


def as_document(tool: Tool) -> dict[str, Json]:
    """Return the MCP tool object, with status, source hash and provenance under `_meta`."""
    title = tool.annotations.get("title")
    return {
        "name": tool.name,
        **({"title": title} if title else {}),
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": tool.annotations,
        "_meta": {META_STATUS: str(tool.status), META_HASH: tool.source_hash, META_PROVENANCE: tool.provenance},
    }


def encoded(tool: Tool) -> bytes:
    """Return the content of a tool's JSON file, indented for people.

    Raises:
        LibraryError: A value of the tool is not a JSON value.
    """
    try:
        text = json.dumps(as_document(tool), indent=2, ensure_ascii=False, allow_nan=False)
        return (text + "\n").encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise LibraryError(f"the tool {tool.name!r} cannot be written as JSON: {error}") from error


def read_tool(folder: Path, name: str) -> Tool | Flaw | None:
    """Read a tool; return its flaw if the files are damaged, or None if there are no files."""
    contents: dict[str, bytes | None] = {}
    for path in (source_path(folder, name), object_path(folder, name)):
        try:
            contents[path.suffix] = read(path)
        except FileNotFoundError:
            contents[path.suffix] = None
        except OSError as error:
            remedy = f"chmod u+r {path}" if error.errno == errno.EACCES else _restore(name)
            return Flaw(name, "unreadable", f"{path.name} cannot be read: {error.strerror or error}", remedy)
    source, document = contents[".py"], contents[".json"]
    if source is None and document is None:
        return None
    if not valid_name(name):
        return Flaw(
            name, "name", f"{name!r} is not a valid tool name", "rename its files and its function to snake_case"
        )
    if source is None:
        return Flaw(name, "incomplete", f"there is {name}.json, but no {name}.py", _restore(name))
    if document is None:
        return Flaw(name, "incomplete", f"there is {name}.py, but no {name}.json", _check(name))
    return parsed(name, source, document)


def _check(name: str) -> str:
    return f"run: alita tools check {name}, then: alita tools approve {name}"


def _restore(name: str) -> str:
    return f"restore the file, or remove the tool: alita tools delete {name}"


def parsed(name: str, source: bytes, document: bytes) -> Tool | Flaw:
    """Build a tool from the content of its two files, or return their flaw."""
    try:
        content = json_of(document)
        text = source.decode()
    except (ValueError, RecursionError) as error:
        which = "py" if isinstance(error, UnicodeDecodeError) and error.object == source else "json"
        return Flaw(name, "corrupt", f"{name}.{which} is invalid: {error}", _restore(name))
    untried = f"{_check(name)}; or remove it: alita tools delete {name}"
    if isinstance(content, dict) and CAPABILITIES in content:
        message = f"the capabilities in {name}.json are not approved yet; the tool is a draft and is not listed"
        return Flaw(name, "changed", message, untried)
    if misfit := _misfit(name, content):
        return Flaw(name, "corrupt", f"{name}.json is invalid: {misfit}", _restore(name))
    meta = content["_meta"]
    tool = Tool(
        name=name,
        description=content["description"],
        input_schema=content["inputSchema"],
        output_schema=content["outputSchema"],
        source=text,
        annotations=content.get("annotations", {}),
        status=Status(meta[META_STATUS]),
        provenance=meta.get(META_PROVENANCE, {}),
    )
    if tool.source_hash != meta[META_HASH]:
        message = f"{name}.py has changed since it was checked; the tool is a draft and is not listed"
        return Flaw(name, "changed", message, untried)
    return tool


def _misfit(name: str, content: Json) -> str:
    if not isinstance(content, dict):
        return "it does not contain a JSON object"
    wanted = {"name": str, "description": str, "inputSchema": dict, "outputSchema": dict, "_meta": dict}
    for key, kind in wanted.items():
        if not isinstance(content.get(key), kind):
            return f"{key!r} is missing or has the wrong type"
    if content["name"] != name:
        return f"it describes the tool {content['name']!r}"
    if not isinstance(content.get("annotations", {}), dict):
        return "'annotations' has the wrong type"
    meta = content["_meta"]
    if meta.get(META_STATUS) not in [*Status]:  # it may be any JSON
        return f"_meta {META_STATUS!r} has the unknown value {meta.get(META_STATUS)!r}"
    if not isinstance(meta.get(META_HASH), str) or not isinstance(meta.get(META_PROVENANCE, {}), dict):
        return f"_meta {META_HASH!r} or {META_PROVENANCE!r} is missing or has the wrong type"
    try:
        Capabilities.from_json(meta.get(META_PROVENANCE, {}).get(CAPABILITIES, {}))
    except ValueError as error:
        return str(error)
    return ""


Stamps = dict[str, str]
"""Times, size and inode of each tool's files as one text, by name. If it changes, the tool must be read again."""


def stamps(folder: Path) -> Stamps:
    """Return the stamps of all tools in a folder, including damaged ones; empty if there is no folder."""
    parts: dict[str, list[str]] = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                name, dot, extension = entry.name.rpartition(".")
                if not dot or not name or name.startswith((".", "_")) or extension not in ("py", "json"):
                    continue
                if entry.is_symlink() or entry.is_file():
                    state = entry.stat(follow_symlinks=False)
                    parts.setdefault(name, []).append(_state(extension, state))
    except (FileNotFoundError, NotADirectoryError):
        if folder.exists():
            raise
        return {}
    return {name: " ".join(sorted(found)) for name, found in parts.items()}


def stamp(folder: Path, name: str) -> str:
    """Return the stamp of one tool; empty if it has no files."""
    found = []
    for extension in ("json", "py"):
        try:
            found.append(_state(extension, os.lstat(f"{folder}/{name}.{extension}")))
        except OSError:
            continue
    return " ".join(found)


def _state(extension: str, state: os.stat_result) -> str:
    """Return the stamp of one file. It includes the ctime, which nobody can set back."""
    return f"{extension}:{state.st_mtime_ns}:{state.st_ctime_ns}:{state.st_size}:{state.st_ino}"


_MAX_VERSIONS = 1000
_HASH_DIGITS = 12
"""Length of the hash in file names."""


def version_of(folder: Path, name: str, source_hash: str) -> Tool | None:
    """Return the version with this source hash, if both files are intact."""
    label = source_hash[:_HASH_DIGITS]
    try:
        place = within(folder, *VERSIONS, name)
        source, document = read(place / f"{label}.py"), read(place / f"{label}.json")
    except (OSError, ValueError):
        return None
    version = parsed(name, source, document)
    return version if isinstance(version, Tool) and version.source_hash == source_hash else None


def versions_of(folder: Path, name: str) -> list[Tool]:
    """Return the intact versions of a tool, oldest first. Links and files with a wrong hash are left out."""
    found = []
    with contextlib.suppress(OSError):
        place = within(folder, *VERSIONS, name)
        for path in itertools.islice(sorted(place.glob("*.py")), _MAX_VERSIONS):
            with contextlib.suppress(OSError):
                source_hash = hashlib.sha256(read(path)).hexdigest()
                version = version_of(folder, name, source_hash) if source_hash[:_HASH_DIGITS] == path.stem else None
                found += [version] if version else []
    return sorted(found, key=lambda version: str(version.provenance.get("created", "")))


def one_version(folder: Path, name: str, source_hash: str) -> Tool:
    """Return the version with a source hash, or with a unique prefix of its hash.

    Raises:
        LibraryError: There is no such version, or the prefix is ambiguous.
    """
    known = versions_of(folder, name)
    found = [version for version in known if source_hash and version.source_hash.startswith(source_hash)]
    if len(found) == 1:
        return found[0]
    which = f"{len(found)} versions" if found else "no version"
    listed = ", ".join(version.source_hash[:_HASH_DIGITS] for version in known) or "none"
    raise LibraryError(f"{name} has {which} with the hash {source_hash[:64]!r}", remedy=f"its versions are: {listed}")

"""Find the tools in someone else's file, folder or archive without running them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from mcp_tools.checks.header import declared
from mcp_tools.environments.wrapped import FOLDER as WRAPPED
from mcp_tools.errors import LibraryError, UsageError
from mcp_tools.exchange import server_file, skill, wheel
from mcp_tools.exchange.forms import FORMAT, MANIFEST
from mcp_tools.exchange.members import Members, read_members
from mcp_tools.exchange.modules import MAX_TOOLS, functions_of
from mcp_tools.exchange.registry import entries_of
from mcp_tools.library.folder import META_HASH
from mcp_tools.library.tool_files import CAPABILITIES
from mcp_tools.small_files import json_of
from mcp_tools.text import one_line
from mcp_tools.tool import Capabilities, Json


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tool that may be imported."""

    name: str
    source: bytes = b""
    document: bytes | None = None
    """Content of the tool's JSON file, or None if there is none."""
    about: Mapping[str, str] = field(default_factory=dict)
    """Texts from a registry, under the keys `description`, `args` and `returns`."""
    capabilities: Capabilities = field(default_factory=Capabilities)
    """The declared capabilities of a tool without a JSON file."""
    wheels: Mapping[str, bytes] = field(default_factory=dict)
    """Wheels of user code in the same import, by file name."""
    refused: str = ""
    """The reason why the tool cannot be imported. Empty if it can be."""


def candidates(path: Path) -> list[Candidate]:
    """Return the tools in a file, a folder or an archive.

    Raises:
        UsageError: The path cannot be read, is damaged or unsafe, or contains no tool.
    """
    members = read_members(path)
    parts = ((PurePosixPath(name), content) for name, content in members.items())
    wheels = {one.name: content for one, content in parts if one.parent.name == WRAPPED and one.suffix == ".whl"}
    try:
        found = [replace(one, wheels=wheels) for one in _found(members, path)]
    except ValueError as error:
        raise UsageError(f"{path} cannot be imported: {error}.", remedy="Nothing was changed.") from None
    if not found:
        raise UsageError(
            f"{path} contains no tools.",
            remedy="Import an export of `alita tools export`, a folder of .py files, a module, or a registry.",
        )
    if len(found) > MAX_TOOLS:
        raise UsageError(f"{path} contains {len(found):,} tools; the limit is {MAX_TOOLS:,}.")
    seen: set[str] = set()
    for place, one in enumerate(found):
        if one.name in seen and not one.refused:
            found[place] = Candidate(one.name, refused="two tools have this name")
        seen.add(one.name)
    return found


def _found(members: Members, path: Path) -> Iterator[Candidate]:
    if [*members] == [path.name] and not path.is_dir():
        name, content = path.name, members[path.name]
        if name.endswith(".json"):
            yield from (_registered(entry, at) for at, entry in enumerate(entries_of(_json(content, name)), 1))
            return
        if (tools := server_file.tools_in(content)) is not None:
            yield from (
                Candidate(name, source.encode(), document.encode()) for name, (source, document) in tools.items()
            )
            return
    members = _without_top(members)
    if MANIFEST in members:
        _require_manifest(members)
        yield from _in_folder(members, "tools/", "tools/")
    elif skill.FILE in members:
        yield from _in_folder(members, "scripts/", "references/")
    elif record := next((name for name in members if name.endswith(".dist-info/RECORD")), ""):
        wheel.require_whole(members)
        package = record.partition("-")[0]
        for one in _in_folder(members, f"{package}/tools/", f"{package}/tools/"):
            yield one if one.document is None else _undotted(one)
    else:
        yield from _in_folder(members, "", "")


def _without_top(members: Members) -> Members:
    """Strip the top-level folder from all paths if all files are in the same one."""
    tops = {name.partition("/")[0] for name in members}
    if len(tops) == 1 and all("/" in name for name in members):
        return {name.partition("/")[2]: content for name, content in members.items()}
    return members


def _require_manifest(members: Members) -> None:
    """Check the files of an archive against the hashes in its manifest."""
    manifest = _json(members[MANIFEST], MANIFEST)
    hashes = manifest.get("files") if isinstance(manifest, dict) and manifest.get("format") == FORMAT else None
    if not isinstance(hashes, dict):
        raise ValueError(f"its {MANIFEST} was not written by alita")
    if manifest.get("version") != 1:
        version = one_line(str(manifest.get("version")), 20)
        raise ValueError(f"its {MANIFEST} has the unknown version {version}")
    if other := {*hashes} ^ ({*members} - {MANIFEST}):
        raise ValueError(f"{one_line(min(other), 80)} is missing from the archive or from its {MANIFEST}")
    for name, wanted in hashes.items():
        if hashlib.sha256(members[name]).hexdigest() != wanted:
            raise ValueError(f"{one_line(name, 80)} does not match its hash in {MANIFEST}")


def _in_folder(members: Members, sources: str, objects: str) -> Iterator[Candidate]:
    """Yield tools with source and JSON files directly in these folders. Names that start with `_` are skipped."""
    there = {PurePosixPath(name) for name in members}
    for path in sorted(there):
        name, folder = path.stem, f"{path.parent}/".removeprefix("./")
        if name.startswith("_"):
            continue
        if path.suffix == ".py" and folder == sources:
            document = members.get(f"{objects}{name}.json")
            yield from _of_file(name, members[str(path)], document)
        elif path.suffix == ".json" and folder == objects and PurePosixPath(f"{sources}{name}.py") not in there:
            given = _json(members[str(path)], path.name, damaged=None)
            if isinstance(given, dict) and META_HASH in str(given.get("_meta")):  # a tool's JSON file
                yield Candidate(name, refused=f"there is no {name}.py next to {name}.json")


def _of_file(name: str, source: bytes, document: bytes | None) -> Iterator[Candidate]:
    given: Json = None
    if document is not None:
        given = _json(document, f"{name}.json", damaged=None)
        if not isinstance(given, dict) or META_HASH in str(given.get("_meta")) or CAPABILITIES not in given:
            yield Candidate(name, source, document)
            return
    try:
        text = source.decode()
        block = Capabilities.from_json(given[CAPABILITIES]) if given else declared(text)
    except (ValueError, LibraryError) as error:
        yield Candidate(name, refused=f"it cannot be read: {one_line(str(error), 200)}")
        return
    if len(functions := functions_of(text)) <= 1:
        yield Candidate(functions[0][0] if functions else name, source, capabilities=block)
        return
    yield from (Candidate(one, part.encode(), capabilities=block) for one, part in functions)


def _undotted(one: Candidate) -> Candidate:
    """Undo the changes that made a tool part of a wheel's package."""
    try:
        meta = json_of(one.document or b"")["_meta"]["alita/provenance"]
        tools = Capabilities.from_json(meta.get(CAPABILITIES, {})).tools
        source = wheel.without_dots(one.source.decode(), tools).encode()
    except (ValueError, KeyError, TypeError, AttributeError, SyntaxError, RecursionError, MemoryError):
        return one  # the importer will report the problem
    return Candidate(one.name, source, one.document)


def _registered(entry: Json, place: int) -> Candidate:
    given = entry if isinstance(entry, dict) else {}
    name, code, more = given.get("name"), given.get("script_content"), given.get("metadata")
    if not isinstance(name, str) or not name.strip():
        return Candidate(f"entry {place}", refused="it has no name")
    shown = one_line(name, 80)
    if not isinstance(code, str) or not code.strip():
        return Candidate(shown, refused="it has no script_content")
    more = more if isinstance(more, dict) else {}
    about = {key: value for key, value in {**more, **given}.items() if isinstance(value, str)}
    return Candidate(shown, code.encode("utf-8", "surrogatepass"), about=about)


def _json(content: bytes, name: str, **default: Json) -> Json:
    try:
        return json_of(content)
    except ValueError as error:
        if default:
            return default["damaged"]
        raise ValueError(f"{one_line(name, 80)} is not valid JSON: {one_line(str(error), 100)}") from None

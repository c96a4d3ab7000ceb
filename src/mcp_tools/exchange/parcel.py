"""A tool that is ready for export, as two files that by default contain no private data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from mcp_tools.environments.lock import normalised
from mcp_tools.environments.wrapped import FOLDER as WRAPPED
from mcp_tools.environments.wrapped import WrappedCode, is_wrapped, label_of, wheel_name
from mcp_tools.errors import AlitaError, LibraryError
from mcp_tools.hosts import EXCHANGES
from mcp_tools.library import folder as files
from mcp_tools.library.library import Library
from mcp_tools.library.tool_files import Flaw, encoded, object_path
from mcp_tools.packages import BASE_PACKAGES, imported
from mcp_tools.text import count_of
from mcp_tools.tool import WRAPS, Json, Status, Tool

_PUBLIC = ("aliases", "capabilities", "tests", "evidence", "edited", "model", "examiner", "created", WRAPS)
"""Keys of the provenance that reveal nothing about the user. All other keys are private."""
_FOR_ALITA = "Export it as a zip or a folder for another alita, or serve it: alita serve"
_HOMES = re.compile(r"(?:/home|/Users)/[\w.-]+")


@dataclass(frozen=True)
class Parcel:
    """One tool, ready for export."""

    tool: Tool
    source: bytes
    document: bytes
    left_out: tuple[str, ...] = ()
    """Names of the private data that was left out."""
    is_approved: bool = True
    wheels: Mapping[str, bytes] = field(default_factory=dict)
    """Wheels of the user's own code that the tool wraps, by file name."""

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.tool.name

    @cached_property
    def packages(self) -> tuple[str, ...]:
        """The requirements of the tool.

        Raises:
            PackageError: The tool declares an invalid requirement.
        """
        named = (*imported(self.tool.source, BASE_PACKAGES), *self.tool.capabilities.packages)
        return tuple(dict.fromkeys(map(normalised, named)))

    @property
    def wrapped(self) -> list[str]:
        """The requirements for the user's own code that the tool wraps."""
        return [*filter(is_wrapped, self.tool.capabilities.packages)]

    @property
    def remarks(self) -> list[str]:
        """Remarks to show to the user before the tool leaves the machine."""
        found = {*_HOMES.findall(f"{self.source.decode()}\n{self.document.decode()}")}
        home = str(Path.home())
        found |= {home} if len(home) > 1 and home.encode() in self.source + self.document else set()
        remarks = [f"includes your code {label_of(one)}" for one in self.wrapped]
        return remarks + [f"contains the path of a folder on this machine: {', '.join(sorted(found))}"] * bool(found)

    @property
    def freedoms(self) -> list[str]:
        """Actions that the tool takes without asking when it runs outside alita."""
        may = self.tool.capabilities
        uses = {
            f"sends requests to {', '.join(may.hosts)} without asking": may.hosts,
            "opens any file that its arguments name": may.read,
            "leaves files in the folder in which it is called": may.write,
        }
        return [use for use, is_so in uses.items() if is_so]


def packed(library: Library, names: Iterable[str], code: WrappedCode, *, private: bool = False) -> list[Parcel]:
    """Collect these tools and all tools that they import, sorted by name.

    Args:
        library: The library.
        names: The names of the tools.
        code: The user's wrapped code, which is exported with the tools.
        private: True to include private data.

    Raises:
        UnknownToolError: The library does not have one of the tools.
        LibraryError: A tool is damaged, or has changed since it was checked.
        PackageError: The code that a tool wraps is missing.
    """
    found: dict[str, Parcel] = {}
    waiting = [*names]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = _packed(library, name, code, private)
            waiting += found[name].tool.capabilities.tools
    return [found[name] for name in sorted(found)]


def _packed(library: Library, name: str, code: WrappedCode, private: bool) -> Parcel:
    tool = library.tool_or_flaw(name)
    if isinstance(tool, Flaw):
        raise LibraryError(f"{name} cannot be exported: {tool.message}", remedy=tool.remedy)
    is_approved = library.get(name).status is Status.VERIFIED
    kept = tool.provenance if private else public_record(tool.provenance)
    left = _left_out_names(tool.provenance, kept)
    try:
        document = files.read(object_path(library.folder, name))
        document.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise LibraryError(f"{name}.json cannot be exported: {error}") from None
    if left:
        document = encoded(replace(tool, provenance=kept))
    wrapped = filter(is_wrapped, tool.capabilities.packages)
    wheels = {f"{WRAPPED}/{wheel_name(one)}": code.wheel(one).read_bytes() for one in wrapped}
    return Parcel(tool, tool.source.encode(), document, left, is_approved, wheels)


def public_record(record: dict[str, Json]) -> dict[str, Json]:
    """Return the parts of a tool's provenance that reveal nothing about the user."""
    kept = {name: value for name, value in record.items() if name in _PUBLIC}
    if isinstance(kept.get("tests"), list):
        kept["tests"] = [
            one for one in kept["tests"] if not (isinstance(one, dict) and one.get("origin") == "recorded")
        ]
    return kept


def _left_out_names(record: dict[str, Json], kept: dict[str, Json]) -> tuple[str, ...]:
    """Return plain-language names for the parts that are left out."""
    words = {"asked": "the question", "run": "the run", EXCHANGES: "recorded responses of hosts"}
    names = [words.get(name, name.replace("_", " ")) for name, value in record.items() if name not in kept and value]
    tests, now = record.get("tests"), kept.get("tests")
    if isinstance(tests, list) and isinstance(now, list) and len(tests) > len(now):
        names.append(count_of(len(tests) - len(now), "recorded test"))
    return tuple(names or (["empty entries"] if record.keys() - kept.keys() else []))


def require_runnable(parcels: Sequence[Parcel], what: str) -> None:
    """Refuse tools that would not work or not be safe outside alita.

    Args:
        parcels: The tools.
        what: The format of the export, for error messages.

    Raises:
        LibraryError: A tool is a draft, wraps the user's own code, or sends API keys, which only alita can insert.
    """
    for one in parcels:
        if not one.is_approved:
            raise LibraryError(
                f"{one.name} is a draft, and {what} would run it without a sandbox",
                remedy=f"approve it first: alita tools approve {one.name}",
            )
        if one.wrapped:
            raise LibraryError(
                f"{one.name} wraps your own code {label_of(one.wrapped[0])}, which is not on a package index, "
                f"so {what} could not find it",
                remedy=_FOR_ALITA,
            )
        if keys := one.tool.capabilities.keys:
            raise LibraryError(
                f"{one.name} sends the keys {', '.join(keys)}, which only alita fills in, so {what} would send only "
                "their names",
                remedy=_FOR_ALITA,
            )
        try:
            one.packages  # noqa: B018 - raises before anything is written
        except AlitaError as error:
            raise LibraryError(f"{one.name}: {error.message}") from None


def json_of(parcel: Parcel) -> dict[str, Json]:
    """Return the MCP tool object of a parcel, without its `_meta`."""
    document: dict[str, Json] = json.loads(parcel.document)
    document.pop("_meta", None)
    return document

"""Export formats for tools, and a function that writes an export."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mcp_tools.atomic import whole_file
from mcp_tools.errors import LibraryError, UsageError, os_errors_as
from mcp_tools.exchange import server_file, skill, wheel
from mcp_tools.exchange.members import Members, zipped
from mcp_tools.exchange.parcel import Parcel, require_runnable

_MAX_REMARKS = 3
MANIFEST = "manifest.json"
FORMAT = "alita-tools"


def flat(parcels: Sequence[Parcel], target: str) -> Members:
    """Return each tool's two files, and the wheels of wrapped code."""
    pairs = {
        f"{one.name}{end}": data for one in parcels for end, data in ((".py", one.source), (".json", one.document))
    }
    return pairs | {name: wheel for one in parcels for name, wheel in one.wheels.items()}


def archived(parcels: Sequence[Parcel], target: str) -> Members:
    """Return the same files as `flat` in the folder `tools/`, and a manifest with their hashes."""
    members = {f"tools/{name}": content for name, content in flat(parcels, target).items()}
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
    manifest = json.dumps({"format": FORMAT, "version": 1, "files": hashes}, indent=2)
    return {MANIFEST: f"{manifest}\n".encode(), **members}


@dataclass(frozen=True, slots=True)
class ExportForm:
    """An export format."""

    about: str
    files: Callable[[Sequence[Parcel], str], Members]
    """Function that takes the tools and the target's name, and returns the files to write."""
    kind: Literal["file", "folder", "zip"]
    ending: str
    is_runnable: bool = False
    """True if the exported tools run without alita and therefore without a sandbox."""
    example: str = ""
    name: re.Pattern[str] = re.compile(r".+", re.DOTALL)


FORMS = {
    "zip": ExportForm("an archive with a manifest and hashes, to import into another alita", archived, "zip", ".zip"),
    "folder": ExportForm("a folder of .py and .json files, like a library", flat, "folder", ""),
    "skill": ExportForm(
        "a folder with SKILL.md (Agent Skills), for Claude Code or Codex",
        skill.files,
        "folder",
        "",
        is_runnable=True,
        example="town-tools",
        name=skill.NAME,
    ),
    "server": ExportForm(
        "one .py file that `uv run` starts as an MCP server",
        server_file.files,
        "file",
        ".py",
        is_runnable=True,
        example="town_tools.py",
        name=server_file.NAME,
    ),
    "wheel": ExportForm(
        "a package that pip or uv installs",
        wheel.files,
        "zip",
        ".whl",
        is_runnable=True,
        example="town_tools-1.0-py3-none-any.whl",
        name=wheel.NAME,
    ),
}


def form_for(target: Path) -> str:
    """Return the format for a target's extension, or "folder" if it has none.

    Raises:
        UsageError: No format has this extension.
    """
    found = next((name for name, form in FORMS.items() if form.ending and target.name.endswith(form.ending)), "")
    if not found and target.suffix:
        raise UsageError(
            f"The file extension of {target.name!r} belongs to no export format.",
            remedy="Use a name such as tools.zip, or choose --as FORM.",
        )
    return found or "folder"


def export(parcels: Sequence[Parcel], form: str, target: Path, *, private: bool = False) -> None:
    """Write tools in a format. If anything fails, nothing is written.

    Args:
        parcels: The tools.
        form: The name of the format; see `FORMS`.
        target: The file or folder to write.
        private: True if the tools contain private data, so that only the user may read the target.

    Raises:
        LibraryError: A tool does not work in this format.
        UsageError: The target exists, has an unsuitable name, or cannot be written.
    """
    wanted = FORMS[form]
    if not target.name.endswith(wanted.ending) or not wanted.name.fullmatch(target.name):
        raise UsageError(
            f"{target.name!r} is not a valid name for {wanted.about}.",
            remedy=f"Use a name such as {wanted.example or 'tools.zip'}.",
        )
    if not parcels:
        raise LibraryError("there are no tools to export", remedy="`alita tools list` shows your tools")
    if wanted.is_runnable:
        require_runnable(parcels, f"a {form}")
    members = wanted.files(parcels, target.name)
    mode = 0o600 if private else 0o644
    with os_errors_as(UsageError, f"{target} cannot be written"):
        lock = [target.with_name(f"{target.name}.lock")] if form == "server" else []
        if existing := next((path for path in (target, *lock) if os.path.lexists(path)), None):
            raise UsageError(
                f"{existing} already exists.", remedy="Use another name, or remove the existing file first."
            )
        if not target.parent.is_dir():
            raise UsageError(f"There is no folder {target.parent}.", remedy=f"Create it: mkdir -p {target.parent}")
        if wanted.kind == "folder":
            _write_folder(members, target, mode)
            return
        with whole_file(target, mode=mode) as file:
            file.write(zipped(members) if wanted.kind == "zip" else members[target.name])


def remarks_of(parcels: Sequence[Parcel], form: str) -> list[str]:
    """Return remarks to show to the user before the tools leave the machine in this format."""
    parts = {one.name: one.left_out for one in parcels if one.left_out}
    if len(parts) <= _MAX_REMARKS:
        remarks = [f"{name}: the export leaves out {', '.join(some)}" for name, some in parts.items()]
    else:
        every = dict.fromkeys(part for some in parts.values() for part in some)
        remarks = [f"The export leaves out parts of {len(parts)} tools (--json lists them): {', '.join(every)}"]
    remarks += [f"{one.name}: {text}" for one in parcels for text in one.remarks]
    if FORMS[form].is_runnable:
        remarks += [f"{one.name}: {text}" for one in parcels for text in one.freedoms]
        remarks.append("Outside alita, nothing isolates these tools.")
    return remarks


def _write_folder(members: Members, target: Path, mode: int) -> None:
    draft = Path(tempfile.mkdtemp(prefix=".alita-export-", dir=target.parent))
    try:
        for name, content in members.items():
            path = draft / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(mode)
        draft.chmod(mode | 0o111 if mode & 0o044 else 0o700)
        draft.rename(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise

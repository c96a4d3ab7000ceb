"""The state that questions share: the tool library, allowed packages and hosts, and gap records.

The benchmark's machine has the authoritative copy. Each question gets a copy and sends its changes back.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agent.consent.hosts import FILE as HOSTS
from agent.consent.policy import FILE as POLICY
from agent.gaia.cluster.file_transfer import Files
from agent.learning.gap_records import GapRecords, known_records
from agent.store.tool_records import open_library
from mcp_tools.environments.store import FOLDER as ENVIRONMENTS
from mcp_tools.environments.wrapped import FOLDER as WRAPPED
from mcp_tools.errors import LibraryError, UnknownToolError
from mcp_tools.library.folder import derived_folder, read
from mcp_tools.library.library import WANTED_NAME
from mcp_tools.library.tool_files import parsed, renamed, stamps
from mcp_tools.tool import Status, Tool

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.gaia.attempt import Attempt
    from mcp_tools.library.library import Library

_TOOLS, _APPROVALS, _GAPS = "tools", "approvals.json", "gaps.json"
_OF_DATA = (HOSTS, f"{ENVIRONMENTS}/allowed.json", f"{ENVIRONMENTS}/locks/*.toml", f"{ENVIRONMENTS}/{WRAPPED}/*.whl")
"""Files in the data folder that are sent to nodes. Nodes build environments from the lock files."""
_BUILT = ("built", "cache")
"""Environment folders shared by a node's questions. Each environment in them is named by the hash of its lock file."""


class Call(NamedTuple):
    """A call of a tool in the library."""

    tool: str
    kind: str
    """Kind of failure; an empty string if the call succeeded."""
    digest: str
    """Hash of the arguments if the tool itself failed."""


class QuestionChanges(NamedTuple):
    """Changes made by a question."""

    tools: Files
    """Files of new and changed tools."""
    approved: tuple[str, ...]
    """Names of approved tools."""
    calls: tuple[Call, ...]
    shown: tuple[str, ...]
    """Ids of the gap records that the question's planner saw."""


def pack(settings: Settings, *, with_library: bool) -> Files:
    """Return the files that a question needs. They never contain keys."""
    files: Files = {}
    if with_library:
        library = open_library(settings)
        files = _tool_files(settings.tools_dir)
        kept = library.approvals.entries()
        files[_APPROVALS] = json.dumps({"approvals": kept.approvals, "drafts": kept.drafts}, sort_keys=True).encode()
        for pattern in _OF_DATA:
            for path in sorted(settings.data_dir.glob(pattern)):
                files[f"data/{path.relative_to(settings.data_dir).as_posix()}"] = path.read_bytes()
    policy = settings.config_dir / POLICY
    if policy.is_file():
        files[f"config/{POLICY}"] = policy.read_bytes()
    if settings.gaps != "off" and (records := known_records(settings)) is not None:
        with closing(records):
            files[_GAPS] = json.dumps(records.exported()).encode()
    return files


def unpack(folder: Path, settings: Settings, node_data: Path) -> None:
    """Install the packed files in a question's folder on a node.

    Args:
        folder: The folder, with files named as in `pack`.
        settings: The question's settings, which name its folders.
        node_data: Data folder of the node's user.
    """
    for place in (settings.tools_dir, settings.data_dir / ENVIRONMENTS, settings.config_dir):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in _BUILT:
        shared = node_data / ENVIRONMENTS / name
        shared.mkdir(mode=0o755, parents=True, exist_ok=True)
        (settings.data_dir / ENVIRONMENTS / name).symlink_to(shared)
    if (kept := folder / _APPROVALS).exists():
        with open_library(settings).approvals.changing() as entries:
            found = json.loads(kept.read_bytes())
            entries.approvals.update(found["approvals"])
            entries.drafts.update(found["drafts"])
    if (gaps := folder / _GAPS).exists():
        with closing(GapRecords(settings)) as records:
            for values in json.loads(gaps.read_bytes()):
                records.copy(values)


def changes(settings: Settings, before: Files, run_id: str) -> QuestionChanges:
    """Return what a question changed on its node."""
    library = open_library(settings)
    after = _tool_files(settings.tools_dir)
    changed = {name: content for name, content in after.items() if before.get(name) != content}
    names = sorted({Path(name).stem for name in changed})
    approved = []
    for name in names:
        with contextlib.suppress(UnknownToolError, LibraryError):
            approved += [name] if library.get(name).status is Status.VERIFIED else []
    shown: list[str] = []
    if settings.gaps_file.exists():
        with closing(GapRecords(settings)) as records:
            shown = records.shown_in(run_id)
    pairs = {name: content for name, content in after.items() if Path(name).stem in names}
    return QuestionChanges(pairs, tuple(approved), _calls(settings), tuple(shown))


def _tool_files(folder: Path) -> Files:
    return {
        f"{_TOOLS}/{name}{suffix}": read(path)
        for name in stamps(folder)
        for suffix in (".py", ".json")
        if (path := folder / f"{name}{suffix}").is_file() and not path.is_symlink()
    }


def _calls(settings: Settings) -> tuple[Call, ...]:
    """Return the calls that were counted on the node, where counting began with this question."""
    path = derived_folder(settings.tools_dir, settings.data_dir) / "calls.sqlite"
    if not path.exists():
        return ()
    with closing(sqlite3.connect(path)) as database:
        found = [Call(*row) for row in database.execute("SELECT name, kind, call FROM lately ORDER BY number")]
        counted = {(name, kind): count for name, kind, count in database.execute("SELECT name, kind, count FROM calls")}
    lately = Counter((call.tool, call.kind) for call in found)
    earlier = [Call(*key, "") for key, count in counted.items() for _ in range(count - lately[key])]
    return (*earlier, *found)


def keep(
    settings: Settings, sent: Mapping[str, bytes], found: QuestionChanges, attempt: Attempt, question: str,
    tell: Callable[[str], None],
) -> Attempt:  # fmt: skip
    """Apply a question's changes, by the same rules as for questions on one machine.

    Args:
        settings: Name the library and the store.
        sent: The shared files that were sent with the question.
        found: The question's changes.
        attempt: The question's result.
        question: The question's text.
        tell: Called with a message about each tool that is not kept.

    Returns:
        The attempt, with tools named as in the library.
    """
    library = open_library(settings)
    names = {}
    for file in sorted(found.tools):
        name = Path(file).stem
        pair = f"{_TOOLS}/{name}.py", f"{_TOOLS}/{name}.json"
        if file == pair[0] and pair[1] in found.tools:
            tool = parsed(name, found.tools[pair[0]], found.tools[pair[1]])
            before = parsed(name, sent[pair[0]], sent[pair[1]]) if sent.keys() >= {*pair} else None
            try:
                if not isinstance(tool, Tool):
                    raise LibraryError(tool.message)
                is_draft = name not in found.approved
                names[name] = _take(library, tool, before if isinstance(before, Tool) else None, is_draft=is_draft)
            except LibraryError as problem:
                tell(f"the tool {name} is not kept: {problem.message}")
    for call in found.calls:
        arguments_digest = {"digest": call.digest} if call.digest else None
        kind = call.kind or None
        library.record_call(
            names.get(call.tool, call.tool), not kind, kind, arguments=arguments_digest, question=question
        )
    library.close()
    if found.shown:
        with closing(GapRecords(settings)) as records:
            records.note_shown(found.shown, attempt.run_id)
    return replace(
        attempt,
        tools_created=tuple(names.get(name, name) for name in attempt.tools_created),
        tools_reused=tuple(names.get(name, name) for name in attempt.tools_reused),
    )


def _take(library: Library, tool: Tool, before: Tool | None, *, is_draft: bool) -> str:
    """Register a tool that a question created or changed. Return its name in the library."""
    if before is None:
        wanted = str(tool.provenance.get(WANTED_NAME, tool.name))
        # the tool was renamed because of a tool in the node's copy; another node may have done the same
        if wanted != tool.name:
            record = {name: value for name, value in tool.provenance.items() if name != WANTED_NAME}
            tool = replace(tool, name=wanted, source=renamed(tool.source, tool.name, wanted), provenance=record)
        return library.register(tool, is_draft=is_draft).name
    if tool.source != before.source:
        return library.register(tool, replace=True, instead_of=before, is_draft=is_draft).name
    for alias in tool.aliases:  # the tool was merged with another one
        library.merge(library.get(tool.name), alias)
    return tool.name

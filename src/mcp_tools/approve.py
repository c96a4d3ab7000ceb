"""A person's approval: what became of a tool since the last one, what speaks against it, and the approval itself."""

from __future__ import annotations

import difflib
import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace

from mcp_tools.checks.check import check
from mcp_tools.definition import Flag, definition_of, lint
from mcp_tools.definition.look_alikes import look_alikes
from mcp_tools.definition.rules import flag
from mcp_tools.errors import LibraryError
from mcp_tools.library import Approval, Flaw, Library
from mcp_tools.library.files import META_HASH, META_PROVENANCE, object_path
from mcp_tools.library.trust import SERVED
from mcp_tools.packages import imported
from mcp_tools.sandbox.protocol import Job, Problem, Sandbox
from mcp_tools.tool import Json, Status, Tool, call_text

Open = Callable[[], Awaitable[Sandbox]]
"""Opens a sandbox, or gives the one that is open: only a file that was edited needs it."""


@dataclass(frozen=True, slots=True)
class Review:
    """What a person should see before approving a tool."""

    tool: Tool
    """The tool as it would be approved."""
    is_edited: bool
    """Whether its source was written by hand: then its schemas are new and it must be registered."""
    before: Approval | None
    """What was approved last; None when nothing was."""
    now: Approval | None
    """What would be approved; None when its definition has errors."""
    diff: str
    """What changed since, as a unified diff; empty where nothing did, or where no old version was kept."""
    flags: list[Flag] = field(default_factory=list)
    """What the linter says of its definition."""
    obstacles: list[str] = field(default_factory=list)
    """Why it cannot be approved."""
    failed: list[str] = field(default_factory=list)
    """Those of its kept tests that an edited source fails."""

    @property
    def changed(self) -> list[str]:
        """What is not as it was approved: `source`, `definition`, `capabilities`."""
        return self.before.differences(self.now) if self.before and self.now else []

    @property
    def is_approved(self) -> bool:
        """Whether it is approved as it stands."""
        return self.before is not None and self.now is not None and not self.changed and not self.is_edited


async def review(library: Library, name: str, open_sandbox: Open) -> Review:
    """Looks at a tool as it stands. A source that was edited by hand gets its schemas from the sandbox.

    Raises:
        UnknownToolError: There is no such tool.
        LibraryError: Its files are damaged beyond that, or no schema can be derived.
    """
    standing = library.standing(name)
    is_edited = isinstance(standing, Flaw)
    tool, failed = (await _rederived(library, standing, open_sandbox)) if isinstance(standing, Flaw) else (standing, [])
    flags = [*lint(definition_of(tool)), *_name_flags(library, name)]
    errors = [found for found in flags if found.severity == "error"]
    before = library.approvals.read().by_name.get(name)
    return Review(
        tool,
        is_edited,
        before,
        None if errors else Approval.of(tool),
        _difference(library.kept(name, before.source) if before else None, tool),
        flags,
        [*_check_obstacles(tool), *(str(error) for error in errors)],
        failed,
    )


def approve(library: Library, seen: Review) -> Tool:
    """Approves what was looked at. An edited source becomes a tool again; its old version is kept.

    Raises:
        LibraryError: Something stands in the way, or the files were changed since they were looked at.
    """
    name = seen.tool.name
    if seen.obstacles:
        listed = "\n".join(f"  {obstacle}" for obstacle in seen.obstacles)
        raise LibraryError(f"{name} cannot be approved:\n{listed}", remedy=f"correct {library.path(name)}")
    if not seen.is_edited:
        return library.approve(name, seen=seen.tool)
    if _source(library, name) != seen.tool.source:
        raise LibraryError(f"{name} was changed meanwhile", remedy=f"look again: alita tools approve {name}")
    registered = library.register(seen.tool, replace=True)
    return library.approve(name, seen=registered)


def _name_flags(library: Library, name: str) -> Iterator[Flag]:
    for other in look_alikes(name, (tool.name for tool in library.list())):
        yield flag("look-alike", "name", f"it passes for the tool {other}")


async def _rederived(library: Library, flaw: Flaw, open_sandbox: Open) -> tuple[Tool, list[str]]:
    """The tool that an edited source makes, and which of the tests that are known it fails."""
    name = flaw.name
    if flaw.kind not in {"changed", "incomplete"} or not library.path(name).is_file():
        raise LibraryError(flaw.message, remedy=flaw.remedy)
    source, provenance = _source(library, name), _provenance(library, name)
    tool = Tool(name, "", {}, {}, source, provenance=provenance)
    if obstacles := _check_obstacles(replace(tool, status=Status.VERIFIED)):
        listed = "\n".join(f"  {obstacle}" for obstacle in obstacles)
        raise LibraryError(f"{name} cannot be approved:\n{listed}", remedy=f"correct {library.path(name)}")
    sandbox = await open_sandbox()
    described = await sandbox.describe(source, name, packages=imported(source, tool.capabilities.packages))
    if isinstance(described, Problem):
        raise LibraryError(
            f"no schema can be derived from {name}.py: {described.message}", remedy=f"correct {library.path(name)}"
        )
    tests, failed = await _tested(tool, sandbox)
    return (
        Tool(
            name,
            described.description,
            described.input_schema,
            described.output_schema,
            source,
            {"title": name.replace("_", " ").capitalize(), **definition_of(tool)["annotations"]},
            Status.VERIFIED,
            {**provenance, "tests": tests, "edited": True},
        ),
        failed,
    )


async def _tested(tool: Tool, sandbox: Sandbox) -> tuple[list[Json], list[str]]:
    """The tests of its provenance that a source still passes, and the calls of those that it fails."""
    passed, failed = [], []
    for test in tool.provenance.get("tests", []):
        if not isinstance(test, dict) or not isinstance(test.get("arguments"), dict):
            continue
        outcome = await sandbox.run(Job(tool.source, tool.name, test["arguments"]))
        if outcome.ok and outcome.value == test.get("expected"):
            passed.append(test)
        else:
            failed.append(call_text(tool.name, test["arguments"], longest=40))
    return passed, failed


def _source(library: Library, name: str) -> str:
    try:
        return library.path(name).read_bytes().decode()
    except UnicodeDecodeError as error:
        raise LibraryError(f"{name}.py is not UTF-8: {error.reason} at byte {error.start}") from None
    except OSError as error:
        raise LibraryError(f"{name}.py cannot be read: {error.strerror}") from None


def _provenance(library: Library, name: str) -> dict[str, Json]:
    """What the JSON file of an edited source says of its origin; nothing where there is none."""
    try:
        meta = json.loads(object_path(library.folder, name).read_bytes())["_meta"]
        found, version = meta[META_PROVENANCE], meta[META_HASH]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return {**found, "parent_version": version} if isinstance(found, dict) else {}


def _check_obstacles(tool: Tool) -> list[str]:
    if tool.status not in SERVED:
        return [f"it is {tool.status}: only verified and trusted tools are served"]
    report = check(tool.source, capabilities=tool.capabilities, function=tool.name)
    return [f"line {f.line}: {f.rule}: {f.message}" for f in report.findings if f.severity == "error"]


def _difference(before: Tool | None, now: Tool) -> str:
    if before is None:
        return ""
    source = _diff("source", before.source, now.source)
    return "\n".join([*source, *_diff("definition", _definition_text(before), _definition_text(now))])


def _definition_text(tool: Tool) -> str:
    return json.dumps(definition_of(tool), indent=1, ensure_ascii=False)


def _diff(what: str, before: str, now: str) -> Iterator[str]:
    lines = before.splitlines(), now.splitlines()
    return difflib.unified_diff(*lines, f"approved/{what}", f"now/{what}", lineterm="", n=2)

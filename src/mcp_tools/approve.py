"""A person's approval of a tool: what changed since the last one, the objections, and the approval itself.

A tool is approved after it has passed the tests of its JSON file on this machine.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import shlex
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from mcp_tools.checks.check import check
from mcp_tools.create.documented_function import read_function
from mcp_tools.create.examiner import passes, tested_value
from mcp_tools.create.interfaces import Test
from mcp_tools.create.proposal_runner import is_unrecorded
from mcp_tools.create.sample_files import usable, with_files
from mcp_tools.definition import Flag, canonical, definition_of, lint
from mcp_tools.errors import LibraryError, UnknownToolError
from mcp_tools.header import declared
from mcp_tools.hosts import EXCHANGES, KEPT_BYTES, recorded
from mcp_tools.library.approvals import ApprovedHashes
from mcp_tools.library.dependencies import Needs, module_names, needs_of
from mcp_tools.library.folder import META_HASH
from mcp_tools.library.folder import read as read_file
from mcp_tools.library.library import Library
from mcp_tools.library.tool_files import CAPABILITIES, META_PROVENANCE, Flaw, object_path
from mcp_tools.packages import NOT_ALLOWED, imported, is_provided
from mcp_tools.run import Carried, limits_of
from mcp_tools.sandbox.protocol import Job, Limits, Problem, Sandbox
from mcp_tools.small_files import json_of
from mcp_tools.tool import Capabilities, Json, Status, Tool, call_text

HASH_SHOWN = 12
"""Characters of a version's hash that are shown."""
_MUTANTS, _MUTANT_SECONDS, _LONGEST_MUTANT = 30, 2.0, 10.0
Open = Callable[[], Awaitable[Sandbox]]
"""Opens a sandbox, or returns the open one; not called for an approved tool."""


@dataclass(frozen=True, slots=True)
class Tests:
    """Results of a tool's tests."""

    passed: list[Json] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)
    """Tests that sent a host an unrecorded request, since tests have no network."""
    exchanges: list[Json] = field(default_factory=list)
    """The hosts' present responses, if none were recorded."""
    prevented: list[str] = field(default_factory=list)
    """Why none could be run: its packages are not here."""


@dataclass(frozen=True, slots=True)
class Review:
    """The information for a person who approves a tool."""

    tool: Tool
    is_edited: bool
    """True if it must be registered: its source was written by hand, or responses of its hosts were recorded now."""
    before: ApprovedHashes | None
    """The last approval; None when nothing was."""
    now: ApprovedHashes | None
    """The new approval; None when its definition has errors."""
    diff: str
    """The changes since, as a unified diff; empty without changes or an old version."""
    flags: list[Flag] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)
    tests: Tests = field(default_factory=lambda: Tests())
    """Results of its tests; an approved tool's tests are not run."""
    base: str = ""
    """The present source in the library."""

    @property
    def changed(self) -> list[str]:
        """Parts that differ from the approval: `source`, `definition`, `capabilities`."""
        return self.before.differences(self.now) if self.before and self.now else []

    @property
    def is_approved(self) -> bool:
        """True if it is approved in its present state."""
        is_same = self.before is not None and self.now is not None and not self.changed and not self.is_edited
        return is_same and not self.quarantined

    @property
    def quarantined(self) -> str:
        """Why a tool that is as it was approved is not served."""
        return self.before.quarantined if self.before and not self.changed and not self.is_edited else ""


async def review(
    library: Library,
    name: str,
    open_sandbox: Open,
    read: Sequence[Path] = (),
    carried: Carried | None = None,
    *,
    source: str | None = None,
    only_examples: bool = False,
) -> Review:
    """Inspect a tool in its present state, and run its tests unless it is approved. An edited source gets new schemas.

    A given source is inspected as if it were the tool's, with `only_examples` without its old tests.

    Tests of a tool that reads files may read the files in `read`. `carried` permits the calls. For an edited source, or
    a tool without recorded responses, tests may reach its hosts through it, and the responses are recorded.

    Raises:
        UnknownToolError: There is no such tool.
        LibraryError: Its files are damaged beyond that, or no schema can be derived.
        AlitaError: `carried` does not permit what it needs.
    """
    standing = as_written(library, name)
    is_edited = source is not None or isinstance(library.tool_or_flaw(name), Flaw)
    tool = standing if source is None else edited(library, name, source)
    if only_examples:
        tool.provenance["tests"] = []
    if is_edited:
        tool = await _rederived(library, tool, open_sandbox, carried)
    needs, lacking = Needs(), ""
    try:
        needs = await needed_by(library, tool)
    except LibraryError as error:
        lacking = str(error)
    flags = lint(definition_of(tool))
    errors = [found for found in flags if found.severity == "error"]
    before, now = library.approvals.read().by_name.get(name), None if errors else ApprovedHashes.of(tool)
    obstacles = [*_check_obstacles(tool), *(str(error) for error in errors), *filter(None, [lacking])]
    tests = Tests()
    is_approved = before is not None and now is not None and not before.quarantined and not before.differences(now)
    if not obstacles and (is_edited or not is_approved):
        asks = is_edited or not _exchanges(tool)
        tests = await run_tests(tool, await open_sandbox(), read, needs, carried, asks_hosts=asks)
        if tests.exchanges:
            kept = [*_exchanges(tool), *tests.exchanges]
            tool, is_edited = replace(tool, provenance={**tool.provenance, EXCHANGES: kept}), True
            now = ApprovedHashes.of(tool)
        obstacles += [f"a test fails: {failure}" for failure in tests.failed]
        obstacles += tests.prevented
        if tests.not_run and not tests.passed:
            obstacles.append(f"no test could be run without network, such as {tests.not_run[0]}")
        if not tests_of(tool):
            example = f">>> {name}(...)"
            obstacles.append(f"no test shows that it works: write a call with its result into its docstring: {example}")
    changes = difference(library.kept(name, before.source) if before else None, tool)
    return Review(tool, is_edited, before, now, changes, flags, obstacles, tests, standing.source)


def approve(library: Library, seen: Review) -> Tool:
    """Approves what was looked at. An edited source becomes a tool again; its old version is kept.

    Raises:
        LibraryError: Something stands in the way, or the files were changed since they were looked at.
    """
    name = seen.tool.name
    require_approvable(library, seen)
    if not seen.is_edited:
        return library.approve(name, seen=seen.tool)
    if as_written(library, name).source != seen.base:
        raise LibraryError(f"{name} was changed in the meantime", remedy=f"look again: alita tools approve {name}")
    registered = library.register(seen.tool, replace=True)
    return library.approve(name, seen=registered)


def require_approvable(library: Library, seen: Review, *, remedy: str = "") -> None:
    """Return if nothing prevents an approval.

    Raises:
        LibraryError: Something does.
    """
    if not remedy and seen.tests.prevented:
        remedy = "its code need not change"
    _require_none(seen.obstacles, library, seen.tool.name, remedy)


def reject(library: Library, name: str) -> Tool | None:
    """Restore the approved version of a name; the present one is kept among the versions.

    Returns:
        The tool as it was approved; None if it never was, or if that version is the rejected one: the name
        is free then.

    Raises:
        UnknownToolError: There is no such tool.
        LibraryError: Another tool imports it, or the folder cannot be written.
    """
    library.tool_or_flaw(name)
    approved = library.approvals.read().by_name.get(name)
    version = library.kept(name, approved.source) if approved and not approved.quarantined else None
    if version is not None and library.was_approved(version):
        return library.restore(name, version.source_hash)
    library.delete(name, retires=True)
    return None


def _require_none(obstacles: Sequence[str], library: Library, name: str, remedy: str = "") -> None:
    if obstacles:
        listed = "\n".join(f"  {obstacle}" for obstacle in obstacles)
        raise LibraryError(f"{name} cannot be approved:\n{listed}", remedy=remedy or f"correct {library.path(name)}")


def as_written(library: Library, name: str) -> Tool:
    """A tool as its files have it; of one that was written by hand its source, its tests and its capabilities.

    Raises:
        UnknownToolError: There is no such tool.
        LibraryError: Its files are damaged beyond that.
    """
    standing = library.tool_or_flaw(name)
    if isinstance(standing, Tool):
        return standing
    if standing.kind not in {"changed", "incomplete"}:
        raise LibraryError(standing.message, remedy=standing.remedy)
    try:
        source = library.source(name).decode()
    except UnknownToolError:
        raise LibraryError(standing.message, remedy=standing.remedy) from None
    except UnicodeDecodeError as error:
        raise LibraryError(f"{name}.py is not UTF-8: {error.reason} at byte {error.start}") from None
    return edited(library, name, source)


def edited(library: Library, name: str, source: str) -> Tool:
    """A tool with a source that was written by hand. Its tests decide whether an approval makes it that."""
    tool = Tool(name, "", {}, {}, source, status=Status.VERIFIED, provenance=_provenance(library, name, source))
    if tool.provenance.get("parent_version") == tool.source_hash:  # only capabilities are new
        del tool.provenance["parent_version"]
    else:
        tool.provenance.pop("created", None)  # that was the other version
    return tool


async def _rederived(library: Library, tool: Tool, open_sandbox: Open, carried: Carried | None) -> Tool:
    name = tool.name
    _require_none(_check_obstacles(tool), library, name)
    needs = await needed_by(library, tool)
    sandbox = await open_sandbox()
    packages = needs.and_packages(imported(tool.source, tool.capabilities.packages))
    async with carried(tool, needs) if carried else nullcontext():
        described = await sandbox.describe(tool.source, name, packages=packages, modules=needs.modules)
    if isinstance(described, Problem):
        raise LibraryError(
            f"no schema can be derived from {name}.py: {described.message}", remedy=f"correct {library.path(name)}"
        )
    annotations = {"title": name.replace("_", " ").capitalize(), **definition_of(tool)["annotations"]}
    derived = described.as_tool(tool.source, {**tool.provenance, "tests": tests_of(tool)})
    return replace(derived, status=tool.status, annotations=annotations)


async def needed_by(library: Library, tool: Tool) -> Needs:
    """The tools that a tool needs.

    Raises:
        LibraryError: One is missing, damaged or not approved, or they import each other in a circle.
    """
    return await needs_of(tool.capabilities.tools, library.get_async, of=tool.name)


def tools_in(library: Library, source: str, given: Capabilities) -> tuple[str, ...]:
    """Return the tools that an unapproved source imports: tools of the library, drafts, and declared ones."""
    found = []
    for name in module_names(source, given.packages):
        with contextlib.suppress(UnknownToolError):
            if name not in given.tools:
                library.tool_or_flaw(name)
            found.append(name)
    return tuple(found)


async def run_tests(
    tool: Tool,
    sandbox: Sandbox,
    read: Sequence[Path] = (),
    needs: Needs = Needs(),  # noqa: B008 - frozen
    carried: Carried | None = None,
    *,
    asks_hosts: bool = True,
) -> Tests:
    """Runs the tests of a tool, which may read what is granted if the tool reads files.

    Each is permitted by `carried`, through which its hosts are asked for what is not recorded, if they may be asked.
    Otherwise such tests are not run.
    """
    done, room = Tests(), KEPT_BYTES - len(json.dumps(_exchanges(tool)))
    granted = tuple(path.absolute() for path in read) if tool.capabilities.read else ()
    for test in tests_of(tool):
        files = test.get("files")
        source = with_files(tool.source, files) if isinstance(files, dict) and usable(files) else tool.source
        job = Job(
            source,
            tool.name,
            test["arguments"],
            read=granted,
            modules=needs.modules,
            packages=needs.and_packages(imported(source, tool.capabilities.packages)),
            limits=limits_of(tool, Limits()),
        )
        carry = recorded(_exchanges(tool)) if tool.capabilities.hosts else None
        async with carried(tool, needs) if carried else nullcontext():
            outcome = await sandbox.run(job, carry=carry)
        if is_unrecorded(outcome) and carried is not None and asks_hosts:
            async with carried(tool, needs) as carry:
                outcome = await sandbox.run(job, carry=carry)
            size = len(json.dumps(outcome.exchanges))
            if size <= room:
                room -= size
                done.exchanges.extend(outcome.exchanges)
        if outcome.problem is not None and outcome.problem.kind == "denied" and not outcome.seconds:  # it never began
            missing = [one for one in job.packages if not is_provided(one)]
            is_wanted = outcome.problem.message.startswith(NOT_ALLOWED)
            remedy = f"; first: alita packages allow {shlex.join(missing)}" if is_wanted else ""
            done.prevented.append(f"no test can be run: {outcome.problem.message}{remedy}")
            return done
        if is_unrecorded(outcome):
            done.not_run.append(call_text(tool.name, test["arguments"], longest=40))
            continue
        checked = Test.from_json(test)
        if passes(checked, outcome):
            done.passed.append(test)
            continue
        came = repr(tested_value(checked, outcome)) if outcome.problem is None else outcome.problem.message
        wanted = (
            checked.error or "an error that refuses the arguments" if checked.raises else f"{test['expected']!r:.200}"
        )
        shown = checked.shown(tool.name, longest=40)
        done.failed.append(f"{shown} gives {came:.200}, expected {wanted}")
    return done


async def surviving_mutants(
    tool: Tool, sandbox: Sandbox, needs: Needs, read: Sequence[Path] = (), carried: Carried | None = None
) -> tuple[int, list[str]]:
    """The number of deliberate bugs that the tests of a tool were tried on, and the sources of those that pass all."""
    from mcp_tools.create.mutation_testing import mutants

    guards = any(test.get("raises") is True for test in tests_of(tool))
    seconds = min(tool.capabilities.seconds or _MUTANT_SECONDS, _LONGEST_MUTANT)  # a bug may make it hang
    may = {**asdict(tool.capabilities), "seconds": seconds}
    tried, survivors = 0, list[str]()
    for version in mutants(tool.source, count=_MUTANTS, guards=guards):
        bug = replace(tool, source=version, provenance={**tool.provenance, CAPABILITIES: may})
        tests = await run_tests(bug, sandbox, read, needs, carried, asks_hosts=False)
        tried += bool(tests.passed or tests.failed)
        if tests.passed and not tests.failed:
            survivors.append(version)
    return tried, survivors


def _exchanges(tool: Tool) -> list[Json]:
    kept = tool.provenance.get(EXCHANGES)
    return kept if isinstance(kept, list) else []


def tests_of(tool: Tool) -> list[dict[str, Json]]:
    """The tests that a tool's file holds; of one that was edited, before them the examples in its docstring."""
    listed = tool.provenance.get("tests")
    kept = [
        test
        for test in (listed if isinstance(listed, list) else [])
        if isinstance(test, dict) and isinstance(test.get("arguments"), dict) and "expected" in test
    ]
    function = read_function(tool.source, tool.name, tool.capabilities) if tool.provenance.get("edited") else None
    examples = [test.as_json() for test in function.examples] if function else []
    shown = [(test["arguments"], test.get("part")) for test in examples]
    return [*examples, *(test for test in kept if (test["arguments"], test.get("part")) not in shown)]


def _provenance(library: Library, name: str, source: str) -> dict[str, Json]:
    """Return the provenance of an edited source; its capabilities may be in the source.

    Raises:
        LibraryError: The capabilities are not of their form.
    """
    path, block = object_path(library.folder, name), declared(source)
    in_source = asdict(block) if block != Capabilities() else {}
    try:
        content = json_of(read_file(path))
    except FileNotFoundError:
        content = {}
    except (OSError, ValueError, RecursionError) as error:
        raise LibraryError(f"{path.name} cannot be read: {error}", remedy=f"correct {path}") from None
    meta = content.get("_meta", {})
    kept = meta.get(META_PROVENANCE, {}) if isinstance(meta, dict) else {}
    kept = kept if isinstance(kept, dict) else {}
    provenance = {**kept, "edited": True}
    if version := meta.get(META_HASH) if isinstance(meta, dict) else None:
        provenance["parent_version"] = version
    wanted = content.get(CAPABILITIES, kept.get(CAPABILITIES, in_source))
    try:
        given = Capabilities.from_json(wanted)
    except ValueError as error:
        raise LibraryError(f"{path.name}: {error}", remedy=f"correct {path}") from None
    tools = [one for one in tools_in(library, source, given) if one != name]
    wanted = wanted if [*given.tools] == tools else {**wanted, "tools": tools}
    return {**provenance, **({CAPABILITIES: wanted} if wanted or content else {})}


def _check_obstacles(tool: Tool) -> list[str]:
    if tool.status is not Status.VERIFIED:
        return [f"it is {tool.status}: only verified tools are served"]
    report = check(tool.source, capabilities=tool.capabilities, function=tool.name)
    return [str(finding) for finding in report.findings]


def version_difference(library: Library, name: str, old: str = "", new: str = "") -> tuple[Tool, Tool, str]:
    """Two versions of a tool, named by the first characters of their hash, and their difference as a unified diff.

    Without `new` it is the tool as it is now; without `old` the version before that.

    Raises:
        UnknownToolError: There is no such tool.
        LibraryError: There is no such version, or no other one is kept.
    """
    after = library.version(name, new) if new else as_written(library, name)
    before = library.version(name, old) if old else _before(library, after)
    labels = before.source_hash[:HASH_SHOWN], after.source_hash[:HASH_SHOWN] if new else "now"
    shown = (before, after)
    if not after.input_schema:  # edited since, and what its definition would be is known once it is reviewed
        shown = Tool(name, "", {}, {}, before.source), Tool(name, "", {}, {}, after.source)
    return before, after, difference(*shown, labels)


def _before(library: Library, tool: Tool) -> Tool:
    """The version that came before a tool: the one it was made from, or else the newest other one."""
    known = [version for version in library.versions(tool.name) if version.source_hash != tool.source_hash]
    parent = tool.provenance.get("parent_version")
    found = [version for version in known if version.source_hash == parent] or known[-1:]
    if not found:
        raise LibraryError(f"no other version of {tool.name} is kept", remedy=f"alita tools show {tool.name}")
    return found[0]


def difference(before: Tool | None, now: Tool, labels: tuple[str, str] = ("approved", "now")) -> str:
    """All that differs between two versions of a tool, as a unified diff; without a version before, everything."""
    lines: list[str] = []
    for what, new in _approvable(now).items():
        old = _approvable(before)[what] if before else ""
        ends = old.split("\n"), new.split("\n")
        of_before, of_now = (f"{label}/{what}" for label in labels)
        lines += difflib.unified_diff(*ends, of_before, of_now, lineterm="", n=2)
    return "\n".join(lines)


def _approvable(tool: Tool) -> dict[str, str]:
    record = {name: value for name, value in tool.provenance.items() if name != CAPABILITIES}
    if exchanges := _exchanges(tool):  # data for the tests, of which nobody reads 200 kB
        record[EXCHANGES] = f"{len(exchanges)} recorded, SHA-256 {hashlib.sha256(canonical(exchanges)).hexdigest()}"
    return {
        "source": tool.source,
        "definition": json.dumps(definition_of(tool), indent=1, ensure_ascii=False),
        "record": json.dumps(record, indent=1, ensure_ascii=False, sort_keys=True),
    }

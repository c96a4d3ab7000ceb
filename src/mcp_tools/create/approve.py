"""Approval of a tool by a person: the changes since the last approval, the obstacles, and the approval itself.

The tests in the tool's JSON file must pass on this machine.
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
from mcp_tools.checks.header import declared
from mcp_tools.create.documented_function import read_function
from mcp_tools.create.examiner import passes, tested_value
from mcp_tools.create.interfaces import Test
from mcp_tools.create.proposal_runner import is_unrecorded
from mcp_tools.create.sample_files import usable, with_files
from mcp_tools.definition import Flag, canonical, definition_of, lint
from mcp_tools.errors import LibraryError, UnknownToolError
from mcp_tools.hosts import EXCHANGES, MAX_RECORDED_BYTES, recorded
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
"""Number of characters of a version's hash that are displayed."""
_MAX_MUTANTS, _SECONDS_PER_MUTANT, _MAX_MUTANT_SECONDS = 30, 2.0, 10.0
Open = Callable[[], Awaitable[Sandbox]]
"""Opens a sandbox, or returns the open one. Not called for an approved tool."""


@dataclass(frozen=True, slots=True)
class Tests:
    """Results of a tool's tests."""

    passed: list[Json] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)
    """Tests that need a response that was not recorded. Tests have no network."""
    exchanges: list[Json] = field(default_factory=list)
    """New responses of the hosts, if none were recorded."""
    prevented: list[str] = field(default_factory=list)
    """The reason why no test can run, such as a missing package."""
    not_allowed: list[str] = field(default_factory=list)
    """The packages that the user must allow before a test can run."""


@dataclass(frozen=True, slots=True)
class Review:
    """The facts that a person needs in order to approve a tool."""

    tool: Tool
    is_edited: bool
    """True if the tool must be registered again, because its source was edited or responses were recorded."""
    before: ApprovedHashes | None
    """The last approval, if any."""
    now: ApprovedHashes | None
    """The approval that would be stored; None if the definition has errors."""
    diff: str
    """The changes since the last approval as a unified diff; empty if nothing changed, or no old version exists."""
    flags: list[Flag] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)
    tests: Tests = field(default_factory=lambda: Tests())
    """Results of the tests; empty for an approved tool, whose tests are not run."""
    base: str = ""
    """The source in the library."""
    remedy: str = ""
    """What to do about the obstacles, if the tool's own files are not at fault."""

    @property
    def changed(self) -> list[str]:
        """The parts that differ from the approval: `source`, `definition`, `capabilities`."""
        return self.before.differences(self.now) if self.before and self.now else []

    @property
    def is_approved(self) -> bool:
        """True if the tool is approved in its present state."""
        is_same = self.before is not None and self.now is not None and not self.changed and not self.is_edited
        return is_same and not self.quarantined

    @property
    def quarantined(self) -> str:
        """The reason why an approved, unchanged tool is not served; empty if it is served."""
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
    """Inspect a tool and, unless it is approved, run its tests. For an edited source, derive the schemas again.

    Args:
        library: The library.
        name: The tool's name.
        open_sandbox: Opens a sandbox, if one is needed.
        read: Files that the tests of a file-reading tool may open.
        carried: Permits the calls. For an edited source, or a tool without recorded responses, the tests may also send
            requests to its hosts, and the responses are recorded.
        source: A source to inspect as if it were the tool's.
        only_examples: True to ignore the tool's old tests.

    Raises:
        UnknownToolError: There is no such tool.
        LibraryError: Its files are damaged, or no schema can be derived.
        AlitaError: `carried` does not permit a call.
    """
    standing = as_written(library, name)
    is_edited = source is not None or isinstance(library.tool_or_flaw(name), Flaw)
    tool = standing if source is None else edited(library, name, source)
    if only_examples:
        tool.provenance["tests"] = []
    if is_edited:
        tool = await _rederived(library, tool, open_sandbox, carried)
    needs, lacking, remedy = Needs(), "", ""
    try:
        needs = await needed_by(library, tool)
    except LibraryError as error:
        lacking, remedy = error.message, f"{error.remedy[:1].upper()}{error.remedy[1:]}" if error.remedy else ""
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
        if tests.prevented:
            allow = f"First run: alita packages allow {shlex.join(tests.not_allowed)}"
            remedy = allow if tests.not_allowed else "Its code need not change."
        if tests.not_run and not tests.passed:
            obstacles.append(f"none of its tests can run without network access, for example {tests.not_run[0]}")
        if not tests_of(tool):
            example = f">>> {name}(...)"
            obstacles.append(f"it has no test: add a call and its result to its docstring, such as {example}")
    changes = difference(library.kept(name, before.source) if before else None, tool)
    return Review(tool, is_edited, before, now, changes, flags, obstacles, tests, standing.source, remedy)


def approve(library: Library, seen: Review) -> Tool:
    """Approve a reviewed tool. An edited source is registered; the old version is kept.

    Raises:
        LibraryError: There are obstacles, or the files changed since the review.
    """
    name = seen.tool.name
    require_approvable(library, seen)
    if not seen.is_edited:
        return library.approve(name, seen=seen.tool)
    if as_written(library, name).source != seen.base:
        raise LibraryError(f"{name} changed during your review", remedy=f"review it again: alita tools approve {name}")
    registered = library.register(seen.tool, replace=True)
    return library.approve(name, seen=registered)


def require_approvable(library: Library, seen: Review, *, remedy: str = "") -> None:
    """Check that nothing prevents an approval.

    Raises:
        LibraryError: There are obstacles.
    """
    if seen.obstacles:
        raise refusal(library, seen, remedy=remedy)


def refusal(library: Library, seen: Review, *, remedy: str = "") -> LibraryError:
    """Return the error that names the obstacles to an approval."""
    return _refused(library, seen.tool.name, seen.obstacles, seen.remedy or remedy)


def reject(library: Library, name: str) -> Tool | None:
    """Restore the approved version of a tool. The rejected version is kept among the old versions.

    Returns:
        The restored tool. None if no other version was approved; then the tool is deleted.

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


def _refused(library: Library, name: str, obstacles: Sequence[str], remedy: str = "") -> LibraryError:
    listed = "; ".join(obstacle.rstrip(".") for obstacle in obstacles)
    return LibraryError(f"{name} cannot be approved: {listed}.", remedy=remedy or f"Correct {library.path(name)}")


def as_written(library: Library, name: str) -> Tool:
    """Return a tool as its files describe it. An edited tool has only its source, tests and capabilities.

    Raises:
        UnknownToolError: There is no such tool.
        LibraryError: Its files are damaged.
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
    """Return a tool with a source that was edited by hand. Its other parts are derived during the review."""
    tool = Tool(name, "", {}, {}, source, status=Status.VERIFIED, provenance=_edited_provenance(library, name, source))
    if tool.provenance.get("parent_version") == tool.source_hash:  # only the capabilities changed
        del tool.provenance["parent_version"]
    else:
        tool.provenance.pop("created", None)  # the creation time of the old version
    return tool


async def _rederived(library: Library, tool: Tool, open_sandbox: Open, carried: Carried | None) -> Tool:
    name = tool.name
    if obstacles := _check_obstacles(tool):
        raise _refused(library, name, obstacles)
    needs = await needed_by(library, tool)
    sandbox = await open_sandbox()
    packages = needs.and_packages(imported(tool.source, tool.capabilities.packages))
    async with carried(tool, needs) if carried else nullcontext():
        described = await sandbox.describe(tool.source, name, packages=packages, modules=needs.modules)
    if isinstance(described, Problem):
        raise LibraryError(
            f"no schema can be derived from {name}.py: {described.message}",
            remedy=f"correct the file {library.path(name)}",
        )
    annotations = {"title": name.replace("_", " ").capitalize(), **definition_of(tool)["annotations"]}
    derived = described.as_tool(tool.source, {**tool.provenance, "tests": tests_of(tool)})
    return replace(derived, status=tool.status, annotations=annotations)


async def needed_by(library: Library, tool: Tool) -> Needs:
    """Return the tools that a tool imports.

    Raises:
        LibraryError: One of them is missing, damaged or not approved, or they import each other in a circle.
    """
    return await needs_of(tool.capabilities.tools, library.get_async, of=tool.name)


def tools_in(library: Library, source: str, given: Capabilities) -> tuple[str, ...]:
    """Return the tools that an unapproved source imports, including drafts and declared ones."""
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
    """Run the tests of a tool. If the tool reads files, they may open the files in `read`.

    `carried` permits each test. With `asks_hosts`, requests without a recorded response are sent.
    Otherwise such tests are skipped.
    """
    done, room = Tests(), MAX_RECORDED_BYTES - len(json.dumps(_exchanges(tool)))
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
        if (
            outcome.problem is not None and outcome.problem.kind == "denied" and not outcome.seconds
        ):  # the job was not started
            missing = [one for one in job.packages if not is_provided(one)]
            why = outcome.problem.message
            if why.startswith(NOT_ALLOWED):
                done.not_allowed.extend(missing)
                why = f"you have not allowed {', '.join(missing)}"
            done.prevented.append(f"its tests cannot be run: {why}")
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
    """Run the tests on versions with deliberate bugs. Return how many were tried, and the sources that pass."""
    from mcp_tools.create.mutation_testing import mutants

    guards = any(test.get("raises") is True for test in tests_of(tool))
    seconds = min(
        tool.capabilities.seconds or _SECONDS_PER_MUTANT, _MAX_MUTANT_SECONDS
    )  # short, because a bug may cause an endless loop
    may = {**asdict(tool.capabilities), "seconds": seconds}
    tried, survivors = 0, list[str]()
    for version in mutants(tool.source, count=_MAX_MUTANTS, guards=guards):
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
    """Return the tests in a tool's file. For an edited tool, the examples in its docstring come first."""
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


def _edited_provenance(library: Library, name: str, source: str) -> dict[str, Json]:
    """Return the provenance of an edited source. Its capabilities may be declared in the source.

    Raises:
        LibraryError: The capabilities are invalid.
    """
    path, block = object_path(library.folder, name), declared(source)
    in_source = asdict(block) if block != Capabilities() else {}
    try:
        content = json_of(read_file(path))
    except FileNotFoundError:
        content = {}
    except (OSError, ValueError, RecursionError) as error:
        raise LibraryError(f"{path.name} cannot be read: {error}", remedy=f"correct the file {path}") from None
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
        raise LibraryError(f"{path.name} is invalid: {error}", remedy=f"correct the file {path}") from None
    tools = [one for one in tools_in(library, source, given) if one != name]
    wanted = wanted if [*given.tools] == tools else {**wanted, "tools": tools}
    return {**provenance, **({CAPABILITIES: wanted} if wanted or content else {})}


def _check_obstacles(tool: Tool) -> list[str]:
    if tool.status is not Status.VERIFIED:
        return [f"its status is {tool.status}, but only verified tools are served"]
    report = check(tool.source, capabilities=tool.capabilities, function=tool.name)
    return [str(finding) for finding in report.findings]


def version_difference(library: Library, name: str, old: str = "", new: str = "") -> tuple[Tool, Tool, str]:
    """Return two versions of a tool and their difference as a unified diff.

    Args:
        library: The library.
        name: The tool's name.
        old: First characters of a version's hash; by default the version before `new`.
        new: First characters of a version's hash; by default the present state.

    Raises:
        UnknownToolError: There is no such tool.
        LibraryError: There is no such version, or no older one is kept.
    """
    after = library.version(name, new) if new else as_written(library, name)
    before = library.version(name, old) if old else _before(library, after)
    labels = before.source_hash[:HASH_SHOWN], after.source_hash[:HASH_SHOWN] if new else "now"
    shown = (before, after)
    if not after.input_schema:  # edited: its definition is derived during the review
        shown = Tool(name, "", {}, {}, before.source), Tool(name, "", {}, {}, after.source)
    return before, after, difference(*shown, labels)


def _before(library: Library, tool: Tool) -> Tool:
    """Return the version that a tool was made from, or else the newest other one."""
    known = [version for version in library.versions(tool.name) if version.source_hash != tool.source_hash]
    parent = tool.provenance.get("parent_version")
    found = [version for version in known if version.source_hash == parent] or known[-1:]
    if not found:
        raise LibraryError(
            f"there is no other version of {tool.name}", remedy=f"to see the tool, run: alita tools show {tool.name}"
        )
    return found[0]


def difference(before: Tool | None, now: Tool, labels: tuple[str, str] = ("approved", "now")) -> str:
    """Return the difference between two versions as a unified diff. Without an earlier version, all lines are new."""
    lines: list[str] = []
    for what, new in _approved_parts(now).items():
        old = _approved_parts(before)[what] if before else ""
        ends = old.split("\n"), new.split("\n")
        of_before, of_now = (f"{label}/{what}" for label in labels)
        lines += difflib.unified_diff(*ends, of_before, of_now, lineterm="", n=2)
    return "\n".join(lines)


def _approved_parts(tool: Tool) -> dict[str, str]:
    record = {name: value for name, value in tool.provenance.items() if name != CAPABILITIES}
    if exchanges := _exchanges(tool):  # up to 200 kB of test data, too long to read
        record[EXCHANGES] = f"{len(exchanges)} recorded, SHA-256 {hashlib.sha256(canonical(exchanges)).hexdigest()}"
    return {
        "source": tool.source,
        "definition": json.dumps(definition_of(tool), indent=1, ensure_ascii=False),
        "record": json.dumps(record, indent=1, ensure_ascii=False, sort_keys=True),
    }

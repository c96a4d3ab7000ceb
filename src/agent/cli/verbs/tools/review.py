"""`alita tools approve|review|edit`: lets a person inspect tools and decide about them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from functools import partial
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.calls.host_requests import call_consent, carried, uses_of
from agent.cli import exits, options
from agent.cli.confirmations import ask_about_call, escaped, has_keyboard, is_confirmed, is_terminal, yes_or_no
from agent.cli.options import opt
from agent.cli.output import Result, done, fields, print_note
from agent.cli.verbs.completion import tool_names
from agent.consent.capabilities import CallConsent
from agent.resources import open_for
from agent.store.tool_records import open_library
from mcp_tools.create import approve as approving
from mcp_tools.create.approve import Review, as_written, needed_by, tests_of
from mcp_tools.create.interfaces import Test
from mcp_tools.errors import LibraryError, NotPermittedError, PolicyError, UsageError, UserError, os_errors_as
from mcp_tools.library.dependencies import module_names
from mcp_tools.library.library import Library
from mcp_tools.small_files import RECORD, read_small
from mcp_tools.text import count_of, one_line
from mcp_tools.tool import WRAPS, Tool

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from mcp_tools.sandbox.protocol import Sandbox

TestsMayRead = Annotated[
    list[Path] | None, opt("--grant-read PATH", "File or folder that its tests may read; repeatable.", exists=True)
]
Accept = Annotated[bool, opt("--accept", "Approve the tool without asking if its tests pass.")]
Form = dict[str, Any]
_WITH_NEW_TESTS = "correct your text, or drop the older tests: alita tools edit {name} --new-tests"
_MOST_TESTS, _LONGEST_TEST, _LONGEST_REFUSAL = 12, 160, 1_000
_MOST_SHOWN = 3
"""If more new tools than this are approved at once, their code is not shown."""


def add_to(app: options.App) -> None:
    """Register the commands."""
    for verb in (approve, review, edit):
        app.command()(verb)


def approve(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Tools to approve.", autocompletion=tool_names),
    ] = None,
    everything: Annotated[bool, opt("--all", "Approve every withheld tool.")] = False,
    grant_read: TestsMayRead = None,
    tools_dir: options.ToolsDir = None,
    no_isolation: options.NoIsolation = False,
    as_json: options.AsJson = False,
) -> Result:
    """Shows what changed in tools, checks and tests them, and approves them for agents and MCP clients."""
    if bool(names) == everything:
        raise UsageError(
            "Give either the names of the tools to approve or --all.",
            remedy="`alita tools list` shows which tools are withheld, and why.",
        )
    library = _library()
    wanted = [one.name for one in library.withheld() if one.is_approvable] if everything else names or ()
    if not wanted:
        print_note("Every tool is already approved.")

    approved: list[str] = []
    refused: list[Form] = []

    async def work() -> None:
        async with _open_reviewer(library, grant_read or ()) as reviewer:
            for name in _needed_first(library, list(dict.fromkeys(wanted))):
                try:
                    seen = await reviewer.look(name)
                    if not seen.obstacles:
                        await reviewer.show(seen, with_code=len(wanted) <= _MOST_SHOWN)
                    reviewer.accept(seen)
                    approved.append(name)
                except (UserError, NotPermittedError) as error:
                    refused.append(_refusal(name, error))

    code, note = 0, ""
    try:
        exits.run(work())
    except KeyboardInterrupt:
        left = len(wanted) - len(approved) - len(refused)
        code, note = exits.INTERRUPTED, f"\nStopped. {count_of(left, 'tool')} not reviewed."
    form = {"ok": not refused and not code, "approved": approved, "refused": refused}
    text = "\n".join(f"Approved {name}." for name in approved)
    return Result(form, text=text, note=note, code=code or (1 if refused else 0))


def review(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="Tool to review (default: all withheld tools).", autocompletion=tool_names
        ),
    ] = None,
    accept: Accept = False,
    reject: Annotated[
        bool, opt("--reject", "Restore the approved version, or remove a tool that was never approved.")
    ] = False,
    mutants: Annotated[bool, opt("--mutants", "Check whether its tests catch deliberate bugs.")] = False,
    grant_read: TestsMayRead = None,
    tools_dir: options.ToolsDir = None,
    no_isolation: options.NoIsolation = False,
    as_json: options.AsJson = False,
) -> Result:
    """Shows all that is known of a tool, and lets you accept or reject it. Without a name: each withheld tool."""
    if accept and reject:
        raise UsageError("--accept and --reject cannot be used together.", remedy="Use only one of them.")
    if name is None and (accept or reject):
        raise UsageError(
            "--accept and --reject need the name of a tool.", remedy="For example: alita tools review NAME --accept"
        )
    library = _library()
    names = [name] if name is not None else [one.name for one in library.withheld()]
    verdict = "y" if accept else "n" if reject else ""

    async def work() -> list[Form]:
        async with _open_reviewer(library, grant_read or (), only_reviews=not accept) as reviewer:
            ordered = _needed_first(library, names)
            is_brief = name is None and not as_json
            return [
                await _reviewed(reviewer, one, verdict, mutants=mutants, asks=not as_json, is_brief=is_brief)
                for one in ordered
            ]

    found = exits.run(work())
    refused = [one for one in found if one["verdict"] == "refused"]
    text = "\n".join(outcome for one in found if (outcome := one.pop("outcome")))
    note = "" if found else "No tool is waiting for review."
    return Result({"ok": not refused, "reviews": found}, text=text, note=note, code=1 if refused else 0)


async def _reviewed(reviewer: _Reviewer, name: str, verdict: str, *, mutants: bool, asks: bool, is_brief: bool) -> Form:
    """Show a tool, and return the user's verdict: `accepted`, `rejected`, `refused` or `open`.

    If `is_brief` is true, only the reason is shown for a tool that cannot be approved.
    """
    shown: Form = {"name": name}
    try:
        seen = None if verdict == "n" else await reviewer.look(name)
        if seen is not None and seen.obstacles:
            _print_refusal(name, approving.refusal(reviewer.library, seen))
            if is_brief:
                return shown | {"verdict": "open", "outcome": ""}
        if seen is not None:
            await reviewer.show(seen)
            shown |= await reviewer.more(seen, mutants=mutants)
            if not verdict and asks and is_terminal() and not seen.is_approved:
                verdict = yes_or_no(
                    f"Accept {name}? y: approve it, n: {reviewer.end_of(name)}, Enter: later [y/n/Enter] "
                )
        if verdict == "y" and seen is not None:
            reviewer.accept(seen)
            return shown | {"verdict": "accepted", "outcome": f"Approved {name}."}
        if verdict == "n":
            told = "the approved version was restored" if approving.reject(reviewer.library, name) else "removed"
            kept = reviewer.library.folder / ".alita" / "versions" / name
            return shown | {
                "verdict": "rejected",
                "outcome": f"Rejected {name}: {told}; the rejected files are in {kept}.",
            }
    except (UserError, NotPermittedError) as error:
        return shown | _refusal(name, error) | {"verdict": "refused", "outcome": ""}
    return shown | {"verdict": "open", "outcome": ""}


def edit(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The tool's name.", autocompletion=tool_names)],
    accept: Accept = False,
    new_tests: Annotated[
        bool, opt("--new-tests", "Test only the examples in the new docstring; drop the older tests.")
    ] = False,
    grant_read: TestsMayRead = None,
    tools_dir: options.ToolsDir = None,
    no_isolation: options.NoIsolation = False,
    as_json: options.AsJson = False,
) -> Result:
    """Opens a copy of a tool's source in your editor, tests it, and replaces the tool if you accept."""
    from agent.cli.verbs.config import open_editor

    library = _library()
    before = as_written(library, name).source
    copy = Path(tempfile.mkdtemp(prefix="alita-edit-"), f"{name}.py")
    copy.write_text(before, encoding="utf-8")
    is_done = False
    try:
        open_editor(copy)
        with os_errors_as(UsageError, f"Cannot read {copy}"):
            after = read_small(copy, RECORD).decode()
        if after == before:
            return done(f"{name} is unchanged.", verdict="unchanged")
        if as_written(library, name).source != before:
            raise LibraryError(f"{name} was changed in the meantime", remedy=f"edit it again: alita tools edit {name}")

        async def work() -> str:
            async with _open_reviewer(library, grant_read or ()) as reviewer:
                seen = await reviewer.look(name, after, only_examples=new_tests)
                await reviewer.show(seen)
                remedy = "correct your text" if new_tests else _WITH_NEW_TESTS.format(name=name)
                approving.require_approvable(library, seen, remedy=remedy)
                verdict = "y" if accept else ""
                if not accept and not as_json and is_terminal():
                    verdict = yes_or_no(f"Replace {name} with this? y: yes, n: discard it, Enter: later [y/n/Enter] ")
                if verdict == "y":
                    reviewer.accept(seen)
            return verdict

        verdict = exits.run(work())
        is_done = verdict in {"y", "n"}
        outcome = f"Approved {name}." if verdict == "y" else f"{name} is unchanged."
        return Result({"ok": True, "verdict": _VERDICTS.get(verdict, "open")}, text=outcome)
    finally:
        with suppress(OSError):
            is_done = is_done or copy.read_bytes() == before.encode()
        if is_done or not copy.exists():
            shutil.rmtree(copy.parent, ignore_errors=True)
        else:
            print_note(f"Your edited text is kept in {copy}.")


class _Reviewer:
    """Shows tools to a person one after another. The tests of all tools share one sandbox."""

    def __init__(
        self, settings: Settings, library: Library, read: Sequence[Path], stack: AsyncExitStack, *, only_reviews: bool
    ) -> None:
        self.library = library
        self._settings = settings
        self._read = read
        self._stack = stack
        self._opened: list[Sandbox] = []
        self._consent = consent_of(settings)
        self._carried = partial(carried, settings, self._consent, is_new=True, is_only_reviewed=only_reviews)

    async def _sandbox(self) -> Sandbox:
        if not self._opened:
            self._opened.append(await self._stack.enter_async_context(aclosing(await open_for(self._settings))))
        return self._opened[0]

    async def look(self, name: str, source: str | None = None, *, only_examples: bool = False) -> Review:
        """Inspect and test a tool. If `source` is given, it replaces the tool's source."""
        return await approving.review(
            self.library, name, self._sandbox, self._read, self._carried, source=source, only_examples=only_examples
        )

    async def show(self, seen: Review, *, with_code: bool = True) -> None:
        """Show a tool's capabilities, changes and test results. Without `with_code`, a new tool's code is omitted."""
        for use, decider in await self._uses(seen.tool):
            print_note(f"{seen.tool.name} may {use} ({decider})")
        _show(seen, with_code=with_code)

    async def more(self, seen: Review, *, mutants: bool) -> Form:
        """Show details that an approval omits, such as code, proof and calls. Return the complete review for JSON."""
        tool, stats = seen.tool, self.library.stats(seen.tool.name)
        if seen.is_approved or seen.quarantined:
            print_note("\n".join(f"  {escaped(line)}" for line in tool.source.split("\n")))
        cases = _cases(seen)
        for result, case in cases[:_MOST_TESTS]:
            print_note(f"  {result:<10}  {escaped(case)}")
        if len(cases) > _MOST_TESTS:
            print_note(f"  {'':<10}  and {len(cases) - _MOST_TESTS} more")
        evidence = tool.provenance.get("evidence")
        numbers = (
            {key: evidence[key] for key in _PROOF if isinstance(evidence.get(key), int)}
            if isinstance(evidence, dict)
            else {}
        )
        if numbers:
            print_note(
                f"  {'its file':<10}  reports these test results: "
                f"{', '.join(f'{key} {n}' for key, n in numbers.items())}"
            )
        if wraps := tool.provenance.get(WRAPS):
            print_note(f"  {'wraps':<10}  {escaped(one_line(str(wraps), 200))}")
        found: Form = {"wraps": wraps} if wraps else {}
        if mutants and not seen.obstacles:
            found["mutants"] = await self._mutants(tool)
        counted = ", ".join(f"{count} {kind}" for kind, count in sorted(stats.failures.items()))
        summary = f"{stats.calls} in {stats.questions} questions, {stats.successes} succeeded, {stats.refused} refused"
        print_note(f"  {'calls':<10}  {summary}{f', failed: {counted}' if counted else ''}")
        uses = await self._uses(tool)
        return {
            "changed": seen.changed,
            "quarantined": seen.quarantined,
            "diff": seen.diff,
            "source": tool.source,
            "tests": {"passed": len(seen.tests.passed), "failed": seen.tests.failed, "not_run": seen.tests.not_run},
            "cases": [{"result": result, "test": case} for result, case in cases],
            "obstacles": seen.obstacles,
            "warnings": [str(flag) for flag in seen.flags],
            "evidence": numbers,
            "uses": [{"use": use, "decided_by": decider} for use, decider in uses],
            "stats": fields(stats, "calls successes refused failures questions last"),
            **found,
        }

    async def _mutants(self, tool: Tool) -> Form:
        from mcp_tools.create.mutation_testing import weakness

        needs = await needed_by(self.library, tool)
        tried, survivors = await approving.surviving_mutants(
            tool, await self._sandbox(), needs, self._read, self._carried
        )
        caught = tried - len(survivors)
        finding = weakness(tool, caught, tried, survivors) if survivors else f"all {tried} deliberate bugs were caught"
        print_note(f"  {'mutants':<10}  {finding}")
        return {"tried": tried, "caught": caught, "told": finding}

    async def _uses(self, tool: Tool) -> list[tuple[str, str]]:
        return await uses_of(self.library, tool, self._consent, is_new=True)

    def accept(self, seen: Review) -> None:
        """Approve the tool that was shown."""
        _require_consent(seen)
        approving.approve(self.library, seen)

    def end_of(self, name: str) -> str:
        """Describe the effect of a rejection, for the question to the user."""
        approved = self.library.approvals.read().by_name.get(name)
        return "restore the approved version" if approved and not approved.quarantined else "remove it"


def _cases(seen: Review) -> list[tuple[str, str]]:
    """Return the result and text of each test, failed tests first. Tests of an approved tool count as passed."""
    tests, name = seen.tests, seen.tool.name
    kept = tests_of(seen.tool) if seen.is_approved else ()
    found = [("failed", failure) for failure in tests.failed] + [("not run", case) for case in tests.not_run]
    for result, cases in (("passed", tests.passed), ("passed", kept)):
        for test in map(Test.from_json, cases):
            wanted = f"raises {test.error or 'an error'}" if test.raises else f"gives {test.expected!r}"
            found.append((result, one_line(f"{test.shown(name, longest=60)} {wanted}", _LONGEST_TEST)))
    return found


_VERDICTS = {"y": "accepted", "n": "rejected"}
_PROOF = ("tests", "drawn", "mutants", "killed")


@asynccontextmanager
async def _open_reviewer(
    library: Library, read: Sequence[Path], *, only_reviews: bool = False
) -> AsyncIterator[_Reviewer]:
    if damage := library.approvals.read().damage:
        print_note(
            f"The approvals could not be read, so no tool counts as approved: {damage}. The unreadable file was "
            "set aside."
        )
    async with AsyncExitStack() as stack:
        yield _Reviewer(options.settings(), library, read, stack, only_reviews=only_reviews)


def _refusal(name: str, error: UserError | NotPermittedError) -> Form:
    """Report an error about one of several tools.

    Raises:
        PolicyError: The policy file is invalid, which affects all tools.
    """
    if isinstance(error, PolicyError):
        raise error
    _print_refusal(name, error)
    return {"name": name, "reason": error.message, "remedy": error.remedy}


def _print_refusal(name: str, error: UserError | NotPermittedError) -> None:
    said = (
        error.message if error.message.startswith(f"{name} cannot be") else f"{name} is not approved: {error.message}"
    )
    end = "" if said.endswith((".", "!", "?")) else "."
    print_note(escaped(one_line(f"{said}{end} {error.remedy or ''}", _LONGEST_REFUSAL)))


def _library() -> Library:
    settings = options.settings()
    return open_library(settings)


def consent_of(settings: Settings) -> CallConsent:
    """Return the consent for calls outside a run, which asks the user if there is a terminal."""
    ask = (lambda asked: ask_about_call(asked, print_note)) if has_keyboard() else None
    return call_consent(settings, ask, print_note)


def _needed_first(library: Library, names: Sequence[str]) -> Sequence[str]:
    """Sort the names so that imported tools come before the tools that import them."""
    needs: dict[str, set[str]] = {name: set() for name in names}
    for name in names:
        with suppress(UserError):  # the error is reported later
            needs[name] = {*module_names(library.source(name).decode(errors="replace"))} & needs.keys()
    try:
        return [*TopologicalSorter(needs).static_order()]
    except CycleError:
        return names


def _require_consent(seen: Review) -> None:
    """Raise an error for a tool with warnings unless a person at a terminal has seen the warnings and agrees."""
    name, warnings = seen.tool.name, [flag for flag in seen.flags if flag.severity == "warning"]
    if not warnings or seen.obstacles or seen.is_approved:
        return
    warning = f"{name} has text that may be meant to steer a model: {warnings[0].where}: {warnings[0].message}"
    if not is_terminal():
        raise UsageError(warning, remedy=f"Only you can approve it, in a terminal: alita tools approve {name}")
    if not is_confirmed(f"{warning}. Approve it? [y/n] "):
        raise UsageError(f"You did not approve {name}.")


def _show(seen: Review, *, with_code: bool) -> None:
    name, before = seen.tool.name, seen.before
    if seen.is_approved:
        print_note(f"{name} is already approved.")
    elif before is None:
        print_note(f"{name} was never approved here: {seen.tool.summary}")
    elif seen.quarantined:
        print_note(f"{name} is quarantined: {seen.quarantined}")
    else:
        print_note(f"{name} was approved on {before.approved[:10]}; since then changed: {', '.join(seen.changed)}")
    shown = [] if seen.is_approved else seen.diff.split("\n")
    if before is None and not with_code:
        count = count_of(len(seen.tool.source.split("\n")), "line")
        shown = [f"{'code':<10}  {count}, shown by: alita tools show {name}"]
    for line in (*filter(None, shown), *map(str, seen.flags)):
        print_note(f"  {escaped(line)}")
    if passed := len(seen.tests.passed):
        of_all = f" of {passed + len(seen.tests.failed)}" if seen.tests.failed else ""
        print_note(f"  {'tests':<10}  {passed}{of_all} passed")
    if seen.tests.not_run:
        print_note(
            f"  {'':<10}  {len(seen.tests.not_run)} not run, because the responses of their hosts are not recorded"
        )

"""`alita tools list|show|search|run|check|approve|delete`."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import exits, options
from agent.cli.completion import tool_names
from agent.cli.output import print_json, print_note, print_rows, print_text, show_error
from mcp_tools.errors import AlitaError, ArgumentsError, UnknownToolError, UsageError, UserError
from mcp_tools.library import Flaw, Library
from mcp_tools.run import RefusedSourceError, run_source, run_tool
from mcp_tools.sandbox.protocol import Isolation, Level, Sandbox
from mcp_tools.text import one_line
from mcp_tools.tool import Capabilities, Json, Tool

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from mcp_tools.approve import Review
    from mcp_tools.library import Approval


app = options.new_app("The library of created tools.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The tool's name.", autocompletion=tool_names)]
NameOrFile = Annotated[
    str,
    typer.Argument(metavar="NAME_OR_FILE", help="A tool's name, or a Python file.", autocompletion=tool_names),
]

TestsMayRead = Annotated[
    list[Path] | None,
    typer.Option(metavar="PATH", exists=True, help="A file or folder its tests may read; repeatable."),
]


@app.command("list")
def list_(tools_dir: options.ToolsDir = None, as_json: options.AsJson = False) -> None:
    """Lists the tools, and which of them MCP clients do not get, with the reason."""
    library = _library(_settings(tools_dir))
    tools = library.list()
    rows = []
    withheld = {one.name: one for one in library.withheld()}
    if as_json:
        reasons = {name: {"reason": one.reason, "remedy": one.remedy} for name, one in withheld.items()}
        print_json([{**_brief(tool), "withheld": reasons.get(tool.name)} for tool in tools])
    else:
        for tool in tools:
            status = f"{tool.status}, withheld" if tool.name in withheld else str(tool.status)
            rows.append((tool.name, status, one_line(tool.description, 80)))
        print_rows(rows)
        if not tools:
            print_note(f"No tools are in {library.folder} yet.")
    for one in withheld.values():
        print_note(f"{one.name} is not served to MCP clients: {one.reason}\n  {one.remedy}")


@app.command()
def show(name: Name, tools_dir: options.ToolsDir = None, as_json: options.AsJson = False) -> None:
    """Shows a tool: what it takes, what is known of it, and its source."""
    from mcp_tools.library.tool_files import as_document

    library = _library(_settings(tools_dir))
    standing = library.standing(name)
    if isinstance(standing, Flaw):
        _show_flawed(library, standing, as_json=as_json)
        return
    tool = library.get(name)
    if as_json:
        stats = library.stats(name)
        calls = {"calls": stats.calls, "successes": stats.successes, "failures": stats.failures}
        print_json({**as_document(tool), "source": tool.source, "path": str(library.path(name)), "stats": calls})
        return
    print_rows(tool_rows(library, tool))
    print_text("\n" + tool.source)


def tool_rows(library: Library, tool: Tool) -> list[tuple[str, str]]:
    """What people are shown of a tool, beside its source."""
    stats = library.stats(tool.name)
    takes = ", ".join(f"{k}: {v.get('type', 'any')}" for k, v in tool.input_schema.get("properties", {}).items())
    return [
        ("name", tool.name),
        ("status", str(tool.status)),
        ("purpose", one_line(tool.description, 500)),
        ("takes", one_line(takes, 300)),
        ("calls", f"{stats.calls}, {stats.successes} succeeded"),
        ("made by", one_line(str(tool.provenance.get("model", "unknown")))),
        ("file", str(library.path(tool.name))),
    ]


def _show_flawed(library: Library, flaw: Flaw, *, as_json: bool) -> None:
    """Shows a tool whose files are damaged: its source may be what is wrong with it."""
    try:
        source = library.source(flaw.name).decode(errors="replace")
    except UserError:
        source = ""
    path = str(library.path(flaw.name))
    if as_json:
        problem = {"kind": flaw.kind, "message": flaw.message, "remedy": flaw.remedy}
        print_json({"name": flaw.name, "status": "draft", "flaw": problem, "source": source, "path": path})
        return
    print_note(f"Warning: {flaw.message}\n  {flaw.remedy}")
    print_rows([("name", flaw.name), ("status", "draft"), ("file", path)])
    print_text("\n" + source)


@app.command()
def search(
    query: Annotated[list[str], typer.Argument(metavar="WORDS", help="What the tool should do.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many.")] = 5,
    tools_dir: options.ToolsDir = None,
    as_json: options.AsJson = False,
) -> None:
    """Finds the tools whose words fit best."""
    hits = _library(_settings(tools_dir)).search(" ".join(query), limit)
    if as_json:
        print_json([{**_brief(hit.tool), "score": hit.score} for hit in hits])
        return
    print_rows([(hit.tool.name, f"{hit.score:.2f}", one_line(hit.tool.description, 80)) for hit in hits])
    if not hits:
        print_note("No tool fits.")


@app.command()
def run(
    tool: NameOrFile,
    arguments: Annotated[str, typer.Argument(metavar="JSON", help="The arguments as a JSON object.")] = "{}",
    grant_read: Annotated[
        list[Path] | None,
        typer.Option("--grant-read", metavar="PATH", exists=True, help="A file or folder it may read; repeatable."),
    ] = None,
    no_isolation: options.NoIsolation = False,
    tools_dir: options.ToolsDir = None,
    as_json: options.AsJson = False,
) -> None:
    """Runs a tool in the sandbox. A file is checked first, as registration would."""
    try:
        settings = _settings(tools_dir, no_isolation=no_isolation)
        library = _library(settings)
        found = _tool_or_source(library, tool)
        result = exits.run(_call(settings, library, found, _arguments(arguments), tuple(grant_read or ())))
    except AlitaError as error:
        if not as_json:
            raise
        show_error(error)
        print_json({**_result(None, 0.0, error=(type(error).__name__, error.message)), "remedy": error.remedy})
        raise typer.Exit(error.exit_code) from None
    if as_json:
        print_json(result)
    elif result["ok"]:
        value = result["value"]
        print_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2))
    else:
        print_note(f"{tool} failed ({result['error']['kind']}): {result['error']['message']}")
    raise typer.Exit(0 if result["ok"] else 1)


@app.command()
def check(
    tool: NameOrFile,
    may_read: Annotated[bool, typer.Option("--may-read", help="A file may read files that a call grants.")] = False,
    grant_read: TestsMayRead = None,
    no_isolation: options.NoIsolation = False,
    tools_dir: options.ToolsDir = None,
    as_json: options.AsJson = False,
) -> None:
    """Checks a source without running it; of a tool in the library, then runs its tests in the sandbox."""
    from agent.resources import open_for
    from mcp_tools.approve import Tests, as_written, run_tests, tests_of
    from mcp_tools.checks.check import check as apply

    async def tested(tool: Tool) -> Tests:
        async with aclosing(await open_for(settings)) as sandbox:
            return await run_tests(library, tool, sandbox, grant_read or ())

    settings = _settings(tools_dir, no_isolation=no_isolation)
    library, tests = _library(settings), Tests()
    if _is_file(tool):
        report = apply(_read(Path(tool)), capabilities=Capabilities(read=may_read))
    else:
        found = as_written(library, tool)
        report = apply(found.source, capabilities=found.capabilities, function=tool)
        if report.ok and tests_of(found):
            tests = exits.run(tested(found))
    ok = report.ok and not tests.failed
    if as_json:
        print_json({**report.as_json(), "ok": ok, "passed_tests": len(tests.passed), "failed_tests": tests.failed})
    else:
        for finding in report.findings:
            print_text(f"{tool}:{finding.line}: error: {finding.rule}: {finding.message}")
        for failure in tests.failed:
            print_text(f"{tool}: error: a test fails: {failure}")
        counted = f" and {len(tests.passed)} test{'s' * (len(tests.passed) != 1)}" if tests.passed else ""
        print_note(f"{tool} passes the checks{counted}." if ok else f"{tool} does not pass the checks.")
    raise typer.Exit(0 if ok else 1)


@app.command()
def approve(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Tools to approve.", autocompletion=tool_names),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every tool that is withheld.")] = False,
    grant_read: TestsMayRead = None,
    no_isolation: options.NoIsolation = False,
    tools_dir: options.ToolsDir = None,
    as_json: options.AsJson = False,
) -> None:
    """Shows what became of tools, checks them, runs their tests, and lets agents and MCP clients use them."""
    settings = _settings(tools_dir, no_isolation=no_isolation)
    library = _library(settings)
    if bool(names) == everything:
        raise UsageError(
            "Name the tools to approve, or say --all.", remedy="`alita tools list` shows which are withheld, and why."
        )
    wanted = [one.name for one in library.withheld() if one.is_approvable] if everything else names or ()
    report = exits.run(_approve_all(settings, library, list(dict.fromkeys(wanted)), grant_read or (), tell=not as_json))
    if as_json:
        print_json(report)
    raise typer.Exit(0 if report["ok"] else 1)


@app.command()
def delete(name: Name, tools_dir: options.ToolsDir = None, as_json: options.AsJson = False) -> None:
    """Deletes a tool; its files are kept among the library's old versions."""
    library = _library(_settings(tools_dir))
    library.delete(name)
    if as_json:
        print_json({"ok": True, "deleted": name})
    else:
        print_note(f"Deleted {name} from {library.folder}.")


def _settings(tools_dir: Path | None, *, no_isolation: bool = False) -> Settings:
    return options.settings(options.flags({"tools_dir": tools_dir, "no_isolation": no_isolation}))


def _library(settings: Settings) -> Library:
    return Library(settings.tools_dir, settings.approvals_file)


def _brief(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "status": str(tool.status),
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
    }


async def _call(
    settings: Settings, library: Library, tool: Tool | str, arguments: dict[str, Json], read: tuple[Path, ...]
) -> dict[str, Json]:
    """Runs a tool of the library, or a source; what the tool or its caller did wrong is in the result."""
    from agent.resources import isolation_lowered, open_for

    sandbox = await open_for(settings)
    started = time.perf_counter()
    try:
        if sandbox.isolation.level is Level.WEAK:
            print_note("Warning: nothing isolates this tool; it runs as you, because --no-isolation was said.")
        if lowered := isolation_lowered(settings, sandbox.isolation):
            print_note(f"Warning: {lowered}")
        if isinstance(tool, str):
            outcome = await run_source(tool, arguments, sandbox, read=read)
        else:
            outcome = await run_tool(tool, arguments, sandbox, read=read)
            library.record_call(tool.name, outcome.ok, outcome.problem.kind if outcome.problem else None)
    except (ArgumentsError, RefusedSourceError) as error:
        kind = "arguments" if isinstance(error, ArgumentsError) else "checks"
        return _result(sandbox.isolation, time.perf_counter() - started, error=(kind, str(error)))
    finally:
        await sandbox.aclose()
    problem = (outcome.problem.kind, outcome.problem.message) if outcome.problem else None
    return _result(outcome.isolation, outcome.seconds, value=None if problem else outcome.value, error=problem)


def _result(
    isolation: Isolation | None, seconds: float, *, value: Json = None, error: tuple[str, str] | None = None
) -> dict[str, Any]:
    return {
        "ok": error is None,
        "value": value,
        "error": None if error is None else {"kind": error[0], "message": error[1]},
        "seconds": round(seconds, 6),
        "isolation": str(isolation.level) if isolation else None,
    }


def _is_file(text: str) -> bool:
    return text.endswith(".py") or "/" in text


def _tool_or_source(library: Library, text: str) -> Tool | str:
    if not _is_file(text):
        return library.get(text)
    try:
        return _read(Path(text)).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{text} is not UTF-8: {error.reason} at byte {error.start}.") from None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise UnknownToolError(f"There is no file {path}.", remedy="`alita tools list` shows the tools.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None


def _arguments(text: str) -> dict[str, Any]:
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"The arguments are not JSON: {error}.", remedy="Write them as '{\"n\": 57}'.") from None
    if not isinstance(arguments, dict):
        raise UsageError(
            f"The arguments are a {type(arguments).__name__}, not an object.", remedy="Write them as '{\"n\": 57}'."
        )
    return arguments


_MOST_DIFF_LINES = 60


async def _approve_all(
    settings: Settings, library: Library, names: list[str], read: Sequence[Path], *, tell: bool
) -> dict[str, Any]:
    """Approves tools by name whose tests pass; the others are refused one by one.

    Args:
        settings: Name the sandbox, which is opened when the first tool needs it.
        library: Where the tools are.
        names: Which.
        read: Files outside the library that their tests may read.
        tell: Whether people read along.

    Returns:
        The object that `--json` prints: `ok`, `approved`, `refused` with reasons, and `tools`, what was seen of each.
    """
    from agent.resources import open_for
    from mcp_tools.approve import approve, review

    approved: list[str] = []
    refused: list[dict[str, str]] = []
    seen: list[dict[str, Any]] = []
    sandboxes: list[Sandbox] = []

    async def sandbox() -> Sandbox:
        if not sandboxes:
            sandboxes.append(await open_for(settings))
        return sandboxes[0]

    if tell and (damage := library.approvals.read().damage):
        print_note(f"Nothing counted as approved until now: {damage}. That file is put aside.")
    try:
        for name in names:
            try:
                found = await review(library, name, sandbox, read)
                seen.append(_as_json(found))
                if tell:
                    _show(found)
                approve(library, found)
                approved.append(name)
                if tell:
                    print_text(f"Approved {name}.")
            except UserError as error:
                refused.append({"name": name, "reason": error.message, "remedy": error.remedy})
                if tell:
                    print_note(f"Not approved: {error.message}\n  {error.remedy}".rstrip())
    finally:
        for opened in sandboxes:
            await opened.aclose()
    if tell and not names:
        print_note("Every tool is approved as it stands.")
    return {"ok": not refused, "approved": approved, "refused": refused, "tools": seen}


def _show(seen: Review) -> None:
    """What a person should know before the tool is served."""
    name, before, now = seen.tool.name, seen.before, seen.now
    if seen.is_approved:
        print_note(f"{name} is approved as it stands.")
    elif before is None:
        print_note(f"{name} was never approved here: {seen.tool.description.partition(chr(10))[0]}")
    else:
        print_note(f"{name} was approved on {before.approved[:10]}; since then changed: {', '.join(seen.changed)}")
    for part in ("source", "definition"):
        old, new = (f"{getattr(one, part)[:12]}…" if one else "" for one in (before, now))
        print_note(f"  {part:<10}  {new if old in ('', new) else f'{old} → {new}'}")
    lines = seen.diff.splitlines()
    for line in lines[:_MOST_DIFF_LINES]:
        print_note(f"  {line}")
    if len(lines) > _MOST_DIFF_LINES:
        print_note(f"  … {len(lines) - _MOST_DIFF_LINES} more lines")
    for flag in seen.flags:
        print_note(f"  {flag}")
    if may := _capabilities(seen.tool):
        print_note(f"  {'may':<10}  {may}")
    if seen.tests.passed:
        print_note(f"  {'tests':<10}  {len(seen.tests.passed)} passed")


def _capabilities(tool: Tool) -> str:
    """What a tool may use beside computing, for people; empty when that is all."""
    may = tool.capabilities
    return "; ".join(
        part
        for part in (
            "read files that a call grants" if may.read else "",
            f"import {', '.join(may.packages)}" if may.packages else "",
            f"speak to {', '.join(may.hosts)}" if may.hosts else "",
            f"take {may.seconds:g} seconds" if may.seconds else "",
            f"use {may.memory_mb} MiB of memory" if may.memory_mb else "",
        )
        if part
    )


def _as_json(seen: Review) -> dict[str, Any]:
    return {
        "name": seen.tool.name,
        "changed": seen.changed,
        "edited": seen.is_edited,
        "before": _hashes(seen.before),
        "now": _hashes(seen.now),
        "diff": seen.diff,
        "flags": [
            {"rule": flag.rule, "where": flag.where, "message": flag.message, "severity": flag.severity}
            for flag in seen.flags
        ],
        "passed_tests": len(seen.tests.passed),
        "failed_tests": seen.tests.failed,
    }


def _hashes(approval: Approval | None) -> dict[str, str] | None:
    return {"source": approval.source, "definition": approval.definition} if approval else None

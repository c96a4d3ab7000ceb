"""`alita tools list|show|search|run|check|approve|delete`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import exits, options
from agent.cli.completion import tool_names
from agent.cli.output import print_json, print_note, print_rows, print_text, show_error
from agent.configuration.settings import Settings
from agent.resources import isolation_lowered, open_for
from mcp_tools.errors import AlitaError, ArgumentsError, UnknownToolError, UsageError, UserError
from mcp_tools.library import Library
from mcp_tools.run import RefusedSourceError, run_source, run_tool
from mcp_tools.sandbox.protocol import Isolation, Level
from mcp_tools.text import one_line
from mcp_tools.tool import Json, Tool

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from mcp_tools.library import Flaw, Library, Withheld
    from mcp_tools.tool import Tool


async def call(
    settings: Settings, library: Library, tool: Tool | str, arguments: dict[str, Json], read: tuple[Path, ...]
) -> dict[str, Json]:
    """Runs a tool of the library, or a source; what the tool or its caller did wrong is in the result."""
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
    if outcome.problem is not None:
        problem = outcome.problem
        return _result(outcome.isolation, outcome.seconds, error=(problem.kind, problem.message))
    return _result(outcome.isolation, outcome.seconds, value=outcome.value)


def refused(error: AlitaError) -> dict[str, Any]:
    """The same object for a call that never came to a sandbox."""
    return {**_result(None, 0.0, error=(type(error).__name__, error.message)), "remedy": error.remedy}


def shown(value: Json) -> str:
    """A result for people: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


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
    withheld = {one.name: one for one in library.withheld()}
    if as_json:
        print_json([{**_brief(tool), "withheld": _reason(withheld.get(tool.name))} for tool in tools])
    else:
        print_rows([(t.name, _standing(t, t.name in withheld), one_line(t.description, 80)) for t in tools])
        if not tools:
            print_note(f"No tools are in {library.folder} yet.")
    for one in withheld.values():
        print_note(f"{one.name} is not served to MCP clients: {one.reason}\n  {one.remedy}")


@app.command()
def show(name: Name, tools_dir: options.ToolsDir = None, as_json: options.AsJson = False) -> None:
    """Shows a tool: what it takes, what is known of it, and its source."""
    from mcp_tools.library import Flaw
    from mcp_tools.library.tool_files import as_document

    library = _library(_settings(tools_dir))
    standing = library.standing(name)
    if isinstance(standing, Flaw):
        return _show_flawed(library, standing, as_json=as_json)
    tool = library.get(name)
    stats = library.stats(name)
    if as_json:
        calls = {"calls": stats.calls, "successes": stats.successes, "failures": stats.failures}
        print_json({**as_document(tool), "source": tool.source, "path": str(library.path(name)), "stats": calls})
        return None
    parameters = tool.input_schema.get("properties", {})
    print_rows(
        [
            ("name", tool.name),
            ("status", str(tool.status)),
            ("purpose", one_line(tool.description, 200)),
            ("takes", ", ".join(f"{k}: {v.get('type', 'any')}" for k, v in parameters.items())),
            ("calls", f"{stats.calls}, {stats.successes} succeeded"),
            ("made by", str(tool.provenance.get("model", "unknown"))),
            ("file", str(library.path(name))),
        ]
    )
    print_text("\n" + tool.source)
    return None


def _show_flawed(library: Library, flaw: Flaw, *, as_json: bool) -> None:
    """Shows what there is of a tool whose files are no tool as they stand: its source may be what is wrong with it."""
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
    from agent.cli.library.tools import call, refused, shown

    try:
        settings = _settings(tools_dir, no_isolation=no_isolation)
        library = _library(settings)
        found = _tool_or_source(library, tool)
        result = exits.run(call(settings, library, found, _arguments(arguments), tuple(grant_read or ())))
    except AlitaError as error:
        if not as_json:
            raise
        show_error(error)
        print_json(refused(error))
        raise typer.Exit(error.exit_code) from None
    if as_json:
        print_json(result)
    elif result["ok"]:
        print_text(shown(result["value"]))
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
    from agent.cli.library.tools_approve import tested
    from mcp_tools.approve import Tests, as_written
    from mcp_tools.checks.check import check as apply
    from mcp_tools.tool import Capabilities

    settings = _settings(tools_dir, no_isolation=no_isolation)
    library, tests = _library(settings), Tests()
    if _is_file(tool):
        report = apply(_read(Path(tool)), capabilities=Capabilities(read=may_read))
    else:
        found = as_written(library, tool)
        report = apply(found.source, capabilities=found.capabilities, function=tool)
        if report.ok:
            tests = exits.run(tested(settings, library, found, grant_read or ()))
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
    from agent.cli.library.tools_approve import approvable, approve_all

    settings = _settings(tools_dir, no_isolation=no_isolation)
    library = _library(settings)
    if bool(names) == everything:
        raise UsageError(
            "Name the tools to approve, or say --all.", remedy="`alita tools list` shows which are withheld, and why."
        )
    wanted = approvable(library) if everything else list(dict.fromkeys(names or ()))
    report = exits.run(approve_all(settings, library, wanted, read=grant_read or (), tell=not as_json))
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
    from agent.configuration.settings_sources import read_settings

    return read_settings(options.flags({"tools_dir": tools_dir, "no_isolation": no_isolation}))


def _library(settings: Settings) -> Library:
    from mcp_tools.library import Library

    return Library(settings.tools_dir, settings.approvals_file)


def _brief(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "status": str(tool.status),
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
    }


def _reason(withheld: Withheld | None) -> dict[str, str] | None:
    return {"reason": withheld.reason, "remedy": withheld.remedy} if withheld else None


def _standing(tool: Tool, is_withheld: bool) -> str:
    return f"{tool.status}, withheld" if is_withheld else str(tool.status)


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

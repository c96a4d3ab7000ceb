"""`alita tools list|show|search|run|check|hosts|delete`."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.calls.host_requests import carried, uses_of
from agent.cli import exits, options
from agent.cli.answers import copy_files
from agent.cli.options import opt
from agent.cli.output import Result, done, error_text, fields, listing, print_note, warn_of_isolation
from agent.cli.verbs.completion import tool_names
from agent.cli.verbs.tools import create, exchange, review, upkeep
from agent.cli.verbs.tools.review import TestsMayRead, consent_of
from agent.consent.hosts import HostGrant, HostGrants
from agent.material.outputs import FOLDER as OUTPUTS
from agent.material.outputs import Outputs
from agent.resources import open_for
from agent.store.tool_records import open_library
from mcp_tools.checks.check import check as apply
from mcp_tools.checks.header import declared
from mcp_tools.create.approve import Tests, as_written, needed_by, run_tests, tests_of, tools_in
from mcp_tools.errors import (
    AlitaError,
    ArgumentsError,
    NotPermittedError,
    PolicyError,
    UnknownToolError,
    UsageError,
    UserError,
    os_errors_as,
)
from mcp_tools.hosts import HostError, read_host
from mcp_tools.library.approvals import Withheld
from mcp_tools.library.dependencies import needs_of
from mcp_tools.library.library import Library
from mcp_tools.library.tool_files import Flaw, as_document
from mcp_tools.packages import NOT_ALLOWED, is_provided
from mcp_tools.run import RefusedSourceError, run_kept, run_source
from mcp_tools.small_files import RECORD, read_small
from mcp_tools.text import count_of, one_line
from mcp_tools.tool import WRAPS, Json, Status, Tool

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from mcp_tools.sandbox.protocol import Isolation


app = options.App("The library of created tools.")
_MOST_NOTES = 3
"""If more tools than this are withheld for the same reason, they are counted instead of named."""

Name = Annotated[str, typer.Argument(metavar="NAME", help="The tool's name.", autocompletion=tool_names)]
NameOrFile = Annotated[
    str,
    typer.Argument(metavar="NAME_OR_FILE", help="A tool's name, or a Python file.", autocompletion=tool_names),
]


@app.command("list")
def list_(tools_dir: options.ToolsDir = None, as_json: options.AsJson = False) -> Result:
    """Lists the tools, and says which are withheld from MCP clients and why."""
    library = _library(options.settings())
    tools, withheld = library.list(), {one.name: one for one in library.withheld()}
    status = {tool.name: library.trust(tool.name) for tool in tools}
    reasons = {name: fields(one, "reason remedy") for name, one in withheld.items()}
    form = [{**_brief(tool), "status": status[tool.name], "withheld": reasons.get(tool.name)} for tool in tools]
    marks = [f"{status[tool.name]}{', withheld' if tool.name in withheld else ''}" for tool in tools]
    rows = [(t.name, mark, one_line(t.summary, 80)) for t, mark in zip(tools, marks, strict=True)]
    notes = _about_withheld(list(withheld.values()))
    return listing(form, rows, f"No tools are in {library.folder} yet." if not notes else "", notes)


def _about_withheld(withheld: Sequence[Withheld]) -> list[str]:
    """Return one note for each withheld tool, or a single note for many tools with the same reason."""
    notes: list[str] = []
    by_reason: dict[str, list[Withheld]] = defaultdict(list)
    for one in withheld:
        by_reason[one.reason].append(one)
    for reason, those in by_reason.items():
        if len(those) > _MOST_NOTES and all("--all" in one.remedy for one in those):
            plural = reason.replace("it was", "they were", 1)
            notes.append(f"{len(those)} tools are not served to MCP clients: {plural}\n  alita tools approve --all")
        else:
            notes += [f"{one.name} is not served to MCP clients: {reason}\n  {one.remedy}" for one in those]
    return notes


@app.command()
def show(name: Name, tools_dir: options.ToolsDir = None, as_json: options.AsJson = False) -> Result:
    """Shows a tool: its parameters, its record, what it may use, and its source."""
    settings = options.settings()
    library = _library(settings)
    with contextlib.suppress(AlitaError):
        name = library.get(name).name  # resolves an alias
    standing, path, warnings = library.tool_or_flaw(name), str(library.path(name)), []
    form: dict[str, Any]
    if isinstance(standing, Flaw):  # the problem may be the source itself
        try:
            source = library.source(name).decode(errors="replace")
        except UserError:
            source = ""
        form = {"name": name, "status": "draft", "flaw": fields(standing, "kind message remedy")}
        rows = [("name", name), ("status", "draft"), ("file", path)]
        warnings = [f"Warning: {standing.message}\n  {standing.remedy}"]
    else:
        tool = library.get(name)
        stats, source = library.stats(name), tool.source
        form = {**as_document(tool), "stats": fields(stats, "calls successes refused failures questions")}
        rows = [
            ("name", name),
            ("status", library.trust(name)),
            ("purpose", one_line(tool.summary, 500)),
            ("takes", one_line(_takes(tool.input_schema), 500)),
            *([("reaches", one_line(", ".join(tool.capabilities.hosts), 300))] if tool.capabilities.hosts else []),
            ("calls", f"{stats.calls}, {stats.successes} succeeded, {stats.refused} refused"),
            *([("wraps", one_line(str(tool.provenance[WRAPS]), 200))] if tool.provenance.get(WRAPS) else []),
            *([("also", one_line(", ".join(tool.aliases)))] if tool.aliases else []),
            ("made by", one_line(str(tool.provenance.get("model", "unknown")))),
            ("file", path),
        ]
        try:
            uses = exits.run(uses_of(library, tool, consent_of(settings)))
        except PolicyError as wrong:
            uses, warnings = [], [error_text(wrong)]
        rows += [("" if number else "may", f"{use} ({decider})") for number, (use, decider) in enumerate(uses)]
        form |= {"uses": [{"use": use, "decided_by": decider} for use, decider in uses]}
    return Result({**form, "source": source, "path": path}, rows, "\n" + source, warnings=warnings)


def _takes(schema: dict[str, Json]) -> str:
    """List a schema's parameters, optional ones with their defaults. The schema of an edited file may be invalid."""
    properties, required = schema.get("properties"), schema.get("required")
    needed = required if isinstance(required, list) else ()
    taken = []
    for name, one in properties.items() if isinstance(properties, dict) else ():
        about = one if isinstance(one, dict) else {}
        kind = about.get("type", "any")
        default = f" = {json.dumps(about['default'], ensure_ascii=False)}" if "default" in about else " (optional)"
        shown = " or ".join(map(str, kind)) if isinstance(kind, list) else kind
        taken.append(f"{name}: {shown}{'' if name in needed else default}")
    return ", ".join(taken)


@app.command()
def search(
    query: Annotated[list[str], typer.Argument(metavar="WORDS", help="What the tool should do.")],
    limit: options.MaxRows = 5,
    tools_dir: options.ToolsDir = None,
    as_json: options.AsJson = False,
) -> Result:
    """Finds tools that match a description."""
    hits = _library(options.settings()).search(" ".join(query), limit)
    rows = [(hit.tool.name, f"{hit.score:.2f}", one_line(hit.tool.summary, 80)) for hit in hits]
    return listing([{**_brief(hit.tool), "score": hit.score} for hit in hits], rows, "No tool matches.")


@app.command()
def run(
    tool: NameOrFile,
    arguments: Annotated[str, typer.Argument(metavar="JSON", help="The arguments as a JSON object.")] = "{}",
    grant_read: Annotated[
        list[Path] | None, opt("--grant-read PATH", "File or folder that the tool may read; repeatable.", exists=True)
    ] = None,
    out: options.OutputsTo = None,
    tools_dir: options.ToolsDir = None,
    no_isolation: options.NoIsolation = False,
    as_json: options.AsJson = False,
) -> Result:
    """Runs a tool in the sandbox. For a Python file, checks its source first."""
    try:
        result = exits.run(_call(options.settings(), tool, arguments, tuple(grant_read or ()), out))
    except AlitaError as error:
        form = {**_result(error=(type(error).__name__, error.message)), "remedy": error.remedy}
        return Result(form, warnings=[error_text(error)], code=error.exit_code)
    if not result["ok"]:
        remedy = f"\n  {result['remedy']}" if "remedy" in result else ""
        note = f"{tool} failed: {result['error']['message'].removeprefix('ValueError: ')}{remedy}"
        return Result(result, note=note, code=1)
    value = result["value"]
    return Result(result, text=value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2))


async def _call(settings: Settings, named: str, text: str, read: tuple[Path, ...], out: Path | None) -> dict[str, Json]:
    """Run a tool from the library or a source file. Errors of the tool or its caller are part of the result.

    Files made by the tool are copied to the folder `out`.
    """
    library = _library(settings)
    tool: Tool | str = _source(named) if _is_file(named) else library.get(named)
    typed = _arguments(text)
    arguments = {name: _with_granted_paths(value, read) for name, value in typed.items()}
    if isinstance(tool, str):
        needs = await needs_of(tools_in(library, tool, declared(tool)), library.get_async)
    else:
        needs = await needed_by(library, tool)
    async with AsyncExitStack() as opened:
        sandbox = await opened.enter_async_context(aclosing(await open_for(settings)))
        warn_of_isolation(settings, sandbox.isolation)
        made = Outputs(Path(opened.enter_context(tempfile.TemporaryDirectory()), OUTPUTS))
        folder = made.make() if out is not None else None
        carrying = partial(carried, settings, consent_of(settings))
        started = time.perf_counter()
        try:
            if isinstance(tool, str):
                outcome = await run_source(
                    tool, arguments, sandbox, read=read, write=folder, needs=needs, carried=carrying
                )
                library.record_calls(outcome.called)
            else:
                outcome = await run_kept(
                    library, tool, arguments, sandbox, read=read, write=folder, needs=needs, carried=carrying
                )
        except (ArgumentsError, RefusedSourceError, HostError, NotPermittedError) as error:
            kind = {ArgumentsError: "arguments", RefusedSourceError: "checks"}.get(type(error), "denied")
            return _result(time.perf_counter() - started, sandbox.isolation, error=(kind, str(error)))
        capabilities = declared(tool) if isinstance(tool, str) else tool.capabilities
        if out is not None:
            await copy_files(made.written_since({}), out)
        elif capabilities.write:
            print_note("Files that the tool writes are not kept. To keep them, add --out DIR.")
    problem = (outcome.problem.kind, outcome.problem.message) if outcome.problem else None
    value = None if problem else outcome.value
    result = _result(outcome.seconds, outcome.isolation, value=value, error=problem)
    lacking = [path for path in _paths_in(typed) if problem and path in problem[1]]
    if problem and problem[1].startswith(NOT_ALLOWED):
        result["error"]["message"] = problem[1].replace(NOT_ALLOWED, "you have not allowed")
        missing = (package for package in needs.and_packages(capabilities.packages) if not is_provided(package))
        result["remedy"] = f"First run: alita packages allow {' '.join(map(quote, missing))}"
    elif lacking and (isinstance(tool, str) or tool.capabilities.read):
        result["remedy"] = f"To let the tool read it: {' '.join(f'--grant-read {quote(path)}' for path in lacking)}"
    return result


def _with_granted_paths(value: Json, granted: Sequence[Path]) -> Json:
    """Make relative paths in an argument absolute, because a tool runs in another working directory.

    Only granted paths and files in granted folders are changed. Other text stays as it is.
    """
    if isinstance(value, list):
        return [_with_granted_paths(item, granted) for item in value]
    if isinstance(value, dict):
        return {key: _with_granted_paths(item, granted) for key, item in value.items()}
    if not _paths_in(value):
        return value
    path, *roots = (Path(os.path.abspath(str(one))) for one in (value, *granted))  # noqa: PTH100 - links stay
    is_granted = path in roots or (path.is_file() and any(map(path.is_relative_to, roots)))
    return str(path) if is_granted else value


def _paths_in(value: Json) -> list[str]:
    """Return the texts in arguments that are paths of existing files and folders."""
    if isinstance(value, list | dict):
        inner = value.values() if isinstance(value, dict) else value
        return [path for item in inner for path in _paths_in(item)]
    is_path = isinstance(value, str) and os.path.exists(value)  # noqa: PTH110 - `Path.exists` raises for a long text
    return [str(value)] if is_path else []


def _result(
    seconds: float = 0.0,
    isolation: Isolation | None = None,
    *,
    value: Json = None,
    error: tuple[str, str] | None = None,
) -> dict[str, Any]:
    problem = {"kind": error[0], "message": error[1]} if error else None
    level = str(isolation.level) if isolation else None
    return {"ok": not error, "value": value, "error": problem, "seconds": round(seconds, 6), "isolation": level}


@app.command()
def check(
    tool: NameOrFile,
    grant_read: TestsMayRead = None,
    tools_dir: options.ToolsDir = None,
    no_isolation: options.NoIsolation = False,
    as_json: options.AsJson = False,
) -> Result:
    """Checks source code without running it. For a tool in the library, also runs its tests in the sandbox."""

    async def tested(tool: Tool) -> Tests:
        async with aclosing(await open_for(settings)) as sandbox:
            needs, carrying = (
                await needed_by(library, tool),
                partial(carried, settings, consent_of(settings), is_new=True),
            )
            return await run_tests(tool, sandbox, grant_read or (), needs, carrying, asks_hosts=False)

    settings, tests = options.settings(), Tests()
    library = _library(settings)
    if _is_file(tool):
        source = _read(Path(tool))
        text = source.decode("utf-8", "replace")
        block = declared(text)
        report = apply(source, capabilities=replace(block, tools=tools_in(library, text, block)))
    else:
        found = as_written(library, tool)
        report = apply(found.source, capabilities=found.capabilities, function=tool)
        if report.ok and tests_of(found):
            tests = exits.run(tested(found))
    ok = report.ok and not tests.failed
    form = {**report.as_json(), "ok": ok, "passed_tests": len(tests.passed), "failed_tests": tests.failed}
    lines = [f"{tool}:{finding.line}: error: {finding.rule}: {finding.message}" for finding in report.findings]
    lines += [f"{tool}: error: a test fails: {failure}" for failure in tests.failed]
    counted = f" and {count_of(len(tests.passed), 'test')}" if tests.passed else ""
    note = f"{tool} passes the checks{counted}." if ok else f"{tool} does not pass the checks."
    return Result(form, text="\n".join(lines), note=note, code=0 if ok else 1)


@app.command()
def hosts(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="The tool's name.", autocompletion=tool_names)
    ] = None,
    allow: Annotated[bool, opt("--allow", "Let the tool use all its declared hosts and keys without asking.")] = False,
    forget: Annotated[bool, opt("--forget", "Revoke the hosts and keys that the tool was allowed.")] = False,
    tools_dir: options.ToolsDir = None,
    as_json: options.AsJson = False,
) -> Result:
    """Lists the hosts that tools may reach without asking; allows or revokes the hosts of a tool."""
    settings = options.settings()
    grants = HostGrants(settings.data_dir)
    if (allow or forget) and (name is None or (allow and forget)):
        raise UsageError(
            "--allow or --forget needs the name of one tool.", remedy="For example: alita tools hosts NAME --allow"
        )
    if name is not None and forget:
        return done(f"Revoked {count_of(grants.forget(name), 'host')} for {name}.", forgotten=name)
    if name is not None and allow:
        tool = _library(settings).get(name)
        may = tool.capabilities
        if tool.status is not Status.VERIFIED or not may.hosts:
            why = "declares no hosts" if not may.hosts else "is not approved"
            raise UsageError(f"{name} {why}.", remedy=f"alita tools approve {name}")
        source = exits.run(needed_by(_library(settings), tool)).version_of(tool)
        kept = [
            HostGrant(tool=name, source=source, host=str(read_host(host)), keys=may.keys, writes=True)
            for host in may.hosts
        ]
        grants.keep(kept)
        return done(
            f"{name} may reach {', '.join(may.hosts)} without asking.", allowed=[one.model_dump() for one in kept]
        )
    found = [one for one in grants.all if name in (None, one.tool)]
    rows = [(one.tool, one.host, "reads and writes" if one.writes else "reads", ", ".join(one.keys)) for one in found]
    return listing([one.model_dump() for one in found], rows, "No tool may reach a host without asking.")


@app.command()
def delete(name: Name, tools_dir: options.ToolsDir = None, as_json: options.AsJson = False) -> Result:
    """Deletes a tool. Its files are kept with the library's old versions."""
    library = _library(options.settings())
    library.delete(name)
    back = f"alita tools versions {name} lists the versions that rollback can restore as drafts."
    return done(f"Deleted {name} from {library.folder}. {back}", deleted=name)


def _library(settings: Settings) -> Library:
    return open_library(settings)


def _brief(tool: Tool) -> dict[str, Any]:
    form = {"name": tool.name, "status": str(tool.status), "description": tool.description}
    return {**form, "inputSchema": tool.input_schema, "outputSchema": tool.output_schema}


def _is_file(text: str) -> bool:
    return text.endswith(".py") or "/" in text


def _source(text: str) -> str:
    with os_errors_as(UsageError, f"Cannot read {text}"):
        return _read(Path(text)).decode()


def _read(path: Path) -> bytes:
    with os_errors_as(UsageError, f"Cannot read {path}"):
        if not path.exists():
            raise UnknownToolError(f"There is no file {path}.", remedy="`alita tools list` shows the tools.")
        return read_small(path, RECORD)


def _arguments(text: str) -> dict[str, Any]:
    try:
        arguments = json.loads(text)
        problem = "" if isinstance(arguments, dict) else f"a {type(arguments).__name__}, not an object"
    except (ValueError, RecursionError) as error:
        problem = f"not JSON: {error}"
    if problem:
        raise UsageError(
            f"The arguments are {problem}.", remedy="Give the arguments as a JSON object, such as '{\"n\": 57}'."
        )
    return dict(arguments)


for verbs in (create, exchange, review, upkeep):
    verbs.add_to(app)

"""`alita tools export|import|backup|restore`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from agent.cli import exits, options
from agent.cli.options import opt
from agent.cli.output import Result, print_note
from agent.cli.verbs.completion import tool_names
from agent.resources import environments_of, open_for
from agent.store.redact import require_no_keys
from agent.store.tool_records import open_library
from mcp_tools.errors import AlitaError, LibraryError, UsageError
from mcp_tools.exchange import STARTER, STARTER_FOLDER
from mcp_tools.packages import is_provided
from mcp_tools.text import count_of
from mcp_tools.tool import Status

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from mcp_tools.environments.store import Environments
    from mcp_tools.exchange.importer import ImportResult
    from mcp_tools.sandbox.protocol import Sandbox

_MOST_NAMED = 10
FormName = Literal["zip", "folder", "skill", "server", "wheel"]
Archive = Annotated[Path, typer.Argument(metavar="PATH", help="A file, a folder or an archive.")]
Replace = Annotated[bool, opt("--replace", "Replace tools of the same name; old versions are kept.")]


def export(
    to: Annotated[Path, opt("-o --output PATH", "File or folder to write; it must not exist yet.")],
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Tools to export.", autocompletion=tool_names)
    ] = None,
    everything: Annotated[bool, opt("--all", "Export every tool.")] = False,
    form: Annotated[
        FormName | None, opt("--as FORM", "zip, folder, skill, server or wheel; guessed from the file extension.")
    ] = None,
    private: Annotated[bool, opt("--private", "Also export questions, runs and recorded host responses.")] = False,
    tools_dir: options.ToolsDir = None,
    as_json: options.AsJson = False,
) -> Result:
    """Writes tools, with those that they import, as an archive, a folder, a skill, an MCP server or a wheel."""
    if bool(names) == everything:
        raise UsageError(
            "Give either the names of the tools to export or --all.", remedy="`alita tools list` lists the tools."
        )
    return _exported(to, names or (), form, private=private)


def backup(
    to: Annotated[Path, typer.Argument(metavar="FILE", help="Zip file to write; it must not exist yet.")],
    tools_dir: options.ToolsDir = None,
    as_json: options.AsJson = False,
) -> Result:
    """Writes all tools with their complete records to a zip file. Keep it private."""
    return _exported(to, (), "zip", private=True, is_backup=True)


def import_(
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH", help=f"A file, a folder or an archive; {STARTER}: the tools that come with alita."
        ),
    ],
    replace: Replace = False,
    tools_dir: options.ToolsDir = None,
    no_isolation: options.NoIsolation = False,
    as_json: options.AsJson = False,
) -> Result:
    """Imports tools as drafts: files written by `export`, folders of .py files, modules, and Open-Alita registries."""
    from mcp_tools.exchange.candidates import candidates

    origin = STARTER_FOLDER if path == STARTER else Path(path)
    if not path or not origin.exists():
        wanted = f"a file that `alita tools export` wrote, a folder of .py files, or {STARTER}"
        raise UsageError(f"There is no file {path or repr(path)}.", remedy=f"Import {wanted}: alita tools import PATH")
    settings, found = options.settings(), candidates(origin)
    if count := sum(one.document is None and not one.refused for one in found):
        print_note(f"Trying {count_of(count, 'source')} in the sandbox …")
    taken = exits.run(_take_all(settings, found, origin.name, replace))
    refused = [one for one in taken if one.verdict == "refused"]
    rows = [(one.name, one.verdict, _remarks(one)) for one in taken]
    new = [one.name for one in taken if one.verdict in {"imported", "repaired", "replaced"}]
    note = f"Imported {len(new)} of {count_of(len(taken), 'tool')}."
    if drafts := _drafts(settings, new):
        named = " ".join(drafts) if len(drafts) <= _MOST_NAMED else "--all"
        are_drafts = "It is a draft" if len(drafts) == 1 else "They are drafts" if drafts == new else "Some are drafts"
        note += f" {are_drafts}; to use {'it' if len(drafts) == 1 else 'them'}: alita tools approve {named}"
    form = {"ok": not refused, "tools": [one.as_json() for one in taken]}
    return Result(form, rows, note=note, code=1 if refused else 0)


def restore(
    path: Archive,
    replace: Replace = False,
    tools_dir: options.ToolsDir = None,
    no_isolation: options.NoIsolation = False,
    as_json: options.AsJson = False,
) -> Result:
    """Imports the tools of a backup. Tools that you approved here and that are unchanged stay approved."""
    return import_(str(path.absolute()), replace, tools_dir, no_isolation, as_json)


def add_to(app: options.App) -> None:
    """Register the commands."""
    app.command()(export)
    app.command("import")(import_)
    app.command()(backup)
    app.command()(restore)


def _exported(to: Path, names: Sequence[str], form: str | None, *, private: bool, is_backup: bool = False) -> Result:
    from mcp_tools.exchange.forms import FORMS, export, form_for, remarks_of
    from mcp_tools.exchange.parcel import packed

    settings = options.settings()
    library = open_library(settings)
    wanted = form or form_for(to)
    is_runnable, flawed = FORMS[wanted].is_runnable, {flaw.name: flaw.message for flaw in library.flaws()}
    if names:
        flawed = {}
    else:
        whole = library.list()
        names = [tool.name for tool in whole if not is_runnable or tool.status is Status.VERIFIED]
        flawed |= {tool.name: "it is a draft" for tool in whole if tool.name not in names}
    parcels = packed(library, names, environments_of(settings, print_note).wrapped, private=private)
    if not is_backup:  # a backup keeps everything, and stays with the user
        require_no_keys(parcels, settings.named_secrets)
    export(parcels, wanted, to, private=private)
    lock = exits.run(_locked(settings, to.absolute())) if wanted == "server" else ""
    warnings = remarks_of(parcels, wanted)
    warnings += [f"{name} is not exported: {why}" for name, why in sorted(flawed.items())]
    warnings += [lock] * bool(lock)
    form_ = {
        "ok": not flawed,
        "path": str(to),
        "as": wanted,
        "tools": [one.name for one in parcels],
        "left_out": {one.name: [*one.left_out] for one in parcels if one.left_out},
        "not_exported": flawed,
        "warnings": warnings,
    }
    note = f"{count_of(len(parcels), 'tool')} written to {to} ({FORMS[wanted].about})."
    return Result(form_, note=note, warnings=warnings, code=1 if flawed else 0)


async def _locked(settings: Settings, file: Path) -> str:
    """Write the lock file of an exported server with uv. Return the reason if that fails."""
    from mcp_tools.environments.lock import run_uv

    later = f"Without a lock, newer packages may be installed. To lock them later: uv lock --script {file}"
    try:
        cache = settings.data_dir / "environments" / "cache"
        problem = await run_uv(["lock", "--script", str(file)], cache=cache, seconds=120)
    except AlitaError as error:
        return f"{error.message} {later}"
    return f"uv could not lock its packages: {problem.strip()[-300:]} {later}" if problem is not None else ""


async def _take_all(settings: Settings, found: Sequence[Any], origin: str, replace: bool) -> list[ImportResult]:
    from mcp_tools.exchange.importer import ImportResult, ToolImporter, order

    environments = environments_of(settings, print_note)
    async with AsyncExitStack() as stack:
        opened: list[Sandbox] = []

        async def sandbox() -> Sandbox:
            if not opened:
                opened.append(await stack.enter_async_context(aclosing(await open_for(settings))))
            return opened[0]

        library = open_library(settings)
        importer = ToolImporter(
            library,
            origin,
            open_sandbox=sandbox,
            not_allowed=lambda packages: _not_allowed(environments, packages),
            code=environments.wrapped,
            replace=replace,
        )
        taken = []
        for one in order(found):
            try:
                taken.append(await importer.import_tool(one))
            except LibraryError as error:  # for example a full disk; earlier results are still reported
                taken.append(ImportResult(one.name, "refused", error.message, error.remedy))
        return taken


def _not_allowed(environments: Environments, packages: Sequence[str]) -> list[str]:
    from packaging.requirements import InvalidRequirement, Requirement

    from mcp_tools.environments.lock import PackageError, normalised

    allowed, found = {*environments.allowed}, []
    for package in environments.fetched(packages):
        try:
            is_allowed = is_provided(package) or Requirement(normalised(package)).name in allowed
        except (PackageError, InvalidRequirement):
            is_allowed = False
        found += [] if is_allowed else [package]
    return found


def _drafts(settings: Settings, names: Sequence[str]) -> list[str]:
    library = open_library(settings)
    return [name for name in names if library.get(name).status is not Status.VERIFIED]


def _remarks(one: ImportResult) -> str:
    remarks = [*one.repairs, *one.notes, *filter(None, [one.reason, one.remedy])]
    return "; ".join(remarks)

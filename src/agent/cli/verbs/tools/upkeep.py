"""`alita tools versions|diff|rollback|stats|gc`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any

import typer

from agent.cli import options
from agent.cli.confirmations import escaped
from agent.cli.options import opt
from agent.cli.output import Result, date_text, done, fields, listing
from agent.cli.verbs.completion import tool_names
from agent.store.tool_records import open_library
from mcp_tools.create.approve import HASH_SHOWN, as_written, version_difference
from mcp_tools.errors import LibraryError, UnknownToolError
from mcp_tools.library.library import Library
from mcp_tools.text import count_of, one_line
from mcp_tools.tool import Tool

_AS = {"draft": "a draft", "quarantined": "in quarantine"}
Name = Annotated[str, typer.Argument(metavar="NAME", help="The tool's name.", autocompletion=tool_names)]
Days = Annotated[float, opt("--days N", "Retire tools that were not called for this many days.", min=1)]


def add_to(app: options.App) -> None:
    """Register the commands."""
    for verb in (versions, diff, rollback, stats, gc):
        app.command()(verb)


def versions(name: Name, tools_dir: options.ToolsDir = None, as_json: options.AsJson = False) -> Result:
    """Lists the versions of a tool that are kept, also of a deleted one, oldest first."""
    library = _library()
    kept, standing = library.versions(name), _standing(library, name)
    if not kept and standing is None:
        library.tool_or_flaw(name)  # raises an error if the tool is unknown
    form, rows = [], []
    for version in kept:
        is_current = standing is not None and version.source_hash == standing.source_hash
        is_approved = library.was_approved(version)
        created = str(version.provenance.get("created", ""))
        form.append(
            {"version": version.source_hash, "created": created, "approved": is_approved, "current": is_current}
        )
        approval = "approved here" if is_approved else "not approved here"
        label, day = version.source_hash[:HASH_SHOWN], one_line(created[:16].replace("T", " "))
        rows.append((label, day, f"{approval}, current" if is_current else approval))
    return listing(form, rows, f"No version of {name} is kept yet.")


def diff(
    name: Name,
    old: Annotated[str | None, typer.Argument(metavar="[A]", help="Older version (default: the one before B).")] = None,
    new: Annotated[str | None, typer.Argument(metavar="[B]", help="Newer version (default: the current tool).")] = None,
    tools_dir: options.ToolsDir = None,
    as_json: options.AsJson = False,
) -> Result:
    """Shows what differs between two versions of a tool: source, definition and record."""
    before, after, found = version_difference(_library(), name, old or "", new or "")
    form = {"from": before.source_hash, "to": after.source_hash, "diff": found}
    text = "\n".join(map(escaped, found.split("\n"))) if found else ""
    return Result(form, text=text, note="" if found else "The two versions are the same.")


def rollback(
    name: Name,
    version: Annotated[str, typer.Argument(metavar="VERSION", help="The first characters of the version's hash.")],
    tools_dir: options.ToolsDir = None,
    as_json: options.AsJson = False,
) -> Result:
    """Replaces a tool by an old version. It is a draft unless you approved it before; the replaced version is kept."""
    library = _library()
    wanted = library.version(name, version)
    library.restore(name, wanted.source_hash)
    trust = library.trust(name)
    hint = "" if trust in {"verified", "trusted"} else f"\n  It is {_AS[trust]}: alita tools review {name}"
    return done(
        f"{name} was restored to version {wanted.source_hash[:HASH_SHOWN]}.{hint}",
        version=wanted.source_hash,
        status=trust,
    )


def stats(tools_dir: options.ToolsDir = None, as_json: options.AsJson = False) -> Result:
    """Shows how often each tool was called, how its calls ended, in how many questions, and when last.

    The counts are those of its present version; `earlier` counts calls of the versions before it.
    """
    library, form = _library(), []
    rows = [("tool", "status", "calls", "earlier", "refused", "questions", "last", "failures")]
    for tool in library.list():
        counted, status = library.stats(tool.name), library.trust(tool.name)
        form.append(
            {
                "name": tool.name,
                "status": status,
                **fields(counted, "calls earlier successes refused failures questions last"),
            }
        )
        failures = ", ".join(f"{count} {kind}" for kind, count in sorted(counted.failures.items()))
        last = date_text(counted.last) if counted.last else "never"
        numbers = (str(counted.calls), str(counted.earlier), str(counted.refused), str(counted.questions))
        rows.append((tool.name, status, *numbers, last, failures or "none"))
    return listing(form, rows if form else (), f"No tools are in {library.folder} yet.")


def gc(
    days: Days = 180,
    dry_run: Annotated[bool, opt("--dry-run", "Only show which tools would retire.")] = False,
    tools_dir: options.ToolsDir = None,
    as_json: options.AsJson = False,
) -> Result:
    """Retires tools that have not been used for a while. Trusted tools stay. Retired tools are kept as old versions."""
    library = _library()
    before = time.time() - timedelta(days=days).total_seconds()
    form: list[dict[str, Any]] = []
    kept, waiting, is_less = list[str](), [*_unused(library, before)], True
    while is_less:  # a tool can only be retired after the tools that import it
        count, kept = len(waiting), []
        for one in [*waiting]:
            name, version, since = one
            try:
                library.require_unimported(name, besides={retired["name"] for retired in form})
                if not dry_run:
                    library.delete(name, retires=True)
            except LibraryError as error:
                kept.append(f"{name} is not retired: {error.message}")
                continue
            form.append({"name": name, "version": version, "unused_since": since})
            waiting.remove(one)
        is_less = len(waiting) < count
    rows = [(one["name"], date_text(one["unused_since"]), _return(one)) for one in form]
    verb = "would retire" if dry_run else "retired"
    note = f"{count_of(len(form), 'tool')} {verb}."
    return Result({"dry_run": dry_run, "retired": form, "kept": kept}, rows, note=note, warnings=kept)


def _unused(library: Library, before: float) -> Sequence[tuple[str, str, float]]:
    """Return tools that have not been used since `before`, with version and last use, oldest first."""
    found = []
    for tool in library.list():
        if (since := library.unused_since(tool.name)) < before and library.trust(tool.name) != "trusted":
            found.append((tool.name, tool.source_hash, since))
    return sorted(found, key=lambda one: one[2])


def _return(retired: dict[str, Any]) -> str:
    return f"back: alita tools rollback {retired['name']} {retired['version'][:HASH_SHOWN]}"


def _standing(library: Library, name: str) -> Tool | None:
    try:
        return as_written(library, name)
    except (UnknownToolError, LibraryError):
        return None


def _library() -> Library:
    settings = options.settings()
    return open_library(settings)

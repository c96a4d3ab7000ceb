"""`alita mcp add|list|test|remove|disable|enable`, other people's MCP servers; and `install|uninstall|json`."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from agent.cli import exits, options
from agent.cli.output import print_json, print_note, print_rows, print_text
from agent.cli.servers import mcp_install
from agent.errors import UsageError
from mcp_tools.clients.definitions import listing_of, suspicions_of
from mcp_tools.clients.reconnect import Link
from mcp_tools.clients.server_status import Standing
from mcp_tools.errors import ServerError
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.consent.external_tools import ConfiguredServers
    from mcp_tools.clients.config_parser import Scope, ServerEntry
    from mcp_tools.clients.server_status import Standing


async def tested(standing: Standing) -> dict[str, Any]:
    """Connects to a server and lists its tools.

    Returns:
        What `--json` prints: ok, name, protocol, seconds, tools, notes, error.
    """
    assert standing.expanded is not None, "only a server that is ready can be tested"
    entry = standing.entry
    link = Link(standing.expanded, os.environ)
    report: dict[str, Any] = {"ok": False, "name": entry.name, "starts": entry.shown, "tools": [], "notes": []}
    started = time.perf_counter()
    try:
        definitions = await link.definitions()
        listing = listing_of(entry.name, definitions, entry.limits.tools)
        listed = definitions[: entry.limits.tools]
        suspicions = [f"{each.get('name')}: {said}" for each in listed for said in suspicions_of(each)]
        report |= {
            "ok": True,
            "protocol": link.protocol,
            "tools": [{"name": tool.name, "description": tool.description} for tool in listing.tools],
            "notes": [*listing.notes, *(f"suspicious: {one_line(said, 200)}" for said in suspicions)],
        }
    except ServerError as failure:
        report["error"] = {"kind": failure.kind, "message": failure.message, "remedy": failure.remedy}
    finally:
        report["seconds"] = round(time.perf_counter() - started, 3)
        await link.aclose()
    return report


def show(report: dict[str, Any]) -> None:
    """Prints a report for people: tools on stdout, everything else on stderr."""
    if error := report.get("error"):
        print_note(f"{report['name']} cannot be used: {error['message']}")
        print_note(f"  It starts: {report['starts']}")
        if error["remedy"]:
            print_note(f"  {error['remedy']}")
        return
    print_rows([(tool["name"], one_line(tool["description"], 90)) for tool in report["tools"]])
    for note in report["notes"]:
        print_note(note)
    count = len(report["tools"])
    print_note(
        f"{report['name']} speaks MCP {report['protocol']} and has {count} tool{'' if count == 1 else 's'} "
        f"({report['seconds']:.2f} s)."
    )


app = options.new_app("MCP: uses other people's servers, and gives the tools to other programs.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The server's name.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Allow it without asking.")]


class AddCommand(TyperCommand):
    """What follows the server's name and our options is the server's command, with its own options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts `--` before the command."""
        valued = {name for p in self.params if not getattr(p, "is_flag", True) for name in p.opts}
        words, at = 0, 0
        while at < len(args) and args[at] != "--":
            if args[at].startswith("-"):
                at += 2 if args[at] in valued else 1
                continue
            words += 1
            if words == 2:
                return super().parse_args(ctx, [*args[:at], "--", *args[at:]])
            at += 1
        return super().parse_args(ctx, args)


@app.command(cls=AddCommand)
def add(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="NAME [COMMAND [ARGS]...]", help="Its name, and how to start it.")
    ] = None,
    url: Annotated[str, typer.Option("--url", metavar="URL", help="Its address, instead of a command.")] = "",
    env: Annotated[
        list[str] | None, typer.Option("--env", "-e", metavar="K=V", help="A variable for it; V may be ${NAME}.")
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option("--header", metavar="K=V", help="A header for its address; V may be ${NAME}.")
    ] = None,
    scope: Annotated[str, typer.Option("--scope", metavar="user|project", help="For you, or in .mcp.json.")] = "user",
    timeout: Annotated[float | None, typer.Option("--timeout", metavar="S", help="Seconds of one call.")] = None,
    roots: Annotated[bool, typer.Option("--roots", help="Tell it the current folder when it asks.")] = False,
    file: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="Take servers from another client's settings.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Adds a server: NAME and its command, or NAME and --url; or all of another client's file with --from."""
    from agent.cli.servers import mcp_adding

    given = list(words or ())
    settings, where = _settings(), _scope(scope)
    if file is not None:
        added = mcp_adding.imported(settings, file, given, where)
    else:
        entry = mcp_adding.described(given, url=url, env=env or (), headers=header or (), seconds=timeout, roots=roots)
        added = [mcp_adding.kept(settings, entry, where)]
    if as_json:
        print_json({"ok": True, "added": [entry.name for entry in added]})
    for entry in added:
        print_note(f"Added {entry.name} to {entry.path}. Try it: alita mcp test {entry.name}")


@app.command("list")
def list_(as_json: options.AsJson = False) -> None:
    """Lists the configured servers, and why some are not started."""
    configured = _configured(_settings())
    if as_json:
        problems = [{"where": problem.where, "message": problem.message} for problem in configured.problems]
        print_json({"servers": [_as_json(standing) for standing in configured.standings], "problems": problems})
    else:
        print_rows([_row(standing) for standing in configured.standings])
        if not configured.standings:
            print_note("No server is configured. Add one: alita mcp add NAME COMMAND [ARGS]...")
    for standing in configured.standings:
        if standing.state in {"undecided", "unusable", "refused"}:
            print_note(f"{standing.entry.name} is not started: {standing.reason}\n  {standing.remedy}")
    for problem in configured.problems:
        print_note(f"{problem.where}: {problem.message}")


@app.command("test")
def try_(name: Name, as_json: options.AsJson = False) -> None:
    """Connects to a server, lists its tools and says how long it took, or what failed."""
    configured = _configured(_settings())
    report = exits.run(tested(_allowed(name, configured)))
    if as_json:
        print_json(report)
    else:
        show(report)
    raise typer.Exit(0 if report["ok"] else 1)


@app.command()
def remove(name: Name, as_json: options.AsJson = False) -> None:
    """Removes a server from your file, or from the project's .mcp.json."""
    from mcp_tools.clients.config_files import PROJECT_FILE, USER_FILE, take_out

    settings = _settings()
    entry = _found(name, _configured(settings)).entry
    if entry.path.name not in {PROJECT_FILE, USER_FILE} or entry.path.parent.name in {".cursor", ".vscode"}:
        raise UsageError(
            f"{entry.path} belongs to another program.", remedy=f"Leave it there and say: alita mcp disable {name}"
        )
    take_out(entry.path, name, _lock(settings))
    _say({"ok": True, "removed": name}, f"Removed {name} from {entry.path}.", as_json)


@app.command()
def disable(name: Name, as_json: options.AsJson = False) -> None:
    """Leaves a server out until it is enabled; one of a project for you alone."""
    _switch(name, off=True)
    _say({"ok": True, "disabled": name}, f"{name} is not started any more.", as_json)


@app.command()
def enable(name: Name, yes: Yes = False, as_json: options.AsJson = False) -> None:
    """Starts a server again when it is needed, and allows, after a look, what a project defines or a server changed."""
    from agent.cli.asking.trusting import allowed, is_terminal, visible

    configured = _configured(_settings())
    entry = _found(name, configured).entry
    if entry.scope == "project":
        if not yes and not is_terminal():
            raise UsageError(
                f"{entry.path} defines {name}; it would start: {visible(entry.shown)}",
                remedy=f"If you trust that: alita mcp enable {name} --yes",
            )
        if not yes and not allowed(entry, configured):
            raise typer.Exit(1)
        configured.decisions.decide(entry.digest, configured.project, "trusted")
    if not _changes_allowed(entry, yes=yes):
        raise typer.Exit(1)
    _switch(name, off=False)
    _say({"ok": True, "enabled": name}, f"{name} is started when a question needs it.", as_json)


mcp_install.add_commands(app)


def _switch(name: str, *, off: bool) -> None:
    from dataclasses import replace

    from mcp_tools.clients.config_files import put

    settings = _settings()
    configured = _configured(settings)
    entry = _found(name, configured).entry
    if entry.scope == "project":
        configured.decisions.switch(entry, configured.project, off=off)
    if entry.scope == "user" or (entry.is_off and not off):
        put(entry.path, replace(entry, is_off=off), _lock(settings))


def _changes_allowed(entry: ServerEntry, *, yes: bool) -> bool:
    """Whether tools of which the server says something else than before may be called; without any, they may."""
    from agent.cli.asking.trusting import is_terminal, tools_allowed, visible
    from mcp_tools.clients.trust import PINS_FILE, Seen

    seen = Seen(_settings().data_dir / PINS_FILE)
    changed = seen.pending(entry)
    if changed and not yes and not is_terminal():
        raise UsageError(
            f"{entry.name} now defines {changed[0].tool} as: {visible(changed[0].definition)}",
            remedy=f"If you trust that: alita mcp enable {entry.name} --yes",
        )
    if changed and not yes and not tools_allowed(changed):
        return False
    if changed:
        seen.trust(entry, [each.tool for each in changed])
    return True


def _allowed(name: str, configured: ConfiguredServers) -> Standing:
    """The server, ready to be started because the user names it; one of a project is asked about first."""
    import os

    from agent.cli.asking.trusting import allowed, is_terminal, visible
    from mcp_tools.clients.server_status import standing_of

    found = _found(name, configured)
    if found.state in {"undecided", "refused"} and not (is_terminal() and allowed(found.entry, configured)):
        raise UsageError(
            f"{found.entry.path} defines {name}, which you have not allowed; it would start: "
            f"{visible(found.entry.shown)}",
            remedy=f"If you trust that: alita mcp enable {name} --yes",
        )
    standing = standing_of(found.entry, configured.decisions, os.environ, configured.project, decided=True)
    if standing.expanded is None:
        raise UsageError(standing.reason, remedy=standing.remedy)
    return standing


def _found(name: str, configured: ConfiguredServers) -> Standing:
    import difflib

    found = {standing.entry.name: standing for standing in configured.standings}
    if name in found:
        return found[name]
    near: Sequence[str] = difflib.get_close_matches(name, found, n=1)
    hint = f"Did you mean {near[0]}? " if near else ""
    raise UsageError(f"There is no server {name!r}.", remedy=f"{hint}`alita mcp list` shows all.")


def _row(standing: Standing) -> tuple[str, ...]:
    entry = standing.entry
    return entry.name, standing.state, str(entry.path), one_line(entry.shown, 100)


def _as_json(standing: Standing) -> dict[str, Any]:
    entry = standing.entry
    return {
        "name": entry.name,
        "state": standing.state,
        "reason": standing.reason,
        "scope": entry.scope,
        "file": str(entry.path),
        "transport": "http" if entry.url else "stdio",
        "starts": entry.shown,
        "variables": sorted(entry.environment),
        "headers": sorted(entry.headers),
    }


def _settings() -> Settings:
    from agent.configuration.settings_sources import read_settings

    return read_settings()


def _configured(settings: Settings) -> ConfiguredServers:
    from agent.consent.external_tools import ConfiguredServers

    return ConfiguredServers(settings, Path.cwd())


def _lock(settings: Settings) -> Path:
    return settings.data_dir / "mcp.lock"


def _scope(text: str) -> Scope:
    if text == "user":
        return "user"
    if text == "project":
        return "project"
    raise UsageError(f"There is no scope {text!r}.", remedy="Say --scope user or --scope project.")


def _say(form: dict[str, Any], text: str, as_json: bool) -> None:
    if as_json:
        print_json(form)
    else:
        print_text(text)

"""`alita mcp add|list|test|remove|disable|enable`, other people's MCP servers; and `install|uninstall|json`."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from agent.cli import exits, mcp_install, options
from agent.cli.confirmations import ask_about_changes, ask_about_server, is_terminal, visible
from agent.cli.output import print_json, print_note, print_rows, print_text
from agent.errors import UsageError
from mcp_tools.clients.config_files import PROJECT_FILE, USER_FILE, put, read, take_out
from mcp_tools.errors import ServerError
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.consent.external_tools import ConfiguredServers
    from mcp_tools.clients.config_parser import Scope, ServerEntry
    from mcp_tools.clients.trust import Standing


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
    scope: Annotated[
        Literal["user", "project"], typer.Option("--scope", metavar="user|project", help="For you, or in .mcp.json.")
    ] = "user",
    timeout: Annotated[float | None, typer.Option("--timeout", metavar="S", help="Seconds of one call.")] = None,
    roots: Annotated[bool, typer.Option("--roots", help="Tell it the current folder when it asks.")] = False,
    file: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="Take servers from another client's settings.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Adds a server: NAME and its command, or NAME and --url; or all of another client's file with --from."""
    given, settings = list(words or ()), options.settings()
    if file is not None:
        added = _imported(settings, file, given, scope)
    else:
        entry = _described(given, url=url, env=env or (), headers=header or (), seconds=timeout, roots=roots)
        added = [_kept(settings, entry, scope)]
    if as_json:
        print_json({"ok": True, "added": [entry.name for entry in added]})
    for entry in added:
        print_note(f"Added {entry.name} to {entry.path}. Try it: alita mcp test {entry.name}")


@app.command("list")
def list_(as_json: options.AsJson = False) -> None:
    """Lists the configured servers, and why some are not started."""
    configured = _configured()
    if as_json:
        problems = [{"where": problem.where, "message": problem.message} for problem in configured.problems]
        print_json({"servers": [_as_json(standing) for standing in configured.standings], "problems": problems})
    else:
        found = [(one.entry, one.state) for one in configured.standings]
        print_rows([(entry.name, state, str(entry.path), one_line(entry.shown, 100)) for entry, state in found])
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
    configured = _configured()
    report = exits.run(_tested(_allowed(name, configured)))
    if as_json:
        print_json(report)
    else:
        _show_test(report)
    raise typer.Exit(0 if report["ok"] else 1)


@app.command()
def remove(name: Name, as_json: options.AsJson = False) -> None:
    """Removes a server from your file, or from the project's .mcp.json."""
    entry = _found(name, _configured()).entry
    if entry.path.name not in {PROJECT_FILE, USER_FILE} or entry.path.parent.name in {".cursor", ".vscode"}:
        raise UsageError(
            f"{entry.path} belongs to another program.", remedy=f"Leave it there and say: alita mcp disable {name}"
        )
    take_out(entry.path, name)
    _say({"ok": True, "removed": name}, f"Removed {name} from {entry.path}.", as_json)


@app.command()
def disable(name: Name, as_json: options.AsJson = False) -> None:
    """Leaves a server out until it is enabled; one of a project for you alone."""
    _switch(name, off=True)
    _say({"ok": True, "disabled": name}, f"{name} is not started any more.", as_json)


@app.command()
def enable(name: Name, yes: Yes = False, as_json: options.AsJson = False) -> None:
    """Starts a server again when it is needed, and allows, after a look, what a project defines or a server changed."""
    configured = _configured()
    entry = _found(name, configured).entry
    if entry.scope == "project":
        if not yes and not is_terminal():
            raise _not_allowed(entry)
        if not yes and not ask_about_server(entry, configured):
            raise typer.Exit(1)
        configured.decisions.decide(entry.digest, configured.project, "trusted")
    if not _changes_allowed(entry, yes=yes):
        raise typer.Exit(1)
    _switch(name, off=False)
    _say({"ok": True, "enabled": name}, f"{name} is started when a question needs it.", as_json)


app.command()(mcp_install.install)
app.command()(mcp_install.uninstall)
app.command("json")(mcp_install.json_)


def _switch(name: str, *, off: bool) -> None:
    configured = _configured()
    entry = _found(name, configured).entry
    if entry.scope == "project":
        configured.decisions.switch(entry, configured.project, off=off)
    if entry.scope == "user" or (entry.is_off and not off):
        put(entry.path, replace(entry, is_off=off))


def _changes_allowed(entry: ServerEntry, *, yes: bool) -> bool:
    """Whether tools whose definition the server has changed may be called; True when there are none."""
    from mcp_tools.clients.trust import PINS_FILE, Seen

    seen = Seen(options.settings().data_dir / PINS_FILE)
    changed = seen.pending(entry)
    if changed and not yes and not is_terminal():
        raise UsageError(
            f"{entry.name} now defines {changed[0].tool} as: {visible(changed[0].definition)}",
            remedy=f"If you trust that: alita mcp enable {entry.name} --yes",
        )
    if changed and not yes and not ask_about_changes(changed):
        return False
    if changed:
        seen.trust(entry, [each.tool for each in changed])
    return True


async def _tested(standing: Standing) -> dict[str, Any]:
    """Connects to a server and lists its tools.

    Returns:
        What `--json` prints: ok, name, protocol, seconds, tools, notes, error.
    """
    from mcp_tools.clients.definitions import listing_of, suspicions_of
    from mcp_tools.clients.servers import Link

    assert standing.expanded is not None, "only a server that is ready can be tested"
    entry = standing.entry
    link = Link(standing.expanded, os.environ)
    report: dict[str, Any] = {"ok": False, "name": entry.name, "starts": entry.shown, "tools": [], "notes": []}
    started = time.perf_counter()
    try:
        definitions = await link.definitions()
        listing = listing_of(entry.name, definitions, entry.limits.max_tools)
        listed = definitions[: entry.limits.max_tools]
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


def _show_test(report: dict[str, Any]) -> None:
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


def _allowed(name: str, configured: ConfiguredServers) -> Standing:
    """The server, ready to be started because the user names it; one of a project is asked about first."""
    from mcp_tools.clients.trust import standing_of

    found = _found(name, configured)
    undecided = found.state in {"undecided", "refused"}
    if undecided and not (is_terminal() and ask_about_server(found.entry, configured)):
        raise _not_allowed(found.entry)
    standing = standing_of(found.entry, configured.decisions, os.environ, configured.project, decided=True)
    if standing.expanded is None:
        raise UsageError(standing.reason, remedy=standing.remedy)
    return standing


def _not_allowed(entry: ServerEntry) -> UsageError:
    return UsageError(
        f"{entry.path} defines {entry.name}, which you have not allowed; it would start: {visible(entry.shown)}",
        remedy=f"If you trust that: alita mcp enable {entry.name} --yes",
    )


def _found(name: str, configured: ConfiguredServers) -> Standing:
    found = {standing.entry.name: standing for standing in configured.standings}
    if name in found:
        return found[name]
    near = get_close_matches(name, found, n=1)
    hint = f"Did you mean {near[0]}? " if near else ""
    raise UsageError(f"There is no server {name!r}.", remedy=f"{hint}`alita mcp list` shows all.")


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


def _configured() -> ConfiguredServers:
    from agent.consent.external_tools import ConfiguredServers

    return ConfiguredServers(options.settings(), Path.cwd())


def _say(form: dict[str, Any], text: str, as_json: bool) -> None:
    if as_json:
        print_json(form)
    else:
        print_text(text)


_USAGE = "alita mcp add NAME COMMAND [ARGS]..., or: alita mcp add NAME --url URL"


def _described(
    words: Sequence[str],
    *,
    url: str,
    env: Sequence[str],
    headers: Sequence[str],
    seconds: float | None,
    roots: bool,
) -> ServerEntry:
    """The server that a command line describes."""
    from mcp_tools.clients.config_parser import parse_document

    if not words:
        raise UsageError("The server has no name.", remedy=_USAGE)
    name, *command = words
    if url and command:
        raise UsageError(f"It has both an address and a command: {command[0]!r}.", remedy=_USAGE)
    if not url and not command:
        raise UsageError(f"No command or --url is given for {name!r}.", remedy=_USAGE)
    form = {
        **({"url": url} if url else {"command": command[0], "args": command[1:]}),
        "env": _pairs(env, "--env", "="),
        "headers": _pairs(headers, "--header", "=:"),
        "alita": {**({"callSeconds": seconds} if seconds is not None else {}), **({"roots": True} if roots else {})},
    }
    parsed = parse_document({"mcpServers": {name: form}}, Path(), "user")
    if parsed.problems:
        raise UsageError(f"{name}: {parsed.problems[0].message}.", remedy=_USAGE)
    return parsed.entries[0]


def _kept(settings: Settings, entry: ServerEntry, scope: Scope) -> ServerEntry:
    """Writes the server into a file of ours. Whoever adds it trusts it."""
    from mcp_tools.clients.config_parser import REFUSED_VARIABLE, steering_variables
    from mcp_tools.clients.trust import FILE, Decisions

    path = _file(settings, scope)
    placed = replace(entry, scope=scope, path=path)
    if any(known.name == entry.name for known in read(path, scope).entries):
        raise UsageError(f"{path} has a server {entry.name!r} already.", remedy=f"alita mcp remove {entry.name}")
    if scope == "project" and (steering := steering_variables(entry)):
        raise UsageError(
            f"{entry.name}: {REFUSED_VARIABLE.format(steering[0])}.",
            remedy="Add the server for you alone: --scope user",
        )
    put(path, placed)
    if scope == "user":
        _warn_of_files_here(placed)
    if scope == "project":
        _warn_of_secrets(placed)
        written = next((known for known in read(path, scope).entries if known.name == entry.name), placed)
        Decisions(settings.data_dir / FILE).decide(written.digest, Path.cwd(), "trusted")
    return placed


def _imported(settings: Settings, file: Path, names: Sequence[str], scope: Scope) -> list[ServerEntry]:
    """Adds the servers of another client's settings file, those named or all; known names are left as they are."""
    if not file.is_file():
        raise UsageError(f"There is no file {file}.")
    parsed = read(file, "user")
    for problem in parsed.problems:
        print_note(f"{problem.where}: {problem.message}")
    found = {entry.name: entry for entry in parsed.entries}
    if missing := [name for name in names if name not in found]:
        raise UsageError(f"{file} has no server {missing[0]!r}.", remedy=f"It has: {', '.join(found) or 'none'}.")
    if not found:
        raise UsageError(f"{file} has no server that can be used.")
    known = {entry.name for entry in read(_file(settings, scope), scope).entries}
    wanted = [entry for name, entry in found.items() if not names or name in names]
    for entry in wanted:
        if entry.name in known:
            print_note(f"{entry.name} is left as it is: {_file(settings, scope)} has it already.")
    return [_kept(settings, entry, scope) for entry in wanted if entry.name not in known]


def _file(settings: Settings, scope: Scope) -> Path:
    return settings.config_dir / USER_FILE if scope == "user" else Path.cwd() / PROJECT_FILE


def _pairs(given: Sequence[str], option: str, signs: str) -> dict[str, str]:
    found = {}
    for pair in given:
        at = min((pair.index(sign) for sign in signs if sign in pair), default=0)
        if not at:
            raise UsageError(f"{option} {pair!r} is no NAME=VALUE.", remedy=f"Write {option} NAME=VALUE.")
        found[pair[:at].strip()] = pair[at + 1 :].strip()
    return found


def _warn_of_secrets(entry: ServerEntry) -> None:
    """A project's file is shared: a key does not belong there."""
    from mcp_tools.clients.config_parser import is_secret_name

    for name, value in {**entry.environment, **entry.headers}.items():
        if is_secret_name(name) and "${" not in value:
            print_note(f"{entry.path} is shared and holds the value of {name}; write ${{NAME}} instead.")


def _warn_of_files_here(entry: ServerEntry) -> None:
    """A server of the user runs in the home folder, wherever alita is called."""
    words = [word for word in (entry.command, *entry.arguments) if not word.startswith("-")]
    for word in () if entry.folder or entry.url else words:
        if not Path(word).is_absolute() and Path(word).is_file() and ("/" in word or word != entry.command):
            print_note(
                f"{word} is a file of this folder, but {entry.name} runs in your home folder. "
                f"If you mean that file, write its whole path: {Path(word).absolute()}"
            )

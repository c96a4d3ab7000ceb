"""`alita mcp`: MCP servers for alita (`add`, `list`, `test` …), and alita in MCP clients (`install` …)."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from agent.cli import exits, options
from agent.cli.confirmations import ask_about_changes, ask_about_server, is_terminal, to_user, visible
from agent.cli.options import opt
from agent.cli.output import Result, done, fields, listing, print_json, print_note
from agent.configuration.paths import TOOLS_FOLDER
from agent.consent.external_tools import ConfiguredServers
from agent.errors import UsageError
from agent.hosts.clients import NAMES, find_host, server_command, uncarried
from agent.hosts.settings_file import planned, snippet, write
from mcp_tools.clients.config_files import PROJECT_FILE, USER_FILE, read_servers, write_entry
from mcp_tools.clients.config_parser import REFUSED_VARIABLE, is_secret_name, parse_document, steering_variables
from mcp_tools.clients.definitions import listing_of, suspicions_of
from mcp_tools.clients.servers import ServerLink
from mcp_tools.clients.trust import FILE, PINS_FILE, Contact, Decisions, ToolPins, status_of
from mcp_tools.errors import ServerError
from mcp_tools.small_files import leads_out
from mcp_tools.text import count_of, did_you_mean, one_line

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.hosts.clients import ClientProgram, ServerCommand
    from agent.hosts.settings_file import SettingsChange
    from mcp_tools.clients.config_parser import Scope, ServerEntry
    from mcp_tools.clients.trust import ServerStatus


app = options.App("MCP: connect to other servers, and install alita in other programs.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The server's name.")]
Yes = Annotated[bool, opt("--yes -y", "Allow without asking.")]
_USAGE = "alita mcp add NAME COMMAND [ARGS]..., or: alita mcp add NAME --url URL"


class AddCommand(options.Command):
    """Treats everything after the server's name and our own options as the server's command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert `--` before the server's command."""
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
        list[str] | None,
        typer.Argument(metavar="NAME COMMAND [ARGS…]", help="Name of the server and the command that starts it."),
    ] = None,
    url: Annotated[str, opt("--url URL", "URL of the server, instead of a command.")] = "",
    env: Annotated[list[str] | None, opt("--env -e K=V", "Environment variable to set; V may be ${NAME}.")] = None,
    header: Annotated[list[str] | None, opt("--header K=V", "HTTP header to send; V may be ${NAME}.")] = None,
    scope: Annotated[
        Literal["user", "project"], opt("--scope user|project", "user: for you alone; project: in .mcp.json.")
    ] = "user",
    timeout: Annotated[float | None, opt("--timeout S", "Time limit for one call, in seconds.")] = None,
    as_json: options.AsJson = False,
) -> Result:
    """Adds a server: NAME and its command, or NAME and --url."""
    own = {"callSeconds": timeout} if timeout is not None else {}
    more = {"env": _pairs(env, "--env", "="), "headers": _pairs(header, "--header", "=:"), "alita": own}
    entry = _kept(options.settings(), _described(words or (), url, more), scope)
    return done(f"Added {entry.name} to {entry.path}. Try it: alita mcp test {entry.name}", added=entry.name)


def _described(words: Sequence[str], url: str, more: dict[str, Any]) -> ServerEntry:
    if not words:
        raise UsageError("No server name was given.", remedy=_USAGE)
    name, *command = words
    if url and command:
        raise UsageError(f"Both --url and a command were given: {command[0]!r}.", remedy=_USAGE)
    if not url and not command:
        raise UsageError(f"The server {name!r} needs a command or --url.", remedy=_USAGE)
    form = {**({"url": url} if url else {"command": command[0], "args": command[1:]}), **more}
    parsed = parse_document({"mcpServers": {name: form}}, Path(), "user")
    if parsed.problems:
        raise UsageError(f"{name}: {parsed.problems[0].message}.", remedy=_USAGE)
    return parsed.entries[0]


def _pairs(given: Sequence[str] | None, option: str, signs: str) -> dict[str, str]:
    found = {}
    for pair in given or ():
        at = min((pair.index(sign) for sign in signs if sign in pair), default=0)
        if not at:
            raise UsageError(
                f"{option} {pair!r} does not have the form NAME=VALUE.", remedy=f"Use {option} NAME=VALUE."
            )
        found[pair[:at].strip()] = pair[at + 1 :].strip()
    return found


def _kept(settings: Settings, entry: ServerEntry, scope: Scope) -> ServerEntry:
    """Add a server to one of our files. Adding a server also allows it."""
    path = _file(settings, scope)
    placed = entry.model_copy(update={"scope": scope, "path": path})
    if any(known.name == entry.name for known in read_servers(path, scope).entries):
        raise UsageError(
            f"{path} already has a server {entry.name!r}.",
            remedy=f"To replace it, first run: alita mcp remove {entry.name}",
        )
    if scope == "project" and (steering := steering_variables(entry)):
        refused = f"{entry.name}: {REFUSED_VARIABLE.format(steering[0])}."
        raise UsageError(refused, remedy="Add the server for you alone: --scope user")
    _put(path, entry.name, placed)
    if scope == "user":
        return placed
    for name, value in {**entry.environment, **entry.headers}.items():
        if is_secret_name(name) and "${" not in value:
            print_note(f"{path} is shared and now contains the value of {name}; use ${{NAME}} instead.")
    written = next((known for known in read_servers(path, scope).entries if known.name == entry.name), placed)
    Decisions(settings.data_dir / FILE).decide(written.digest, Path.cwd(), "trusted")
    return placed


def _put(path: Path, name: str, entry: ServerEntry | None) -> None:
    if path.name == PROJECT_FILE:
        _require_inside(path, path.parent)
    if backup := write_entry(path, name, entry):
        print_note(f"The old file is kept as {backup}.")


def _file(settings: Settings, scope: Scope) -> Path:
    return settings.config_dir / USER_FILE if scope == "user" else Path.cwd() / PROJECT_FILE


@app.command("list")
def list_(as_json: options.AsJson = False) -> Result:
    """Lists the configured servers, and says why some are not started."""
    configured = _configured()
    problems = [fields(problem, "where message") for problem in configured.problems]
    servers, rows, warnings = [], [], []
    for standing in configured.standings:
        entry = standing.entry
        state, contact = configured.state(standing), configured.contact(standing)
        rows.append((entry.name, state, str(entry.path), one_line(entry.shown, 100)))
        servers.append(
            {"name": entry.name, "scope": entry.scope, "file": str(entry.path)}
            | {"transport": "http" if entry.url else "stdio", **fields(standing, "state reason")}
            | {"contact": contact and contact.model_dump()}
            | {"starts": entry.shown, "variables": sorted(entry.environment), "headers": sorted(entry.headers)}
        )
        if standing.state in {"undecided", "unusable", "refused"}:
            warnings.append(f"{entry.name} is not started: {standing.reason}\n  {standing.remedy}")
        elif state == "failed" and contact:
            warnings.append(f"{entry.name} could not be used: {contact.notes[0]}\n  alita mcp test {entry.name}")
        elif state == "ready" and contact:
            warnings += contact.notes
    warnings += [f"{problem.where}: {problem.message}" for problem in configured.problems]
    none = "No server is configured. Add one: alita mcp add NAME COMMAND [ARGS]..."
    return listing({"servers": servers, "problems": problems}, rows, none, warnings)


@app.command("test")
def try_(name: Name, as_json: options.AsJson = False) -> Result:
    """Connects to a server and lists its tools, or says what failed."""
    configured = _configured()
    found = _found(name, configured)
    undecided = found.state in {"undecided", "refused"}
    if undecided and not (is_terminal() and ask_about_server(found.entry, configured)):
        raise _not_allowed(found.entry)
    standing = status_of(found.entry, configured.decisions, os.environ, configured.project, decided=True)
    if standing.expanded is None:
        raise UsageError(standing.reason, remedy=standing.remedy)
    report = exits.run(_tested(standing))
    if error := report.get("error"):
        remedy = f"\n  {error['remedy']}" if error["remedy"] else ""
        note = f"{name} cannot be used: {error['message']}\n  It starts: {report['starts']}{remedy}"
        return Result(report, note=note, code=1)
    rows = [(tool["name"], one_line(tool["description"], 90)) for tool in report["tools"]]
    speaks = f"{name} speaks MCP {report['protocol']} and has {count_of(len(rows), 'tool')}"
    notes = [*report["notes"], f"{speaks} ({report['seconds']:.2f} s)."]
    return Result(report, rows, note="\n".join(notes))


async def _tested(standing: ServerStatus) -> dict[str, Any]:
    assert standing.expanded is not None, "only a ready server can be tested"
    entry = standing.entry
    link, seen = ServerLink(standing.expanded, os.environ), ToolPins(options.settings().data_dir / PINS_FILE)
    report: dict[str, Any] = {"ok": False, "name": entry.name, "starts": entry.shown, "tools": [], "notes": []}
    started = time.perf_counter()
    try:
        listed, most = await link.definitions(), entry.limits.max_tools
        listing = listing_of(entry.name, listed.definitions, most, listed.notes)
        definitions = [each for each in listed.definitions[:most] if isinstance(each, dict)]
        suspicions = [f"{each.get('name')}: {suspicion}" for each in definitions for suspicion in suspicions_of(each)]
        report |= {
            "ok": True,
            "protocol": link.protocol,
            "tools": [fields(tool, "name description") for tool in listing.tools],
            "notes": [*listing.notes, *(f"suspicious: {one_line(suspicion, 200)}" for suspicion in suspicions)],
        }
        seen.found(entry, Contact(ok=True, notes=list(listing.notes)))
    except ServerError as failure:
        seen.found(entry, Contact(ok=False, notes=[failure.message]))
        report["error"] = fields(failure, "kind message remedy")
    finally:
        report["seconds"] = round(time.perf_counter() - started, 3)
        await link.aclose()
    return report


@app.command()
def remove(name: Name, as_json: options.AsJson = False) -> Result:
    """Removes a server from your file, or from the project's .mcp.json."""
    entry = _found(name, _configured()).entry
    _require_ours(entry, f"To stop using the server: alita mcp disable {name}")
    _put(entry.path, name, None)
    return done(f"Removed {name} from {entry.path}.", removed=name)


@app.command()
def disable(name: Name, as_json: options.AsJson = False) -> Result:
    """Disables a server until you enable it again. For a project's server, this affects you alone."""
    _switch(name, _configured(), off=True)
    return done(f"{name} is now disabled.", disabled=name)


@app.command()
def enable(name: Name, yes: Yes = False, as_json: options.AsJson = False) -> Result:
    """Enables a server. Shows what a project defines or a server changed, and asks you to allow it."""
    configured = _configured()
    entry = _found(name, configured).entry
    if entry.is_off:
        _require_ours(entry, "That file disables the server; enable it there.")
    if entry.scope == "project":
        if not yes and not is_terminal():
            raise _not_allowed(entry)
        if not yes and not ask_about_server(entry, configured):
            raise typer.Exit(1)
        configured.decisions.decide(entry.digest, configured.project, "trusted")
    seen = ToolPins(options.settings().data_dir / PINS_FILE)
    if changed := seen.pending(entry):  # tools whose definitions have changed
        if not yes and not is_terminal():
            raise UsageError(
                f"{name} now defines {changed[0].tool} as: {visible(changed[0].definition)}",
                remedy=f"If you trust that: alita mcp enable {name} --yes",
            )
        if not yes and not ask_about_changes(changed):
            raise typer.Exit(1)
        seen.trust(entry, [each.tool for each in changed])
    _switch(name, configured, off=False)
    return done(f"{name} is started when a question needs it.", enabled=name)


@app.command()
def allowed(as_json: options.AsJson = False) -> Result:
    """Lists the tools and folders that are always allowed."""
    grants = _configured().grants
    tools, folders = grants.tools, grants.folders
    rows = [
        *((one.tool, f"although {to_user(one.reason)}") for one in tools),
        *((one.folder, f"{one.name} may read and write below it") for one in folders),
    ]
    form = {
        "tools": [{"tool": one.tool, "reason": one.reason} for one in tools],
        "folders": [{"folder": one.folder, "server": one.name} for one in folders],
    }
    empty = "No tools or folders are always allowed. When a session asks about a call, you can allow one always."
    return listing(form, rows, empty)


@app.command()
def forget(
    what: Annotated[
        str, typer.Argument(metavar="TOOL|FOLDER", help="The tool or folder, as listed by `alita mcp allowed`.")
    ],
    as_json: options.AsJson = False,
) -> Result:
    """Revokes a tool or folder that is always allowed."""
    if not _configured().grants.forget(what):
        raise UsageError(
            f"{one_line(what)} is not on the always-allowed list.",
            remedy="`alita mcp allowed` shows the list.",
        )
    return done(f"{one_line(what)} is no longer always allowed.", forgotten=what)


def _require_ours(entry: ServerEntry, remedy: str) -> None:
    """Raise an error if a server's file belongs to another program, because we only change our own files."""
    if entry.path.name not in {PROJECT_FILE, USER_FILE} or entry.path.parent.name in {".cursor", ".vscode"}:
        raise UsageError(f"{entry.path} belongs to another program.", remedy=remedy)


def _switch(name: str, configured: ConfiguredServers, *, off: bool) -> None:
    entry = _found(name, configured).entry
    if entry.scope == "project":
        configured.decisions.switch(entry, configured.project, off=off)
    if entry.scope == "user" or (entry.is_off and not off):
        _put(entry.path, name, entry.model_copy(update={"is_off": off}))


def _configured() -> ConfiguredServers:
    return ConfiguredServers(options.settings(), Path.cwd())


def _found(name: str, configured: ConfiguredServers) -> ServerStatus:
    found = {standing.entry.name: standing for standing in configured.standings}
    if name in found:
        return found[name]
    raise UsageError(f"There is no server {name!r}.", remedy=f"{did_you_mean(name, found)}`alita mcp list` shows all.")


def _not_allowed(entry: ServerEntry) -> UsageError:
    return UsageError(
        f"{entry.path} defines {entry.name}, which you have not allowed; it would start: {visible(entry.shown)}"
        + (f"; with {visible(entry.given)}" if entry.given else ""),
        remedy=f"If you trust that: alita mcp enable {entry.name} --yes",
    )


Client = Annotated[
    str,
    typer.Argument(
        metavar="CLIENT",
        help="claude-desktop, claude-code, cursor, vscode, gemini, codex or goose.",
        autocompletion=lambda incomplete: [name for name in NAMES if name.startswith(incomplete)],
    ),
]
InScope = Annotated[
    Literal["user", "project"], opt("--scope user|project", "user: your own settings; project: the current project's.")
]
AsName = Annotated[str, opt("--name NAME", "Name of the server in the client (default: alita).")]
Tools = Annotated[str | None, opt("--tools PATTERN", "Tools to offer, as in alita serve --tools.")]


@app.command()
def install(
    client: Client,
    print_only: Annotated[bool, opt("--print", "Print the entry without writing it.")] = False,
    scope: InScope = "user",
    name: AsName = "alita",
    tools: Tools = None,
    tools_dir: options.ToolsDir = None,
    as_json: options.AsJson = False,
) -> Result:
    """Adds alita to a client's settings. A backup of the old file is kept next to it."""
    host, path = _host(client, scope)
    entry = host.entry(_server(tools), _valid(name))
    if print_only:
        form = {"ok": True, "client": client, "path": str(path), "entry": {host.key: {name: entry}}}
        return Result(form, text=snippet(host, name, entry), note=f"{host.title} reads this from {path}.")
    project = "\nThe entry contains paths on this machine; other users of the project need their own."
    added = (
        f"Added {name} to {path}.\nFor {host.title} to see it: {host.afterwards}.{project * (scope == 'project')}\n"
        "No key is written: keep yours with: alita keys set"
    )
    added += f"\n{unsafe}" if (unsafe := uncarried(os.environ)) else ""
    unchanged = f"{host.title} already has it. {path} is unchanged."
    return _change(host, planned(host, path, name, entry), added, unchanged, entry=entry)


@app.command()
def uninstall(
    client: Client,
    scope: InScope = "user",
    name: AsName = "alita",
    as_json: options.AsJson = False,
) -> Result:
    """Removes alita from a client's settings. A backup of the old file is kept next to it."""
    host, path = _host(client, scope)
    unchanged = f"{host.title} has no {name} in {path}. Nothing was changed."
    return _change(host, planned(host, path, _valid(name), None), f"Removed {name} from {path}.", unchanged)


def _change(host: ClientProgram, change: SettingsChange, changed: str, unchanged: str, **more: Any) -> Result:
    backup = write(change) if change.is_needed else None
    kept = f"\nThe old file is kept as {backup}." if backup else ""
    form = {"client": host.name, "path": str(change.path), "changed": change.is_needed}
    note = changed + kept if change.is_needed else unchanged
    return done(note, **form, backup=backup and str(backup), **more)


@app.command("json")
def json_(name: AsName = "alita", tools: Tools = None, tools_dir: options.ToolsDir = None) -> None:
    """Prints the mcpServers JSON that most other clients accept."""
    print_json({"mcpServers": {_valid(name): _server(tools).as_json()}})


def _server(tools: str | None) -> ServerCommand:
    """Return the command that starts alita. It names this folder's library, because clients run in other folders."""
    settings = options.settings()
    is_usual = settings.tools_dir == settings.data_dir / TOOLS_FOLDER
    return server_command(None if is_usual else settings.tools_dir, tools=tools)


def _host(client: str, scope: Literal["user", "project"]) -> tuple[ClientProgram, Path]:
    host = find_host(client)
    path = host.path(scope, Path.cwd())
    if scope == "project":
        _require_inside(path, Path.cwd())
    return host, path


def _require_inside(path: Path, project: Path) -> None:
    if leads_out(path, project):
        raise UsageError(
            f"{path} is outside the project, because it links to {os.path.realpath(path)}. Nothing was changed.",
            remedy="Remove the link, or change that file yourself.",
        )


def _valid(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        raise UsageError(
            f"{name!r} is not a valid server name.", remedy="Use 1 to 64 letters, digits, hyphens or underscores."
        )
    return name

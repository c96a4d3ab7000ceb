"""Questions to the user, for example whether to allow a project, server or tool, or to keep a new tool."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import signal
import sys
import termios
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from agent.cli.output import print_note
from agent.errors import AlitaError
from mcp_tools.text import count_of, printable

if TYPE_CHECKING:
    from agent.cli.screen import Screen
    from agent.configuration.project_choice import ProjectChoice
    from agent.consent.capabilities import CapabilityToUse
    from agent.consent.consent import Asked
    from agent.consent.external_tools import ConfiguredServers
    from agent.consent.hosts import HostToReach
    from agent.consent.questions import PackagesToInstall, ToolToApprove, UserReply
    from mcp_tools.clients.config_parser import ServerEntry
    from mcp_tools.clients.trust import ChangedTool, Decisions


def is_terminal() -> bool:
    """Return True if there is a user at a terminal to ask."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr.isatty())


def ask_about_project(flags: dict[str, Any]) -> None:
    """At a terminal, ask about this project's settings and MCP servers if the user has not decided about them yet."""
    from agent.configuration.paths import PROJECT_FILE
    from mcp_tools.clients.config_files import PROJECT_FILES

    files = (PROJECT_FILE, ".env", *PROJECT_FILES)
    if not is_terminal() or not any((Path.cwd() / name).is_file() for name in files):
        return
    from agent.configuration.settings_sources import read_settings
    from agent.consent.external_tools import ConfiguredServers

    try:
        configured = ConfiguredServers(read_settings(flags), Path.cwd())
        if configured.choice is not None and configured.choice.verdict is None:
            ask_about_choice(configured.choice, configured.decisions)
        for standing in configured.undecided:
            ask_about_server(standing.entry, configured)
    except AlitaError:
        return


def ask_about_server(entry: ServerEntry, configured: ConfiguredServers) -> bool:
    """Ask whether to allow a server. Yes and no are remembered. An empty answer means "not now"."""
    action = "connect to" if entry.url else "run"
    print_note(f"{visible(str(entry.path))} defines the MCP server {visible(entry.name)}. It would {action}:\n")
    print_note(f"    {visible(entry.shown)}" + (f"\n    with {visible(entry.given)}" if entry.given else ""))
    return _decided(entry.digest, configured.project, configured.decisions)


def ask_about_choice(choice: ProjectChoice, decisions: Decisions) -> bool:
    """Ask whether a project's settings may choose the model. The answer is remembered."""
    print_note("The settings in this folder choose which model answers and who receives your questions and files:\n")
    for line in choice.settings:
        print_note(f"    {line.name} = {visible(line.value)}    ({visible(line.source)})")
    return _decided(choice.digest, choice.project, decisions)


def ask_about_changes(changed: Sequence[ChangedTool]) -> bool:
    """Ask whether tools with a changed definition are still allowed."""
    for each in changed:
        print_note(f"{visible(each.server)} now defines {visible(each.tool)} as:\n    {visible(each.definition)}")
    return is_confirmed("\nAllow it? [y/n] ")


def is_confirmed(question: str) -> bool:
    """Ask for confirmation. Any answer other than yes counts as no."""
    return typed(question) in {"y", "yes"}


def _decided(digest: str, project: Path, decisions: Decisions) -> bool:
    answer = yes_or_no("\nAllow it? y: always, n: never, Enter: not now [y/n/Enter] ")
    if answer:
        decisions.decide(digest, project, "trusted" if answer == "y" else "refused")
    return answer == "y"


def yes_or_no(question: str) -> Literal["y", "n", ""]:
    """Ask until the user types y or n. Return an empty string if the user only presses Enter or the input ends."""
    while answer := typed(question):
        if answer in {"y", "yes"}:
            return "y"
        if answer in {"n", "no"}:
            return "n"
        print("Type y or n, or just press Enter.", file=sys.stderr)
    return ""


def typed(question: str) -> str | None:
    """Return the user's answer in lower case, or None at the end of input."""
    print(question, end="", file=sys.stderr, flush=True)
    # asyncio's SIGINT handler would only run once the line is complete
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        line = sys.stdin.readline()
    finally:
        signal.signal(signal.SIGINT, before)
    return line.strip().lower() if line else None


def visible(text: str) -> str:
    """Return a text on one line, with everything except printable ASCII escaped."""
    return "".join(c if c.isascii() and c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def escaped(text: str) -> str:
    """Return a text on one line, with control and bidirectional characters escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def to_user(reason: str) -> str:
    """Rephrase a reason that mentions "the user" in the second person."""
    return reason.replace("the user's", "your").replace("the user does", "you do").replace("the user did", "you did")


LOCAL_SERVERS = (("Ollama", 11434), ("llama.cpp", 8080), ("LM Studio", 1234), ("vLLM", 8000))
"""Local servers that speak the OpenAI protocol, with their default ports."""


def ask_before_fetching(flags: dict[str, Any]) -> bool:
    """Ask before downloading the embedded model for a user without a key. Return False if the user declines.

    If the user picks a local server instead, `flags` are updated to use it.
    """
    from agent.configuration.settings_sources import read_settings
    from agent.models.embedded.weights import Weights
    from agent.models.embedded.weights_files import QWEN_CODER
    from agent.models.protocol import EMBEDDED, ROLES
    from agent.resources import require_download

    try:
        settings = read_settings(flags)
    except AlitaError:  # the caller reads the settings again and reports the error
        return True
    if (
        settings.download == "always"
        or not any(EMBEDDED in settings.models_for(role) for role in ROLES)
        or Weights(settings.models_dir).stored()
    ):
        return True
    require_download(settings)
    print_note(
        "No API key and no endpoint are set, so the embedded model will answer. "
        f"It is downloaded once ({QWEN_CODER.size / 1e9:.1f} GB), to {settings.models_dir}. "
        "It is a small model; a larger or hosted one can answer far more questions.\n"
        "  a key:        alita keys set\n"
        "  an endpoint:  alita --base-url URL -m NAME"
    )
    servers = _local_servers()
    for number, (name, url, models) in enumerate(servers, 1):
        print_note(f"  {number}: {name} at {url}, which offers {', '.join(models[:3])}")
    choices = "".join(f", {number} uses {name}" for number, (name, _, _) in enumerate(servers, 1))
    while True:
        answer = typed(f"Download it now? y: yes, n: no{choices} [y] ")
        if answer in {"n", "no", None}:
            return False
        if answer in {"", "y", "yes"}:
            return True
        if answer.isdigit() and 0 < int(answer) <= len(servers):
            _, flags["base_url"], models = servers[int(answer) - 1]
            flags["model"] = models[0]
            print_note(
                f"To make this permanent: alita config set base_url {flags['base_url']}; "
                f"alita config set model {models[0]}"
            )
            return True


def _local_servers() -> list[tuple[str, str, tuple[str, ...]]]:
    from agent.models.failures import Endpoint
    from agent.models.openai import OTHER_USE, list_models

    addresses = [(name, f"http://127.0.0.1:{port}/v1") for name, port in LOCAL_SERVERS]
    with ThreadPoolExecutor(len(addresses)) as threads:
        offered = threads.map(lambda one: list_models(Endpoint("", one[1], ""), seconds=0.5), addresses)
    return [
        (name, url, tuple(sorted(offer.names, key=lambda name: OTHER_USE.search(name) is not None)))
        for (name, url), offer in zip(addresses, offered, strict=True)
        if offer.names
    ]


_OF_LETTER_SECONDS = 1.0
"""An Enter within this many seconds after a single-letter choice belongs to that choice."""
FIRST_LINES = 20
MAX_CALL = 1_000
"""Maximum number of characters shown of a call."""
CHOICES = {"y": "yes", "n": "no", "b": "no, because …"}


async def ask_user(asked: Asked, screen: Screen, *, always: bool) -> UserReply:
    """Ask the user a question from a run. End of input counts as no.

    At first, only the beginning of a long tool or call is shown; `m` shows the rest.
    """
    from agent.consent.capabilities import CapabilityToUse
    from agent.consent.hosts import HostToReach
    from agent.consent.questions import PackagesToInstall, ToolToApprove

    if isinstance(asked, ToolToApprove):
        return await _ask_whether_kept(asked, screen, always=always)
    if isinstance(asked, PackagesToInstall):
        return await _ask_about_packages(asked, screen)
    if isinstance(asked, HostToReach | CapabilityToUse):
        return await ask_about_call(asked, screen.note, spoken=screen.spoken)
    call = str(asked.arguments.get("action") or json.dumps(asked.arguments))
    what = asked.tool or (call.partition("(")[0] if asked.name == "use_tool" else asked.name)
    screen.note(f"\n{escaped(what)} wants to run, but {to_user(asked.reason)}:\n  {escaped(call[:MAX_CALL])}")
    if hidden := max(0, len(call) - MAX_CALL):
        screen.note(f"  … {count_of(hidden, 'more character')}: m shows all")
    if asked.definition:
        screen.note(f"  now defined as: {escaped(asked.definition)}")
    for path in asked.paths:
        screen.note(f"  path: {escaped(path)}")
    choices = dict(CHOICES) | ({"m": "more"} if hidden else {})
    if asked.tool:
        choices["a"] = "always for this tool"
    if asked.folders:
        choices["f"] = "always for this folder"
        server = asked.tool.partition("__")[0]
        screen.note(f"  f: the server {escaped(server)} may read and write below {escaped(', '.join(asked.folders))}")
    while (chosen := await choose("Run it?", choices, spoken=screen.spoken)) == "m":
        screen.note(f"  {escaped(call)}")
    if chosen in {"a", "f"}:
        taken = asked.tool if chosen == "a" else asked.folders[0]
        screen.note(f"To revoke this: alita mcp forget {shlex.quote(escaped(taken))}")
    return await _reply(chosen)


async def _ask_about_packages(asked: PackagesToInstall, screen: Screen) -> UserReply:
    if not asked.releases:
        names = ", ".join(asked.unknown)
        screen.note(
            f"\nA program or tool wants the package {names}, which few people use. "
            "Looking it up reveals the name to the package index."
        )
        return await _reply(await choose("Look it up?", CHOICES, spoken=screen.spoken))
    size = f" ({asked.size / 1e6:.0f} MB)" if asked.size else ""
    screen.note(
        f"\n{', '.join(asked.wanted)} would be installed for programs and tools{size}, outside your own Python:"
    )
    screen.note(f"  {', '.join(asked.releases)}")
    if asked.unknown:
        screen.note(f"  Few people use {', '.join(asked.unknown)}. Check before you allow it.")
    return await _reply(await choose("Allow it from now on?", CHOICES, spoken=screen.spoken))


async def ask_about_call(
    asked: HostToReach | CapabilityToUse, note: Callable[[str], None], *, spoken: bool = False
) -> UserReply:
    """Ask whether a tool or program may reach a host or use another capability."""
    from agent.consent.hosts import HostToReach

    if isinstance(asked, HostToReach):
        return await ask_about_host(asked, note, spoken=spoken)
    note(f"\n{escaped(_caller(asked.tool))} wants to {escaped(' and '.join(asked.uses))}.")
    return await _reply(await choose("Allow it?", CHOICES, spoken=spoken))


async def ask_about_host(asked: HostToReach, note: Callable[[str], None], *, spoken: bool = False) -> UserReply:
    """Ask whether a tool or program may send a request to a host."""
    from agent.consent.hosts import NEW_TOOL

    who = _caller(asked.tool)
    who += ", which you did not approve," if asked.is_doubtful and asked.tool not in ("", NEW_TOOL) else ""
    keys = f", with the key {', '.join(asked.keys)}" if asked.keys else ""
    note(f"\n{escaped(who)} wants to send a request to {escaped(asked.host)} ({asked.method}{escaped(keys)}).")
    if asked.is_writing:
        note("  The request may change data on that server.")
    choices = dict(CHOICES) | ({"a": "always for this tool"} if asked.source else {})
    chosen = await choose("Allow it?", choices, spoken=spoken)
    if chosen == "a":
        note(f"To revoke this: alita tools hosts {asked.tool} --forget")
    return await _reply(chosen)


def _caller(tool: str) -> str:
    from agent.consent.hosts import NEW_TOOL

    return "A program" if not tool else "The new tool" if tool == NEW_TOOL else f"The tool {tool}"


async def _reply(chosen: str) -> UserReply:
    from agent.consent.questions import UserReply

    if chosen == "b":
        return UserReply(False, (await read_line("No, because: ")))
    return UserReply(
        chosen in {"y", "a", "f"}, scope="always" if chosen == "a" else "folder" if chosen == "f" else "once"
    )


async def _ask_whether_kept(proposal: ToolToApprove, screen: Screen, *, always: bool) -> UserReply:
    from agent.traces.lines import Line

    screen.line(Line("new", proposal.signature, "●", "bold", whole=True))
    screen.line(Line("purpose", proposal.purpose, whole=True))
    screen.code(proposal.source, first=FIRST_LINES)
    hidden = proposal.source.rstrip("\n").count("\n") + 1 - FIRST_LINES
    if hidden > 0:
        screen.line(Line("", f"… {count_of(hidden, 'more line')}: m shows all"))
    for number, check in enumerate(proposal.checks):
        screen.line(Line("" if number else "checks", check, whole=True))
    choices = CHOICES | ({"a": "always"} if always else {}) | ({"m": "more"} if hidden > 0 else {})
    while (chosen := await choose("Keep this tool?", choices, spoken=screen.spoken)) == "m":
        screen.code(proposal.source)
    return await _reply(chosen)


def has_keyboard() -> bool:
    """Return True if the user can be asked at the controlling terminal, even if stdin is piped."""
    try:
        with open("/dev/tty", "rb", buffering=0):  # noqa: PTH123 - a device
            return sys.stderr.isatty()
    except OSError:
        return False


async def choose(question: str, choices: Mapping[str, str], *, spoken: bool = False) -> str:
    """Ask at the controlling terminal and return the chosen letter, or an empty string if there is no terminal.

    If the terminal reports single keys, the letter is enough. Otherwise, the user types the letter or the word, then
    Enter.
    """
    marked = [word.replace(letter, f"[{letter}]", 1) for letter, word in choices.items()]
    ways = f"{' · '.join(marked)} › "
    if spoken:
        ways = f"Type {', '.join(f'{letter} for {word}' for letter, word in choices.items())}: "

    def taken(typed: bytes) -> str | None:
        word = typed.decode("utf-8", "replace").strip().lower()
        chosen = next((letter for letter, whole in choices.items() if word in {letter, whole}), "")
        return chosen if chosen or typed in {b"", b"\x04"} or word == "\x1b" else None

    return await _ask_terminal(f"{printable(question)} {ways}", taken)


async def read_line(question: str) -> str:
    """Read one line with echo at the controlling terminal. Return an empty string if there is no terminal."""
    began = time.monotonic()

    def taken(typed: bytes) -> str | None:
        if typed == b"\n" and time.monotonic() - began < _OF_LETTER_SECONDS:
            return None
        return printable(typed.decode("utf-8", "replace")).strip()

    return await _ask_terminal(question, taken, whole_lines=True)


async def _ask_terminal(question: str, taken: Callable[[bytes], str | None], *, whole_lines: bool = False) -> str:
    """Write a question, and read input until `taken` accepts it."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    try:
        terminal = open("/dev/tty", "r+b", buffering=0)  # noqa: PTH123, ASYNC230, SIM115 - a device, which opens at once
    except OSError:
        return ""
    with terminal, _whole_lines(terminal) if whole_lines else contextlib.nullcontext():
        echoes = bool(termios.tcgetattr(terminal)[3] & termios.ECHO)
        if not whole_lines:
            termios.tcflush(terminal, termios.TCIFLUSH)  # text typed before the question must not answer it
        shown = _wrapped(question, os.get_terminal_size(terminal.fileno()).columns).encode()
        terminal.write(shown)
        loop.add_reader(terminal, ready.set)  # the event loop keeps handling Ctrl-C
        try:
            while True:
                await ready.wait()
                ready.clear()
                try:
                    typed = os.read(terminal.fileno(), 4096)
                except OSError:
                    return ""
                if (chosen := taken(typed)) is not None:
                    terminal.write(b"" if echoes else f"{chosen}\n".encode())
                    return chosen
                if echoes:
                    terminal.write(shown)
        except asyncio.CancelledError:
            terminal.write(b"\n")
            raise
        finally:
            loop.remove_reader(terminal)


def _wrapped(text: str, width: int) -> str:
    """Wrap a question between words, keeping its trailing space."""
    return "\n".join(textwrap.wrap(text, max(width - 4, 20), break_on_hyphens=False)) + " " if width else text


@contextlib.contextmanager
def _whole_lines(terminal: IO[bytes]) -> Iterator[None]:
    """Switch the terminal to line editing with echo for the duration of the `with` block."""
    before = termios.tcgetattr(terminal)
    edited = termios.tcgetattr(terminal)
    edited[3] |= termios.ECHO | termios.ICANON
    termios.tcsetattr(terminal, termios.TCSANOW, edited)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSANOW, before)

"""The questions that alita asks its user: allow this project, server or tool, fetch the model, keep this new tool."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import termios
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agent.cli.output import print_note
from agent.errors import AlitaError

if TYPE_CHECKING:
    from agent.cli.screens.screen import Screen
    from agent.configuration.project_choice import ProjectChoice
    from agent.consent.approval import Proposal
    from agent.consent.external_tools import CallProposal, ConfiguredServers
    from mcp_tools.clients.config_parser import ServerEntry
    from mcp_tools.clients.trust import Changed, Decisions


def is_terminal() -> bool:
    """Whether somebody is there to be asked."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr.isatty())


def ask_about_project(flags: dict[str, Any]) -> None:
    """Asks about what this project's files define and nothing was decided about; without a terminal about nothing.

    Args:
        flags: Settings from the command line. Errors in the settings are reported by whoever reads them next.
    """
    if not is_terminal():
        return
    from agent.configuration.paths import PROJECT_FILE
    from mcp_tools.clients.config_files import PROJECT_FILES

    if not any((Path.cwd() / name).is_file() for name in (PROJECT_FILE, ".env", *PROJECT_FILES)):
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
    """Whether the user allows a server now; yes and no are kept, an empty answer asks again the next time.

    Raises:
        ServersFileError: The decision cannot be kept.
    """
    action = "connect to" if entry.url else "run"
    print_note(f"{visible(str(entry.path))} defines the MCP server {visible(entry.name)}. It would {action}:\n")
    print_note(f"    {visible(entry.shown)}")
    if entry.given:
        print_note(f"    with {visible(entry.given)}")
    return _decided(entry.digest, configured.project, configured.decisions)


def ask_about_choice(choice: ProjectChoice, decisions: Decisions) -> bool:
    """Whether the user lets a project's files decide who answers; yes and no are kept.

    Raises:
        ServersFileError: The decision cannot be kept.
    """
    print_note("The files of this folder choose who answers, and who receives your questions and files:\n")
    for line in choice.settings:
        print_note(f"    {line.name} = {visible(line.value)}    ({visible(line.source)})")
    return _decided(choice.digest, choice.project, decisions)


def ask_about_changes(changed: Sequence[Changed]) -> bool:
    """Whether the user still allows tools whose definition their server has changed."""
    for each in changed:
        print_note(f"{visible(each.server)} now defines {visible(each.tool)} as:\n    {visible(each.definition)}")
    return _typed("\nAllow it? [y/n] ") in {"y", "yes"}


def _decided(digest: str, project: Path, decisions: Decisions) -> bool:
    answer = _typed("\nAllow it? y: from now on, n: never, Enter: not now [y/n] ")
    if answer in {"y", "yes", "n", "no"}:
        decisions.decide(digest, project, "trusted" if answer[0] == "y" else "refused")
    return answer in {"y", "yes"}


def _typed(question: str) -> str | None:
    """The line that the user types, in lower case; None at the end of the input."""
    sys.stderr.write(question)
    sys.stderr.flush()
    line = sys.stdin.readline()
    return line.strip().lower() if line else None


def visible(text: str) -> str:
    """The whole text on one line, with everything that is no plain character written out."""
    return "".join(c if c.isascii() and c.isprintable() else c.encode("unicode_escape").decode() for c in text)


LOCAL_SERVERS = (("Ollama", 11434), ("llama.cpp", 8080), ("LM Studio", 1234), ("vLLM", 8000))
"""Servers that speak the OpenAI protocol, and the ports that they usually have."""


def ask_before_fetching(flags: dict[str, Any]) -> bool:
    """Says what the first question without a key downloads, and asks on a terminal whether to go on.

    Args:
        flags: Settings from the command line; a server that is chosen instead is put there.

    Returns:
        Whether to go on. Nothing is asked where nothing has to be downloaded, or without a terminal.
    """
    from agent.configuration.settings_sources import read_settings
    from agent.models.embedded.weights import QWEN_CODER, Weights
    from agent.models.protocol import EMBEDDED, ROLES

    try:
        settings = read_settings(flags)
    except AlitaError:  # reported by whoever needs them
        return True
    if not any(EMBEDDED in settings.models_for(role) for role in ROLES) or Weights(settings.models_dir).stored():
        return True
    servers = _local_servers()
    gigabytes = f"{QWEN_CODER.size / 1e9:.1f} GB"
    print_note(f"No key and no endpoint are set: the embedded model answers. It is fetched once ({gigabytes}),")
    print_note(f"to {settings.models_dir}. It is small; a hosted or larger model answers far more.")
    print_note("  a key:        alita keys set         an endpoint:  alita --base-url URL -m NAME")
    for number, (name, url, models) in enumerate(servers, 1):
        print_note(f"  {number}: {name} at {url}, which offers {', '.join(models[:3])}")
    if not is_terminal():
        return True
    choices = "".join(f", {number} uses {name}" for number, (name, _, _) in enumerate(servers, 1))
    while True:
        answer = _typed(f"Fetch it? y: yes, n: stop{choices} [y] ")
        if answer in {"n", "no", None}:
            return False
        if answer in {"", "y", "yes"}:
            return True
        if answer.isdigit() and 0 < int(answer) <= len(servers):
            _, flags["base_url"], models = servers[int(answer) - 1]
            flags["model"] = models[0]
            print_note(f"To keep it: alita config set base_url {flags['base_url']}; alita config set model {models[0]}")
            return True


def _local_servers() -> list[tuple[str, str, tuple[str, ...]]]:
    """The model servers of this machine that answer: name, address and models."""
    from agent.models.failures import Endpoint
    from agent.models.openai import ask_models

    addresses = [(name, f"http://127.0.0.1:{port}/v1") for name, port in LOCAL_SERVERS]
    with ThreadPoolExecutor(len(addresses)) as threads:
        offered = threads.map(lambda one: ask_models(Endpoint("", one[1], ""), seconds=0.5), addresses)
    return [(name, url, offer.names) for (name, url), offer in zip(addresses, offered, strict=True) if offer.names]


FIRST_LINES = 20
"""Lines of a source that are shown unasked."""
Choose = Callable[[str, Mapping[str, str]], Awaitable[str]]
"""Asks a question and gives one of the letters, as `agent.cli.interactive.reader.Reader.choose` does."""
Word = Literal["yes", "no", "always"]


async def ask_whether_kept(proposal: Proposal, screen: Screen, choose: Choose, *, always: bool) -> Word:
    """Shows a proved tool and asks whether it is kept; the end of the input is a no.

    Args:
        proposal: The tool.
        screen: Where it is shown. Numbers before the lines of its code keep them from passing for ours.
        choose: Who asks.
        always: Whether "always" may be answered, too.

    Raises:
        Interrupted: Ctrl-C instead of an answer.
    """
    from agent.cli.screens.lines import Line

    screen.line(Line("new", proposal.signature, "●", "bold", whole=True))
    screen.line(Line("purpose", proposal.purpose, whole=True))
    screen.code(proposal.source, first=FIRST_LINES)
    hidden = proposal.source.rstrip("\n").count("\n") + 1 - FIRST_LINES
    if hidden > 0:
        screen.line(Line("", f"… {hidden} more line{'' if hidden == 1 else 's'}: m shows all"))
    for number, check in enumerate(proposal.checks):
        screen.line(Line("checks" if number == 0 else "", check, whole=True))
    words: dict[str, Word] = {"y": "yes", "n": "no", **({"a": "always"} if always else {})}
    while True:
        try:
            chosen = await choose("Keep this tool?", {**words, **({"m": "more"} if hidden > 0 else {})})
        except EOFError:
            return "no"
        if chosen in words:
            return words[chosen]
        screen.code(proposal.source)


async def ask_whether_called(call: CallProposal, screen: Screen, choose: Choose) -> bool:
    """Shows all of a call of an external tool, as any part may matter, and asks; the end of the input is a no.

    Raises:
        Interrupted: Ctrl-C instead of an answer.
    """
    screen.note(f"\nA call of {call.name}: {call.reason}.\n  arguments: {json.dumps(call.arguments)}")
    if call.definition:
        screen.note(f"  now defined as: {call.definition}")
    try:
        return await choose("Call it?", {"y": "yes", "n": "no"}) == "y"
    except EOFError:
        return False


def has_keyboard() -> bool:
    """Whether a question can be asked while standard input is the text of a question."""
    try:
        with open("/dev/tty", "rb", buffering=0):  # noqa: PTH123 - a device
            pass
    except OSError:
        return False
    return sys.__stderr__ is not None and sys.__stderr__.isatty()  # a live display stands in for sys.stderr


async def choose_at_keyboard(question: str, choices: Mapping[str, str]) -> str:
    """A `Choose` for the controlling terminal: the letter or its word, then Enter.

    Raises:
        EOFError: The terminal went away.
    """
    from agent.cli.interactive.reader import choices_text

    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    with open("/dev/tty", "rb", buffering=0) as terminal:  # noqa: PTH123, ASYNC230 - a device, which opens at once
        termios.tcflush(terminal.fileno(), termios.TCIFLUSH)  # what was typed before the question is no answer to it
        loop.add_reader(terminal.fileno(), ready.set)  # which leaves Ctrl-C to the loop
        try:
            while True:
                sys.stderr.write(f"{question} {choices_text(choices)} ")
                sys.stderr.flush()
                await ready.wait()
                ready.clear()
                try:
                    line = os.read(terminal.fileno(), 4096)
                except OSError:
                    line = b""
                if not line:
                    raise EOFError
                word = line.decode("utf-8", "replace").strip().lower()
                for letter, whole in choices.items():
                    if word in {letter, whole}:
                        return letter
        finally:
            loop.remove_reader(terminal.fileno())

"""The registry: what is typed finds its command, and nothing that is told of it drifts from it."""

import json
import re
from typing import Any

import pytest

from agent.cli.interactive.commands import COMMANDS, KEYS, command_of
from agent.errors import UsageError


async def test_help_tells_every_command_and_every_key(sitting: Any) -> None:
    shown = await sitting.types("/help")
    for command in COMMANDS:
        assert f"  {command.usage}" in shown
        assert command.summary in shown
    assert all(f"  {keys} " in shown for keys, _ in KEYS)


async def test_every_command_does_something_in_a_new_session(sitting: Any) -> None:
    """Whatever is there to be shown: none of them ends the session, and each says something."""
    for command in COMMANDS:
        if command.name in {"exit", "create", "save", "show"}:
            continue
        shown = await sitting.types(f"/{command.name}", "/verbose")
        assert "Model calls" in shown, command.name
        assert len(shown.splitlines()) >= 2, command.name


async def test_servers_of_other_people_are_listed_with_what_keeps_them_from_starting(sitting: Any) -> None:
    assert "alita mcp add" in await sitting.types("/mcp")
    entry = {"command": "./server.py", "args": []}
    (sitting.folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"weather": entry}}))
    shown = await sitting.types("/mcp")
    assert "weather" in shown
    assert "undecided" in shown


async def test_words_of_habit_reach_no_model(sitting: Any) -> None:
    shown = await sitting.types("!", "help", "exit", "/verbose")
    assert "! needs a command." in shown
    assert re.search(r"  !COMMAND +run a shell command", shown)
    assert "Model calls" not in shown
    assert sitting.turns == []


@pytest.mark.parametrize(
    ("typed", "name", "argument"),
    [
        ("/help", "help", ""),
        ("  /HELP  ", "help", ""),
        ("/show area", "show", "area"),
        ("/create What is\nthe sum?", "create", "What is\nthe sum?"),
        ("/save two words.txt", "save", "two words.txt"),
    ],
)
def test_an_entry_is_a_command(typed: str, name: str, argument: str) -> None:
    found = command_of(typed)
    assert found is not None
    assert (found[0].name, found[1]) == (name, argument)


@pytest.mark.parametrize("typed", ["What is /help?", "/etc/hosts has what?", "/ is the root", "//", "1/2", ""])
def test_an_entry_is_a_question(typed: str) -> None:
    assert command_of(typed) is None


@pytest.mark.parametrize(("typed", "name"), [("/usage", "cost"), ("/quit", "exit"), ("/settings", "config")])
def test_a_name_of_other_programs_runs_the_command(typed: str, name: str) -> None:
    found = command_of(typed)
    assert found is not None
    assert found[0].name == name


@pytest.mark.parametrize(
    ("typed", "message", "remedy"),
    [
        ("/modle", "There is no command /modle.", "Did you mean /model?"),
        ("/sesions", "There is no command /sesions.", "Did you mean /sessions?"),
        ("/qqqq", "There is no command /qqqq.", "/help lists all commands."),
        ("/foo", "There is no command /foo.", "/help lists all commands."),
        ("/undo 3", "/undo takes no arguments.", "Usage: /undo"),
        ("/show", "/show needs TOOL.", "Usage: /show TOOL"),
    ],
)
def test_a_slip_is_told_with_the_way_out(typed: str, message: str, remedy: str) -> None:
    with pytest.raises(UsageError) as raised:
        command_of(typed)
    assert raised.value.message == message
    assert remedy in raised.value.remedy

"""A session whose process is killed in the middle of a turn opens again, and its question goes on."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from support.external import plain, write_servers
from support.openai_server import OpenAIServer, Step
from support.tmux import Terminal

ALITA = [sys.executable, "-c", "from agent.cli.main import main; main()"]


def opened(folder: Path, url: str, *arguments: str) -> Terminal:
    variables = {"PATH": "/usr/bin:/bin", "ALITA_HOME": str(folder / "home"), "LANG": "C.UTF-8", "TERM": "dumb"}
    flags = ["--base-url", url, "--model", "gpt-test", *arguments]
    terminal = Terminal(folder, [*ALITA, *flags], {**variables, "OPENAI_API_KEY": "k", "ALITA_ALLOW_PRIVATE": "true"})
    terminal.wait_for("alita (ask)>")
    return terminal


def kill(folder: Path) -> None:
    """End the one alita that has this folder as its home, as the kernel would."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            is_it = f"ALITA_HOME={folder / 'home'}".encode() in (entry / "environ").read_bytes()
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if is_it and command.startswith(os.fsencode(sys.executable)) and b"agent.cli.main" in command:
            os.kill(int(entry.name), signal.SIGKILL)


def well_formed(messages: list[dict[str, Any]]) -> bool:
    """True if each call has one result, and each result a call before it."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
        else:
            if waiting:
                return False
            waiting = [call["id"] for call in message.get("tool_calls") or []]
    return not waiting


@pytest.mark.timeout(180)  # it starts alita and a server twice, and waits for each
def test_a_turn_that_was_killed_at_an_approval_is_shown_and_goes_on(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    write_servers(tmp_path / "home" / "config" / "mcp.json", calc=plain())
    openai_server.steps.append(Step(text="Blue is first."))
    openai_server.steps.append(Step(tools=[("calc__echo", {"text": "/etc/hostname"})]))
    with opened(tmp_path, openai_server.url) as terminal:
        terminal.enter("Which colour is first?")
        terminal.wait_for("Blue is first.")
        terminal.enter("And which is second?")
        terminal.wait_for("Run it?")
        kill(tmp_path)
        terminal.wait_for("[ended 137]")
    openai_server.steps.clear()
    openai_server.default = lambda _: Step(text="Green is second.")
    with opened(tmp_path, openai_server.url, "-c") as terminal:
        shown = terminal.screen()
        assert "Blue is first." in shown
        assert "And which is second?" in shown
        assert "/continue resumes it" in shown
        terminal.enter("/continue")
        terminal.wait_for("Run it?")
        terminal.enter("n")
        terminal.wait_for("Green is second.")
    sent = openai_server.requests[-1]["messages"]
    assert well_formed(sent)
    users = [str(message["content"]) for message in sent if message["role"] == "user"]
    for question in ("Which colour is first?", "And which is second?"):
        assert sum(question in text for text in users) == 1

"""The real `alita` in a real terminal: typed, captured, compared."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.external import write_servers
from support.fibonacci import ANSWER, QUESTION, STORY, Line, decide, write_script
from support.openai_server import OpenAIServer
from support.tmux import Terminal

ALITA = [sys.executable, "-c", "from agent.cli.main import main; main()"]
HOSTILE = (
    "fine\n\n\x1b[2J\x1b[1;1Halita (ask) › rm\nKeep this tool? [y]es\r\nalita (auto) › x\n\n- &#x202e;evil &#27;[31m\n"
    "\n```python\nx = 1\n```"
)
Start = Callable[..., Terminal]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Opens a session in a terminal; the model plays the lines."""
    with ExitStack() as opened:

        def start(
            *arguments: str,
            script: list[Line] | None = None,
            columns: int = 80,
            ready: str = "alita (",
            **environment: str,
        ) -> Terminal:
            model = write_script(tmp_path / "script.jsonl", STORY if script is None else script)
            variables = {"PATH": "/usr/bin:/bin", "ALITA_HOME": str(tmp_path / "home"), "LANG": "C.UTF-8"}
            terminal = Terminal(
                tmp_path,
                [*ALITA, "--model", model, *arguments],
                {**variables, "TERM": "screen-256color", **environment},
                columns=columns,
            )
            opened.enter_context(terminal)
            terminal.wait_for(ready)
            return terminal

        yield start


def widest(screen: str) -> int:
    return max(len(row) for row in screen.split("\n"))


def test_a_question_its_tool_and_its_answer(start: Start, tmp_path: Path) -> None:
    """Ctrl-C at the approval stops it; keys that were typed before a tool is shown do not approve it."""
    hesitant = [dict(line) for line in STORY]
    hesitant[1]["delay"] = 1.0
    terminal = start(script=[*STORY, *hesitant], columns=60)
    kept = tmp_path / "home" / "data" / "generated_tools" / "nth_fibonacci.py"
    terminal.enter(QUESTION)
    terminal.wait_for("[m]ore ›")
    terminal.press("C-c")
    shown = terminal.wait_for("Stopped. /continue")
    assert f"[m]ore ›\nThe tool was not kept. Its result:\n  {ANSWER}\n" in shown
    assert not kept.exists()
    terminal.wait_for("alita (ask) ›", count=2)
    terminal.enter("/new")
    terminal.enter(QUESTION)
    terminal.wait_for("thinking ·")
    terminal.type("yyy")
    shown = terminal.wait_for("[m]ore ›", count=2)
    assert re.search(r"^ +4 def nth_fibonacci\(n: int\) -> int:$", shown, re.MULTILINE)
    assert "5 tests pass" in shown
    time.sleep(0.5)
    assert not kept.exists()
    terminal.press("m")
    terminal.wait_for("[m]ore ›", count=3)
    terminal.press("y")
    shown = terminal.wait_for("1 turn · /help")
    assert f"  {ANSWER}" in shown
    assert kept.exists()
    assert "● decide  create_tool" in shown
    assert "● done    answered · 1 step · 3 model calls" in shown
    assert not set("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏") & set(shown)
    assert widest(shown) <= 60
    assert "alita (ask) › yyy" in shown
    terminal.press("C-c")
    terminal.press("C-d")
    assert terminal.ended() == 0


def test_an_answer_is_seen_while_it_is_written_and_what_is_typed_stops_or_follows(
    start: Start, openai_server: OpenAIServer
) -> None:
    """Also in a window that became narrower meanwhile; an answer that is stopped stays in the conversation."""
    rivers = "Three rivers:\n\n- the **Seine**\n- the Marne\n- the Oise\n"
    openai_server.answer(rivers, pace=0.1)
    openai_server.answer(tool=("run_python", {"code": "kept = 41"}))
    openai_server.answer("First part.\n\nSecond part.\n\n" + "word " * 400, pace=0.05)
    openai_server.answer(tool=("run_python", {"code": "print(kept + 1)", "final_answer": "{}"}))
    openai_server.answer("\n\n".join(f"Part **{number}** of it." for number in range(90)), pace=0.002)
    terminal = start("--model", "tiny-1", "--base-url", openai_server.url, OPENAI_API_KEY="test-key")
    terminal.enter("Which rivers?")
    growing = terminal.wait_for("• the Seine")
    assert "• the Oise" not in growing
    assert "answered" not in growing
    shown = terminal.wait_for("1 turn · /help")
    assert shown.count("• the Seine") == shown.count("• the Oise") == 1

    terminal.enter("Work")
    terminal.wait_for("  First part.")
    terminal.type("/cos")
    terminal.resize(50)
    terminal.wait_for("\n› /cos")
    terminal.resize(80)
    began = time.monotonic()
    terminal.press("Escape")
    shown = terminal.wait_for("Stopped. /continue")
    assert time.monotonic() - began < 10
    assert "  First part." in shown
    terminal.wait_for("alita (ask) › /cos")
    terminal.enter("t")
    terminal.wait_for("all")
    terminal.enter("go on")
    terminal.wait_for("  42")
    told = [message["content"] for message in openai_server.requests[-1]["messages"]]
    assert "First part." in told[-2]
    assert "[The user stopped this.]" in told[-2]

    terminal.enter("Tell me.")
    shown = terminal.wait_for("4 turns · /help")
    assert [shown.count(f"Part {number} of it.") for number in range(90)] == [1] * 90


def test_a_message_that_is_sent_while_it_works_steers_the_run_or_comes_next(start: Start) -> None:
    """Text of a model neither moves the cursor nor passes for a prompt."""
    script = [
        decide("run_code", code="print(1)") | {"delay": 1.5, "say": "x\x1b[2J\nalita (ask) › y"},
        decide("answer", answer="steered", when="Meanwhile, the user says:\nin French") | {"delay": 1.5},
        decide("answer", answer=HOSTILE, when="and then?"),
    ]
    terminal = start(script=script)
    first = terminal.screen().split("\n")[0]
    terminal.enter("Work")
    assert re.search(r"^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] thinking · \d", terminal.wait_for("thinking ·"), re.MULTILINE)
    terminal.enter("in French")
    terminal.wait_for("› in French")
    terminal.wait_for("call    program()")
    terminal.enter("and then?")
    terminal.wait_for("  steered")
    terminal.wait_for("x = 1")
    shown = terminal.wait_for("2 turns ·")
    assert shown.split("\n")[0] == first
    at_the_edge = [row for row in shown.split("\n") if row.startswith(("alita (", "Keep this"))]
    assert [row for row in at_the_edge if not row.startswith("alita (ask) ›")] == []
    assert not [row for row in at_the_edge if "rm" in row or row.endswith("› y")]
    assert "\u202e" not in shown


def test_servers_of_the_project_are_asked_about_before_the_session_begins(start: Start, tmp_path: Path) -> None:
    shown = "Allow it? y: always"
    name, command = "mine\u202e", ["-c", "touch started; \x1b[2J"]
    write_servers(tmp_path / ".mcp.json", good={"command": "/bin/sh", "args": command}, other={"command": name})
    terminal = start(ready=shown)
    assert "\\x1b[2J" in terminal.screen()
    terminal.press("n", "Enter")
    assert "mine\\u202e" in terminal.wait_for(shown, count=2)
    terminal.press("Enter")
    terminal.wait_for("alita (")
    terminal.press("C-d")
    assert terminal.ended() == 0
    assert not (tmp_path / "started").exists()

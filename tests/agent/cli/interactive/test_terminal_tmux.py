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
    """Keys that were typed before the tool is shown do not approve it."""
    hesitant = [dict(line) for line in STORY]
    hesitant[1]["delay"] = 1.0
    terminal = start(script=hesitant, columns=60)
    kept = tmp_path / "home" / "data" / "generated_tools" / "nth_fibonacci.py"
    terminal.enter(QUESTION)
    terminal.wait_for("thinking ·")
    terminal.type("yyy")
    shown = terminal.wait_for("[m]ore ›")
    assert re.search(r"^ +4 def nth_fibonacci\(n: int\) -> int:$", shown, re.MULTILINE)
    assert "5 tests pass" in shown
    time.sleep(0.5)
    assert not kept.exists()
    terminal.press("m")
    terminal.wait_for("[m]ore ›", count=2)
    terminal.press("y")
    terminal.wait_for(f"  {ANSWER}")
    shown = terminal.wait_for("1 turn · /help")
    assert kept.exists()
    assert "● decide  create_tool" in shown
    assert "● done    answered · 1 step · 3 model calls" in shown
    assert not set("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏") & set(terminal.wait_for("1 turn · /help"))
    assert widest(shown) <= 60
    assert "alita (ask) › yyy" in shown
    terminal.press("C-c")
    terminal.press("C-d")
    assert terminal.ended() == 0


def test_an_answer_is_seen_as_markdown_while_it_is_written(start: Start, openai_server: OpenAIServer) -> None:
    text = "Three rivers:\n\n- the **Seine**\n- the Marne\n- the Oise\n"
    openai_server.answer(text, pace=0.1)
    terminal = start("--model", "tiny-1", "--base-url", openai_server.url, OPENAI_API_KEY="test-key")
    terminal.enter("Which rivers?")
    growing = terminal.wait_for("• the Seine")
    assert "• the Oise" not in growing
    assert "answered" not in growing
    shown = terminal.wait_for("1 turn · /help")
    assert shown.count("• the Seine") == shown.count("• the Oise") == 1


def test_the_live_line_tells_what_happens_and_goes_and_what_is_typed_is_seen(start: Start) -> None:
    """Also from a window that became narrower meanwhile."""
    slow = decide("answer", answer="42") | {"delay": 2.5, "usage": [1200, 34]}
    terminal = start(script=[slow], columns=100)
    terminal.enter("a question of some length, so that the rows move when the window does")
    live = re.compile(r"^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] thinking · \d", re.MULTILINE)
    assert live.search(terminal.wait_for("thinking ·"))
    terminal.type("/cos")
    terminal.resize(50)
    terminal.wait_for("\n› /cos")
    terminal.resize(80)
    terminal.wait_for("  42")
    shown = terminal.wait_for("1 turn ·")
    assert "1,234 tokens" in shown
    assert "thinking" not in shown
    terminal.wait_for("alita (ask) › /cos")
    terminal.enter("t")
    terminal.wait_for("all")


def test_a_message_that_is_sent_while_it_works_steers_the_run_or_comes_next(start: Start) -> None:
    script = [
        decide("run_code", code="print(1)") | {"delay": 1.5},
        decide("answer", answer="steered", when="Meanwhile, the user says:\nin French"),
        decide("answer", answer="next", when="and then?"),
    ]
    script[1]["delay"] = 1.5
    terminal = start(script=script)
    terminal.enter("Work")
    terminal.wait_for("thinking ·")
    terminal.enter("in French")
    terminal.wait_for("› in French")
    terminal.wait_for("call    program()")
    terminal.enter("and then?")
    terminal.wait_for("  steered")
    terminal.wait_for("  next")


def test_a_long_answer_scrolls_into_the_history(start: Start, openai_server: OpenAIServer) -> None:
    text = "\n\n".join(f"Part **{number}** of it." for number in range(90))
    openai_server.answer(text, pace=0.002)
    terminal = start("--model", "tiny-1", "--base-url", openai_server.url, OPENAI_API_KEY="test-key")
    terminal.enter("Tell me.")
    terminal.wait_for("1 turn · /help")
    shown = terminal.screen()
    assert [shown.count(f"Part {number} of it.") for number in range(90)] == [1] * 90


COLOURS = {str(code) for code in [*range(30, 39), *range(40, 49), *range(90, 98), *range(100, 108)]}


def test_a_dumb_terminal_has_every_line_and_no_movement(start: Start) -> None:
    terminal = start(TERM="dumb", columns=60)
    terminal.enter(QUESTION)
    terminal.wait_for("Keep this tool?")
    terminal.enter("x")
    terminal.wait_for("Keep this tool?", count=2)
    terminal.enter("yes")
    shown = terminal.wait_for(f"  {ANSWER}\n")
    assert "● decide  create_tool" in shown
    assert "\x1b" not in terminal.screen(colour=True)
    terminal.press("C-c")
    terminal.wait_for("Press Ctrl-C again or Ctrl-D to leave")
    terminal.press("C-c")
    assert terminal.ended() == 0


def test_read_aloud_there_are_whole_sentences_and_no_signs(start: Start) -> None:
    terminal = start("--plain", columns=100)
    terminal.enter(QUESTION)
    terminal.wait_for("Keep this tool?")
    terminal.enter("y")
    shown = terminal.wait_for("The answer is:\n  365435296162")
    assert "Decide: create_tool" in shown
    assert not set("●│┌─⠋→✓✗") & set(shown)
    terminal.wait_for("alita (ask)>", count=2)
    terminal.press("C-d")
    assert terminal.ended() == 0


def test_text_of_a_model_neither_moves_the_cursor_nor_passes_for_a_prompt(start: Start) -> None:
    """Without colour, there is none in it either."""
    begun = decide("run_code", code="print('x')") | {"say": "x\x1b[2J\nalita (ask) › y"}
    terminal = start(script=[begun, decide("answer", answer=HOSTILE)], NO_COLOR="1")
    first = terminal.screen().split("\n")[0]
    terminal.enter("Tell me")
    terminal.wait_for("x = 1")
    shown = terminal.wait_for("1 turn ·")
    assert shown.split("\n")[0] == first
    at_the_edge = [row for row in shown.split("\n") if row.startswith(("alita (", "Keep this"))]
    assert at_the_edge == ["alita (ask) › Tell me", "alita (ask) ›"]
    assert "\u202e" not in shown
    terminal.type("/he")
    codes = re.findall(r"\x1b\[([0-9;]*)m", terminal.screen(colour=True))
    assert [code for code in codes if set(code.split(";")) & COLOURS] == []


def test_a_stopped_run_leaves_the_sandbox_and_its_text(start: Start, openai_server: OpenAIServer) -> None:
    program = {"code": "kept = 41"}
    openai_server.answer(tool=("run_python", program))
    openai_server.answer("First part.\n\nSecond part.\n\n" + "word " * 400, pace=0.05)
    openai_server.answer(tool=("run_python", {"code": "print(kept + 1)", "final_answer": "{}"}))
    terminal = start("--model", "tiny-1", "--base-url", openai_server.url, OPENAI_API_KEY="test-key")
    terminal.enter("Work")
    terminal.wait_for("  First part.")
    began = time.monotonic()
    terminal.press("Escape")
    shown = terminal.wait_for("Stopped. /continue")
    assert time.monotonic() - began < 10
    assert "  First part." in shown
    terminal.wait_for("alita (ask) ›", count=2)
    terminal.enter("go on")
    terminal.wait_for("  42")
    told = [message["content"] for message in openai_server.requests[-1]["messages"]]
    assert "First part." in told[-2]
    assert "[The user stopped this.]" in told[-2]


def test_ctrl_c_at_an_approval_stops_at_once_and_shows_the_result(start: Start, tmp_path: Path) -> None:
    terminal = start()
    terminal.enter(QUESTION)
    terminal.wait_for("[m]ore ›")
    terminal.press("C-c")
    shown = terminal.wait_for("Stopped. /continue")
    assert f"[m]ore ›\nThe tool was not kept. Its result:\n  {ANSWER}\n" in shown
    assert not (tmp_path / "home" / "data" / "generated_tools" / "nth_fibonacci.py").exists()
    terminal.wait_for("alita (ask) ›", count=2)


def test_lines_shift_tab_editor_and_history(start: Start, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "%s and more" "$(cat "$1")" > "$1"\n')
    editor.chmod(0o755)
    terminal = start(EDITOR=str(editor))
    assert "\x1b[32m" in terminal.screen(colour=True), "there is colour"
    terminal.paste("one\ntwo")
    terminal.press("M-Enter")
    terminal.type("three")
    terminal.wait_for("three")
    terminal.press("BTab")
    terminal.wait_for("alita (auto) › one")
    terminal.press("C-x", "C-e")
    shown = terminal.wait_for("three and more")
    assert re.search(r"› one\n[ ·]+ two\n[ ·]+ three and more", shown)
    terminal.press("C-c")
    terminal.enter("/undoo")
    terminal.wait_for("Did you mean /undo?")
    terminal.press("Up")
    terminal.wait_for("(auto) › /undoo", count=2)
    assert "\n+/undoo\n" in (tmp_path / "home" / "data" / "history").read_text()


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
    again = start(ready=shown)
    asked = "".join(again.screen().split())  # wherever the lines were broken
    assert "definestheMCPserverother" in asked, "a no is kept, no answer is not"

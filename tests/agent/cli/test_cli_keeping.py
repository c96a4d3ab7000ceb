"""`alita --approve ask` at a real terminal: what is shown, what is typed, and what comes of it."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from support.command import Terminal, Tty
from support.fibonacci import ANSWER, QUESTION, STORY, decide

SCRATCH = decide("answer", answer=ANSWER, when=f"Its result here: {ANSWER}")


@pytest.fixture
def start(tmp_path: Path, terminal: Terminal):
    script = terminal.script(SCRATCH, *STORY)
    started: list[Tty] = []

    def asks(*arguments: str, question: tuple[str, ...] = ("--approve", "ask", "--model", script, QUESTION)) -> Tty:
        started.append(Tty(terminal.here, terminal.home, *arguments, *question, out=tmp_path / "out.txt"))
        return started[-1]

    yield asks
    for each in started:
        each.kill()


def kept(folder: Path) -> list[str]:
    return [path.name for path in (folder / "here" / "generated_tools").glob("*.py")]


@pytest.mark.parametrize(("typed", "names"), [("y\n", ["nth_fibonacci.py"]), ("maybe\nn\n", [])], ids=["yes", "no"])
def test_the_code_and_its_checks_are_shown_before_the_decision(start, tmp_path, typed, names):
    alita = start()
    alita.wait_for("Keep this tool? [y]es [n]o ")
    before = re.sub(r"\x1b\[[0-9;]*m", "", alita.seen)
    assert "● new     nth_fibonacci(n: int) -> int" in before
    assert re.search(r"\d def nth_fibonacci\(n: int\) -> int:", before)
    assert "  checks  " in before
    for line in typed.splitlines(keepends=True):
        alita.seen = ""
        alita.type(line)
        alita.wait_for("Keep this tool?" if line == "maybe\n" else "done")
    code, out = alita.ended()
    assert (code, out) == (0, f"{ANSWER}\n")
    assert kept(tmp_path) == names


def test_what_was_typed_before_the_question_is_no_answer(start, tmp_path):
    alita = start()
    alita.type("y\n")
    alita.wait_for("Keep this tool? [y]es [n]o ")
    time.sleep(0.3)
    assert kept(tmp_path) == []
    alita.type("n\n")
    assert alita.ended() == (0, f"{ANSWER}\n")
    assert kept(tmp_path) == []


def test_a_quiet_command_asks_all_the_same(start):
    alita = start("-q")
    alita.wait_for("Keep this tool? [y]es [n]o ")
    alita.type("n\n")
    code, out = alita.ended()
    assert (code, out) == (0, f"{ANSWER}\n")


def test_ctrl_c_twice_leaves_without_keeping_and_a_resumed_run_asks_again(start, tmp_path):
    alita = start()
    alita.wait_for("Keep this tool? [y]es [n]o ")
    alita.type("\x03")
    alita.wait_for("Ctrl-C again")
    alita.type("\x03")
    code, out = alita.ended()
    assert (code, out, kept(tmp_path)) == (130, "", [])
    again = start("resume", question=())
    again.wait_for("Keep this tool? [y]es [n]o ")
    again.type("y\n")
    assert again.ended() == (0, f"{ANSWER}\n")
    assert kept(tmp_path) == ["nth_fibonacci.py"]


@pytest.mark.parametrize(("mode", "told"), [("ask", "nobody could be asked"), ("never", "set to never")])
def test_without_a_terminal_nothing_is_kept_and_it_is_told(terminal, tmp_path, mode, told):
    script = terminal.script(SCRATCH, *STORY)
    got = terminal.run("--approve", mode, "--json", "--model", script, QUESTION, leading=["setsid", "-w"])
    assert (got.code, got.json["answer"]) == (0, ANSWER)
    assert told in got.err
    assert kept(tmp_path) == []


def test_a_mode_that_there_is_not_is_bad_usage(terminal):
    got = terminal.run("--approve", "maybe", "x")
    assert got.code == 2
    assert "maybe" in got.err

"""`alita --approve ask` at a real terminal: what is shown, what is typed, and what comes of it."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from support.command import Terminal, Tty
from support.fibonacci import ANSWER, CODE, QUESTION, STORY, decide

SECOND = """
def nth_fibonacci(n: int) -> int:
    if n < 1:
        raise ValueError("n must be at least 1")
    previous, current = 1, 0
    while n > 0:
        previous, current = current, previous + current
        n -= 1
    return current
"""
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


def shown(alita: Tty) -> str:
    alita.wait_for("Keep this tool? [y]es · [n]o ")
    return re.sub(r"\x1b\[[0-9;]*m", "", alita.seen)


def test_a_quiet_command_asks_all_the_same_and_neither_a_doubtful_nor_an_early_word_is_a_yes(start, tmp_path):
    alita = start("-q")
    alita.type("y\n")
    shown(alita)
    time.sleep(0.3)
    assert kept(tmp_path) == []
    alita.seen = ""
    alita.type("maybe\n")
    shown(alita)
    alita.type("n\n")
    assert alita.ended() == (0, f"{ANSWER}\n")
    assert kept(tmp_path) == []


def test_no_because_tells_the_model_which_goes_on(terminal, tmp_path):
    goes_on = decide("answer", answer="Without a tool.", when="the user says: use no loop, naïvely")
    script = terminal.script(goes_on, SCRATCH, *STORY)
    alita = Tty(terminal.here, terminal.home, "--approve", "ask", "--model", script, QUESTION, out=tmp_path / "out.txt")
    try:
        shown(alita)
        alita.type("b\n")
        alita.wait_for("No, because: ")
        alita.type("\nuse no loop, naïvely\n")  # an Enter typed after the letter is no reason
        assert alita.ended() == (0, "Without a tool.\n")
    finally:
        alita.kill()
    assert kept(tmp_path) == []


def test_ctrl_c_leaves_without_keeping_and_a_resumed_run_asks_again(start, tmp_path):
    alita = start()
    alita.wait_for("Keep this tool? [y]es · [n]o ")
    alita.type("\x03")
    code, out = alita.ended()
    assert (code, out, kept(tmp_path)) == (130, "", [])
    again = start("resume", question=())
    again.wait_for("Keep this tool? [y]es · [n]o ")
    again.type("y\n")
    assert again.ended() == (0, f"{ANSWER}\n")
    assert kept(tmp_path) == ["nth_fibonacci.py"]


def test_the_answer_of_a_program_is_printed_before_its_tool_is_proved_and_asked_about(terminal, tmp_path):
    script = terminal.script(
        {"role": "coordinator", "json": {"why": "Mathematics.", "needs": "compute"}},
        {"role": "writer", "text": f"{CODE}\n\nprint(nth_fibonacci(57))"},
        {
            "json": {
                "summary": "Compute a Fibonacci number.",
                "n": "Position, from 1 on.",
                "returns": "The number there.",
            }
        },
        {"text": SECOND},
    )
    arguments = ("--approve", "ask", "--model", script, QUESTION)
    out = tmp_path / "out.txt"
    alita = Tty(terminal.here, terminal.home, *arguments, out=out, ALITA_STRATEGY="small")
    try:
        shown(alita)
        assert out.read_text() == f"{ANSWER}\n"
        alita.type("y\n")
        assert alita.ended() == (0, f"{ANSWER}\n")
    finally:
        alita.kill()
    assert kept(tmp_path) == ["nth_fibonacci.py"]

"""`alita --approve ask` at a real terminal: what is shown, what is typed, and what comes of it."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.fibonacci import ANSWER, QUESTION, STORY, decide, write_script

ALITA = [sys.executable, "-c", "from agent.cli.main import main; main()"]
SCRATCH = decide("answer", answer=ANSWER, when=f"Its result here: {ANSWER}")


class Tty:
    """`alita` with a terminal of its own: stdin and stderr are the terminal, stdout is a file."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.out = folder / "out.txt"
        self.seen = ""
        environment = {
            "PATH": os.environ["PATH"],
            "ALITA_HOME": str(folder / "home"),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            **({"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}),
        }
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.dup2(os.open(self.out, os.O_WRONLY | os.O_CREAT), 1)
            os.execvpe(ALITA[0], [*ALITA, *arguments], environment)

    def wait_for(self, text: str, seconds: float = 30.0) -> None:
        end = time.monotonic() + seconds
        while text not in self.seen:
            assert time.monotonic() < end, f"{text!r} did not come; seen: {self.seen}"
            if select.select([self.terminal], [], [], 0.2)[0]:
                try:
                    self.seen += os.read(self.terminal, 65536).decode()
                except OSError:
                    pytest.fail(f"ended before {text!r} came; seen: {self.seen}")

    def type(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def ended(self) -> tuple[int, str]:
        with contextlib.suppress(OSError):
            while data := os.read(self.terminal, 65536):
                self.seen += data.decode()
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        os.close(self.terminal)
        return os.waitstatus_to_exitcode(status), self.out.read_text()


@pytest.fixture
def start(tmp_path: Path):
    (tmp_path / "generated_tools").mkdir()
    script = write_script(tmp_path / "script.jsonl", [SCRATCH, *STORY])
    started: list[Tty] = []

    def asks(*arguments: str) -> Tty:
        started.append(Tty(tmp_path, "--approve", "ask", "--model", script, *arguments, QUESTION))
        return started[-1]

    yield asks
    for each in started:
        if each.pid:
            os.kill(each.pid, signal.SIGKILL)
            os.waitpid(each.pid, 0)


def kept(folder: Path) -> list[str]:
    return [path.name for path in (folder / "generated_tools").glob("*.py")]


@pytest.mark.parametrize(("typed", "names"), [("y\n", ["nth_fibonacci.py"]), ("maybe\nn\n", [])], ids=["yes", "no"])
def test_the_code_and_its_checks_are_shown_before_the_decision(start, tmp_path, typed, names):
    alita = start()
    alita.wait_for("Keep this tool? [y]es [n]o ")
    before = re.sub(r"\x1b\[[0-9;]*m", "", alita.seen)
    assert "● new     nth_fibonacci(n: int) -> int" in before
    assert "1 def nth_fibonacci(n: int) -> int:" in before
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
    again = Tty(tmp_path, "resume")
    again.wait_for("Keep this tool? [y]es [n]o ")
    again.type("y\n")
    assert again.ended() == (0, f"{ANSWER}\n")
    assert kept(tmp_path) == ["nth_fibonacci.py"]


@pytest.mark.parametrize(("mode", "told"), [("ask", "nobody could be asked"), ("never", "set to never")])
def test_without_a_terminal_nothing_is_kept_and_it_is_told(tmp_path, mode, told):
    (tmp_path / "generated_tools").mkdir()
    script = write_script(tmp_path / "script.jsonl", [SCRATCH, *STORY])
    ended = subprocess.run(
        [*ALITA, "--approve", mode, "--json", "--model", script, QUESTION],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=55,
        start_new_session=True,
    )
    assert (ended.returncode, json.loads(ended.stdout)["answer"]) == (0, ANSWER)
    assert told in ended.stderr
    assert kept(tmp_path) == []


def test_a_mode_that_there_is_not_is_bad_usage(tmp_path):
    ended = subprocess.run(
        [*ALITA, "--approve", "maybe", "x"], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert ended.returncode == 2
    assert "maybe" in ended.stderr

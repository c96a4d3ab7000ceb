"""The first question without a key: what is fetched is said before, and something else can be chosen."""

from __future__ import annotations

import os
import pty
import select
import sys
import time
from pathlib import Path

import pytest

from agent.cli import confirmations
from agent.models.embedded.downloads import _left
from support.command import ALITA, Terminal
from support.openai_server import OpenAIServer

PORTS = "from agent.cli import confirmations; confirmations.LOCAL_SERVERS = (('Ollama', {}),); "


def at_a_terminal(folder: Path, typed: str, port: int, question: str = "Which town is it?") -> tuple[int, str, str]:
    """Exit code, what the terminal shows, and stdout, which is a file."""
    out = folder / "out.txt"
    code = f"{PORTS.format(port)}from agent.cli.main import main; main()"
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT), 1)
        variables = {"PATH": os.environ["PATH"], "ALITA_HOME": str(folder / "home"), "TERM": "xterm", "LANG": "C.UTF-8"}
        if "PYTHONPATH" in os.environ:
            variables["PYTHONPATH"] = os.environ["PYTHONPATH"]
        os.execvpe(sys.executable, [sys.executable, "-c", code, question], variables)
    seen, ends, answered = "", time.monotonic() + 40, False
    while time.monotonic() < ends:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                seen += os.read(terminal, 65536).decode(errors="replace")
            except OSError:
                break
        if "[y]" in seen and not answered:
            os.write(terminal, f"{typed}\n".encode())
            answered = True
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), seen, out.read_text()


def test_who_says_no_fetches_nothing(tmp_path: Path) -> None:
    code, seen, out = at_a_terminal(tmp_path, "n", 9)
    assert (code, out) == (4, "")
    assert "1.1 GB" in seen
    assert "alita keys set" in seen
    assert not (tmp_path / "home" / "data" / "models").exists()


def test_a_server_of_this_machine_is_found_and_can_answer(tmp_path: Path) -> None:
    with OpenAIServer().answer("Paris") as server:
        code, seen, out = at_a_terminal(tmp_path, "1", int(server.url.split(":")[2].split("/")[0]))
        assert server.requests[-1]["model"] == "gpt-test"
    assert (code, out) == (0, "Paris\n")
    assert f"1: Ollama at {server.url}" in seen
    assert "alita config set base_url" in seen


def test_without_a_terminal_it_is_told_and_nobody_is_asked(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    got = terminal.run("-q", "--model", terminal.script({"role": "coordinator", "text": "Paris"}), "Which town?")
    assert "1.1 GB" not in got.err
    monkeypatch.setattr("support.command.ALITA", [*ALITA[:2], f"{PORTS.format(9)}{ALITA[2]}"])
    process = terminal.start("Which town?", ALITA_MODELS_DIR=os.devnull)
    assert process.stderr is not None
    told = process.stderr.readline()
    assert "embedded model answers" in told


def test_nobody_is_asked_where_nothing_is_fetched() -> None:
    assert confirmations.ask_before_fetching({"model": "some-model", "base_url": "http://127.0.0.1:9/v1"})


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ([(0.0, 0), (0.5, 50)], ""),
        ([(0.0, 0), (10.0, 0)], ""),
        ([(0.0, 100), (10.0, 300)], ", 35 s left"),
        ([(0.0, 0), (100.0, 100)], ", 15 min left"),
    ],
)
def test_the_time_left_is_that_of_the_pace_so_far(seen: list[tuple[float, int]], said: str) -> None:
    assert _left(seen, 1000) == said

"""`alita sessions` and `alita traces` as commands: exit code, stdout and stderr together."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent.conversation import Turn
from agent.store.redact import Redactor
from agent.store.sessions import Session, new_session, save_session
from support.fibonacci import ANSWER, QUESTION, STORY, write_script

ALITA = [sys.executable, "-c", "from agent.cli.main import main; main()"]


class Shell:
    """A folder and a home to run the command in."""

    def __init__(self, folder: Path) -> None:
        self.here, self.home = folder / "here", folder / "home"
        (self.here / "generated_tools").mkdir(parents=True)

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": os.environ["PATH"], "ALITA_HOME": str(self.home), "LANG": "C.UTF-8", **variables}
        if "PYTHONPATH" in os.environ:
            environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
        ended = subprocess.run(
            [*ALITA, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=self.here,
            env=environment,
            timeout=55,
        )
        assert "Traceback" not in ended.stderr
        return ended

    @property
    def sessions(self) -> Path:
        return self.home / "data" / "sessions"

    def keep(self, *questions: str) -> Session:
        session = new_session("gpt-5-mini")
        for question in questions:
            session.conversation.add(Turn(question, f"answer to {question}", "run-1", "answered", asked=1.0))
        return save_session(self.sessions, session, Redactor())

    def asks(self) -> str:
        """Asks once, and gives the id of the run."""
        script = write_script(self.here / "script.jsonl", STORY)
        ended = self.run("--json", "--model", script, QUESTION)
        return str(json.loads(ended.stdout)["run_id"])


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_sessions_are_listed_with_their_titles(shell):
    old, new = shell.keep("What is 2^10?"), shell.keep("Who wrote Faust?", "And when?")
    ended = shell.run("sessions", "list")
    assert (ended.returncode, ended.stderr) == (0, "")
    first, second = ended.stdout.splitlines()
    assert first.startswith(f"{new.id}  2 turns")
    assert first.endswith("Who wrote Faust?")
    assert second.startswith(f"{old.id}  1 turn ")
    listed = json.loads(shell.run("sessions", "list", "--json").stdout)
    assert [(s["id"], s["turns"]) for s in listed] == [(new.id, 2), (old.id, 1)]
    assert len(shell.run("sessions", "list", "-n", "1").stdout.splitlines()) == 1


def test_without_sessions_the_list_says_how_to_start_one(shell):
    ended = shell.run("sessions", "list")
    assert (ended.returncode, ended.stdout) == (0, "")
    assert "Start one with: alita" in ended.stderr
    assert json.loads(shell.run("sessions", "list", "--json").stdout) == []


def test_a_damaged_session_is_told_and_the_others_are_listed(shell):
    good, bad = shell.keep("good"), shell.keep("bad")
    (shell.sessions / f"{bad.id}.json").write_text("{")
    ended = shell.run("sessions", "list")
    assert (ended.returncode, len(ended.stdout.splitlines())) == (0, 1)
    assert good.id in ended.stdout
    assert f"alita sessions delete {bad.id}" in ended.stderr
    ended = shell.run("sessions", "show", bad.id)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "damaged" in ended.stderr
    assert shell.run("sessions", "delete", bad.id).returncode == 0
    assert shell.run("sessions", "list").stderr == ""


def test_a_session_is_shown_by_the_end_of_its_id(shell):
    session = shell.keep("What is\x1b[2J 2^10?", "and 2^11?")
    ended = shell.run("sessions", "show", session.id[-4:])
    assert ended.returncode == 0
    assert "> What is 2^10?\nanswer to What is 2^10?\n  (answered, run run-1)" in ended.stdout
    assert "\x1b" not in ended.stdout
    told = json.loads(shell.run("sessions", "show", "--json").stdout)
    assert (told["schema"], told["id"], len(told["turns"])) == (1, session.id, 2)


@pytest.mark.parametrize("verb", ["show", "export", "delete"])
def test_a_session_that_is_not_there_exits_with_2(shell, verb):
    shell.keep("one")
    ended = shell.run("sessions", verb, "zzzz")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "no session 'zzzz'" in ended.stderr
    assert "alita sessions list" in ended.stderr


def test_a_session_is_exported_to_stdout_or_to_a_file(shell):
    session = shell.keep("What is 2^10?")
    ended = shell.run("sessions", "export", session.id)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("# What is 2^10?\n")
    ended = shell.run("sessions", "export", session.id, "--format", "json", "-o", "out.json")
    assert (ended.returncode, ended.stdout) == (0, "")
    assert json.loads((shell.here / "out.json").read_text())["id"] == session.id
    assert [p.name for p in shell.here.iterdir() if p.is_file()] == ["out.json"]


def test_an_export_that_cannot_be_written_is_told(shell):
    session = shell.keep("What is 2^10?")
    ended = shell.run("sessions", "export", session.id, "-o", "no/such/folder.md")
    assert ended.returncode == 1
    assert "no/such/folder.md cannot be written" in ended.stderr
    assert shell.run("sessions", "export", session.id, "--format", "pdf").returncode == 2


def test_several_sessions_are_deleted_or_none(shell):
    one, two, three = shell.keep("one"), shell.keep("two"), shell.keep("three")
    assert shell.run("sessions", "delete", one.id, "zzzz").returncode == 2
    assert len(shell.run("sessions", "list").stdout.splitlines()) == 3
    ended = shell.run("sessions", "delete", one.id, two.id, "--json")
    assert json.loads(ended.stdout) == {"ok": True, "deleted": [one.id, two.id]}
    assert three.id in shell.run("sessions", "list").stdout


def test_a_trace_is_shown_and_opened(shell):
    run_id = shell.asks()
    ended = shell.run("traces", "show")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert f"run         {run_id} (answered)" in ended.stdout
    assert "● step 1: create_tool" in ended.stdout
    step = shell.run("traces", "show", run_id[-4:], "--step", "2")
    assert "step 1" not in step.stdout.replace('source="step 1', "")
    assert ANSWER in step.stdout
    told = json.loads(shell.run("traces", "show", "--json").stdout)
    assert told["run"]["run_id"] == run_id
    missing = shell.run("traces", "show", "--step", "9")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "has no step 9" in missing.stderr
    assert shell.run("traces", "show", "zzzz").returncode == 2


def test_a_page_is_written_where_it_was_said_and_no_browser_is_opened_without_a_display(shell):
    run_id = shell.asks()
    ended = shell.run("traces", "open")
    page = shell.home / "data" / "runs" / run_id / "trace.html"
    assert (ended.returncode, ended.stdout) == (0, f"{page}\n")
    assert "no display" in ended.stderr
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    ended = shell.run("traces", "open", run_id, "--no-open", "-o", "page.html")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "page.html\n", "")
    assert (shell.here / "page.html").read_text() == page.read_text()


def test_the_browser_gets_the_page_and_no_key(shell):
    """The browser is a program that writes down how it was called."""
    run_id = shell.asks()
    told = shell.here / "told.json"
    browser = shell.here / "browser"
    browser.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        f"json.dump({{'argv': sys.argv[1:], 'env': dict(os.environ)}}, open({str(told)!r}, 'w'))\n"
    )
    browser.chmod(0o755)
    ended = shell.run("traces", "open", run_id, DISPLAY=":7", BROWSER=f"{browser} %s", OPENAI_API_KEY="sk-secret-12345")
    assert (ended.returncode, ended.stderr) == (0, "")
    called: dict[str, Any] = json.loads(told.read_text())
    assert called["argv"] == [f"file://{shell.home}/data/runs/{run_id}/trace.html"]
    assert called["env"]["DISPLAY"] == ":7"
    assert "OPENAI_API_KEY" not in called["env"]

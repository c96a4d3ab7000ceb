"""`alita sessions` and `alita traces` as commands: exit code, stdout and stderr together."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from agent.configuration.settings_sources import read_settings
from agent.conversation import Turn
from agent.store.redact import Redactor
from agent.store.sessions import StoredSession, new_session, save_session
from mcp_tools.text import printable
from support.command import Terminal
from support.fibonacci import ANSWER, QUESTION, STORY, decide, write_script


class Shell(Terminal):
    """A terminal with sessions and runs."""

    @property
    def sessions(self) -> Path:
        return self.home / "data" / "sessions"

    def keep(self, *questions: str) -> StoredSession:
        session = new_session("gpt-5-mini")
        for question in questions:
            session.conversation.add(Turn(question, f"answer to {question}", "run-1", "answered", asked=1.0))
        return save_session(read_settings(environment={"ALITA_HOME": str(self.home)}), session, Redactor())

    def asks(self) -> str:
        """Asks once, and gives the id of the run."""
        script = write_script(self.here / "script.jsonl", STORY)
        ended = self.call("--json", "--model", script, QUESTION)
        return str(ended.json["run_id"])


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_sessions_are_listed_with_their_titles(shell):
    old, new = shell.keep("What is 2^10?"), shell.keep("Who wrote Faust?", "And when?")
    ended = shell.call("sessions", "list")
    assert (ended.code, ended.err) == (0, "")
    first, second = ended.out.splitlines()
    assert first.startswith(f"{new.id}  2 turns")
    assert first.endswith("Who wrote Faust?")
    assert second.startswith(f"{old.id}  1 turn ")
    listed = shell.call("sessions", "list", "--json").json
    assert [(s["id"], s["turns"]) for s in listed] == [(new.id, 2), (old.id, 1)]
    assert len(shell.call("sessions", "list", "-n", "1").out.splitlines()) == 1


def test_a_damaged_session_is_told_and_the_others_are_listed(shell):
    good, bad = shell.keep("good"), new_session("m")
    shell.sessions.mkdir()
    (shell.sessions / f"{bad.id}.json").write_text("{")
    ended = shell.call("sessions", "list")
    assert (ended.code, len(ended.out.splitlines())) == (0, 1)
    assert good.id in ended.out
    assert f"alita sessions delete {bad.id}" in ended.err
    ended = shell.call("sessions", "show", bad.id)
    assert (ended.code, ended.out) == (2, "")
    assert "damaged" in ended.err
    assert shell.call("sessions", "delete", bad.id).code == 0
    assert shell.call("sessions", "list").err == ""


def test_a_session_is_shown_by_the_end_of_its_id(shell):
    session = shell.keep("What is\x1b[2J 2^10?", "and 2^11?")
    ended = shell.call("sessions", "show", session.id[-4:])
    assert ended.code == 0
    assert "> What is 2^10?\nanswer to What is 2^10?\n  (answered, run run-1)" in ended.out
    assert "\x1b" not in ended.out
    told = shell.call("sessions", "show", "--json").json
    assert (told["schema"], told["id"], len(told["turns"])) == (1, session.id, 2)


def test_a_session_is_exported_to_stdout_or_to_a_file(shell):
    session = shell.keep("What is 2^10?")
    ended = shell.call("sessions", "export", session.id)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("# What is 2^10?\n")
    ended = shell.call("sessions", "export", session.id, "--format", "json", "-o", "out.json")
    assert (ended.code, ended.out) == (0, "")
    assert json.loads((shell.here / "out.json").read_text())["id"] == session.id
    assert [p.name for p in shell.here.iterdir() if p.is_file()] == ["out.json"]


def test_a_trace_is_shown_and_opened(shell):
    """In the terminal, as a page, and in a browser that is a program which writes down how it was called."""
    run_id = shell.asks()
    ended = shell.call("traces", "show")
    assert (ended.code, ended.err) == (0, "")
    assert f"run         {run_id} (answered)" in ended.out
    assert "● step 1: create_tool" in ended.out
    step = shell.call("traces", "show", run_id[-4:], "--step", "2")
    assert "step 1" not in step.out.replace('source="step 1', "")
    assert ANSWER in step.out
    assert shell.call("traces", "show", "--json").json["run"]["run_id"] == run_id
    missing = shell.call("traces", "show", "--step", "9")
    assert (missing.code, missing.out) == (2, "")
    assert "has no step 9" in missing.err
    assert shell.call("traces", "show", "zzzz").code == 2

    ended = shell.call("traces", "open")
    page = shell.home / "data" / "runs" / run_id / "trace.html"
    assert (ended.code, ended.out) == (0, f"{page}\n")
    assert "No display" in ended.err
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    ended = shell.call("traces", "open", run_id, "--no-open", "-o", "page.html")
    assert (ended.code, ended.out, ended.err) == (0, "page.html\n", "")
    assert (shell.here / "page.html").read_text() == page.read_text()

    told, browser = shell.here / "told.json", shell.here / "browser"
    browser.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        f"json.dump({{'argv': sys.argv[1:], 'env': dict(os.environ)}}, open({str(told)!r}, 'w'))\n"
    )
    browser.chmod(0o755)
    ended = shell.run("traces", "open", run_id, DISPLAY=":7", BROWSER=f"{browser} %s", OPENAI_API_KEY="sk-secret-12345")
    assert (ended.code, ended.err) == (0, "")
    called: dict[str, Any] = json.loads(told.read_text())
    assert called["argv"] == [f"file://{shell.home}/data/runs/{run_id}/trace.html"]
    assert called["env"]["DISPLAY"] == ":7"
    assert "OPENAI_API_KEY" not in called["env"]


@pytest.mark.parametrize("hidden", ["\u200b", "\x1b[31m"], ids=ascii)
def test_a_key_with_invisible_characters_inside_is_shown_nowhere(shell, tmp_path, hidden):
    key = "my-very-own-endpoint-key"
    question = f"What is 2^10, {key[:7]}{hidden}{key[7:]}?"
    session = shell.keep(question)
    script = write_script(shell.here / "script.jsonl", [decide("answer", answer="1024")])
    run_id = shell.call("--json", "--model", script, question).json["run_id"]  # the key is not known yet
    page = tmp_path / "page.html"
    commands = [
        *(("traces", "show", run_id, *more) for more in ((), ("--full",), ("--step", "1"), ("--json",))),
        ("traces", "open", run_id, "--no-open", "-o", str(page)),
        *(("runs", "show", run_id, *more) for more in ((), ("--json",))),
        ("runs", "list"),
        ("runs", "search", "What"),
        ("sessions", "list"),
        ("sessions", "show", session.id),
        ("sessions", "export", session.id),
    ]
    for command in commands:
        ended = shell.call(*command, OPENAI_API_KEY=key)
        shown = page.read_text() if "open" in command else ended.out
        assert (ended.code, key in printable(shown), "[redacted]" in shown) == (0, False, True), command

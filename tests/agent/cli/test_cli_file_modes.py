"""Everything that alita keeps is for its user alone, whatever the umask."""

from __future__ import annotations

import json
import os
import stat

import pytest

from support.benchmarks import answers, asked, question_file
from support.fibonacci import ANSWER, QUESTION, STORY

MADE = {"alita.sqlite", "keys.json", "signing-key", "journal.jsonl", "run.json", "calls.jsonl", "approvals.json"}


def rpc(method, number=None, **params):
    return (
        json.dumps({"jsonrpc": "2.0", "method": method, "params": params} | ({"id": number} if number else {})) + "\n"
    )


CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
SERVED = (
    rpc("initialize", 1, **CLIENT)
    + rpc("notifications/initialized")
    + rpc("tools/call", 2, name="nth_fibonacci", arguments={"n": 7})
)


@pytest.fixture
def open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


def test_no_file_that_alita_keeps_can_be_read_by_others(terminal, openai_server, open_umask):
    """After a question that made a tool, a follow-up, a served call, gap records, a key and a benchmark."""
    openai_server.default = lambda body: answers(asked(body))
    terminal.script(*STORY)
    (terminal.here / "table.csv").write_text("a,b\n1,2\n")
    questions = question_file(terminal.here, 1)
    model = ("--model", "scripted:script.jsonl")
    made = terminal.call("ask", QUESTION, *model, "--yes", "-f", "table.csv", "--tools-dir", "tools")
    assert made.out.strip() == ANSWER, made.err
    terminal.script({"text": "It is even."})
    assert terminal.call("ask", "-c", "Is it even?", *model).code == 0
    assert "13" in terminal.run("serve", "--tools-dir", "tools", stdin=SERVED, before=lambda: os.umask(0)).out
    terminal.call("gaps", "import", "-", stdin="{}\n")
    assert terminal.call("keys", "set", "TAVILY_API_KEY", stdin="tvly-0123456789abcdef\n").code == 0
    done = terminal.call("gaia", "run", questions.name, "--base-url", openai_server.url, "--model", "m")
    assert done.code == 0, done.err

    kept = [terminal.home, *terminal.home.rglob("*"), *terminal.here.glob("questions.results.*")]
    kept += (terminal.here / "questions.results.runs").rglob("*")
    modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in kept}
    assert {path.name for path in modes} >= MADE
    assert [(oct(mode), path) for path, mode in modes.items() if mode & 0o077 and not is_for_programs(path)] == []


def is_for_programs(path):
    """Programs run as another user in the sandbox: inside of a run's closed folder they may read these."""
    runs = [parent for parent in path.parents if parent.parent.name in ("runs", "questions.results.runs")]
    return bool(runs) and path.relative_to(runs[0]).parts[0] in ("workspace", "files", "web", "pictures")

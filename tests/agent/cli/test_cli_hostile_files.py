"""Files that a command is given: one that cannot be used is an error on a few lines, at once."""

from __future__ import annotations

import json
import os

import pytest

from support.course_server import CourseServer

CONTENTS = {
    "deep": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "not UTF-8": b'{"kind": "\xff\xfe"}\n',
}
FILE = "hostile"
NAMES = ("alita.toml", ".env", ".mcp.json", "course.questions.jsonl", "submission_payload.log")
URL = "https://huggingface.co/spaces/me/agent/tree/main"
MODEL = ("--model", "scripted:script.jsonl")
COMMANDS = {
    "schema": ("ask", "Why?", "--schema", FILE, *MODEL),
    "script": ("ask", "Why?", "--model", f"scripted:{FILE}"),
    "questions": ("gaia", "run", FILE, *MODEL),
    "questions to learn from": ("gaia", "learn", FILE, *MODEL),
    "results": ("gaia", "run", "good.jsonl", "--output", FILE, "--resume", *MODEL),
    "submission": ("gaia", "run", "good.jsonl", "--submission", FILE, "--resume", "--max-seconds", "5", *MODEL),
    "details": ("gaia", "run", "good.jsonl", "--details", FILE, "--resume", *MODEL),
    "report": ("gaia", "report", FILE),
    "comparison": ("gaia", "compare", FILE, FILE),
    "traces": ("traces", "table", FILE),
    "gap records": ("gaps", "import", FILE),
}
NOT_REGULAR = ("pipe", "device", "large")
"""Of these, a command says which file cannot be used; contents may be usable."""


def put(path, kind):
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "large":
        with path.open("wb") as file:
            file.truncate(1 << 32)
    else:
        path.write_bytes(CONTENTS[kind])


@pytest.fixture
def course():
    with CourseServer() as server:
        yield server


@pytest.fixture
def given(terminal):
    (terminal.here / "good.jsonl").write_text(json.dumps({"task_id": "t", "Question": "Why?"}) + "\n")
    terminal.script({"text": "Because."})
    return terminal


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_a_file_that_cannot_be_used_is_a_short_error(given, command):
    for kind in (*NOT_REGULAR, *CONTENTS):
        path = given.here / FILE
        put(path, kind)
        ended = given.call(*command)
        assert (kind, 0 <= ended.code < 64, len(ended.err) < 2_000) == (kind, True, True), ended.err
        if kind in NOT_REGULAR:
            assert ended.code, kind
            assert FILE in ended.err, kind
        path.unlink()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["pipe", "large", "deep"])
def test_a_file_that_lies_in_a_folder_stops_no_command_for_long(given, course, name, kind):
    put(given.here / name, kind)
    (given.here / "leaderboard.jsonl").write_text('{"task_id": "t", "model_answer": "x"}\n')
    commands = {
        ".mcp.json": [("mcp", "install", "claude-code", "--scope", "project"), ("mcp", "list")],
        "course.questions.jsonl": [("course", "run", "--course", course.url, *MODEL, "--max-seconds", "5")],
        "submission_payload.log": [
            ("course", "submit", "leaderboard.jsonl", "--course", course.url, "--username", "me", "--agent-code", URL)
        ],
    }
    for command in commands.get(name, [("tools", "list")]):
        ended = given.call(*command)
        assert (0 <= ended.code < 64, len(ended.err) < 3_000) == (True, True), ended.err
    words = {"_ALITA_COMPLETE": "complete_bash", "COMP_WORDS": "alita tools show x", "COMP_CWORD": "3"}
    assert len(given.call(**words).err) < 1_000


@pytest.mark.parametrize("kind", ["pipe", "device", "large"])
def test_a_library_is_read_by_a_benchmark_as_small_files(given, kind):
    put(given.here / "generated_tools" / "tool.py", kind)
    ended = given.call("gaia", "run", "good.jsonl", "--library", "read-only", *MODEL)
    assert (ended.code, "tool.py" in ended.err or "generated_tools" in ended.err) == (2, True), ended.err

"""The real `alita` process from question to answer: exit code, stdout and stderr together."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from support.command import ALITA, clean, ended
from support.fibonacci import ANSWER, QUESTION, STORY, decide, kind_of, reply
from support.forked_command import ForkedCommand

KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
MEMBERS = {
    "schema", "answer", "status", "tools_created", "tools_used", "steps", "usage", "cost", "seconds", "run_id",
    "model", "error", "limit", "restated", "waited", "sources", "set_apart", "warnings",
    "quality", "brief", "plans", "agent", "actions", "outputs", "changes",
}  # fmt: skip


def test_a_question_makes_a_tool_and_the_next_one_uses_it(terminal):
    """The answer alone on stdout, the account on stderr, the tool in the folder.

    Neither a question of the same form nor the replay asks the model.
    """
    first = terminal.run("--model", terminal.script(*STORY), QUESTION)
    assert (first.code, first.out) == (0, ANSWER + "\n")
    labels = ["decide", "check", "spec", "trial", "saved", "call", "decide", "done"]
    assert [line[2:].split()[0] for line in first.err.splitlines()] == labels
    assert "generated_tools/nth_fibonacci.py (verified)" in first.err
    assert sorted(path.name for path in (terminal.here / "generated_tools").glob("*_*")) == [
        "nth_fibonacci.json",
        "nth_fibonacci.py",
    ]

    chosen = decide("use_tool", tool="nth_fibonacci", arguments={"n": 60, "final_answer": "{}"})
    second = terminal.call("--json", "--model", terminal.script(chosen), "Which Fibonacci number has position 60?")
    told = json.loads(second.out)
    assert set(told) == MEMBERS
    assert (told["schema"], told["answer"], told["status"], told["error"]) == (1, "1548008755920", "answered", None)
    assert (told["tools_created"], told["tools_used"], told["steps"]) == ([], ["nth_fibonacci"], 1)
    assert set(told["usage"]) == {"calls", "input_tokens", "output_tokens", "cached_tokens"}
    assert (told["usage"]["calls"], told["cost"]) == (1, 0.0)
    assert "nth_fibonacci in the library" in second.err

    alike = json.loads(terminal.call("--json", "--model", terminal.script(), "What is the 60th Fibonacci number?").out)
    assert (alike["answer"], alike["tools_used"], alike["usage"]["calls"]) == ("1548008755920", ["nth_fibonacci"], 0)

    (terminal.here / "script.jsonl").unlink()
    replayed = terminal.call("runs", "replay", "-q", terminal.runs[0].name)
    assert (replayed.code, replayed.out, replayed.err) == (0, ANSWER + "\n", "")
    replayed = terminal.call("runs", "replay", terminal.runs[0].name)
    note = f"Replay of run {terminal.runs[0].name}: no model is called, and nothing is saved.\n"
    assert (replayed.code, replayed.err.startswith(note)) == (0, True)
    assert len(terminal.runs) == 3


def test_the_stream_tells_each_step_and_ends_with_the_answer(terminal):
    got = terminal.call("-v", "--json-stream", "--model", terminal.script(*STORY), QUESTION)
    lines = [json.loads(line) for line in got.out.splitlines()]
    kinds = [line["event"] for line in lines]
    assert kinds[0] == "run_started"
    assert kinds[-1] == "run_finished"
    assert kinds.count("run_finished") == 1
    assert kinds.count("model_called") == 3
    assert {"step_started", "spec_written", "code_checked", "trial_finished", "tool_registered"} < set(kinds)
    assert set(lines[-1]) == MEMBERS | {"event"}
    assert lines[-1]["answer"] == ANSWER
    assert "examiner: scripted:" in got.err


def test_a_megabyte_from_a_pipe_is_refused_before_anything_is_kept(terminal):
    got = terminal.run("--json", "--model", terminal.script(), "Sum", stdin="1\n" * 500_000)
    assert got.code == 2
    assert "--file" in got.err
    assert json.loads(got.out)["status"] == "failed"
    assert terminal.runs == []


@pytest.mark.parametrize(
    ("name", "flags"), [("none.csv", ()), (".", ("--json",)), ("pipe", ("-c",)), ("/dev/zero", ())]
)
def test_a_file_that_cannot_be_opened_ends_the_command_before_a_model_is_asked(terminal, name, flags):
    os.mkfifo(terminal.here / "pipe")
    got = terminal.call("--file", name, "--model", terminal.script(decide("answer", answer="6")), *flags, "Sum it")
    assert got.code == 2
    assert f"The file {name} cannot be read" in got.err
    assert terminal.runs == []


def test_an_attached_file_is_looked_at_and_read(terminal):
    (terminal.here / "data.csv").write_text("item,price\nlamp,31\n")
    lines = [
        decide("answer", answer="31", when='<data source="read">'),
        decide("read_file", file="data.csv", when="path: "),
    ]
    got = terminal.call("--file", "data.csv", "--model", terminal.script(*lines), "What is the price of the lamp?")
    assert (got.code, got.out) == (0, "31\n")
    assert "file    data.csv, csv: preview" in got.err
    assert "file    data.csv, csv: complete" in got.err


def test_a_wrong_key_is_told_with_the_way_out_and_stands_nowhere(terminal, openai_server):
    openai_server.fail(401, f"Incorrect API key provided: {KEY}", code="invalid_api_key")
    got = terminal.call(
        "--json", "--model", "tiny-1", QUESTION, OPENAI_API_KEY=KEY, OPENAI_BASE_URL=openai_server.url
    )  # fmt: skip
    assert got.code == 2
    assert "OPENAI_API_KEY" in got.err
    told = json.loads(got.out)
    assert (told["status"], told["answer"]) == ("failed", "")
    assert KEY not in got.out + got.err
    assert not any(KEY.encode() in path.read_bytes() for path in terminal.home.rglob("*") if path.is_file())
    assert json.loads((terminal.runs[0] / "run.json").read_text())["status"] == "failed"


@pytest.mark.parametrize("verb", [(), ("tools", "create")], ids=["a question", "a tool"])
def test_an_endpoint_that_is_not_there_fails(terminal, verb):
    got = terminal.call(*verb, "--model", "tiny-1", "--base-url", "http://127.0.0.1:9/v1", QUESTION, ALITA_RETRIES="1")
    assert (got.code, got.out) == (1, "")
    assert "http://127.0.0.1:9/v1" in got.err
    assert "trying again" in got.err


def test_a_limit_prints_the_best_answer_and_how_to_go_on(terminal):
    got = terminal.call("--max-steps", "1", "--model", terminal.script(*STORY), QUESTION)
    assert (got.code, got.out) == (124, ANSWER + "\n")
    assert "The run reached its limit of steps" in got.err
    assert f"alita resume {terminal.runs[0].name}" in got.err
    again = terminal.call("resume", "-q", "--max-steps", "5")
    assert (again.code, again.out, again.err) == (0, ANSWER + "\n", "")


class Held:
    """Answers like the story, but holds the n-th request of a kind until it is told to go on."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.reached, self.go = threading.Event(), threading.Event()

    def __call__(self, body):
        if kind_of(body) == self.kind and not self.reached.is_set():
            self.reached.set()
            self.go.wait(40)
        return reply(body)


def test_a_run_that_is_killed_or_stopped_goes_on_and_loses_nothing(terminal, openai_server):
    """kill -9 and Ctrl-C, each in the midst of the same call."""

    def begun(*arguments: str) -> tuple[Held, subprocess.Popen[str]]:
        held = openai_server.default = Held("examine")
        process = terminal.start(*arguments)
        assert held.reached.wait(50)
        return held, process

    held, process = begun("--model", "tiny-1", "--base-url", openai_server.url, QUESTION)
    run_id = terminal.runs[0].name
    process.kill()
    process.communicate()
    held.go.set()
    assert "interrupted" in terminal.call("runs", "list").out

    held, process = begun("resume")
    process.send_signal(signal.SIGINT)
    got = ended(process)
    held.go.set()
    assert (got.code, got.out) == (130, "")
    assert f"alita resume {run_id}" in got.err
    assert json.loads((terminal.runs[0] / "run.json").read_text())["status"] == "interrupted"

    told = terminal.call("resume", "--json").json
    assert (told["answer"], told["status"], told["tools_created"]) == (ANSWER, "answered", ["nth_fibonacci"])
    asked = [kind_of(body) for body in openai_server.requests]
    assert asked == ["decide", "examine", "examine", "examine", "decide"]
    assert len(terminal.runs) == 1


PRIVATE = ["unshare", "--mount", *([] if os.getuid() == 0 else ["--map-root-user"])]


def on_a_full_disk(size: str, folder: Path):
    """Mounts a tiny disk in a namespace of the process's own."""
    return [*PRIVATE, "sh", "-c",
            f'mount -t tmpfs -o size={size} none "{folder}" && exec "$@"', "sh", *ALITA]  # fmt: skip


def can_mount() -> bool:
    return subprocess.run([*PRIVATE, "true"], capture_output=True, check=False).returncode == 0


needs_mount = pytest.mark.skipif(not can_mount(), reason="no user namespaces: a small disk cannot be mounted")


@needs_mount
def test_an_answer_is_given_where_its_tool_finds_no_room(terminal, monkeypatch):
    place = terminal.here / "generated_tools"
    place.mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr("support.command.ALITA", on_a_full_disk("4k", place))
    scratch = decide("answer", answer=ANSWER, when=f"Its result here: {ANSWER}")
    got = terminal.run("--model", terminal.script(scratch, *STORY), QUESTION)
    assert (got.code, got.out) == (0, ANSWER + "\n")
    assert "not kept as a tool: the tool library" in got.err


SMALL_FILES = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
"""


def test_a_journal_that_breaks_off_is_no_traceback(terminal):
    """A limit on the size of files breaks the journal in the middle of the run."""
    asking = ["--model", terminal.script(*STORY), QUESTION]
    variables = clean(terminal.home)
    got = ended(ForkedCommand(asking, stdin=False, here=terminal.here, variables=variables, first=SMALL_FILES))
    assert (got.code, got.out) == (1, "")
    assert "cannot be written" in got.err
    assert "Free some space" in got.err
    again = terminal.call("resume", "-q")
    assert (again.code, again.out) == (0, ANSWER + "\n")


def test_nothing_is_left_running(terminal):
    """The sandbox ends with its process, also when that is killed."""
    process = terminal.start("--model", terminal.script({"text": "late", "delay": 50}), QUESTION)
    end = time.monotonic() + 40
    while not children_of(process.pid) and time.monotonic() < end:
        time.sleep(0.01)
    started = children_of(process.pid)
    assert started
    process.kill()
    process.communicate()
    end = time.monotonic() + 20
    while any(alive(pid) for pid in started) and time.monotonic() < end:
        time.sleep(0.01)
    assert not any(alive(pid) for pid in started)


def children_of(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False

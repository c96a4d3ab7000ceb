"""The command ends in time whatever a page or a file holds, and whatever a library does."""

from __future__ import annotations

import os
import signal
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from support.command import Ended, ended
from support.fibonacci import decide, write_script
from support.forked_command import ForkedCommand
from support.site.hostile import HOSTILE
from support.site.server import Site

LIMIT = 2
"""Seconds of the run."""
LATEST = 40
"""Seconds until the process must be gone, start-up of a loaded machine included."""
FILES = {"picture": "png", "deep": "json"}
"""Ending by kind, of those that are tried as attached files."""


def script(folder: Path, *lines: dict[str, Any]) -> str:
    return write_script(folder / "script.jsonl", list(lines))


def run(folder: Path, model: str, *arguments: str) -> Ended:
    flags = ["--model", model, "--allow-private", "--no-cache", "--max-seconds", str(LIMIT), "--json"]
    variables = os.environ | {"ALITA_ENGINES": "wikipedia", "ALITA_CHROME": "/bin/false"}
    return ended(ForkedCommand([*flags, *arguments], stdin=False, here=folder, variables=variables), timeout=LATEST)


@pytest.mark.parametrize("kind", ["attributes", "xml"])
def test_no_page_outlasts_the_limit(kind: str, tmp_path: Path, site: Site) -> None:
    model = script(
        tmp_path,
        decide("answer", answer="12", when='<data source="read">'),
        decide("read_file", file=f"{site.url}/hostile?kind={kind}"),
    )
    done = run(tmp_path, model, "When is low water?")
    assert (done.code, done.json["status"]) in {(0, "answered"), (124, "limit")}, done.err


@pytest.mark.parametrize("kind", FILES)
def test_no_file_outlasts_the_limit(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"tides.{FILES[kind]}"
    path.write_bytes(HOSTILE[kind][1]())
    model = script(tmp_path, decide("answer", answer="12"))
    done = run(tmp_path, model, "-f", str(path), "When is low water?")
    assert (done.code, done.json["status"]) in {(0, "answered"), (124, "limit")}, done.err


STUCK = textwrap.dedent("""
    import asyncio, ctypes, sys, threading, time, types
    from agent.answer import Answer

    HELD = ctypes.PyDLL(None)  # its calls keep the interpreter's lock

    class Alita:
        newest = Answer("so far", "interrupted", run_id="261121-104055-k3f9")
        settings = types.SimpleNamespace(approval="auto")
        began = time.monotonic()
        question = ""
        looks = 0  # of the watch, which has a thread of its own
        @classmethod
        def open(cls, settings, *, streams=False, confirm=None):
            cls.limit = settings.max_seconds
            return cls()
        async def __aenter__(self):
            return self
        async def __aexit__(self, *_):
            if self.question == "close":
                await asyncio.sleep(600)
        @property
        def running(self):
            return self
        @property
        def seconds_left(self):
            self.looks += threading.current_thread() is not threading.main_thread()
            if self.question == "lock":  # however long it takes until it stops Python
                return self.limit
            return self.limit - (time.monotonic() - self.began) if self.limit else None
        async def ask(self, question, *, files=(), on_event=None, **more):
            self.question = question
            print("begun", file=sys.stderr, flush=True)
            if question == "thread":  # a library that never comes back
                asyncio.get_running_loop().run_in_executor(None, time.sleep, 600)
            if question == "loop":
                time.sleep(600)
            if question == "lock":
                while self.looks < 2:  # at the second look, what the first one set is there
                    await asyncio.sleep(0.02)
                HELD.sleep(600)
            if question == "deaf":
                while True:
                    try:
                        await asyncio.sleep(600)
                    except asyncio.CancelledError:
                        pass
            return Answer("done", "answered")

    module = types.ModuleType("agent.alita")
    module.Alita = Alita
    sys.modules["agent.alita"] = module
    from agent.cli import answers, exits
    answers._CLOSING, exits._WITHOUT_PYTHON, exits._THREADS_SECONDS = 1.0, 1.0, 0.5
""")


def begun(*arguments: str) -> ForkedCommand:
    """The command with an Alita that gets stuck as its question says."""
    process = ForkedCommand(
        arguments, stdin=False, here=Path.cwd(), variables=os.environ | {"ALITA_DOWNLOAD": "always"}, first=STUCK
    )
    assert any("begun" in line for line in process.stderr)
    return process


def left(process: ForkedCommand) -> tuple[int, str]:
    """Exit code and output of a process that must end now."""
    try:
        out, _ = process.communicate(timeout=15)
    finally:
        process.kill()
    return process.returncode, out


def test_a_thread_that_hangs_does_not_keep_the_process() -> None:
    assert left(begun("thread")) == (0, "done\n")


def test_a_run_that_hangs_ends_at_its_limit_with_what_it_has() -> None:
    assert left(begun("--max-seconds", "1", "loop")) == (124, "so far\n")


def test_an_answer_is_given_although_closing_hangs() -> None:
    assert left(begun("close")) == (0, "done\n")


def test_a_library_that_stops_python_altogether_ends_with_the_process() -> None:
    code, _ = left(begun("--max-seconds", "1", "lock"))
    assert code == 1


def test_ctrl_c_twice_ends_a_run_that_does_not_hear_it() -> None:
    process = begun("deaf")
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
    assert left(process) == (130, "so far\n")

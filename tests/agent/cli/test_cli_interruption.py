"""A run on the terminal: what is printed for each end of it, and Ctrl-C.

The command, its signals and its output are real; behind them stands an Alita that does what the test says.
"""

import json
import signal
import textwrap
import time

import pytest

from support.command import clean
from support.forked_command import ForkedCommand

STAND_IN = textwrap.dedent("""
    import asyncio, sys, types
    from agent.answer import Answer
    from agent.errors import ModelUnreachableError
    from agent.events import AnswerWritten, Note, RunFinished, RunStarted
    from agent.models.protocol import Usage

    class Alita:
        newest = running = None
        settings = types.SimpleNamespace(approval="auto")
        @classmethod
        def open(cls, settings, *, streams=False, confirm=None):
            return cls()
        async def __aenter__(self):
            return self
        async def __aexit__(self, *_):
            print("closed", file=sys.stderr)
        async def ask(self, question, *, files=(), on_event=None, **more):
            on_event(RunStarted("261121-104055-k3f9", question, "m"))
            verb, _, rest = question.partition(" ")
            if verb == "say":
                status, _, text = rest.partition(" ")
                answer = Answer(text, status, run_id="261121-104055-k3f9", usage=Usage(cost=None))
                on_event(RunFinished(answer))
                return answer
            if verb == "raise":
                raise ModelUnreachableError("no \\x1b[31mconnection", remedy="Check the network.")
            if verb == "write":
                on_event(AnswerWritten("The first half"))
                print("waiting", file=sys.stderr, flush=True)
                await asyncio.sleep(60)
            if verb == "sleep":
                on_event(Note("waiting"))
                await asyncio.sleep(60)
            return Answer(question, "answered")

    module = types.ModuleType("agent.alita")
    module.Alita = Alita
    sys.modules["agent.alita"] = module
""")


@pytest.fixture
def start(tmp_path):
    def start(*arguments, stdin=False):
        return ForkedCommand(
            arguments, stdin=stdin, here=tmp_path, variables=clean(tmp_path, ALITA_DOWNLOAD="always"), first=STAND_IN
        )

    return start


def ended(process, stdin=None):
    out, err = process.communicate(stdin, timeout=30)
    return process.returncode, out, err


@pytest.mark.parametrize(
    ("question", "code", "out", "err"),
    [
        ("say answered 42", 0, "42\n", "done    answered"),
        ("say no_answer nothing was found", 3, "", "alita: nothing was found"),
        ("say declined not this", 4, "", "alita: not this"),
        ("say limit about 40", 124, "about 40\n", "alita resume 261121-104055-k3f9"),
        ("say failed", 1, "", "alita: No answer was found."),
        ("raise", 1, "", "alita: no connection\n       Check the network."),
    ],
)
def test_the_answer_alone_is_on_stdout_and_the_status_is_the_exit_code(start, question, code, out, err):
    got = ended(start(question))
    assert got[:2] == (code, out)
    assert err in got[2]
    assert "Traceback" not in got[2]


def test_piped_text_is_the_question_or_is_added_to_it(start):
    assert ended(start("-q", stdin=True), "from a pipe")[1] == "from a pipe\n"
    assert ended(start("-q", "Sum", "these:", stdin=True), "1\n2\n")[1] == "Sum these:\n\n1\n2\n"
    assert ended(start("-q", stdin=True), "")[:2] == (2, "")


def wait_for(process, text):
    seen = ""
    while text not in seen:
        line = process.stderr.readline()
        assert line, seen
        seen += line


def test_ctrl_c_stops_at_once_prints_what_there_is_and_says_how_to_go_on(start):
    process = start("write")
    wait_for(process, "waiting")
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    code, out, err = ended(process)
    assert time.monotonic() - began < 20
    assert (code, out) == (130, "The first half\n")
    assert "alita resume 261121-104055-k3f9" in err
    assert "closed" in err
    assert "Traceback" not in err


def test_a_stopped_run_is_an_object_too(start):
    process = start("--json", "sleep")
    wait_for(process, "waiting")
    process.send_signal(signal.SIGINT)
    code, out, _ = ended(process)
    assert (code, json.loads(out)["status"]) == (130, "interrupted")

"""What a journal records, what it gives back, and what survives a crash."""

import asyncio
import signal
import subprocess
import sys
import textwrap
from functools import partial

import pytest

from agent.calls.models import RecordedModel
from agent.calls.recorder import Recorder
from agent.errors import ModelBusyError, RunError, StorageError
from agent.models.protocol import Completion, Request, Usage
from agent.store.journal import Journal
from agent.store.redact import Redactor


class Counter:
    """A model that numbers its answers, and fails at a given call."""

    name = "counter"

    def __init__(self, fail_at=()):
        self.calls = 0
        self.fail_at = fail_at

    async def complete(self, request):
        self.calls += 1
        if self.calls in self.fail_at:
            raise ModelBusyError("busy", remedy="wait")
        return Completion(f"{self.calls}: {request.messages[-1]['content']}", Usage(7, 2, 1, 1, None), {"a": [1]})

    async def aclose(self):
        pass


def say(*texts):
    return [{"role": "user", "content": text} for text in texts]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run" / "journal.jsonl"


async def record(path, *texts, **options):
    journal = Journal.create(path, options.pop("redactor", None))
    model = RecordedModel(Counter(**options), Recorder(journal))
    answers = []
    for step, text in enumerate(texts, start=1):
        journal.step = step
        answers.append(await model.complete(Request(say(text), temperature=0.0)))
    await journal.aclose()
    return answers


async def test_a_replay_makes_no_call_and_gives_equal_answers_in_order(path):
    recorded = await record(path, "same", "other", "same")
    journal, model = Journal.replay(path), Counter()
    replayed = [
        await RecordedModel(model, Recorder(journal)).complete(Request(say(t), temperature=0.0))
        for t in ("same", "other", "same")
    ]
    assert replayed == recorded
    assert [a.text for a in replayed] == ["1: same", "2: other", "3: same"]
    assert model.calls == 0


async def test_a_replay_that_asks_something_else_says_what_differs(path):
    await record(path, "the same beginning, then this")
    journal = Journal.replay(path)
    journal.step = 1
    model = RecordedModel(Counter(), Recorder(journal))
    with pytest.raises(RunError, match="is not in the journal") as e:
        await model.complete(Request(say("the same beginning, then that"), temperature=0.0))
    assert "--until 0" in e.value.remedy


async def test_an_error_is_recorded_and_raised_again_as_the_same_type(path):
    with pytest.raises(ModelBusyError):
        await record(path, "x", fail_at=(1,))
    with pytest.raises(ModelBusyError) as caught:
        await RecordedModel(Counter(), Recorder(Journal.replay(path))).complete(Request(say("x"), temperature=0.0))
    assert (caught.value.message, caught.value.remedy) == ("busy", "wait")


async def test_resuming_pays_nothing_twice_and_tries_the_last_failure_again(path):
    journal = Journal.create(path)
    failing = RecordedModel(Counter(fail_at=(2,)), Recorder(journal))
    await failing.complete(Request(say("first")))
    with pytest.raises(ModelBusyError):
        await failing.complete(Request(say("second")))
    await journal.aclose()
    journal, model = Journal.resume(path, failed=True), Counter()
    resumed = RecordedModel(model, Recorder(journal))
    assert (await resumed.complete(Request(say("first")))).text == "1: first"
    assert (await resumed.complete(Request(say("second")))).text == "1: second"
    assert model.calls == 1
    await journal.aclose()
    assert [r.output["text"] for r in Journal.replay(path).records()] == ["1: first", "1: second"]


async def test_a_fork_keeps_the_steps_before_and_goes_on_live(path, tmp_path):
    await record(path, "a", "b", "c")
    before = path.read_bytes()
    other = tmp_path / "other" / "journal.jsonl"
    journal, model = Journal.fork(path, other, until=2), Counter()
    answers = [await RecordedModel(model, Recorder(journal)).complete(Request(say(t), temperature=0.0)) for t in "abc"]
    await journal.aclose()
    assert [a.text for a in answers] == ["1: a", "2: b", "1: c"]
    assert model.calls == 1
    assert path.read_bytes() == before
    assert len(list(Journal.replay(other).records())) == 3


async def test_equal_calls_at_once_are_replayed_in_the_order_they_were_made(path):
    async def perform(text, seconds):
        await asyncio.sleep(seconds)
        return text

    async def both(journal):
        return await asyncio.gather(
            journal.call("web", {"q": 1}, lambda: perform("slow", 0.02)),
            journal.call("web", {"q": 1}, lambda: perform("fast", 0.0)),
        )

    journal = Journal.create(path)
    assert await both(journal) == ["slow", "fast"]
    await journal.aclose()
    assert await both(Journal.replay(path)) == ["slow", "fast"]


@pytest.mark.parametrize(
    "tail", [b'{"seq": 9, "st', b"\x00\x00\x00", b'{"cut": \n', b"[" * 200_000 + b"\n", '{"é'.encode()[:-1]]
)
async def test_a_torn_last_line_is_dropped(path, tail):
    await record(path, "a")
    whole = path.read_bytes()
    path.write_bytes(whole + tail)
    assert len(list(Journal.replay(path).records())) == 1
    journal = Journal.resume(path)
    assert path.read_bytes() == whole
    await RecordedModel(Counter(), Recorder(journal)).complete(Request(say("b")))
    await journal.aclose()
    assert len(list(Journal.replay(path).records())) == 2


async def test_damage_before_the_last_line_is_an_error_that_names_the_line(path):
    await record(path, "a", "b")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"{]\n" + b"".join(lines[2:]))
    with pytest.raises(RunError, match="corrupt at line 2"):
        Journal.resume(path)


@pytest.mark.parametrize("left", [None, b"", b'{"journal": 1'], ids=["no file", "empty", "half a line"])
async def test_a_run_killed_before_its_first_line_can_be_resumed_twice_and_replayed(path, left):
    if left is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(left)
    journal = Journal.resume(path)
    await journal.call("model", {"q": 1}, partial(asyncio.sleep, 0, "one"))
    await journal.aclose()
    again = Journal.resume(path)
    assert await again.call("model", {"q": 1}, partial(asyncio.sleep, 0, "two")) == "one"
    await again.aclose()
    assert await Journal.replay(path).call("model", {"q": 1}, partial(asyncio.sleep, 0, "three")) == "one"


async def test_one_process_at_a_time_works_on_a_run(path):
    journal = Journal.create(path)
    with pytest.raises(RunError, match="another process"):
        Journal.resume(path)
    await journal.aclose()
    await Journal.resume(path).aclose()


async def test_no_key_reaches_the_disk_and_the_replay_still_fits(path):
    secret = 'pass"wörd-of-the-user'
    redactor = Redactor([secret, "none"])
    text = f"my key is {secret} and sk-" + "a" * 30
    journal = Journal.create(path, redactor)
    model = RecordedModel(Counter(), Recorder(journal))
    first = await model.complete(Request(say(text)))
    second = await model.complete(Request(say(text, first.text)))
    await journal.aclose()
    raw = path.read_text()
    assert "wörd" not in raw
    assert "\\u00f6rd" not in raw
    assert "aaaaaaaa" not in raw
    replaying = RecordedModel(Counter(), Recorder(Journal.replay(path)))
    assert await replaying.complete(Request(say(text))) == first
    assert await replaying.complete(Request(say(text, first.text))) == second
    assert "none" not in redactor._secrets


async def test_a_full_disk_loses_nothing_that_was_written(path):
    journal = Journal.create(path)
    model = RecordedModel(Counter(), Recorder(journal))
    await model.complete(Request(say("a")))
    resource = pytest.importorskip("resource")
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100, limits[1]))
    try:
        with pytest.raises(StorageError, match="cannot be written"):
            await model.complete(Request(say("b" * 1000)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, old)
    with pytest.raises(StorageError):
        await model.complete(Request(say("c")))
    await journal.aclose()
    assert [r.output["text"] for r in Journal.replay(path).records()] == ["1: a"]


def test_a_killed_process_has_lost_no_finished_call(path):
    program = textwrap.dedent("""
        import asyncio, os, pathlib, signal, sys
        from agent.store.journal import Journal
        async def main():
            journal = Journal.create(pathlib.Path(sys.argv[1]))
            async def perform(): return "done"
            for n in range(5):
                await journal.call("tool", {"n": n}, perform)
            os.kill(os.getpid(), signal.SIGKILL)
        asyncio.run(main())
    """)
    ended = subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert len(list(Journal.replay(path).records())) == 5
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "sent",
    ["use key-4711-hidden", "use key-4711-hidden " + "x" * 190, ["use key-4711-hidden"], {"a": "key-4711-hidden"}],
    ids=["short", "long", "list", "object"],
)
async def test_a_key_in_a_request_is_not_kept_however_it_stands_there(path, sent):
    async def answer():
        return "done"

    journal = Journal.create(path, Redactor(["key-4711-hidden"]))
    await journal.call("web", {"search": sent}, answer)
    journal.keep_transcript({"home": sent})
    await journal.aclose()
    assert "4711" not in path.read_text()
    assert await Journal.replay(path).call("web", {"search": sent}, answer) == "done"

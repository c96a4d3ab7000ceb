"""A benchmark from the question file to the ledger, with a real model server."""

import asyncio
import json
from pathlib import Path

import pytest

from agent.alita import Alita
from agent.configuration.settings_sources import read_settings
from agent.errors import RunError
from agent.gaia.attempt import Attempt, Task
from agent.gaia.configuration import BenchmarkPaths, Selection, Totals, fingerprint_of, rules_of
from agent.gaia.progress import Display
from mcp_tools.library.library import Library
from mcp_tools.tool import Status, Tool
from support.benchmarks import answers, asked, question_file
from support.openai_server import Step


async def test_every_question_is_asked_scored_and_recorded_once(bench, openai_server):
    """Those that wait have spent nothing of their limit of time."""
    openai_server.default = lambda body: answers(
        "7" if asked(body) == "3" else f"FINAL ANSWER: {asked(body)}", delay=0.2
    )

    outcome = await bench.run(concurrency=1)

    assert (outcome.how, outcome.left) == ("finished", 0)
    found = {attempt.task_id: attempt for attempt in bench.records.attempts}
    assert {name: (a.status, a.answer, a.correct) for name, a in found.items()} == {
        "t0": ("ok", "0", True),
        "t1": ("ok", "1", True),
        "t2": ("ok", "2", True),
        "t3": ("ok", "7", False),
    }
    assert sum(attempt.seconds for attempt in found.values()) < outcome.wall
    one = found["t1"]
    assert (one.level, one.routes, one.steps, one.resolution, one.model) == (2, ("answer",), 0, "correct", "m")
    assert (one.input_tokens, one.output_tokens, one.cost) == (10, 5, None)
    assert (BenchmarkPaths(bench.output).runs / one.run_id / "journal.jsonl").exists()
    assert len(openai_server.requests) == 4


async def test_the_scorers_rules_are_told_with_every_question_and_are_part_of_the_configuration(bench, openai_server):
    await bench.run(selection=Selection(ids=("t0", "t1")))
    one, two = (request["messages"] for request in openai_server.requests)
    assert one[0] == two[0]  # what prompt caches hold
    assert "without thousands separators" in one[0]["content"]
    assert "separators" not in json.dumps(one[1:])
    gaia = bench.records.header.configuration["rules"]

    (attempt, _) = bench.records.attempts
    settings = read_settings(bench.flags)
    runs = {"runs_dir": BenchmarkPaths(bench.output).runs}
    async with Alita.open(settings.model_copy(update=runs)) as alita:
        assert (await alita.replay(attempt.run_id)).text == attempt.raw_answer
    async with Alita.open(settings) as alita:
        await alita.ask("Which card is number 1?")
    assert "thousands separators" not in json.dumps(openai_server.requests[-1]["messages"])

    assert "letter by letter" in rules_of(settings, "course")
    assert fingerprint_of(bench.dataset, settings, "cold", "course").configuration["rules"] != gaia
    small = read_settings(bench.flags | {"strategy": "small"})
    assert "rules" not in fingerprint_of(bench.dataset, small, "cold", "gaia").configuration


async def test_without_resume_or_with_other_settings_it_is_refused_and_with_it_only_the_rest_is_asked(
    bench, openai_server
):
    first = await bench.run(selection=Selection(max_questions=3))
    assert (len(first.selected), first.left) == (3, 0)
    with pytest.raises(RunError, match=r"out\.ledger\.jsonl already exists"):
        await bench.run()
    with pytest.raises(RunError, match='max_steps was "12", and is now "5"'):
        await bench.run(resume=True, flags={"max_steps": 5})

    second = await bench.run(resume=True)

    assert [len(second.selected), len(second.attempts), second.left] == [4, 4, 0]
    assert sorted(a.task_id for a in bench.records.attempts) == ["t0", "t1", "t2", "t3"]
    assert len(openai_server.requests) == 4


async def test_an_error_is_told_and_tried_again_by_a_resumed_run(bench, openai_server):
    answering = openai_server.default
    openai_server.default = lambda body: Step(status=413, body={"error": {"message": "the prompt is odd"}})
    first = await bench.run(selection=Selection(max_questions=1))
    openai_server.default = answering
    assert (first.attempts[0].status, first.attempts[0].correct, first.left) == ("error", False, 1)
    assert "the prompt is odd" in first.attempts[0].error
    assert first.attempts[0].answer == ""

    second = await bench.run(resume=True, selection=Selection(max_questions=4))

    assert {a.task_id: a.status for a in second.attempts} == dict.fromkeys(["t0", "t1", "t2", "t3"], "ok")
    assert [a.status for a in bench.records.attempts if a.task_id == "t0"] == ["error", "ok"]


async def test_a_wrong_key_stops_it_since_every_question_would_meet_it(bench, openai_server):
    openai_server.default = lambda body: Step(status=401, body={"error": {"message": "bad key"}})

    outcome = await bench.run(concurrency=1)

    assert outcome.how == "stopped"
    assert "key" in outcome.message
    assert len(openai_server.requests) == 1
    assert outcome.left == 4


async def test_waiting_for_a_rate_limit_is_no_work(bench, openai_server):
    openai_server.fail(429, "slow down", retry_after=2)

    outcome = await bench.run(flags={"max_seconds": 1.9}, selection=Selection(ids=("t0",)))

    (attempt,) = outcome.attempts
    assert (attempt.status, attempt.answer) == ("ok", "0")
    assert 2 <= attempt.waited < 3
    assert attempt.seconds < 1.9


async def test_beyond_a_limit_of_the_whole_no_question_is_begun(bench, openai_server):
    outcome = await bench.run(totals=Totals(tokens=20), concurrency=1)

    assert (outcome.how, len(outcome.attempts), outcome.left) == ("limit", 2, 2)
    assert "limit of tokens" in outcome.message
    assert len(outcome.selected) == 4  # those that were not reached stay in the denominator


async def test_an_interrupt_lets_the_running_question_end_and_begins_no_other(bench):
    told = []

    def tell(*said):
        if not told:
            bench.running.interrupt()
        told.append(said)

    bench.display.tell = tell  # with its first step, the question is under way
    outcome = await bench.run(concurrency=1)

    assert (outcome.how, outcome.left) == ("interrupted", 3)
    assert [a.status for a in outcome.attempts] == ["ok"]


async def test_a_second_interrupt_ends_it_and_a_resumed_run_goes_on_from_the_journal(bench, openai_server):
    openai_server.answer(tool=("run_python", {"code": "print(6 * 7)"})).hang(20)

    async def interrupt_twice():
        while len(openai_server.requests) < 2:  # noqa: ASYNC110 - the server has no event to wait for
            await asyncio.sleep(0.05)
        bench.running.interrupt()
        bench.running.interrupt()

    interrupting = asyncio.create_task(interrupt_twice())
    selection = Selection(ids=("t0",))
    first = await bench.run(selection=selection, flags={"max_steps": 4})
    assert [(a.status, a.correct) for a in first.attempts] == [("interrupted", None)]

    await interrupting
    asked_before = len(openai_server.requests)
    second = await bench.run(selection=selection, flags={"max_steps": 4}, resume=True)

    assert [(a.status, a.answer) for a in second.attempts] == [("ok", "0")]
    assert second.attempts[0].run_id == first.attempts[0].run_id
    assert second.attempts[0].routes == ("run_code", "answer")
    assert second.attempts[0].seconds > first.attempts[0].seconds
    assert len(openai_server.requests) == asked_before + 1  # what was paid for is not paid again


async def test_epochs_have_seeds_of_their_own_and_what_it_goes_without_is_not_offered(bench, openai_server):
    openai_server.answer(tool=("search", {"query": "cards"}))
    flags = {"seed": 5, "without": "search,create"}
    outcome = await bench.run(selection=Selection(ids=("t0",), epochs=2), flags=flags, concurrency=1)

    assert sorted(a.key for a in outcome.attempts) == [("t0", 1), ("t0", 2)]
    assert [a.routes for a in outcome.attempts] == [("answer",)] * 2
    assert [body["seed"] for body in openai_server.requests] == [5, 5, 1005]
    first, second, _ = openai_server.requests
    assert [tool["function"]["name"] for tool in first["tools"]] == ["run_python", "read", "browse", "ask"]
    assert "there is no function 'search'" in second["messages"][-1]["content"]


@pytest.mark.parametrize("file_name", ["cards.txt", "../../etc/passwd"])
async def test_a_question_is_not_asked_without_its_file_and_counts_as_wrong(
    bench, openai_server, tmp_path, file_name, monkeypatch
):
    bench.questions = question_file(tmp_path, 2, file_name=file_name)
    first = await bench.run()
    again = await bench.run(resume=True)
    assert [a.status for a in first.attempts] == ["missing-file"] * 2
    assert all(a.correct is False and not a.answer and "is missing" in a.error for a in first.attempts)
    assert (first.left, again.left, len(again.selected)) == (0, 0, 2)
    assert len(bench.records.attempts) == 2
    assert openai_server.requests == []
    name = Path(file_name).name
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gaia_files").mkdir()
    (tmp_path / "gaia_files" / name).write_text("ace")
    last = await bench.run(resume=True)
    assert [a.status for a in last.attempts] == ["missing-file" if ".." in file_name else "ok"] * 2


def library_with_a_tool(folder: Path) -> Path:
    name, number = "card_on_top", {"type": "integer"}
    source = f'def {name}(number: int) -> int:\n    """Which card is on top of a number."""\n    return number + 1\n'
    arguments = {"type": "object", "properties": {"number": number}, "required": ["number"]}
    library = Library(folder, folder.parent / "data")
    result = {"type": "object", "properties": {"result": number}, "required": ["result"]}
    library.register(Tool(name, "Which card is number.", arguments, result, source, status=Status.VERIFIED))
    library.close()
    return folder


@pytest.mark.parametrize(("mode", "is_shown"), [("read-only", True), ("warm", True), ("cold", False)])
async def test_a_library_is_shared_or_each_question_has_its_own(bench, openai_server, tmp_path, mode, is_shown):
    folder = library_with_a_tool(tmp_path / "tools")
    before = {path.name: path.read_bytes() for path in folder.glob("*.*") if path.is_file()}

    await bench.run(flags={"tools_dir": folder}, library=mode)

    assert ["card_on_top" in json.dumps(body) for body in openai_server.requests] == [is_shown] * 4
    assert {path.name: path.read_bytes() for path in folder.glob("*.*") if path.is_file()} == before


def test_the_remaining_time_is_estimated_from_the_average_so_far(monkeypatch, capsys):
    clock = 100.0
    monkeypatch.setattr("agent.gaia.progress.time.monotonic", lambda: clock)
    display = Display()
    display.plan([Task(str(number), "?") for number in range(4)], done=[], todo=4)
    clock = 400.0  # starting Ray takes no time from the estimate
    display.start()
    for seconds in (430.0, 490.0, 490.5, 520.0):
        clock = seconds
        display.end(Attempt(str(seconds), answer="52"))
    _, *lines = capsys.readouterr().err.splitlines()
    left = ["about 1 min 30 s left", "about 1 min 30 s left", "about 30.2 s left", "not scored"]
    assert [line.rpartition(", ")[2] for line in lines] == left

"""A ledger is one benchmark: what was chosen, done or begun before stays in it, whatever a later run chooses."""

from dataclasses import replace

import pytest

from agent.gaia.attempt import Begun
from agent.gaia.configuration import BenchmarkPaths, Selection, Totals, fingerprint_of
from agent.gaia.ledger import Ledger
from agent.gaia.outputs import results_of
from agent.gaia.report.figures import open_results
from agent.gaia.report.report import report_of
from agent.store.runs import journal_path, load_run, save_run
from agent.traces.trace import read_trace
from support.benchmarks import answers
from support.openai_server import Step


def ids(tasks):
    return [task.task_id for task in tasks]


async def test_another_choice_adds_to_what_was_chosen_before(bench, openai_server):
    await bench.run(selection=Selection(levels=(1,)))
    second = await bench.run(selection=Selection(levels=(2,)), resume=True)

    assert ids(second.selected) == ["t0", "t1", "t3"]
    assert sorted(a.task_id for a in second.attempts) == ["t0", "t1", "t3"]
    assert (second.left, second.reachable) == (0, 0)
    assert len(openai_server.requests) == 3
    assert len(open_results(BenchmarkPaths(bench.output).ledger).cells) == 3


async def test_what_was_chosen_and_not_reached_stays_in_the_denominator(bench):
    first = await bench.run(totals=Totals(tokens=20))
    assert (len(first.selected), first.left, first.reachable) == (4, 2, 2)

    second = await bench.run(selection=Selection(ids=("t0",)), resume=True)
    assert (len(second.selected), second.left, second.reachable) == (4, 2, 0)
    third = await bench.run(selection=Selection(max_questions=1), resume=True)
    assert (len(third.selected), third.left, third.reachable) == (4, 1, 1)


async def test_a_run_whose_folder_is_gone_is_begun_anew_and_adds_no_time(bench, openai_server):
    places = BenchmarkPaths(bench.output)
    first = await bench.run(selection=Selection(ids=("t0",)))
    gone = Begun("t1", 1, first.fingerprint.digest, "20260101-000000-aaaa")
    with Ledger.open(places.ledger, fingerprint=first.fingerprint) as ledger:
        ledger.begin(gone)
    assert bench.records.begun == (gone,)

    second = await bench.run(resume=True)

    assert [a.status for a in second.attempts] == ["ok"] * 4
    assert len(openai_server.requests) == len(bench.dataset.tasks)
    assert bench.records.begun == ()


def program(text):
    return Step(tools=[("run_python", {"code": text})])


def with_a_mended_program(body):
    """A program that fails, a second one, and the answer, by what is asked: a resumed run may begin anywhere."""
    results = [message["content"] for message in body["messages"] if message["role"] == "tool"]
    return [program("print(1 / 0)"), program("print(0)"), answers("0")][len(results)]


def comparable(bench):
    """Row, calls and figures of the report, but for times."""
    places = BenchmarkPaths(bench.output)
    attempt = [one for one in bench.records.attempts if one.status != "interrupted"][-1]
    assert attempt.seconds == round(load_run(places.runs, attempt.run_id).answer.seconds, 3)
    calls = [call for step in read_trace(places.runs, attempt.run_id).steps for call in step.calls]
    starts = [call.at for call in calls]
    assert starts == sorted(starts)
    events = [(call.kind, call.title, call.ok) for call in calls]
    told = report_of(open_results(places.ledger)).as_json()
    figures = [told["facts"][name] for name in ("attempted", "errors", "tried again", "missing")]
    figures += [told["tables"]["By route"][0]["name"], told["tables"].get("Tools")]
    tried = bench.display.ended[-1]
    results = results_of(bench.dataset, fingerprint_in(bench), bench.dataset.tasks, [tried], epochs=1)
    counts = (results["attempted"], results["errors"], results["interrupted"])
    return replace(attempt, seconds=0.0, started=""), events, figures, counts


def fingerprint_in(bench):
    options = bench.options()
    return fingerprint_of(bench.dataset, bench.settings(), options.library, options.mode)


@pytest.mark.timeout(240)
async def test_a_benchmark_killed_at_an_entry_goes_on_as_if_it_had_not_been(bench, openai_server, tmp_path):
    openai_server.default = with_a_mended_program
    choice = Selection(ids=("t0",))
    await bench.run(selection=choice)
    expected = comparable(bench)
    assert expected[0].routes == ("run_code", "run_code", "answer")
    assert (expected[0].tools_reused, expected[0].tools_failed) == ((), ())

    places = BenchmarkPaths(bench.output)
    run = load_run(places.runs, expected[0].run_id)
    ledger = places.ledger.read_text().splitlines(keepends=True)
    journal = journal_path(places.runs, run.run_id)
    lines = journal.read_text().splitlines(keepends=True)
    for count in range(0, len(lines), len(lines) // 3):
        journal.write_text("".join(lines[:count]))
        save_run(places.runs, replace(run, status="running", answer=None))
        places.ledger.write_text("".join(line for line in ledger if '"kind":"attempt"' not in line))
        await bench.run(selection=choice, resume=True)
        assert comparable(bench) == expected, f"killed after {count} lines"

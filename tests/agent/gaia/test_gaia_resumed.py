"""A ledger is one benchmark: what was chosen, done or begun before stays in it, whatever a later run chooses."""

import pytest

from agent.gaia.begun import Begun
from agent.gaia.derived import results_of
from agent.gaia.ledger import Ledger
from agent.gaia.places import Places
from agent.gaia.progress import Planned
from agent.gaia.report.opened import open_report
from agent.gaia.runner import Totals
from agent.gaia.selection import Selection
from support.played_run import played


def ids(tasks):
    return [task.task_id for task in tasks]


async def test_another_choice_adds_to_what_was_chosen_before(bench, openai_server):
    await bench.run(selection=Selection(levels=(1,)))
    second = await bench.run(selection=Selection(levels=(2,)), resume=True)

    assert ids(second.selected) == ["t0", "t1", "t3"]
    assert sorted(a.task_id for a in second.attempts) == ["t0", "t1", "t3"]
    assert (second.left, second.reachable) == (0, 0)
    assert len(openai_server.requests) == 3
    assert open_report(Places(bench.output).ledger).summary.share.of == 3


async def test_what_was_chosen_and_not_reached_stays_in_the_denominator(bench):
    first = await bench.run(totals=Totals(tokens=20))
    assert (len(first.selected), first.left, first.reachable) == (4, 2, 2)

    second = await bench.run(selection=Selection(ids=("t0",)), resume=True)
    assert (len(second.selected), second.left, second.reachable) == (4, 2, 0)
    third = await bench.run(selection=Selection(max_questions=1), resume=True)
    assert (len(third.selected), third.left, third.reachable) == (4, 1, 1)


async def test_epochs_that_were_chosen_before_stay_in_the_denominator(bench):
    first = await bench.run(selection=Selection(ids=("t0", "t1"), epochs=2), totals=Totals(tokens=20))
    assert (first.epochs, len(first.attempts), first.left) == (2, 2, 2)
    results = results_of(
        bench.options().dataset, first.fingerprint, first.selected, first.attempts, epochs=first.epochs
    )
    assert (results["epochs"], results["accuracy"]) == (2, 0.5)

    second = await bench.run(selection=Selection(ids=("t0",)), resume=True)
    assert (second.epochs, len(second.attempts), second.left, second.reachable) == (2, 2, 2, 0)
    assert [event.epochs for event in bench.events if isinstance(event, Planned)] == [2, 2]
    assert open_report(Places(bench.output).ledger).summary.share.of == 4


async def test_a_configuration_that_is_mixed_in_counts_its_own_questions(bench):
    first = await bench.run()
    second = await bench.run(selection=Selection(ids=("t2",)), flags={"max_steps": 5}, resume=True, mixed=True)

    assert ids(second.selected) == ["t2"]
    report = open_report(Places(bench.output).ledger, configuration=first.fingerprint.digest)
    assert (report.summary.share.right, report.summary.share.of) == (4, 4)


async def test_a_run_whose_folder_is_gone_is_begun_anew_and_adds_no_time(bench, openai_server):
    options = bench.options()
    places = Places(bench.output)
    first = await bench.run(selection=Selection(ids=("t0",)))
    gone = Begun("t1", 1, first.fingerprint.digest, "20260101-000000-aaaa")
    with Ledger.open(places.ledger, fingerprint=first.fingerprint) as ledger:
        ledger.begin(gone)
    assert bench.records.begun == (gone,)

    second = await bench.run(resume=True)

    assert [a.status for a in second.attempts] == ["ok"] * 4
    assert len(openai_server.requests) == len(options.dataset.tasks)
    assert bench.records.begun == ()


async def test_the_time_of_a_killed_run_is_that_of_its_calls(tmp_path):
    run_id = await played(tmp_path)
    journal = tmp_path / run_id / "journal.jsonl"
    journal.write_text(journal.read_text().replace('"seconds":', '"seconds":1.5,"was":'))

    attempt = Begun("t", 2, "f", run_id).as_interrupted(tmp_path)

    assert (attempt.status, attempt.run_id, attempt.key, attempt.fingerprint) == ("interrupted", run_id, ("t", 2), "f")
    assert attempt.seconds == pytest.approx(6 * 1.5)

"""A ledger with several configurations: each has its own denominator, and answers of two are never one result."""

import json

import pytest

from agent.gaia.ledger import Fingerprint, Ledger
from agent.gaia.outputs import read_answers
from agent.gaia.report.comparison import compare, shown
from agent.gaia.report.opened import open_report
from agent.gaia.report.tables import as_markdown, as_terminal
from support.attempts import attempt, tasks

FIRST, SECOND = (Fingerprint("questions", {"model": name}) for name in ("m", "n"))


@pytest.fixture
def ledger(tmp_path):
    """The first configuration over three questions, then the second over one of them."""
    path = tmp_path / "l.jsonl"
    for fingerprint, count in ((FIRST, 3), (SECOND, 1)):
        with Ledger.open(path, fingerprint=fingerprint, mixed=True) as ledger:
            ledger.select(tasks(count), 1)
            for task in tasks(count):
                more = {"answer": fingerprint.configuration["model"], "fingerprint": fingerprint.digest}
                ledger.append(attempt(task.task_id, count == 1 or task.task_id != "q1", **more))
    return path


def test_each_configuration_has_its_own_denominator(ledger):
    assert open_report(ledger).summary.overall.of == 1
    share = open_report(ledger, configuration=FIRST.digest).summary.overall
    assert (share.right, share.of) == (2, 3)


def test_selections_of_an_earlier_version_belong_to_the_header_before_them(ledger):
    lines = [json.loads(line) for line in ledger.read_text().splitlines()]
    for line in lines:
        if line["kind"] == "selection":
            del line["fingerprint"]
    ledger.write_text("".join(json.dumps(line) + "\n" for line in lines))

    assert open_report(ledger).summary.overall.of == 1
    assert open_report(ledger, configuration=FIRST.digest).summary.overall.of == 3


def test_only_answers_of_the_newest_configuration_are_handed_in(ledger):
    assert read_answers(ledger) == {"q1": "n"}


def test_a_comparison_says_that_a_ledger_is_mixed(ledger):
    found = compare(open_report(ledger, configuration=FIRST.digest), open_report(ledger))

    assert [change.task_id for change in found.gained] == ["q1"]
    told = f"second run: the ledger mixes configurations: these figures are of {SECOND.digest}"
    assert told in as_terminal(shown(found))
    assert "mixes configurations" in as_markdown(shown(found))
    assert [flaw.partition(":")[0] for flaw in found.as_json()["flaws"]] == ["first run", "second run"]

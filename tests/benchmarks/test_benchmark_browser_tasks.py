"""The figures of browser tasks: shares of what was done, beside the same tasks done in the other way."""

from __future__ import annotations

from browser_tasks import Row, report


def line(task: str, done: bool, *, kind: str = "compact", name: str = "site", split: str = "test") -> Row:
    return {"kind": kind, "set": name, "id": task, "split": split, "done": done, "seconds": 10.0}


def test_shares_are_told_by_part_with_the_target_on_all():
    """Four tasks, three of them done."""
    rows = [line("a", True), line("b", False), line("c", True, split="dev"), line("d", True, split="dev")]
    told = {figure.name.partition(":")[0]: figure for figure in report(rows)}
    assert told["site, all"].measured == 75
    assert told["site, all"].met is True
    assert told["site, test"].measured == 50
    assert told["site, test"].met is None
    assert told["site, dev"].measured == 100
    assert told["site, all"].baseline is None


def test_too_few_are_a_missed_target():
    """Under sixty of a hundred."""
    figures = report([line("a", True), line("b", False)])
    assert next(figure for figure in figures if "all" in figure.name).met is False


def test_only_the_same_tasks_stand_beside():
    """Another set and another task do not count."""
    rows = [
        line("a", True, name="miniwob"),
        line("b", False, name="miniwob"),
        line("a", False, kind="browser-use", name="miniwob"),
        line("z", True, kind="browser-use", name="miniwob"),
        line("a", True, kind="browser-use"),
    ]
    shares = [figure for figure in report(rows) if "tasks done" in figure.name]
    assert [(figure.measured, figure.baseline, figure.target) for figure in shares] == [(50, 0, "")]


def test_nothing_measured_is_no_figure():
    """An empty ledger."""
    assert report([]) == []

"""The figures of browser tasks: shares of what was done."""

from __future__ import annotations

from browser_tasks import Row, report


def line(task: str, done: bool, split: str = "test") -> Row:
    return {"set": "site", "id": task, "split": split, "done": done, "seconds": 10.0}


def test_shares_are_told_by_part():
    rows = [line("a", True), line("b", False), line("c", True, "dev"), line("d", True, "dev")]
    told = {figure.name.partition(":")[0]: figure.measured for figure in report(rows)}
    assert told == {"site, all": 75, "site, test": 50, "site, dev": 100, "site": 10}
    assert report([]) == []

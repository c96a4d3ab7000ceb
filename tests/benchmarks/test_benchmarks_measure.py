"""Every benchmark documents how to run it; the quick ones run at their smallest size."""

from __future__ import annotations

import json
import runpy
import sys
from dataclasses import replace
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
DESCRIBED = [
    "accuracy", "browser", "files", "gaia_runner", "kills", "library", "overhead", "page", "reader", "replicas",
    "routing", "run", "sandbox", "serving", "simulate", "startup", "unseen_questions",
]  # fmt: skip


def run(monkeypatch: pytest.MonkeyPatch, name: str, *options: str) -> int | str | None:
    """Run a script, and return its exit code."""
    monkeypatch.setattr(sys, "argv", [name, *options])
    try:
        runpy.run_path(str(BENCHMARKS / f"{name}.py"), run_name="__main__")
    except SystemExit as end:
        return end.code
    return 0


def test_it_measures(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    assert not run(monkeypatch, "library", "--json", "--sizes", "10")
    assert json.loads(capfd.readouterr().out)["rows"]


def test_workers_are_simulated_up_to_the_first_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    simulate = runpy.run_path(str(BENCHMARKS / "simulate.py"), run_name="simulate")
    inputs, outcome = simulate["Inputs"](), simulate["simulate"]
    assert outcome(inputs, 10) == outcome(inputs, 10), "it is seeded"
    few, many = outcome(inputs, 2), outcome(inputs, 20)
    assert 8 < many.per_minute / few.per_minute < 12
    assert (few.limit, many.limit) == ("", "")
    limited = outcome(replace(inputs, requests_per_minute=60.0), 20)
    assert limited.limit == "model"
    assert 32 < limited.per_minute < 44, "1.5 calls a question"
    slow = outcome(replace(inputs, store_write=10.0, connections=1), 20)
    assert (slow.limit, round(slow.per_minute)) == ("store", 6)


def test_it_reports_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not run(monkeypatch, "injections", "--report")


@pytest.mark.parametrize("name", DESCRIBED)
def test_it_says_how_it_is_run(name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    assert not run(monkeypatch, name, "--help")
    assert f"{name}.py" in capfd.readouterr().out or name == "accuracy"

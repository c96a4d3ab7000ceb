"""Every benchmark says how it is run; the quick ones run at their smallest size."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
DESCRIBED = [
    "accuracy", "browser", "files", "gaia_runner", "kills", "library", "overhead", "page", "reader", "routing", "run",
    "sandbox", "serving", "startup", "unseen_questions",
]  # fmt: skip


def run(monkeypatch: pytest.MonkeyPatch, name: str, *options: str) -> int | str | None:
    """The script's exit code."""
    monkeypatch.setattr(sys, "argv", [name, *options])
    try:
        runpy.run_path(str(BENCHMARKS / f"{name}.py"), run_name="__main__")
    except SystemExit as end:
        return end.code
    return 0


def test_it_measures(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    assert not run(monkeypatch, "library", "--json", "--sizes", "10")
    assert json.loads(capfd.readouterr().out)["rows"]


def test_it_reports_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not run(monkeypatch, "injections", "--report")


@pytest.mark.parametrize("name", DESCRIBED)
def test_it_says_how_it_is_run(name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    assert not run(monkeypatch, name, "--help")
    assert f"{name}.py" in capfd.readouterr().out or name == "accuracy"

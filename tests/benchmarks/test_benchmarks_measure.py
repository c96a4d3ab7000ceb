"""Every benchmark runs: the quick ones at their smallest size, the others as far as their report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MEASURED = [
    "gaia_runner.py --json --questions 2 --at-once 2",
    "library.py --json --sizes 10",
    "reader.py --json --repeat 1",
]
REPORTED = [
    "accuracy.py --report",
    "injections.py --report",
]
"""They need the model, or take long: their other tests ask with a stand-in."""
DESCRIBED = [
    "browser", "files", "kills", "overhead", "routing", "run", "sandbox", "serving", "startup", "unseen_questions",
]  # fmt: skip


def run(command: str, folder: Path) -> str:
    name, *options = command.split()
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONSAFEPATH"}
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / name), *options],
        env=environment,
        cwd=folder, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("command", MEASURED)
def test_it_measures(command: str, tmp_path: Path) -> None:
    assert json.loads(run(command, tmp_path))["rows"]


@pytest.mark.parametrize("command", REPORTED)
def test_it_reports_what_was_measured(command: str, tmp_path: Path) -> None:
    run(command, tmp_path)


@pytest.mark.parametrize("name", DESCRIBED)
def test_it_says_how_it_is_run(name: str, tmp_path: Path) -> None:
    assert f"{name}.py" in run(f"{name}.py --help", tmp_path)

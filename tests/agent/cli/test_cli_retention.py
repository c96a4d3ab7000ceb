"""`alita runs prune`, `alita stats` and the daily limit, as commands."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from support.command import Terminal
from support.fibonacci import QUESTION, STORY, write_script


def _ask(terminal: Terminal, *options: str) -> str:
    script = write_script(terminal.here / "script.jsonl", STORY)
    return str(terminal.call("--json", *options, "--model", script, QUESTION).json["run_id"])


def _aged(terminal: Terminal, run_id: str, days: int) -> str:
    """The run as if it were older."""
    began = time.time() - days * 86_400
    older = time.strftime("%y%m%d-%H%M%S", time.gmtime(began)) + run_id[13:]
    runs = terminal.home / "data" / "runs"
    (runs / run_id).rename(runs / older)
    path = runs / older / "run.json"
    path.write_text(path.read_text().replace(run_id, older))
    os.utime(path, (began, began))
    return older


def test_runs_are_counted_and_pruned(terminal):
    run_id = _ask(terminal)
    told = terminal.call("stats", "--since", "1h", "--json").json
    assert (told["questions"], told["statuses"], told["tools_created"]) == (1, {"answered": 1}, 1)
    assert "questions" in terminal.call("stats").out
    assert terminal.call("runs", "prune", "--keep", "0", "--json").json["removed"] == []  # it just ended
    old = _aged(terminal, run_id, 40)
    assert terminal.call("runs", "prune", "--json").json["removed"] == []  # keep_runs is 90d
    assert terminal.call("runs", "prune", "--older", "30d", "--json").json["removed"] == [old]
    assert terminal.runs == []


def test_the_next_question_of_a_day_says_what_it_removed(terminal):
    old = _aged(terminal, _ask(terminal), 100)
    os.utime(terminal.home / "cache" / "pruned", (1, 1))
    script = write_script(terminal.here / "script.jsonl", STORY)
    ended = terminal.call("--no-cache", "--model", script, QUESTION)
    assert "Removed 1 old run" in ended.err
    assert old not in [path.name for path in terminal.runs]
    again = terminal.call("--no-cache", "--model", script, QUESTION)
    assert "Removed" not in again.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("runs", "prune", "--older", "soon"), "'soon' is no period such as"),
        (("stats", "--since", "1y"), "'1y' is no period such as"),
    ],
)
def test_what_cannot_be_done_is_said(terminal, arguments, said):
    ended = terminal.call(*arguments)
    assert ended.code == 2
    assert said in ended.err


def test_keep_runs_is_checked_and_no_project_may_set_it(terminal, tmp_path: Path):
    assert "no period such as 90d" in terminal.call("runs", "list", ALITA_KEEP_RUNS="ever").err
    ended = terminal.call("runs", "prune", ALITA_KEEP_RUNS="all")
    assert (ended.code, "Say how much" in ended.err) == (2, True)
    (terminal.here / "alita.toml").write_text("keep_runs = 1\n")
    assert "a project may not" in terminal.call("runs", "list").err

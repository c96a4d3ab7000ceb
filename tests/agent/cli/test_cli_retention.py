"""`alita runs export|prune`, `alita cache` and the daily limit, as commands."""

from __future__ import annotations

import os
import tarfile
import time
from pathlib import Path

from support.command import Terminal
from support.fibonacci import ANSWER, QUESTION, STORY, write_script


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


def test_a_run_is_exported_pruned_and_replayed_elsewhere(terminal, tmp_path):
    run_id = _ask(terminal)
    again = terminal.call("--json", "--model", f"scripted:{terminal.here / 'script.jsonl'}", QUESTION)
    assert again.json["answer"] == ANSWER
    told = terminal.call("stats", "--since", "1h", "--json").json
    assert (told["questions"], told["cache_hits"], told["statuses"]) == (1, 1, {"answered": 1})
    assert (told["tools_created"], told["calls"]["sandbox"] > 0, told["accuracy"]) == (1, True, None)
    rows = terminal.call("stats").out
    assert "questions" in rows
    assert "1 from the cache" in rows
    assert "'soon' is neither" in terminal.call("stats", "--since", "soon").err
    ended = terminal.call("cache", "list")
    assert f"{QUESTION} = {ANSWER}" in ended.out
    assert terminal.call("cache", "clear", "--older", "1h", "--json").json["answers"] == 0
    assert terminal.call("cache", "clear").err.startswith("Removed 1 answer and ")
    assert "No answer is cached" in terminal.call("cache", "list").err

    ended = terminal.call("runs", "export", "-o", "run.tar.gz")
    assert (ended.code, ended.err) == (0, "Wrote run.tar.gz.\n")
    assert terminal.call("runs", "prune", "--keep", "0", "--json").json["kept"][run_id].startswith("it ended less")
    old = _aged(terminal, run_id, 40)
    dry = terminal.call("runs", "prune", "--older", "30d", "--dry-run")
    assert dry.err.startswith("Would remove 1 run from ")
    assert len(terminal.runs) == 1
    assert terminal.call("runs", "prune", "--json").json["removed"] == []  # keep_runs is 90d
    assert terminal.call("runs", "prune", "--older", "30d", "--json").json["removed"] == [old]
    assert terminal.runs == []

    elsewhere = Terminal(tmp_path / "elsewhere")
    (elsewhere.home / "data" / "runs").mkdir(parents=True)
    with tarfile.open(terminal.here / "run.tar.gz") as archive:
        archive.extractall(elsewhere.home / "data" / "runs", filter="data")
    assert elsewhere.call("runs", "replay", run_id).out.strip() == ANSWER


def test_the_next_question_of_a_day_says_what_it_removed(terminal):
    old = _aged(terminal, _ask(terminal), 100)
    os.utime(terminal.home / "cache" / "pruned", (1, 1))
    script = write_script(terminal.here / "script.jsonl", STORY)
    ended = terminal.call("--no-cache", "--model", script, QUESTION)
    assert "Removed 1 run from " in ended.err
    assert old not in [path.name for path in terminal.runs]
    again = terminal.call("--no-cache", "--model", script, QUESTION)
    assert "Removed" not in again.err


def test_keep_runs_is_checked_and_no_project_may_set_it(terminal, tmp_path: Path):
    assert "not a period such as 90d" in terminal.call("runs", "list", ALITA_KEEP_RUNS="ever").err
    ended = terminal.call("runs", "prune", ALITA_KEEP_RUNS="all")
    assert (ended.code, "Say what to remove" in ended.err) == (2, True)
    (terminal.here / "alita.toml").write_text("keep_runs = 1\n")
    assert "a project may not" in terminal.call("runs", "list").err

"""Runs of processes that ended or were killed, in their folders and in the store."""

from __future__ import annotations

from dataclasses import replace

from agent.answer import Answer
from agent.configuration.settings import Settings
from agent.store.databases import open_store
from agent.store.journal import Journal
from agent.store.run_index import Notes, RunIndex
from agent.store.runs import Run, create_run, journal_path, save_run


def kept(
    settings: Settings, question: str, answer: str = "", *, steps: tuple[str, ...] = (), noted: bool = True
) -> Run:
    """Write a run with its journal. A run without an answer was killed."""
    runs, notes = settings.runs_dir, Notes(settings)
    run = create_run(runs, question, model="m")
    if noted:
        notes.add(run.run_id)
    journal = Journal.create(journal_path(runs, run.run_id))
    for number, found in enumerate(steps, 1):
        journal.begin(number)
        journal.mark("search", "because")
        journal.note_found(number, "search words", found, ok=True)
    journal._file.close()
    if answer:
        run = replace(run, status="answered", answer=Answer(answer, "answered"))
        save_run(runs, run)
    return run


def found(settings: Settings, *words: str, catch_up: bool = True) -> list[str]:
    with open_store(settings) as database:
        index = RunIndex(settings, database)
        if catch_up:
            index.catch_up()
        return [run["run_id"] for run in index.search(" ".join(words), 20)]


def newest(settings: Settings) -> list[tuple[str, str]]:
    with open_store(settings) as database:
        index = RunIndex(settings, database)
        index.catch_up()
        return [(run["run_id"], run["status"]) for run in index.newest(20)]

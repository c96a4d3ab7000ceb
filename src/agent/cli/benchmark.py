"""Runs a benchmark on a terminal: its display, Ctrl-C, what is derived at the end, and the exit code."""

from __future__ import annotations

import asyncio
import json
import math
import os
import signal
import time
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.cli import exits
from agent.cli.confirmations import ask_about_project
from agent.cli.output import print_note, print_text
from agent.configuration.project_choice import require_allowed
from agent.configuration.settings_sources import read_settings
from agent.errors import RunError, StorageError, UsageError
from agent.gaia.attachments import usual_attachments
from agent.gaia.configuration import LibraryMode, Places, with_limit
from agent.gaia.dataset import load_questions, revision_of
from agent.gaia.outputs import results_of, write_answers
from agent.gaia.progress import Display
from agent.gaia.report.figures import counted, group_of
from agent.gaia.report.tables import price
from agent.gaia.runner import Benchmark, Outcome, RunOptions, Selection, Totals
from agent.gaia.scorer import Mode
from agent.models.protocol import EMBEDDED
from agent.store.user_files import write_file

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.gaia.attempt import Dataset

USUAL_CONCURRENCY = 4
_CLOSING = 60.0
"""Seconds between the order to stop every question and the end; before, processes that hang are killed."""
_CODES = {"finished": 0, "limit": 124, "interrupted": exits.INTERRUPTED, "stopped": 1}
_LOOKED_AT = 1 << 16
"""Bytes of a file that tell whose it is."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What the command line says of a benchmark, beside settings."""

    questions: Path
    """The question file, or the name of a split of the hub."""
    output: Path | None
    attached: Path | None = None
    submission: Path | None = None
    selection: Selection = field(default_factory=Selection)
    totals: Totals = field(default_factory=Totals)
    concurrency: int | None = None
    library: LibraryMode = "cold"
    mode: Mode = "gaia"
    resume: bool = False
    verbose: bool = False

    @property
    def places(self) -> Places:
        """Where results and ledger stand: named, or after the submission or the questions."""
        if self.output is not None:
            return Places(self.output)
        if self.submission is not None:
            return Places(self.submission.with_name(f"{self.submission.stem}.results.json"))
        return Places(Path(f"{self.questions.stem}.results.json"))


def benchmark(flags: dict[str, Any], choices: Choices) -> int:
    """Runs a benchmark and gives the exit code.

    Raises:
        UserError: It cannot begin, or the ledger cannot be written.
    """
    if flags["use_cache"] and choices.selection.epochs > 1:
        raise UsageError("With --cache every epoch would repeat the first.", remedy="Leave out --cache or --epochs.")
    settings = _settings(flags, choices)
    dataset = load_questions(choices.questions, settings)
    _require_ours(choices)
    own_library = choices.library == "warm" and flags.get("tools_dir") is None
    if own_library and not choices.places.ledger.exists() and any(choices.places.library.glob("*.py")):
        folder = choices.places.library
        raise RunError(
            f"{folder} holds tools already, and a new benchmark with --library warm begins without any.",
            remedy=f"Move them away, name another --output, or begin with them: --tools-dir {folder}",
        )
    options = RunOptions(
        dataset=dataset,
        settings=settings,
        attachments=usual_attachments(
            settings,
            attached=choices.attached,
            beside=choices.questions.absolute().parent,
            revision=revision_of(choices.questions),
        ),
        output=choices.places.output,
        selection=choices.selection,
        library=choices.library,
        mode=choices.mode,
        concurrency=choices.concurrency or (1 if settings.model == EMBEDDED else USUAL_CONCURRENCY),
        totals=choices.totals,
        resume=choices.resume,
    )
    display = Display(verbose=choices.verbose, plain=settings.plain)
    for problem in dataset.problems:
        display.say(problem)
    running, ends = Benchmark(options, display.show), math.inf

    def interrupt() -> None:
        nonlocal ends
        if running.interrupt():
            display.say("Finishing the questions under way, then ending. Ctrl-C again stops them too.")
        else:
            ends = min(ends, time.monotonic() + _CLOSING)

    def stop() -> None:
        interrupt()
        interrupt()

    def last_words() -> int:
        """Its ledger is on the disk."""
        display.close()
        print_note("alita: It did not end by itself. Go on with the same command and --resume.")
        return exits.INTERRUPTED

    async def finish() -> Outcome:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, interrupt)
        loop.add_signal_handler(signal.SIGTERM, stop)
        outcome = await running.run()
        if told := _derive(outcome, dataset, choices):
            display.say(told)
        return outcome

    try:
        with exits.Watch(lambda: ends - time.monotonic() if ends < math.inf else None, last_words):
            outcome = exits.run(finish())
    finally:
        display.close()
    _sum_up(outcome, choices)
    return _CODES[outcome.how]


def _settings(flags: dict[str, Any], choices: Choices) -> Settings:
    """The settings of a benchmark, with the folder of its library."""
    ask_about_project(flags)
    settings = with_limit(read_settings(flags))
    require_allowed(settings)
    if choices.library == "warm" and flags.get("tools_dir") is None:
        return settings.model_copy(update={"tools_dir": choices.places.library.absolute()})
    if choices.library == "read-only" and not settings.tools_dir.is_dir():
        raise UsageError(
            f"The library {settings.tools_dir} is no folder, so there is nothing to read.",
            remedy="Name it with --tools-dir, or begin without tools: --library cold",
        )
    return settings


def _require_ours(choices: Choices) -> None:
    """Refuses to start where a file would be lost or cannot be written."""
    places, submission, ledger = choices.places, choices.submission, choices.places.ledger
    named = {"the questions": choices.questions, "--output": places.output, "the ledger": ledger}
    marks = {"--output": b'"schema"'}  # what the beginning of such a file holds
    if submission is not None:
        named["--submission"], marks["--submission"] = submission, b'"model_answer"'
        if not (folder := submission.absolute().parent).is_dir():
            raise StorageError(f"{folder} is no folder.", remedy="Make it first, or name a file in another folder.")
    for (one, path), (other, same) in combinations(named.items(), 2):
        if path.resolve() == same.resolve():
            raise UsageError(f"{path} would be {one} and {other}.", remedy="Name another file for one of them.")
    for option, mark in marks.items():
        path, folder = named[option], named[option].absolute().parent
        if path.is_dir() or (folder.exists() and not os.access(folder, os.W_OK)):
            raise StorageError(f"{path} cannot be written.", remedy="Name a file in another folder.")
        if not path.exists():
            continue
        begins = path.read_bytes()[:_LOOKED_AT] if os.access(path, os.R_OK) else b"?"
        if not ledger.exists() or (begins and mark not in begins):  # one without a byte has nothing to lose
            problem = f"{path} is there already, and no benchmark with the ledger {ledger} wrote it."
            raise RunError(problem, remedy=f"Move it away, or name another {option}.")
        if not choices.resume:
            remedy = f"Add --resume to go on with it, or name another {option}."
            raise RunError(f"{path} is there already.", remedy=remedy)


def _derive(outcome: Outcome, dataset: Dataset, choices: Choices) -> str:
    """Writes results and submission; says what the submission lacks."""
    results = results_of(dataset, outcome.fingerprint, outcome.selected, outcome.attempts, epochs=outcome.epochs)
    write_file(choices.places.output, json.dumps(results, ensure_ascii=False, indent=1) + "\n")
    missing = write_answers(choices.submission, dataset, outcome.attempts) if choices.submission else ()
    lacking = f"{len(missing)} of {len(dataset.tasks)} questions have no answer"
    return f"{choices.submission}: {lacking}; the leaderboard counts them as wrong." if missing else ""


def _sum_up(outcome: Outcome, choices: Choices) -> None:
    """The last lines, on stdout."""
    group = group_of("all", counted(outcome.attempts, outcome.selected, outcome.epochs))
    known = group.accuracy is not None and group.right + group.wrong
    share = f", {100 * (group.accuracy or 0):.1f} % of all selected" if known else ""
    tokens = group.effort.input_tokens + group.effort.output_tokens
    lines = [
        f"{group.right} right of {group.of}{share}; {group.wrong} wrong, {group.errors} errors, {outcome.left} left;"
        f" {tokens:,} tokens, {price(group.effort.cost)}",
        f"results: {choices.places.output}",
        f"ledger:  {choices.places.ledger}",
    ]
    if outcome.message:
        lines.append(f"It ended early: {outcome.message}")
    if outcome.reachable:
        lines.append("Go on with the same command and --resume.")
    elif outcome.left:
        lines.append("What is left was chosen before: go on with --resume and the --level, --ids and --epochs of then.")
    print_text("\n".join(lines))

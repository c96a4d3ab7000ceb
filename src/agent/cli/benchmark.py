"""Runs a benchmark on a terminal: its display, Ctrl-C, what is derived at the end, and the exit code."""

from __future__ import annotations

import asyncio
import json
import math
import os
import signal
import time
from dataclasses import dataclass
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


_LOOKED_AT = 1 << 16
"""Bytes of a file that tell whose it is."""


def require_ours(questions: Path, places: Places, submission: Path | None, *, resume: bool) -> None:
    """Refuses to start where a file would be lost or cannot be written.

    Args:
        questions: The question file, or the name of a split of the hub.
        places: Where results and ledger stand.
        submission: The leaderboard's file.
        resume: Whether what an earlier run of this benchmark wrote may be replaced.

    Raises:
        UsageError: Two of the files are one.
        RunError: A file is there already.
        StorageError: A folder is missing or cannot be written.
    """
    named = {"the questions": questions, "--output": places.output, "the ledger": places.ledger}
    if submission is not None:
        named["--submission"] = submission
    for (one, path), (other, same) in combinations(named.items(), 2):
        if path.resolve() == same.resolve():
            raise UsageError(f"{path} would be {one} and {other}.", remedy="Name another file for one of them.")
    _require_replaceable("--output", places.output, b'"schema"', places.ledger, resume=resume)
    if submission is not None:
        _require_replaceable("--submission", submission, b'"model_answer"', places.ledger, resume=resume)
        if not (folder := submission.absolute().parent).is_dir():
            raise StorageError(f"{folder} is no folder.", remedy="Make it first, or name a file in another folder.")


def require_empty(places: Places) -> None:
    """A benchmark that begins finds no tools of another one in the library that its questions share.

    Raises:
        RunError: There are some.
    """
    if not places.ledger.exists() and any(places.library.glob("*.py")):
        raise RunError(
            f"{places.library} holds tools already, and a new benchmark with --library warm begins without any.",
            remedy=f"Move them away, name another --output, or begin with them: --tools-dir {places.library}",
        )


def _require_replaceable(option: str, path: Path, mark: bytes, ledger: Path, *, resume: bool) -> None:
    """Refuses a file that cannot be written, or is there and not derived from the ledger that is gone on with.

    Args:
        option: That names the file.
        path: The file.
        mark: What the beginning of such a file holds; a file without a byte has nothing to lose.
        ledger: Of the benchmark.
        resume: Whether an earlier run is gone on with.
    """
    if path.is_dir():
        raise StorageError(f"{path} is a folder.", remedy="Name a file.")
    folder = path.absolute().parent
    if folder.exists() and not os.access(folder, os.W_OK):
        raise StorageError(f"{folder} cannot be written.", remedy="Name a file in another folder.")
    if not path.exists():
        return
    try:
        with path.open("rb") as file:
            begins = file.read(_LOOKED_AT)
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}.", remedy="Name another file.") from None
    if not ledger.exists():
        problem = f"{path} is there already, and its ledger {ledger} is not."
    elif begins and mark not in begins:
        problem = f"{path} is there already, and no benchmark wrote it."
    elif not resume:
        raise RunError(f"{path} is there already.", remedy=f"Add --resume to go on with it, or name another {option}.")
    else:
        return
    raise RunError(problem, remedy=f"Move it away, or name another {option}.")


USUAL_CONCURRENCY = 4
_CLOSING = 60.0
"""Seconds between the order to stop every question and the end; before, processes that hang are killed."""
_CODES = {"finished": 0, "limit": 124, "interrupted": exits.INTERRUPTED, "stopped": 1}


@dataclass(frozen=True, slots=True)
class Choices:
    """What the command line says of a benchmark, beside settings."""

    questions: Path
    attached: Path | None
    output: Path | None
    submission: Path | None
    selection: Selection
    totals: Totals
    concurrency: int | None
    library: LibraryMode
    mode: Mode
    resume: bool
    verbose: bool

    @property
    def results(self) -> Path:
        """Where the results go: named, or after the submission or the questions."""
        if self.output is not None:
            return self.output
        if self.submission is not None:
            return self.submission.with_name(f"{self.submission.stem}.results.json")
        return Path(f"{self.questions.stem}.results.json")


def benchmark(flags: dict[str, Any], choices: Choices) -> int:
    """Runs a benchmark and gives the exit code.

    Raises:
        UserError: It cannot begin, or the ledger cannot be written.
    """
    if flags["use_cache"] and choices.selection.epochs > 1:
        raise UsageError("With --cache every epoch would repeat the first.", remedy="Leave out --cache or --epochs.")
    settings = _settings(flags, choices)
    dataset = load_questions(choices.questions, settings)
    require_ours(choices.questions, Places(choices.results), choices.submission, resume=choices.resume)
    if choices.library == "warm" and flags.get("tools_dir") is None:
        require_empty(Places(choices.results))
    display = Display(verbose=choices.verbose, plain=settings.plain)
    for problem in dataset.problems:
        display.say(problem)
    running = _Run(choices, settings, dataset, display)
    try:
        with exits.Watch(running.seconds_left, running.last_words):
            outcome = exits.run(running.finish())
    finally:
        display.close()
    _sum_up(outcome, choices)
    return _CODES[outcome.how]


class _Run:
    """One benchmark from its start to its files."""

    def __init__(self, choices: Choices, settings: Settings, dataset: Dataset, display: Display) -> None:
        self._choices = choices
        self._dataset = dataset
        self._display = display
        usual = 1 if settings.model == EMBEDDED else USUAL_CONCURRENCY
        options = RunOptions(
            dataset=dataset,
            settings=settings,
            attachments=usual_attachments(
                settings,
                attached=choices.attached,
                beside=choices.questions.absolute().parent,
                revision=revision_of(choices.questions),
            ),
            output=choices.results,
            selection=choices.selection,
            library=choices.library,
            mode=choices.mode,
            concurrency=choices.concurrency or usual,
            totals=choices.totals,
            resume=choices.resume,
        )
        self._benchmark = Benchmark(options, display.show)
        self._ends = math.inf

    async def finish(self) -> Outcome:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        loop.add_signal_handler(signal.SIGTERM, self._stop)
        outcome = await self._benchmark.run()
        self._derive(outcome)
        return outcome

    def seconds_left(self) -> float | None:
        """Until the process must have ended; None while nothing says that it must."""
        return self._ends - time.monotonic() if self._ends < math.inf else None

    def last_words(self) -> int:
        """Says how to go on after a benchmark that does not end by itself; its ledger is on the disk."""
        self._display.close()
        print_note("alita: It did not end by itself. Go on with the same command and --resume.")
        return exits.INTERRUPTED

    def _interrupt(self) -> None:
        if self._benchmark.interrupt():
            self._display.say("Finishing the questions under way, then ending. Ctrl-C again stops them too.")
        else:
            self._ends = min(self._ends, time.monotonic() + _CLOSING)

    def _stop(self) -> None:
        self._interrupt()
        self._interrupt()

    def _derive(self, outcome: Outcome) -> None:
        results = results_of(
            self._dataset, outcome.fingerprint, outcome.selected, outcome.attempts, epochs=outcome.epochs
        )
        write_file(self._choices.results, json.dumps(results, ensure_ascii=False, indent=1) + "\n")
        if self._choices.submission is not None:
            missing = write_answers(self._choices.submission, self._dataset, outcome.attempts)
            if missing:
                lacking = f"{len(missing)} of {len(self._dataset.tasks)} questions have no answer"
                self._display.say(f"{self._choices.submission}: {lacking}; the leaderboard counts them as wrong.")


def _settings(flags: dict[str, Any], choices: Choices) -> Settings:
    """The settings of a benchmark, with the folder of its library."""
    ask_about_project(flags)
    settings = with_limit(read_settings(flags))
    require_allowed(settings)
    if choices.library == "warm" and flags.get("tools_dir") is None:
        return settings.model_copy(update={"tools_dir": Places(choices.results.absolute()).library})
    if choices.library == "read-only" and not settings.tools_dir.is_dir():
        raise UsageError(
            f"The library {settings.tools_dir} is no folder, so there is nothing to read.",
            remedy="Name it with --tools-dir, or begin without tools: --library cold",
        )
    return settings


def _sum_up(outcome: Outcome, choices: Choices) -> None:
    """The last lines, on stdout."""
    group = group_of("all", counted(outcome.attempts, outcome.selected, outcome.epochs))
    share = (
        f", {100 * group.accuracy:.1f} % of all selected"
        if group.accuracy is not None and group.right + group.wrong
        else ""
    )
    tokens = group.effort.input_tokens + group.effort.output_tokens
    lines = [
        f"{group.right} right of {group.of}{share}; {group.wrong} wrong, {group.errors} errors, {outcome.left} left;"
        f" {tokens:,} tokens, {price(group.effort.cost)}",
        f"results: {choices.results}",
        f"ledger:  {Places(choices.results).ledger}",
    ]
    if outcome.message:
        lines.append(f"It ended early: {outcome.message}")
    if outcome.reachable:
        lines.append("Go on with the same command and --resume.")
    elif outcome.left:
        lines.append("What is left was chosen before: go on with --resume and the --level, --ids and --epochs of then.")
    print_text("\n".join(lines))

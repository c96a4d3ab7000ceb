"""Prepares a benchmark for the command line or the page: checks its files, runs it, and writes its results."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from itertools import combinations, count
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from agent.configuration.project_choice import require_allowed
from agent.errors import RunError, StorageError, UsageError
from agent.gaia.attachments import usual_attachments
from agent.gaia.configuration import BenchmarkPaths, LibraryMode, RunOptions, with_limit
from agent.gaia.dataset import load_questions, local_copy, revision_of
from agent.gaia.ledger import read_ledger
from agent.gaia.outputs import Steps, Taken, read_submission, results_of, write_answers, write_details
from agent.gaia.progress import Display, score_text
from agent.gaia.report.figures import counted, group_of
from agent.gaia.report.report import price
from agent.gaia.runner import Benchmark, BenchmarkOutcome
from agent.models.roles import with_resolved_model
from agent.store.redact import Redactor
from agent.user_files import whole_file, write_file
from mcp_tools.small_files import JOURNAL, read_small
from mcp_tools.text import count_of

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.gaia.attempt import Dataset

CONTINUE = "Continue with the same command and --resume."
_NAMED = 10
_LOOKED_AT = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices(RunOptions):
    """Options of a benchmark, including the files to read and write."""

    questions: Path
    attached: Path | None = None
    submission: Path | None = None
    with_traces: bool = False
    details: Path | None = None
    verbose: bool = False


def library_mode(output: Path, *, resume: bool) -> LibraryMode:
    """Return the library mode to use by default: the mode of the continued run, otherwise `warm`.

    Raises:
        RunError: The ledger cannot be read.
    """
    ledger = BenchmarkPaths(output).ledger
    header = read_ledger(ledger).header if resume and ledger.exists() else None
    found: tuple[LibraryMode, ...] = get_args(LibraryMode)
    return next((mode for mode in found if header and header.configuration.get("library") == mode), "warm")


class Prepared:
    """A benchmark whose files have been checked.

    Args:
        settings: The user's settings, without changes for the benchmark.
        choices: The options.
        display: Shows progress.
        has_library: True if the user chose the library of a warm benchmark.

    Raises:
        UserError: The benchmark cannot start.
    """

    def __init__(self, settings: Settings, choices: Choices, display: Display, *, has_library: bool = False) -> None:
        if choices.with_traces and choices.submission is None:
            raise UsageError("--with-traces needs --submission.", remedy="Add --submission FILE")
        if choices.ray_address and choices.executor != "ray":
            raise UsageError("--ray-address needs --executor ray.", remedy="Add --executor ray")
        own_library = choices.library == "warm" and not has_library
        settings = _settings(settings, choices, own_library=own_library)
        self._dataset = load_questions(choices.questions, settings)
        _require_ours(choices)
        ledger, folder = choices.paths.ledger, choices.paths.library
        if own_library and not ledger.exists() and any(folder.glob("*.py")):
            raise RunError(
                f"{folder} already holds tools, but a new benchmark with --library warm starts without any.",
                remedy=f"Move the tools, choose another --output, or start with these tools: --tools-dir {folder}",
            )
        taken = _taken(choices, self._dataset)
        attachments = usual_attachments(
            settings,
            attached=choices.attached,
            beside=copy[0] if (copy := local_copy(choices.questions)) else choices.questions.absolute().parent,
            revision=revision_of(choices.questions),
        )
        fresh = ""
        if choices.resume and not ledger.exists() and not taken.answers:
            fresh = (
                f"There is no ledger {ledger}, so this is a new benchmark. To continue another benchmark, "
                "give its --output."
            )
        for problem in filter(None, (*self._dataset.problems, *taken.problems, fresh)):
            display.say(problem)
        self._choices, self._display = choices, display
        self._redactor = Redactor(settings.secrets)
        self.benchmark = Benchmark(choices, self._dataset, settings, attachments, display, taken.answers)

    async def run(self) -> BenchmarkOutcome:
        """Run the benchmark and write its results.

        Raises:
            UserError: The benchmark cannot continue, or a file cannot be written.
        """
        outcome = await self.benchmark.run()
        if warning := _derive(outcome, self._dataset, self._choices, self._redactor):
            self._display.say(warning)
        return outcome


def _settings(settings: Settings, choices: Choices, *, own_library: bool) -> Settings:
    settings = with_limit(settings)
    require_allowed(settings)
    settings = with_resolved_model(settings)
    settings = settings.model_copy(update={"download": "always" if settings.may_download else "never"})
    if own_library:
        return settings.model_copy(update={"tools_dir": choices.paths.library.absolute()})
    if choices.library == "read-only" and not settings.tools_dir.is_dir():
        raise UsageError(
            f"The tool library {settings.tools_dir} is not a folder.",
            remedy="Choose one with --tools-dir, or start without tools: --library cold",
        )
    return settings


def _require_ours(choices: Choices) -> None:
    places, submission, ledger = choices.paths, choices.submission, choices.paths.ledger
    named = {"the questions": choices.questions, "--output": places.output, "the ledger": ledger}
    marks = {"--output": b'"schema"'}  # a file written by a benchmark starts with its mark
    for option, path, mark in (
        ("--submission", submission, b'"model_answer"'),
        ("--details", choices.details, b'"expected_answer"'),
    ):
        if path is not None:
            named[option], marks[option] = path, mark
            if not (folder := path.absolute().parent).is_dir():
                raise StorageError(
                    f"{folder} is not a folder.", remedy="Create the folder, or choose a file in another one."
                )
    for (one, path), (other, same) in combinations(named.items(), 2):
        if path.resolve() == same.resolve():
            raise UsageError(
                f"{path} is used for both {one} and {other}.", remedy="Choose another file for one of them."
            )
    for option, mark in marks.items():
        path, folder = named[option], named[option].absolute().parent
        if path.is_dir() or (folder.exists() and not os.access(folder, os.W_OK)):
            raise StorageError(f"{path} cannot be written.", remedy="Choose a file in another folder.")
        if not path.exists():
            continue
        begins = b"?"
        if path.is_file() and os.access(path, os.R_OK):  # reading a pipe would block
            with path.open("rb") as file:
                begins = file.read(_LOOKED_AT)
        goes_on = ledger.exists() or (choices.resume and option == "--submission")
        if not goes_on or (begins and mark not in begins):  # an empty file can be overwritten
            problem = f"{path} already exists and was not written by a benchmark with the ledger {ledger}."
            more = ", or keep its answers: --resume" if option == "--submission" and mark in begins else ""
            raise RunError(problem, remedy=f"Move the file, or choose another {option}{more}.")
        if not choices.resume:
            remedy = f"Add --resume to continue it, or choose another {option}."
            raise RunError(f"{path} already exists.", remedy=remedy)


def _taken(choices: Choices, dataset: Dataset) -> Taken:
    """Return the answers of a submission file whose ledger is missing or empty.

    If rewriting the file would lose data, a copy is kept.
    """
    path, ledger = choices.submission, choices.paths.ledger
    if not choices.resume or path is None or not path.exists() or (ledger.exists() and read_ledger(ledger).attempts):
        return Taken({}, (), has_traces=False)
    taken = read_submission(path, dataset)
    notes = [*taken.problems]
    if taken.problems or taken.has_traces:
        copies = (path.with_name(f"{path.name}.before{number or ''}") for number in count())
        copy = next(copy for copy in copies if not copy.exists())
        with whole_file(copy) as file:
            file.write(read_small(path, JOURNAL))
        notes.append(f"The old {path} is kept as {copy}.")
    if taken.answers:
        left = sum(task.task_id not in taken.answers for task in dataset.tasks)
        notes.append(
            f"{count_of(len(taken.answers), 'answer')} of {path} kept; {count_of(left, 'question')} left to ask."
        )
    return taken._replace(problems=tuple(notes))


def _derive(outcome: BenchmarkOutcome, dataset: Dataset, choices: Choices, redactor: Redactor) -> str:
    steps = Steps(choices.paths.runs, redactor)
    results = results_of(
        dataset, outcome.fingerprint, outcome.selected, outcome.attempts, epochs=outcome.epochs, wall=outcome.wall
    )
    write_file(choices.paths.output, json.dumps(results, ensure_ascii=False, indent=1) + "\n")
    if choices.details:
        write_details(choices.details, dataset, outcome.attempts, steps)
    trace = steps.in_words if choices.with_traces else None
    missing = write_answers(choices.submission, dataset, outcome.attempts, trace) if choices.submission else ()
    lacking = f"{len(missing)} of {len(dataset.tasks)} questions have no answer"
    return f"{choices.submission}: {lacking}; the leaderboard counts them as wrong." if missing else ""


def summary(outcome: BenchmarkOutcome, choices: Choices) -> list[str]:
    """Return a benchmark's outcome as lines of text."""
    group = group_of("all", counted(outcome.attempts, outcome.selected, outcome.epochs))
    latest = outcome.attempts
    is_scored = any(attempt.correct is not None for attempt in latest)
    share = f", {100 * (group.accuracy or 0):.1f} % of all selected; {group.wrong} wrong" if is_scored else ""
    lacking = [attempt.task_id for attempt in latest if attempt.status == "missing-file"]
    without = f", {len(lacking)} without their file" if lacking else ""
    tokens = group.effort.input_tokens + group.effort.output_tokens
    lines = [
        f"{score_text(latest, group.of)}{share}, {group.errors} errors{without}, {outcome.left} left;"
        f" {tokens:,} tokens, {price(group.effort.cost, 'cost unknown')}",
        f"results: {choices.paths.output}",
        f"ledger:  {choices.paths.ledger}",
    ]
    lines += [f"details: {choices.details}"] if choices.details else []
    if outcome.unlearned:
        count = len(outcome.unlearned)
        lines.append(f"Nothing was learned from {count} of the wrong attempts. The first: {outcome.unlearned[0]}")
    if lacking:
        names = ", ".join(lacking[:_NAMED]) + (" …" if lacking[_NAMED:] else "")
        remedy = "Add the files to --attached_files_dir, and use --resume."
        lines.append(f"Not asked, because their file is missing: {names}. {remedy}")
    if outcome.message:
        lines.append(f"The benchmark stopped early: {outcome.message}")
    if outcome.reachable:
        lines.append(CONTINUE)
    elif outcome.left:
        lines.append(
            "The remaining questions were selected earlier. "
            "Continue them with --resume and the same --level, --ids and --epochs."
        )
    return lines

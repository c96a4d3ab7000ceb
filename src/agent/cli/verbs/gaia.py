"""`alita gaia run|report|compare|learn`, which is `gaia-benchmark` and `python src/gaia_benchmark.py`."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import os
import shutil
import signal
import sys
import time
from dataclasses import dataclass, replace
from itertools import combinations, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from agent.cli import exits, options
from agent.cli.confirmations import ask_about_project
from agent.cli.options import opt
from agent.cli.output import print_note, print_text
from agent.configuration.project_choice import require_allowed
from agent.configuration.settings_sources import read_settings
from agent.errors import AlitaError, RunError, StorageError, UsageError
from agent.gaia.attachments import usual_attachments
from agent.gaia.configuration import LibraryMode, Places, ledger_meant, with_limit
from agent.gaia.dataset import load_questions, local_copy, revision_of
from agent.gaia.ledger import read_ledger
from agent.gaia.lessons import split_questions
from agent.gaia.outputs import Steps, Taken, read_submission, results_of, write_answers, write_details
from agent.gaia.progress import Display, score_text
from agent.gaia.report.comparison import compare as compared
from agent.gaia.report.figures import Results, counted, group_of, open_results
from agent.gaia.report.render import as_html, as_terminal
from agent.gaia.report.report import price, report_of
from agent.gaia.runner import Benchmark, BenchmarkOutcome, ExecutorName, RunOptions, Selection, Totals
from agent.models.roles import with_named_model
from agent.store.redact import Redactor
from agent.user_files import whole_file, write_file
from mcp_tools.small_files import JOURNAL, read_small
from mcp_tools.text import count_of, printable

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.gaia.attempt import Dataset
    from agent.gaia.report.report import Report


class _Benchmark(options.Commands):
    """Runs a benchmark unless another command is named: the question file comes first."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts the command in front where it is left out."""
        if not args or args[0] not in self.commands:
            args = ["run", *args]
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed


app = options.App("The GAIA benchmark.", cls=_Benchmark)

Resume = Annotated[bool, opt("--resume", "Continue the existing ledger and retry failed questions.")]
Verbose = Annotated[bool, opt("-v --verbose", "Print a line for every step.")]
MaxQuestions = Annotated[int | None, opt("--max-questions N", "Ask at most N of the remaining questions.", min=1)]
Concurrency = Annotated[
    int | None,
    opt("--concurrency N", "Questions to run in parallel (default 4; 1 with the embedded model).", min=1, max=1000),
]
_ATTACHED = "--attached_files_dir --attached-files-dir DIR"
_NAMED = 10
_LEARNING = "Gap records: off, use, or grow (use them, and add records of wrong answers)."
_LIBRARY = (
    "warm: one library grows over the run (the default); cold: each question starts without tools; "
    "read-only: use the library unchanged."
)


@app.command()
def run(
    jsonl_file: Annotated[
        Path,
        typer.Argument(
            metavar="JSONL_FILE",
            show_default=False,
            help="Question file (JSON lines), a copy of the dataset (FOLDER:SPLIT), or gaia-validation from the hub.",
        ),
    ],
    attached_files_dir: Annotated[Path | None, opt(_ATTACHED, "Folder with the questions' files.")] = None,
    output: Annotated[Path | None, opt("-o --output FILE", "Results file; the ledger goes next to it.")] = None,
    submission: Annotated[Path | None, opt("--submission FILE", "Also write a file for the leaderboard.")] = None,
    with_traces: Annotated[bool, opt("--with-traces", "Add the steps to the submission (reasoning_trace).")] = False,
    details: Annotated[
        Path | None, opt("--details FILE", "Also write questions, true answers, responses and steps.")
    ] = None,
    resume: Resume = False,
    verbose: Verbose = False,
    max_questions: MaxQuestions = None,
    level: Annotated[list[int] | None, opt("--level N", "Run this level only; may be repeated.")] = None,
    ids: Annotated[list[str] | None, opt("--ids IDS", "Run these questions only, separated by commas.")] = None,
    epochs: Annotated[int, opt("--epochs N", "Ask each question N times.", min=1)] = 1,
    concurrency: Concurrency = None,
    executor: Annotated[
        ExecutorName, opt("--executor local|ray", "Run questions in this process, or on a Ray cluster.")
    ] = "local",
    ray_address: Annotated[
        str, opt("--ray-address HOST:PORT", "Use this Ray cluster, or auto (default: start Ray on this machine).")
    ] = "",
    total_steps: Annotated[int | None, opt("--total-steps N", "Stop the benchmark after N steps.", min=1)] = None,
    total_seconds: Annotated[
        float | None, opt("--total-seconds S", "Stop the benchmark after S seconds.", min=0.001)
    ] = None,
    total_tokens: Annotated[int | None, opt("--total-tokens N", "Stop the benchmark after N tokens.", min=1)] = None,
    total_cost: Annotated[
        float | None, opt("--total-cost USD", "Stop the benchmark at this cost in US dollars.", min=0.000001)
    ] = None,
    library: Annotated[Literal["warm", "cold", "read-only"] | None, opt("--library MODE", _LIBRARY)] = None,
    without: Annotated[list[str] | None, opt("--without NAMES", "Disable search, browse or create.")] = None,
    leak_guard: Annotated[
        Literal["on", "off"], opt("--leak-guard on|off", "Block web pages that copy the dataset.")
    ] = "on",
    seed: Annotated[int | None, opt("--seed N", "Seed for model calls.", min=0)] = None,
    mode: Annotated[Literal["gaia", "course"], opt("--mode MODE", "Scoring rules: gaia or course.")] = "gaia",
    learning: Annotated[Literal["off", "use", "grow"], opt("--learning MODE", _LEARNING)] = "off",
    servers: Annotated[str, opt("--servers NAMES", "Use these MCP servers, separated by commas, or all.")] = "",
    model: options.Model = None,
    base_url: options.BaseUrl = None,
    max_steps: options.MaxSteps = None,
    max_seconds: options.MaxSeconds = None,
    max_cost: options.MaxCost = None,
    max_tokens: options.MaxTokens = None,
    tools_dir: options.ToolsDir = None,
    no_isolation: options.NoIsolation = False,
    yes: options.Yes = False,
) -> None:
    """Runs a question file and records every attempt in a ledger. Limits apply to each question (30 minutes).

    To continue a run that was interrupted or killed, use --resume. `alita gaia report` shows its results, `alita gaia
    compare` compares two runs, and `alita gaia learn` measures how much learning helps.
    """
    chosen = tuple(one for part in ids or () for one in part.split(",") if one)
    beside = submission.with_name(f"{submission.stem}.results.json") if submission else None
    output = output or beside or Path(f"{jsonl_file.stem}.results.json")
    choices = Choices(
        questions=jsonl_file,
        attached=attached_files_dir,
        output=output,
        submission=submission,
        with_traces=with_traces,
        details=details,
        selection=Selection(tuple(level or ()), chosen, max_questions, epochs),
        totals=Totals(total_seconds, total_tokens, total_cost, total_steps),
        concurrency=concurrency,
        executor=executor,
        ray_address=ray_address,
        library=library or library_mode(output, resume=resume),
        mode=mode,
        learning=learning,
        resume=resume,
        verbose=verbose,
    )
    more = {"without": ",".join(without) if without else None, "seed": seed, "servers": servers or "none"}
    raise typer.Exit(benchmark({**options.flags(), **more, "leak_guard": leak_guard == "on"}, choices))


@app.command()
def learn(
    jsonl_file: Annotated[Path, typer.Argument(metavar="JSONL_FILE", help="Question file with true answers.")],
    attached_files_dir: Annotated[Path | None, opt(_ATTACHED, "Folder with the questions' files.")] = None,
    output: Annotated[Path | None, opt("-o --output FILE", "Prefix for the names of all output files.")] = None,
    split: Annotated[float, opt("--split SHARE", "Share of the questions to learn from.", min=0.1, max=0.9)] = 0.5,
    epochs: Annotated[
        int, opt("--epochs N", "Ask each scored question N times, each time with another seed.", min=1)
    ] = 1,
    seed: Annotated[int, opt("--seed N", "Seed for the split, and first seed for model calls.", min=0)] = 0,
    max_questions: Annotated[int | None, opt("--max-questions N", "Use at most N questions in all.", min=2)] = None,
    concurrency: Concurrency = None,
    resume: Resume = False,
    verbose: Verbose = False,
    model: options.Model = None,
    base_url: options.BaseUrl = None,
    max_steps: options.MaxSteps = None,
    max_seconds: options.MaxSeconds = None,
    max_cost: options.MaxCost = None,
    max_tokens: options.MaxTokens = None,
    no_isolation: options.NoIsolation = False,
    yes: options.Yes = False,
) -> None:
    """Measures how much learning helps: learns from some questions, answers the rest with and without what it learned.

    Nothing is learned from the scored questions. Tools stay next to the results, gap records in your data folder.
    """
    stem = (output or Path(f"{jsonl_file.stem}.learn.json")).with_suffix("")

    def named(part: str) -> Path:
        return stem.with_name(f"{stem.name}.{part}")

    settings = options.settings()
    digest = hashlib.sha256(os.fsencode(stem.resolve())).hexdigest()[:24]  # no database of a folder is opened
    gaps_file = settings.data_dir / "learning" / f"{digest}.sqlite"
    ids = [task.task_id for task in load_questions(jsonl_file, settings).tasks]
    parts = split_questions(ids, split, seed, max_questions)
    before = Choices(
        questions=jsonl_file,
        output=named("without.json"),
        attached=attached_files_dir,
        selection=Selection(ids=parts.scored, epochs=epochs),
        concurrency=concurrency,
        library="cold",
        resume=resume,
        verbose=verbose,
    )
    learned = Selection(ids=parts.learned)
    taught = replace(before, output=named("learning.json"), selection=learned, library="warm", learning="grow")
    after = replace(before, output=named("with.json"), library="read-only", learning="use")
    own = {**options.flags(), "servers": "none", "seed": seed, "leak_guard": True, "gaps_file": gaps_file}
    for title, choices in (("without learning", before), ("learning", taught), ("with what was learned", after)):
        print_note(f"— {title}: {len(choices.selection.ids)} questions")
        if choices.library == "read-only":
            own["tools_dir"] = taught.places.library.absolute()
            own["tools_dir"].mkdir(parents=True, exist_ok=True)
        if choices.resume and not choices.places.ledger.exists():
            choices = replace(choices, resume=False)
        if code := benchmark(dict(own), choices):
            raise typer.Exit(code)
    _give(compared(open_results(before.places.ledger), open_results(after.places.ledger)))


_CLOSING = 30.0
"""Seconds between the order to stop every question and the end of the process, whatever hangs in it."""
_CODES = {"finished": 0, "limit": 124, "interrupted": exits.INTERRUPTED, "stopped": 1}
_LOOKED_AT = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices(RunOptions):
    """What the command line says of a benchmark, beside settings."""

    questions: Path
    attached: Path | None = None
    submission: Path | None = None
    with_traces: bool = False
    details: Path | None = None
    verbose: bool = False


def library_mode(output: Path, *, resume: bool) -> LibraryMode:
    """Return the library mode where none is named: that of the run to continue, else `warm`.

    Raises:
        RunError: The ledger cannot be read.
    """
    ledger = Places(output).ledger
    header = read_ledger(ledger).header if resume and ledger.exists() else None
    found: tuple[LibraryMode, ...] = get_args(LibraryMode)
    return next((mode for mode in found if header and header.configuration.get("library") == mode), "warm")


def benchmark(flags: dict[str, Any], choices: Choices) -> int:
    """Runs a benchmark and gives the exit code.

    Raises:
        UserError: It cannot begin, or the ledger cannot be written.
    """
    _require_fitting(flags, choices)
    settings = _settings(flags, choices)
    dataset = load_questions(choices.questions, settings)
    _require_ours(choices)
    own_library = choices.library == "warm" and flags.get("tools_dir") is None
    if own_library and not choices.places.ledger.exists() and any(choices.places.library.glob("*.py")):
        folder = choices.places.library
        raise RunError(
            f"{folder} already holds tools, but a new benchmark with --library warm starts without any.",
            remedy=f"Move them, choose another --output, or start with them: --tools-dir {folder}",
        )
    taken = _taken(choices, dataset)
    attachments = usual_attachments(
        settings,
        attached=choices.attached,
        beside=copy[0] if (copy := local_copy(choices.questions)) else choices.questions.absolute().parent,
        revision=revision_of(choices.questions),
    )
    display = Display(verbose=choices.verbose)
    ledger, fresh = choices.places.ledger, ""
    if choices.resume and not ledger.exists() and not taken.answers:
        fresh = f"There is no ledger {ledger}: nothing is continued. To continue another one, name its --output."
    for problem in filter(None, (*dataset.problems, *taken.problems, fresh)):
        display.say(problem)
    running, ends = Benchmark(choices, dataset, settings, attachments, display, taken.answers), math.inf

    def interrupt() -> None:
        nonlocal ends
        if running.interrupt():
            display.say("Finishing the current questions, then stopping. Press Ctrl-C again to stop at once.")
        else:
            ends = min(ends, time.monotonic() + _CLOSING)

    def stop() -> None:
        interrupt()
        interrupt()

    def last_words() -> int:
        """Its ledger is on the disk."""
        print_note(
            "alita: The benchmark did not stop in time and was ended. Continue with the same command and --resume."
        )
        return exits.INTERRUPTED

    async def finish() -> BenchmarkOutcome:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, interrupt)
        loop.add_signal_handler(signal.SIGTERM, stop)
        outcome = await running.run()
        if told := _derive(outcome, dataset, choices, Redactor(settings.secrets)):
            display.say(told)
        return outcome

    with exits.Watch(lambda: ends - time.monotonic() if ends < math.inf else None, last_words):
        outcome = exits.run(finish())
    _sum_up(outcome, choices)
    return _CODES[outcome.how]


def _require_fitting(flags: dict[str, Any], choices: Choices) -> None:
    if choices.with_traces and choices.submission is None:
        raise UsageError("--with-traces needs --submission.", remedy="Add --submission FILE")
    if choices.ray_address and choices.executor != "ray":
        raise UsageError("--ray-address needs --executor ray.", remedy="Add --executor ray")
    if choices.executor == "ray" and flags.get("servers", "none") != "none":
        raise UsageError("MCP servers cannot be used on a cluster.", remedy="Remove --servers, or --executor ray.")


def _settings(flags: dict[str, Any], choices: Choices) -> Settings:
    ask_about_project(flags)
    settings = with_limit(read_settings({**flags, "use_cache": False}))
    require_allowed(settings)
    settings = with_named_model(settings)
    settings = settings.model_copy(update={"download": "always" if settings.may_download else "never"})
    if choices.library == "warm" and flags.get("tools_dir") is None:
        return settings.model_copy(update={"tools_dir": choices.places.library.absolute()})
    if choices.library == "read-only" and not settings.tools_dir.is_dir():
        raise UsageError(
            f"The tool library {settings.tools_dir} is not a folder.",
            remedy="Choose one with --tools-dir, or start without tools: --library cold",
        )
    return settings


def _require_ours(choices: Choices) -> None:
    places, submission, ledger = choices.places, choices.submission, choices.places.ledger
    named = {"the questions": choices.questions, "--output": places.output, "the ledger": ledger}
    marks = {"--output": b'"schema"'}  # what the beginning of such a file holds
    for option, path, mark in (
        ("--submission", submission, b'"model_answer"'),
        ("--details", choices.details, b'"expected_answer"'),
    ):
        if path is not None:
            named[option], marks[option] = path, mark
            if not (folder := path.absolute().parent).is_dir():
                raise StorageError(
                    f"{folder} is not a folder.", remedy="Create it, or choose a file in another folder."
                )
    for (one, path), (other, same) in combinations(named.items(), 2):
        if path.resolve() == same.resolve():
            raise UsageError(f"{path} would be both {one} and {other}.", remedy="Choose another file for one of them.")
    for option, mark in marks.items():
        path, folder = named[option], named[option].absolute().parent
        if path.is_dir() or (folder.exists() and not os.access(folder, os.W_OK)):
            raise StorageError(f"{path} cannot be written.", remedy="Name a file in another folder.")
        if not path.exists():
            continue
        begins = b"?"
        if path.is_file() and os.access(path, os.R_OK):  # a pipe would be waited for
            with path.open("rb") as file:
                begins = file.read(_LOOKED_AT)
        goes_on = ledger.exists() or (choices.resume and option == "--submission")
        if not goes_on or (begins and mark not in begins):  # one without a byte has nothing to lose
            problem = f"{path} already exists and was not written by a benchmark with the ledger {ledger}."
            more = ", or keep its answers: --resume" if option == "--submission" and mark in begins else ""
            raise RunError(problem, remedy=f"Move it, or choose another {option}{more}.")
        if not choices.resume:
            remedy = f"Add --resume to continue it, or choose another {option}."
            raise RunError(f"{path} already exists.", remedy=remedy)


def _taken(choices: Choices, dataset: Dataset) -> Taken:
    """The answers of a submission file that has no ledger, or one without an attempt.

    What would be lost when it is written anew is kept in a copy.
    """
    path, ledger = choices.submission, choices.places.ledger
    if not choices.resume or path is None or not path.exists() or (ledger.exists() and read_ledger(ledger).attempts):
        return Taken({}, (), has_traces=False)
    taken = read_submission(path, dataset)
    told = [*taken.problems]
    if taken.problems or taken.has_traces:
        copies = (path.with_name(f"{path.name}.before{number or ''}") for number in count())
        copy = next(copy for copy in copies if not copy.exists())
        with whole_file(copy) as file:
            file.write(read_small(path, JOURNAL))
        told.append(f"{path} as it was is kept as {copy}.")
    if taken.answers:
        left = sum(task.task_id not in taken.answers for task in dataset.tasks)
        told.append(f"{count_of(len(taken.answers), 'answer')} of {path} kept; {count_of(left, 'question')} left.")
    return taken._replace(problems=tuple(told))


def _derive(outcome: BenchmarkOutcome, dataset: Dataset, choices: Choices, redactor: Redactor) -> str:
    steps = Steps(choices.places.runs, redactor)
    results = results_of(
        dataset, outcome.fingerprint, outcome.selected, outcome.attempts, epochs=outcome.epochs, wall=outcome.wall
    )
    write_file(choices.places.output, json.dumps(results, ensure_ascii=False, indent=1) + "\n")
    if choices.details:
        write_details(choices.details, dataset, outcome.attempts, steps)
    trace = steps.in_words if choices.with_traces else None
    missing = write_answers(choices.submission, dataset, outcome.attempts, trace) if choices.submission else ()
    lacking = f"{len(missing)} of {len(dataset.tasks)} questions have no answer"
    return f"{choices.submission}: {lacking}; the leaderboard counts them as wrong." if missing else ""


def _sum_up(outcome: BenchmarkOutcome, choices: Choices) -> None:
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
        f"results: {choices.places.output}",
        f"ledger:  {choices.places.ledger}",
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
        lines.append(f"The benchmark ended early: {outcome.message}")
    if outcome.reachable:
        lines.append("Continue with the same command and --resume.")
    elif outcome.left:
        lines.append(
            "The remaining questions were selected earlier. "
            "Continue them with --resume and the same --level, --ids and --epochs."
        )
    print_text("\n".join(lines))


Output = Annotated[Path | None, opt("-o --output FILE", "File to write (default: stdout).")]


@app.command()
def report(
    ledger: Annotated[Path, typer.Argument(metavar="LEDGER", help="Ledger or results file of a benchmark.")],
    form: Annotated[
        Literal["terminal", "json", "html"],
        opt("--format -f", "Output format; html is one self-contained page."),
    ] = "terminal",
    output: Output = None,
    questions: Annotated[Path | None, opt("--questions FILE", "Count all questions of this file as selected.")] = None,
) -> None:
    """Reports a benchmark: accuracy over all selected questions, time, tokens, cost, and each result."""
    ledger = ledger_meant(ledger)
    _require_other(output, ledger, questions)
    if form == "html":
        output = output or ledger.with_name(f"{ledger.name.removesuffix('.jsonl').removesuffix('.ledger')}.html")
    selected = load_questions(questions, options.settings()).tasks if questions else ()
    results = open_results(ledger, selected)
    if form == "html" and not questions:
        results = _with_questions(results, ledger)
    _give(report_of(results), form, output)


def _with_questions(results: Results, ledger: Path) -> Results:
    """Add the texts of the questions, from the file that the ledger names; without it, say so."""
    source = Path(results.source)
    near = ledger.absolute().parent / source.name
    found = next((one for one in (source, near) if results.source and (one.is_file() or local_copy(one))), None)
    more = "To show the questions, add --questions FILE"
    if found is None:
        told = (
            f"the question file {source} is not there"
            if results.source
            else "the ledger does not name its question file"
        )
        return replace(results, flaws=[*results.flaws, f"{told}. {more}"])
    try:
        dataset = load_questions(found, options.settings())
    except AlitaError as error:
        return replace(results, flaws=[*results.flaws, f"{error.message} {more}"])
    if dataset.fingerprint != results.header.dataset:
        return replace(results, flaws=[*results.flaws, f"{found} has changed since the benchmark. {more}"])
    texts = {task.task_id: task.question for task in dataset.tasks}
    return replace(results, selected=[replace(one, question=texts.get(one.task_id, "")) for one in results.selected])


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="Ledger or results file of the first run.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Ledger or results file of the second run.")],
    form: Annotated[Literal["terminal", "json"], opt("--format -f", "Output format.")] = "terminal",
    output: Output = None,
) -> None:
    """Compares two benchmarks on the questions that both attempted (McNemar's exact test)."""
    ledgers = ledger_meant(first), ledger_meant(second)
    _require_other(output, *ledgers)
    _give(compared(*map(open_results, ledgers)), form, output)


def _require_other(output: Path | None, *read: Path | None) -> None:
    """Refuses to write a report over what it is made from."""
    if output is not None and output.resolve() in [path.resolve() for path in read if path is not None]:
        raise UsageError(f"{output} is the file that the report is made from.", remedy="Choose another --output.")


def _give(report: Report, form: str = "terminal", output: Path | None = None) -> None:
    redactor = Redactor(options.settings().secrets)
    report = redactor.values(report)
    width = shutil.get_terminal_size().columns if output is None and sys.stdout.isatty() else None
    text = {
        "json": lambda: json.dumps(report.as_json(), indent=2),
        "html": lambda: as_html(report),
        "terminal": lambda: as_terminal(report, width=width),
    }[form]()
    text = redactor.text(printable(text))  # a key that invisible characters cut is whole now
    if output is not None:
        write_file(output, text.rstrip("\n") + "\n")
    print_text(text if output is None else str(output))

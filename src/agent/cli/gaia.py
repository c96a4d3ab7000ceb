"""`alita gaia run|report|compare`, which is `gaia-benchmark` and `python src/gaia_benchmark.py`."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from agent.cli import options
from agent.cli.benchmark import Choices, benchmark
from agent.cli.options import opt
from agent.cli.output import print_note, print_text
from agent.errors import UsageError
from agent.gaia.configuration import Places
from agent.gaia.dataset import load_questions
from agent.gaia.report import comparison, tables
from agent.gaia.report.html import as_html
from agent.gaia.report.opened import open_report
from agent.gaia.runner import Selection, Totals
from agent.store.redact import Redactor
from agent.store.user_files import write_file

if TYPE_CHECKING:
    from agent.gaia.attempt import Task
    from agent.gaia.report.tables import Shown
    from agent.store.redact import Redactor


class _Benchmark(options.Commands):
    """Runs a benchmark unless another command is named: the question file comes first."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts the command in front where it is left out."""
        if not args or args[0] not in self.commands:
            args = ["run", *args]
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed


app = options.new_app("The GAIA benchmark.", cls=_Benchmark)

Resume = Annotated[bool, opt("--resume", "Go on with the ledger that is there; errors are tried again.")]
Verbose = Annotated[bool, opt("-v --verbose", "A line for every step.")]
MaxQuestions = Annotated[int | None, opt("--max-questions N", "Stop after N unanswered questions.", min=1)]
Concurrency = Annotated[
    int | None, opt("--concurrency N", "Questions in parallel: 4; with the embedded model 1.", min=1, max=1000)
]
_ATTACHED = "--attached_files_dir --attached-files-dir DIR"
_LIBRARY = "cold: each begins without tools; warm: one grows; read-only."


@app.command()
@options.with_settings("model", "base_url", *options.LIMITS, "tools_dir", "no_isolation", "plain")
def run(
    flags: dict[str, Any],
    jsonl_file: Annotated[
        Path,
        typer.Argument(
            metavar="JSONL_FILE",
            show_default=False,
            help="The questions, one JSON object a line; or gaia-validation, gaia-test: those of the hub.",
        ),
    ],
    attached_files_dir: Annotated[Path | None, opt(_ATTACHED, "Folder of their files.")] = None,
    output: Annotated[Path | None, opt("-o --output FILE", "The results; the ledger is beside them.")] = None,
    submission: Annotated[Path | None, opt("--submission FILE", "The leaderboard's file, to be written.")] = None,
    resume: Resume = False,
    verbose: Verbose = False,
    max_questions: MaxQuestions = None,
    level: Annotated[list[int] | None, opt("--level N", "Only it; may be repeated.")] = None,
    ids: Annotated[list[str] | None, opt("--ids IDS", "Only these, separated by commas.")] = None,
    epochs: Annotated[int, opt("--epochs N", "How often each is asked.", min=1)] = 1,
    concurrency: Concurrency = None,
    total_steps: Annotated[int | None, opt("--total-steps N", "Steps for the whole run.", min=1)] = None,
    total_seconds: Annotated[float | None, opt("--total-seconds S", "Seconds for the whole run.", min=0.001)] = None,
    total_tokens: Annotated[int | None, opt("--total-tokens N", "Tokens for the whole run.", min=1)] = None,
    total_cost: Annotated[float | None, opt("--total-cost USD", "US dollars for the whole run.", min=0.000001)] = None,
    library: Annotated[Literal["cold", "warm", "read-only"], opt("--library MODE", _LIBRARY)] = "cold",
    without: Annotated[list[str] | None, opt("--without NAMES", "Go without search, browse or create.")] = None,
    leak_guard: Annotated[Literal["on", "off"], opt("--leak-guard on|off", "Block copies of the dataset.")] = "on",
    seed: Annotated[int | None, opt("--seed N", "Seed of model calls.", min=0)] = None,
    mode: Annotated[Literal["gaia", "course"], opt("--mode MODE", "Score as gaia or as the course does.")] = "gaia",
    cache: Annotated[bool, opt("--cache/--no-cache", "Take answers given before, and keep them.")] = False,
    retry_errors: Annotated[
        bool, opt("--retry-errors/--keep-errors", "With --resume: try errors again; the usual way.")
    ] = True,
) -> None:
    """Runs a question file and keeps every attempt in a ledger; limits are those of a question (30 minutes).

    A run that was interrupted or killed goes on with --resume. Two runs are compared with `alita gaia compare`, and
    reported on with `alita gaia report`.
    """
    chosen = tuple(one for part in ids or () for one in part.split(",") if one)
    choices = Choices(
        questions=jsonl_file,
        attached=attached_files_dir,
        output=output,
        submission=submission,
        selection=Selection(tuple(level or ()), chosen, max_questions, epochs, retry_errors),
        totals=Totals(total_seconds, total_tokens, total_cost, total_steps),
        concurrency=concurrency,
        library=library,
        mode=mode,
        resume=resume,
        verbose=verbose,
    )
    flags |= {"without": ",".join(without) if without else None, "seed": seed}
    raise typer.Exit(benchmark({**flags, "use_cache": cache, "leak_guard": leak_guard == "on"}, choices))


Output = Annotated[Path | None, opt("-o --output FILE", "Write it there, not on stdout.")]


@app.command()
def report(
    ledger: Annotated[Path, typer.Argument(metavar="LEDGER", help="What a benchmark wrote.")],
    form: Annotated[
        Literal["terminal", "json", "markdown", "html"],
        opt("--format -f", "What to write; html is one page that needs no network."),
    ] = "terminal",
    output: Output = None,
    questions: Annotated[
        Path | None, opt("--questions FILE", "The question file: every question of it counts as selected.")
    ] = None,
    level: Annotated[int | None, opt("--level N", "Of the question file, only this level.")] = None,
    epochs: Annotated[int | None, opt("--epochs N", "How often each question was to be answered.", min=1)] = None,
    runs: Annotated[Path | None, opt("--runs DIR", "Folder of the runs; beside the ledger if not given.")] = None,
) -> None:
    """Reports a benchmark: accuracy over all selected questions, time, tokens and cost, and the result of each."""
    ledger = _ledger(ledger)
    opened = open_report(ledger, _tasks(questions, level), epochs=epochs)
    redactor = _redactor()
    if form == "html":
        stem = ledger.name.removesuffix(".jsonl").removesuffix(".ledger")
        page = as_html(opened, runs or ledger.with_name(f"{stem}.runs"), redactor)
        path = output or ledger.with_name(f"{stem}.html")
        write_file(path, page)
        print_text(str(path))
        print_note(f"{len(page.encode()) / 1e6:,.1f} MB; it needs no network: open it in any browser.")
    elif form == "json":
        _give(json.dumps(redactor.json(opened.as_json()), indent=2), output)
    else:
        _give_shown(tables.shown(opened), form, output, redactor)


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="The ledger of the first run.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="The ledger of the second run.")],
    form: Annotated[Literal["terminal", "json", "markdown"], opt("--format -f", "What to write.")] = "terminal",
    output: Output = None,
) -> None:
    """Compares two benchmarks on the questions that both attempted, pair by pair (McNemar's exact test)."""
    compared = comparison.compare(open_report(_ledger(first)), open_report(_ledger(second)))
    redactor = _redactor()
    if form == "json":
        _give(json.dumps(redactor.json(compared.as_json()), indent=2), output)
    else:
        _give_shown(comparison.shown(compared), form, output, redactor)


def _ledger(named: Path) -> Path:
    """The ledger that is meant: the one beside it, where a benchmark's results are named."""
    beside = Places(named).ledger
    return beside if beside.exists() else named


def _tasks(questions: Path | None, level: int | None) -> tuple[Task, ...]:
    if questions is None:
        if level is not None:
            raise UsageError("--level chooses among the questions of a file.", remedy="Add --questions FILE.")
        return ()
    dataset = load_questions(questions, options.settings())
    tasks = tuple(task for task in dataset.tasks if level is None or task.level == level)
    if not tasks:
        raise UsageError(f"{questions} has no question of level {level}.", remedy="Leave --level out to see all.")
    return tasks


def _redactor() -> Redactor:
    return Redactor(options.settings().secrets)


def _give(text: str, output: Path | None) -> None:
    if output is not None:
        write_file(output, text.rstrip("\n") + "\n")
    print_text(text if output is None else str(output))


def _give_shown(parts: Shown, form: str, output: Path | None, redactor: Redactor) -> None:
    parts = redactor.values(parts)
    width = shutil.get_terminal_size().columns if output is None and sys.stdout.isatty() else None
    _give(tables.as_markdown(parts) if form == "markdown" else tables.as_terminal(parts, width=width), output)

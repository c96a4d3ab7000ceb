"""`alita gaia run|report|compare`, which is `gaia-benchmark` and `python src/gaia_benchmark.py`."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from agent.cli import options
from agent.cli.output import print_note, print_text
from agent.errors import UsageError
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


@app.command()
def run(
    context: typer.Context,
    jsonl_file: Annotated[
        Path,
        typer.Argument(
            metavar="JSONL_FILE",
            show_default=False,
            help="The questions, one JSON object a line; or gaia-validation, gaia-test: those of the hub.",
        ),
    ],
    attached_files_dir: Annotated[
        Path | None,
        typer.Option("--attached_files_dir", "--attached-files-dir", metavar="DIR", help="Folder of their files."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The results; the ledger is beside them."),
    ] = None,
    submission: Annotated[
        Path | None, typer.Option("--submission", metavar="FILE", help="The leaderboard's file, to be written.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the ledger that is there; errors are tried again.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="A line for every step.")] = False,
    max_questions: Annotated[
        int | None, typer.Option("--max-questions", metavar="N", min=1, help="Stop after N unanswered questions.")
    ] = None,
    level: Annotated[list[int] | None, typer.Option("--level", metavar="N", help="Only it; may be repeated.")] = None,
    ids: Annotated[
        list[str] | None, typer.Option("--ids", metavar="IDS", help="Only these, separated by commas.")
    ] = None,
    epochs: Annotated[int, typer.Option("--epochs", metavar="N", min=1, help="How often each is asked.")] = 1,
    concurrency: Annotated[
        int | None,
        typer.Option(
            "--concurrency",
            metavar="N",
            min=1,
            max=1000,
            help="Questions in parallel: 4; with the embedded model 1.",
        ),
    ] = None,
    model: options.Model = None,
    base_url: options.BaseUrl = None,
    max_steps: Annotated[int | None, typer.Option("--max-steps", metavar="N", help="Steps of a question.")] = None,
    max_seconds: Annotated[
        float | None, typer.Option("--max-seconds", metavar="S", help="Seconds of work on a question: 1800.")
    ] = None,
    max_tokens: Annotated[int | None, typer.Option("--max-tokens", metavar="N", help="Tokens of a question.")] = None,
    max_cost: Annotated[
        float | None, typer.Option("--max-cost", metavar="USD", help="US dollars of a question.")
    ] = None,
    total_steps: Annotated[
        int | None, typer.Option("--total-steps", metavar="N", min=1, help="Steps for the whole run.")
    ] = None,
    total_seconds: Annotated[
        float | None,
        typer.Option("--total-seconds", metavar="S", min=0.001, help="Seconds for the whole run."),
    ] = None,
    total_tokens: Annotated[
        int | None, typer.Option("--total-tokens", metavar="N", min=1, help="Tokens for the whole run.")
    ] = None,
    total_cost: Annotated[
        float | None,
        typer.Option("--total-cost", metavar="USD", min=0.000001, help="US dollars for the whole run."),
    ] = None,
    library: Annotated[
        Literal["cold", "warm", "read-only"],
        typer.Option("--library", metavar="MODE", help="cold: each begins without tools; warm: one grows; read-only."),
    ] = "cold",
    tools_dir: options.ToolsDir = None,
    without: Annotated[
        list[str] | None, typer.Option("--without", metavar="NAMES", help="Go without search, browse or create.")
    ] = None,
    leak_guard: Annotated[
        Literal["on", "off"], typer.Option("--leak-guard", metavar="on|off", help="Block copies of the dataset.")
    ] = "on",
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", min=0, help="Seed of model calls.")] = None,
    mode: Annotated[
        Literal["gaia", "course"], typer.Option("--mode", metavar="MODE", help="Score as gaia or as the course does.")
    ] = "gaia",
    cache: Annotated[
        bool, typer.Option("--cache/--no-cache", help="Take answers given before, and keep them.")
    ] = False,
    retry_errors: Annotated[
        bool, typer.Option("--retry-errors/--keep-errors", help="With --resume: try errors again.")
    ] = True,
    no_isolation: options.NoIsolation = False,
    plain: options.Plain = False,
) -> None:
    """Runs a question file and keeps every attempt in a ledger.

    A run that was interrupted or killed goes on with --resume. Two runs are compared with `alita gaia compare`, and
    reported on with `alita gaia report`.
    """
    from agent.cli.benchmark import Choices, benchmark
    from agent.gaia.runner import Selection, Totals

    flags = options.flags(context.params)
    choices = Choices(
        questions=jsonl_file,
        attached=attached_files_dir,
        output=output,
        submission=submission,
        selection=Selection(
            tuple(level or ()),
            tuple(one for part in ids or () for one in part.split(",") if one),
            max_questions,
            epochs,
            retry_errors,
        ),
        totals=Totals(total_seconds, total_tokens, total_cost, total_steps),
        concurrency=concurrency,
        library=library,
        mode=mode,
        resume=resume,
        verbose=verbose,
    )
    raise typer.Exit(benchmark({**flags, "use_cache": cache, "leak_guard": leak_guard == "on"}, choices))


Questions = Annotated[
    Path | None,
    typer.Option("--questions", metavar="FILE", help="The question file: every question of it counts as selected."),
]
Level = Annotated[int | None, typer.Option("--level", metavar="N", help="Of the question file, only this level.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write it there, not on stdout.")]


@app.command()
def report(
    ledger: Annotated[Path, typer.Argument(metavar="LEDGER", help="What a benchmark wrote.")],
    form: Annotated[
        Literal["terminal", "json", "markdown", "html"],
        typer.Option("--format", "-f", help="What to write; html is one page that needs no network."),
    ] = "terminal",
    output: Output = None,
    questions: Questions = None,
    level: Level = None,
    epochs: Annotated[
        int | None, typer.Option("--epochs", metavar="N", min=1, help="How often each question was to be answered.")
    ] = None,
    runs: Annotated[
        Path | None,
        typer.Option("--runs", metavar="DIR", help="Folder of the runs; beside the ledger if not given."),
    ] = None,
) -> None:
    """Reports a benchmark: accuracy over all selected questions, time, tokens and cost, and the result of each."""
    from agent.gaia.report.opened import open_report

    ledger = _ledger(ledger)
    opened = open_report(ledger, _tasks(questions, level), epochs=epochs)
    redactor = _redactor()
    if form == "html":
        from agent.gaia.report.html import as_html

        page = as_html(opened, runs or _beside(ledger, "runs"), redactor)
        path = output or _beside(ledger, "html")
        write_file(path, page)
        print_text(str(path))
        print_note(f"{len(page.encode()) / 1e6:,.1f} MB; it needs no network: open it in any browser.")
    elif form == "json":
        _give(json.dumps(redactor.json(opened.as_json()), indent=2), output)
    else:
        from agent.gaia.report.tables import shown

        _give_shown(shown(opened), form, output, redactor)


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="The ledger of the first run.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="The ledger of the second run.")],
    form: Annotated[
        Literal["terminal", "json", "markdown"], typer.Option("--format", "-f", help="What to write.")
    ] = "terminal",
    output: Output = None,
) -> None:
    """Compares two benchmarks on the questions that both attempted, pair by pair (McNemar's exact test)."""
    from agent.gaia.report.comparison import compare as compared
    from agent.gaia.report.comparison import shown
    from agent.gaia.report.opened import open_report

    comparison = compared(open_report(_ledger(first)), open_report(_ledger(second)))
    redactor = _redactor()
    if form == "json":
        _give(json.dumps(redactor.json(comparison.as_json()), indent=2), output)
    else:
        _give_shown(shown(comparison), form, output, redactor)


def _ledger(named: Path) -> Path:
    """The ledger that is meant: the one beside it, where a benchmark's results are named."""
    from agent.gaia.configuration import Places

    beside = Places(named).ledger
    return beside if beside.exists() else named


def _beside(ledger: Path, ending: str) -> Path:
    """A file or folder of the same benchmark."""
    return ledger.with_name(f"{ledger.name.removesuffix('.jsonl').removesuffix('.ledger')}.{ending}")


def _tasks(questions: Path | None, level: int | None) -> tuple[Task, ...]:
    if questions is None:
        if level is not None:
            raise UsageError("--level chooses among the questions of a file.", remedy="Add --questions FILE.")
        return ()
    from agent.gaia.dataset import load_questions

    dataset = load_questions(questions, options.settings())
    tasks = tuple(task for task in dataset.tasks if level is None or task.level == level)
    if not tasks:
        raise UsageError(f"{questions} has no question of level {level}.", remedy="Leave --level out to see all.")
    return tasks


def _redactor() -> Redactor:
    from agent.store.redact import Redactor

    return Redactor(options.settings().secrets)


def _give(text: str, output: Path | None) -> None:
    if output is None:
        print_text(text)
        return
    write_file(output, text.rstrip("\n") + "\n")
    print_text(str(output))


def _give_shown(parts: Shown, form: str, output: Path | None, redactor: Redactor) -> None:
    from agent.gaia.report.tables import as_markdown, as_terminal

    parts = redactor.values(parts)
    width = shutil.get_terminal_size().columns if output is None and sys.stdout.isatty() else None
    _give(as_markdown(parts) if form == "markdown" else as_terminal(parts, width=width), output)

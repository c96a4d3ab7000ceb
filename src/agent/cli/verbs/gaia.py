"""`alita gaia run|report|compare|learn`, also available as `gaia-benchmark` and `python src/gaia_benchmark.py`."""

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
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from agent.cli import exits, options
from agent.cli.confirmations import ask_about_project
from agent.cli.options import opt
from agent.cli.output import print_note, print_text
from agent.configuration.settings_sources import read_settings
from agent.errors import UsageError
from agent.gaia.attempt import MAX_EPOCHS
from agent.gaia.configuration import ExecutorName, Selection, Totals, ledger_meant
from agent.gaia.dataset import load_questions
from agent.gaia.lessons import split_questions
from agent.gaia.preparation import Choices, Prepared, library_mode, summary
from agent.gaia.progress import Display
from agent.gaia.report.comparison import compare as compared
from agent.gaia.report.figures import open_results
from agent.gaia.report.questions import with_questions
from agent.gaia.report.render import as_html, as_terminal
from agent.gaia.report.report import report_of
from agent.gaia.runner import BenchmarkOutcome
from agent.store.redact import Redactor
from agent.user_files import write_file
from mcp_tools.text import printable

if TYPE_CHECKING:
    from agent.gaia.report.report import Report


class _Benchmark(options.Commands):
    """Runs a benchmark if the first argument is a question file instead of a command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the command `run` if none is named."""
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
_LEARNING = "Gap records: off, use, or grow (use them, and add records of wrong answers)."
_LIBRARY = (
    "warm: one library grows over the run (the default); cold: each question starts without tools; "
    "read-only: use the library unchanged."
)


@app.command(settings=f"model base_url {options.LIMITS} tools_dir no_isolation yes")
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
        Path | None, opt("--details FILE", "Also write questions, reference answers, responses and steps.")
    ] = None,
    resume: Resume = False,
    verbose: Verbose = False,
    max_questions: MaxQuestions = None,
    level: Annotated[list[int] | None, opt("--level N", "Run this level only; may be repeated.")] = None,
    ids: Annotated[list[str] | None, opt("--ids IDS", "Run these questions only, separated by commas.")] = None,
    epochs: Annotated[int, opt("--epochs N", "Ask each question N times.", min=1, max=MAX_EPOCHS)] = 1,
    concurrency: Concurrency = None,
    executor: Annotated[
        ExecutorName, opt("--executor local|ray", "Run questions in this process, or on a Ray cluster.")
    ] = "local",
    ray_address: Annotated[
        str,
        opt(
            "--ray-address HOST:PORT", "Use this Ray cluster; auto: the one of this machine (default: start Ray here)."
        ),
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
    **_: object,
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


@app.command(settings=f"model base_url {options.LIMITS} no_isolation yes")
def learn(
    jsonl_file: Annotated[Path, typer.Argument(metavar="JSONL_FILE", help="Question file with reference answers.")],
    attached_files_dir: Annotated[Path | None, opt(_ATTACHED, "Folder with the questions' files.")] = None,
    output: Annotated[Path | None, opt("-o --output FILE", "Prefix for the names of all output files.")] = None,
    split: Annotated[float, opt("--split SHARE", "Share of the questions to learn from.", min=0.1, max=0.9)] = 0.5,
    epochs: Annotated[
        int, opt("--epochs N", "Ask each scored question N times, each time with another seed.", min=1, max=MAX_EPOCHS)
    ] = 1,
    seed: Annotated[int, opt("--seed N", "Seed for the split, and first seed for model calls.", min=0)] = 0,
    max_questions: Annotated[int | None, opt("--max-questions N", "Use at most N questions in total.", min=2)] = None,
    concurrency: Concurrency = None,
    resume: Resume = False,
    verbose: Verbose = False,
    **_: object,
) -> None:
    """Measures how much learning helps: learns from some questions, answers the rest with and without what it learned.

    Nothing is learned from the scored questions. Tools stay next to the results, gap records in your data folder.
    """
    stem = (output or Path(f"{jsonl_file.stem}.learn.json")).with_suffix("")

    def named(part: str) -> Path:
        return stem.with_name(f"{stem.name}.{part}")

    settings = options.settings()
    digest = hashlib.sha256(os.fsencode(stem.resolve())).hexdigest()[
        :24
    ]  # never open a database from the results folder, which may come from someone else
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
            own["tools_dir"] = taught.paths.library.absolute()
            own["tools_dir"].mkdir(parents=True, exist_ok=True)
        if choices.resume and not choices.paths.ledger.exists():
            choices = replace(choices, resume=False)
        if code := benchmark(dict(own), choices):
            raise typer.Exit(code)
    _give(compared(open_results(before.paths.ledger), open_results(after.paths.ledger)))


_CLOSING = 30.0
"""Seconds after stopping all questions until the process is killed if something hangs."""
_CODES = {"finished": 0, "limit": 124, "interrupted": exits.INTERRUPTED, "stopped": 1}


def benchmark(flags: dict[str, Any], choices: Choices) -> int:
    """Run a benchmark and return the exit code.

    Raises:
        UserError: The benchmark cannot start, or its ledger cannot be written.
    """
    if choices.executor == "ray" and flags.get("servers", "none") != "none":
        raise UsageError("MCP servers cannot be used on a cluster.", remedy="Remove --servers, or --executor ray.")
    ask_about_project(flags)
    settings = read_settings({**flags, "use_cache": False})
    display = Display(verbose=choices.verbose)
    prepared = Prepared(settings, choices, display, has_library=flags.get("tools_dir") is not None)
    ends = math.inf

    def interrupt() -> None:
        nonlocal ends
        if prepared.benchmark.interrupt():
            display.say("Finishing the current questions, then stopping. Press Ctrl-C again to stop immediately.")
        else:
            ends = min(ends, time.monotonic() + _CLOSING)

    def stop() -> None:
        interrupt()
        interrupt()

    def last_words() -> int:
        """Report that a benchmark did not stop in time. Its ledger is already on disk."""
        print_note(
            "alita: The benchmark did not stop in time and was killed. Continue with the same command and --resume."
        )
        return exits.INTERRUPTED

    async def finish() -> BenchmarkOutcome:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, interrupt)
        loop.add_signal_handler(signal.SIGTERM, stop)
        return await prepared.run()

    with exits.Watch(lambda: ends - time.monotonic() if ends < math.inf else None, last_words):
        outcome = exits.run(finish())
    print_text("\n".join(summary(outcome, choices)))
    return _CODES[outcome.how]


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
        results = with_questions(results, ledger, options.settings())
    _give(report_of(results), form, output)


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
    if ledgers[0].resolve() == ledgers[1].resolve():
        raise UsageError(f"Both arguments are the same benchmark: {ledgers[0]}.", remedy="Give two different ledgers.")
    _give(compared(*map(open_results, ledgers)), form, output)


def _require_other(output: Path | None, *read: Path | None) -> None:
    """Raise an error if the output would overwrite a file that the report is made from."""
    if output is not None and output.resolve() in [path.resolve() for path in read if path is not None]:
        raise UsageError(f"--output would overwrite {output}, which the report reads.", remedy="Choose another file.")


def _give(report: Report, form: str = "terminal", output: Path | None = None) -> None:
    redactor = Redactor(options.settings().secrets)
    report = redactor.values(report)
    width = shutil.get_terminal_size().columns if output is None and sys.stdout.isatty() else None
    text = {
        "json": lambda: json.dumps(report.as_json(), indent=2),
        "html": lambda: as_html(report),
        "terminal": lambda: as_terminal(report, width=width),
    }[form]()
    text = redactor.text(printable(text))  # removing invisible characters may have revealed a key
    if output is not None:
        write_file(output, text.rstrip("\n") + "\n")
    print_text(text if output is None else str(output))

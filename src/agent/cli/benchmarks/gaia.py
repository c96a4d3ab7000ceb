"""`alita gaia`, which is `gaia-benchmark` and `python src/gaia_benchmark.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from agent.cli import options
from agent.cli.benchmarks.gaia_report import register


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
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The results; the ledger stands beside it.")
    ] = None,
    submission: Annotated[
        Path | None, typer.Option("--submission", metavar="FILE", help="The leaderboard's file, to be written.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the ledger that is there; errors are tried again.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="A line for every step.")] = False,
    max_questions: Annotated[
        int | None, typer.Option("--max-questions", metavar="N", min=1, help="Of those still to do, so many.")
    ] = None,
    level: Annotated[list[int] | None, typer.Option("--level", metavar="N", help="Only it; may be repeated.")] = None,
    ids: Annotated[
        list[str] | None, typer.Option("--ids", metavar="IDS", help="Only these, separated by commas.")
    ] = None,
    epochs: Annotated[int, typer.Option("--epochs", metavar="N", min=1, help="How often each is asked.")] = 1,
    concurrency: Annotated[
        int | None,
        typer.Option("--concurrency", metavar="N", min=1, max=1000, help="At once: 4; the embedded model: 1."),
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
        int | None, typer.Option("--total-steps", metavar="N", min=1, help="Steps of this run of the benchmark.")
    ] = None,
    total_seconds: Annotated[
        float | None, typer.Option("--total-seconds", metavar="S", min=0.001, help="Its wall time in seconds.")
    ] = None,
    total_tokens: Annotated[int | None, typer.Option("--total-tokens", metavar="N", min=1, help="Its tokens.")] = None,
    total_cost: Annotated[
        float | None, typer.Option("--total-cost", metavar="USD", min=0.000001, help="Its US dollars.")
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
    mix: Annotated[bool, typer.Option("--mix", help="Let a ledger hold other configurations too.")] = False,
    no_isolation: options.NoIsolation = False,
    plain: options.Plain = False,
) -> None:
    """Runs a question file and keeps every attempt in a ledger.

    A run that was interrupted or killed goes on with --resume. Two runs are compared with `alita gaia compare`, and
    reported on with `alita gaia report`.
    """
    from agent.cli.benchmarks.benchmarking import Choices, benchmark
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
        mixed=mix,
        verbose=verbose,
    )
    raise typer.Exit(benchmark({**flags, "use_cache": cache, "leak_guard": leak_guard == "on"}, choices))


register(app)

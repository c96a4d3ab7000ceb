"""`alita gaia report|compare`."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from agent.cli.output import print_json, print_note, print_text
from agent.errors import UsageError

if TYPE_CHECKING:
    from agent.gaia.attempt import Task
    from agent.gaia.report.opened import Report
    from agent.gaia.report.tables import Shown
    from agent.store.redact import Redactor
    from mcp_tools.tool import Json

Questions = Annotated[
    Path | None,
    typer.Option("--questions", metavar="FILE", help="The question file: every question of it counts as selected."),
]
Level = Annotated[int | None, typer.Option("--level", metavar="N", help="Of the question file, only this level.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write it there, not on stdout.")]


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
    configuration: Annotated[
        str, typer.Option("--configuration", metavar="HEX", help="Of a mixed ledger, which configuration counts.")
    ] = "",
    runs: Annotated[
        Path | None,
        typer.Option("--runs", metavar="DIR", help="Folder of the runs; beside the ledger if not given."),
    ] = None,
) -> None:
    """Says what a benchmark came to: accuracy over all selected questions, what it took, and what became of each."""
    from agent.gaia.report.opened import open_report

    ledger = _ledger(ledger)
    opened = open_report(ledger, _tasks(questions, level), epochs=epochs, configuration=configuration)
    redactor = _redactor()
    if form == "html":
        _write_page(opened, output or _beside(ledger, "html"), runs or _beside(ledger, "runs"), redactor)
    elif form == "json":
        from agent.gaia.report.opened import as_json

        _give_json(redactor.json(as_json(opened)), output)
    else:
        from agent.gaia.report.tables import shown

        _give_shown(shown(opened), form, output, redactor)


def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="The ledger of the first run.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="The ledger of the second run.")],
    form: Annotated[
        Literal["terminal", "json", "markdown"], typer.Option("--format", "-f", help="What to write.")
    ] = "terminal",
    output: Output = None,
    configuration: Annotated[
        list[str] | None,
        typer.Option("--configuration", metavar="HEX", help="Of a mixed ledger, which one counts: A's, then B's."),
    ] = None,
) -> None:
    """Compares two benchmarks on the questions that both attempted, pair by pair (McNemar's exact test)."""
    from agent.gaia.report.comparison import compare as compared
    from agent.gaia.report.comparison import shown
    from agent.gaia.report.opened import open_report

    wanted = configuration or []
    if len(wanted) > 2:
        raise UsageError("Two ledgers have two configurations.", remedy="Give --configuration once for A, once for B.")
    ours, theirs = [*wanted, "", ""][:2]
    comparison = compared(
        open_report(_ledger(first), configuration=ours), open_report(_ledger(second), configuration=theirs)
    )
    redactor = _redactor()
    if form == "json":
        _give_json(redactor.json(comparison.as_json()), output)
    else:
        _give_shown(shown(comparison), form, output, redactor)


def register(app: typer.Typer) -> None:
    """Adds both commands to `alita gaia`."""
    app.command()(report)
    app.command()(compare)


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
    from agent.configuration.settings_sources import read_settings
    from agent.gaia.dataset import load_questions

    dataset = load_questions(questions, read_settings())
    tasks = tuple(task for task in dataset.tasks if level is None or task.level == level)
    if not tasks:
        raise UsageError(f"{questions} has no question of level {level}.", remedy="Leave --level out to see all.")
    return tasks


def _redactor() -> Redactor:
    from agent.configuration.settings_sources import read_settings
    from agent.store.redact import Redactor

    return Redactor(read_settings().secrets)


def _write_page(opened: Report, path: Path, runs: Path, redactor: Redactor) -> None:
    from agent.gaia.report.html import as_html
    from agent.store.user_files import write_file

    page = as_html(opened, runs, redactor)
    write_file(path, page)
    print_text(str(path))
    print_note(f"{_size_text(len(page.encode()))}; it needs no network: open it in any browser.")


def _size_text(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:,.0f} kB"


def _give(text: str, output: Path | None) -> None:
    if output is None:
        print_text(text)
    else:
        _write(text, output)


def _give_json(value: Json, output: Path | None) -> None:
    if output is None:
        print_json(value)
    else:
        _write(json.dumps(value, indent=2) + "\n", output)


def _give_shown(parts: Shown, form: str, output: Path | None, redactor: Redactor) -> None:
    from agent.gaia.report.tables import as_markdown, as_terminal, masked

    parts = masked(parts, redactor)
    width = shutil.get_terminal_size().columns if output is None and sys.stdout.isatty() else None
    _give(as_markdown(parts) if form == "markdown" else as_terminal(parts, width=width), output)


def _write(text: str, output: Path) -> None:
    from agent.store.user_files import write_file

    write_file(output, text)
    print_text(str(output))

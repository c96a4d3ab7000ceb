"""The tab for benchmarks, which runs question files, shows results, and compares benchmarks."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from agent.gaia.configuration import USUAL_SECONDS, LibraryMode, Selection, Totals
from agent.gaia.course import plain_name
from agent.gaia.preparation import Choices, library_mode
from agent.gaia.report.comparison import compare
from agent.gaia.report.figures import open_results
from agent.gaia.submission import write_questions
from agent.models.protocol import SCRIPTED
from agent.page.benchmark import views
from agent.page.benchmark.panel import Panel, meant
from agent.page.html import bad
from agent.store.redact import Redactor
from mcp_tools.errors import AlitaError, UsageError, os_errors_as
from mcp_tools.small_files import JOURNAL, read_small
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.page.benchmark.running import PageBenchmarks

MOST = 200
"""Maximum number of benchmarks listed."""


def found(benchmarks: PageBenchmarks, folder: Path) -> list[tuple[str, str]]:
    """Return the benchmarks in a folder as labels and ledgers, running ones first, then the newest.

    Raises:
        UsageError: The folder cannot be read.
    """
    with os_errors_as(UsageError, f"{folder} cannot be read", "Choose another folder."):
        if not folder.is_dir():
            raise UsageError(f"{folder} is not a folder.", remedy="Choose another folder.")
        there = [(path.stat().st_mtime, path) for path in folder.glob("*.ledger.jsonl") if path.is_file()]
    there = [one for one in sorted(there, reverse=True)[:MOST] if one[1] not in benchmarks.busy()]
    listed = [*((time.time(), ledger) for ledger in benchmarks.busy()), *there]
    return [(one_line(f"{_name(path)} · {_date(changed)}", 120), str(path)) for changed, path in listed]


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def _name(ledger: Path) -> str:
    return ledger.name.removesuffix(".ledger.jsonl")


def compared(benchmarks: PageBenchmarks, ledger: Path | None, earlier: Path | None) -> str:
    """Render a comparison of a benchmark with an earlier one."""
    if ledger is None or earlier is None:
        return '<p class="bad">Choose two benchmarks.</p>'
    if ledger.resolve() == earlier.resolve():
        return '<p class="bad">Choose two different benchmarks.</p>'
    redactor = Redactor(benchmarks.settings.secrets)
    try:
        report = redactor.values(compare(open_results(earlier), open_results(ledger)))
    except AlitaError as error:
        return redactor.text(bad(error))
    return redactor.text(views.figures(report, None))


def choices_of(folder: Path, form: dict[str, Any], *, resume: bool) -> Choices:
    """Return the options entered in the form.

    Raises:
        UserError: No question file is named, or the upload cannot be stored.
    """
    source, sent, name = (str(form.get(each) or "").strip() for each in ("source", "sent", "name"))
    if not source and not sent:
        raise UsageError("No question file was given.", remedy="Enter the path of a question file, or upload one.")
    stem = plain_name(Path(sent or source).name).partition(":")[0].removesuffix(".jsonl") or "questions"
    output = (folder / (name or f"{stem}.results.json")).expanduser().absolute()
    questions = Path(source)
    if sent:  # stored so that the benchmark can be continued
        questions = output.with_name(f"{output.stem}.questions.jsonl")
        write_questions(questions, read_small(Path(sent), JOURNAL))
    elif (folder / source).exists():
        questions = (folder / source).absolute()
    attached = str(form.get("attached") or "").strip()
    return Choices(
        questions=questions,
        output=output,
        attached=(folder / attached).expanduser() if attached else None,
        selection=Selection(max_questions=_whole(form, "max_questions")),
        totals=Totals(cost=form.get("total_cost") or None),
        concurrency=_whole(form, "concurrency"),
        library=form["library"]
        if form.get("library") in get_args(LibraryMode)
        else library_mode(output, resume=resume),
        mode="course" if form.get("mode") == "course" else "gaia",
        resume=resume,
    )


def _whole(form: dict[str, Any], name: str) -> int | None:
    value = form.get(name) or 0
    if not 0 <= value <= 100_000:
        raise UsageError(f"{value:g} is not between 0 and 100,000.", remedy="Use a whole number.")
    return int(value) or None


def _form(gr: Any, settings: Settings) -> dict[str, Any]:
    """Add the fields for a new benchmark."""
    form = {
        "source": gr.Textbox(label="Question file", placeholder="questions.jsonl, FOLDER:SPLIT or gaia-validation"),
        "sent": gr.File(label="Or upload a question file", file_types=[".jsonl"], type="filepath", height=110),
        "attached": gr.Textbox(label="Folder with the files of the questions", placeholder="next to the question file"),
        "name": gr.Textbox(label="Results", placeholder="NAME.results.json"),
    }
    with gr.Row():
        form["model"] = gr.Textbox(settings.model, label="Model")
        form["library"] = gr.Dropdown([*get_args(LibraryMode)], value="warm", label="Library")
        form["mode"] = gr.Dropdown(["gaia", "course"], value="gaia", label="Scoring")
    with gr.Row():
        form["max_questions"] = gr.Number(0, label="Most questions (0: all)", precision=0)
        form["concurrency"] = gr.Number(0, label="Parallel questions (0: default)", precision=0)
        form["max_seconds"] = gr.Number(settings.max_seconds or USUAL_SECONDS, label="Seconds per question")
        form["total_cost"] = gr.Number(0, label="Total cost limit, $ (0: none)")
    return form


def filled(form: dict[str, Any], ledger: Path | None) -> dict[Any, Any]:
    """Fill the form with a benchmark's options, so that it can be continued."""
    if ledger is None:
        return {}
    try:
        results = open_results(ledger)
    except AlitaError:
        return {}
    configuration = results.header.configuration
    model = str(configuration.get("model", ""))
    return {
        form["source"]: results.source,
        form["sent"]: None,
        form["name"]: str(ledger.with_name(f"{_name(ledger)}.json")),
        form["model"]: "" if model.startswith(SCRIPTED) else model,  # only the user may name a script
        form["library"]: configuration.get("library")
        if configuration.get("library") in get_args(LibraryMode)
        else "warm",
        form["mode"]: "course" if configuration.get("mode") == "course" else "gaia",
        form["max_seconds"]: _number(configuration.get("max_seconds")),
    }


def _number(value: object) -> float | None:
    try:
        return float(str(value))
    except ValueError:
        return None


def _folder(named: str | None) -> Path:
    return Path(named or Path.cwd()).expanduser().absolute()


def show(gr: Any, benchmarks: PageBenchmarks, tab: Any) -> None:
    """Add the list, the form, the chosen benchmark and its comparison to the page."""
    folder = gr.Textbox(str(Path.cwd()), label="Folder", max_lines=1)
    names = gr.Dropdown([], label="Benchmark", allow_custom_value=True, elem_id="benchmarks")
    with gr.Accordion("Run a question file", open=False, elem_id="benchmark-form"):
        form = _form(gr, benchmarks.settings)
        with gr.Row():
            start, resume = gr.Button("Start", variant="primary"), gr.Button("Continue")
    message = gr.HTML(padding=False, elem_id="benchmark-told")
    panel = Panel(gr, benchmarks, "benchmark")
    with gr.Accordion("Compare", open=False, elem_id="benchmark-compare"):
        other = gr.Dropdown([], label="Earlier benchmark, or the path of its results", allow_custom_value=True)
        against = gr.Button("Compare")
        difference = gr.HTML(padding=False, elem_id="benchmark-difference")

    def listed(where: Path, chosen: str | None) -> dict[Any, Any]:
        try:
            choices = found(benchmarks, where)
        except AlitaError as error:
            return {message: bad(error), names: gr.update(choices=[]), other: gr.update(choices=[])}
        value = chosen or next(map(str, benchmarks.busy()), None)
        return {message: "", names: gr.update(choices=choices, value=value), other: gr.update(choices=choices)}

    async def entered(where: str, chosen: str | None) -> dict[Any, Any]:
        return await asyncio.to_thread(listed, _folder(where), chosen)

    async def choose(where: str, chosen: str | None) -> dict[Any, Any]:
        ledger = meant(chosen, _folder(where))
        return {**await panel.show(ledger), **await asyncio.to_thread(filled, form, ledger)}

    async def begin(where: str, values: tuple[Any, ...], *, goes_on: bool) -> dict[Any, Any]:
        given = dict(zip(form, values, strict=True))
        try:
            wanted = await asyncio.to_thread(choices_of, _folder(where), given, resume=goes_on)
            limits = {"model": str(given["model"] or "").strip(), "max_seconds": given["max_seconds"]}
            ledger = await benchmarks.start(wanted, **limits)
        except AlitaError as error:
            return {message: f'<div role="alert">{bad(error)}</div>'}
        return {**await asyncio.to_thread(listed, _folder(where), str(ledger)), **await panel.show(ledger)}

    async def begun(where: str, *values: Any) -> dict[Any, Any]:
        return await begin(where, values, goes_on=False)

    async def resumed(where: str, *values: Any) -> dict[Any, Any]:
        return await begin(where, values, goes_on=True)

    async def difference_of(where: str, ledger: Path | None, second: str | None) -> str:
        return await asyncio.to_thread(compared, benchmarks, ledger, meant(second, _folder(where)))

    for happens in (tab.select, folder.submit):
        happens(entered, [folder, names], [message, names, other], show_progress="hidden")
    names.change(choose, [folder, names], [*panel.parts, *form.values()], show_progress="hidden")
    for button, handler in ((start, begun), (resume, resumed)):
        button.click(handler, [folder, *form.values()], [message, names, other, *panel.parts])
    against.click(difference_of, [folder, panel.ledger, other], [difference])

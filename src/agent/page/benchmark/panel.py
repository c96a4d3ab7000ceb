"""A benchmark on the page: figures, plots and rows, updated while it runs."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agent.gaia.configuration import ledger_meant
from agent.gaia.report.figures import open_results
from agent.gaia.report.questions import with_questions
from agent.gaia.report.report import Report, report_of
from agent.page.benchmark import views
from agent.page.html import bad
from agent.store.redact import Redactor
from mcp_tools.errors import AlitaError

if TYPE_CHECKING:
    from agent.page.benchmark.running import PageBenchmarks

_EVERY = 1.5
"""Seconds between two checks for changes."""
_RECENT = 600.0
"""A ledger that changed within this many seconds is watched, because another process may be writing to it."""


class View(NamedTuple):
    """A benchmark rendered as HTML."""

    figures: str = ""
    rows: str = ""


def opened(benchmarks: PageBenchmarks, ledger: Path) -> Report:
    """Return the report on a ledger, with the texts of the questions and with keys removed.

    Raises:
        RunError: The file is not a ledger.
    """
    settings = benchmarks.settings
    report = report_of(with_questions(open_results(ledger), ledger, settings))
    without_keys: Report = Redactor(settings.secrets).values(report)
    return without_keys


def viewed(benchmarks: PageBenchmarks, ledger: Path | None) -> View:
    """Render a benchmark, or the problem with its ledger."""
    if ledger is None:
        return View('<p class="empty">No benchmark is selected.</p>')
    without_keys = Redactor(benchmarks.settings.secrets).text
    try:
        report = opened(benchmarks, ledger)
    except AlitaError as error:
        return View(without_keys(bad(error)))
    return View(without_keys(views.figures(report, benchmarks.of(ledger))), without_keys(views.rows(report.cells)))


def one_of(benchmarks: PageBenchmarks, ledger: Path | None, row: object) -> str:
    """Render the question in a row, with the trace of its run."""
    if ledger is None or not isinstance(row, str) or not (row.isascii() and row.isdigit() and len(row) < 7):
        return ""
    try:
        cells = opened(benchmarks, ledger).cells
    except AlitaError as error:
        return bad(error)
    if int(row) >= len(cells):
        return ""
    without_keys = Redactor(benchmarks.settings.secrets).text
    return without_keys(views.attempt(benchmarks.settings, ledger, cells[int(row)]))


class PanelState(NamedTuple):
    """State of a ledger and its benchmark, which changes when there is something new to show."""

    size: int = 0
    changed: float = 0.0
    line_count: int = 0
    is_busy: bool = False

    @property
    def may_change(self) -> bool:
        """True if this page or another process may be writing to the ledger."""
        return self.is_busy or time.time() - self.changed < _RECENT


def state_of(benchmarks: PageBenchmarks, ledger: Path | None) -> PanelState:
    """Return the state of a ledger and its benchmark."""
    running = benchmarks.of(ledger) if ledger else None
    try:
        kept = ledger.stat() if ledger else None
    except OSError:
        kept = None
    size, changed = (kept.st_size, kept.st_mtime) if kept else (0, 0.0)
    return PanelState(size, changed, running.log.line_count if running else 0, running is not None and running.is_busy)


class Panel:
    """The components that show a benchmark."""

    def __init__(self, gr: Any, benchmarks: PageBenchmarks, name: str) -> None:
        self._gr, self._benches = gr, benchmarks
        self.ledger = gr.State(None)
        """Absolute path of the ledger that is shown."""
        self._seen = gr.State(None)
        self.figures = gr.HTML(padding=False, elem_id=f"{name}-figures", js_on_load=views.KEEPS)
        self._stop = gr.Button("Stop", variant="stop", size="sm", visible=False, elem_id=f"{name}-stop")
        self._rows = gr.HTML(padding=False, elem_id=f"{name}-rows", js_on_load=views.OPENS)
        self._attempt = gr.HTML(padding=False, elem_id=f"{name}-attempt")
        self._timer = gr.Timer(_EVERY, active=False)
        self.parts = [self.ledger, self._seen, self.figures, self._stop, self._rows, self._attempt, self._timer]

        async def tick(ledger: Path | None, seen: PanelState | None) -> dict[Any, Any]:
            state = state_of(benchmarks, ledger)
            if state == seen:
                return {self._timer: gr.skip() if state.may_change else gr.Timer(active=False)}
            changed = await self.show(ledger)
            del changed[self._attempt]  # keep what the user is reading
            if seen is not None and state.size == seen.size:
                del changed[self._rows]
            return changed

        async def choose(ledger: Path | None, event: Any) -> str:
            return await asyncio.to_thread(one_of, benchmarks, ledger, getattr(event, "row", None))

        def stop(ledger: Path | None) -> None:
            if ledger is not None and (running := benchmarks.of(ledger)) is not None:
                running.stop()

        choose.__annotations__["event"] = gr.EventData  # Gradio looks for this annotation
        self._timer.tick(tick, [self.ledger, self._seen], self.parts, show_progress="hidden")
        self._rows.click(choose, [self.ledger], [self._attempt], show_progress="hidden")
        self._stop.click(stop, [self.ledger], show_progress="hidden")

    async def show(self, ledger: Path | None) -> dict[Any, Any]:
        """Return the updates that show a benchmark."""
        seen = state_of(self._benches, ledger)
        view = await asyncio.to_thread(viewed, self._benches, ledger)
        return {
            self.ledger: ledger,
            self._seen: seen,
            self.figures: view.figures,
            self._stop: self._gr.update(visible=seen.is_busy),
            self._rows: view.rows,
            self._attempt: "",
            self._timer: self._gr.Timer(active=seen.may_change),
        }


def meant(named: str | None, folder: Path) -> Path | None:
    """Return the ledger for a path typed by the user: the ledger itself, or the one next to a results file."""
    return ledger_meant((folder / named.strip()).expanduser().absolute()) if named and named.strip() else None

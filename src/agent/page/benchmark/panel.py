"""A benchmark on the page: its figures, its plots and its rows, which follow it while it is under way."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agent.gaia.configuration import ledger_meant
from agent.gaia.report.figures import open_results
from agent.gaia.report.questions import with_questions
from agent.gaia.report.report import Report, report_of
from agent.page.benchmark import shown
from agent.page.shown import bad
from agent.store.redact import Redactor
from mcp_tools.errors import AlitaError

if TYPE_CHECKING:
    from agent.page.benchmark.running import Benches

_EVERY = 1.0
"""Seconds between two looks at a benchmark under way."""


class View(NamedTuple):
    """The HTML of a benchmark."""

    figures: str = ""
    rows: str = ""


def opened(benches: Benches, ledger: Path) -> Report:
    """The report on a ledger, with the questions' texts and without keys.

    Raises:
        RunError: It is no ledger.
    """
    settings = benches.settings
    report = report_of(with_questions(open_results(ledger), ledger, settings))
    without_keys: Report = Redactor(settings.secrets).values(report)
    return without_keys


def viewed(benches: Benches, ledger: Path | None) -> View:
    """A benchmark, or what is wrong with its ledger."""
    if ledger is None:
        return View('<p class="empty">No benchmark is chosen.</p>')
    without_keys = Redactor(benches.settings.secrets).text
    try:
        report = opened(benches, ledger)
    except AlitaError as error:
        return View(without_keys(bad(error)))
    return View(without_keys(shown.figures(report, benches.of(ledger))), without_keys(shown.rows(report.cells)))


def one_of(benches: Benches, ledger: Path | None, row: object) -> str:
    """A question of a benchmark by the number of its row, with the trace of its run."""
    if ledger is None or not isinstance(row, str) or not (row.isascii() and row.isdigit() and len(row) < 7):
        return ""
    try:
        cells = opened(benches, ledger).cells
    except AlitaError as error:
        return bad(error)
    if int(row) >= len(cells):
        return ""
    without_keys = Redactor(benches.settings.secrets).text
    return without_keys(shown.attempt(benches.settings, ledger, cells[int(row)]))


def _state(benches: Benches, ledger: Path) -> tuple[int, ...]:
    """Numbers that change whenever there is something new to show."""
    running = benches.of(ledger)
    try:
        kept = ledger.stat()
    except OSError:
        return ()
    heard = (running.told.heard, running.is_busy) if running else ()
    return kept.st_size, kept.st_mtime_ns, *heard


class Panel:
    """The parts of the page that show one benchmark."""

    def __init__(self, gr: Any, benches: Benches, name: str) -> None:
        self._gr, self._benches = gr, benches
        self.ledger = gr.State(None)
        """The ledger that is shown, as an absolute path."""
        self._seen = gr.State(())
        self.figures = gr.HTML(padding=False, elem_id=f"{name}-figures")
        self._stop = gr.Button("Stop", variant="stop", size="sm", visible=False, elem_id=f"{name}-stop")
        self._rows = gr.HTML(padding=False, elem_id=f"{name}-rows", js_on_load=shown.OPENS)
        self._attempt = gr.HTML(padding=False, elem_id=f"{name}-attempt")
        self._timer = gr.Timer(_EVERY, active=False)
        self.parts = [self.ledger, self._seen, self.figures, self._stop, self._rows, self._attempt, self._timer]

        async def tick(ledger: Path | None, seen: tuple[int, ...]) -> dict[Any, Any]:
            if ledger is None or _state(benches, ledger) == seen:
                return {self._timer: gr.skip()}
            changed = await self.show(ledger)
            del changed[self._attempt]  # what is read stays
            return changed

        async def choose(ledger: Path | None, event: Any) -> str:
            return await asyncio.to_thread(one_of, benches, ledger, getattr(event, "row", None))

        def stop(ledger: Path | None) -> None:
            if ledger is not None and (running := benches.of(ledger)) is not None:
                running.stop()

        choose.__annotations__["event"] = gr.EventData  # Gradio looks for it there
        self._timer.tick(tick, [self.ledger, self._seen], self.parts, show_progress="hidden")
        self._rows.click(choose, [self.ledger], [self._attempt], show_progress="hidden")
        self._stop.click(stop, [self.ledger], show_progress="hidden")

    async def show(self, ledger: Path | None) -> dict[Any, Any]:
        """The updates that show a benchmark."""
        running = self._benches.of(ledger) if ledger else None
        is_busy = running is not None and running.is_busy
        seen = _state(self._benches, ledger) if ledger else ()
        view = await asyncio.to_thread(viewed, self._benches, ledger)
        return {
            self.ledger: ledger,
            self._seen: seen,
            self.figures: view.figures,
            self._stop: self._gr.update(visible=is_busy),
            self._rows: view.rows,
            self._attempt: "",
            self._timer: self._gr.Timer(active=is_busy),
        }


def meant(named: str | None, folder: Path) -> Path | None:
    """The ledger that a user names by its own path, or that of the results beside it."""
    return ledger_meant((folder / named.strip()).expanduser().absolute()) if named and named.strip() else None

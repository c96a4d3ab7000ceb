"""Answers questions from MCP clients one at a time. A run is cancelled if its client disconnects."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.answer import Answer
from agent.events import Event, ModelStarting, Note, ToolRefused
from agent.question import NOT_KEPT, Purpose
from mcp_tools.serving.builtin_tools import ReportProgress
from mcp_tools.text import one_line
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.alita import Alita
    from agent.configuration.settings import Settings
    from agent.question import FolderGrant

_WIDTH = 200
Listener = Callable[[Event], None]


class ServedAlita:
    """Answers questions from MCP clients in order of arrival."""

    def __init__(self, settings: Settings, folder: FolderGrant | None = None) -> None:
        self._settings, self._folder = settings, folder
        self._turn = asyncio.Lock()
        self._alita: Alita | None = None
        """The Alita, which is opened on first use."""
        self._working: set[asyncio.Task[Any]] = set()

    async def ask(self, question: str, *, files: Sequence[Path] = (), report: ReportProgress) -> dict[str, Json]:
        """Answer a question.

        Raises:
            AlitaError: The question is invalid, or a model or the sandbox is unavailable.
        """
        return _answer_for_client(await self._answered(question, files, report, Purpose.ANSWER))

    async def create_tool(
        self, question: str, *, files: Sequence[Path] = (), report: ReportProgress
    ) -> dict[str, Json]:
        """Create a tool that answers this kind of question, or find one in the library.

        Raises:
            AlitaError: The question is invalid, or a model or the sandbox is unavailable.
        """
        reasons: list[str] = []

        def note(event: Event) -> None:
            if isinstance(event, ToolRefused | Note):
                reasons.append(event.reason if isinstance(event, ToolRefused) else event.text)

        answer = await self._answered(question, files, report, Purpose.CREATE, note)
        created, reused = list(answer.tools_created), [t for t in answer.tools_used if t not in answer.tools_created]
        if not created and not reused:
            why = reasons[-1] if reasons else answer.error or "nothing fitted"
            found = f"; the answer found is: {answer.text}" if answer.text else ""
            return {
                "status": "not_kept",
                "error": f"no tool was proved and kept ({one_line(why, _WIDTH)}){found}",
                "remedy": NOT_KEPT.partition(". ")[2],
            }
        return {"created": created, "reused": reused, "answer": answer.text, "run_id": answer.run_id}

    async def aclose(self) -> None:
        """Cancel running questions, and close the models and the sandbox."""
        for task in self._working:
            task.cancel()
        await asyncio.gather(*self._working, return_exceptions=True)
        if self._alita is not None:
            await self._alita.aclose()

    async def _answered(
        self,
        question: str,
        files: Sequence[Path],
        report: ReportProgress,
        purpose: Purpose,
        watch: Listener | None = None,
    ) -> Answer:
        """Run a question in a separate task, so that it can save its state if the client disconnects."""
        if self._turn.locked():
            await report("waiting for another question to be answered")
        lines: asyncio.Queue[str] = asyncio.Queue()
        task = self._started(self._work(question, files, _listener(lines, watch), purpose))
        telling = self._started(_report_all(lines, report))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            telling.cancel()

    def _started(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._working.add(task)
        task.add_done_callback(self._working.discard)
        return task

    async def _work(self, question: str, files: Sequence[Path], listen: Listener, purpose: Purpose) -> Answer:
        async with self._turn:
            if self._alita is None:
                # this import takes as long as the rest of the start-up, and there may never be a question
                from agent.alita import Alita

                self._alita = Alita.open(self._settings)
            return await self._alita.ask(question, files=files, on_event=listen, purpose=purpose, folder=self._folder)


def _listener(lines: asyncio.Queue[str], watch: Listener | None) -> Listener:
    """Return a listener that queues the line of each event. Events may come from other threads."""
    from agent.traces.lines import line_of

    loop = asyncio.get_running_loop()
    reported = ""

    def listen(event: Event) -> None:
        if watch is not None:
            watch(event)
        nonlocal reported
        if isinstance(event, ModelStarting):
            fifth = "" if event.fraction is None else f" {int(event.fraction * 5)}"
            if f"{event.text}{fifth}" != reported:  # report only new texts and every fifth of the progress
                reported = f"{event.text}{fifth}"
                loop.call_soon_threadsafe(lines.put_nowait, event.progress)
        elif line := line_of(event):
            loop.call_soon_threadsafe(lines.put_nowait, line.plain(_WIDTH))

    return listen


async def _report_all(lines: asyncio.Queue[str], report: ReportProgress) -> None:
    shown = ""
    with contextlib.suppress(Exception):  # the client has disconnected; work continues until it is cancelled
        while True:
            if (line := await lines.get()) != shown:
                shown = line
                await report(line)


def _answer_for_client(answer: Answer) -> dict[str, Json]:
    """Convert an answer for a client. An answer without text becomes an error that states the reason."""
    if not answer.text and answer.status != "answered":
        reason = answer.error or (f"the limit of {answer.limit} was reached" if answer.limit else "no answer was found")
        return {"status": answer.status, "error": reason}
    form = answer.as_json()
    return {name: form[name] for name in form if name not in {"schema", "error"}}

"""The tabs of the page: each has its own conversation and its own `Alita`, opened when it first asks."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent.alita import Alita
from agent.chat import Chat
from agent.consent.questions import UserReply
from agent.errors import AlitaError
from agent.events import AnswerWritten, Event, ModelCalled, ModelStarting, RunStarted
from agent.models.protocol import Usage
from agent.page import shown
from agent.page.review import Desk
from agent.store.redact import Redactor
from mcp_tools.text import count_of

if TYPE_CHECKING:
    from collections.abc import Container

    from agent.configuration.settings import Settings
    from agent.consent.consent import Asked
    from agent.page.visitors import Visitor, Visitors

_MOST_STEPS = 400
"""Lines of one run that are shown."""
_PAUSE = 0.1
"""Seconds between two views of a busy run."""


class Turn:
    """A question on the page, and what came of it so far."""

    def __init__(self, question: str) -> None:
        self._question = question
        self._steps: list[str] = []
        self._left_out = 0
        self._written = ""
        self._ending = ""
        self._doing = "Starting"
        self._usage = Usage()
        self.is_over = False

    def see(self, event: Event) -> None:
        """Take an event into account."""
        if isinstance(event, AnswerWritten):
            self._written += event.text
            return
        if isinstance(event, ModelStarting):
            self._doing = event.progress
        elif isinstance(event, ModelCalled):
            self._usage = self._usage + event.usage
        elif isinstance(event, RunStarted):
            self._doing = "Thinking"
        if line := shown.step(event):
            self._written, self._doing = "", "Working"
            if len(self._steps) < _MOST_STEPS:
                self._steps.append(line)
            else:
                self._left_out += 1

    def end(self, ending: str, answer: str = "") -> None:
        """Show how the run ended."""
        self._ending, self._written, self.is_over = ending, answer or self._written, True

    @property
    def html(self) -> str:
        """The turn."""
        more = f"<p>… {count_of(self._left_out, 'more line')}</p>" if self._left_out else ""
        is_open = "" if self.is_over else " open"
        told = count_of(len(self._steps) + self._left_out, "step")
        steps = f'<details class="steps"{is_open}><summary>{told}</summary>{"".join(self._steps)}{more}</details>'
        cost = f" · {self._usage.cost_text}" if self._usage.calls else ""
        busy = "" if self.is_over else f'<p class="busy" role="status">{shown.text(self._doing)}{shown.text(cost)}</p>'
        written = shown.answer(self._written) if self._written else ""
        return f"<article>{self._question}{steps if self._steps else ''}{written}{busy}{self._ending}</article>"


class Visit:
    """The work of one tab."""

    def __init__(self, settings: Settings, visitor: Visitor) -> None:
        self._settings, self._visitor = settings, visitor
        self._without_keys = Redactor(settings.secrets).text
        self.desk = Desk(settings)
        self._alita: Alita | None = None
        self._chat: Chat | None = None
        self._turns: list[Turn] = []
        self._task: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self.asked: Asked | None = None
        """The question that the run asks now."""
        self._reply: asyncio.Future[UserReply] | None = None

    @property
    def html(self) -> str:
        """The conversation."""
        return "".join(turn.html for turn in self._turns)

    @property
    def is_busy(self) -> bool:
        """True while a run is under way."""
        return self._task is not None and not self._task.done()

    async def ask(self, question: str, files: Sequence[Path], *, model: str, agent: str) -> AsyncIterator[None]:
        """Ask a question, and yield when there is something new to show. A caller that stops listening ends the run."""
        if self.is_busy:
            return
        question = self._without_keys(question)  # not even its owner sees one again
        turn = Turn(shown.question(question, [path.name for path in files]))
        self._turns.append(turn)
        self._task = asyncio.create_task(self._answer(turn, question, files, {"model": model, "agent": agent}))
        self._task.add_done_callback(lambda _: self._news.set())
        try:
            while not self._task.done():
                yield
                await self._news.wait()
                self._news.clear()
                await asyncio.sleep(_PAUSE)
            yield
        finally:
            await self.stop()

    async def _answer(self, turn: Turn, question: str, files: Sequence[Path], choice: dict[str, str]) -> None:
        def hear(event: Event) -> None:
            if isinstance(event, RunStarted):
                self._visitor.runs.add(event.run_id)
            turn.see(event)
            loop.call_soon_threadsafe(self._news.set)

        loop = asyncio.get_running_loop()
        try:
            chat = await self._opened({name: value for name, value in choice.items() if value})
            found = await chat.ask(question, files=files, on_event=hear)
        except asyncio.CancelledError:
            turn.end('<p class="bad">Stopped.</p>')
            raise
        except AlitaError as error:
            remedy = f"\n{error.remedy}" if error.remedy else ""
            turn.end(f'<p class="bad">{shown.text(error.message + remedy)}</p>')
        except Exception as error:
            turn.end(f'<p class="bad">{shown.text(f"An internal error ended the run: {type(error).__name__}")}</p>')
            raise
        else:
            addresses = [self._visitor.offer(Path(file.path)) for file in found.outputs]
            turn.end(shown.outputs(found, addresses) + shown.ending(found), found.text)

    async def _opened(self, choice: dict[str, str]) -> Chat:
        """The conversation, with the model and the specialist that are chosen now."""
        settings = self._settings.model_copy(update=choice)
        if self._alita is None or self._chat is None:
            self._alita = Alita.open(settings, streams=True, confirm=self._confirm)
            self._chat = self._alita.chat()
        self._alita.settings = settings
        return self._chat

    async def _confirm(self, asked: Asked) -> UserReply:
        self.asked, self._reply = asked, asyncio.get_running_loop().create_future()
        self._news.set()
        try:
            return await self._reply
        finally:
            self.asked = self._reply = None
            self._news.set()

    def reply(self, *, allowed: bool, reason: str = "") -> None:
        """Give the user's reply to what the run wants to know."""
        if self._reply is not None and not self._reply.done():
            self._reply.set_result(UserReply(allowed, "" if allowed else reason.strip()))

    async def stop(self) -> None:
        """End the run that is under way; it can be resumed."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def aclose(self) -> None:
        """End the run, and close what it had opened."""
        await self.stop()
        if self._alita is not None:
            await self._alita.aclose()
            self._alita = self._chat = None


class Visits:
    """The visits, by the session of their tab."""

    def __init__(self, settings: Settings, visitors: Visitors, *, shares_runs: bool) -> None:
        self.settings, self._visitors, self._shares_runs = settings, visitors, shares_runs
        visitors.left = self.leave
        self._visits: dict[str, Visit] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def of(self, tab: str | None) -> Visit:
        """The visit of a tab.

        Raises:
            LookupError: No visitor has it.
        """
        visitor = self._visitors.of_tab(tab or "")
        if tab is None or visitor is None:
            raise LookupError("no visitor has this tab")
        return self._visits.setdefault(tab, Visit(self.settings, visitor))

    def seen_by(self, tab: str | None) -> Container[str] | None:
        """The runs that the visitor of a tab sees; None for all."""
        visitor = self._visitors.of_tab(tab or "")
        return None if self._shares_runs else visitor.runs if visitor is not None else ()

    def leave(self, tab: str) -> None:
        """End the visit of a tab that is gone."""
        if (visit := self._visits.pop(tab, None)) is not None:
            task = asyncio.get_running_loop().create_task(visit.aclose())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def aclose(self) -> None:
        """End all."""
        for tab in list(self._visits):
            self.leave(tab)
        with contextlib.suppress(Exception):
            await asyncio.gather(*self._closing, return_exceptions=True)

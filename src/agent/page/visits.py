"""The conversations of the page. Each has its own `Alita`, opened at its first question, and is stored as a session.

A tab shows one conversation, and finds it again after a reload, even during a run.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agent.alita import Alita
from agent.chat import Chat
from agent.consent.questions import ToolToApprove, UserReply
from agent.errors import AlitaError, RunError, UsageError
from agent.events import AnswerWritten, Event, ModelCalled, ModelStarting, RunStarted
from agent.models.protocol import Usage
from agent.page import html
from agent.page.approvals import described, scopes_of
from agent.page.exports import exported
from agent.page.review import ToolReviewer
from agent.store.redact import Redactor
from agent.store.runs import load_run
from agent.store.sessions import load_session, new_session, require_own, save_session
from mcp_tools.text import count_of, one_line

if TYPE_CHECKING:
    from collections.abc import Container

    from agent.answer import Answer
    from agent.configuration.settings import Settings
    from agent.consent.consent import Asked
    from agent.consent.questions import Scope
    from agent.conversation import Turn
    from agent.page.visitors import Visitor, Visitors
    from agent.store.sessions import StoredSession

_MOST_STEPS = 400
"""Maximum number of lines shown of a run."""
_PAUSE = 0.1
"""Seconds between two updates of a running question."""
_STOPPED = '<p class="bad">Stopped.</p>'
AWAY = 60.0
"""Seconds after which a conversation without a tab is closed and its run stopped."""


class PageTurn:
    """A question on the page and its result so far."""

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
        """Update the turn from an event."""
        if isinstance(event, AnswerWritten):
            self._written += event.text
            return
        if isinstance(event, ModelStarting):
            self._doing = event.progress
        elif isinstance(event, ModelCalled):
            self._usage = self._usage + event.usage
        elif isinstance(event, RunStarted):
            self._doing = "Thinking"
        if line := html.step(event):
            self._written, self._doing = "", "Working"
            if len(self._steps) < _MOST_STEPS:
                self._steps.append(line)
            else:
                self._left_out += 1

    def end(self, ending: str, answer: str = "") -> None:
        """Mark the run as ended, and show its ending."""
        self._ending, self._written, self.is_over = ending, answer or self._written, True

    def add(self, more: str) -> None:
        """Append HTML to the ending."""
        self._ending += more

    @property
    def html(self) -> str:
        """The turn as HTML."""
        more = f"<p>… {count_of(self._left_out, 'more line')}</p>" if self._left_out else ""
        is_open = "" if self.is_over else " open"
        count = count_of(len(self._steps) + self._left_out, "step")
        steps = f'<details class="steps"{is_open}><summary>{count}</summary>{"".join(self._steps)}{more}</details>'
        cost = f" · {self._usage.cost_text}" if self._usage.calls else ""
        busy = "" if self.is_over else f'<p class="busy" role="status">{html.text(self._doing)}{html.text(cost)}</p>'
        written = html.answer(self._written) if self._written else ""
        return f"<article>{self._question}{steps if self._steps else ''}{written}{busy}{self._ending}</article>"


class Visit:
    """A conversation of a visitor."""

    def __init__(self, visits: Visits, visitor: Visitor, session: StoredSession, *, key: str) -> None:
        self._visits, self._visitor, self._session, self.key = visits, visitor, session, key
        self._redactor = Redactor(visits.settings.secrets)
        self.reviewer = ToolReviewer(lambda: visits.settings)
        self._alita: Alita | None = None
        self._chat: Chat | None = None
        self._opened_with: Settings | None = None
        self._earlier = ""
        self._turns: list[PageTurn] = []
        self._task: asyncio.Task[None] | None = None
        self._changes = 0
        """Number of changes so far; tabs update when it increases."""
        self._keeps_all = False
        self._asked: Asked | None = None
        self.asking = ""
        """HTML of the question that the run is asking its user; an empty string if there is none."""
        self._reply: asyncio.Future[UserReply] | None = None

    @property
    def html(self) -> str:
        """The conversation as HTML."""
        return self._earlier + "".join(turn.html for turn in self._turns)

    @property
    def is_busy(self) -> bool:
        """True during a run."""
        return self._task is not None and not self._task.done()

    async def recall(self) -> None:
        """Show the stored turns."""
        turns = [await asyncio.to_thread(self._recalled, turn) for turn in self._session.turns]
        self._earlier = "".join(turns)

    def _recalled(self, turn: Turn) -> str:
        run = None
        with contextlib.suppress(RunError):  # arithmetic needs no run, and old runs are removed
            run = load_run(self._visits.settings.runs_dir, turn.run_id) if turn.run_id else None
        asked = html.question(turn.question, [Path(file.path).name for file in run.files] if run else [])
        if run is None or run.answer is None:
            end = "" if turn.answer else f'<p class="bad">{html.text(turn.error or "Stopped.")}</p>'
        else:
            end = self._ended(run.answer)
        return f"<article>{asked}{html.answer(turn.answer) if turn.answer else ''}{end}</article>"

    def _ended(self, answer: Answer) -> str:
        here = [file for file in answer.outputs if Path(file.path).is_file()]
        addresses = [self._visitor.offer(Path(file.path)) for file in here]
        return html.outputs(here, addresses) + html.ending(answer)

    def ask(self, question: str, files: Sequence[Path], *, model: str, agent: str) -> None:
        """Ask a question. `watch` reports its progress."""
        question = self._redactor.text(question)  # a key is never shown again, even to its owner
        turn = PageTurn(html.question(question, [path.name for path in files]))
        self._turns.append(turn)
        self._task = asyncio.create_task(self._answer(turn, question, files, {"model": model, "agent": agent}))

    async def watch(self) -> AsyncIterator[None]:
        """Yield when there is something new to show, until the run ends. Closing the iterator does not stop the run."""
        seen = -1
        while self.is_busy:
            if seen != self._changes:
                seen = self._changes
                yield
            await asyncio.sleep(_PAUSE)
        yield

    async def _answer(self, turn: PageTurn, question: str, files: Sequence[Path], choice: dict[str, str]) -> None:
        def hear(event: Event) -> None:
            if isinstance(event, RunStarted):
                self._visitor.runs.add(event.run_id)
            turn.see(event)
            self._changes += 1

        try:
            chat = await self._opened({name: value for name, value in choice.items() if value})
            found = await chat.ask(question, files=files, on_event=hear)
        except asyncio.CancelledError:
            turn.end(_STOPPED)
            raise
        except AlitaError as error:
            turn.end(html.bad(error))
        except Exception as error:
            turn.end(
                f'<p class="bad">{html.text(f"The run stopped after an internal error: {type(error).__name__}")}</p>'
            )
            raise
        else:
            turn.end(self._ended(found), found.text)
        finally:
            if problem := await asyncio.shield(asyncio.to_thread(self._save)):
                turn.add(problem)

    def _save(self) -> str:
        """Store the conversation. Return HTML of the problem if that fails."""
        if not self._session.turns:
            return ""
        try:
            saved = save_session(self._visits.settings, self._session, self._redactor)
        except AlitaError as error:
            return html.bad(error)
        self._session = replace(saved, conversation=self._session.conversation)
        self._visitor.remember(self.key, saved.id, saved.title)
        return ""

    async def _opened(self, choice: dict[str, str]) -> Chat:
        """Return the chat, switched to the chosen model and specialist."""
        current = self._visits.settings
        if not self._visits.is_local and choice.get("model", "") not in ("", *self._visits.models):
            raise UsageError(
                f"This page has no model {one_line(choice['model'], 80)}.", remedy="Choose a model from the list."
            )
        if self._opened_with is not current:
            await self._close()
        settings = current.model_copy(update=choice)
        if self._alita is None or self._chat is None:
            self._alita = Alita.open(settings, streams=True, confirm=self.confirm)
            self._chat, self._opened_with = self._alita.chat(self._session.conversation), current
        self._alita.settings = settings
        return self._chat

    async def confirm(self, asked: Asked) -> UserReply:
        """Ask the user on the page."""
        if self._keeps_all and isinstance(asked, ToolToApprove):
            return UserReply(True)
        self._asked, self.asking = asked, described(asked)
        self._reply = asyncio.get_running_loop().create_future()
        self._changes += 1
        try:
            reply = await self._reply
            self._keeps_all |= reply.scope == "always" and isinstance(asked, ToolToApprove)
            return reply
        finally:
            self._asked, self.asking, self._reply = None, "", None
            self._changes += 1

    def scopes(self) -> dict[Scope, str]:
        """Return the possible scopes of the requested permission, with their labels."""
        return {} if self._asked is None else scopes_of(self._asked, lasting=self._visits.is_local)

    def reply(self, asked: str, *, scope: Scope | Literal[""] = "", reason: str = "") -> None:
        """Answer the run's question `asked`, given as it was shown. An empty scope refuses."""
        if self._reply is None or self._reply.done() or asked != self.asking or scope not in {"", *self.scopes()}:
            return  # the reply was meant for an earlier question
        self._reply.set_result(UserReply(True, scope=scope) if scope else UserReply(False, reason.strip()))

    async def stop(self) -> None:
        """Stop the running question; it can be resumed."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            if not self._turns[-1].is_over:  # the task had not started yet
                self._turns[-1].end(_STOPPED)

    async def aclose(self) -> None:
        """Stop the run and close the `Alita`."""
        await self.stop()
        await self._close()

    async def _close(self) -> None:
        if self._alita is not None:
            await self._alita.aclose()
            self._alita = self._chat = None


class Visits:
    """The conversations of all tabs, and the settings for their questions.

    Args:
        settings: The settings. A change applies from the next question.
        visitors: The admitted browsers.
        folder: Folder for exported files.
        is_local: True if only this machine can reach the page. Its visitors are then the owner and see all runs.
    """

    def __init__(self, settings: Settings, visitors: Visitors, folder: Path, *, is_local: bool) -> None:
        self.settings, self.visitors, self._folder, self.is_local = settings, visitors, folder, is_local
        visitors.left = self.leave
        self._visits: dict[tuple[Visitor, str], Visit] = {}
        self._tabs: dict[str, tuple[Visitor, str]] = {}
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def models(self) -> list[str]:
        """The configured models, the default first. Only the owner may enter other names, which could name scripts."""
        names = dict.fromkeys([self.settings.model, *self.settings.fallback, *self.settings.models])
        return [name for name in names if name]

    def _visitor_of(self, tab: str | None) -> Visitor:
        visitor = self.visitors.of_tab(tab or "")
        if visitor is None:
            raise LookupError("no visitor has this tab")
        return visitor

    async def enter(self, tab: str | None, key: str) -> Visit:
        """Show a conversation in a tab: the one with this key, or a new one.

        Raises:
        LookupError: No visitor has the tab.
        """
        visitor = self._visitor_of(tab)
        visit = self._visits.get((visitor, key))
        if visit is None:
            visit = await self._reopened(visitor, key)
            visit = self._visits.setdefault((visitor, visit.key), visit)
        self.leave(str(tab))
        self._tabs[str(tab)] = visitor, visit.key
        visitor.tabs[str(tab)] = visit.key
        return visit

    async def _reopened(self, visitor: Visitor, key: str) -> Visit:
        if key in visitor.conversations:
            with contextlib.suppress(AlitaError):  # the session was deleted
                session_id, _ = visitor.conversations[key]
                session = require_own(await asyncio.to_thread(load_session, self.settings, session_id))
                visit = Visit(self, visitor, session, key=key)
                await visit.recall()
                return visit
        session = new_session(self.settings.model)
        return Visit(self, visitor, session, key=session.id)

    async def of(self, tab: str | None) -> Visit:
        """Return the conversation that a tab shows, even after the connection was lost.

        Raises:
        LookupError: No visitor has the tab.
        """
        visitor = self._visitor_of(tab)
        place = visitor, visitor.tabs[str(tab)]
        is_here = self._tabs.get(str(tab)) == place and place in self._visits
        return self._visits[place] if is_here else await self.enter(tab, place[1])

    def conversations(self, tab: str | None) -> list[tuple[str, str]]:
        """Return the titles and keys of the visitor's conversations, newest first."""
        kept = self._visitor_of(tab).conversations
        return [(title, key) for key, (_, title) in reversed(kept.items())]

    async def export(self, tab: str | None, tool: str | None, form: str) -> str:
        """Export a tool for the tab's visitor, and return a link."""
        return await asyncio.to_thread(exported, self.settings, self._visitor_of(tab), self._folder, tool, form)

    def seen_by(self, tab: str | None) -> Container[str] | None:
        """Return the ids of the runs that the tab's visitor may see, or None for all."""
        visitor = self.visitors.of_tab(tab or "")
        return None if self.is_local else visitor.runs if visitor is not None else ()

    def leave(self, tab: str) -> None:
        """Close the conversation of a closed tab, unless another tab soon shows it."""
        if (place := self._tabs.pop(tab, None)) is not None:
            task = asyncio.get_running_loop().create_task(self._close_later(place))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def _close_later(self, place: tuple[Visitor, str]) -> None:
        await asyncio.sleep(AWAY)
        if place not in self._tabs.values() and (visit := self._visits.pop(place, None)) is not None:
            await visit.aclose()

    async def aclose(self) -> None:
        """Close all conversations."""
        closing, visits = list(self._closing), list(self._visits.values())
        for task in closing:
            task.cancel()
        await asyncio.gather(*closing, *(visit.aclose() for visit in visits), return_exceptions=True)

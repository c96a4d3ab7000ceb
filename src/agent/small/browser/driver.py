"""Our browser specialist for small models: small questions over numbered elements, and rules beside the model."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from agent.answering.answer import has_words
from agent.browser.inside import Host, serve
from agent.browser.launching import ARRIVING
from agent.browser.logins import PASSWORD, USER, hidden, login_for
from agent.browser.tabs import Tabs, keep_picture
from agent.browser.tasks import Ask, Job, Outcome, Task, Tell
from agent.consent.provenance import FINE, Verdict, of_typed
from agent.errors import ModelOutputError, StoppedError
from agent.events import ActionRefused, BrowserStepped, InstructionFound
from agent.small.browser.actions import Action, perform, reason_of, settle
from agent.small.browser.questions import (
    PART,
    ask_next,
    banner,
    choices,
    does_first,
    finished,
    log_in,
    questions_in,
    with_text,
)
from agent.small.browser.task import Memory, is_asked, next_named, next_quoted, repeated
from agent.small.browser.view import ELEMENT, Element, View, look
from agent.small.instructions import LOOKS, without_instructions
from agent.web.proxy import GuardedProxy
from mcp_tools.text import one_line, printable

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.async_api import BrowserContext, Page

Blocked: TypeAlias = Callable[[str, str], Awaitable[bool]]
"""Whether an address, with the text found there, must not be shown."""
_GARBAGE = 3
"""Answers in a row that are no answer."""
_OPENING = 30_000
"""Milliseconds for the first page."""
_MOST_HEARD = 200
"""Characters of what a page says in a dialog of the browser."""
_MOST_SAID = 1_500
"""Characters of a page that stand for an answer."""


class Compact:
    """Does one task in a browser that the caller opened.

    Args:
        context: The browser.
        task: What to do.
        ask: Asks the model.
        tell: Told of each step.
        blocked: Asked before a page is shown to the model; None shows all.
        proxy: Tells why hosts were not connected to.
        arriving: Where downloads stand while they come.
    """

    def __init__(
        self,
        context: BrowserContext,
        task: Task,
        ask: Ask,
        tell: Tell,
        blocked: Blocked | None = None,
        proxy: GuardedProxy | None = None,
        arriving: Path | None = None,
    ) -> None:
        self._context = context
        self._task = task
        self._ask = ask
        self._tell = tell
        self._blocked = blocked
        self._proxy = proxy
        self._origins = task.origins()
        self._tabs = Tabs(context, task.folder, task.files, arriving, self._origins.names_site)
        self._apart: list[InstructionFound | ActionRefused] = []
        self._judged_values: dict[str, bool] = {}
        self._steps: list[BrowserStepped] = []
        self._memory = Memory(task.question)
        self._planned: list[Action] = []
        self._read_from = 0
        self._garbage = 0
        self._is_kept = False
        self._view = View(task.url, "", (), ())

    async def run(self) -> Outcome:
        """Opens the first page and goes on until it is done, or a limit is reached."""
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(self._task.seconds):
                return await self._to_its_end()
        except TimeoutError:
            return self._ended(f"the limit of {self._task.seconds:g} seconds for the browser is reached")
        except StoppedError as stopped:
            return self._ended(stopped.message)
        except Error as error:
            return self._ended(f"the browser failed: {reason_of(error.message)}")

    async def _to_its_end(self) -> Outcome:
        if problem := await self._open(self._task.url):
            return self._ended(problem)
        while len(self._steps) < self._task.steps:
            action = await self._next()
            if action is None:
                return self._ended("nothing is left to be done on the page")
            if action.deed == "done":
                if (answer := self._answer(action)) is not None:
                    return self._outcome(answer)
                self._memory.note(self._view, action)
            elif action.deed == "read":
                self._read_on()
            else:
                await self._act(action)
        return self._ended(f"the limit of {self._task.steps} steps of the browser is reached")

    @property
    def _page(self) -> Page:
        if (page := self._tabs.page) is None:
            raise StoppedError("the browser has no tab left")
        return page

    async def _open(self, url: str) -> str:
        """Opens an address; says why it cannot be."""
        from playwright.async_api import Error

        if not url.lower().startswith(("http://", "https://")):
            return f"{one_line(url)} is no address of the web"
        problem = ""
        try:
            await self._page.goto(url, timeout=_OPENING, wait_until="domcontentloaded")
        except Error as error:
            await self._tabs.settled()
            if not self._tabs.downloads:
                problem = f"{url} cannot be opened: {_network_reason(error.message)}"
        if self._proxy is not None and (refusal := self._proxy.refusal_of(url)):
            problem = f"{url} cannot be opened: {refusal}"
        await settle(self._page)
        await self._look()
        self._step(Action("click"), f"open {url}", problem)
        await self._told_step(self._steps[-1])
        return problem

    async def _look(self) -> None:
        """Takes in the page as it is now."""
        view = await self._looked()
        lines = tuple(self._hidden(line) for line in view.lines)
        lines = self._without_orders(lines)
        view = replace(
            view, lines=(*lines, *self._downloaded()), elements=tuple(map(self._without_logins, view.elements))
        )
        self._is_kept = not self._task.allows(view.url) or await self._is_blocked(view.url, view.text)
        if self._is_kept:
            view = View(view.url, "", ("This page must not be read. Go back.",), ())
        if view.url != self._view.url or view.lines[:3] != self._view.lines[:3]:
            self._read_from = 0
        self._memory.see(view, self._view)
        self._view = view.since(self._view)

    def _hidden(self, text: str) -> str:
        return hidden(text, self._task.logins)

    def _without_logins(self, element: Element) -> Element:
        options = tuple(map(self._hidden, element.options))
        return replace(element, name=self._hidden(element.name), value=self._hidden(element.value), options=options)

    async def _looked(self) -> View:
        """The page; where it goes away meanwhile, the one that comes."""
        from playwright.async_api import Error

        try:
            return await look(self._page)
        except Error:
            await settle(self._page)
            return await look(self._page)

    async def _is_blocked(self, url: str, text: str) -> bool:
        return self._blocked is not None and await self._blocked(url, text)

    async def _heard(self) -> list[str]:
        """What happened besides, as the model may be told of it."""
        told = [self._hidden(one_line(printable(said), _MOST_HEARD)) for said in self._tabs.take_heard()]
        return [said for said in told if not await self._is_blocked(self._view.url, said)]

    def _downloaded(self) -> list[str]:
        return [f"Downloaded: {path.name}" for path in self._tabs.downloads]

    async def _next(self) -> Action | None:
        """The next action: planned, by rule, or the model's; None when there is none."""
        if (action := self._by_rule()) is not None:
            return action
        possible = choices(
            self._view,
            self._memory,
            self._shown(),
            may_go_back=any(step.url != self._view.url for step in self._steps),
            more=self._has_more(),
        )
        if not possible:
            return None
        if len(possible) == 1 and possible[0].startswith("click"):
            return Action("click", self._view.element(int(possible[0].partition(" ")[2])), why="The form is sent.")
        try:
            action = await ask_next(
                self._ask,
                self._task.question,
                self._memory.told,
                self._view,
                possible,
                start=self._read_from,
                seen=self._memory.seen,
            )
            if action.found and not await self._is_stated(action.found):
                if len(self._apart) <= LOOKS:
                    self._view = replace(self._view, lines=self._without_orders(self._view.lines))
                    return await self._next()
                action = replace(action, found="")
            action = await with_text(self._ask, self._task.question, action)
            if action.deed == "type" and (ruled := self._of_typed(action.text)) != FINE:
                self._apart.append(ActionRefused(self._hidden(str(action)), ruled.why))
                raise ModelOutputError(ruled.why)
        except ModelOutputError as problem:
            self._garbage += 1
            if self._garbage >= _GARBAGE:
                raise StoppedError(f"the model gives no usable answer: {problem.message}") from None
            return await self._next()
        self._garbage = 0
        return self._judged(action)

    def _of_typed(self, text: str) -> Verdict:
        """Whether a text may be typed: a small model fills in what a page asks for, whatever the user wants."""
        ruled = of_typed(text, self._view.url, self._origins)
        if ruled == FINE and not (self._origins.has_word_of(text) or USER in text or PASSWORD in text):
            return Verdict("refused", "nothing of what is typed is in the user's own words")
        return ruled

    async def _is_stated(self, found: str) -> bool:
        """Whether a page states what was found, and does not only tell its reader to say so."""
        if found not in self._judged_values:
            texts = [(self._view.url, f"{self._memory.seen}\n{self._view.text}")]
            left = await without_instructions(found, texts, self._task.question, self._ask, self._apart.append)
            self._judged_values[found] = left is None
        return self._judged_values[found]

    def _without_orders(self, lines: Sequence[str]) -> tuple[str, ...]:
        """The lines of a page, those empty that were set apart and hold nothing to use."""
        ordered = [value for value, stated in self._judged_values.items() if not stated]
        kept = (ELEMENT.search(line) or not any(has_words(line, value) for value in ordered) for line in lines)
        return tuple(line if keep else "" for line, keep in zip(lines, kept, strict=True))

    def _judged(self, action: Action) -> Action:
        """The model's action, seen in the light of what it found: that is more reliable than what it does next."""
        task, memory = self._task.question, self._memory
        if action.deed == "done" and memory.has_seen_more:
            action = replace(action, deed="back")
        elif action.found and is_asked(task) and memory.is_all_used and not self._comes_first(action):
            found = dict.fromkeys([*memory.notes, action.found])
            if len(found) >= questions_in(task):
                return replace(action, deed="done")
        if action.found and action.deed != "done" and questions_in(task) > 1 and action.found not in memory.notes:
            memory.notes.append(action.found)
            memory.done.append(f'found "{action.found}"')
        return action

    def _comes_first(self, action: Action) -> bool:
        """Whether the task wants something done, which a button does now, before what it asks."""
        presses = action.deed == "click" and action.on is not None and action.on.role == "button"
        return presses and not self._memory.pressed and does_first(self._task.question)

    def _by_rule(self) -> Action | None:
        task, view, memory = self._task.question, self._view, self._memory
        if self._planned:
            return self._again(self._planned.pop(0))
        closing = banner(view)
        if closing is not None and closing.on is not None and closing.on.name not in memory.closed:
            memory.closed.add(closing.on.name)
            return closing
        if not memory.logged_in and (logging_in := log_in(view, login_for(view.url, self._task.logins))):
            memory.logged_in = True
            self._planned = logging_in[1:]
            return logging_in[0]
        if (found := next_quoted(task, view, memory.used)) is not None:
            memory.used.add(found[0].value)
            return found[1]
        if (again := repeated(task, view)) is not None:
            return again
        if (named := next_named(task, view, memory.named)) is not None:
            return named
        return Action("done", why="The page confirms it.") if finished(view, memory) else None

    def _again(self, action: Action) -> Action:
        """A planned action on the page as it is now: its element may have another number."""
        same = [e for e in self._view.elements if action.on and (e.role, e.name) == (action.on.role, action.on.name)]
        same.sort(key=lambda e: action.on is not None and e.ref != action.on.ref)
        return replace(action, on=same[0]) if same else action

    def _shown(self) -> list[Element]:
        """The elements that the model sees."""
        part, _ = self._view.part(self._task.question, PART, self._read_from)
        numbers = {int(number) for number in re.findall(r"\[(\d+)\]", part)}
        return [element for element in self._view.elements if element.number in numbers]

    def _has_more(self) -> bool:
        return self._view.part(self._task.question, PART, self._read_from)[1] < len(self._view.lines)

    def _read_on(self) -> None:
        self._read_from = self._view.part(self._task.question, PART, self._read_from)[1]
        self._step(Action("read"), "read on")

    async def _act(self, action: Action) -> None:
        before = self._view
        problem = await perform(self._page, action, self._task.logins)
        await self._tabs.settled()
        await self._look()
        has_effect = (before.url, before.lines) != (self._view.url, self._view.lines)
        self._memory.note(before, action, changed=has_effect)
        heard = await self._heard()
        self._memory.submitted |= any(said.startswith("downloaded") for said in heard)
        vain = "" if has_effect or problem or heard else "nothing changed"
        self._step(action, str(action), problem or vain)
        told = f"{action} ({problem or vain})" if problem or vain else str(action)
        self._memory.done.append("; ".join([told, *heard]))
        await self._told_step(self._steps[-1])

    def _answer(self, action: Action) -> str | None:
        """What is answered; None when the page does not state what is asked."""
        if not is_asked(self._task.question):
            return self._said()
        return "; ".join(dict.fromkeys([*self._memory.notes, action.found])) if action.found else None

    def _step(self, action: Action, what: str, problem: str = "") -> None:
        number = len(self._steps) + 1
        url, what, problem = map(self._hidden, (self._view.url, what, problem))
        self._steps.append(BrowserStepped(number, url, what, action.why, "", not problem, problem))

    async def _told_step(self, step: BrowserStepped) -> None:
        """Takes a picture of the page, and tells of the step."""
        if self._task.folder is not None and not self._is_kept:
            step = replace(step, picture=await keep_picture(self._page, self._task.folder, step.step))
            self._steps[-1] = step
        self._tell(step)

    def _said(self) -> str:
        """What the page says, without its menus."""
        body = [line for at, line in enumerate(self._view.lines) if at not in self._view.menu]
        return replace(self._view, lines=tuple(body), menu=frozenset()).part(self._task.question, _MOST_SAID)[0]

    def _outcome(self, text: str) -> Outcome:
        url, downloads = self._hidden(self._view.url), tuple(self._tabs.downloads)
        return Outcome(text, True, url, tuple(self._steps), "", downloads, apart=tuple(self._apart))

    def _ended(self, problem: str) -> Outcome:
        """What was found until it ended."""
        url, problem = map(self._hidden, (self._view.url, problem))
        downloads = tuple(self._tabs.downloads)
        return Outcome(self._said(), False, url, tuple(self._steps), problem, downloads, apart=tuple(self._apart))


def _network_reason(message: str) -> str:
    """What Chromium says of an address that cannot be opened."""
    found = re.search(r"net::ERR_(\w+)", message)
    return found[1].lower().replace("_", " ") if found else one_line(message.partition("\n")[0], 160)


def main() -> None:
    """Does the job on stdin."""
    serve(_driven)


async def _driven(context: BrowserContext, job: Job, host: Host, proxy: GuardedProxy) -> Outcome:
    arriving = job.profile / ARRIVING
    return await Compact(context, job.task, host.ask, host.tell, host.blocked, proxy, arriving).run()

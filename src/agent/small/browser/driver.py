"""Our browser specialist for small models: small questions over numbered elements, and rules beside the model."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent.answer import has_words
from agent.browser.driver_process import Host, drive_with
from agent.browser.logins import PASSWORD, USER, hidden, login_for
from agent.browser.tabs import Tabs, keep_picture
from agent.browser.tasks import BrowserOutcome, BrowserTask
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
from agent.small.browser.view import ELEMENT, View, look
from agent.small.instructions import LOOKS, without_instructions
from agent.web.browser_process import ARRIVING
from agent.web.proxy import GuardedProxy
from mcp_tools.text import one_line, printable

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext

_GARBAGE = 3
_OPENING = 30_000
"""Milliseconds for the first page."""
_MOST_HEARD = 200
"""Characters of what a page says in a dialog of the browser."""
_MOST_SAID = 1_500


class Compact:
    """Does one task in a browser that the caller opened."""

    def __init__(self, context: BrowserContext, task: BrowserTask, host: Host, proxy: GuardedProxy) -> None:
        self._task = task
        self._host = host
        self._proxy = proxy
        self._origins = task.origins()
        self._tabs = Tabs(context, task.folder, task.files, Path(ARRIVING).absolute(), self._origins.names_site)
        self._apart: list[InstructionFound | ActionRefused] = []
        self._judged_values: dict[str, bool] = {}
        self._steps: list[BrowserStepped] = []
        self._memory = Memory(task.question)
        self._read_from = 0
        self._garbage = 0
        self._is_kept = False
        self._view = View(task.url)

    async def run(self) -> BrowserOutcome:
        """Opens the first page and goes on until it is done, or a limit is reached."""
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(self._task.seconds):
                text, problem = await self._to_its_end()
        except TimeoutError:
            text, problem = "", f"the limit of {self._task.seconds:g} seconds for the browser is reached"
        except StoppedError as stopped:
            text, problem = "", stopped.message
        except Error as error:
            text, problem = "", f"the browser failed: {reason_of(error.message)}"
        url, problem = map(self._hidden, (self._view.url, problem))
        text = self._said() if problem else text
        downloads = tuple(self._tabs.downloads)
        return BrowserOutcome(text, not problem, url, tuple(self._steps), problem, downloads, apart=tuple(self._apart))

    async def _to_its_end(self) -> tuple[str, str]:
        """The answer; or what is in its way."""
        if problem := await self._open(self._task.url):
            return "", problem
        while len(self._steps) < self._task.steps:
            action = await self._next()
            if action is None:
                return "", "nothing is left to be done on the page"
            if action.deed == "done":
                if not is_asked(self._task.question):
                    return self._said(), ""
                if action.found:
                    return "; ".join(dict.fromkeys([*self._memory.notes, action.found])), ""
                self._memory.note(self._view, action)
            elif action.deed == "read":
                self._read_from = self._part()[1]
                await self._step(action, "read on")
            else:
                await self._act(action)
        return "", f"the limit of {self._task.steps} steps of the browser is reached"

    async def _open(self, url: str) -> str:
        """Opens an address; says why it cannot be."""
        from playwright.async_api import Error

        if not url.lower().startswith(("http://", "https://")):
            return f"{one_line(url)} is no address of the web"
        problem = ""
        try:
            await self._tabs.page.goto(url, timeout=_OPENING, wait_until="domcontentloaded")
        except Error as error:
            await self._tabs.settled()
            if not self._tabs.downloads:
                problem = f"{url} cannot be opened: {reason_of(error.message)}"
        if refusal := self._proxy.refusal_of(url):
            problem = f"{url} cannot be opened: {refusal}"
        await settle(self._tabs.page)
        await self._look()
        await self._step(Action("click"), f"open {url}", problem)
        return problem

    async def _look(self) -> None:
        """Takes in the page as it is now; where it goes away meanwhile, the one that comes."""
        from playwright.async_api import Error

        try:
            view = await look(self._tabs.page)
        except Error:
            await settle(self._tabs.page)
            view = await look(self._tabs.page)
        downloaded = [f"Downloaded: {path.name}" for path in self._tabs.downloads]
        lines = (*self._without_orders([*map(self._hidden, view.lines)]), *downloaded)
        view = replace(view, lines=lines, elements=tuple(one.changed(self._hidden) for one in view.elements))
        self._is_kept = not self._task.allows(view.url) or await self._host.blocked(view.url, view.text)
        if self._is_kept:
            view = View(view.url, ("This page must not be read. Go back.",))
        if view.url != self._view.url or view.lines[:3] != self._view.lines[:3]:
            self._read_from = 0
        self._memory.see(view, self._view)
        self._view = view.since(self._view)

    def _hidden(self, text: str) -> str:
        return hidden(text, self._task.logins)

    def _part(self) -> tuple[str, int]:
        return self._view.part(self._task.question, PART, self._read_from)

    async def _next(self) -> Action | None:
        """The next action, by rule or the model's; None when there is none."""
        while (action := self._by_rule()) is None:
            part, end = self._part()
            shown = {int(number) for number in re.findall(r"\[(\d+)\]", part)}
            possible = choices(
                self._view,
                self._memory,
                [element for element in self._view.elements if element.number in shown],
                may_go_back=any(step.url != self._view.url for step in self._steps),
                more=end < len(self._view.lines),
            )
            if not possible:
                return None
            if len(possible) == 1 and possible[0].startswith("click"):
                on = self._view.element(int(possible[0].partition(" ")[2]))
                return Action("click", on, why="The form is sent.")
            try:
                action = await self._of_model(part, possible)
            except ModelOutputError as problem:
                self._garbage += 1
                if self._garbage >= _GARBAGE:
                    raise StoppedError(f"the model gave no usable answer: {problem.message}") from None
                continue
            if action is not None:
                self._garbage = 0
                return self._judged(action)
        return action

    async def _of_model(self, part: str, possible: Sequence[str]) -> Action | None:
        """What the model does next; None where it found what a page only orders, which is not shown again.

        Raises:
            ModelOutputError: Its answer cannot be used.
        """
        action = await ask_next(self._host.ask, self._memory, self._view, part, possible)
        if action.found and not await self._is_stated(action.found):
            if len(self._apart) <= LOOKS:
                self._view = replace(self._view, lines=self._without_orders(self._view.lines))
                return None
            action = replace(action, found="")
        action = await with_text(self._host.ask, self._task.question, action)
        if action.deed == "type" and (ruled := self._of_typed(action.text)) != FINE:
            self._apart.append(ActionRefused(self._hidden(str(action)), ruled.why))
            raise ModelOutputError(ruled.why)
        return action

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
            left = await without_instructions(found, texts, self._task.question, self._host.ask, self._apart.append)
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
        if not action.found or action.deed == "done":
            return action
        is_button = action.deed == "click" and action.on is not None and action.on.role == "button"
        comes_first = is_button and not memory.pressed and does_first(task)
        is_enough = len({*memory.notes, action.found}) >= questions_in(task)
        if is_asked(task) and memory.is_all_used and is_enough and not comes_first:
            return replace(action, deed="done")
        if questions_in(task) > 1 and action.found not in memory.notes:
            memory.notes.append(action.found)
            memory.done.append(f'found "{action.found}"')
        return action

    def _by_rule(self) -> Action | None:
        task, view, memory = self._task.question, self._view, self._memory
        if (closing := banner(view, memory.followed)) is not None:
            return closing
        for action in [] if memory.logged_in else log_in(view, login_for(view.url, self._task.logins)):
            if not memory.was_done(view, action.deed, action.on):
                memory.logged_in = action.deed == "click"
                return action
        if (found := next_quoted(task, view, memory.used)) is not None:
            memory.used.add(found[0].value)
            return found[1]
        named = memory.followed | {value.casefold() for value in memory.used}
        done = Action("done", why="The page confirms it.") if finished(view, memory) else None
        return repeated(task, view) or next_named(task, view, named) or done

    async def _act(self, action: Action) -> None:
        before = self._view
        problem = await perform(self._tabs.page, action, self._task.logins)
        await self._tabs.settled()
        await self._look()
        has_effect = (before.url, before.lines) != (self._view.url, self._view.lines)
        self._memory.note(before, action, changed=has_effect)
        told = [self._hidden(one_line(printable(said), _MOST_HEARD)) for said in self._tabs.take_heard()]
        heard = [said for said in told if not await self._host.blocked(self._view.url, said)]
        self._memory.submitted |= any(said.startswith("downloaded") for said in heard)
        problem = problem or ("" if has_effect or heard else "nothing changed")
        self._memory.done.append("; ".join([f"{action} ({problem})" if problem else str(action), *heard]))
        await self._step(action, str(action), problem)

    async def _step(self, action: Action, what: str, problem: str = "") -> None:
        """Tells of a step, with a picture of the page."""
        url, what, problem = map(self._hidden, (self._view.url, what, problem))
        step = BrowserStepped(len(self._steps) + 1, url, what, action.why, "", not problem, problem)
        if self._task.folder is not None and not self._is_kept:
            step = replace(step, picture=await keep_picture(self._tabs.page, self._task.folder, step.step))
        self._steps.append(step)
        self._host.tell(step)

    def _said(self) -> str:
        """What the page says, without its menus."""
        body = tuple(line for at, line in enumerate(self._view.lines) if at not in self._view.menu)
        return replace(self._view, lines=body, menu=frozenset()).part(self._task.question, _MOST_SAID)[0]


def main() -> None:
    """Does the task on stdin."""

    async def drive(context: BrowserContext, task: BrowserTask, host: Host, proxy: GuardedProxy) -> BrowserOutcome:
        return await Compact(context, task, host, proxy).run()

    drive_with(drive)

"""A browser whose every task is one recorded call with its steps: a replay starts none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from agent.browser.outside import BrowserSettings, open_browser
from agent.browser.tasks import Ask, Outcome, Task, is_among
from agent.budget import Budget
from agent.consent.provenance import Origins
from agent.events import Event, Note
from agent.store.journal import Journal
from agent.web.page import WebProblem
from mcp_tools.tool import Json

KIND = "browse"
"""What the journal calls these calls."""


class JournaledBrowser:
    """Does tasks in a browser, or gives what was recorded.

    Args:
        settings: What the user wants of the browser.
        folder: Where screenshots and downloads are kept; made when it is needed.
        journal: Records every task.
        tell: Told of each step, in a replay too.
        blocks: Whether an address, with the text found there, must not be shown.
        budget: The run's; no task is given more time than is left of it.
    """

    def __init__(
        self,
        settings: BrowserSettings,
        folder: Path,
        journal: Journal,
        tell: Callable[[Event], None],
        blocks: Callable[[str, str], bool] | None = None,
        budget: Budget | None = None,
    ) -> None:
        self._settings = settings
        self._folder = folder
        self._journal = journal
        self._tell = tell
        self._blocks = blocks
        self._budget = budget

    async def do(
        self, question: str, url: str, files: tuple[Path, ...], ask: Ask, *, driver: str, origins: Origins
    ) -> Outcome:
        """Does a task, or gives what came of it.

        Args:
            question: What is asked, or to be done.
            url: Where it begins.
            files: What a page that asks for a file is given.
            ask: Asks the browser role's model; its calls are part of the task, and recorded besides.
            driver: The module that drives the browser in its process.
            origins: What the run knows, by where it comes from.

        Raises:
            WebProblem: There is no browser, it does not start, or the address is a known leak.
            ModelError: The model could not be reached, or refused.
            SettingsError: The logins cannot be used.
        """
        if self._blocks is not None and self._blocks(url, ""):
            raise WebProblem("leak", f"{url} is not opened.", remedy="Take another source.")

        async def perform() -> Json:
            browser = await open_browser(
                self._settings, ask, driver=driver, blocks=self._blocks, note=lambda text: self._tell(Note(text))
            )
            folder = self._new_folder()
            task = Task(
                question,
                url,
                hosts=self._settings.hosts,
                files=files,
                logins=self._settings.read_logins(),
                steps=self._settings.steps,
                seconds=self._seconds(),
                folder=folder,
                wanted=origins.wanted,
                private=tuple(origins.private),
            )
            return (await browser.do(task, self._tell)).as_json()

        request: dict[str, Json] = {"task": question, "url": url, "files": [str(path) for path in files]}
        output = await self._journal.call(KIND, request, perform)
        outcome = Outcome.from_json(output)
        if not self._journal.is_live:
            for step in outcome.steps:
                self._tell(step)
        return outcome

    def _seconds(self) -> float:
        left = self._budget.seconds_left if self._budget is not None else None
        return self._settings.seconds if left is None else min(self._settings.seconds, left)

    def may_open(self, url: str) -> bool:
        """Whether an address is at one of the hosts that the user allows."""
        return is_among(url, self._settings.hosts)

    @property
    def has_logins(self) -> bool:
        """Whether it may sign in somewhere."""
        return self._settings.logins is not None

    @property
    def is_live(self) -> bool:
        """Whether the newest task was done, and not given from the record."""
        return self._journal.is_live

    def _new_folder(self) -> Path:
        """A folder for what one task brings."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        folder = self._folder / str(sum(1 for _ in self._folder.iterdir()) + 1)
        folder.mkdir(mode=0o700)
        return folder

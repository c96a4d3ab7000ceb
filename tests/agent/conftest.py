"""Alita in process: real settings, graph, sandbox, library and journal; only the model plays a script."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent.answer import Answer
from agent.configuration.settings import Settings
from agent.configuration.settings_sources import read_settings
from agent.consent.consent import Confirm
from agent.events import Event, Note
from agent.store import databases
from mcp_tools.library.library import Library
from support.fibonacci import Line, write_script
from support.postgres import PostgresServer


@dataclass
class Desk:
    """A folder to ask from. `events` has those of the last question."""

    folder: Path
    home: Path
    model: str = ""
    flags: dict[str, Any] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    confirm: Confirm | None = None
    """Allows calls of external tools that need it."""

    @property
    def tools_dir(self) -> Path:
        return Path(self.flags.get("tools_dir") or self.folder / "generated_tools")

    @property
    def library(self) -> Library:
        return Library(self.tools_dir, self.home / "data")

    @property
    def runs(self) -> Path:
        return self.home / "data" / "runs"

    @property
    def notes(self) -> str:
        return "\n".join(event.text for event in self.events if isinstance(event, Note))

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def plays(self, *lines: Line) -> Desk:
        """The model answers with these lines."""
        self.model = write_script(self.folder / "script.jsonl", list(lines))
        return self

    async def ask(self, question: str, **flags: Any) -> Answer:
        given = {
            name: flags.pop(name)
            for name in ("files", "conversation", "purpose", "around", "rules", "schema", "folder")
            if name in flags
        }
        return await self.use(lambda alita: alita.ask(question, on_event=self.events.append, **given), **flags)

    async def resume(self, run_id: str | None = None, **flags: Any) -> Answer:
        return await self.use(lambda alita: alita.resume(run_id, on_event=self.events.append), **flags)

    async def replay(self, run_id: str, until: int | None = None) -> Answer:
        return await self.use(lambda alita: alita.replay(run_id, until=until, on_event=self.events.append))

    async def stop(self, question: str, happens: Callable[[Event], bool], **flags: Any) -> Answer:
        """Ask, and stop the run at once when something has happened; what it came to."""
        given = {name: flags.pop(name) for name in ("files", "purpose", "around", "folder") if name in flags}
        return await self.use(
            lambda alita: self.stopped(alita, lambda hear: alita.ask(question, on_event=hear, **given), happens),
            **flags,
        )

    async def stopped(
        self, alita: Any, work: Callable[[Any], Awaitable[Answer]], happens: Callable[[Event], bool]
    ) -> Answer:
        """What the run came to that is cancelled when something has happened."""

        def hear(event: Event) -> None:
            self.events.append(event)
            if happens(event):
                task.cancel()

        async def working() -> Answer:
            return await work(hear)

        task = asyncio.create_task(working())
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert task.cancelled()
        return alita.newest

    async def use(
        self, work: Callable[[Any], Awaitable[Answer]], approve: Confirm | None = None, **flags: Any
    ) -> Answer:
        """With `approve` the setting is that it is asked about proved tools."""
        from agent.alita import Alita
        from agent.configuration.settings_sources import read_settings

        self.events.clear()
        flags |= {"approval": "ask"} if approve else {}
        given = {"model": self.model or None, "tools_dir": str(self.tools_dir), **self.flags, **flags}
        settings = read_settings(given, environment={"ALITA_HOME": str(self.home)}, current=self.folder)
        async with Alita.open(settings, confirm=approve or self.confirm) as alita:
            return await work(alita)


@pytest.fixture
def desk(tmp_path: Path, home: Path, no_hits: str) -> Desk:
    """A folder, a home, and a model that plays what the test says. The only search engine finds nothing."""
    return Desk(tmp_path, home, flags={"engines": "firecrawl", "firecrawl_api_url": no_hits})


@pytest.fixture
def place(tmp_path):
    """A home and a project folder, with a function that reads the settings there."""

    class Place:
        home = tmp_path / "home"
        project = tmp_path / "project"

        def user(self, text: str) -> None:
            (self.home / "config").mkdir(parents=True, exist_ok=True)
            (self.home / "config" / "config.toml").write_text(text)

        def read(self, flags=None, **environment: str) -> Settings:
            environment = {"ALITA_HOME": str(self.home), **environment}
            return read_settings(flags, environment=environment, current=self.project)

        def source(self, name: str, flags=None, **environment: str) -> tuple[str, str]:
            explained = {e.name: e for e in self.read(flags, **environment).explain()}
            return explained[name].value, explained[name].source

    place = Place()
    place.project.mkdir()
    return place


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read in this process: what is read is tested, not the process that reads."""
    from agent.files import reading
    from agent.files.contents import ReadLimits
    from agent.files.media import ocr
    from agent.files.reader_worker import attempt

    async def read_here(request: dict[str, Any], limits: ReadLimits, **grants: Any) -> Any:
        monkeypatch.setattr(ocr, "_is_wanted", True)
        return json.loads(json.dumps(attempt(request, limits), default=str))

    monkeypatch.setattr(reading, "read_in_process", read_here)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server; `apt-get install postgresql` brings one."""
    with PostgresServer() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    """Settings of a home of its own, with an empty store: a file, or a database of a real server."""
    if request.param == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres")
        monkeypatch.setenv("ALITA_DATABASE_URL", server.database())
    yield read_settings({})
    databases.disconnect()

"""The store's two databases."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agent.configuration.settings import Settings
from agent.configuration.settings_sources import read_settings
from agent.store import databases as database
from support.postgres import PostgresServer


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
    database.disconnect()

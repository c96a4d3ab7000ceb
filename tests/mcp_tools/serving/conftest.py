"""Fixtures: a library served from the real sandbox, and both versions of the protocol."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

sys.path.insert(0, str(Path(__file__).parent))

from desk import LOOKS, Desk

from mcp_tools.library.library import Library
from mcp_tools.sandbox.backends import BubblewrapSandbox
from mcp_tools.sandbox.warm import WarmSandbox
from mcp_tools.serving import catalogue


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def sandbox() -> AsyncIterator[WarmSandbox]:
    """The strong sandbox. Without it, the test fails and says why."""
    async with BubblewrapSandbox() as opened:
        yield opened


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make servers in this process check their library more often."""
    monkeypatch.setattr(catalogue, "_LOOK_SECONDS", LOOKS)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    opened = Library(tmp_path / "generated_tools", tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def desk(library: Library, sandbox: WarmSandbox, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(library, sandbox, tmp_path)
    yield desk
    for log in desk.logs:
        log.close()


@pytest.fixture
def mode() -> str:
    """The newest protocol. Tests that depend on the version use `era`."""
    return "2026-07-28"


@pytest.fixture(params=["legacy", "2026-07-28"], ids=["2025", "2026"])
def era(request: pytest.FixtureRequest) -> str:
    """Both protocol versions of clients."""
    return str(request.param)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach, unlike pytest's."""
    with tempfile.TemporaryDirectory(prefix="alita-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder

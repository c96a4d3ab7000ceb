"""A library that is served from the real sandbox, and clients of both eras of the protocol."""

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
    """The strong sandbox; where it cannot be had the test fails and says why."""
    async with BubblewrapSandbox() as opened:
        yield opened


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers of this process see changes of their library sooner."""
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
    """The newest era of the protocol. Tests of what differs between the eras take `era`."""
    return "2026-07-28"


@pytest.fixture(params=["legacy", "2026-07-28"], ids=["2025", "2026"])
def era(request: pytest.FixtureRequest) -> str:
    """Each era of the protocol that a client may speak."""
    return str(request.param)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach, as pytest's own are not."""
    with tempfile.TemporaryDirectory(prefix="alita-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder

"""Sandboxes for tests: the strong one, and both back ends that are allowed by default."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from mcp_tools.sandbox.backends import BubblewrapSandbox, SandlockSandbox
from mcp_tools.sandbox.warm import WarmSandbox


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def sandbox() -> AsyncIterator[WarmSandbox]:
    """The strong sandbox. Without it, the test fails and says why; it is never skipped."""
    async with BubblewrapSandbox() as opened:
        yield opened


@pytest_asyncio.fixture(
    loop_scope="module",
    scope="module",
    params=[BubblewrapSandbox, SandlockSandbox],
    ids=["bubblewrap", "sandlock"],
)
async def isolated(request: pytest.FixtureRequest) -> AsyncIterator[WarmSandbox]:
    """Each back end of level medium or better."""
    async with request.param() as opened:
        yield opened


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach, unlike pytest's."""
    with tempfile.TemporaryDirectory(prefix="alita-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder

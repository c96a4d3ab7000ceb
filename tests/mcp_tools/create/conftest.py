"""Fixtures for tool creation: a real sandbox, a real library, and a scripted author."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

sys.path.insert(0, str(Path(__file__).parent))

from creating import LibraryStore

from mcp_tools.library.library import Library
from mcp_tools.sandbox.backends import open_sandbox
from mcp_tools.sandbox.protocol import Sandbox


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    """The strongest sandbox on this machine."""
    opened = await open_sandbox()
    yield opened
    await opened.aclose()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LibraryStore]:
    """An empty library."""
    library = Library(tmp_path / "generated_tools", tmp_path / "data")
    yield LibraryStore(library)
    library.close()

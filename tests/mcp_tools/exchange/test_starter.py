"""Each tool that comes with alita passes the checks, and its own tests in the sandbox."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from mcp_tools.create import approve
from mcp_tools.exchange import STARTER_FOLDER
from mcp_tools.exchange.candidates import candidates
from mcp_tools.library.tool_files import read_tool
from mcp_tools.sandbox.backends import BubblewrapSandbox
from mcp_tools.sandbox.protocol import Sandbox
from mcp_tools.tool import Tool

NAMES = sorted(path.stem for path in STARTER_FOLDER.glob("*.py"))


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    async with BubblewrapSandbox() as opened:
        yield opened


def test_about_forty_tools_come_with_alita() -> None:
    found = candidates(STARTER_FOLDER)
    assert [one.name for one in found if one.refused or one.document is None] == []
    assert sorted(one.name for one in found) == NAMES
    assert len(NAMES) >= 40


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_tool_that_comes_with_alita_passes_its_tests(name: str, sandbox: Sandbox) -> None:
    tool = read_tool(STARTER_FOLDER, name)
    assert isinstance(tool, Tool), tool
    tests = approve.tests_of(tool)
    assert len(tests) >= 3
    if tool.capabilities.packages or tool.capabilities.tools:
        assert name in {"draw_chart", "plot_table_columns"}  # they need a package that is not here
        return
    done = await approve.run_tests(tool, sandbox)
    assert (len(done.passed), done.failed, done.not_run) == (len(tests), [], [])

"""The programs of other people that judge the server; each is left out, with its reason, where it is not installed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from judging import MCP1, NODE_FOLDER, Served, furnish, over_http


def _missing(what: str, remedy: str) -> None:
    """Leaves the test out; in CI, where everything must be there, it fails."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is missing in CI: {remedy}")
    pytest.skip(f"{what} is missing: {remedy}")


@pytest.fixture(scope="session")
def node() -> Path:
    """The Node that came with the packages: the Inspector and the conformance suite want 22.19 or newer."""
    program = NODE_FOLDER / ".bin" / "node"
    if not program.exists():
        _missing("the Node programs", "install npm, then `make test`")
    return program


@pytest.fixture(scope="session")
def mcp1() -> Path:
    """The interpreter that has the SDK of the 1.x line."""
    if not MCP1.exists():
        _missing("the environment of the 1.x SDK", "`make test`")
    return MCP1


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server over HTTP that asks for a token."""
    with over_http(furnish(tmp_path_factory.mktemp("http")), token="judges-only-0123456789abcdef") as served:
        yield served

"""What tests of reports share."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.played_run import played


@pytest.fixture
async def run_id(tmp_path: Path) -> str:
    """A run with a call of each kind, in the folder `runs`."""
    return await played(tmp_path / "runs")

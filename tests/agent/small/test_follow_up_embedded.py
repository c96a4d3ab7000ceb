"""The real embedded model restates a follow-up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.budget import Budget, RunLimits
from agent.context import Context
from agent.conversation import Conversation, Turn
from agent.follow_up import understand
from agent.models.embedded.model import EmbeddedModel
from agent.store.journal import Journal
from support.decisions import OneModel

BEFORE = Turn("How many bytes are in 3 MiB?", "3145728", "r", "answered")


@pytest.mark.model
@pytest.mark.timeout(600)
async def test_a_weak_model_restates_what_points_back(embedded: EmbeddedModel, tmp_path: Path) -> None:
    nothing: Any = None
    journal = Journal.create(tmp_path / "journal.jsonl")
    context = Context(OneModel(embedded), nothing, nothing, journal, Budget(RunLimits()), lambda event: None, "run")
    restated = await understand(context, "And in 7 GiB?", Conversation([BEFORE]), lambda _: None)
    assert restated.question == "How many bytes are in 7 GiB?"
    await journal.aclose()

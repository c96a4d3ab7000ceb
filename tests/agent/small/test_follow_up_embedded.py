"""The real embedded model restates a follow-up."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.conversation import Conversation, Transcript, Turn
from agent.follow_up import understand
from agent.models.embedded.model import EmbeddedModel
from agent.store.journal import Journal
from support.decisions import context_with

BEFORE = Turn("How many bytes are in 3 MiB?", "3145728", "r", "answered")


@pytest.mark.model
@pytest.mark.timeout(600)
async def test_a_weak_model_restates_what_points_back(embedded: EmbeddedModel, tmp_path: Path) -> None:
    journal = Journal.create(tmp_path / "journal.jsonl")
    context = context_with(embedded, journal=journal)
    restated = await understand(
        context, "And in 7 GiB?", lambda: (Conversation([BEFORE]), Transcript()), lambda *_: None, has_files=False
    )
    assert restated.question == "How many bytes are in 7 GiB?"
    await journal.aclose()

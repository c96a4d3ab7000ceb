"""The real embedded model restates follow-ups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.budget import Budget, Limits
from agent.context import Context
from agent.conversation import Conversation, Turn, understand
from agent.models.embedded.local_server import stop_servers
from agent.models.embedded.model import EmbeddedModel
from agent.store.journal import Journal
from support.decisions import OneModel

CASES = [
    ("How many bytes are in 3 MiB?", "3145728", "And in 7 GiB?", "How many bytes are in 7 GiB?"),
    ("Is 2024 a leap year?", "yes", "2023?", "Is 2023 a leap year?"),
    ("Is 91 prime?", "no", "what are its factors?", "What are the factors of 91?"),
]


@pytest.mark.model
@pytest.mark.timeout(600)
async def test_a_weak_model_restates_what_points_back(weights_path: Path, tmp_path: Path) -> None:
    model = EmbeddedModel(lambda: weights_path, tmp_path / "runtime", idle=60)
    nothing: Any = None
    try:
        for number, (question, answer, message, expected) in enumerate(CASES):
            journal = Journal.create(tmp_path / str(number) / "journal.jsonl")
            context = Context(OneModel(model), nothing, nothing, journal, Budget(Limits()), lambda event: None, "run")
            talk = Conversation([Turn(question, answer, "r", "answered")])
            assert (await understand(context, message, talk, lambda _: None)).question == expected
            await journal.aclose()
    finally:
        await model.aclose()
        stop_servers(tmp_path / "runtime")

"""The real embedded model: it loads, holds to a schema, samples, streams and is cut at its limit."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.models.embedded import EmbeddedModel
from agent.models.local_server import stop_servers
from agent.models.weights import Weights

pytestmark = pytest.mark.model


@pytest.fixture
async def model(weights_path: Path, tmp_path: Path) -> AsyncIterator[EmbeddedModel]:
    opened = EmbeddedModel(Weights(tmp_path, path=weights_path).ready, tmp_path / "runtime", idle=60)
    yield opened
    await opened.aclose()
    stop_servers(tmp_path / "runtime")


async def test_it_answers(model: EmbeddedModel) -> None:
    """One start for everything that needs the real engine."""
    question = [{"role": "user", "content": "What is the capital of France? Give city and country."}]
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "country": {"enum": ["France", "Spain"]}},
        "required": ["city", "country"],
        "additionalProperties": False,
    }
    answer = await model.complete(question, schema=schema, temperature=0, max_tokens=60)
    assert answer.parsed == {"city": "Paris", "country": "France"}
    assert answer.usage.cost == 0
    assert answer.usage.output_tokens > 5

    pieces: list[str] = []
    cut = await model.complete(question, max_tokens=4, temperature=0, on_delta=pieces.append)
    assert cut.finish == "length"
    assert "".join(pieces) == cut.text != ""

    animals = [{"role": "user", "content": "Name an animal at random, one word."}]
    samples = await model.complete_many(animals, 4, temperature=1.5, seed=1, max_tokens=8)
    assert len({s.text for s in samples}) > 1, "each sample has a seed of its own"
    again = await model.complete_many(animals, 4, temperature=1.5, seed=1, max_tokens=8)
    assert len(again) == 4

"""The real embedded model: it loads, holds to a schema, samples, streams and is cut at its limit."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from agent.models.embedded.local_server import running, stop_servers
from agent.models.embedded.model import EmbeddedModel
from agent.models.embedded.prefixes import KeptPrefixes, fixed_prefixes
from agent.models.embedded.server import ask_engine
from agent.models.embedded.weights import Weights
from agent.models.protocol import Request

pytestmark = pytest.mark.model


async def test_it_answers(embedded: EmbeddedModel) -> None:
    """One start for everything that needs the real engine."""
    question = [{"role": "user", "content": "What is the capital of France? Give city and country."}]
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "country": {"enum": ["France", "Spain"]}},
        "required": ["city", "country"],
        "additionalProperties": False,
    }
    answer = await embedded.complete(Request(question, schema=schema, temperature=0, max_tokens=60))
    assert answer.parsed == {"city": "Paris", "country": "France"}
    assert answer.usage.cost == 0
    assert answer.usage.output_tokens > 5

    pieces: list[str] = []
    cut = await embedded.complete(Request(question, max_tokens=4, temperature=0, on_delta=pieces.append))
    assert cut.finish == "length"
    assert "".join(pieces) == cut.text != ""


@pytest.mark.timeout(600)
async def test_a_prefix_that_was_kept_is_as_good_as_one_that_was_just_read(weights_path: Path, tmp_path: Path) -> None:
    """At temperature 0 a server that takes it back says what one says that still holds it."""
    weights, runtime = Weights(weights_path.parent).ready, tmp_path / "kept-runtime"
    prefix = fixed_prefixes()[-1]

    def opened() -> EmbeddedModel:
        return EmbeddedModel(weights, runtime, idle=60, prefixes=tmp_path / "prefixes")

    async def said(model: EmbeddedModel, question: str) -> tuple[str, int]:
        *whole, (role, head) = prefix.turns
        messages = [{"role": r, "content": t} for r, t in whole] + [{"role": role, "content": head + question}]
        messages += [{"role": "assistant", "content": "So:"}] * (prefix.messages - len(messages))
        answer = await model.complete(Request(messages, temperature=0, max_tokens=24))
        return answer.text, answer.usage.cached_tokens

    model = opened()
    await said(model, "Add 7 and 8.")
    held = await said(model, "Which numbers below 30 are prime?")
    [(_, state)] = running(runtime)
    kept = KeptPrefixes(Path(state.prefixes))
    if prefix in kept.missing():
        assert kept.make(prefix, partial(ask_engine, state), lambda: False)
    await model.aclose()
    stop_servers(runtime)
    model = opened()
    assert await said(model, "Which numbers below 30 are prime?") == held
    assert held[1] > 50
    await model.aclose()
    stop_servers(runtime)

"""What tokens cost: a small table of well-known models; what is not in it is unknown, never free."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_DATED = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8}|latest|preview(-[\d-]+)?)$")


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    input: float
    output: float
    cached: float | None = None
    """Of input tokens read from the provider's cache; None if they cost like others."""

    def cost(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        """US dollars for one call; `cached_tokens` are among `input_tokens`."""
        cached = min(cached_tokens, input_tokens)
        fresh = input_tokens - cached
        cached_price = self.input if self.cached is None else self.cached
        return (fresh * self.input + cached * cached_price + output_tokens * self.output) / 1_000_000


FREE = Price(0.0, 0.0)
"""The embedded model's."""


def price_of(model: str) -> Price | None:
    """A model's price if known; named with or without provider and date (`openai/gpt-4o-2024-08-06`)."""
    table = _table()
    name = model.rpartition("/")[2].lower()
    return table.get(name) or table.get(_DATED.sub("", name))


@cache
def _read() -> dict[str, object]:
    data: dict[str, object] = json.loads(Path(__file__).with_name("prices.json").read_text())
    return data


@cache
def _table() -> dict[str, Price]:
    models = _read()["models"]
    assert isinstance(models, dict)
    return {name: Price(**price) for name, price in models.items()}

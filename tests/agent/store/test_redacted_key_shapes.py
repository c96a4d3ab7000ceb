"""What looks like a key of a known provider is not written down, wherever it stands."""

from __future__ import annotations

import pytest

from agent.store.redact import REDACTED, Redactor

KEYS = {
    "openai": "sk-" + "a" * 24,
    "huggingface": "hf_" + "A" * 24,
    "firecrawl": "fc-" + "0af" * 10 + "12",
    "tavily": "tvly-" + "x" * 24,
    "google": "AIza" + "b" * 35,
    **{f"github {letter}": f"gh{letter}_" + "Z" * 36 for letter in "pousr"},
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS.keys())
def test_keys_of_every_shape_are_replaced(key: str) -> None:
    assert Redactor().text(f"use {key}, please") == f"use {REDACTED}, please"
    assert Redactor().json({"a": [key]}) == {"a": [REDACTED]}


def test_ordinary_text_stays_the_same_object() -> None:
    value = {"text": "ask- and half-life, AIzaX, gh_p"}
    assert Redactor().json(value) is value

"""What looks like a key of a known provider is not written down, wherever it stands."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.answer import Answer, Citation
from agent.events import RunFinished, ToolCalled
from agent.store.redact import REDACTED, RedactedStream, Redactor

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
    assert Redactor().json(f"the key:\n{key}\x1b{key}") == f"the key:\n{REDACTED}\x1b{REDACTED}"


@pytest.mark.parametrize("hidden", ["\u200b", "\u200d", "\x1b[31m", "\x08", "\xad"], ids=ascii)
def test_a_key_with_invisible_characters_inside_is_replaced(hidden: str) -> None:
    redactor = Redactor(["my-very-own-endpoint-key"])
    for key in ("my-very-own-endpoint-key", KEYS["openai"]):
        split = f"use {key[:7]}{hidden}{key[7:]}, please"
        assert redactor.text(split) == f"use {REDACTED}, please"
        assert redactor.json({"a": [split]}) == {"a": [f"use {REDACTED}, please"]}
    assert redactor.text(f"so{hidden}me words") == f"so{hidden}me words"


def test_a_streamed_key_with_an_invisible_character_inside_is_replaced() -> None:
    stream = RedactedStream(Redactor())
    pieces = ["use ", KEYS["openai"][:9], "\u200b", KEYS["openai"][9:], ", please"]
    assert "".join([*map(stream.add, pieces), stream.end()]) == f"use {REDACTED}, please"


KNOWN = ("correct-horse", "battery staple 1", "correct-horse-battery", *KEYS.values())


@given(
    parts=st.lists(st.one_of(st.sampled_from(KNOWN), st.text("ab s-k_é\n.\\", max_size=12)), max_size=8),
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=10),
)
def test_no_key_slips_through_pieces_that_cut_it_in_two(parts: list[str], sizes: list[int]) -> None:
    text, redactor = " ".join(parts), Redactor(KNOWN[:3])
    stream, told, start = RedactedStream(redactor), [], 0
    for size in itertools.cycle(sizes):
        if start >= len(text):
            break
        told.append(stream.add(text[start : start + size]))
        start += size
    shown = "".join([*told, stream.end()])
    assert not any(key in shown for key in KNOWN)
    assert shown == redactor.text(text)


def test_every_text_of_an_event_is_clean() -> None:
    called = ToolCalled("tool", {"a": ["use correct-horse"]}, ok=True, preview="correct-horse", seconds=0.1)
    finished = RunFinished(Answer("it is correct-horse", "answered", sources=(Citation(1, "u", "t", "correct-horse"),)))
    for event in (called, finished):
        assert "correct-horse" not in str(Redactor(["correct-horse"]).values(event))

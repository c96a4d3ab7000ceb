"""Characters that a reader cannot see, or that deceive one who can."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from mcp_tools.text import joiners_in_place

_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_ANSI = re.compile(r"[\x1b\x9b\x9d\x90]")
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2065\u2800\u3164\uffa0")
"""Letters and marks without a glyph, which Unicode does not class as formats."""
_SELECTORS = re.compile("[\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_EMOJI = re.compile(
    "[0-9#*\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
_RULES_OF_CATEGORIES = {
    "Cc": "control",
    "Zl": "control",
    "Zp": "control",
    "Cf": "zero-width",
    "Co": "private-use",
    "Cs": "surrogate",
}


def hidden_characters(text: str, *, lines: bool = True) -> Iterator[tuple[str, str]]:
    """The rule that each unfit character breaks, with the character written so that it can be seen.

    Args:
        text: The text.
        lines: Whether it may have several lines and tabs.
    """
    if text.isascii() and (text.replace("\n", "").replace("\t", "") if lines else text).isprintable():
        return
    joiners = joiners_in_place(text)
    for position, character in enumerate(text):
        if (lines and character in "\n\t") or position in joiners:
            continue
        if rule := _rule(character, text[position - 1] if position else ""):
            yield rule, f"U+{ord(character):04X}"


def _rule(character: str, before: str) -> str:
    """The rule that a character breaks after the one before it; empty when none."""
    point = ord(character)
    if _ANSI.match(character):
        return "ansi"
    if character in _BIDI:
        return "bidi"
    if 0xE0000 <= point <= 0xE007F:
        return "tag"
    if _SELECTORS.match(character):
        return "" if character in "\ufe0e\ufe0f" and _EMOJI.match(before) else "variation-selector"
    if character in _FILLERS or 0xE0080 <= point <= 0xE0FFF or 0xFFF0 <= point <= 0xFFF8:
        return "zero-width"
    if 0xFDD0 <= point <= 0xFDEF or point & 0xFFFE == 0xFFFE:
        return "private-use"
    return _RULES_OF_CATEGORIES.get(unicodedata.category(character), "")

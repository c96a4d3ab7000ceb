"""Whether an answer of a small model was copied from what it was shown, and not from the question or from memory."""

from __future__ import annotations

import re

_UNKNOWN = re.compile(r"(?:unknown|none|not (?:stated|given|known|found)|n/?a)?[.\s]*", re.IGNORECASE)
_YES_OR_NO = re.compile(r"(?:is|are|was|were|does|do|did|has|have|had|can|will|must|may)\b", re.IGNORECASE)


def stands_there(answer: str, text: str, question: str) -> bool:
    """Whether an answer was copied from a text, and not from the question.

    Args:
        answer: What the model wrote.
        text: What it was shown.
        question: What was asked.
    """
    if _UNKNOWN.fullmatch(answer):
        return False
    if answer.strip(". ").casefold() in {"yes", "no"}:
        return bool(_YES_OR_NO.match(question))
    is_news = not has_words(question, answer) or " or " in question
    return has_words(text, answer) and is_news


def has_words(text: str, words: str) -> bool:
    """Whether words stand in a text one after the other, each whole: 7 is no part of 1976."""
    wanted = plain(words)
    return bool(wanted) and f" {wanted} " in f" {plain(text)} "


def plain(text: str) -> str:
    """The text's letters, digits and points between them, so that layout and marks do not matter."""
    return " ".join(re.findall(r"\w+(?:[.,:]\w+)*", text.casefold()))

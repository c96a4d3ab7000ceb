"""The words of a task and of a page, compared."""

from __future__ import annotations

import re

from mcp_tools.checks.modules import words

_WORD = re.compile(r"[^\W_]+(?:[.,:][^\W_]+)*")
_COMMON = words(
    """
    a about all an and any are as at be been by can click do does find first for form from get give go has have how
    i if in into is it its last me my name of on open or out page please press see site tell that the their them then
    there this to type up use using was what when where which who why will with you your
    """
)


def words_of(text: str, *, keep_common: bool = False) -> set[str]:
    """The words that say something, or all, in lower case and without a plural s."""
    return {_stem(word) for word in _WORD.findall(text.casefold()) if keep_common or word not in _COMMON}


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def common_words(one: str, other: str) -> int:
    """How many words both have."""
    return len(words_of(one) & words_of(other))

"""The answer inside a decision, told piece by piece while the decision's JSON is still being written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class AnswerInside:
    """Reads a decision as far as it came, and tells how its answer goes on.

    What cannot be read, such as a second attempt behind a first, is not told: the whole answer follows anyway.

    Args:
        tell: Gets each further piece of the answer.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._written = ""
        self._told = ""

    def add(self, piece: str) -> None:
        """Takes the next piece of the decision's text."""
        self._written += piece
        answer = _answer_in(self._written)
        if len(answer) > len(self._told) and answer.startswith(self._told):
            self._tell(answer[len(self._told) :])
            self._told = answer


def _answer_in(text: str) -> str:
    """The answer of a decision that may break off anywhere; nothing where it has none yet."""
    from pydantic_core import from_json

    _, brace, rest = text.partition("{")
    try:
        decision: Any = from_json(brace + rest, allow_partial="trailing-strings")
    except ValueError:
        return ""
    action = decision.get("next") if isinstance(decision, dict) else None
    answer = action.get("answer") if isinstance(action, dict) else None
    return answer if isinstance(answer, str) else ""

"""How an attempt resolved, by rules over what it left; the overseer's diagnosis, where there is one, knows more."""

from __future__ import annotations

import re

from agent.gaia.attempt import Attempt

_FINDING = frozenset({"search", "browse", "read_file"})


def resolution_of(attempt: Attempt, truth: str | None) -> str:
    """correct, format_error, retrieval_failure, reasoning_gap, tool_limit or server_tool_use; empty when unknown.

    Args:
        attempt: A scored attempt.
        truth: The true answer; None when there is none to compare with.
    """
    if attempt.status in {"error", "interrupted"} or truth is None or attempt.correct is None:
        return ""
    if attempt.correct:
        return "correct"
    if _holds(attempt.raw_answer, truth):
        return "format_error"
    if attempt.status in {"limit", "timeout"} or attempt.tools_failed:
        return "tool_limit"
    if attempt.status == "missing-file" or (not attempt.answer and _FINDING & set(attempt.routes)):
        return "retrieval_failure"
    return "reasoning_gap"


def _holds(text: str, truth: str) -> bool:
    """Whether the true answer stands in a text as words of its own."""
    said, wanted = (" ".join(re.findall(r"[\w.]+", part.lower())) for part in (text, truth))
    return bool(wanted) and f" {wanted} " in f" {said} "

"""Scores answers like GAIA's leaderboard or the Agents Course.

The reference answer alone determines whether answers are compared as numbers, lists or strings. The rules were checked
against six public copies of GAIA's scorer; see `docs/benchmark.md`.
"""

from __future__ import annotations

import re
import string
from typing import Literal, NamedTuple

from agent.gaia.attempt import Attempt
from agent.state import LOOKING_ACTIONS

Mode = Literal["gaia", "course"]

_SEPARATORS = re.compile("[,;]")
_SPACE = re.compile(r"\s")
_NUMBER_SIGNS = str.maketrans("", "", "$%,")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


class Score(NamedTuple):
    """The score of an answer, the rule that was applied, and a reason that never quotes the reference answer."""

    correct: bool
    path: Literal["number", "list", "string", "course"]
    reason: str


def score(prediction: object, truth: object, mode: Mode = "gaia") -> Score:
    """Compare an answer with the reference answer. This never raises an exception.

    Args:
        prediction: The answer. Other types are converted to text, None to `None`.
        truth: The reference answer.
        mode: `gaia` for the leaderboard's rules, `course` for the Agents Course's.
    """
    said, wanted = _safe_str(prediction), _safe_str(truth)
    differs = "the texts differ"
    if mode == "course":
        correct = said.strip().lower() == wanted.strip().lower()
        return Score(correct, "course", "equal" if correct else differs)
    if _number(wanted) is not None:
        correct = _same_number(said, wanted)
        wrong = "not a number" if _number(said.translate(_NUMBER_SIGNS)) is None else "the numbers differ"
        return Score(correct, "number", "equal" if correct else wrong)
    if not _SEPARATORS.search(wanted):
        correct = _squeezed(said).translate(_PUNCTUATION) == _squeezed(wanted).translate(_PUNCTUATION)
        return Score(correct, "string", "equal" if correct else differs)
    ours, theirs = _SEPARATORS.split(said), _SEPARATORS.split(wanted)
    if len(ours) != len(theirs):
        return Score(False, "list", f"{len(ours)} elements instead of {len(theirs)}")
    for position, (one, other) in enumerate(zip(ours, theirs, strict=True), 1):
        numeric = _number(other) is not None
        if not (_same_number(one, other) if numeric else _squeezed(one) == _squeezed(other)):
            return Score(False, "list", f"element {position} differs")
    return Score(True, "list", "equal")


def _same_number(said: str, wanted: str) -> bool:
    """Compare as numbers. Text that is not a number counts as infinity, as in GAIA's scorers."""
    given = _number(said.translate(_NUMBER_SIGNS))
    return (float("inf") if given is None else given) == _number(wanted)


def _squeezed(text: str) -> str:
    return _SPACE.sub("", text).lower()


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _safe_str(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - `__str__` of an arbitrary object may raise anything
        return "<unprintable>"


def resolution_of(attempt: Attempt, truth: str | None) -> str:
    """Classify the result of a scored attempt. Return an empty string if the score is unknown.

    Returns:
        correct, format_error, server_tool_use (a tool of an external server failed), tool_limit, retrieval_failure or
        reasoning_gap.
    """
    if attempt.status in {"error", "interrupted"} or truth is None or attempt.correct is None:
        return ""
    if attempt.correct:
        return "correct"
    given, wanted = (" ".join(re.findall(r"[\w.]+", part.lower())) for part in (attempt.raw_answer, truth))
    if wanted and f" {wanted} " in f" {given} ":  # compares whole words
        return "format_error"
    if attempt.servers_failed:
        return "server_tool_use"
    if attempt.status in {"limit", "timeout"} or attempt.tools_failed:
        return "tool_limit"
    is_found = attempt.answer or not LOOKING_ACTIONS & set(attempt.routes)
    return "reasoning_gap" if is_found and attempt.status != "missing-file" else "retrieval_failure"

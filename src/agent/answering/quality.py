"""Judges an answer by its basis: computed, read, found on the web, or only claimed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from agent.answer import Citation, has_words
from agent.state import COMPUTING_ACTIONS, LOOKING_ACTIONS, State, Step

Confidence = Literal["high", "medium", "low"]
Basis = Literal["computed", "file", "web", "model", "none"]
_HEDGE = re.compile(
    r"\b(?:(?:could|can|was|were|am|is|are)(?: ?not|n[’']t)"
    r" (?:be )?(?:able|find|found|determin|verif|confirm|establish|answer)"
    r"|unable to (?:find|determine|verify|confirm|answer)|(?:i|we) (?:do not|don[’']t) know|not (?:sure|certain)"
    r"|best guess|uncertain|no (?:reliable )?(?:source|information) (?:was|could be) found)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Quality:
    """The basis and certainty of an answer."""

    basis: Basis
    confidence: Confidence
    complete: bool
    """False if a limit, or the answer itself, says that something is missing."""
    sources: int
    """Number of websites that the answer cites."""
    agreeing: int
    """Number of sources whose quotations contain a short answer word for word."""
    why: str

    @property
    def is_doubtful(self) -> bool:
        """True if there is an answer, but it says that something is missing, or a limit ended the run."""
        return not self.complete and self.basis != "none"


def judge(text: str, state: State, cited: Sequence[Citation]) -> Quality:
    """Judge an answer by its steps and sources."""
    steps = state.get("steps", [])
    sites = {urlsplit(one.url).hostname for one in cited}
    agreeing = {urlsplit(one.url).hostname for one in cited if has_words(one.quote, text)}
    complete = bool(text) and not state.get("limit") and not _HEDGE.search(text)

    def quality(basis: Basis, confidence: Confidence, why: str) -> Quality:
        return Quality(basis, confidence if complete else "low", complete, len(sites), len(agreeing), why)

    if not text:
        return quality("none", "low", "there is no answer")
    if state.get("limit"):
        return quality(_basis(steps, text, sites), "low", f"the run reached its limit of {state['limit']}")
    if hedge := _HEDGE.search(text):
        return quality(_basis(steps, text, sites), "low", f"the answer is unsure itself: “{hedge[0]}”")
    match _basis(steps, text, sites):
        case "computed":
            return quality("computed", "high", "a program or a tool computed it")
        case "file":
            return quality("file", "high", "it is contained in the text that was read")
        case "web" if len(sites) > 1:
            return quality("web", "high", f"{len(sites)} sites are cited")
        case "web":
            return quality("web", "medium", "one site is cited")
    if not steps and any(not file["problem"] for file in state.get("attached", [])):
        return quality("file", "medium", "it is based on the attached files")
    if not steps:
        return quality("model", "medium", "nothing was looked up or computed")
    if not any(step["ok"] or has_words(step["finding"], text) for step in steps):
        return quality("model", "low", "none of the steps succeeded")
    return quality("model", "medium", "it is based on what was read or computed")


def _basis(steps: Sequence[Step], text: str, sites: set[str | None]) -> Basis:
    done = [step for step in steps if step["ok"]]
    if done and done[-1]["action"] in COMPUTING_ACTIONS:
        return "computed"
    if sites:
        return "web"
    if any(step["action"] in COMPUTING_ACTIONS and has_words(step["finding"], text) for step in done):
        return "computed"
    return (
        "file"
        if any(step["action"] in LOOKING_ACTIONS and has_words(step["finding"], text) for step in done)
        else "model"
    )

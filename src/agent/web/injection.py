"""Text from outside that tries to give the agent orders: found by its wording, told, and never obeyed.

No list of wordings is complete. What keeps orders from being followed is that such text reaches models inside marked
data blocks only; what is found here is told to the user, and is left out of quotations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent.events import Event, InstructionFound
from mcp_tools.text import one_line, printable

_PREVIOUS = r"(?:previous|prior|above|preceding|earlier|former|your|all|any|other|system|these|those)"
_ORDERS = r"(?:instructions?|prompts?|rules|guidelines|directions|orders|commands|guardrails|training|context)"
_MACHINE = (
    r"(?:AI|A\.I\.|LLMs?|language models?|chat ?bots?|(?:AI |virtual )?assistants?|(?:AI |web |browser )?agents?"
    r"|GPT|ChatGPT|Claude|Gemini|Copilot)"
)
_WORDINGS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:ignore|disregard|forget|override|bypass|do not follow|stop following)\b[^.\n]{{0,40}}\b{_PREVIOUS}\b"
        rf"[^.\n]{{0,30}}\b{_ORDERS}\b",
        rf"\b(?:new|updated|real|actual|important|secret|hidden)\s+{_ORDERS}\s+(?:for|to)\s+(?:the\s+|any\s+|all\s+|you\b)"
        rf"(?:{_MACHINE}\b)?",
        rf"\b(?:note|message|attention|notice|instructions?|warning|important)\b[^.\n]{{0,12}}\b(?:to|for)\s+"
        rf"(?:the |any |all |every |you,? )?{_MACHINE}\b",
        rf"\b(?:if|when) you are (?:an? )?(?:\w+ )?{_MACHINE}\b",
        rf"\b(?:as|you are) an? (?:\w+ )?{_MACHINE}\b[^.\n]{{0,40}}\b(?:you )?(?:must|should|have to|need to|will)\b",
        r"\byou are (?:now|no longer)\b[^.\n]{0,60}\b(?:assistant|agent|mode|model|jailbroken|unrestricted|DAN)\b",
        r"\b(?:reveal|print|output|show|repeat|leak|tell me|send|disclose)\b[^.\n]{0,30}\b(?:your|the)\s+"
        r"(?:system prompt|hidden prompt|instructions|api[ _-]?keys?|credentials|passwords?)\b",
        r"\byour (?:only |final )?(?:answer|reply|response|output) (?:must|should|has to) (?:be|say|contain)\b"
        r"[^.\n]{0,12}[\"“']",
        r"\b(?:answer|reply|respond|say)\b[^.\n]{0,20}\b(?:only |exactly )?(?:with|:)?\s*[\"“'][^\"”'\n]{1,80}[\"”']"
        r"[^.\n]{0,30}\b(?:to (?:every|all|any)|no matter|regardless|instead|and nothing else)\b",
        r"\b(?:do not|don't|never)\s+(?:tell|inform|mention|alert|reveal)\b[^.\n]{0,30}\b(?:the )?"
        r"(?:user|human|operator|person)\b",
        r"<\|?(?:im_start|im_end|system|endoftext|start_header_id)\|?>|\[/?INST\]|<</?SYS>>|^\s*(?:#{1,3}\s*)?system\s*(?:prompt|message)?\s*:",
    )
)
_LINE = re.compile(r"[^\n]+")
_LONGEST = 4_000
"""Characters of a line that are looked at together."""
_OVERLAP = 400
"""By so many the parts of a longer line overlap: no order is cut in two."""
_EXCERPT = 160
_MOST = 5
"""Excerpts of one text: more of them tell nothing new."""


def gives_orders(text: str) -> bool:
    """Whether a passage reads like an instruction to a language model; what is invisible in it hides none."""
    return any(_order_in(part) for part in _parts(printable(text)))


def orders_in(text: str) -> list[str]:
    """Excerpts that read like instructions to a language model, each on one line; at most a few."""
    found: list[str] = []
    for part in (part for line in _LINE.findall(printable(text)) for part in _parts(line)):
        if match := _order_in(part):
            start = max(0, match.start() - _EXCERPT // 4)
            found.append(one_line(part[start:], _EXCERPT))
        if len(found) == _MOST:
            break
    return list(dict.fromkeys(found))


def _order_in(part: str) -> re.Match[str] | None:
    return next((match for wording in _WORDINGS if (match := wording.search(part))), None)


def _parts(text: str) -> Iterator[str]:
    """A text as it is, or a long one in parts: a pattern may take the square of what it is given."""
    for start in range(0, max(len(text) - _OVERLAP, 1), _LONGEST - _OVERLAP):
        yield text[start : start + _LONGEST]


def findings(source: str, text: str) -> list[Event]:
    """What a text from outside gives to tell the user.

    Args:
        source: Its address, file or tool.
        text: What stands there.
    """
    return [InstructionFound(source, excerpt) for excerpt in orders_in(text)]

"""A follow-up, restated by a small model: only what points back, told from its words, and without new numbers.

A small model cannot be trusted to leave a question alone that stands alone: it is asked only about messages in which
these rules see a reference. They know English.
"""

from __future__ import annotations

import re

from agent.context import Context
from agent.conversation import NUMBER, Conversation, flaw_of, restate

_QUOTED = re.compile(r"```.*?```|`[^`]*`|\"[^\"]*\"|“[^”]*”|‘[^’]*’|(?<!\w)'[^']*'(?!\w)", re.DOTALL)
_OPENING = re.compile(
    r"^(?:and|but|or|so|then|also|now|okay|ok|no|yes|instead|same|again|else|why|how (?:so|come)|what if"
    r"|(?:what|how) about|(?:what|which|who) else|like what|such as|not)\b",
    re.IGNORECASE,
)
_FRAGMENT = re.compile(
    r"^(?:for|in|with|without|to|from|of|as|on|at|by|per|until|since|the|only|just)\b", re.IGNORECASE
)
_REFERENCE = re.compile(
    r"""\b(?:
        the\s(?:same|previous|former|latter|answer|result|last\s(?:one|answer|result|question)|(?:first|second)\sone)
      | the\sother\s(?:one|way)
      | (?:that|this|your|these|those)\s(?:ones?|number|result|answer|value|word|list|date|text|tool|time)
      | other\sway\s(?:a)?round
      | as\s(?:above|before)
      | (?:do|try|run|say|repeat|explain|compute|show)\s(?:it|that|this)
      | (?:once|one)\smore
      | instead
      | again
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_PERSON = re.compile(r"\b(?:it|its|it's|he|him|his|she|her|hers|they|them|their|theirs|there)\b", re.IGNORECASE)
_DEMONSTRATIVE = re.compile(
    r"""(?:^|\b(?:is|are|was|were|does|do|did|of|by|to|from|with|than|about|after|before|and|or|what's
              |double|half|multiply|divide|convert|reverse|square|write|sort)\s)
        (?:that|this|these|those)
        (?:\s*[?.!]?$|\s(?:to|in|into|by|as|is|are|was|with|backwards|and|from|before|after|more|less|than|for|times|plus|minus|divided)\b|\s[a-z]+\?$)""",
    re.IGNORECASE | re.VERBOSE,
)
_EXPLETIVE = re.compile(
    r"\b(?:how (?:long|many \w+) (?:does|did|will|would) it take|is it (?:true|possible)"
    r"|there (?:is|are)|(?:is|are|were|was) there)\b",
    re.IGNORECASE,
)
"""Words that refer to nothing."""
_LONGEST_FRAGMENT = 6
"""Words."""
_LONG = 400
"""Characters from which on a message brings what it speaks of."""


async def restate_reference(message: str, earlier: Conversation, source: Conversation | None, context: Context) -> str:
    """The message as a question that stands alone; as it is where it does so already."""
    return await restate(message, earlier, source, context, _flaw) if refers_back(message) else message


def _flaw(message: str, question: str, shown: str) -> str:
    if wrong := flaw_of(message, question, shown):
        return wrong
    if NUMBER.search(message):
        known = set(NUMBER.findall(f"{message} {shown}"))
        if invented := [number for number in NUMBER.findall(question) if number not in known]:
            return f"brought in {invented[0]}"
    return ""


def refers_back(message: str) -> bool:
    """Whether a message needs the conversation before it can be understood.

    Args:
        message: What was typed, in English; in other languages nothing is seen.
    """
    text = " ".join(_QUOTED.sub("“”", message).split())
    if len(message) > _LONG:
        return False
    if _OPENING.match(text) or _REFERENCE.search(text):
        return True
    if len(text.split()) <= _LONGEST_FRAGMENT and _FRAGMENT.match(text):
        return True
    if len(text.split()) <= 2 and text.endswith("?"):
        return True
    clause = re.split(r"[,;:.]\s", text, maxsplit=1)[0]
    return bool(_PERSON.search(_EXPLETIVE.sub("", clause)) or _DEMONSTRATIVE.search(clause))

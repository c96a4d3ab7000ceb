"""The words of a question that are worth searching for."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W_]+")
_MOST = 24
"""Words of a query that count: a long question says what it wants early and often."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_STOP_WORDS = _words(
    """
    a about above after again all also am an and any are as at be because been before being below
    between both but by can could did do does doing down during each every exactly few for from
    further give given gives had has have having he her here hers him his how i if in into is it its
    itself just let many me more most much must my no nor not now of off on once one only or other
    our out over own please s same shall she should so some such t than that the their them then
    there these they this those through to too under until up us use used using value very was we
    were what when where which while who whom whose why will with would you your
    """
)
_VAGUE_WORDS = _words(
    """
    answer compute calculate calculates computes determine determines find finds get return returns
    tell result results number numbers function tool question
    """
)
"""Words that most tools have: dropped when anything else is left."""


def search_words(text: str) -> list[str]:
    """The words of a text that are worth searching for, each once, in order."""
    found = list(dict.fromkeys(word.lower() for word in _WORD.findall(text[:20_000])))
    kept = [word for word in found if word not in _STOP_WORDS]
    telling = [word for word in kept if word not in _VAGUE_WORDS and not word.isdigit()]
    return (telling or kept)[:_MOST]

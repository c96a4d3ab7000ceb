"""What the words of a question tell: rules that are each sure of one thing that a small model gets wrong."""

from __future__ import annotations

import re

from mcp_tools.create.literals import as_number, question_values

_SITE = re.compile(
    r"\b(?:log ?in|logged in|sign in|sign up|click|fill (?:in|out)|scroll|shopping cart|web ?form)\b"
    r"|https?://|\bwww\.|\b[\w-]+\.(?:com|org|net|io|edu|gov|info|dev|app|eu|uk|de|fr|example)\b"
    r"|\bweb ?(?:site|page)\b",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"```|^\s*(?:import \w|return\b|for \w+ in\b.*:$|while\b.*:$|class \w+.*:$)"
    r"|\bdef \w+\(|\bprint\(|\w\s*=\s*\[",
    re.MULTILINE,
)
_SIGNS = re.compile(r"[^\w\s]{3,}|(?:[^\w\s]+ ){3,}")
_LISTED = re.compile(r":\s[^?:]*,[^?:]*,|\b[MDCLXVI]{3,}\b|\b[A-Z]{8,}\b")
"""An enumeration after a colon, a Roman numeral, a long run of capitals."""
_YEAR = re.compile(r"^(?:1[5-9]|20)\d\d$")


def must_operate_a_site(question: str) -> bool:
    """Whether an address, a site or a form is to be opened; an address in quotes is to be parsed instead."""
    return bool(_SITE.search(_unquoted(question)))


def shows_code(text: str) -> bool:
    """Whether program code stands in the text."""
    return bool(_CODE.search(text))


def has_data(text: str) -> bool:
    """Whether numbers, dates, quoted texts, code or signs stand in the text; a lone year is none."""
    values = [value for value in question_values(text) if not _YEAR.match(value)]
    return bool(values) or shows_code(text) or bool(_SIGNS.search(text)) or bool(_LISTED.search(text))


def _unquoted(question: str) -> str:
    """The question without the texts it quotes: its values that are no numbers, dates and times."""
    for value in question_values(question):
        if not value[:1].isdigit() and as_number(value) is None:
            question = question.replace(value, " ")
    return question

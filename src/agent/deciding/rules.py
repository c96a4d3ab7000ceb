"""What needs no model: rules that are each sure of one thing that a small model gets wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.pages import is_page_read
from agent.state import Decision, State, Step
from mcp_tools.create.form import arguments_for
from mcp_tools.create.literals import as_number, question_values
from mcp_tools.fits import surely_fits

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


def unread(files: Sequence[str], steps: Sequence[Step]) -> bool:
    """Whether a file is left to read: each is read in a step of its own, and one that fails ends it."""
    reads = [step["ok"] for step in steps if step["action"] == "read_file" and not is_page_read(step)]
    return len(reads) < len(files) and all(reads)


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


def asked_before(state: State) -> Decision | None:
    """The call of a tool that was made for the same question with other values, or for this very one."""
    if state.get("files"):
        return None
    for tool in state["tools"]:
        arguments = arguments_for(state["question"], tool.get("asked"))
        if arguments is not None and surely_fits(arguments, tool["inputSchema"]):
            return Decision("use_tool", "The same was asked before, with other values.", tool["name"], arguments)
    return None


def _unquoted(question: str) -> str:
    """The question without the texts it quotes: its values that are no numbers, dates and times."""
    for value in question_values(question):
        if not value[:1].isdigit() and as_number(value) is None:
            question = question.replace(value, " ")
    return question

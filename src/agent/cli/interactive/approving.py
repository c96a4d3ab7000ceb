"""Asking whether a proved tool is kept, or an external one called: all of it is seen before the question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from agent.cli.asking.keeping import shown_call
from agent.cli.screens.lines import Line

if TYPE_CHECKING:
    from agent.cli.interactive.reader import Reader
    from agent.cli.screens.screen import Screen
    from agent.consent.approval import Proposal
    from agent.consent.external_tools import CallProposal

FIRST_LINES = 20
"""Lines of a source that are shown unasked."""
Word = Literal["yes", "no", "always"]
_WORDS: dict[str, Word] = {"y": "yes", "n": "no", "a": "always"}


async def ask_whether_kept(proposal: Proposal, screen: Screen, reader: Reader) -> Word:
    """Shows a proposal and asks until there is an answer.

    Raises:
        EOFError: Ctrl-D instead of an answer.
        Interrupted: Ctrl-C instead of an answer.
    """
    _show(proposal, screen)
    choices: dict[str, str] = dict(_WORDS)
    if _lines(proposal) > FIRST_LINES:
        choices["m"] = "more"
    while True:
        chosen = await reader.choose("Keep this tool?", choices)
        if chosen in _WORDS:
            return _WORDS[chosen]
        screen.code(proposal.source)


async def ask_whether_called(call: CallProposal, screen: Screen, reader: Reader) -> bool:
    """Shows a call of an external tool and asks.

    Raises:
        EOFError: Ctrl-D instead of an answer.
        Interrupted: Ctrl-C instead of an answer.
    """
    for line in shown_call(call):
        screen.note(line)
    return await reader.choose("Call it?", {"y": "yes", "n": "no"}) == "y"


def _show(proposal: Proposal, screen: Screen) -> None:
    screen.line(Line("new", proposal.signature, "●", "bold", whole=True))
    screen.line(Line("purpose", proposal.purpose, whole=True))
    screen.code(proposal.source, first=FIRST_LINES)
    if (hidden := _lines(proposal) - FIRST_LINES) > 0:
        screen.line(Line("", f"… {hidden} more line{'' if hidden == 1 else 's'}: m shows all"))
    for number, check in enumerate(proposal.checks):
        screen.line(Line("checks" if number == 0 else "", check, whole=True))


def _lines(proposal: Proposal) -> int:
    return proposal.source.rstrip("\n").count("\n") + 1

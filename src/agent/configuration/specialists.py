"""The specialists: agents for one kind of task. They answer a whole question, or a part that another run hands over."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Specialist:
    """A specialist. All specialists share the tools of the library and of external servers."""

    summary: str
    """Description for users."""
    prompt: str
    """Appended to the standard prompt."""
    actions: tuple[str, ...]
    """The actions that it may use."""
    share: float
    """Fraction of the run's step limit that applies to a question handed to this specialist."""


SPECIALISTS = {
    "web": Specialist(
        "looks things up on the web, and compares sources",
        "You are the web specialist. Split what is asked into facts, and search for each in the words that a page with "
        "the answer would use. Read the best pages, primary sources first; a snippet is no proof. Two independent "
        "sources, or one primary source, make a fact. Say where sources disagree, and cite each by its number.",
        ("search", "read_file", "run_code"),
        0.5,
    ),
    "code": Specialist(
        "writes and runs programs, and makes tools",
        "You are the code specialist. Read given code line by line before you run or change it. Write the shortest "
        "program that computes the answer from the values as given, print what you need to check it, and try an edge "
        "case whose result you know.",
        ("read_file", "run_code", "create_tool"),
        0.4,
    ),
    "files": Specialist(
        "reads attached files, and computes from what they hold",
        "You are the files specialist. Everything that is asked stands in the attached files. Look at the structure of "
        "all of them first: every sheet, page and member, units, headers, totals, hidden or empty rows. Count, add and "
        "filter with programs over the whole file, never by eye over its preview. Say what a file does not hold.",
        ("read_file", "run_code", "create_tool"),
        0.4,
    ),
    "math": Specialist(
        "solves problems of mathematics, exactly and with a check",
        "You are the mathematics specialist. State unknowns, units and conditions, then compute with a program: "
        "exactly, with integers or fractions, where that is possible. Check the result in a second way (put it in, "
        "count by brute force, another method) before you give it; round only at the end, as asked.",
        ("run_code", "create_tool"),
        0.4,
    ),
    "browser": Specialist(
        "operates sites: clicks, forms, log-ins",
        "You are the browser specialist. Begin at the address that the question names, else search for the site. Give "
        "`browse` the whole task with its values; where it did not come to its end, say what is left. The answer is "
        "what the site itself showed at the end.",
        ("browse", "search", "read_file", "run_code"),
        0.5,
    ),
}
SHARE = 0.5
"""Fraction of the run's step limit that applies to a question handed over without a specialist."""
_ACTIONS = dict.fromkeys(action for one in SPECIALISTS.values() for action in one.actions)


def prompt_of(agent: str) -> str:
    """Return the text to append to the standard prompt; empty without a specialist."""
    return SPECIALISTS[agent].prompt if agent else ""


def forbidden_actions(agent: str) -> list[str]:
    """Return the actions that an agent may not use. Agents that were handed a question cannot hand over questions."""
    own = SPECIALISTS[agent].actions if agent else _ACTIONS
    return [*(action for action in _ACTIONS if action not in own), "ask"]

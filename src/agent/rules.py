"""Rules about actions: a second opinion beside a weak model's decision.

Each rule is sure of one thing that a small model gets wrong: that a file is attached, that an address or a form must be
operated, that a listed tool shares no word with the question, that there is nothing to compute with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from agent.state import Action, Decision, Step
from mcp_tools.create.literals import as_number, question_values
from mcp_tools.tool import Json

_SITE = re.compile(
    r"\b(?:log ?in|logged in|sign in|sign up|click|fill (?:in|out)|scroll|shopping cart|web ?form)\b"
    r"|https?://|\bwww\.|\b[\w-]+\.(?:com|org|net|io|edu|gov|info|dev|app|eu|uk|de|fr|example)\b"
    r"|\bweb ?(?:site|page)\b",
    re.IGNORECASE,
)
_WORLD = re.compile(
    r"^(?:who|whose|whom|where|when)\b|\b(?:latest|newest|currently|nowadays|today'?s|right now|this year|last year"
    r"|recent(?:ly)?|as of|news)\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"```|^\s*(?:print|import|for|while|def|class|return)\b|\bprint\(|\w\s*=\s*\[", re.MULTILINE)
_SIGNS = re.compile(r"[^\w\s]{3,}|(?:[^\w\s]+ ){3,}")
_LISTED = re.compile(r":\s[^?:]*,[^?:]*,|\b[MDCLXVI]{3,}\b|\b[A-Z]{8,}\b")
"""An enumeration after a colon, a Roman numeral, a long run of capitals."""
_SEVERAL = 2
"""So many values beside years, and there is something to compute, whatever else the question says."""
_YEAR = re.compile(r"^(?:1[5-9]|20)\d\d$")
_STOP_WORDS = frozenset(
    [
        *("are", "does", "for", "from", "give", "given", "has", "have", "how", "into", "its", "many", "much", "return"),
        *("returns", "tell", "that", "the", "their", "them", "then", "this", "two", "was", "what", "when", "where"),
        *("which", "who", "will", "with", "you", "compute", "calculate", "find", "get", "make", "number", "value"),
    ]
)


def possible_actions(
    question: str, files: Sequence[str], tools: Sequence[dict[str, Json]], steps: Sequence[Step]
) -> frozenset[Action]:
    """The actions that make sense in a situation; a weak model chooses among these alone."""
    possible: set[Action] = {"search", "create_tool"}
    if steps or not has_data(question):
        possible.add("answer")
    if tools:
        possible.add("use_tool")
    if unread(files, steps):
        possible.add("read_file")
    if _SITE.search(_unquoted(question)) or any(step["action"] in {"search", "browse"} for step in steps):
        possible.add("browse")
    if steps or tools or _CODE.search(question):
        possible.add("run_code")
    return frozenset(possible)


def second_opinion(
    decision: Decision,
    question: str,
    files: Sequence[str],
    tools: Sequence[dict[str, Json]],
    steps: Sequence[Step],
) -> Decision:
    """The decision, or the one that a rule is sure of."""
    if unread(files, steps):
        return _instead(decision, Decision("read_file", "A file is attached that has not been read."))
    if _SITE.search(_unquoted(question)) and not any(step["action"] == "browse" for step in steps):
        return _instead(decision, Decision("browse", "A web site must be operated."))
    if steps:
        return decision
    return _at_the_start(decision, question, tools)


def unread(files: Sequence[str], steps: Sequence[Step]) -> bool:
    """Whether a file is left to read: each is read in a step of its own, and one that fails ends it."""
    reads = [step["ok"] for step in steps if step["action"] == "read_file"]
    return len(reads) < len(files) and all(reads)


def _at_the_start(decision: Decision, question: str, tools: Sequence[dict[str, Json]]) -> Decision:
    """Rules for a question of which nothing is known yet."""
    computes = decision.action in {"use_tool", "create_tool", "run_code"}
    if computes and not has_data(question):
        return Decision("search", "There is nothing to compute with: a fact of the world is asked.")
    if decision.action == "answer" and has_data(question):
        return Decision("create_tool", "The question holds data to compute with.")
    if computes and _WORLD.search(question) and not _quotes(question) and len(_data(question)) < _SEVERAL:
        return Decision("search", "A fact of the world is asked.")
    if decision.action == "use_tool" and not any(shares_words(question, _text(tool)) for tool in tools):
        return Decision("create_tool", f"{decision.tool} is for something else.")
    if decision.action in {"create_tool", "run_code"} and (fitting := named_tool(question, tools)):
        return Decision("use_tool", f"The question names what {fitting} does.", tool=fitting)
    if decision.action == "run_code" and (fitting := described_tool(question, tools)) and not _CODE.search(question):
        return Decision("use_tool", f"The question says what {fitting} does.", tool=fitting)
    if decision.action == "run_code" and not tools and not _CODE.search(question):
        return Decision("create_tool", "Nothing was found yet that a one-off program could combine.")
    return decision


def has_data(question: str) -> bool:
    """Whether numbers, dates, quoted texts, code or signs stand in the question; a lone year is none."""
    return (
        bool(_data(question))
        or bool(_CODE.search(question))
        or bool(_SIGNS.search(question))
        or bool(_LISTED.search(question))
    )


def _data(question: str) -> list[str]:
    return [value for value in question_values(question) if not _YEAR.match(value)]


def shares_words(question: str, text: str) -> bool:
    """Whether a question and a tool's name and description have a meaningful word in common."""
    return bool(_stems(question) & _stems(text))


def _quotes(question: str) -> bool:
    return bool(_quoted(question))


def _quoted(question: str) -> list[str]:
    """The quoted texts of a question: its values that are no numbers, dates and times."""
    return [value for value in question_values(question) if not value[:1].isdigit() and as_number(value) is None]


def _unquoted(question: str) -> str:
    """The question without the texts it quotes: an address that is to be parsed is not to be opened."""
    for value in _quoted(question):
        question = question.replace(value, " ")
    return question


def named_tool(question: str, tools: Iterable[dict[str, Json]]) -> str | None:
    """The tool whose name stands in the question, at least two words of it and two thirds of all."""
    asked = _stems(question)
    for tool in tools:
        words = _stems(str(tool["name"]).replace("_", " "))
        if len(words & asked) >= 2 and len(words & asked) * 3 >= len(words) * 2:
            return str(tool["name"])
    return None


def described_tool(question: str, tools: Iterable[dict[str, Json]]) -> str | None:
    """The tool of whose name and description the question has at least two words, and half of all."""
    asked = _stems(question)
    for tool in tools:
        words = _stems(_text(tool))
        if len(words & asked) >= 2 and len(words & asked) * 2 >= len(words):
            return str(tool["name"])
    return None


def _text(tool: dict[str, Json]) -> str:
    return f"{str(tool['name']).replace('_', ' ')} {tool['description']}"


def _stems(text: str) -> set[str]:
    """The words that carry meaning, cut to a stem that plural and inflection leave alone."""
    words = re.findall(r"[a-z]{3,}", text.lower())
    return {word[:5] for word in words if word not in _STOP_WORDS}


def _instead(decision: Decision, sure: Decision) -> Decision:
    return decision if decision.action == sure.action else sure

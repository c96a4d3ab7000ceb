"""What needs no model: rules that are each sure of one thing that a small model gets wrong.

What the words of a question tell, and what is done with attached files: run, compute, find, read.
"""

from __future__ import annotations

import re
from collections import Counter

from agent.actions.refusals import refusal_of
from agent.answering.answer_format import asked_of
from agent.material.attached import TABLES, TREES, readable, unread_files, was_read
from agent.small.program import holds_tables, openable
from agent.small.scripts import asked_script
from agent.state import AttachedFile, Decision, State
from agent.web.address import addresses_in
from agent.web.queries import COMMON
from mcp_tools.particulars import question_values, quoted_in, without_quotes
from mcp_tools.text import words

_OPERATED = re.compile(
    r"\b(?:log ?in|logged in|sign in|sign up|click|fill (?:in|out)|scroll|shopping cart|web ?form)\b", re.IGNORECASE
)
_SITE = re.compile(
    r"https?://|\bwww\.|\b[\w-]+\.(?:com|org|net|io|edu|gov|info|dev|app|eu|uk|de|fr|example)\b"
    r"|\bweb ?(?:site|page)\b",
    re.IGNORECASE,
)
_ASKS = re.compile("[?？؟]")
_CODE = re.compile(
    r"```|^\s*(?:import \w|return\b|for \w+ in\b.*:$|while\b.*:$|class \w+.*:$)"
    r"|\bdef \w+\(|\bprint\(|\w\s*=\s*\[",
    re.MULTILINE,
)
_SIGNS = re.compile(r"[^\w\s]{3,}|(?:[^\w\s]+ ){3,}")
_LISTED = re.compile(r":\s[^?:]*,[^?:]*,|\b[MDCLXVI]{3,}\b|\b[A-Z]{8,}\b")
"""An enumeration after a colon, a Roman numeral, a long run of capitals."""
_YEAR = re.compile(r"^(?:1[5-9]|20)\d\d$")
_COUNTED = re.compile(
    r"\bhow (?:many|often)\b.*\b(?:lines?|words?|letters?|characters?|sentences?|paragraphs?|times|occurrences?|vowels?"
    r"|digits?|files?)\b|\bhow often\b|\b(?:number|count|frequency) of (?:the )?(?:line|word|letter|character)s?\b"
    r"|\blongest\b|\bshortest\b|\bmost (?:frequent|common|often)\b|\balphabetical",
    re.IGNORECASE | re.DOTALL,
)
_COMPARED = re.compile(
    r"\b(?:most|least|fewest|more|less|fewer|first|last|earliest|latest|next|after|before|between|total|best|worst|top"
    r"|(?:high|low|larg|bigg|small|long|short|cheap|dear|fast|slow|old|young|great|heavi|light)(?:er|est|r|st))\b",
    re.IGNORECASE,
)
"""What asks to go through the rows of a table."""
_ABOUT = re.compile(r"\w+(?:[-'’.,/:]\w+)*")
_COMMON = COMMON | words(
    "attached date document file full located long number pdf report said section slide state stated stating text total"
    " word"
)
_MOST_WORDS = 6
_MOST_READINGS = 4
"""Of one file, before it is left at what was found."""
_SMALL = 2_000
"""Characters that one reading takes in: such a file is read from its beginning."""


def must_operate_a_site(question: str) -> bool:
    """Whether an address, a site or a form is to be opened; an address in quotes is to be parsed instead."""
    plain = without_quotes(question)
    return bool(_OPERATED.search(plain) or _SITE.search(plain))


def named_page(state: State) -> Decision | None:
    """The next page that a question names, read as it is; an order is carried out on the site instead."""
    plain = without_quotes(state["question"])
    if _OPERATED.search(plain) or not _ASKS.search(plain):
        return None
    pages = [Decision("read_file", "A page is named.", file=url) for url in addresses_in(plain)]
    return next((page for page in pages if refusal_of(page, state) is None), None)


def shows_code(text: str) -> bool:
    """Whether program code stands in the text."""
    return bool(_CODE.search(text))


def has_data(text: str) -> bool:
    """Whether numbers, dates, quoted texts, code or signs stand in the text; a lone year is none."""
    values = [value for value in question_values(text) if not _YEAR.match(value)]
    return bool(values) or shows_code(text) or bool(_SIGNS.search(text)) or bool(_LISTED.search(text))


def by_files(state: State) -> Decision | None:
    """The next action over the attached files; None where rules say nothing."""
    files, steps = state.get("attached", []), state.get("steps", [])
    if files and not readable(state):  # why is said; then the question's own data is used, or the model answers
        if not was_read(files[0], steps):
            return Decision("read_file", "The attached file is read.", file=files[0]["name"])
        return None if has_data(state["question"]) else Decision("answer", "The attached file cannot be read.")
    if not files:
        return None
    ran = any(step["action"] == "run_code" for step in steps)
    if not ran and asked_script(state) is not None:
        return Decision("run_code", "The attached program is run to see what it prints.")
    if not ran and _is_computed(state):
        return Decision("run_code", "A program computes it over the whole file.")
    left = unread_files(state)
    if not left:
        return None
    file = _likeliest(left, state["question"])
    find = words_to_find(state["question"]) if _is_long(file) else ""
    return Decision("read_file", "The attached file is read.", file=file["name"], find=find)


def _is_computed(state: State) -> bool:
    """Whether programs answer it: the files are data, something in texts is counted, or rows in texts are compared."""
    files, question = readable(state), state["question"]
    if len(openable(state)) < len(files):
        return False
    data = [file for file in files if file["kind"] in TABLES | TREES]
    if len(data) == len(files) or (data and len(files) > 1) or _COUNTED.search(question):
        return True
    in_order = any(map(holds_tables, files))
    return in_order and (asked_of(question).quantity or _COMPARED.search(question) is not None)


def _likeliest(files: list[AttachedFile], question: str) -> AttachedFile:
    """The file whose beginning has the question's words, those first that few of the files have; else the first one."""
    asked = {word.casefold() for word in _ABOUT.findall(question)} - _COMMON
    held = [asked & {word.casefold() for word in _ABOUT.findall(file["beginning"])} for file in files]
    having = Counter(word for words in held for word in words)
    weights = [sum(1 / having[word] for word in words) for words in held]
    return files[weights.index(max(weights))]


def read_on(state: State) -> Decision | None:
    """The next part of a file whose answer was not found so far."""
    steps = state.get("steps", [])
    for file in readable(state):
        done = [s for s in steps if s["action"] == "read_file" and was_read(file, [s])]
        if not done or len(done) >= _MOST_READINGS or not _is_long(file):
            continue
        pages = [s for s in done if not s["input"].removeprefix(f"read_file {file['name']}").startswith(" find ")]
        page = len(pages) + 1
        if page == 1 or (page <= (file["sections"] or 1) and pages[-1]["ok"]):
            return Decision("read_file", "The answer may stand in another part.", file=file["name"], page=page)
    return None


def _is_long(file: AttachedFile) -> bool:
    return (
        file["sections"] is None or file["sections"] > 1 or (file["size"] > _SMALL and len(file["beginning"]) >= 1_400)
    )


def words_to_find(question: str) -> str:
    """The words of a question that a text about it would have: what it quotes, names and numbers first."""
    quoted = " ".join(quoted_in(question)).split()
    words = [word for word in _ABOUT.findall(question) if word.casefold() not in _COMMON and len(word) > 1]
    first = question.split(maxsplit=1)[0] if question.split() else ""
    names = [word for word in words if (word[0].isupper() and word != first) or word[0].isdigit()]
    return " ".join(list(dict.fromkeys([*quoted, *names, *words]))[:_MOST_WORDS])

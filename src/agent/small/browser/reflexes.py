"""What needs no model on a page: banners closed, logins filled in, values of the task, nothing in vain twice."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.browser.logins import PASSWORD, USER, Login
from agent.small.browser.actions import Action
from agent.small.browser.memory import Memory
from agent.small.browser.quoted import field_for, is_asked, quotes, without_quotes
from agent.small.browser.view import Element, View

_COOKIES = re.compile(r"\b(?:cookies?|consent|gdpr|privacy choices)\b", re.IGNORECASE)
_REFUSE = re.compile(r"\b(?:reject|decline|refuse|deny|necessary|essential)\b", re.IGNORECASE)
_ACCEPT = re.compile(r"\b(?:accept|agree|allow|ok|got it|understood|close|dismiss)\b", re.IGNORECASE)
_PASSWORD = re.compile(r"pass ?(?:word|code|phrase)", re.IGNORECASE)
_USER = re.compile(r"user|log ?in|e-?mail|account|name", re.IGNORECASE)
_SUBMIT = re.compile(r"\b(?:log ?in|sign ?in|log ?on|enter|submit|continue|next|go)\b", re.IGNORECASE)
_SENDS = re.compile(
    r"\b(?:log ?in|sign|enter|submit|continue|next|go|send|save|book|order|buy|pay|check ?out|subscribe|search|find"
    r"|apply|post|publish|add|vote|register|confirm|ok|create|update|change|upload|join|reserve|request|done|finish)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"\b(?:what|which|who|whose|when|where|how (?:many|much|long|old|far))\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[.;,]\s|\band\b|\bthen\b", re.IGNORECASE)
_GOES = re.compile(r"(?:please )?(?:go|open|visit|log|sign|look|search|browse|use|on|at|in|from)\b", re.IGNORECASE)
"""How clauses begin that only lead somewhere."""
_CONFIRMED = re.compile(
    r"\b(?:thank(?:s| you)|success\w*|received|saved|sent|submitted|subscribed|booked|reserved|confirmed|added|updated"
    r"|changed|deleted|removed|registered|accepted|recorded|counted|posted|published|complete[d]?"
    r"|signed (?:in|out|up)|logged (?:in|out)|your (?:basket|cart|bag|order|booking))\b",
    re.IGNORECASE,
)
_LONGEST_BUTTON = 40
"""Characters of what closes a banner."""
_SEVERAL = re.compile(r"\b(?:and|then|also)\b|[,;]", re.IGNORECASE)
_FIRST = 6
"""Lines in which a page says what became of it."""


def does_first(task: str) -> bool:
    """Whether a task that asks wants something to be done before: `Put it into the basket and tell me the total`."""
    first = _CLAUSE.split(without_quotes(task).strip(), maxsplit=1)[0]
    return is_asked(task) and not is_asked(first) and not _GOES.match(first)


def questions_in(task: str) -> int:
    """How many things a task asks."""
    return len(_QUESTION.findall(without_quotes(task)))


def banner(view: View) -> Action | None:
    """Closes what asks for consent, with as little consent as it offers."""
    buttons = [element for element in view.elements if _may_close(element)]
    near = [element for element in buttons if _is_about(view, element, _COOKIES)]
    for wanted in (_REFUSE, _ACCEPT):
        for element in near:
            if wanted.search(element.name):
                return Action("click", element, why="The banner is in the way.", aside=True)
    return None


def _may_close(element: Element) -> bool:
    return element.role == "button" or (element.role == "link" and not element.name.endswith("?"))


def _is_about(view: View, element: Element, words: re.Pattern[str]) -> bool:
    """Whether the dialog that an element is in speaks of something; without one, the lines beside it."""
    if len(element.name) >= _LONGEST_BUTTON:
        return False
    if element.dialog:
        return bool(words.search(view.dialog_text(element.dialog)))
    return _beside(view, element, words)


def _beside(view: View, element: Element, words: re.Pattern[str]) -> bool:
    """Whether the element's line, or the one before it, has such words."""
    for at, line in enumerate(view.lines):
        if str(element) in line:
            return bool(words.search(" ".join(view.lines[max(at - 1, 0) : at + 1]).replace(str(element), "")))
    return False


def log_in(view: View, login: Login | None) -> list[Action]:
    """Fills in the login of this host, where the page asks for one."""
    if login is None:
        return []
    typed = [element for element in view.elements if element.use == "type"]
    password = next((element for element in typed if _PASSWORD.search(element.name)), None)
    if password is None:
        return []
    others = [element for element in typed if element.number < password.number]
    user = next((element for element in others if _USER.search(element.name)), others[-1] if others else None)
    buttons = [element for element in view.elements if element.role == "button"]
    after = [element for element in buttons if element.number > password.number]
    send = next((element for element in after if _SUBMIT.search(element.name)), after[0] if after else None)
    actions = [Action("type", user, USER, aside=True)] if user else []
    actions.append(Action("type", password, PASSWORD, aside=True))
    return [*actions, *([Action("click", send, aside=True)] if send else [])]


def asked_value(question: str, element: Element) -> str | None:
    """What the task says that belongs into a field; None when it does not say it clearly."""
    if element.options:
        return _asked_option(question, element.options)
    found = list(quotes(question))
    fitting = [quote.value for quote in found if field_for(quote, [element], len(found)) is element]
    return fitting[0] if fitting else None


def _asked_option(question: str, options: Sequence[str]) -> str | None:
    """The only option that the task names."""
    named = [option for option in options if option and re.search(rf"(?<!\w){re.escape(option)}(?!\w)", question, re.I)]
    longest = [one for one in named if not any(one != other and one in other for other in named)]
    return longest[0] if len(longest) == 1 else None


def choices(view: View, memory: Memory, shown: Sequence[Element], *, may_go_back: bool, more: bool) -> list[str]:
    """What may be done next, as the model is to write it."""
    open_ones = [element for element in shown if _is_open(view, memory, element)]
    if memory.filling and any(element.role == "button" for element in open_ones):
        return _of_a_form([e for e in open_ones if e.role != "link"], memory.task, more=more)
    listed = [f"{e.use} {e.number}" for e in open_ones]
    listed += ["scroll"] if view.goes_on and not memory.was_done(view, "scroll") else []
    listed += ["read"] if more else []
    listed += ["back"] if may_go_back and not memory.was_done(view, "back") else []
    return [*listed, *(["done"] if not memory.was_done(view, "done") else [])]


def _of_a_form(elements: Sequence[Element], task: str, *, more: bool) -> list[str]:
    """What may be done in a form that was begun: it is sent, unless only something else can be pressed."""
    listed = [*(f"{e.use} {e.number}" for e in elements), *(["read"] if more else [])]
    is_sent = any(e.use != "click" or _SENDS.search(e.name) or e.name.casefold() in task.casefold() for e in elements)
    return listed if is_sent and not is_asked(task) else [*listed, "done"]


def _is_open(view: View, memory: Memory, element: Element) -> bool:
    """Whether an element may be used: it can be, was not, and has not been filled in by somebody who knew better."""
    if "disabled" in element.states or memory.was_done(view, element.use, element):
        return False
    if element.use == "type" and (element.value or _PASSWORD.search(element.name)):
        value = asked_value(memory.task, element)
        return (value is not None and value != element.value) or not memory.is_all_used
    return True


def finished(view: View, memory: Memory) -> bool:
    """Whether a task that asks nothing is done: all of it was used, and the page confirms the last button."""
    if not memory.submitted or not memory.is_all_used or is_asked(memory.task):
        return False
    if _SEVERAL.search(without_quotes(memory.task)) and not any(quotes(memory.task)):
        return False  # the first of several things may be what is confirmed
    said = [line for line in view.lines if line in view.fresh or (line.startswith("# ") and line not in memory.seen)]
    values = [quote.value for quote in quotes(memory.task)]
    shown = any(value in line for value in values for line in view.fresh if "textbox" not in line)
    return shown or any(_CONFIRMED.search(line) for line in said[:_FIRST])

"""What next, and what goes into this field? Rules where they are sure, else small questions to the model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agent.answering.answer import plain
from agent.browser.logins import PASSWORD, USER, Login
from agent.browser.tasks import Ask
from agent.small.browser.actions import Action
from agent.small.browser.task import Memory, field_for, is_asked, quotes, without_quotes
from agent.small.browser.view import Element, View
from mcp_tools.prompt import DataText, data_block, load_prompt

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


PART = 1_600
"""Characters of a page in one question: a small model reads some fifteen tokens in the time in which it writes four."""
_FOUND = 120
"""Characters of what the page says of the task."""
_TOKENS = 70
_LONGEST = 200
_NOTHING = re.compile(r"(?:nothing|unknown|none|not (?:stated|given|known|found)|n/?a)?[.\s]*", re.IGNORECASE)


async def ask_next(
    ask: Ask,
    question: str,
    done: Sequence[str],
    view: View,
    possible: Sequence[str],
    *,
    start: int = 0,
    seen: str = "",
) -> Action:
    """What is to be done next.

    Args:
        ask: Asks the model.
        question: The task.
        done: What was done so far, oldest first.
        view: The page.
        possible: The choices, such as `click 3`.
        start: The line of the page from which on it is shown.
        seen: The text of earlier pages, which may state something too.

    Raises:
        ModelOutputError: The model did not answer in the form that was asked for.
    """
    part, _ = view.part(question, PART, start)
    messages = load_prompt("agent.small", "browser_step").render(task=question, page=page_block(part, done))
    parsed = (await ask(messages, schema=_form(possible), temperature=0, max_tokens=_TOKENS)).parsed
    deed, _, number = str(parsed["next"]).partition(" ")
    on = view.element(int(number)) if number else None
    found = str(parsed["found"]).strip()
    is_news = not _NOTHING.fullmatch(found) and states(f"{seen}\n{view.text}", found) and not says(question, found)
    return Action(deed, on, found=found if is_news else "")  # type: ignore[arg-type]  # one of the possible


def _form(possible: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"found": {"type": "string", "maxLength": _FOUND}, "next": {"enum": list(possible)}},
        "required": ["found", "next"],
        "additionalProperties": False,
    }


async def with_text(ask: Ask, question: str, action: Action) -> Action:
    """The action with what is typed or selected: by rule where the task names it, else as the model says."""
    if action.on is None or action.deed not in {"type", "select"}:
        return action
    text = asked_value(question, action.on)
    if text is None:
        text = await _ask_text(ask, question, action.on)
    return replace(action, text=text)


async def _ask_text(ask: Ask, question: str, element: Element) -> str:
    field = str(element).partition("] ")[2]
    messages = load_prompt("agent.small", "browser_value").render(task=question, field=data_block("field", field))
    return str((await ask(messages, schema=_text_form(element.options), temperature=0, max_tokens=_TOKENS)).parsed)


def _text_form(options: Sequence[str]) -> dict[str, Any]:
    return {"enum": list(options)} if options else {"type": "string", "maxLength": _LONGEST}


def states(text: str, found: str) -> bool:
    """Whether what is said to be found stands in a text: all its words do."""
    words = set(plain(text).split())
    return all(word in words for word in plain(found).split())


def says(question: str, found: str) -> bool:
    """Whether it is only what the task itself says."""
    return plain(found) in plain(question)


def page_block(part: str, done: Sequence[str]) -> DataText:
    """A page, marked as data, behind what was done: that holds names and words of pages, too."""
    return data_block("page", f"Done: {'; '.join(done) or 'nothing'}\n{part}")

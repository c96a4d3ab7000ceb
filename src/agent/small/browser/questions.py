"""What next, and what goes into this field? Rules where they are sure, else small questions to the model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agent.answer import plain
from agent.browser.logins import PASSWORD, USER, Login
from agent.browser.tasks import AskModel
from agent.small.browser.actions import Action
from agent.small.browser.task import Memory, field_for, is_asked, quotes
from agent.small.browser.view import Element, View
from mcp_tools.particulars import without_quotes
from mcp_tools.prompt import data_block, load_prompt
from mcp_tools.tool import object_schema

_ELEMENT = re.compile(r'\[\d+\] [\w-]+(?: "[^"]*")?')
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
_CONFIRMED = re.compile(
    r"\b(?:thank(?:s| you)|success\w*|received|saved|sent|submitted|subscribed|booked|reserved|confirmed|added|updated"
    r"|changed|deleted|removed|registered|accepted|recorded|counted|posted|published|complete[d]?"
    r"|signed (?:in|out|up)|logged (?:in|out)|your (?:basket|cart|bag|order|booking))\b",
    re.IGNORECASE,
)
_LONGEST_BUTTON = 40
_BANNER = 3
"""Lines below one about cookies in which the buttons of a banner stand."""
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


def banner(view: View, closed: set[str]) -> Action | None:
    """Closes what asks for consent, with as little consent as it offers."""
    texts = [_ELEMENT.sub("", line) for line in view.lines]
    near = "\n".join(
        line for at, line in enumerate(view.lines) if any(map(_COOKIES.search, texts[max(at - _BANNER, 0) : at + 1]))
    )
    for wanted in (_REFUSE, _ACCEPT):
        for element in view.elements:
            name = element.name
            is_button = element.role == "button" or (element.role == "link" and not name.endswith("?"))
            is_open = len(name) < _LONGEST_BUTTON and name.casefold() not in closed
            if is_button and is_open and wanted.search(name) and str(element) in near:
                return Action("click", element, why="The banner is in the way.", aside=True)
    return None


def log_in(view: View, login: Login | None) -> list[Action]:
    """Fills in the login of this host, where the page asks for one."""
    typed = [element for element in view.elements if element.use == "type"]
    password = next((element for element in typed if _PASSWORD.search(element.name)), None)
    if login is None or password is None:
        return []
    others = [element for element in typed if element.number < password.number]
    user = next((element for element in others if _USER.search(element.name)), others[-1] if others else None)
    after = [one for one in view.elements if one.role == "button" and one.number > password.number]
    send = next((element for element in after if _SUBMIT.search(element.name)), after[0] if after else None)
    actions = [Action("type", user, USER), Action("type", password, PASSWORD), Action("click", send)]
    return [replace(action, aside=True) for action in actions if action.on]


def asked_value(question: str, element: Element) -> str | None:
    """What the task says that belongs into a field; None when it does not say it clearly."""
    if element.options:
        named = [one for one in element.options if one and re.search(rf"(?<!\w){re.escape(one)}(?!\w)", question, re.I)]
        longest = [one for one in named if not any(one != other and one in other for other in named)]
        return longest[0] if len(longest) == 1 else None
    found = list(quotes(question))
    return next((quote.value for quote in found if field_for(quote, [element], len(found))), None)


def choices(view: View, memory: Memory, shown: Sequence[Element], *, may_go_back: bool, more: bool) -> list[str]:
    """What may be done next, as the model is to write it; a form that was begun is sent before anything else."""
    open_ones = [element for element in shown if _is_open(view, memory, element)]
    if memory.filling and any(element.role == "button" for element in open_ones):
        form = [element for element in open_ones if element.role != "link"]
        task = memory.task.casefold()
        is_sent = any(e.use != "click" or _SENDS.search(e.name) or e.name.casefold() in task for e in form)
        listed = [*(f"{e.use} {e.number}" for e in form), *(["read"] if more else [])]
        return listed if is_sent and not is_asked(memory.task) else [*listed, "done"]
    listed = [f"{e.use} {e.number}" for e in open_ones]
    listed += ["scroll"] if view.goes_on and not memory.was_done(view, "scroll") else []
    listed += ["read"] if more else []
    listed += ["back"] if may_go_back and not memory.was_done(view, "back") else []
    return [*listed, *(["done"] if not memory.was_done(view, "done") else [])]


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
    values = [quote.value for quote in quotes(memory.task)]
    if _SEVERAL.search(without_quotes(memory.task)) and not values:
        return False  # the first of several things may be what is confirmed
    said = [line for line in view.lines if line in view.fresh or (line.startswith("# ") and line not in memory.seen)]
    shown = any(value in line for value in values for line in view.fresh if "textbox" not in line)
    return shown or any(_CONFIRMED.search(line) for line in said[:_FIRST])


PART = 1_600
"""Characters of a page in one question: a small model reads some fifteen tokens in the time in which it writes four."""
_FOUND = 120
_TOLD = 8
_TOKENS = 70
VALUE_FORM: dict[str, Any] = {"type": "string", "maxLength": 200}
_NOTHING = re.compile(r"(?:nothing|unknown|none|not (?:stated|given|known|found)|n/?a)?[.\s]*", re.IGNORECASE)


async def ask_next(ask: AskModel, memory: Memory, view: View, part: str, possible: Sequence[str]) -> Action:
    """What is to be done next.

    Raises:
        ModelOutputError: The model did not answer in the form that was asked for.
    """
    page = data_block("page", f"Done: {'; '.join(memory.done[-_TOLD:]) or 'nothing'}\n{part}")
    messages = load_prompt("agent.small", "browser_step").render(task=memory.task, page=page)
    parsed = (await ask(messages, schema=step_form(possible), temperature=0, max_tokens=_TOKENS)).parsed
    deed, _, number = str(parsed["next"]).partition(" ")
    found = str(parsed["found"]).strip()
    words = plain(found)
    stands = set(words.split()) <= set(plain(f"{memory.seen}\n{view.text}").split())
    is_news = stands and words not in plain(memory.task) and not _NOTHING.fullmatch(found)
    on = view.element(int(number)) if number else None
    return Action(deed, on, found=found if is_news else "")  # type: ignore[arg-type]  # one of the possible


def step_form(possible: Sequence[str]) -> dict[str, Any]:
    """The form of a step: what the page says of the task, and one of the choices."""
    return object_schema({"found": {"type": "string", "maxLength": _FOUND}, "next": {"enum": list(possible)}})


async def with_text(ask: AskModel, question: str, action: Action) -> Action:
    """The action with what is typed or selected: by rule where the task names it, else as the model says."""
    if action.on is None or action.deed not in {"type", "select"}:
        return action
    text = asked_value(question, action.on)
    if text is None:
        field = data_block("field", str(action.on).partition("] ")[2])
        messages = load_prompt("agent.small", "browser_value").render(task=question, field=field)
        form = {"enum": list(action.on.options)} if action.on.options else VALUE_FORM
        text = str((await ask(messages, schema=form, temperature=0, max_tokens=_TOKENS)).parsed)
    return replace(action, text=text)

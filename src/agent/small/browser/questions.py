"""The small questions to a small model: what next, what goes into this field, what does the page answer?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agent.answering.answer import plain
from agent.browser.tasks import Ask
from agent.small.browser.actions import Action
from agent.small.browser.reflexes import asked_value
from agent.small.browser.view import Element, View
from mcp_tools.prompt import DataText, data_block, load_prompt

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

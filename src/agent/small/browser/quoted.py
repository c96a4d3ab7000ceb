"""What a task quotes or names word for word on a page is used without asking a model."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from agent.small.browser.actions import Action
from agent.small.browser.view import Element, View, words_of

_QUOTED = re.compile(r"[\"“”„«]([^\"“”„«»]{1,300})[\"”“»]|(?<!\w)['‘]([^'’]{1,300})['’](?!\w)")
_BEFORE = 60
"""Characters before a quoted value in which its field is named."""
_OF_ONE_FIELD = re.compile(
    r"\b(?:search|find|look|type|enter|write|add|new|subscribe|sign|fill|put|post|query)\w*\b", re.IGNORECASE
)
_NOT_CLICKED = re.compile(r"\b(?:search|look|type|enter|write|fill|query)\w*\W+(?:\w+\W+){0,2}$", re.IGNORECASE)
_EXCLUDED = re.compile(r"\b(?:not|never|without|except|don['’]t|no)\b[^.,;:\"“”]{0,40}[\"“„'‘]?$", re.IGNORECASE)
_PRESSED = re.compile(
    r"\b(?:click|press|push|open|choose|select|tick|check|use|hit|tap|activate|submit|send)\w*\b[^.,;]{0,30}$",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"\?|\b(?:what|which|who|whose|whom|when|where|how)\b"
    r"|(?:^|[.;,:]\s+|\band\s+|\bthen\s+)(?:tell|say|report|name|give|find|look up|read|list|count|state)\b",
    re.IGNORECASE,
)
_IN_ALL = re.compile(r"\b(?:both|each|all|every)\b[^.,;]{0,20}\bfields?\b", re.IGNORECASE)
_REPEATS = re.compile(r"\b(?:confirm|repeat|verify|again|re-?type|re-?enter|once more)", re.IGNORECASE)
"""How fields are called that want a value a second time."""
_NAMED = frozenset({"link", "tab", "menuitem", "checkbox", "radio", "switch"})
_ON = frozenset({"checked", "selected", "pressed"})


@dataclass(frozen=True, slots=True)
class Quote:
    """A text that a task quotes."""

    value: str
    before: str
    """The words before it."""

    @property
    def is_excluded(self) -> bool:
        """Whether the task says that it is not wanted."""
        return _EXCLUDED.search(self.before) is not None


def quotes(task: str) -> Iterator[Quote]:
    """What a task quotes, in its order."""
    end = 0
    for match in _QUOTED.finditer(task):
        yield Quote(match[1] or match[2], task[max(end, match.start() - _BEFORE) : match.start()])
        end = match.end()


def without_quotes(task: str) -> str:
    """The task without the texts that it quotes."""
    return _QUOTED.sub(" ", task)


def is_asked(task: str) -> bool:
    """Whether a task wants to know something, and not only to have something done."""
    return bool(_ASKED.search(without_quotes(task)))


def next_quoted(task: str, view: View, used: set[str]) -> tuple[Quote, Action] | None:
    """The first quoted text that was not used and that this page has a use for, and that use."""
    for quote in quotes(task):
        if quote.value not in used and not quote.is_excluded and (action := _use(quote, task, view)) is not None:
            return quote, action
    return None


def _use(quote: Quote, task: str, view: View) -> Action | None:
    usable = [element for element in view.elements if "disabled" not in element.states]
    named = [e for e in usable if e.use == "click" and e.name.casefold() == quote.value.casefold()]
    if named and named[0].role == "button" and is_asked(task) and not _PRESSED.search(quote.before):
        return None  # what is asked about a button does not press it
    if named and not _NOT_CLICKED.search(quote.before):
        return None if _ON & set(named[0].states) else Action("click", named[0], why="The task names it.")
    for element in usable:
        if option := _option(quote, element):
            return Action("select", element, option, "The task names it.") if option != element.value else None
    field = field_for(quote, usable, len(list(quotes(task))))
    return Action("type", field, quote.value, "The task says so.") if field and field.value != quote.value else None


def _option(quote: Quote, element: Element) -> str:
    return next((option for option in element.options if option.casefold() == quote.value.casefold()), "")


def field_for(quote: Quote, elements: Sequence[Element], count: int) -> Element | None:
    """The text field that a quoted value belongs into; None where that is not sure."""
    fields = [element for element in elements if element.use == "type"]
    before = words_of(quote.before, keep_common=True)
    scored = [(len(before & words_of(field.name, keep_common=True)), field) for field in fields]
    best = max(scored, key=lambda one: one[0], default=None)
    if best is not None and best[0]:
        return best[1]
    alone = len(fields) == 1 and count == 1
    return fields[0] if alone and _OF_ONE_FIELD.search(quote.before) else None


def repeated(task: str, view: View) -> Action | None:
    """A quoted value that a field has, for another one: it is wanted in several, or an empty one asks for it again."""
    fields = [one for one in view.elements if one.use == "type" and "disabled" not in one.states]
    in_all = _IN_ALL.search(without_quotes(task))
    for quote in quotes(task):
        holding = [at for at, field in enumerate(fields) if field.value == quote.value]
        for at, field in enumerate(fields):
            if holding and not field.value and (in_all or _asks_again(field, fields[holding[-1]], at - holding[-1])):
                return Action("type", field, quote.value, "The same is wanted once more.")
    return None


def _asks_again(field: Element, first: Element, distance: int) -> bool:
    is_of_it = distance == 1 or words_of(field.name) & words_of(first.name)
    return bool(_REPEATS.search(field.name)) and not _REPEATS.search(first.name) and bool(is_of_it)


def next_named(task: str, view: View, followed: set[str]) -> Action | None:
    """What the task names without quoting it, by several words, and was not used: a link, a tab, a box to tick.

    The one that the task names first; of a name that stands for several elements, none.
    """
    wanted = words_of(task)
    found: dict[str, list[Element]] = {}
    for element in view.elements:
        if element.role in _NAMED and element.name.casefold() not in followed and not _ON & set(element.states):
            words = words_of(element.name)
            if _is_excluded(element.name, words, task):
                continue
            if _place(element.name, task) >= 0 or (len(words) > 1 and words <= wanted):
                found.setdefault(element.name.casefold(), []).append(element)
    named = sorted((_place(name, task), name) for name, elements in found.items() if len(elements) == 1)
    best = [name for place, name in named if place >= 0] or ([named[0][1]] if len(named) == 1 else [])
    return Action("click", found[best[0]][0], why="The task names it.") if best else None


def _is_excluded(name: str, words: Collection[str], task: str) -> bool:
    """Whether the task names something, or the first of its words, as what is not wanted."""
    starts = [m.start() for one in (name, *words) if (m := re.search(rf"(?<!\w){re.escape(one)}", task, re.IGNORECASE))]
    return bool(starts) and _EXCLUDED.search(task[: min(starts)]) is not None


def _place(name: str, task: str) -> int:
    """Where the task has a name of several words, word for word; -1 where it has not."""
    if len(name.split()) < 2:
        return -1
    match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", task, re.IGNORECASE)
    return match.start() if match else -1

"""A task of the specialist: what it quotes and names, and what was done, seen and used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from agent.small.browser.actions import Action
from agent.small.browser.view import Element, View, words_of
from mcp_tools.particulars import QUOTED, without_quotes

_BEFORE = 60
"""Characters before a quoted value in which its field is named."""
_INTO = re.compile(r"\s+(?:in|into|as)\b[^.,;:]{0,60}?(?=\s+(?:and|then)\b|[.,;:]|$)", re.IGNORECASE)
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
    into: str = ""
    """What follows and says where it goes: `in the field Name`, `into "Name"`."""

    @property
    def is_excluded(self) -> bool:
        """Whether the task says that it is not wanted."""
        return _EXCLUDED.search(self.before) is not None


def quotes(task: str) -> Iterator[Quote]:
    """What a task quotes, in its order."""
    end = 0
    for match in QUOTED.finditer(task):
        into = _INTO.match(task, match.end())
        before = task[max(end, match.start() - _BEFORE) : match.start()]
        yield Quote(next(filter(None, match.groups())), before, into[0] if into else "")
        end = match.end()


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
        if option := next((one for one in element.options if one.casefold() == quote.value.casefold()), ""):
            return Action("select", element, option, "The task names it.") if option != element.value else None
    field = field_for(quote, usable, len(list(quotes(task))))
    return Action("type", field, quote.value, "The task says so.") if field and field.value != quote.value else None


def field_for(quote: Quote, elements: Sequence[Element], count: int) -> Element | None:
    """The text field that a quoted value belongs into; None where that is not sure."""
    fields = [element for element in elements if element.use == "type"]
    around = words_of(f"{quote.before} {quote.into}", keep_common=True)
    shared = [len(around & words_of(field.name, keep_common=True)) for field in fields]
    if any(shared):
        return fields[shared.index(max(shared))]
    return fields[0] if len(fields) == count == 1 and _OF_ONE_FIELD.search(quote.before) else None


def repeated(task: str, view: View) -> Action | None:
    """A quoted value that a field has, for an empty one behind it: it is wanted in all, or asked for again."""
    fields = [element for element in view.elements if element.use == "type" and "disabled" not in element.states]
    values, in_all = {quote.value for quote in quotes(task)}, _IN_ALL.search(without_quotes(task))
    for before, field in pairwise(fields):
        if before.value in values and not field.value and (in_all or _REPEATS.search(field.name)):
            return Action("type", field, before.value, "The same is wanted once more.")
    return None


def next_named(task: str, view: View, followed: set[str]) -> Action | None:
    """What the task names without quoting it, by several words, and was not used: a link, a tab, a box to tick.

    The one that the task names first; of a name that stands for several elements, none.
    """
    wanted = words_of(task)
    found: dict[str, list[Element]] = {}
    for element in view.elements:
        name, words = element.name.casefold(), words_of(element.name)
        is_open = element.role in _NAMED and name not in followed and not _ON & set(element.states)
        is_named = _place(name, task) >= 0 or (len(words) > 1 and words <= wanted)
        if is_open and is_named and not _is_excluded(words | {name}, task):
            found.setdefault(name, []).append(element)
    named = sorted((_place(name, task), name) for name, elements in found.items() if len(elements) == 1)
    best = [name for place, name in named if place >= 0] or ([named[0][1]] if len(named) == 1 else [])
    return Action("click", found[best[0]][0], why="The task names it.") if best else None


def _is_excluded(words: set[str], task: str) -> bool:
    """Whether the task first names one of these where it says what is not wanted."""
    starts = [m.start() for one in words if (m := re.search(rf"(?<!\w){re.escape(one)}", task, re.IGNORECASE))]
    return bool(starts) and _EXCLUDED.search(task[: min(starts)]) is not None


def _place(name: str, task: str) -> int:
    """Where the task has a name of several words, word for word; -1 where it has not."""
    match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", task, re.IGNORECASE)
    return match.start() if match and len(name.split()) > 1 else -1


_MOST_SEEN = 200_000
_BOXES = frozenset({"checkbox", "radio", "switch"})
_ONCE = _BOXES | {"link", "tab"}
"""What is used once on a page: a second time leads to the same place, or undoes the first."""


class Memory:
    """What was done for one task, seen and used."""

    def __init__(self, task: str) -> None:
        self.task = task
        self.done: list[str] = []
        self.notes: list[str] = []
        """What pages said of a task that asks for several things."""
        self.used: set[str] = set()
        self.followed: set[str] = set()
        self.logged_in = False
        self.submitted = False
        """Whether the last action was a button, or ended in a download, and changed something."""
        self.pressed = False
        """Whether a button of the task changed anything so far."""
        self.filling = False
        """Whether the last action filled in a part of a form."""
        self.seen = ""
        self._there: set[tuple[object, ...]] = set()
        self._visited: set[str] = set()

    @property
    def is_all_used(self) -> bool:
        """Whether everything that the task quotes, and does not exclude, was used."""
        return all(quote.value in self.used or quote.is_excluded for quote in quotes(self.task))

    def see(self, view: View, before: View) -> None:
        """Takes in a page, and the one before it as an earlier one."""
        if view.text != before.text:
            self.seen = f"{self.seen}\n{before.text}"[-_MOST_SEEN:]

    def note(self, view: View, action: Action, changed: bool = False) -> None:
        """Remembers an action, the page that it was done on, and whether it changed anything."""
        self._there.add(_as_it_is(view, action.deed, action.on))
        if (on := action.on) is None:
            self.submitted = self.submitted and action.deed == "done"
            self.filling = self.filling and action.deed != "back"
            return
        self.used |= {quote.value for quote in quotes(self.task)} & {on.name}
        self.followed.add(on.name.casefold())
        fills = action.deed in {"type", "select"}
        if on.role in _ONCE or fills:
            self._there.add((view.url, action.deed, on.role, on.name))
        if action.aside:
            return
        sends = on.role == "button" or (on.role == "link" and _place(on.name, self.task) >= 0)
        self.filling = fills or (self.filling and on.role in _BOXES)
        self.submitted = changed and action.deed == "click" and sends
        self.pressed |= self.submitted
        if on.url and action.deed == "click":
            self._visited |= {on.url, view.url}
        elif self.submitted:
            self._visited.clear()  # pages may show something else from now on

    def was_done(self, view: View, deed: str, on: Element | None = None) -> bool:
        """Whether the same was done on this page as it is, or would follow, tick or fill in again what was before."""
        if on is not None and (on.url in self._visited or (view.url, deed, on.role, on.name) in self._there):
            return True
        return _as_it_is(view, deed, on) in self._there


def _as_it_is(view: View, deed: str, element: Element | None) -> tuple[object, ...]:
    return (view.url, view.lines, deed, element.number if element else 0)

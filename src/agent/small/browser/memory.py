"""What the specialist remembers of a task: what it did, saw and used."""

from __future__ import annotations

import re

from agent.small.browser.actions import Action
from agent.small.browser.quoted import quotes
from agent.small.browser.view import Element, View

_LOGIN = re.compile(r"\W*(?:please )?(?:log|sign) ?in(?: (?:to|at|on) \S+)?\W*", re.IGNORECASE)
_MOST_SEEN = 200_000
"""Characters of earlier pages that are remembered."""
_TOLD = 8
"""Things done that the model is told of."""
_BOXES = frozenset({"checkbox", "radio", "switch"})
_ONCE = frozenset({"link", "tab", "checkbox", "radio", "switch"})
"""What is used once on a page: a second time leads to the same place, or undoes the first."""


class Memory:
    """Of one task.

    Args:
        task: In the user's words.
    """

    def __init__(self, task: str) -> None:
        self.task = task
        self.done: list[str] = []
        """What was done, oldest first."""
        self.notes: list[str] = []
        """What pages said of a task that asks for several things."""
        self.closed: set[str] = set()
        """Buttons of banners."""
        self.used: set[str] = set()
        """What the task quotes and was used."""
        self.followed: set[str] = set()
        """Names of elements, in lower case."""
        self.logged_in = False
        self.submitted = False
        """Whether the last action was a button, or ended in a download, and changed something."""
        self.pressed = False
        """Whether a button of the task changed anything so far."""
        self.filling = False
        """Whether the last action filled in a part of a form."""
        self.seen = ""
        """The text of earlier pages."""
        self._names: set[str] = set()
        self._there: set[tuple[object, ...]] = set()
        self._visited: set[str] = set()

    @property
    def told(self) -> list[str]:
        """What the model is told of what was done."""
        return self.done[-_TOLD:]

    @property
    def named(self) -> set[str]:
        """What was used because of its name, in lower case."""
        return self.followed | {value.casefold() for value in self.used}

    @property
    def is_all_used(self) -> bool:
        """Whether everything that the task quotes, and does not exclude, was used."""
        return all(quote.value in self.used or quote.is_excluded for quote in quotes(self.task))

    @property
    def is_only_login(self) -> bool:
        """Whether the task is to log in, and nothing else."""
        return _LOGIN.fullmatch(self.task) is not None

    @property
    def has_seen_more(self) -> bool:
        """Whether something that the task quotes was seen on an earlier page, and not used."""
        return any(q.value.casefold() in self._names for q in quotes(self.task) if q.value not in self.used)

    def see(self, view: View, before: View) -> None:
        """Takes in a page, and the one before it as an earlier one."""
        if view.text != before.text:
            self.seen = f"{self.seen}\n{before.text}"[-_MOST_SEEN:]
        self._names |= {element.name.casefold() for element in view.elements}

    def note(self, view: View, action: Action, changed: bool = False) -> None:
        """Remembers an action, the page that it was done on, and whether it changed anything."""
        self._there.add(_key(view, action.deed, action.on))
        if (on := action.on) is None:
            self.submitted = self.submitted and action.deed == "done"
            self.filling = self.filling and action.deed != "back"
            return
        self.used |= {quote.value for quote in quotes(self.task)} & {on.name}
        self.followed.add(on.name.casefold())
        if action.aside and not self.is_only_login:
            return
        self.filling = action.deed in {"type", "select"} or (self.filling and on.role in _BOXES)
        self.submitted = (
            changed
            and action.deed == "click"
            and (on.role == "button" or (on.role == "link" and self._is_named(on.name)))
        )
        self.pressed |= self.submitted
        if on.url and action.deed == "click":
            self._visited |= {on.url, view.url}
        elif self.submitted:
            self._visited.clear()  # pages may show something else from now on
        if on.role in _ONCE or action.deed in {"type", "select"}:
            self._there.add(_place(view, action.deed, on))

    def _is_named(self, name: str) -> bool:
        return len(name.split()) > 1 and name.casefold() in self.task.casefold()

    def was_done(self, view: View, deed: str, element: Element | None = None) -> bool:
        """Whether the same was done on this page as it is, or would follow, tick or fill in again what was before."""
        if element is not None and (element.url in self._visited or _place(view, deed, element) in self._there):
            return True
        return _key(view, deed, element) in self._there


def _key(view: View, deed: str, element: Element | None) -> tuple[object, ...]:
    return (view.url, view.lines, deed, element.number if element else 0)


def _place(view: View, deed: str, element: Element) -> tuple[object, ...]:
    return (view.url, deed, element.role, element.name)

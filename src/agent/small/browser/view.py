"""A page as a model sees it: its accessibility tree as lines of text, in which what can be used has a number."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from mcp_tools.text import words

_NUMBER = re.compile(r"\[\d+\] ")
TYPED = frozenset({"textbox", "searchbox", "spinbutton"})
"""Roles of fields for text."""
ELEMENT = re.compile(r"\[\d+\] \w+")
_WORD = re.compile(r"[^\W_]+(?:[.,:][^\W_]+)*")
_COMMON = words(
    """
    a about all an and any are as at be been by can click do does find first for form from get give go has have how
    i if in into is it its last me my name of on open or out page please press see site tell that the their them then
    there this to type up use using was what when where which who why will with you your
    """
)


@dataclass(frozen=True, slots=True)
class Element:
    """Something that can be used."""

    number: int
    role: str
    name: str
    ref: str
    """Playwright's name of it in the newest snapshot."""
    value: str = ""
    """What stands in it."""
    options: tuple[str, ...] = ()
    """What a select offers."""
    states: tuple[str, ...] = ()
    dialog: int = 0
    """The number of the dialog that it is in; 0 for none."""
    url: str = ""
    """Where a link leads."""

    @property
    def use(self) -> str:
        """`type`, `select` or `click`."""
        if self.role in TYPED or (self.role == "combobox" and not self.options):
            return "type"
        return "select" if self.options else "click"

    def __str__(self) -> str:
        parts = [f"[{self.number}] {self.role}", f'"{self.name}"' if self.name else ""]
        if self.options:
            parts.append(f"({' / '.join(self.options[:12])}{' / …' if len(self.options) > 12 else ''})")
        parts += [f'= "{self.value}"' if self.value else "", *self.states]
        return " ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class View:
    """A page at one moment."""

    url: str
    title: str
    lines: tuple[str, ...]
    """Text and elements in their order."""
    elements: tuple[Element, ...]
    menu: frozenset[int] = frozenset()
    """Which lines are menus: the head and the foot of a site."""
    goes_on: bool = False
    """Whether it is longer than the window, below where it stands."""
    dialogs: tuple[int, ...] = ()
    """Of each line the number of the dialog that it is in; 0 for none."""
    dialog_names: tuple[str, ...] = ()
    fresh: frozenset[str] = frozenset()
    """The lines that the last action brought, where most of the page stayed as it was."""

    @property
    def text(self) -> str:
        """The whole page."""
        return "\n".join(self.lines)

    def dialog_text(self, number: int) -> str:
        """The name of a dialog, and what it says."""
        lines = [line for line, inside in zip(self.lines, self.dialogs, strict=False) if inside == number]
        return "\n".join([*self.dialog_names[number - 1 : number], *lines])

    def element(self, number: int) -> Element | None:
        """The element of a number."""
        return self.elements[number - 1] if 1 <= number <= len(self.elements) else None

    def since(self, before: View) -> View:
        """This view, which knows what is new on the page; on another page nothing is."""
        old = {_unnumbered(line) for line in before.lines}
        fresh = frozenset(line for line in self.lines if _unnumbered(line) not in old)
        is_same = before.url.partition("#")[0] == self.url.partition("#")[0] and len(fresh) * 2 < len(self.lines)
        return replace(self, fresh=fresh if is_same else frozenset())

    def part(self, question: str, size: int, start: int = 0) -> tuple[str, int]:
        """The lines from `start` on that fit into `size` characters, and where the rest begins.

        Where not all fit, those that hold words of the question stand for the others. Menus whose words have nothing
        to do with it come behind all other lines, and apart from them where these hold something to use.
        """
        body, asides = self._ordered(question)
        is_enough = start < len(body) and any(_NUMBER.search(self.lines[at]) for at in body[start:])
        order = (body if is_enough else body + asides)[start:]
        if sum(len(self.lines[at]) + 7 for at in order) <= size:
            return self._with_gaps(order), start + len(order)
        ranked = sorted(range(len(order)), key=lambda n: (-self._weight(question, order[n]), n))
        chosen: set[int] = set()
        left = size
        for n in ranked:
            length = len(self.lines[order[n]]) + 7
            if length <= left:
                chosen.add(n)
                left -= length
        return self._with_gaps([order[n] for n in sorted(chosen)]), start + _first_gap(chosen)

    def _weight(self, question: str, at: int) -> int:
        line = self.lines[at]
        return common_words(question, ELEMENT.sub("", line)) + (10 if line in self.fresh else 0)

    def _ordered(self, question: str) -> tuple[list[int], list[int]]:
        """The lines of the page itself, and those of its menus that have nothing to do with the question."""
        asides = [at for at in sorted(self.menu) if not self._weight(question, at)]
        return [at for at in range(len(self.lines)) if at not in asides], asides

    def _with_gaps(self, chosen: list[int]) -> str:
        shown: list[str] = []
        last = -1
        for at in chosen:
            if at != last + 1 and not all(between in self.menu for between in range(last + 1, at)):
                shown.append("…")
            shown.append(f"(new) {self.lines[at]}" if self.lines[at] in self.fresh else self.lines[at])
            last = at
        return "\n".join(shown)


def _first_gap(chosen: set[int]) -> int:
    """Where the lines begin that were not shown."""
    at = 0
    while at in chosen:
        at += 1
    return max(at, 1)


def _unnumbered(line: str) -> str:
    return _NUMBER.sub("", line)


def words_of(text: str, *, keep_common: bool = False) -> set[str]:
    """The words that say something, or all, in lower case and without a plural s."""
    return {_stem(word) for word in _WORD.findall(text.casefold()) if keep_common or word not in _COMMON}


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def common_words(one: str, other: str) -> int:
    """How many words both have."""
    return len(words_of(one) & words_of(other))

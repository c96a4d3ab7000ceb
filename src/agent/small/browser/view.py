"""A page as a model sees it: its accessibility tree as lines of text, in which what can be used has a number."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mcp_tools.particulars import FUNCTION_WORDS
from mcp_tools.text import words

if TYPE_CHECKING:
    from playwright.async_api import Page


_NUMBER = re.compile(r"\[\d+\] ")
ELEMENT = re.compile(r"\[\d+\] \w+")
_WORD = re.compile(r"[^\W_]+(?:[.,:][^\W_]+)*")
_COMMON = FUNCTION_WORDS | words("click find first form get go last name open page press see site tell type")
_GAP = 7
"""Characters that a line costs beyond its own."""


@dataclass(frozen=True, slots=True)
class Element:
    """Something that can be used."""

    number: int
    role: str
    name: str
    ref: str
    """Playwright's name of it in the newest snapshot."""
    value: str = ""
    options: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    url: str = ""

    @property
    def use(self) -> str:
        """`type`, `select` or `click`."""
        if self.role in _TYPED or (self.role == "combobox" and not self.options):
            return "type"
        return "select" if self.options else "click"

    def changed(self, change: Callable[[str], str]) -> Element:
        """The element with its texts changed."""
        options = tuple(map(change, self.options))
        return replace(self, name=change(self.name), value=change(self.value), options=options)

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
    lines: tuple[str, ...] = ()
    """Text and elements in their order."""
    elements: tuple[Element, ...] = ()
    menu: frozenset[int] = frozenset()
    """Which lines are menus: the head and the foot of a site."""
    goes_on: bool = False
    """Whether it is longer than the window, below where it stands."""
    fresh: frozenset[str] = frozenset()
    """The lines that the last action brought, where most of the page stayed as it was."""

    @property
    def text(self) -> str:
        """The whole page."""
        return "\n".join(self.lines)

    def element(self, number: int) -> Element | None:
        """The element of a number."""
        return self.elements[number - 1] if 1 <= number <= len(self.elements) else None

    def since(self, before: View) -> View:
        """This view, which knows what is new on the page; on another page nothing is."""
        old = {_NUMBER.sub("", line) for line in before.lines}
        fresh = frozenset(line for line in self.lines if _NUMBER.sub("", line) not in old)
        is_same = before.url.partition("#")[0] == self.url.partition("#")[0] and len(fresh) * 2 < len(self.lines)
        return replace(self, fresh=fresh if is_same else frozenset())

    def part(self, question: str, size: int, start: int = 0) -> tuple[str, int]:
        """The lines from `start` on that fit into `size` characters, and where the rest begins.

        Where not all fit, those that hold words of the question stand for the others. Menus whose words have nothing
        to do with it come behind all other lines, and apart from them where these hold something to use.
        """
        weights = [
            common_words(question, ELEMENT.sub("", line)) + (10 if line in self.fresh else 0) for line in self.lines
        ]
        asides = [at for at in sorted(self.menu) if not weights[at]]
        body = [at for at in range(len(self.lines)) if at not in asides]
        is_enough = any(_NUMBER.search(self.lines[at]) for at in body[start:])
        order = (body if is_enough else body + asides)[start:]
        left, chosen = size, set[int]()
        for n in sorted(range(len(order)), key=lambda n: (-weights[order[n]], n)):
            if (length := len(self.lines[order[n]]) + _GAP) <= left:
                chosen.add(n)
                left -= length
        shown = self._with_gaps([order[n] for n in sorted(chosen)])
        if len(chosen) == len(order):
            return shown, start + len(order)
        return shown, start + max(next(n for n in range(len(order)) if n not in chosen), 1)

    def _with_gaps(self, chosen: list[int]) -> str:
        shown: list[str] = []
        last = -1
        for at in chosen:
            if any(between not in self.menu for between in range(last + 1, at)):
                shown.append("…")
            shown.append(f"(new) {self.lines[at]}" if self.lines[at] in self.fresh else self.lines[at])
            last = at
        return "\n".join(shown)


def words_of(text: str, *, keep_common: bool = False) -> set[str]:
    """The words that say something, or all, in lower case and without a plural s."""
    found = [word for word in _WORD.findall(text.casefold()) if keep_common or word not in _COMMON]
    return {re.sub(r"(?<=[^\s]{2}[^s])s$", "", word) for word in found}


def common_words(one: str, other: str) -> int:
    """How many words both have."""
    return len(words_of(one) & words_of(other))


_NODE = re.compile(r'^(?P<role>[\w-]+)(?: (?P<name>"(?:[^"\\]|\\.)*"))?(?P<marks>(?: \[[^\]]*\])*)$')
_MARK = re.compile(r"\[([\w-]+)(?:=([^\]]*))?\]")
_TYPED = frozenset({"textbox", "searchbox", "spinbutton"})
_FIELDS = _TYPED | {"combobox", "listbox"}
_USED = _FIELDS | words(
    "link button checkbox radio tab menuitem menuitemcheckbox menuitemradio switch slider option treeitem"
)
_LINES = words(
    """
    paragraph heading listitem row iframe navigation table list form main banner contentinfo article region dialog
    alertdialog alert status blockquote group term definition figure search complementary rowgroup document separator
    caption code
    """
)
_CELLS = frozenset({"cell", "columnheader", "rowheader", "gridcell"})
_MENUS = frozenset({"navigation", "banner", "contentinfo"})
_STATES = ("checked", "selected", "disabled", "expanded", "pressed")
_NO_YAML = re.compile("[^\\t\\n\\r\\x20-\\x7e\\x85\\xa0-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
"""Characters that YAML has no place for: a page may hold them all the same."""
_GOES_ON = "document.documentElement.scrollHeight - scrollY - innerHeight > 20"
_MOST_NAME = 80
_LONGEST_LABEL = 40
"""Characters of a text before a field that names it; what is longer explains."""


async def look(page: Page) -> View:
    """The page as it is now.

    Raises:
        playwright.async_api.Error: The page is gone, or hangs.
    """
    view = view_of(page.url, await page.aria_snapshot(mode="ai", timeout=10_000))
    return replace(view, goes_on=bool(await page.evaluate(_GOES_ON)))


def view_of(url: str, snapshot: str) -> View:
    """The view that an accessibility snapshot (Playwright's, in its `ai` mode) describes."""
    import yaml  # type: ignore[import-untyped]  # its types are a package of their own

    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    tree = yaml.load(_NO_YAML.sub("\ufffd", snapshot), Loader=loader) or []  # noqa: S506  # texts, lists and mappings only
    drawing = _Drawing()
    for node in _nodes(tree if isinstance(tree, list) else [tree]):
        drawing.draw(node)
    drawing.end_line()
    return View(url, tuple(drawing.lines), tuple(drawing.elements), frozenset(drawing.menu))


@dataclass(slots=True)
class _Node:
    role: str
    name: str
    marks: dict[str, str]
    text: str
    children: list[Any]

    @property
    def all_text(self) -> str:
        """Its text and that of all within."""
        return " ".join(filter(None, [self.text or self.name, *(one.all_text for one in _nodes(self.children))]))

    @property
    def holds_something_to_use(self) -> bool:
        return any(
            one.role in _USED or "cursor" in one.marks or one.holds_something_to_use for one in _nodes(self.children)
        )

    @property
    def is_usable(self) -> bool:
        if "ref" not in self.marks:
            return False
        is_summary = self.role == "generic" and self.name  # the headline of what unfolds has no other role
        is_clickable = "cursor" in self.marks and self.all_text and not self.holds_something_to_use
        return self.role in _USED or bool(is_summary or is_clickable)


def _nodes(items: list[Any]) -> Iterator[_Node]:
    """The items of a snapshot, without the properties of their parent."""
    for item in items:
        key, value = next(iter(item.items())) if isinstance(item, dict) and item else (item, "")
        children = value if isinstance(value, list) else []
        text = value if isinstance(value, str) else ""
        if not isinstance(key, str) or key.startswith("/"):
            continue
        if match := _NODE.match(key):
            name = json.loads(match["name"]) if match["name"] else ""
            yield _Node(match["role"], " ".join(name.split()), dict(_MARK.findall(match["marks"])), text, children)
        else:
            yield _Node("text", "", {}, f"{key} {text}".strip(), children)


class _Drawing:
    """Lines and elements, as they are found."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.elements: list[Element] = []
        self.menu: set[int] = set()
        self._line: list[str] = []
        self._menus = 0

    def draw(self, node: _Node) -> None:
        if node.role == "text":
            self._line.append(node.text)
        elif node.is_usable:
            self._add_element(node)
        else:
            self._add_text(node)

    def _add_text(self, node: _Node) -> None:
        if node.role in _LINES:
            self.end_line()
        self._menus += node.role in _MENUS
        is_open = node.holds_something_to_use or node.role not in _CELLS | {"heading"}
        if node.role == "heading":
            self._line.append(f"# {node.name or node.text}")
        elif node.role in _CELLS:
            self._line += ["|"] if self._line else []
            self._line += [] if is_open else [node.text or node.name or node.all_text]
        elif text := node.text or ("" if node.children else node.name):
            self._line.append(text)
        for child in _nodes(node.children if is_open else []):
            self.draw(child)
        if node.role in _LINES or (node.role == "generic" and len(node.children) > 1):
            self.end_line()
        self._menus -= node.role in _MENUS

    def _add_element(self, node: _Node) -> None:
        is_field = node.role in _FIELDS
        options = list(_options(node)) if node.role in _FIELDS - _TYPED else []
        chosen = ", ".join(text for text, selected in options if selected)
        element = Element(
            number=len(self.elements) + 1,
            role=("button" if node.name else "item") if node.role == "generic" else node.role,
            name=(node.name or (self._label() if is_field else node.all_text))[:_MOST_NAME],
            ref=node.marks["ref"],
            value=chosen or (node.text if is_field else ""),
            options=tuple(text for text, _ in options),
            states=tuple(state for state in _STATES if state in node.marks and node.role not in _FIELDS - _TYPED),
            url=next((one["/url"] for one in node.children if isinstance(one, dict) and "/url" in one), ""),
        )
        self.elements.append(element)
        if self._line and _as_label(self._line[-1]) == element.name:
            self._line.pop()
        self._line.append(str(element))

    def _label(self) -> str:
        """What stands before a field that has no name: in its line, or alone in the line above it."""
        before = [part for part in self._line if part.strip(" |")] or self.lines[-1:]
        label = _as_label(before[-1]) if before else ""
        return label if len(label) <= _LONGEST_LABEL and not ELEMENT.match(label) and label[:2] != "# " else ""

    def end_line(self) -> None:
        if line := " ".join(" ".join(self._line).split()).strip(" |"):
            self.menu |= {len(self.lines)} if self._menus else set()
            self.lines.append(line)
        self._line.clear()


def _as_label(text: str) -> str:
    return text.strip().rstrip(":*").strip()


def _options(node: _Node) -> Iterator[tuple[str, bool]]:
    for child in _nodes(node.children):
        if child.role == "option":
            yield child.name or child.text, "selected" in child.marks
        else:
            yield from _options(child)

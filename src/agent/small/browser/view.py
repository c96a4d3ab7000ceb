"""A page as a model sees it: its accessibility tree as lines of text, in which what can be used has a number."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from mcp_tools.text import words

if TYPE_CHECKING:
    from playwright.async_api import Page


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


_NODE = re.compile(r'^(?P<role>[\w-]+)(?: (?P<name>"(?:[^"\\]|\\.)*"))?(?P<marks>(?: \[[^\]]*\])*)$')
_MARK = re.compile(r"\[([\w-]+)(?:=([^\]]*))?\]")
_CHOSEN = frozenset({"combobox", "listbox"})
_CLICKED = words("link button checkbox radio tab menuitem menuitemcheckbox menuitemradio switch slider option treeitem")
_LINES = words(
    """
    paragraph heading listitem row iframe navigation table list form main banner contentinfo article region dialog
    alertdialog alert status blockquote group term definition figure search complementary rowgroup document separator
    caption code
    """
)
_NO_YAML = re.compile("[^\\t\\n\\r\\x20-\\x7e\\x85\\xa0-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
"""Characters that YAML has no place for: a page may hold them all the same."""
_STATES = ("checked", "selected", "disabled", "expanded", "pressed")
_MENUS = frozenset({"navigation", "banner", "contentinfo"})
_DIALOGS = frozenset({"dialog", "alertdialog"})
_GOES_ON = "document.documentElement.scrollHeight - scrollY - innerHeight > 20"
_MOST_NAME = 80
_LONGEST_LABEL = 40
"""Characters of a text before a field that names it; what is longer explains."""


async def look(page: Page) -> View:
    """The page as it is now.

    Raises:
        playwright.async_api.Error: The page is gone, or hangs.
    """
    snapshot = await page.aria_snapshot(mode="ai", timeout=10_000)
    view = view_of(page.url, await page.title(), snapshot)
    return replace(view, goes_on=bool(await page.evaluate(_GOES_ON)))


def view_of(url: str, title: str, snapshot: str) -> View:
    """The view that an accessibility snapshot (Playwright's, in its `ai` mode) describes."""
    import yaml  # type: ignore[import-untyped]  # its types are a package of their own

    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    tree = yaml.load(_NO_YAML.sub("\ufffd", snapshot), Loader=loader) or []  # noqa: S506  # texts, lists and mappings only
    writing = _Writing()
    writing.nodes(tree if isinstance(tree, list) else [tree])
    writing.end_line()
    return View(
        url,
        title,
        tuple(writing.lines),
        tuple(writing.elements),
        frozenset(writing.menu),
        dialogs=tuple(writing.dialogs),
        dialog_names=tuple(writing.dialog_names),
    )


@dataclass(slots=True)
class _Node:
    role: str
    name: str
    marks: dict[str, str]
    text: str
    children: list[Any]

    @property
    def url(self) -> str:
        return next((c["/url"] for c in self.children if isinstance(c, dict) and "/url" in c), "")


def _node(item: Any) -> _Node | None:
    """One item of a snapshot; None for a property of its parent."""
    key, value = next(iter(item.items())) if isinstance(item, dict) and item else (item, "")
    children = value if isinstance(value, list) else []
    text = value if isinstance(value, str) else ""
    if not isinstance(key, str) or key.startswith("/"):
        return None
    match = _NODE.match(key)
    if match is None:
        return _Node("text", "", {}, f"{key} {text}".strip(), children)
    name = json.loads(match["name"]) if match["name"] else ""
    return _Node(match["role"], " ".join(str(name).split()), dict(_MARK.findall(match["marks"])), text, children)


@dataclass(slots=True)
class _Writing:
    """Lines and elements, as they are found."""

    lines: list[str] = field(default_factory=list)
    elements: list[Element] = field(default_factory=list)
    _line: list[str] = field(default_factory=list)
    menu: set[int] = field(default_factory=set)
    dialogs: list[int] = field(default_factory=list)
    dialog_names: list[str] = field(default_factory=list)
    _dialog: int = 0
    _last_dialog: int = 0
    _menus: int = 0

    def nodes(self, items: list[Any]) -> None:
        for node in filter(None, map(_node, items)):
            self.node(node)

    def node(self, node: _Node) -> None:
        if node.role == "group" and not node.name:
            _mark_summary(node)
        if node.role == "text":
            self._line.append(node.text)
        elif self._is_usable(node):
            self._use(node)
        else:
            self._plain(node)

    def _is_usable(self, node: _Node) -> bool:
        if "ref" not in node.marks:
            return False
        if node.role in TYPED | _CHOSEN | _CLICKED:
            return True
        if node.role == "summary":
            return True
        return "cursor" in node.marks and bool(_said(node)) and not any(_usable_inside(node))

    def _plain(self, node: _Node) -> None:
        begins = node.role in _LINES
        if begins:
            self.end_line()
        around = self._dialog
        if node.role in _DIALOGS:
            self._last_dialog += 1
            self._dialog = self._last_dialog
            self.dialog_names.append(node.name)
        self._menus += node.role in _MENUS
        if node.role == "heading":
            self._line.append(f"# {node.name or node.text}")
        elif node.role in {"cell", "columnheader", "rowheader", "gridcell"}:
            self._cell(node)
        else:
            self._line += [node.name] if node.name and not node.children and not node.text else []
            self._line += [node.text] if node.text else []
        if node.role not in {"cell", "columnheader", "rowheader", "gridcell"} and (
            node.role != "heading" or any(_usable_inside(node))
        ):
            self.nodes(node.children)
        if begins or node.role == "generic":
            self.end_line() if begins or len(node.children) > 1 else None
        self._dialog = around
        self._menus -= node.role in _MENUS

    def _cell(self, node: _Node) -> None:
        if self._line:
            self._line.append("|")
        if any(_usable_inside(node)):
            self.nodes(node.children)
        else:
            self._line.append(node.text or node.name or " ".join(_said(node).split()))

    def _use(self, node: _Node) -> None:
        name = node.name or (self._label() if node.role in TYPED | _CHOSEN else _said(node))
        inside = list(_options(node)) if node.role in _CHOSEN else []
        chosen = ", ".join(text for text, selected in inside if selected)
        element = Element(
            number=len(self.elements) + 1,
            role={"generic": "item", "summary": "button"}.get(node.role, node.role),
            name=name[:_MOST_NAME],
            ref=node.marks["ref"],
            value=chosen or (node.text if node.role in TYPED | _CHOSEN else ""),
            options=tuple(text for text, _ in inside),
            states=tuple(state for state in _STATES if state in node.marks and node.role not in _CHOSEN),
            dialog=self._dialog,
            url=node.url,
        )
        self.elements.append(element)
        if self._line and self._line[-1].strip().rstrip(":*").strip() == element.name:
            self._line.pop()  # its label
        self._line.append(str(element))

    def _label(self) -> str:
        """What stands before a field that has no name: in its line, or alone in the line above it."""
        before = [part for part in self._line if part.strip(" |")]
        if not before and self.lines and self.dialogs[-1] == self._dialog:
            before = self.lines[-1:]
        label = before[-1].strip().rstrip(":*").strip() if before else ""
        return label if len(label) <= _LONGEST_LABEL and not ELEMENT.match(label) and label[:2] != "# " else ""

    def end_line(self) -> None:
        line = " ".join(" ".join(part.split()) for part in self._line if part.strip()).strip(" |")
        if line:
            if self._menus:
                self.menu.add(len(self.lines))
            self.lines.append(line)
            self.dialogs.append(self._dialog)
        self._line.clear()


def _mark_summary(group: _Node) -> None:
    """Gives the headline of what unfolds, which has none, a role."""
    if group.children and isinstance(group.children[0], str):
        group.children[0] = re.sub(r'^generic (?=")', "summary ", group.children[0])


def _options(node: _Node) -> Iterator[tuple[str, bool]]:
    """What a select offers, and whether it is chosen."""
    for child in filter(None, map(_node, node.children)):
        if child.role == "option":
            yield child.name or child.text, "selected" in child.marks
        else:
            yield from _options(child)


def _said(node: _Node) -> str:
    """The text of a node and of all within."""
    parts = [node.text, node.name if not node.text else ""]
    parts += [_said(child) for child in filter(None, map(_node, node.children))]
    return " ".join(part for part in parts if part)


def _usable_inside(node: _Node) -> Iterator[bool]:
    for child in filter(None, map(_node, node.children)):
        if child.role in TYPED | _CHOSEN | _CLICKED or "cursor" in child.marks:
            yield True
        yield from _usable_inside(child)

"""A page's accessibility snapshot, as Playwright gives it, made into a view."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from agent.small.browser.view import ELEMENT, TYPED, Element, View
from mcp_tools.text import words

if TYPE_CHECKING:
    from playwright.async_api import Page

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

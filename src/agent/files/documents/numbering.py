"""Styles and lists of Word documents: levels of headings, and the numbers that Word shows before paragraphs."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_ROMAN = [
    ["", *one.split()]
    for one in (
        "i ii iii iv v vi vii viii ix",
        "x xx xxx xl l lx lxx lxxx xc",
        "c cc ccc cd d dc dcc dccc cm",
        "m mm mmm",
    )
]


def styles(root: list[Any]) -> tuple[dict[str, int], dict[str, tuple[str, int]]]:
    """Return the heading level and the list of each style, including inherited ones."""
    styles = {one.get(f"{W}styleId", ""): one for one in root if name_of(one) == "style"}
    levels: dict[str, int] = {}
    numbered: dict[str, tuple[str, int]] = {}
    for name in styles:
        one, seen = styles[name], set[str]()
        while one is not None and one.get(f"{W}styleId") not in seen:
            seen.add(one.get(f"{W}styleId"))
            called = value_of(one, "name").lower()
            properties = one.find(f"{W}pPr")
            digit = called.removeprefix("heading ")
            level = 1 if called == "title" else int(digit) if digit.isdecimal() else outline_of(properties)
            if level:
                levels.setdefault(name, level)
            if (number := list_of(properties))[0]:
                numbered.setdefault(name, number)
            one = styles.get(value_of(one, "basedOn"))
    return levels, numbered


class Lists:
    """Counts the list items of a document, paragraph by paragraph."""

    def __init__(self, numbering: list[Any]) -> None:
        abstract = {
            one.get(f"{W}abstractNumId"): {
                int(level.get(f"{W}ilvl", 0)): (
                    int(value_of(level, "start") or 1),
                    value_of(level, "numFmt"),
                    value_of(level, "lvlText"),
                )
                for level in one.iter(f"{W}lvl")
            }
            for one in numbering
            if name_of(one) == "abstractNum"
        }
        self._levels = {one.get(f"{W}numId"): abstract.get(value_of(one, "abstractNumId"), {}) for one in numbering}
        self._counts = defaultdict[str, Counter[int]](Counter)

    def mark(self, number: str, level: int) -> str:
        """Return the number or bullet of the next paragraph in a list: `2.1.`, `b)`, `-`; empty if it has none."""
        levels = self._levels.get(number, {})
        if level not in levels:
            return "-" if number not in ("", "0") else ""
        counts = self._counts[number]
        counts[level] += 1
        for deeper in [at for at in counts if at > level]:
            del counts[deeper]
        _, style, text = levels[level]
        if style in ("bullet", "none"):
            return "-" if style == "bullet" else ""
        for at in range(level + 1):
            start, style, _ = levels.get(at, (1, "", ""))
            count = start - 1 + max(counts[at], 1)
            text = text.replace(f"%{at + 1}", spelt(count, style))
        return text.strip()


def spelt(count: int, style: str) -> str:
    """Return a number in the style of a list: `3`, `03`, `c`, `III`."""
    if style.endswith("Letter"):
        spelt = chr(ord("a") + (count - 1) % 26) * min((count - 1) // 26 + 1, 10)
    elif style.endswith("Roman") and count < 4000:
        spelt = "".join(tens[count // 10**at % 10] for at, tens in reversed(list(enumerate(_ROMAN))))
    else:
        return f"{count:02}" if style == "decimalZero" else str(count)
    return spelt.upper() if style.startswith("upper") else spelt


def name_of(element: Any) -> str:
    """Return the name of an element without its namespace; empty for a comment."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def value_of(parent: Any, name: str) -> str:
    """Return the value of a property, or an empty string."""
    found = parent.find(f"{W}{name}") if parent is not None else None
    return str(found.get(f"{W}val", "")) if found is not None else ""


def outline_of(properties: Any) -> int:
    """Return the heading level in a paragraph's properties; 0 for other paragraphs."""
    level = value_of(properties, "outlineLvl")
    return int(level) + 1 if level.isdigit() and int(level) < 9 else 0


def list_of(properties: Any, number: str = "", depth: int = 0) -> tuple[str, int]:
    """Return the list and the level in a paragraph's properties."""
    listed = properties.find(f"{W}numPr") if properties is not None else None
    return (value_of(listed, "numId") or number), int(value_of(listed, "ilvl") or depth)

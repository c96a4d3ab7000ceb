"""The numbers and bullets of a Word document, which its text does not hold."""

from __future__ import annotations

from typing import Any

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc")),
    *((50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)


class Lists:
    """Counts the lists of a document while its paragraphs go by.

    Args:
        numbering: The root of the numbering part; None where there is none.
    """

    def __init__(self, numbering: Any) -> None:
        self._levels: dict[str, dict[int, Any]] = {}
        self._lists: dict[str, tuple[str, dict[int, int]]] = {}
        self._counts: dict[str, dict[int, int]] = {}
        self._begun: set[str] = set()
        if numbering is None:
            return
        for abstract in numbering.iter(f"{_W}abstractNum"):
            levels = {int(level.get(f"{_W}ilvl", 0)): level for level in abstract.iter(f"{_W}lvl")}
            self._levels[abstract.get(f"{_W}abstractNumId", "")] = levels
        for number in numbering.iter(f"{_W}num"):
            starts = {
                int(one.get(f"{_W}ilvl", 0)): int(_value(one, "startOverride") or 1)
                for one in number.iter(f"{_W}lvlOverride")
                if _value(one, "startOverride")
            }
            self._lists[number.get(f"{_W}numId", "")] = (_value(number, "abstractNumId"), starts)

    def mark(self, number: str, level: int) -> str:
        """What stands before the next paragraph of this list: `2.1.`, `b)`, `-`; empty where it is none."""
        abstract, starts = self._lists.get(number, ("", {}))
        levels = self._levels.get(abstract, {})
        if level not in levels:
            return "-" if number not in ("", "0") else ""
        counts = self._counts.setdefault(abstract, {})
        if starts and number not in self._begun:
            counts.update({at: start - 1 for at, start in starts.items()})
        self._begun.add(number)
        counts[level] = counts.get(level, _start(levels[level]) - 1) + 1
        for deeper in [at for at in counts if at > level]:
            del counts[deeper]
        style = _value(levels[level], "numFmt")
        if style in ("bullet", "none"):
            return "-" if style == "bullet" else ""
        text = _value(levels[level], "lvlText")
        for at in range(level + 1):
            value = counts.get(at, _start(levels[at]) if at in levels else 1)
            text = text.replace(f"%{at + 1}", _spelt(value, _value(levels.get(at), "numFmt")))
        return text.strip()


def _start(level: Any) -> int:
    return int(_value(level, "start") or 1)


def _value(element: Any, name: str) -> str:
    found = element.find(f"{_W}{name}") if element is not None else None
    return str(found.get(f"{_W}val", "")) if found is not None else ""


def _spelt(number: int, style: str) -> str:
    if style in ("lowerLetter", "upperLetter") and number > 0:
        text = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
    elif style in ("lowerRoman", "upperRoman") and 0 < number < 4000:
        text = _roman(number)
    else:
        return f"{number:02}" if style == "decimalZero" else str(number)
    return text.upper() if style.startswith("upper") else text


def _roman(number: int) -> str:
    text = ""
    for value, letters in _ROMAN:
        text += letters * (number // value)
        number %= value
    return text

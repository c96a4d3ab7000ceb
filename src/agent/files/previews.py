"""Previews of files: the beginning of each part, and a label with the share that is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import InitVar, dataclass
from typing import Literal, NamedTuple

ROOM = 6_000
"""Length of a preview in characters. A shorter file is shown in full."""
CELL = 200
"""Maximum number of characters that are shown of a cell or list entry."""
_LONG_TEXT_CHARS = 2_500  # shown of a text that does not fit
_MIN_SAMPLE_CHARS = 800  # shown of a text with a long outline
_SHARES = {2: (0.75, 0.25), 3: (0.6, 0.2, 0.2)}  # for beginning and end, or beginning, middle and end
_FIRST_ITEMS = {"row": 10, "line": 5, "entry": 3, "file": 60}  # items shown of a list that does not fit
_LABEL_CHARS = 60  # reserved for a name and a label
_CUT = re.compile(r"… \([\d,]+ (?:characters|bytes)\)")
"""Matches the mark after a value that was cut."""
_MAX_NOTES_SHARE = 0.4


class PreviewText(NamedTuple):
    """The text of a preview."""

    parts: list[str]
    """One text for each sheet, table or list; a single text for other files."""
    label: str
    """`complete`, `rows 1–10 of 421`; empty if each part has its own label, or the share is unknown."""
    headers: Sequence[str] = ()
    """Names and headers of the tables. All files of a series have the same ones."""


@dataclass
class ListPreview:
    """The beginning of a sheet, table or list: all items if they fit, else the first ones."""

    pieces: InitVar[Iterable[str]]
    """The rows, lines or entries. Only those that can be shown are taken from the iterator."""
    total: int | None
    """Number of items in the file; None if unknown."""
    unit: Literal["row", "line", "entry", "file"] = "row"
    name: str = ""
    """The name that is shown, such as `sheet Costs`; empty if the file has only one list."""
    head: str = ""
    """The line above the items, such as the header of a table."""
    notes: Sequence[str] = ()
    """Lines below the items: colours, comments."""
    columns: Sequence[str] = ()
    """Lines that describe the columns. They are left out if all rows are shown."""

    def __post_init__(self, pieces: Iterable[str]) -> None:
        kept: list[str] = []
        room = ROOM
        for piece in pieces:
            if room < 0 and len(kept) >= _FIRST_ITEMS[self.unit]:
                break
            kept.append(piece)
            room -= len(piece) + 1
        self.first = kept if len(kept) == self.total else kept[: _FIRST_ITEMS[self.unit]]
        self.below = [*self.notes, *(self.columns if len(self.first) != self.total else ())]
        lines = (self.name, self.head, *self.first, *self.below)
        self.size = sum(len(line) + 1 for line in lines if line) + _LABEL_CHARS

    def shown(self, room: int) -> tuple[str, str]:
        """Return the items that fit into the room, and a label with their share of the list."""
        pieces, below, unit = self.first, "\n".join(self.below), self.unit
        units = f"{unit}s" if unit != "entry" else "entries"
        of = "an unknown number" if self.total is None else f"{self.total:,}"
        if self.size > room:
            below = _notes(self.below, int(room * _MAX_NOTES_SHARE))
            pieces = _fitting(pieces, room - len(below) - len(self.head) - len(self.name) - _LABEL_CHARS)[
                : _FIRST_ITEMS[unit]
            ]
        if len(pieces) == self.total and any(_CUT.search(piece) for piece in pieces):
            label = f"all {of} {units}, long values cut"
        elif len(pieces) == self.total:
            label = f"complete, {of} {unit if self.total == 1 else units}" if self.total else f"no {units}"
        elif pieces or not self.first:
            label = f"{units} 1–{len(pieces):,} of {of}"
        else:
            pieces, label = [f"{self.first[0][: max(room, 40)]}…"], f"the beginning of {unit} 1 of {of}"
        return "\n".join(filter(None, [self.head, *pieces, below])), label


def preview_of_lists(lists: Sequence[ListPreview], room: int = ROOM) -> PreviewText:
    """Return the beginnings of several lists. Room that one list does not need goes to the others."""
    rooms = shares([one.size for one in lists], room)
    headers = [f"{one.name}\n{one.head}" for one in lists]
    shown = [one.shown(room) for one, room in zip(lists, rooms, strict=True)]
    if len(lists) == 1 and not lists[0].name:
        return PreviewText([shown[0][0]], shown[0][1], headers)
    parts = [f"## {one.name}: {label}\n{text}".rstrip("\n") for one, (text, label) in zip(lists, shown, strict=True)]
    return PreviewText(parts, "complete" if all(label.startswith("complete") for _, label in shown) else "", headers)


def preview_of_text(text: str, outline: Sequence[str] = ()) -> PreviewText:
    """Return the text if it fits, else its beginning, its outline (or its middle) and its end."""
    if len(text) <= ROOM:
        return PreviewText([text], "complete")
    notes = _notes(outline, int(ROOM * _MAX_NOTES_SHARE))
    room = max(_LONG_TEXT_CHARS - len(notes), _MIN_SAMPLE_CHARS)
    shares = [int(room * share) for share in _SHARES[2 if outline else 3]]
    kept = [shortened(text, shares[0])]
    if not outline:
        half = len(text) // 2
        kept.append(shortened(text[text.find("\n", half, half + shares[1]) + 1 or half :], shares[1]))
    kept.append(_ending(text, shares[-1]))
    names = ["at the beginning", *["in the middle"] * (not outline), "at the end"]
    sizes = ", ".join(f"{len(piece):,} {name}" for piece, name in zip(kept, names, strict=True))
    texts = [*kept[:-1], *([notes] if notes else []), kept[-1]]
    return PreviewText(["\n[…]\n".join(texts)], f"characters: {sizes}, of {len(text):,}")


def preview_of_beginning(text: str, of: str = "") -> PreviewText:
    """Return the beginning of a text that does not fit. `of` completes the label."""
    text = shortened(text, _LONG_TEXT_CHARS)
    return PreviewText([text], f"the first {len(text):,} characters{of}")


def shares(needs: Sequence[int], room: int) -> list[int]:
    """Divide room fairly: smaller needs are met in full, and the larger ones share the rest equally.

    >>> shares([10, 500, 500], 410)
    [10, 200, 200]
    """
    given = [0] * len(needs)
    for left, index in zip(range(len(needs), 0, -1), sorted(range(len(needs)), key=needs.__getitem__), strict=True):
        given[index] = min(needs[index], room // left)
        room -= given[index]
    return given


def shortened(text: str, room: int) -> str:
    """Return the beginning of a text, cut after a line or a word if one ends near the limit."""
    if len(text) <= room:
        return text
    beginning = text[: max(room, 0)]
    for mark in "\n ":
        if (end := beginning.rfind(mark)) > room * 0.8:
            return beginning[:end]
    return beginning


def _ending(text: str, room: int) -> str:
    """Return the end of a text, from the beginning of a line or a word if one is near."""
    ending = text[len(text) - room :]
    for mark, near in (("\n", 0.5), (" ", 0.2)):
        if 0 <= (start := ending.find(mark)) < room * near:
            return ending[start + 1 :]
    return ending


def _notes(notes: Sequence[str], room: int) -> str:
    kept = _fitting(notes, room)
    more = [f"… and {len(notes) - len(kept)} more lines of notes"] if len(kept) < len(notes) else []
    return "\n".join([*kept, *more])


def _fitting(pieces: Sequence[str], room: int) -> list[str]:
    kept: list[str] = []
    for piece in pieces:
        room -= len(piece) + 1
        if room < 0:
            break
        kept.append(piece)
    return kept

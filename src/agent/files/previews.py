"""Previews: the beginning of each part of a file, with room shared fairly, and a label that says how much is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import InitVar, dataclass
from typing import Literal, NamedTuple

ROOM = 6_000
"""Characters of a preview. A file of at most this many characters is shown whole."""
CELL = 200
"""Characters of a cell, or of an entry of a list."""
_BEGINNING = 2_500  # characters shown of a longer text
_SAMPLE = 800  # characters shown of a text with a long outline, at least
_SHARES = {2: (0.75, 0.25), 3: (0.6, 0.2, 0.2)}  # of the beginning and the end, or with the middle between them
_FIRST = {"row": 10, "line": 5, "entry": 3, "file": 60}  # pieces shown of a longer list
_LABEL = 60  # room for a name and a label
_CUT = re.compile(r"… \([\d,]+ (?:characters|bytes)\)")
"""Mark of a cut value."""
_NOTES = 0.4  # largest share of the room for notes


class PreviewText(NamedTuple):
    """A preview as text."""

    parts: list[str]
    """One text for each sheet, table or list; a single one for a plain text."""
    label: str
    """`complete`, `rows 1–10 of 421`; empty if each part says it, or if it cannot be said."""
    headers: Sequence[str] = ()
    """Names and headers of the tables, to recognise files of one series."""


@dataclass
class ListPreview:
    """The beginning of a sheet, table or list: all its pieces if there is room, else the first ones."""

    pieces: InitVar[Iterable[str]]
    """Its rows, lines or entries. No more are consumed than can be shown."""
    total: int | None
    """Number of pieces of the file; None if unknown."""
    unit: Literal["row", "line", "entry", "file"] = "row"
    name: str = ""
    """For people: `sheet Costs`; empty if the file has only one list."""
    head: str = ""
    """The line above the pieces: the header of a table."""
    notes: Sequence[str] = ()
    """Lines below the pieces: colours, comments."""
    columns: Sequence[str] = ()
    """Lines that describe its columns, shown unless all rows are."""

    def __post_init__(self, pieces: Iterable[str]) -> None:
        kept: list[str] = []
        room = ROOM
        for piece in pieces:
            if room < 0 and len(kept) >= _FIRST[self.unit]:
                break
            kept.append(piece)
            room -= len(piece) + 1
        self.first = kept if len(kept) == self.total else kept[: _FIRST[self.unit]]
        self.below = [*self.notes, *(self.columns if len(self.first) != self.total else ())]
        lines = (self.name, self.head, *self.first, *self.below)
        self.size = sum(len(line) + 1 for line in lines if line) + _LABEL

    def shown(self, room: int) -> tuple[str, str]:
        """Return the items that fit into the room, and a label with their share of the list."""
        pieces, below, unit = self.first, "\n".join(self.below), self.unit
        units = f"{unit}s" if unit != "entry" else "entries"
        of = "an unknown number" if self.total is None else f"{self.total:,}"
        if self.size > room:
            below = _notes(self.below, int(room * _NOTES))
            pieces = _fitting(pieces, room - len(below) - len(self.head) - len(self.name) - _LABEL)[: _FIRST[unit]]
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
    """The beginnings of several lists; room that one does not need goes to the others."""
    rooms = shares([one.size for one in lists], room)
    headers = [f"{one.name}\n{one.head}" for one in lists]
    shown = [one.shown(room) for one, room in zip(lists, rooms, strict=True)]
    if len(lists) == 1 and not lists[0].name:
        return PreviewText([shown[0][0]], shown[0][1], headers)
    parts = [f"## {one.name}: {label}\n{text}".rstrip("\n") for one, (text, label) in zip(lists, shown, strict=True)]
    return PreviewText(parts, "complete" if all(label.startswith("complete") for _, label in shown) else "", headers)


def preview_of_text(text: str, outline: Sequence[str] = ()) -> PreviewText:
    """The text if there is room, else its beginning, its outline or its middle, and its end."""
    if len(text) <= ROOM:
        return PreviewText([text], "complete")
    notes = _notes(outline, int(ROOM * _NOTES))
    room = max(_BEGINNING - len(notes), _SAMPLE)
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
    """The beginning of a longer text; `of` completes the label."""
    text = shortened(text, _BEGINNING)
    return PreviewText([text], f"the first {len(text):,} characters{of}")


def shares(needs: Sequence[int], room: int) -> list[int]:
    """Divides room fairly: each gets what it needs, at most an equal share of what smaller needs leave."""
    given = [0] * len(needs)
    for left, index in zip(range(len(needs), 0, -1), sorted(range(len(needs)), key=needs.__getitem__), strict=True):
        given[index] = min(needs[index], room // left)
        room -= given[index]
    return given


def shortened(text: str, room: int) -> str:
    """The beginning of a text, cut at the end of a line or word if one is near."""
    if len(text) <= room:
        return text
    beginning = text[: max(room, 0)]
    for mark in "\n ":
        if (end := beginning.rfind(mark)) > room * 0.8:
            return beginning[:end]
    return beginning


def _ending(text: str, room: int) -> str:
    """The end of a text, cut at the beginning of a line or word if one is near."""
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

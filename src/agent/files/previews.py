"""Previews: how a file begins, as much of each of its parts as is fair, and how much of the file that is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import InitVar, dataclass
from typing import Literal, NamedTuple

ROOM = 8_000
"""Characters of a preview; a text that has no more is shown whole."""
DATA = 4_000
"""Characters that data may have to be shown whole: programs read it."""
CELL = 200
"""Characters of a cell, or of an entry of a list."""
_BEGINNING = 2_500  # characters of a text that has more
_SAMPLE = 800  # characters of a text with a long outline
_SHARES = {2: (0.75, 0.25), 3: (0.6, 0.2, 0.2)}  # of the beginning and the end, or with the middle between them
_FIRST = {"row": 10, "line": 5, "entry": 3, "file": 60}  # pieces of a list that has more than can be shown
_LABEL = 60  # characters that say what a list is and what of it is shown
_NOTES = 0.4  # share of the room that notes may take from the rows


class PreviewText(NamedTuple):
    """How a file begins."""

    parts: list[str]
    """A text for each of its sheets, tables or lists; one where the file is one text."""
    label: str
    """`complete`, `rows 1–10 of 421`; empty where each part says it itself, or it cannot be said."""
    headers: Sequence[str] = ()
    """The names and headers of its tables: files of a series have the same."""


@dataclass
class ListPreview:
    """The beginning of a sheet, a table or a list: all its pieces if they can be shown, else the first ones."""

    pieces: InitVar[Iterable[str]]
    """Its rows, lines or entries; no more are taken than may be shown."""
    total: int | None
    """How many of them the file has; None where that is not known."""
    unit: Literal["row", "line", "entry", "file"] = "row"
    name: str = ""
    """As people say it: `sheet Costs`; empty where the file has one list."""
    head: str = ""
    """What stands above: the header of a table."""
    notes: Sequence[str] = ()
    """What stands below: its colours, its comments."""
    columns: Sequence[str] = ()
    """What its columns hold, for whoever does not see all of it."""

    def __post_init__(self, pieces: Iterable[str]) -> None:
        kept: list[str] = []
        room = DATA
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
        """What there is room for, and how much of the list that is."""
        pieces, below, unit = self.first, "\n".join(self.below), self.unit
        units = f"{unit}s" if unit != "entry" else "entries"
        of = "an unknown number" if self.total is None else f"{self.total:,}"
        if self.size > room:
            below = _notes(self.below, int(room * _NOTES))
            pieces = _fitting(pieces, room - len(below) - len(self.head) - len(self.name) - _LABEL)[: _FIRST[unit]]
        if len(pieces) == self.total:
            label = f"complete, {of} {unit if self.total == 1 else units}" if self.total else f"no {units}"
        elif pieces or not self.first:
            label = f"{units} 1–{len(pieces):,} of {of}"
        else:
            pieces, label = [f"{self.first[0][: max(room, 40)]}…"], f"the beginning of {unit} 1 of {of}"
        return "\n".join(filter(None, [self.head, *pieces, below])), label


def preview_of_lists(lists: Sequence[ListPreview], room: int = ROOM) -> PreviewText:
    """The beginnings of lists; what one does not need, the others get."""
    rooms = shares([one.size for one in lists], room)
    headers = [f"{one.name}\n{one.head}" for one in lists]
    shown = [one.shown(room) for one, room in zip(lists, rooms, strict=True)]
    if len(lists) == 1 and not lists[0].name:
        return PreviewText([shown[0][0]], shown[0][1], headers)
    parts = [f"## {one.name}: {label}\n{text}".rstrip("\n") for one, (text, label) in zip(lists, shown, strict=True)]
    return PreviewText(parts, "complete" if all(label.startswith("complete") for _, label in shown) else "", headers)


def preview_of_text(text: str, outline: Sequence[str] = (), whole: int = ROOM) -> PreviewText:
    """A text of at most `whole` characters; else its beginning and its end, with its outline or its middle."""
    if len(text) <= whole:
        return PreviewText([text], "complete")
    notes = _notes(outline, int(ROOM * _NOTES))
    room = max(_BEGINNING - len(notes), _SAMPLE)
    shares = [int(room * share) for share in _SHARES[2 if outline else 3]]
    kept = [shortened(text, shares[0])]
    if not outline:
        kept.append(shortened(text[text.find("\n", len(text) // 2) + 1 :], shares[1]))
    kept.append(_ending(text, shares[-1]))
    names = ["at the beginning", *["in the middle"] * (not outline), "at the end"]
    sizes = ", ".join(f"{len(piece):,} {name}" for piece, name in zip(kept, names, strict=True))
    texts = [*kept[:-1], *([notes] if notes else []), kept[-1]]
    return PreviewText(["\n[…]\n".join(texts)], f"characters: {sizes}, of {len(text):,}")


def preview_of_beginning(text: str, of: str = "") -> PreviewText:
    """The beginning of a text that has more; `of` says of what."""
    text = shortened(text, _BEGINNING)
    return PreviewText([text], f"the first {len(text):,} characters{of}")


def shares(needs: Sequence[int], room: int) -> list[int]:
    """The room of each of several: what it needs, at most an equal share of what those leave that need less."""
    given = [0] * len(needs)
    for left, index in zip(range(len(needs), 0, -1), sorted(range(len(needs)), key=needs.__getitem__), strict=True):
        given[index] = min(needs[index], room // left)
        room -= given[index]
    return given


def shortened(text: str, room: int) -> str:
    """The beginning of a text, to the end of a line or a word if one is near."""
    if len(text) <= room:
        return text
    beginning = text[: max(room, 0)]
    for mark in "\n ":
        if (end := beginning.rfind(mark)) > room * 0.8:
            return beginning[:end]
    return beginning


def _ending(text: str, room: int) -> str:
    """The end of a text, from the beginning of a line or a word if one is near."""
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

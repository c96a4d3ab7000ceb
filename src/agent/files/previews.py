"""Previews: the beginnings of a file's parts, as much of each as is fair, with what is shown and what is not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict

if TYPE_CHECKING:
    from agent.files.contents import Contents

ROOM = 8_000
"""Characters that a file may have to be shown whole; all its parts together."""
DATA = 4_000
"""Characters that data may have to be shown whole: programs read it."""
_BEGINNING = 2_500  # characters of a text that has more
_SAMPLE = 800  # characters of the beginning of a text with a long outline
_PLACES = {2: (0.75, 0.25), 3: (0.6, 0.2, 0.2)}
"""Shares of the beginning and the end, or of the beginning, the middle and the end, of what is shown of a text."""
FIRST = {"rows": 10, "lines": 5, "entries": 3, "files": 60}
"""Pieces of a part that has more than can be shown."""
CELL = 200
"""Characters of a cell, or of an entry of a list."""
_LABEL = 60  # characters that say what a part is and what of it is shown
_TEXTS = frozenset({"characters", "pages"})
_NOTES = 0.4  # share of a part's room that notes may take from its rows


class Part(TypedDict):
    """The beginning of a sheet, a table, a list or a text."""

    name: str
    """As people say it: `sheet Costs`; empty where the file has one part."""
    unit: Literal["rows", "lines", "entries", "files", "pages", "characters"]
    total: int | None
    """How many of them the file has; None where that is not known."""
    head: str
    """What stands above: the header of a table."""
    pieces: list[str]
    """The first rows or pages; of a text its first characters, or its beginning, middle and end."""
    notes: list[str]
    """What stands below: its colours, its comments."""
    columns: list[str]
    """What its columns hold, or what a text is made of, for whoever does not see all of it."""


class Shown(NamedTuple):
    """What there was room for."""

    text: str
    label: str
    """`complete`, `rows 1–10 of 421`; empty where it cannot be said."""


def part_of(
    pieces: Iterable[str],
    total: int | None,
    unit: Literal["rows", "lines", "entries", "files"] = "rows",
    *,
    name: str = "",
    head: str = "",
    notes: Sequence[str] = (),
    columns: Sequence[str] = (),
) -> Part:
    """The beginning of a table or a list: all its pieces if they can be shown, else the first ones."""
    kept: list[str] = []
    room = DATA
    for piece in pieces:
        if room < 0 and len(kept) >= FIRST[unit]:
            break
        kept.append(piece)
        room -= len(piece) + 1
    if len(kept) != total:
        kept = kept[: FIRST[unit]]
    return Part(name=name, unit=unit, total=total, head=head, pieces=kept, notes=list(notes), columns=list(columns))


def text_part(text: str, total: int | None, *, name: str = "", outline: Sequence[str] = (), whole: int = ROOM) -> Part:
    """The beginning of a text; where there is more than `whole` characters of it, with what else it holds.

    `total` is None where the number of characters says nothing: there is more to see than text.
    """
    kept = text[: whole if len(text) <= whole else _BEGINNING]
    return Part(name=name, unit="characters", total=total, head="", pieces=[kept], notes=[], columns=list(outline))


def sampled_part(text: str, outline: Sequence[str] = ()) -> Part:
    """A text: whole if it can be shown, else its beginning and its end, with its outline or its middle."""
    if len(text) <= ROOM:
        return text_part(text, len(text))
    shares = [int(_BEGINNING * share) for share in _PLACES[2 if outline else 3]]
    middle = text.find("\n", len(text) // 2) + 1
    pieces = [shortened(text, shares[0]), *([] if outline else [shortened(text[middle:], shares[1])])]
    pieces.append(_ending(text, shares[-1]))
    return Part(name="", unit="characters", total=len(text), head="", pieces=pieces, notes=[], columns=list(outline))


def pages_part(contents: Contents) -> Part:
    """The first pages of a file: all of them if they can be shown."""
    pages: list[str] = []
    for section in contents.sections():
        pages.append(section.text if contents.count == 1 else f"[{section.name}]\n{section.text}")
        if sum(map(len, pages)) > ROOM:
            break
    return Part(name="", unit="pages", total=contents.count, head="", pieces=pages, notes=[], columns=[])


def trimmed(parts: Sequence[Part]) -> list[Part]:
    """The parts without what no preview of them all will show."""
    rooms = shares([_size(part) for part in parts], ROOM)
    return [
        {**part, "pieces": _fitting(part["pieces"], room) or part["pieces"][:1]} if part["unit"] not in _TEXTS else part
        for part, room in zip(parts, rooms, strict=True)
    ]


def rendered(parts: Sequence[Part], room: int) -> Shown:
    """The parts of a file as text of `room` characters; what one part does not need, the others get."""
    rooms = shares([_size(part) for part in parts], room)
    shown = [_rendered(part, room) for part, room in zip(parts, rooms, strict=True)]
    if len(parts) == 1 and not parts[0]["name"]:
        return shown[0]
    texts = [
        "\n".join(filter(None, [f"## {part['name']}: {one.label}".removesuffix(": "), one.text]))
        for part, one in zip(parts, shown, strict=True)
    ]
    is_whole = all(one.label.startswith("complete") for one in shown)
    return Shown("\n\n".join(texts), "complete" if is_whole else "")


def needed(parts: Sequence[Part]) -> int:
    """The characters that the parts take at most."""
    return sum(map(_size, parts))


def shares(needs: Sequence[int], room: int) -> list[int]:
    """The room of each of several: what it needs, at most an equal share of what those leave that need less."""
    given = [0] * len(needs)
    for left, index in zip(range(len(needs), 0, -1), sorted(range(len(needs)), key=needs.__getitem__), strict=True):
        given[index] = min(needs[index], room // left)
        room -= given[index]
    return given


def _size(part: Part) -> int:
    is_whole = part["total"] == len(part["pieces"][0] if part["unit"] == "characters" else part["pieces"])
    columns = [] if is_whole else part["columns"]
    lines = [part["name"], part["head"], *part["pieces"], *part["notes"], *columns]
    return sum(len(line) + 1 for line in lines if line) + _LABEL


def _rendered(part: Part, room: int) -> Shown:
    if part["unit"] == "characters":
        return _text(part, room)
    total, pieces, unit = part["total"], part["pieces"], part["unit"]
    notes = "\n".join(part["notes"] if len(pieces) == total else [*part["notes"], *part["columns"]])
    head = [part["head"]] if part["head"] else []
    shown = len(pieces)
    is_cut = _size(part) > room
    if unit == "pages" and (is_cut or shown != total):
        text = shortened("\n\n".join(pieces), min(room, _BEGINNING))
        return Shown(text, f"the first {len(text):,} characters of {_of(total)} pages")
    if is_cut:
        notes = _notes([*part["notes"], *part["columns"]], int(room * _NOTES))
        shown = len(_fitting(pieces, room - len(notes) - sum(map(len, head)) - len(part["name"]) - _LABEL))
        shown = min(shown, FIRST.get(unit, shown))
    lines = [*head, *pieces[:shown], *([notes] if notes else [])]
    if shown == total:
        counted = f"{total:,} {unit if total != 1 else {'entries': 'entry'}.get(unit, unit[:-1])}"
        return Shown(
            ("\n\n" if unit == "pages" else "\n").join(lines), f"complete, {counted}" if total else f"no {unit}"
        )
    if not shown and pieces:
        lines[len(head) :] = [f"{pieces[0][: max(room, 40)]}…", *([notes] if notes else [])]
        return Shown("\n".join(lines), f"the beginning of {unit[:-1]} 1 of {_of(total)}")
    return Shown("\n".join(lines), f"{unit} 1–{shown:,} of {_of(total)}")


def _text(part: Part, room: int) -> Shown:
    (text, *later), total = part["pieces"], part["total"]
    if total is None:
        text = shortened(text, room)
        return Shown(text, "" if part["name"] else f"the first {len(text):,} characters")
    if len(text) == total and total <= room:
        return Shown(text, "complete")
    outline_room = room if _size(part) <= min(room, _BEGINNING) else int(room * _NOTES)
    outline = _notes(part["columns"], outline_room) if part["columns"] else ""
    text_room = min(room - len(outline), max(_BEGINNING - len(outline), _SAMPLE))
    if not later:
        text = shortened(text, text_room)
        return Shown("\n".join(filter(None, [text, outline])), f"characters 1–{len(text):,} of {total:,}")
    rooms = [int(text_room * share) for share in _PLACES[len(part["pieces"])]]
    kept = [*map(shortened, part["pieces"][:-1], rooms), _ending(later[-1], rooms[-1])]
    names = ["at the beginning", *(["in the middle"] if len(kept) > 2 else []), "at the end"]
    sizes = ", ".join(f"{len(piece):,} {name}" for piece, name in zip(kept, names, strict=True))
    texts = [*kept[:-1], *([outline] if outline else []), kept[-1]]
    return Shown("\n[…]\n".join(texts), f"characters: {sizes}, of {total:,}")


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
    if len(text) <= room:
        return text
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


def _of(total: int | None) -> str:
    return "an unknown number" if total is None else f"{total:,}"

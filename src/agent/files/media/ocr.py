"""Text in pictures, read by rapidocr, whose models are inside its wheel, and pieces of text laid out in columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median
from typing import TYPE_CHECKING, Any

from agent.files.contents import FileProblem, without_package

if TYPE_CHECKING:
    from PIL.Image import Image

LONGEST_SIDE = 2600
"""Pixels to which a larger picture is shrunk."""
_THREADS = 1
"""Of onnxruntime: its threads spin while they wait, so that a second one costs more than it gives on a busy machine."""
_UNSURE_BELOW = 0.8
_is_wanted = True
_WIDEST = 300
"""Characters of a line, however far apart its pieces stand."""
_COLUMN_GAP = 1.5
"""Heights of a line between two columns at least."""


def turn_off() -> None:
    """Has this process read no pictures any more: whoever asked looks at them."""
    global _is_wanted
    _is_wanted = False


def is_wanted() -> bool:
    """Whether the text of pictures is read."""
    return _is_wanted


@dataclass(frozen=True, slots=True)
class Seen:
    """The text of a picture."""

    text: str
    """Its lines, columns kept."""
    lines: list[tuple[str, float]]
    """Each piece of text with how certain it is, 0 to 1."""
    lost: tuple[str, ...] = ()

    @property
    def confidence(self) -> float | None:
        """How certain the text is on the average, by its length; None where there is none."""
        letters = sum(len(text) for text, _ in self.lines)
        return round(sum(len(text) * sure for text, sure in self.lines) / letters, 3) if letters else None

    @property
    def certainty(self) -> str:
        """The same in words, which say what it does not mean."""
        sure = "" if self.confidence is None else f", {min(self.confidence, 0.99):.0%} sure of what it found"
        return f"read by OCR{sure}; it may have missed some"


def text_in(picture: Image) -> Seen:
    """Reads the text of a picture.

    Raises:
        FileProblem: It is not wanted, the package is missing, or its models cannot be loaded.
    """
    if not _is_wanted:
        raise FileProblem("unsupported", "Its text was not read: it is shown itself.")
    import numpy

    engine = _engine()
    lost = []
    width, height = picture.size
    if max(width, height) > LONGEST_SIDE:
        lost.append(
            f"The picture was shrunk from {width} x {height} pixels to find its text: fine print may be missing."
        )
        picture = picture.copy()
        picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    found = engine(numpy.asarray(on_white(picture))[:, :, ::-1])
    if found.txts is None or found.boxes is None:
        return Seen("", [], tuple(lost))
    lines = [(str(text), round(float(sure), 3)) for text, sure in zip(found.txts, found.scores, strict=True)]
    doubtful = [text for text, sure in lines if sure < _UNSURE_BELOW]
    if doubtful:
        lost.append(f"Uncertain in the picture's text: {', '.join(repr(text) for text in doubtful[:5])}.")
    pieces = [_piece(box, text) for box, (text, _) in zip(found.boxes, lines, strict=True)]
    return Seen(laid_out(pieces), lines, tuple(lost))


def on_white(picture: Image) -> Image:
    """A picture in plain colours, without transparency, which would be black."""
    from PIL import Image as Images

    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        picture = picture.convert("RGBA")
        return Images.alpha_composite(Images.new("RGBA", picture.size, "white"), picture).convert("RGB")
    if picture.mode.startswith("I;16") or picture.mode in ("I", "F"):
        low, high = picture.getextrema()
        scale = 255 / ((high - low) or 1)  # type: ignore[operator]  # two numbers in these modes
        picture = picture.point(lambda value: (value - low) * scale).convert("L")
    return picture.convert("RGB")


def _piece(box: Any, text: str) -> Piece:
    across, down = [float(x) for x, _ in box], [float(y) for _, y in box]
    return Piece(min(across), min(down), max(across), max(down), text)


@lru_cache(maxsize=1)
def _engine() -> Any:
    try:
        from rapidocr import RapidOCR
    except ImportError:
        raise without_package("rapidocr", "ocr", "the text of pictures cannot be read") from None
    try:
        return RapidOCR(
            params={
                "Global.log_level": "critical",
                "Global.max_side_len": LONGEST_SIDE,
                # Its own way enlarges every small picture to 736 pixels: ten times slower, and no better.
                "Det.limit_type": "max",
                "EngineConfig.onnxruntime.intra_op_num_threads": _THREADS,
                "EngineConfig.onnxruntime.inter_op_num_threads": 1,
            }
        )
    except Exception as error:  # noqa: BLE001 - its engines raise errors of their own kinds
        raise FileProblem(
            "unsupported",
            f"rapidocr cannot load its models, so the text of pictures cannot be read: {error}.",
            remedy="Install it anew: pip install --force-reinstall rapidocr onnxruntime",
        ) from None


@dataclass(frozen=True, slots=True)
class Piece:
    """Text in a rectangle. Positions grow to the right and downwards."""

    left: float
    top: float
    right: float
    bottom: float
    text: str = ""

    @property
    def height(self) -> float:
        """How high it is."""
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        """Its place from top to bottom."""
        return (self.top + self.bottom) / 2


def rows_of(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """The pieces line by line from the top, each line from the left."""
    row: list[Piece] = []
    for piece in sorted(pieces, key=lambda one: one.middle):
        if row and piece.middle - row[0].middle > 0.5 * max(row[-1].height, piece.height):
            yield sorted(row, key=lambda one: one.left)
            row = []
        row.append(piece)
    if row:
        yield sorted(row, key=lambda one: one.left)


def has_columns(pieces: Sequence[Piece]) -> bool:
    """Whether there is a table: lines with gaps in them that are not the two or three columns of a printed text."""
    if len(pieces) < 4:
        return False
    width = max(one.right for one in pieces) - min(one.left for one in pieces)
    tabular = prose = 0
    for row in rows_of(pieces):
        parts = _parts(row)
        if len(parts) > 1:
            wide = sum(right - left > 0.25 * width for left, right in parts)
            prose += wide > 1
            tabular += wide <= 1
    return tabular > 1 and tabular > prose


def laid_out(pieces: Sequence[Piece]) -> str:
    """The text of the pieces; what stands below each other on the page does so in the lines."""
    pieces = [one for one in pieces if one.text.strip()]
    if not pieces:
        return ""
    width = median((one.right - one.left) / len(one.text) for one in pieces) or 1.0
    left = min(one.left for one in pieces)
    return "\n".join(_line(row, left, width) for row in rows_of(pieces))


def _line(row: list[Piece], left: float, width: float) -> str:
    line, right = "", left
    for piece in row:
        gap = piece.left - right
        if gap > _COLUMN_GAP * piece.height or not line:
            column = min(round((piece.left - left) / width), _WIDEST)
            line = line.ljust(max(column, len(line) + 2 if line else 0))
        elif gap > 0.15 * piece.height and not line.endswith(" "):
            line += " "
        line += piece.text.strip()
        right = max(right, piece.right)
    return line


def _parts(row: list[Piece]) -> list[tuple[float, float]]:
    """Where the parts of a line begin and end that a gap sets apart."""
    parts: list[tuple[float, float]] = []
    for piece in row:
        if parts and piece.left - parts[-1][1] <= _COLUMN_GAP * piece.height:
            parts[-1] = (parts[-1][0], max(parts[-1][1], piece.right))
        else:
            parts.append((piece.left, piece.right))
    return parts

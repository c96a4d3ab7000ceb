"""OCR with rapidocr (its package includes the models), and the layout of text in columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from agent.files.contents import FileProblem, without_package
from agent.files.media.engine_results import found_once

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_OCR_PIXELS = 2600
"""Maximum length of a picture's longer side. A larger picture is shrunk to it."""
_THREADS = 1
"""Number of onnxruntime threads. They spin while they wait, so a second one slows OCR down on a busy machine."""
_UNSURE_BELOW = 0.8
_is_wanted = True
_MAX_LINE_CHARS = 300
_MIN_COLUMN_GAP = 1.5  # in line heights


def turn_off() -> None:
    """Turn OCR off in this process, because the model sees the pictures themselves."""
    global _is_wanted
    _is_wanted = False


def is_wanted() -> bool:
    """Return False after `turn_off`."""
    return _is_wanted


class RecognisedText(NamedTuple):
    """The text in a picture."""

    text: str
    """The lines, with columns aligned."""
    certainty: str = ""
    """A phrase about the certainty of the text."""
    lost: tuple[str, ...] = ()


def text_in(picture: Image) -> RecognisedText:
    """Read the text in a picture."""
    if not _is_wanted:
        raise FileProblem("unsupported", "Its text was not read, because the model sees the picture.")
    read = found_once(f"{picture.mode} {picture.size}", picture.tobytes(), lambda: _read(picture)._asdict())
    return RecognisedText(read["text"], read["certainty"], tuple(read["lost"]))


def _read(picture: Image) -> RecognisedText:
    import numpy

    engine = _engine()
    lost = []
    width, height = picture.size
    if max(width, height) > MAX_OCR_PIXELS:
        lost.append(
            f"The picture was shrunk from {width} x {height} pixels to find its text: fine print may be missing."
        )
        picture = picture.copy()
        picture.thumbnail((MAX_OCR_PIXELS, MAX_OCR_PIXELS))
    found = engine(numpy.asarray(on_white(picture))[:, :, ::-1])
    if found.txts is None or found.boxes is None:
        return RecognisedText("", lost=tuple(lost))
    lines = [(str(text), float(sure)) for text, sure in zip(found.txts, found.scores, strict=True)]
    if doubtful := [text for text, sure in lines if sure < _UNSURE_BELOW]:
        lost.append(f"Uncertain in the picture's text: {', '.join(map(repr, doubtful[:5]))}.")
    letters = sum(len(text) for text, _ in lines) or 1
    sure = min(sum(len(text) * sure for text, sure in lines) / letters, 0.99)
    pieces = []
    for box, (text, _) in zip(found.boxes, lines, strict=True):
        (left, top), (right, bottom) = box.min(axis=0), box.max(axis=0)
        pieces.append(Piece(float(left), float(top), float(right), float(bottom), text))
    certainty = f"read by OCR, with {sure:.0%} confidence; some text may have been missed"
    return RecognisedText(lay_out(pieces), certainty, tuple(lost))


def on_white(picture: Image) -> Image:
    """Return the picture in RGB, on a white background."""
    from PIL import Image as Images

    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        picture = picture.convert("RGBA")
        return Images.alpha_composite(Images.new("RGBA", picture.size, "white"), picture).convert("RGB")
    if picture.mode.startswith("I;16") or picture.mode in ("I", "F"):
        low, high = picture.getextrema()
        scale = 255 / ((high - low) or 1)  # type: ignore[operator]  # two numbers in these modes
        picture = picture.point(lambda value: (value - low) * scale).convert("L")
    return picture.convert("RGB")


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
                "Global.max_side_len": MAX_OCR_PIXELS,
                # By default, small pictures are enlarged to 736 pixels: ten times slower, and no better.
                "Det.limit_type": "max",
                "EngineConfig.onnxruntime.intra_op_num_threads": _THREADS,
                "EngineConfig.onnxruntime.inter_op_num_threads": 1,
            }
        )
    except Exception as error:  # noqa: BLE001 - its engines raise errors of their own kinds
        raise FileProblem(
            "unsupported",
            f"rapidocr cannot load its models, so the text of pictures cannot be read: {error}.",
            remedy="Reinstall rapidocr: pip install --force-reinstall rapidocr onnxruntime",
        ) from None


class Piece(NamedTuple):
    """Text in a rectangle. Coordinates grow to the right and downwards."""

    left: float
    top: float
    right: float
    bottom: float
    text: str = ""

    @property
    def height(self) -> float:
        """The height of the rectangle, from top to bottom."""
        return self.bottom - self.top


def has_columns(pieces: Sequence[Piece]) -> bool:
    """Return True for a table: lines with gaps that are not columns of prose."""
    width = max(one.right for one in pieces) - min(one.left for one in pieces) if pieces else 0.0
    tabular = prose = 0
    for row in _rows(pieces):
        parts: list[tuple[float, float]] = []
        for piece in row:
            if parts and piece.left - parts[-1][1] <= _MIN_COLUMN_GAP * piece.height:
                parts[-1] = (parts[-1][0], max(parts[-1][1], piece.right))
            else:
                parts.append((piece.left, piece.right))
        if len(parts) > 1:
            is_prose = sum(right - left > 0.25 * width for left, right in parts) > 1
            prose += is_prose
            tabular += not is_prose
    return tabular > 1 and tabular > prose


def lay_out(pieces: Sequence[Piece]) -> str:
    """Return the text with columns aligned as on the page."""
    pieces = [one for one in pieces if one.text.strip()]
    if not pieces:
        return ""
    width = median((one.right - one.left) / len(one.text) for one in pieces) or 1.0
    left = min(one.left for one in pieces)
    lines = []
    for row in _rows(pieces):
        line, right = "", left
        for piece in row:
            gap = piece.left - right
            if gap > _MIN_COLUMN_GAP * piece.height or not line:
                column = min(round((piece.left - left) / width), _MAX_LINE_CHARS)
                line = line.ljust(max(column, len(line) + 2 if line else 0))
            elif gap > 0.15 * piece.height and not line.endswith(" "):
                line += " "
            line += piece.text.strip()
            right = max(right, piece.right)
        lines.append(line)
    return "\n".join(lines)


def _rows(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """Return the pieces in lines from top to bottom, each line from left to right."""
    row: list[Piece] = []
    for piece in sorted(pieces, key=lambda one: one.top + one.bottom):
        apart = (piece.top + piece.bottom - row[0].top - row[0].bottom) / 2 if row else 0.0
        if row and apart > 0.5 * max(row[-1].height, piece.height):
            yield sorted(row, key=lambda one: one.left)
            row = []
        row.append(piece)
    if row:
        yield sorted(row, key=lambda one: one.left)

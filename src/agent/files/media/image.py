"""Pictures: size, mode, EXIF, frames, colours, the text in them, and a copy of them as models take it."""

from __future__ import annotations

import hashlib
import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.files.contents import (
    Contents,
    FileProblem,
    ReadLimits,
    Section,
    Source,
    TextContents,
    beginning,
    damaged,
    in_sections,
    name_of,
    without_package,
)
from agent.files.media import ocr
from mcp_tools.text import one_line
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from PIL.Image import Image

_MOST_FRAMES = 12
"""Pages or moments of a picture that has several."""
_ONLY_TEXT = "Of the picture only text is shown: no shapes, bars, lines, colours or places."
_ALPHA = frozenset({"RGBA", "LA", "PA", "RGBa", "La"})
_EXIF, _GPS = 0x8769, 0x8825
_MOST_CHARACTERS = 500
_NOT_SHOWN = frozenset({"MakerNote", "ExifOffset", "GPSInfo", "PrintImageMatching", "XMLPacket"})
LONGEST_SIDE = 2048
"""Pixels. What is larger is sized down by endpoints, too."""
LARGEST = 1_500_000
"""Bytes."""
_KINDS = {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}
"""What endpoints take."""
_ORIENTATION = 0x0112
_QUALITIES = (85, 60, 30)


def open_image(source: Source, limits: ReadLimits) -> Contents:
    """Reads what a picture says about itself, and the text in it; what it shows is for a model that sees.

    Raises:
        FileProblem: It is empty, damaged, cut off, or would take gigabytes of memory.
    """
    beginning(source)
    if source.kind == "svg":
        return _svg(source, limits)
    with opened_picture(source) as picture:
        facts = _facts(picture, source)
        lost = [_ONLY_TEXT] if ocr.is_wanted() else []
        frames = list(_frames(picture, lost))
    sections = list(_read(frames, source, facts, lost))
    data = {}
    for frame in frames if len(frames) > 1 else []:
        plain = frame.convert("RGBA" if frame.mode in ("P", "PA", "LA", "RGBA") else "RGB")
        data[f"{Path(name_of(source)).stem}.frame-{frame.info['frame']}.png"] = _encoded(plain, "png")
    return TextContents(source.kind, _summary(facts), sections, facts, lost, data, is_all=False)


@contextmanager
def opened_picture(source: Source) -> Iterator[Image]:
    """A picture, opened by what it is and not by its name.

    Raises:
        FileProblem: It is damaged, cut off, or would take gigabytes of memory.
    """
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise without_package("pillow", "files", "pictures cannot be read") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(source.path, formats=[source.kind]) as picture:
                yield picture
    except UnidentifiedImageError:
        raise damaged(source, f"a picture of the kind {source.kind}") from None
    except Image.DecompressionBombError as error:
        raise FileProblem("bomb", f"{name_of(source)} is too large a picture: {error}") from None
    except (OSError, SyntaxError, ValueError, EOFError, IndexError, TypeError, KeyError) as error:
        if "truncated" in str(error):
            raise FileProblem(
                "truncated",
                f"{name_of(source)} breaks off: {error}.",
                remedy="What is whole of it can be recovered in a program.",
            ) from None
        raise damaged(source, f"a picture of the kind {source.kind}", error) from None


def _facts(picture: Image, source: Source) -> dict[str, Json]:
    width, height = picture.size
    facts: dict[str, Json] = {
        "width": width,
        "height": height,
        "mode": picture.mode,
        "frames": getattr(picture, "n_frames", 1),
        "alpha": picture.mode in _ALPHA or "transparency" in picture.info,
        "bytes": source.path.stat().st_size,
    }
    if dots := picture.info.get("dpi"):
        facts["dpi"] = [round(float(one), 1) for one in dots]
    if comment := picture.info.get("comment"):
        text = comment.decode("utf-8", "replace") if isinstance(comment, bytes) else str(comment)
        facts["comment"] = one_line(text, 1000)
    words = {str(key): one_line(str(value), 1000) for key, value in getattr(picture, "text", {}).items()}
    if words:
        facts["texts"] = dict(list(words.items())[:50])
    if exif := _exif(picture):
        facts["exif"] = exif
    return facts


def _frames(picture: Image, lost: list[str]) -> Iterator[Image]:
    """The pages of a scan, or moments of a moving picture at even distances; turned as the camera was held."""
    from PIL import ImageOps

    count = getattr(picture, "n_frames", 1)
    chosen = (
        range(count) if count <= _MOST_FRAMES else [n * (count - 1) // (_MOST_FRAMES - 1) for n in range(_MOST_FRAMES)]
    )
    if count > _MOST_FRAMES:
        shown = ", ".join(str(n + 1) for n in chosen)
        lost.append(f"Of its {count} frames these were looked at: {shown}.")
    for number in chosen:
        picture.seek(number)
        frame = ImageOps.exif_transpose(picture.copy())
        frame.info["frame"] = number + 1
        yield frame


def _read(frames: list[Image], source: Source, facts: dict[str, Json], lost: list[str]) -> Iterator[Section]:
    """A section for each frame whose text differs from that before it."""
    facts["colours"] = list(_colours(frames[0]))
    last, sure = "", []
    for frame in frames:
        try:
            seen = ocr.text_in(frame)
        except FileProblem as problem:
            lost += [str(problem).replace("\n", " ")] if ocr.is_wanted() else []
            break
        lost += [sentence for sentence in seen.lost if sentence not in lost]
        if seen.confidence is not None:
            sure.append(seen.confidence)
        if len(frames) == 1 or seen.text != last:
            several = "" if len(frames) == 1 else f"frame {frame.info['frame']}, "
            certain = f", {seen.certainty}" if seen.text else ""
            yield Section(f"{several}text in the picture{certain}", seen.text or "(OCR found no text)")
        last = seen.text
    else:
        facts["text_confidence"] = min(sure) if sure else None
        return
    yield Section("text in the picture", "(not read)" if ocr.is_wanted() else "(not read: the picture itself is shown)")


def _colours(picture: Image) -> Iterator[dict[str, Json]]:
    """The commonest colours with their shares, of a small copy."""
    small = picture.convert("RGBA")
    small.thumbnail((128, 128))
    found = small.convert("RGB").quantize(6)
    palette = found.getpalette() or []
    counts: Any = found.getcolors() or []
    whole = small.width * small.height
    for count, index in sorted(counts, reverse=True):
        red, green, blue = palette[3 * index : 3 * index + 3]
        if count / whole >= 0.01:
            yield {"colour": f"#{red:02x}{green:02x}{blue:02x}", "share": round(count / whole, 2)}


def _summary(facts: dict[str, Json]) -> str:
    frames = f", {facts['frames']} frames" if facts["frames"] != 1 else ""
    alpha = ", with transparency" if facts["alpha"] else ""
    line = f"Picture of {facts['width']} x {facts['height']} pixels, {facts['mode']}{alpha}{frames}."
    exif = facts.get("exif")
    if isinstance(exif, dict):
        shown = {
            name: exif[name] for name in ("Make", "Model", "DateTimeOriginal", "DateTime", "position") if name in exif
        }
        line += "".join(f"\n{name}: {value}" for name, value in shown.items())
    return line


def _svg(source: Source, limits: ReadLimits) -> Contents:
    from lxml import etree  # type: ignore[import-untyped]  # it has no stubs

    size = source.path.stat().st_size
    if size > limits.unpacked // 32:
        raise FileProblem("too_large", f"{name_of(source)} has {size:,} bytes of drawing.")
    content = source.path.read_bytes()
    try:
        root = etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.LxmlError as error:
        raise damaged(source, "svg", error) from None
    words = [" ".join("".join(one.itertext()).split()) for one in root.iter("{*}text", "{*}title", "{*}desc")]
    shapes: dict[str, int] = {}
    for one in root.iter():
        if isinstance(one.tag, str):
            name = etree.QName(one).localname
            shapes[name] = shapes.get(name, 0) + 1
    facts: dict[str, Json] = {"width": root.get("width"), "height": root.get("height"), "view_box": root.get("viewBox")}
    facts["elements"] = dict(shapes)
    text = content.decode(root.getroottree().docinfo.encoding or "utf-8", "replace")
    texts = Section("texts in the drawing", "\n".join(filter(None, words)) or "(none)")
    lost = ["How the drawing looks is not described: its texts and its source are shown."]
    box = facts["view_box"] or f"{facts['width']} x {facts['height']}"
    summary = (
        f"Drawing (svg), {box}: " + ", ".join(f"{count} {name}" for name, count in list(shapes.items())[:12]) + "."
    )
    sections = [texts, *in_sections(text.split("\n\n"), limits.section, "source")]
    return TextContents("svg", summary, sections, facts, lost)


def _exif(picture: Image) -> dict[str, Json]:
    """The tags by name, and under `position` the place in degrees, north and east positive."""
    from PIL import ExifTags

    try:
        exif = picture.getexif()
        tags = {**dict(exif), **exif.get_ifd(_EXIF)}
        gps = {ExifTags.GPSTAGS.get(tag, str(tag)): value for tag, value in exif.get_ifd(_GPS).items()}
    except (ValueError, TypeError, KeyError, SyntaxError, OSError):  # a damaged tag is no damaged picture
        return {}
    named = {ExifTags.TAGS.get(tag, str(tag)): _plain(value) for tag, value in tags.items()}
    found = {name: value for name, value in named.items() if name not in _NOT_SHOWN and value not in ("", None)}
    if gps:
        found["GPS"] = {name: _plain(value) for name, value in gps.items()}
        if (place := _position(gps)) is not None:
            found["position"] = place
    return found


def _position(gps: dict[str, Any]) -> Json:
    try:
        north, east = (
            sum(float(part) / unit for unit, part in zip((1, 60, 3600), gps[f"GPS{name}"], strict=True))
            * (-1 if gps.get(f"GPS{name}Ref") in ("S", "W") else 1)
            for name in ("Latitude", "Longitude")
        )
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None
    return {"latitude": round(north, 6), "longitude": round(east, 6)}


def _plain(value: Any) -> Json:
    if isinstance(value, bytes):
        text = value.rstrip(b"\0").decode("utf-8", "replace")
        return one_line(text, _MOST_CHARACTERS) if text.isprintable() else f"{len(value)} bytes"
    if isinstance(value, str):
        return one_line(value.rstrip("\0"), _MOST_CHARACTERS)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value[:20]]
    try:
        number = float(value)
    except (TypeError, ValueError, ZeroDivisionError):
        return one_line(str(value), _MOST_CHARACTERS)
    return round(number, 6) if abs(number) < float("inf") else None


def save_shown(source: Source, page: int, limits: ReadLimits, folder: Path) -> dict[str, Any]:
    """Writes how a picture, or a page of a PDF, looks; the file's name is the hash of its content.

    Args:
        source: A picture, whose first frame is taken, or a PDF.
        page: Of a PDF.
        limits: What reading may take.
        folder: Where to write.

    Returns:
        `path`, `kind` as a media type, `bytes`, `size` and `whole`: pixels of the copy and of the picture itself.

    Raises:
        FileProblem: It cannot be read, or can be made no picture.
    """
    if source.kind == "pdf":
        from agent.files.documents.pdf import open_pdf

        contents = open_pdf(source, limits)
        try:
            drawn = contents.drawn(page)
        finally:
            contents.close()
        return _written(drawn, drawn.size, folder)
    if source.kind == "svg":
        raise FileProblem("unsupported", "A drawing (svg) is not shown as a picture.", remedy="Read its source.")
    with opened_picture(source) as picture:
        picture.load()
        is_fine = (
            source.kind in _KINDS
            and max(picture.size) <= LONGEST_SIDE
            and source.path.stat().st_size <= LARGEST
            and picture.getexif().get(_ORIENTATION, 1) == 1
        )
        if is_fine:
            return _kept(source.path.read_bytes(), _KINDS[source.kind], picture.size, picture.size, folder)
        from PIL import ImageOps

        turned = ImageOps.exif_transpose(picture)
        return _written(turned, turned.size, folder)


def _written(picture: Image, whole: tuple[int, int], folder: Path) -> dict[str, Any]:
    picture = ocr.on_white(picture)
    picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    content = _encoded(picture, "png")
    if len(content) <= LARGEST:
        return _kept(content, "image/png", picture.size, whole, folder)
    for quality in _QUALITIES:
        content = _encoded(picture, "jpeg", quality=quality)
        if len(content) <= LARGEST:
            break
    return _kept(content, "image/jpeg", picture.size, whole, folder)


def _encoded(picture: Image, kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()


def _kept(content: bytes, kind: str, size: tuple[int, int], whole: tuple[int, int], folder: Path) -> dict[str, Any]:
    path = folder / f"{hashlib.sha256(content).hexdigest()[:24]}.{kind.removeprefix('image/')}"
    path.write_bytes(content)
    return {"path": str(path), "kind": kind, "bytes": len(content), "size": list(size), "whole": list(whole)}

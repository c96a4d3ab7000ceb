"""Reader of pictures: size, mode, EXIF, frames and text; and copies for models that read pictures."""

from __future__ import annotations

import hashlib
import io
import re
import struct
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from PIL import ExifTags, Image, ImageFile, ImageOps, IptcImagePlugin

from agent.files.contents import (
    Contents,
    FileProblem,
    ReadLimits,
    Section,
    Source,
    TextContents,
    short_name,
)
from agent.files.encoding import FALLBACK
from agent.files.media import ocr
from mcp_tools.text import one_line

_MAX_FRAMES = 12
_ONLY_TEXT = "Shapes, bars, lines and colours of the picture. You get only its text, roughly in place, not the picture."
_MAX_TEXTS = 40
_IPTC = {5: "title", 15: "category", 25: "keywords", 55: "date", 80: "author", 90: "city", 101: "country"} | {
    105: "headline",
    110: "credit",
    115: "source",
    116: "copyright",
    120: "caption",
}
_UTF_16_TAGS = ("XPTitle", "XPComment", "XPAuthor", "XPKeywords", "XPSubject")
"""EXIF tags in UTF-16."""
MAX_SIDE_PIXELS = 2048
"""Longest side of a picture that is sent to a model. Endpoints shrink larger pictures anyway."""
MAX_SHOWN_BYTES = 1_500_000
_KINDS = {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}
_FORMATS = {"jp2": "jpeg2000"}
"""PIL's format names, for kinds that PIL names differently."""
_XMP_TEXT = re.compile(
    r'<[\w-]+:([\w-]+)[^<>]*>([^<>]*[^<>\s][^<>]*)</|\s(?!xmlns|rdf|x:)[\w-]+:([\w-]+)=["\']([^"\'<>]+)'
)
"""The name and text of an element or an attribute in XMP."""
_QUALITIES = (85, 60, 30)


def open_image(source: Source, limits: ReadLimits) -> Contents:
    """Read the metadata of a picture and the text in it."""
    notes = list[str]()
    with _open_picture(source) as picture:
        summary = _summary(picture)
        lost = [_ONLY_TEXT] if ocr.is_wanted() else []
        frames = dict(_frames(picture, lost))
    sections, last = list[Section](), ""
    for number, frame in frames.items():
        try:
            seen = ocr.text_in(frame)
        except FileProblem as problem:
            lost += [str(problem).replace("\n", " ")] if ocr.is_wanted() else []
            unread = "(not read)" if ocr.is_wanted() else "(not read: the picture itself is shown)"
            sections.append(Section("text in the picture", unread))
            break
        notes += seen.lost
        if len(frames) == 1 or seen.text != last:
            several = "" if len(frames) == 1 else f"frame {number}, "
            certain = f", {seen.certainty}" if seen.text else ""
            sections.append(Section(f"{several}text in the picture{certain}", seen.text or "(OCR found no text)"))
        last = seen.text
    data = {}
    for number, frame in frames.items() if len(frames) > 1 else ():
        plain = frame.convert("RGBA" if frame.mode in ("P", "PA", "LA", "RGBA") else "RGB")
        data[f"{short_name(Path(source.name).stem)}.frame-{number}.png"] = _encoded(plain, "png")
    contents = TextContents(source.kind, summary, sections, lost=lost, data=data, is_only_text=False)
    contents.notes = notes
    return contents


@contextmanager
def _open_picture(source: Source) -> Iterator[Image.Image]:
    """Open a picture with the decoder of its kind."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(source.path, formats=[_FORMATS.get(source.kind, source.kind)]) as picture:
                yield picture
    except Image.DecompressionBombError as error:
        raise FileProblem("bomb", f"{source.name} has too many pixels: {error}") from None
    except OSError as error:
        if "truncated" not in str(error):
            raise
        raise FileProblem("truncated", f"{source.name} is truncated: {error}.") from None


def _summary(picture: Image.Image) -> str:
    frames = 1 if picture.format == "PSD" else getattr(picture, "n_frames", 1)
    alpha = picture.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in picture.info
    more = f"{', with transparency' * alpha}{f', {frames} frames' if frames != 1 else ''}"
    line = f"Picture of {picture.width} x {picture.height} pixels, {picture.mode}{more}."
    metadata: dict[str, Any] = {}
    try:
        exif = picture.getexif()
        tags = {
            ExifTags.TAGS.get(tag, str(tag)): one
            for tag, one in [*exif.items(), *exif.get_ifd(ExifTags.IFD.Exif).items()]
        }
        metadata = {name: one for name, one in tags.items() if isinstance(one, str) or name == "UserComment"}
        metadata |= {
            name: tags[name].decode("utf-16-le", "replace")
            for name in _UTF_16_TAGS
            if isinstance(tags.get(name), bytes)
        }
        metadata["position"] = _position(exif.get_ifd(ExifTags.IFD.GPSInfo))
    except (ValueError, TypeError, KeyError, SyntaxError, OSError):  # damaged tags; the picture may be intact
        pass
    metadata["comment"] = picture.info.get("comment")
    xmp = picture.info.get("xmp") or b""
    found = _XMP_TEXT.findall(xmp.decode("utf-8", FALLBACK) if isinstance(xmp, bytes) else str(xmp))
    metadata["XMP"] = "; ".join(b if a == "li" else f"{a or c}: {b or d}" for a, b, c, d in found)
    metadata |= {f"IPTC {name}": value for name, value in _iptc(picture)}
    metadata |= getattr(picture, "text", {})
    texts = [
        f"\n{one_line(str(name))}: {_metadata_text(value)}" for name, value in metadata.items() if _metadata_text(value)
    ]
    more = f"\nand {len(texts) - _MAX_TEXTS} more texts" if len(texts) > _MAX_TEXTS else ""
    return line + "".join(texts[:_MAX_TEXTS]) + more


def _iptc(picture: Image.Image) -> Iterator[tuple[str, bytes]]:
    """Return the IPTC texts, such as captions of press pictures."""
    try:
        found = IptcImagePlugin.getiptcinfo(picture) if isinstance(picture, ImageFile.ImageFile) else None
    except (ValueError, TypeError, KeyError, SyntaxError, OSError, struct.error):  # damaged
        found = None
    for (record, number), values in (found or {}).items():
        if record == 2 and number in _IPTC:
            yield _IPTC[number], b"; ".join(values) if isinstance(values, list) else values


def _metadata_text(value: Any) -> str:
    text = value.decode("utf-8", FALLBACK) if isinstance(value, bytes) else str(value or "")
    return one_line(text.replace("\0", ""), 500)


def _position(gps: dict[int, Any]) -> str:
    """Return the GPS position in degrees, north and east positive; empty if unknown."""
    if not gps:
        return ""
    north, east = (
        sum(float(part) / unit for unit, part in zip((1, 60, 3600), gps[tag], strict=True))
        * (-1 if gps.get(tag - 1) in ("S", "W") else 1)
        for tag in (ExifTags.GPS.GPSLatitude, ExifTags.GPS.GPSLongitude)
    )
    return f"latitude {north:.6f}, longitude {east:.6f}"


def _frames(picture: Image.Image, lost: list[str]) -> Iterator[tuple[int, Image.Image]]:
    """Yield the pages of a scan, or evenly spaced frames of an animation, rotated according to EXIF."""
    count = getattr(picture, "n_frames", 1)
    if picture.format == "PSD":  # its frames are layers of one picture
        lost.append(f"Its {count} layers are shown as one picture, without their names.")
        yield 1, picture.convert("RGB")
        return
    few = min(count, _MAX_FRAMES)
    chosen = [n * (count - 1) // max(few - 1, 1) for n in range(few)]
    if count > few:
        lost.append(f"The picture has {count} frames. Only these were read: {', '.join(str(n + 1) for n in chosen)}.")
    for number in chosen:
        picture.seek(number)
        yield number + 1, ImageOps.exif_transpose(picture.copy())


def save_shown(source: Source, page: int, limits: ReadLimits, folder: Path) -> dict[str, Any]:
    """Save the first frame of a picture, or a page of a PDF, under the hash of its content.

    Returns:
        `path`; `kind`, a media type; `bytes`; `size` and `whole`, the pixel dimensions of the copy and the original.
    """
    if source.kind == "pdf":
        from agent.files.documents.pdf import open_pdf

        with closing(open_pdf(source, limits)) as contents:
            return _written(contents.draw(page), folder)
    with _open_picture(source) as picture:
        picture.load()
        is_fine = (
            source.kind in _KINDS
            and max(picture.size) <= MAX_SIDE_PIXELS
            and source.path.stat().st_size <= MAX_SHOWN_BYTES
            and picture.getexif().get(ExifTags.Base.Orientation, 1) == 1
        )
        if is_fine:
            return _kept(source.path.read_bytes(), _KINDS[source.kind], picture.size, picture.size, folder)
        return _written(ImageOps.exif_transpose(picture), folder)


def _written(picture: Image.Image, folder: Path) -> dict[str, Any]:
    whole = picture.size
    picture = ocr.on_white(picture)
    picture.thumbnail((MAX_SIDE_PIXELS, MAX_SIDE_PIXELS))
    kind, content = "image/png", _encoded(picture, "png")
    for quality in _QUALITIES:
        if len(content) > MAX_SHOWN_BYTES:
            kind, content = "image/jpeg", _encoded(picture, "jpeg", quality=quality)
    return _kept(content, kind, picture.size, whole, folder)


def _encoded(picture: Image.Image, kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()


def _kept(content: bytes, kind: str, size: tuple[int, int], whole: tuple[int, int], folder: Path) -> dict[str, Any]:
    path = folder / f"{hashlib.sha256(content).hexdigest()[:24]}.{kind.removeprefix('image/')}"
    path.write_bytes(content)
    return {"path": str(path), "kind": kind, "bytes": len(content), "size": list(size), "whole": list(whole)}

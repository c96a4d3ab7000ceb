"""What a camera wrote into a picture: when, with what, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_tools.text import one_line
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from PIL.Image import Image

_EXIF, _GPS = 0x8769, 0x8825
_MOST_CHARACTERS = 500
_NOT_SHOWN = frozenset({"MakerNote", "ExifOffset", "GPSInfo", "PrintImageMatching", "XMLPacket"})


def exif_of(picture: Image) -> dict[str, Json]:
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
        north = _degrees(gps["GPSLatitude"]) * (-1 if gps.get("GPSLatitudeRef") == "S" else 1)
        east = _degrees(gps["GPSLongitude"]) * (-1 if gps.get("GPSLongitudeRef") == "W" else 1)
    except (KeyError, TypeError, ValueError, ZeroDivisionError, IndexError):
        return None
    return {"latitude": round(north, 6), "longitude": round(east, 6)}


def _degrees(parts: Any) -> float:
    return float(parts[0]) + float(parts[1]) / 60 + float(parts[2]) / 3600


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

"""Colours of cells: as hexadecimal digits and a word, whichever way the workbook names them."""

from __future__ import annotations

import colorsys
from typing import Any

_THEME_ORDER = ("lt1", "dk1", "lt2", "dk2", *(f"accent{n}" for n in range(1, 7)), "hlink", "folHlink")
_HUES = ((15, "red"), (45, "orange"), (70, "yellow"), (165, "green"), (200, "cyan"), (260, "blue"), (290, "purple"))


def colour_of(color: Any, theme: list[str]) -> str:
    """`FF0000` of a colour of openpyxl; empty where there is none.

    Args:
        color: What openpyxl read.
        theme: The colours of the workbook's theme, `theme_colours`.
    """
    if color is None:
        return ""
    if color.type == "rgb" and isinstance(color.rgb, str):
        # an alpha of 00 is what most programs write, and none of them means it
        return color.rgb[-6:].upper()
    if color.type == "indexed":
        return _indexed(color.indexed)
    if color.type == "theme" and color.theme < len(theme):
        return _tinted(theme[color.theme], color.tint or 0.0)
    return ""


def _indexed(number: int) -> str:
    from openpyxl.styles.colors import COLOR_INDEX  # type: ignore[import-untyped]  # it has no types

    return str(COLOR_INDEX[number])[-6:].upper() if number < len(COLOR_INDEX) else ""


def theme_colours(theme: bytes | None) -> list[str]:
    """The colours of a workbook's theme, in the order in which cells count them."""
    if not theme:
        return []
    from defusedxml.ElementTree import fromstring  # type: ignore[import-untyped]  # it has no types

    found: dict[str, str] = {}
    for scheme in fromstring(theme).iter():
        if not str(scheme.tag).endswith("}clrScheme"):
            continue
        for entry in scheme:
            for colour in entry:
                found[str(entry.tag).rpartition("}")[2]] = colour.get("lastClr") or colour.get("val") or ""
    return [found.get(name, "000000").upper() for name in _THEME_ORDER]


def _tinted(rgb: str, tint: float) -> str:
    """A theme's colour, darker (below 0) or lighter."""
    if not tint:
        return rgb
    hue, light, saturation = colorsys.rgb_to_hls(*_fractions(rgb))
    light = light * (1 + tint) if tint < 0 else light * (1 - tint) + tint
    return "".join(f"{round(255 * part):02X}" for part in colorsys.hls_to_rgb(hue, light, saturation))


def colour_word(rgb: str) -> str:
    """What people call a colour: `red`, `light blue`, `dark grey`."""
    hue, light, saturation = colorsys.rgb_to_hls(*_fractions(rgb))
    if light > 0.97:
        return "white"
    if light < 0.06:
        return "black"
    shade = "light " if light > 0.75 else "dark " if light < 0.3 else ""
    if saturation < 0.12:
        return f"{shade}grey"
    degrees = hue * 360
    name = next((word for most, word in _HUES if degrees < most), "pink" if degrees < 335 else "red")
    return f"{shade}{name}"


def _fractions(rgb: str) -> tuple[float, float, float]:
    red, green, blue = (int(rgb[at : at + 2], 16) / 255 for at in (0, 2, 4))
    return red, green, blue

"""Converts characters of symbol fonts (Symbol, Wingdings, Webdings) to Unicode."""

from __future__ import annotations

_PRIVATE = 0xF000
"""The first of the private code points that documents use for symbol fonts."""
_CLOCKS = "".join(map(chr, range(0x1F550, 0x1F55C)))
_SIGNS_OF_THE_ZODIAC = "♈♉♊♋♌♍♎♏♐♑♒♓"
_TABLES: dict[str, tuple[tuple[int, str], ...]] = {
    "symbol": (
        (0x20, " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"),
        (0xA0, "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪"),
        (0xF1, "〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭"),
    ),
    "wingdings": (
        (0x20, " ✎✂✁👓🕭🕮🕯☎✆✉🖃📪📫📬📭📁📂📄🗏🗐🗄⌛⌨🖰🖲💻🖴💾🖬✇✍🖎✌👌👍👎☜☞☝☟✋☺😐☹💣☠⚐🏱✈☼💧❄🕆✞🕈✠✡☪☯ॐ☸"),
        (0x5E, f"{_SIGNS_OF_THE_ZODIAC}&&●❍■□❐❑❒⬧⧫◆❖⬥⌧⮹⌘❀✿❝❞"),
        (0x80, "⓪①②③④⑤⑥⑦⑧⑨⑩⓿❶❷❸❹❺❻❼❽❾❿🙢🙠🙡🙣🙞🙜🙝🙟·•▪○⭘◉◉◎⭕▪☐🟂✦★✶✴✹✵⯐⌖⟡⌑⯑✪✰"),
        (0xB7, f"{_CLOCKS}⮰⮱⮲⮳⮴⮵⮶⮷🙪🙫🙕🙔🙗🙖🙐🙑🙒🙓⌫⌦⮘➢⮙⮛⮈⮊⮉⮋←→↑↓↖↗↙↘←➔↑↓↖↗↙↘⇦⇨⇧⇩⬄⇳⬁⬀⬃⬂▭▫✗✓☒☑⊞"),
    ),
    "wingdings 2": (
        (0x4F, "✗✓☒☑☒☒⊗⊗🛇⦸"),
        (0x69, "⓪①②③④⑤⑥⑦⑧⑨⑩⓿❶❷❸❹❺❻❼❽❾❿"),
        (0x96, "•●"),
        (0xA2, "■□"),
    ),
    "wingdings 3": ((0x21, "←→↑↓↖↗↙↘"), (0x70, "▲▼△▽◀▶◁▷"), (0x7D, "▶")),
    "webdings": ((0x33, "◀▶▲▼⏪⏩⏮⏭⏸⏹⏺"), (0x59, "♥"), (0x61, "✔"), (0x63, "□"), (0x67, "■"), (0x6E, "●"), (0x72, "✖")),
}
"""The characters of each font, in runs. Each run has the code of its first character."""
_FONTS = {
    font: {start + at: character for start, characters in runs for at, character in enumerate(characters)}
    for font, runs in _TABLES.items()
}


def is_symbol_font(font: str | None) -> bool:
    """Return True if this font shows letters as symbols."""
    return (font or "").lower() in _FONTS


def symbol(code: int, font: str) -> str:
    """Return a character of a symbol font in Unicode; if it is unknown, its code and font."""
    found = _FONTS.get(font.lower(), {}).get(code - _PRIVATE if code >= _PRIVATE else code)
    if found:
        return found
    if _PRIVATE <= code < 0xF900 or is_symbol_font(font):
        return f"[symbol {code:04X} of {font or 'an unknown font'}]"
    return chr(code)


def symbols(text: str, font: str) -> str:
    """Convert a text in a symbol font to Unicode."""
    return "".join(one if one.isspace() else symbol(ord(one), font) for one in text)


def has_private(text: str) -> bool:
    """Return True if the text has characters that only symbol fonts display."""
    return any("\uf000" <= one <= "\uf0ff" for one in text)

import re
import unicodedata
from typing import Literal

# letters that Unicode does not split into a base letter and accents
LATIN = {
    "ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L",
    "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "þ": "th", "Þ": "Th", "ħ": "h", "Ħ": "H", "ı": "i", "ŋ": "ng", "Ŋ": "NG",
    "ĸ": "k", "ŧ": "t", "Ŧ": "T", "ə": "a", "Ə": "A",
}  # fmt: skip
CYRILLIC = {
    "а": "a", "б": "b", "в": "v", "г": "g", "д": "d", "е": "e", "ё": "e", "ж": "zh", "з": "z", "и": "i", "й": "i",
    "к": "k", "л": "l", "м": "m", "н": "n", "о": "o", "п": "p", "р": "r", "с": "s", "т": "t", "у": "u", "ф": "f",
    "х": "kh", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "shch", "ъ": "ie", "ы": "y", "ь": "", "э": "e", "ю": "iu",
    "я": "ia", "і": "i", "ї": "i", "є": "ie", "ґ": "g", "ў": "u", "ђ": "d", "ј": "j", "љ": "lj", "њ": "nj", "ћ": "c",
    "џ": "dz",
}  # fmt: skip
GREEK = {
    "α": "a", "β": "v", "γ": "g", "δ": "d", "ε": "e", "ζ": "z", "η": "i", "θ": "th", "ι": "i", "κ": "k", "λ": "l",
    "μ": "m", "ν": "n", "ξ": "x", "ο": "o", "π": "p", "ρ": "r", "σ": "s", "ς": "s", "τ": "t", "υ": "y", "φ": "f",
    "χ": "ch", "ψ": "ps", "ω": "o",
}  # fmt: skip
MARKS = {
    "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u00ab": '"',
    "\u00bb": '"', "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "-", "\u2212": "-",
    "\u2044": "/", "\u00b5": "u", "\u20ac": "EUR", "\u00a3": "GBP", "\u00a9": "(c)", "\u00ae": "(r)", "\u00d7": "x",
}  # fmt: skip
GERMAN = {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"}


def slugify_text(
    text: str,
    separator: Literal["-", "_", "."] = "-",
    lowercase: bool = True,
    max_length: int = 0,
    umlauts: Literal["plain", "german"] = "plain",
) -> dict:
    """Turns a text into a slug for an address or a file name, and into plain ASCII letters (transliteration).

    Letters with accents lose them. ß becomes ss, æ ae, œ oe, ø o, ł l, đ and ð d, þ th. Russian letters follow ICAO Doc
    9303 (zh, kh, ts, ch, sh, shch, y, iu, ia; ё is e, й is i, ъ is ie, ь is left out), Greek letters their modern sound
    (β is v, η is i, φ is f, χ is ch). Other characters without an ASCII form are left out.

    Also known as: slug, permalink, URL-friendly name, file name from title, remove accents, unidecode, romanize, ASCII folding

    Args:
        text: The text; may be empty.
        separator: The character between the words of the slug.
        lowercase: Whether the slug has small letters only. The ASCII text keeps its capitals.
        max_length: The largest length of the slug in characters; 0 means no limit. Whole words are left out at the end;
            only a first word that is too long itself is cut.
        umlauts: "plain" makes ä, ö, ü into a, o, u; "german" into ae, oe, ue (Ä into Ae).

    Returns:
        A dict with "slug", in which each run of other characters than ASCII letters and digits is one separator,
        without one at its ends, while apostrophes vanish ("don't" gives "dont"); and "ascii", the transliterated text
        with its blanks and punctuation. Curly quotes and guillemets (« ») become straight quotes there, dashes become
        "-", € EUR, £ GBP, © (c), ® (r) and × x. The slug is empty if no letter or digit is left.

    Raises:
        ValueError: If `max_length` is negative.

    Examples:
        >>> slugify_text("Crème Brûlée & Øl")
        {'slug': 'creme-brulee-ol', 'ascii': 'Creme Brulee & Ol'}
        >>> slugify_text("Übergröße ÄPFEL", umlauts="german")
        {'slug': 'uebergroesse-aepfel', 'ascii': 'Uebergroesse AePFEL'}
        >>> slugify_text("Übergröße")
        {'slug': 'ubergrosse', 'ascii': 'Ubergrosse'}
        >>> slugify_text("Война и мир", separator="_")
        {'slug': 'voina_i_mir', 'ascii': 'Voina i mir'}
        >>> slugify_text("Щука, ёж, Αθήνα", lowercase=False)
        {'slug': 'Shchuka-ezh-Athina', 'ascii': 'Shchuka, ezh, Athina'}
        >>> slugify_text("one two three", max_length=9)
        {'slug': 'one-two', 'ascii': 'one two three'}
        >>> slugify_text("one two three", max_length=7)
        {'slug': 'one-two', 'ascii': 'one two three'}
        >>> slugify_text("one two three", max_length=6)
        {'slug': 'one', 'ascii': 'one two three'}
        >>> slugify_text("one two three", max_length=13)
        {'slug': 'one-two-three', 'ascii': 'one two three'}
        >>> slugify_text("a b", max_length=1)
        {'slug': 'a', 'ascii': 'a b'}
        >>> slugify_text("Extraordinary claims", max_length=5)
        {'slug': 'extra', 'ascii': 'Extraordinary claims'}
        >>> slugify_text("Don\u2019t pay \u20ac5 \u2013 it\u2019s ½ price…")
        {'slug': 'dont-pay-eur5-its-1-2-price', 'ascii': "Don't pay EUR5 - it's 1/2 price..."}
        >>> slugify_text("Straße 日本 \u00a32 ™ Þór")
        {'slug': 'strasse-gbp2-tm-thor', 'ascii': 'Strasse  GBP2 TM Thor'}
        >>> slugify_text("日本 !?")
        {'slug': '', 'ascii': ' !?'}
        >>> slugify_text("a", max_length=-1)
        Traceback (most recent call last):
        ...
        ValueError: max_length must be 0 or more, not -1
    """
    if max_length < 0:
        raise ValueError(f"max_length must be 0 or more, not {max_length}")
    ascii_text = _transliterate(unicodedata.normalize("NFC", text), GERMAN if umlauts == "german" else {})
    words = re.findall("[A-Za-z0-9]+", ascii_text.replace("'", ""))
    slug = separator.join(words)
    if max_length and len(slug) > max_length:
        slug = _shorten(words, separator, max_length)
    return {"slug": slug.lower() if lowercase else slug, "ascii": ascii_text}


def _transliterate(text: str, special: dict[str, str]) -> str:
    return "".join(special.get(char) or _ascii(char) for char in text)


def _ascii(char: str) -> str:
    """Finds the ASCII form of one character: by the tables first, then by the parts that Unicode names."""
    if char.isascii():
        return char
    for table in (LATIN, MARKS):
        if char in table:
            return table[char]
    small = char.lower()
    for table in (CYRILLIC, GREEK):
        if small in table:
            found = table[small]
            return found if small == char else found.capitalize()
    parts = unicodedata.normalize("NFKD", char)
    if parts == char:
        return ""
    return "".join(_ascii(part) for part in parts if not unicodedata.combining(part))


def _shorten(words: list[str], separator: str, limit: int) -> str:
    slug = words[0][:limit]
    for word in words[1:]:
        if len(slug) + len(separator) + len(word) > limit:
            break
        slug += separator + word
    return slug

"""Finds private values in texts, even if they are encoded, reversed or split by punctuation.

Two methods complement each other. Decoding a text finds a value that was encoded together with other text. Encoding a
value finds it after its case was changed or punctuation was inserted. Neither finds encrypted text, such as XOR with a
key.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
import unicodedata
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from urllib.parse import parse_qsl, unquote, unquote_plus

from agent.web.address import split_address
from mcp_tools.tool import Json

SNIPPET_CHARS = 24
"""A run of characters this long that also occurs in private text was copied from it: "the vault opens at half past
nine"."""
HIDDEN_SNIPPET_CHARS = 10
"""The same for encoded or reversed text, for which there is no honest reason: "brown horses" in base64."""
PASSAGE_CHARS = 48
"""The same for a search query, which may contain a title from a private file but no whole sentence."""
WORDING_CHARS = 12
"""A browser task that shares words of this many characters with untrusted text repeats it: "delete account"."""
ORDER_WORDS = 4
"""A harmless task with this many new words from untrusted text repeats an order. Fewer words are a label: "Opening
hours"."""
DISTINCTIVE_CHARS = 8
"""A host name or query this long does not occur in other text by chance: "rivers.example"."""
KEY_DIGITS = 14
"""A run of this many digits is a card or account number: "4111 1111 1111 1111"."""
KEY_CHARS = 16
"""A word this long with letters and digits is a key: "b7Kq2zz19Lm04xyz"."""
ANYWHERE_CHARS = 6
"""A secret this long also counts inside longer words. A shorter one only counts as a whole word: "zw9" does not match
"zw912"."""
PARTIAL_CHARS = 8
"""A part of a longer secret counts if it has this many characters and at least three fifths of the secret."""
SMALL_VALUE_CHARS = 3
"""A value this short reveals nothing by itself: "en", "10", "yes"."""
MAX_SMALL_VALUES = 16
"""A call with more of these values may spell out private data: ["s", "e", "v", "e", "n", …]."""
MAX_KEYS = 10_000
"""If there are more than twice this many private keys, none is looked for, and every text that may carry one is
doubtful."""
MAX_ENCODED_KEYS = 200
"""Number of private keys that are also looked for in encoded form."""


_TOKENS = (re.compile(r"[A-Za-z0-9+_-]{8,}=*"), re.compile(r"[A-Za-z0-9+/]{8,}=*"))
_BETWEEN = re.compile(r"[\s.,;:|~*!_/+-]+")
_PRINTABLE = re.compile(r"(?=(?<![^\s=&?/#])([!-~]{8,2000}))")
_CODES = re.compile(r"(?:\b\d{2,3}\b[^\w]{1,3}){3,}\d{2,3}\b")
_BITS = re.compile(r"(?:[01][^\w]{0,2}){32,}")
_OCTAL = re.compile(r"(?<!\d)(?:[01][0-7]{2}){4,}(?!\d)")
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_MAX_NUMBER_DIGITS = 2_000
_MAX_PERCENT_ROUNDS = 5
_MAX_UNPACKED_BYTES = 1_000_000
_WHOLE = re.compile(r"[^\W_]+(?:[-._~!*]+[^\W_]+)*")
_WORD = re.compile(r"[^\W_]+")
_MAX_DECODINGS = 400


def normalized(text: str) -> str:
    """Return only the letters and digits, in lower case and one width.

    Example:
        >>> normalized("Pass-Word: 7")
        'password7'
    """
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return "".join(filter(str.isalnum, plain.casefold()))


def _unquoted(text: str) -> Iterator[str]:
    for decode in (unquote, unquote_plus):
        found = text
        for _ in range(_MAX_PERCENT_ROUNDS):
            before, found = found, decode(found)
            if found == before:
                break
        yield found


def _decoded(decode: Callable[[str], bytes]) -> Callable[[str], Iterator[str]]:
    """Return a function that decodes each token of a text, even if punctuation was inserted."""

    def read(text: str) -> Iterator[str]:
        found = (token for one in (text, _BETWEEN.sub("", text)) for form in _TOKENS for token in form.findall(one))
        for token in dict.fromkeys(found):
            try:
                data = decode(token)
            except (ValueError, binascii.Error):
                continue
            yield from _texts(data)

    return read


def _texts(data: bytes) -> Iterator[str]:
    for text in (data, *_unpacked(data)):
        try:
            yield text.decode("utf-8")
        except UnicodeDecodeError:
            continue


def _unpacked(data: bytes) -> Iterator[bytes]:
    if data[:2] == b"\x1f\x8b" or data[:1] == b"\x78":
        try:
            yield zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(data, _MAX_UNPACKED_BYTES)
        except zlib.error:
            return


def _base64(token: str) -> bytes:
    plain = token.rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)


def _base32(token: str) -> bytes:
    plain = token.rstrip("=").upper()
    return base64.b32decode(plain + "=" * (-len(plain) % 8))


def _base58(token: str) -> bytes:
    number = 0
    for sign in token[:_MAX_NUMBER_DIGITS]:
        number = number * 58 + _BASE58.index(sign)
    return number.to_bytes(-(-number.bit_length() // 8), "big")


def _one_number(token: str) -> bytes:
    number = int(token[:_MAX_NUMBER_DIGITS]) if token.isdecimal() else 0
    return number.to_bytes(-(-number.bit_length() // 8), "big")


def _ascii85(text: str) -> Iterator[str]:
    pieces = map(unquote, re.split(r"[\s=&?/#]+", text))
    for token in dict.fromkeys((*_PRINTABLE.findall(text), *pieces)):
        for decode in (base64.a85decode, base64.b85decode):
            with suppress(ValueError, binascii.Error):
                data = decode(token.removeprefix("<~").removesuffix("~>"))
                if len(token) >= 8 and sum(32 <= byte < 127 for byte in data) >= 0.7 * len(data):
                    yield data.decode("utf-8", "ignore")


def _of_codes(text: str) -> Iterator[str]:
    """Yield texts written as character codes, in decimal, octal or binary."""
    for run in _CODES.findall(text):
        codes = re.findall(r"\d+", run)
        for base in (10, 8):
            with suppress(ValueError, OverflowError):
                yield "".join(chr(int(code, base)) for code in codes)
    for run in _BITS.findall(text):
        bits = "".join(filter(str.isdigit, run))
        yield "".join(chr(int(bits[at : at + 8], 2)) for at in range(0, len(bits), 8))
    for run in _OCTAL.findall(text):
        yield "".join(chr(int(run[at : at + 3], 8)) for at in range(0, len(run), 3))


DECODERS: dict[str, Callable[[str], Iterable[str]]] = {
    "percent": _unquoted,
    "reversed": lambda text: (text[::-1],),
    "rot13": lambda text: (codecs.encode(text, "rot13"),),
    "base64": _decoded(_base64),
    "base32": _decoded(_base32),
    "hexadecimal": _decoded(bytes.fromhex),
    "base58": _decoded(_base58),
    "one number": _decoded(_one_number),
    "codes": _of_codes,
    "ascii85": _ascii85,
}
_SLOW = frozenset({"base58", "one number", "codes", "ascii85"})


def decodings(text: str, *, slow: bool = True) -> list[str]:
    """Return the text decoded in every way, once and twice. Pass `slow=False` for long texts."""
    decoders = [read for name, read in DECODERS.items() if slow or name not in _SLOW]
    found: dict[str, None] = {}
    waiting = [text]
    for _ in range(2):
        new = [more for one in waiting for read in decoders for more in read(one)]
        waiting = [one for one in dict.fromkeys(new) if one not in found and one != text][: _MAX_DECODINGS - len(found)]
        found.update(dict.fromkeys(waiting))
    return list(found)


def _in_groups(data: bytes, encode: Callable[[bytes], bytes], size: int, bits: int) -> Iterator[str]:
    """For each offset in a group, yield the part of the encoded value that does not depend on the surrounding text."""
    for before in range(size):
        text = encode(bytes(before) + data).decode().rstrip("=")
        ends_inside = (before + len(data)) * 8 % bits != 0
        yield text[-(-before * 8 // bits) : len(text) - ends_inside]


@lru_cache(maxsize=4096)
def encoded_forms(value: str) -> frozenset[str]:
    """Return the value and its encodings, each `normalized`."""
    found: set[str] = set()
    for plain in {value, value[::-1], codecs.encode(value, "rot13"), value.upper(), value.lower()}:
        data = plain.encode()
        found |= {plain, data.hex(), base64.b64encode(data).decode(), base64.b85encode(data).decode()}
        found.add(" ".join(map(str, data)))
        found.update(_in_groups(data, base64.b64encode, 3, 6))
        found.update(_in_groups(data, base64.b32encode, 5, 5))
    return frozenset(form for one in found for form in (normalized(one), normalized(one[::-1])) if len(form) > 3)


def address_parts(url: str) -> dict[str, str]:
    """Return the parts of an address that can carry a value, by position.

    Example:
        >>> address_parts("https://a.example/b?q=c")
        {'label 0': 'example', 'label 1': 'a', 'path 0': 'b', 'query q': 'c'}
    """
    split = split_address(url)
    found = {f"label {n}": label for n, label in enumerate(reversed((split.hostname or "").split(".")))}
    found |= {f"path {n}": one for n, one in enumerate(filter(None, unquote(split.path).split("/")))}
    found |= {f"query {name}": value for name, value in parse_qsl(split.query, True)}
    return found | ({"fragment": split.fragment} if split.fragment else {})


def argument_parts(values: Sequence[str]) -> dict[str, str]:
    """Return the values of a call by position: `argument 0`, `argument 1`."""
    return {f"argument {number}": value for number, value in enumerate(values)}


def values_in(value: Json) -> Iterator[str]:
    """Yield the texts and numbers in arguments."""
    return (text for _, text in named_values(value))


def named_values(value: Json, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the texts and numbers in arguments, each with the name of its member."""
    if isinstance(value, dict):
        for member, inner in value.items():
            yield from named_values(inner, member)
    elif isinstance(value, list):
        for inner in value:
            yield from named_values(inner, name)
    elif value is not None and not isinstance(value, bool):
        yield name, str(value)


def count_small_values(value: Json, written: Iterable[str]) -> int:
    """Count the values too small to judge alone: short and repeated ones, booleans, null and empty containers.

    Args:
        value: The arguments.
        written: The user's words. A value is not counted as often as the user wrote it.
    """
    left = Counter(_all_values(value)) - Counter(written)
    short = sum(count for one, count in left.items() if len(one) <= SMALL_VALUE_CHARS)
    marks = sum(len(one) * count for one, count in left.items() if len(one) > SMALL_VALUE_CHARS and not normalized(one))
    return short + marks + sum(count - 1 for one, count in left.items() if len(one) > SMALL_VALUE_CHARS)


def _all_values(value: Json) -> Iterator[str]:
    """Yield the values in lower case; `-` for booleans, null and empty containers."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    if inner:
        for one in inner:
            yield from _all_values(one)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value).casefold()
    else:
        yield "-"


def member_names(value: Json) -> Iterator[str]:
    """Yield the member names in arguments. Where a schema allows any name, names can carry data."""
    if isinstance(value, dict):
        yield from value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from member_names(inner)


class KeyIndex:
    """Finds private values in texts, whether whole, in large parts or encoded."""

    def __init__(self, values: Iterable[str]) -> None:
        self._whole: set[str] = set()
        """Short forms, which match only whole words."""
        self._parts: set[str] = set()
        """Pieces of longer forms. Each piece counts as a match."""
        self._sizes: defaultdict[str, set[int]] = defaultdict(set)
        """Lengths of these pieces, by their first characters."""
        for number, value in enumerate(values):
            plain = normalized(value)
            for form in {plain, *encoded_forms(value)} if number < MAX_ENCODED_KEYS else {plain}:
                if len(form) < ANYWHERE_CHARS:
                    self._whole.add(form)
                    continue
                size = len(form) if len(plain) < PARTIAL_CHARS else max(PARTIAL_CHARS, -(-len(form) * 3 // 5))
                for at in range(len(form) - size + 1):
                    self._parts.add(form[at : at + size])
                    self._sizes[form[at : at + ANYWHERE_CHARS]].add(size)

    def is_in(self, text: str) -> bool:
        """Return True if the text contains one of the values in any form."""
        return any(map(self._is_plainly_in, (text, *decodings(text)))) if self._whole or self._parts else False

    def is_completed(self, earlier: str, now: str) -> bool:
        """Return True if the new piece completes a value that earlier pieces began."""
        before, after = normalized(earlier), normalized(earlier + now)
        return bool(before) and any(part not in before for part in self._parts_in(after))

    def _is_plainly_in(self, text: str) -> bool:
        return next(self._parts_in(normalized(text)), None) is not None or not self._whole.isdisjoint(
            map(normalized, (*_WHOLE.findall(text), *_WORD.findall(text)))
        )

    def _parts_in(self, plain: str) -> Iterator[str]:
        for at in range(len(plain) - ANYWHERE_CHARS + 1):
            for size in self._sizes.get(plain[at : at + ANYWHERE_CHARS], ()):
                if (part := plain[at : at + size]) in self._parts:
                    yield part


@lru_cache(maxsize=32)
def key_index(values: tuple[str, ...]) -> KeyIndex:
    """Return an index of these values, cached."""
    return KeyIndex(values)

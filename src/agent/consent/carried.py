"""Hidden contents of a text: decoded readings of the text, and encoded forms of a value.

A reading is looked through for private text; a form is looked for in the text. Either finds what the other misses: a
value between others that are encoded with it, or an encoded value with changed case and signs in between. Neither finds
text that was encrypted with a key, such as by XOR.
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

_TOKENS = (re.compile(r"[A-Za-z0-9+_-]{8,}=*"), re.compile(r"[A-Za-z0-9+/]{8,}=*"))
_BETWEEN = re.compile(r"[\s.,;:|~*!_/+-]+")
_PRINTABLE = re.compile(r"(?=(?<![^\s=&?/#])([!-~]{8,2000}))")
_CODES = re.compile(r"(?:\b\d{2,3}\b[^\w]{1,3}){3,}\d{2,3}\b")
_BITS = re.compile(r"(?:[01][^\w]{0,2}){32,}")
_OCTAL = re.compile(r"(?<!\d)(?:[01][0-7]{2}){4,}(?!\d)")
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_LONGEST_NUMBER = 2_000
"""Digits of a number that is decoded."""
_PERCENT = 5
"""Times that a text may be percent-encoded."""
_UNPACKED = 1_000_000
_FOUND_ANYWHERE = 6
"""Letters and digits of a form that no text has inside a word by chance."""
_ENOUGH = 8
"""So many of a longer value, or three in five, are as good as the whole."""
_WHOLE = re.compile(r"[^\W_]+(?:[-._~!*]+[^\W_]+)*")
_WORD = re.compile(r"[^\W_]+")
_MOST_READINGS = 400
_SHORT = 3
"""Characters of a value that says little alone."""
_FULLY = 200
"""Values that are looked for in each form; of more, the text alone is decoded."""


def squeezed(text: str) -> str:
    """Letters and digits alone, small and of one width: marks between them hide nothing."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return "".join(filter(str.isalnum, plain.casefold()))


def _unquoted(text: str) -> Iterator[str]:
    for decode in (unquote, unquote_plus):
        found = text
        for _ in range(_PERCENT):
            before, found = found, decode(found)
            if found == before:
                break
        yield found


def _decoded(decode: Callable[[str], bytes]) -> Callable[[str], Iterator[str]]:
    """The readings by a decoder of tokens; of a token with marks in between, too."""

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
    """Return the text of bytes, unpacked if they are compressed."""
    for text in (data, *_unpacked(data)):
        try:
            yield text.decode("utf-8")
        except UnicodeDecodeError:
            continue


def _unpacked(data: bytes) -> Iterator[bytes]:
    if data[:2] == b"\x1f\x8b" or data[:1] == b"\x78":
        try:
            yield zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(data, _UNPACKED)
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
    for sign in token[:_LONGEST_NUMBER]:
        number = number * 58 + _BASE58.index(sign)
    return number.to_bytes(-(-number.bit_length() // 8), "big")


def _one_number(token: str) -> bytes:
    number = int(token[:_LONGEST_NUMBER]) if token.isdecimal() else 0
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
    """The text that the codes of its characters give: in decimal, octal or binary numbers."""
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


READINGS: dict[str, Callable[[str], Iterable[str]]] = {
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
"""Decodings that are tried on a text."""


_SLOW = frozenset({"base58", "one number", "codes", "ascii85"})


def readings(text: str, *, slow: bool = True) -> list[str]:
    """What a text says when decoded once or twice; for long texts, without what is `slow` and fits every word."""
    decoders = [read for name, read in READINGS.items() if slow or name not in _SLOW]
    found: dict[str, None] = {}
    waiting = [text]
    for _ in range(2):
        new = [more for one in waiting for read in decoders for more in read(one)]
        waiting = [one for one in dict.fromkeys(new) if one not in found and one != text][: _MOST_READINGS - len(found)]
        found.update(dict.fromkeys(waiting))
    return list(found)


def _in_groups(data: bytes, encode: Callable[[bytes], bytes], size: int, bits: int) -> Iterator[str]:
    """Yield the part of an encoded value that does not depend on the text around the value."""
    for before in range(size):
        text = encode(bytes(before) + data).decode().rstrip("=")
        ends_inside = (before + len(data)) * 8 % bits != 0
        yield text[-(-before * 8 // bits) : len(text) - ends_inside]


@lru_cache(maxsize=4096)
def forms(value: str) -> frozenset[str]:
    """A value in clear and encoded, each `squeezed`."""
    found: set[str] = set()
    for plain in {value, value[::-1], codecs.encode(value, "rot13"), value.upper(), value.lower()}:
        data = plain.encode()
        found |= {plain, data.hex(), base64.b64encode(data).decode(), base64.b85encode(data).decode()}
        found.add(" ".join(map(str, data)))
        found.update(_in_groups(data, base64.b64encode, 3, 6))
        found.update(_in_groups(data, base64.b32encode, 5, 5))
    return frozenset(form for one in found for form in (squeezed(one), squeezed(one[::-1])) if len(form) > 3)


def parts(url: str) -> dict[str, str]:
    """Return the parts of an address that can each carry a piece, by their position."""
    split = split_address(url)
    found = {f"label {n}": label for n, label in enumerate(reversed((split.hostname or "").split(".")))}
    found |= {f"path {n}": one for n, one in enumerate(filter(None, unquote(split.path).split("/")))}
    found |= {f"query {name}": value for name, value in parse_qsl(split.query, True)}
    return found | ({"fragment": split.fragment} if split.fragment else {})


def arguments_in_parts(values: Sequence[str]) -> dict[str, str]:
    """The values of a call by their places."""
    return {f"argument {number}": value for number, value in enumerate(values)}


def leaves(value: Json) -> Iterator[str]:
    """The texts and numbers in arguments."""
    return (text for _, text in named_leaves(value))


def named_leaves(value: Json, name: str = "") -> Iterator[tuple[str, str]]:
    """The texts and numbers in arguments, each after the name of the member that it belongs to."""
    if isinstance(value, dict):
        for member, inner in value.items():
            yield from named_leaves(inner, member)
    elif isinstance(value, list):
        for inner in value:
            yield from named_leaves(inner, name)
    elif value is not None and not isinstance(value, bool):
        yield name, str(value)


def small_parts(value: Json, written: Iterable[str]) -> int:
    """Count what is too small to be judged alone: short and repeated values, true, false, null, and empty containers.

    Args:
        value: Arguments.
        written: The user's words: each may occur as often as there.
    """
    left = Counter(_all_leaves(value)) - Counter(written)
    short = sum(count for one, count in left.items() if len(one) <= _SHORT)
    marks = sum(len(one) * count for one, count in left.items() if len(one) > _SHORT and not squeezed(one))
    return short + marks + sum(count - 1 for one, count in left.items() if len(one) > _SHORT)


def _all_leaves(value: Json) -> Iterator[str]:
    """The values in arguments, in small letters; of those that are no text or number a sign."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    if inner:
        for one in inner:
            yield from _all_leaves(one)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value).casefold()
    else:
        yield "-"


def member_names(value: Json) -> Iterator[str]:
    """The names of members in arguments: where an object may have any, they say as much as values."""
    if isinstance(value, dict):
        yield from value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from member_names(inner)


class KeyIndex:
    """Values that must not leave, to be found in texts whole, in large parts, or encoded."""

    def __init__(self, values: Iterable[str]) -> None:
        self._whole: set[str] = set()
        """Short forms, which count only as whole words."""
        self._parts: set[str] = set()
        """The pieces of forms that are enough."""
        self._sizes: defaultdict[str, set[int]] = defaultdict(set)
        """The lengths of these pieces by their beginnings."""
        for number, value in enumerate(values):
            plain = squeezed(value)
            for form in {plain, *forms(value)} if number < _FULLY else {plain}:
                if len(form) < _FOUND_ANYWHERE:
                    self._whole.add(form)
                    continue
                size = len(form) if len(plain) < _ENOUGH else max(_ENOUGH, -(-len(form) * 3 // 5))
                for at in range(len(form) - size + 1):
                    self._parts.add(form[at : at + size])
                    self._sizes[form[at : at + _FOUND_ANYWHERE]].add(size)

    def is_in(self, text: str) -> bool:
        """True if a text carries one of the values."""
        return any(map(self._stands_in, (text, *readings(text)))) if self._whole or self._parts else False

    def is_pieced(self, earlier: str, now: str) -> bool:
        """True if a piece completes what earlier pieces began."""
        before, after = squeezed(earlier), squeezed(earlier + now)
        return bool(before) and any(part not in before for part in self._parts_in(after))

    def _stands_in(self, text: str) -> bool:
        return next(self._parts_in(squeezed(text)), None) is not None or not self._whole.isdisjoint(
            map(squeezed, (*_WHOLE.findall(text), *_WORD.findall(text)))
        )

    def _parts_in(self, plain: str) -> Iterator[str]:
        for at in range(len(plain) - _FOUND_ANYWHERE + 1):
            for size in self._sizes.get(plain[at : at + _FOUND_ANYWHERE], ()):
                if (part := plain[at : at + size]) in self._parts:
                    yield part


@lru_cache(maxsize=32)
def key_index(values: tuple[str, ...]) -> KeyIndex:
    """The index of some values, made once."""
    return KeyIndex(values)

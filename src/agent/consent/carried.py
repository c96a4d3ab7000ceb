"""What a text carries in a form that hides it: decoded readings of the text, and encoded forms of a value.

A reading is looked through for private text; a form is looked for in the text. Either finds what the other misses: a
value between others that are encoded with it, or an encoded value with changed case and signs in between. What was
enciphered with a key, such as by XOR, is found by neither.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from urllib.parse import parse_qsl, unquote, unquote_plus

from agent.web.address import split_address
from mcp_tools.tool import Json

_TOKENS = (re.compile(r"[A-Za-z0-9+_-]{8,}=*"), re.compile(r"[A-Za-z0-9+/]{8,}=*"))
_BETWEEN = re.compile(r"[\s.,;:|~*!_/+-]+")
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
_LABELLED = re.compile(
    r"([\w.-]*\w)[\"'`*]*[ \t]*(?:=>|->|[:=|\t]|(?<= )(?:is|lautet|ist|est)(?= ))[ \t]*[\"'`*]*([^\s\"'`,;|<>]+)"
)
_NAMED = re.compile(
    r"\b(?:password|passwort|kennwort|passphrase|passcode|pin|token|secret|api key)\b[^.\n:=]{0,40}?"
    r"(?:\b(?:is|ist|lautet|est)\b|[:=])[ \t]*[\"'`*]*([^\s\"'`,;|<>]+)",
    re.IGNORECASE,
)
_LABELS = frozenset(
    {
        "token",
        "tokens",
        "key",
        "keys",
        "apikey",
        "password",
        "passwords",
        "passwd",
        "passphrase",
        "passcode",
        "passwort",
    }
    | {"kennwort", "pwd", "pass", "pin", "secret", "secrets", "credential", "credentials", "auth", "bearer", "otp"}
)
_LABEL_ENDS = ("token", "password", "passwd", "passwort", "secret", "apikey", "pwd")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_NO_VALUE = frozenset({"none", "null", "true", "false", "yes", "no", "empty", "redacted", "is", "the", "a"})


def squeezed(text: str) -> str:
    """Letters and digits alone, small: marks between them hide nothing."""
    return "".join(filter(str.isalnum, text.casefold()))


def labelled_values(text: str) -> Iterator[str]:
    """The values behind a name such as TOKEN, KEY or PASSWORD, of any length."""
    for label, value in _LABELLED.findall(text):
        words = {word.casefold() for word in _WORDS.findall(label)}
        if words & _LABELS or label.casefold().endswith(_LABEL_ENDS):
            yield from _plain(value)
    for value in _NAMED.findall(text):
        yield from _plain(value)


def _plain(value: str) -> Iterator[str]:
    value = value.strip("\"'`.,;:!?()[]{}*")
    if squeezed(value) and value.casefold() not in _NO_VALUE:
        yield value


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
    """What bytes say, unpacked if they are packed."""
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


READINGS: dict[str, Callable[[str], Iterable[str]]] = {
    "percent": _unquoted,
    "reversed": lambda text: (text[::-1],),
    "rot13": lambda text: (codecs.encode(text, "rot13"),),
    "base64": _decoded(_base64),
    "base32": _decoded(_base32),
    "hexadecimal": _decoded(bytes.fromhex),
}
"""The ways in which a text is read besides as it stands."""


def readings(text: str) -> list[str]:
    """What a text says when decoded once or twice."""
    found: dict[str, None] = {}
    waiting = [text]
    for _ in range(2):
        new = [more for one in waiting for read in READINGS.values() for more in read(one)]
        waiting = [one for one in dict.fromkeys(new) if one not in found and one != text][: _MOST_READINGS - len(found)]
        found.update(dict.fromkeys(waiting))
    return list(found)


def _in_groups(data: bytes, encode: Callable[[bytes], bytes], size: int, bits: int) -> Iterator[str]:
    """Yield the part of an encoded value that is the same whatever text surrounds the value."""
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
    """The parts of an address that can carry a piece each, by where they stand."""
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
    if isinstance(value, dict):
        for inner in value.values():
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


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
        self._parts: dict[int, set[str]] = {}
        """What of a form is enough, by its length."""
        for value in values:
            short = len(squeezed(value)) < _ENOUGH
            for form in {squeezed(value), *forms(value)}:
                if len(form) < _FOUND_ANYWHERE:
                    self._whole.add(form)
                    continue
                size = len(form) if short else max(_ENOUGH, -(-len(form) * 3 // 5))
                self._parts.setdefault(size, set()).update(form[at : at + size] for at in range(len(form) - size + 1))

    def is_in(self, text: str) -> bool:
        """True if a text carries one of them."""
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
        for size, known in self._parts.items():
            for at in range(len(plain) - size + 1):
                if (part := plain[at : at + size]) in known:
                    yield part


@lru_cache(maxsize=32)
def key_index(values: frozenset[str]) -> KeyIndex:
    """The index of some values, made once."""
    return KeyIndex(values)

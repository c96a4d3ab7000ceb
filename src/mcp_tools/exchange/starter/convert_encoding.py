import base64
import binascii
import quopri
import re
from typing import Literal
from urllib.parse import quote, unquote_to_bytes

BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

Scheme = Literal[
    "text", "base16", "base32", "base58", "base64", "base64url", "base85", "ascii85", "percent", "quoted-printable"
]


def convert_encoding(
    data: str,
    source: Scheme,
    target: Scheme,
    charset: str = "utf-8",
) -> str:
    """Encodes, decodes and recodes Base64, hex, Base32, Base58, Base85, percent (URL) and quoted-printable.

    With source "text" it encodes, with target "text" it decodes. Target "base16" shows bytes that are no text.

    Also known as: base64 encode, base64 decode, hex encode, hex decode, URL encode, URL decode, percent-encoding, btoa, atob

    Args:
        data: The data to convert; may be empty.
        source: The encoding that `data` has.
        target: The encoding of the result:
            "text": characters in `charset`;
            "base16": hexadecimal, capital letters written, small ones read, too;
            "base32": RFC 4648 with padding "=", capital letters written, small ones read, too;
            "base58": the alphabet of Bitcoin, without a checksum, for short data;
            "base64": RFC 4648 with + and /; "base64url": with - and _; both are written with padding "=";
            "base85": the alphabet of Python's b85encode and of git (RFC 1924); "ascii85": that of Adobe and btoa, with
            z for four zero bytes, without <~ and ~>;
            "percent": all bytes except A-Z, a-z, 0-9, "-", ".", "_" and "~" are written as %XX; when read, all
            printable ASCII characters except "%" stand for themselves ("+" stays "+"), blanks and line ends are
            refused;
            "quoted-printable": RFC 2045 with lines of at most 76 characters; CRLF and LF stay as they are, also mixed.
        charset: The character encoding of texts, such as "utf-8", "latin-1", "utf-16-le" or "cp1252".

    Returns:
        The converted data, on one line except for text and quoted-printable. In what is read, the padding of base32,
        base64 and base64url may be missing, and white space is ignored in all but "text", "percent" and
        "quoted-printable".

    Raises:
        ValueError: If `data` is not valid in `source` (a foreign character, a wrong length, or
            padding in a wrong place), if the charset is unknown, if a text has a character that the charset lacks, or
            if the bytes are no text in the charset.

    Examples:
        >>> convert_encoding("Grüße", "text", "base64")
        'R3LDvMOfZQ=='
        >>> convert_encoding("R3LDvMOfZQ", "base64", "text")
        'Grüße'
        >>> convert_encoding("a b&c", "text", "percent")
        'a%20b%26c'
        >>> convert_encoding("/w==", "base64", "base16")
        'FF'
        >>> convert_encoding("0061", "base16", "base58")
        '12g'
        >>> convert_encoding("12g", "base58", "base16")
        '0061'
        >>> convert_encoding("hi", "text", "base32")
        'NBUQ===='
        >>> convert_encoding("nbuq", "base32", "text")
        'hi'
        >>> convert_encoding("Man ", "text", "ascii85")
        '9jqo^'
        >>> convert_encoding("O<`^z", "base85", "ascii85")
        '9jqo^'
        >>> convert_encoding("ÿþ", "text", "base64url", charset="latin-1")
        '__4='
        >>> convert_encoding("__4", "base64url", "base64")
        '//4='
        >>> convert_encoding("é=1", "text", "quoted-printable")
        '=C3=A9=3D1'
        >>> convert_encoding("=C3=A9=3D1", "quoted-printable", "text")
        'é=1'
        >>> convert_encoding("Cg0KYWE=", "base64url", "quoted-printable")
        '\\n\\r\\naa'
        >>> convert_encoding("a \\r\\n\\t\\nb\\r", "text", "quoted-printable")
        'a=20\\r\\n=09\\nb=0D'
        >>> convert_encoding("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx \\n", "text", "quoted-printable")
        'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx=\\n=20\\n'
        >>> convert_encoding("a+b%20c", "percent", "text")
        'a+b c'
        >>> convert_encoding("R3LD vMOf ZQ==", "base64", "base16")
        '4772C3BCC39F65'
        >>> convert_encoding("", "base64", "text")
        ''
        >>> convert_encoding("ZQ=", "base64", "text")
        Traceback (most recent call last):
        ...
        ValueError: data is not base64: wrong padding
        >>> convert_encoding("0", "base85", "base16")
        Traceback (most recent call last):
        ...
        ValueError: data is not base85: wrong length: one character is left over
        >>> convert_encoding("100%", "percent", "text")
        Traceback (most recent call last):
        ...
        ValueError: data is not percent: '%' at position 3 (from 0)
        >>> convert_encoding("//4=", "base64url", "base16")
        Traceback (most recent call last):
        ...
        ValueError: data is not base64url: + and / are not in the alphabet
        >>> convert_encoding("0OIl", "base58", "base16")
        Traceback (most recent call last):
        ...
        ValueError: data is not base58: '0' is not in the alphabet
        >>> convert_encoding("ff", "base16", "text")
        Traceback (most recent call last):
        ...
        ValueError: the bytes are no text in utf-8 from byte 0 on; target "base16" shows them
        >>> convert_encoding("é", "text", "base16", charset="ascii")
        Traceback (most recent call last):
        ...
        ValueError: ascii lacks the character 'é'
    """
    try:
        "".encode(charset)
        b"".decode(charset)
    except (LookupError, ValueError):
        raise ValueError(f"unknown charset: {charset!r}") from None
    return _encode(_decode(data, source, charset), target, charset)


def _decode(data: str, source: str, charset: str) -> bytes:
    if source == "text":
        try:
            return data.encode(charset)
        except UnicodeEncodeError as error:
            raise ValueError(f"{charset} lacks the character {data[error.start]!r}") from None
    if not data.isascii():
        raise ValueError(f"data is not {source}: it has characters beyond ASCII")
    if source == "percent":
        _refuse(re.search(r"%(?![0-9A-Fa-f]{2})|[^!-~]", data), source)
        return unquote_to_bytes(data)
    if source == "quoted-printable":
        _refuse(re.search(r"=(?![0-9A-Fa-f]{2}|\r?\n)|[^\t\n\r -~]", data), source)
        return quopri.decodestring(data.encode())
    packed = "".join(data.split())
    try:
        return _unpack(packed, source)
    except (ValueError, binascii.Error, KeyError) as error:
        raise ValueError(f"data is not {source}: {error}") from None


def _refuse(found: re.Match[str] | None, source: str) -> None:
    if found:
        raise ValueError(f"data is not {source}: {found.group()!r} at position {found.start()} (from 0)")


def _unpack(packed: str, source: str) -> bytes:
    if source == "base16":
        return base64.b16decode(packed, casefold=True)
    if source == "base58":
        return _from_base58(packed)
    if source in ("base85", "ascii85") and len(packed.replace("z", "") if source == "ascii85" else packed) % 5 == 1:
        raise ValueError("wrong length: one character is left over")
    if source == "base85":
        return base64.b85decode(packed)
    if source == "ascii85":
        return base64.a85decode(packed)
    if source == "base64url" and re.search("[+/]", packed):
        raise ValueError("+ and / are not in the alphabet")
    block = 8 if source == "base32" else 4
    plain = packed.rstrip("=")
    padding = packed[len(plain) :]
    if padding and (len(padding) >= block or len(packed) % block):
        raise ValueError("wrong padding")
    padded = plain + "=" * (-len(plain) % block)
    if source == "base32":
        return base64.b32decode(padded, casefold=True)
    return base64.b64decode(padded, altchars=b"-_" if source == "base64url" else None, validate=True)


def _from_base58(packed: str) -> bytes:
    number = 0
    for char in packed:
        digit = BASE58.find(char)
        if digit < 0:
            raise ValueError(f"{char!r} is not in the alphabet")
        number = number * 58 + digit
    zeros = len(packed) - len(packed.lstrip("1"))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")


def _encode(raw: bytes, target: str, charset: str) -> str:
    if target == "text":
        try:
            return raw.decode(charset)
        except UnicodeDecodeError as error:
            raise ValueError(
                f'the bytes are no text in {charset} from byte {error.start} on; target "base16" shows them'
            ) from None
    if target == "base58":
        return _to_base58(raw)
    if target == "percent":
        return quote(raw, safe="")
    if target == "quoted-printable":
        return _to_quoted_printable(raw)
    writers = {
        "base16": base64.b16encode,
        "base32": base64.b32encode,
        "base64": base64.b64encode,
        "base64url": base64.urlsafe_b64encode,
        "base85": base64.b85encode,
        "ascii85": base64.a85encode,
    }
    return writers[target](raw).decode("ascii")


def _to_base58(raw: bytes) -> str:
    number = int.from_bytes(raw, "big")
    digits = []
    while number:
        number, digit = divmod(number, 58)
        digits.append(BASE58[digit])
    zeros = len(raw) - len(raw.lstrip(b"\0"))
    return "1" * zeros + "".join(reversed(digits))


def _to_quoted_printable(raw: bytes) -> str:
    soft_break = "=\r\n" if b"\r\n" in raw else "=\n"
    # lines and their ends take turns
    parts = re.split(b"(\r\n|\n)", raw)
    return "".join(part.decode() if i % 2 else _quoted_line(part, soft_break) for i, part in enumerate(parts))


def _quoted_line(line: bytes, soft_break: str) -> str:
    written = []
    room = 76
    for place, byte in enumerate(line, 1):
        last = place == len(line)
        plain = 33 <= byte <= 126 and byte != ord("=") or byte in b"\t " and not last
        token = chr(byte) if plain else f"={byte:02X}"
        # the "=" of a soft break needs room, too, unless the line ends here
        if len(token) + (not last) > room:
            written.append(soft_break)
            room = 76
        written.append(token)
        room -= len(token)
    return "".join(written)

import base64
import hashlib
import hmac
import zlib
from collections.abc import Iterator
from typing import Literal

CHUNK_BYTES = 1_048_576


def hash_text_or_file(
    text: str | None = None,
    file_path: str | None = None,
    algorithm: Literal[
        "md5",
        "sha1",
        "sha224",
        "sha256",
        "sha384",
        "sha512",
        "sha3_256",
        "sha3_512",
        "blake2b",
        "blake2s",
        "crc32",
        "adler32",
    ] = "sha256",
    key: str | None = None,
) -> dict:
    """Computes the hash of a text or a file, such as SHA-256, MD5, BLAKE2 or CRC-32, or an HMAC with a key.

    MD5, SHA-1, CRC-32 and Adler-32 find damage, but do not protect against somebody who forges data.

    Also known as: checksum, digest, fingerprint, sha256sum, md5sum, message authentication code, file integrity, HMAC, CRC32

    Args:
        text: The text; its UTF-8 bytes are hashed as they are, without a line end added. It may be empty. Give either
            `text` or `file_path`.
        file_path: The path of the file whose bytes are hashed.
        algorithm: The hash function. "blake2b" has 64 bytes and "blake2s" 32, both without a key of their own.
        key: The key of an HMAC (RFC 2104), as text in UTF-8, not empty; null for a plain hash. Not for crc32 and
            adler32.

    Returns:
        A dict with "algorithm" (with the prefix "hmac-" if a key is given), "hex" (the hash in lower-case hexadecimal
        digits; crc32 and adler32 have 8), "base64" (the same bytes in Base64 with padding; those of crc32 and adler32
        have the most significant byte first) and "size_bytes", the size of what was hashed.

    Raises:
        ValueError: If neither or both of `text` and `file_path` are given, if the file cannot be read, if the text
            has a lone surrogate and so no UTF-8 form, if the key is empty, or if a key is given for crc32 or adler32.

    Examples:
        >>> hash_text_or_file("abc")
        {'algorithm': 'sha256', 'hex': 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad', 'base64': 'ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=', 'size_bytes': 3}
        >>> hash_text_or_file("123456789", algorithm="crc32")
        {'algorithm': 'crc32', 'hex': 'cbf43926', 'base64': 'y/Q5Jg==', 'size_bytes': 9}
        >>> hash_text_or_file("Wikipedia", algorithm="adler32")
        {'algorithm': 'adler32', 'hex': '11e60398', 'base64': 'EeYDmA==', 'size_bytes': 9}
        >>> hash_text_or_file("", algorithm="md5")
        {'algorithm': 'md5', 'hex': 'd41d8cd98f00b204e9800998ecf8427e', 'base64': '1B2M2Y8AsgTpgAmY7PhCfg==', 'size_bytes': 0}
        >>> hash_text_or_file("The quick brown fox jumps over the lazy dog", algorithm="md5", key="key")
        {'algorithm': 'hmac-md5', 'hex': '80070713463e7749b90c2dc24911e275', 'base64': 'gAcHE0Y+d0m5DC3CSRHidQ==', 'size_bytes': 43}
        >>> hash_text_or_file()
        Traceback (most recent call last):
        ...
        ValueError: give either text or file_path
        >>> hash_text_or_file("a", "a.txt")
        Traceback (most recent call last):
        ...
        ValueError: give either text or file_path
        >>> hash_text_or_file("a", algorithm="crc32", key="k")
        Traceback (most recent call last):
        ...
        ValueError: crc32 takes no key
        >>> hash_text_or_file("a", key="")
        Traceback (most recent call last):
        ...
        ValueError: key is empty; leave it out for a plain hash
    """
    if (text is None) == (file_path is None):
        raise ValueError("give either text or file_path")
    simple = algorithm in ("crc32", "adler32")
    if key is not None and simple:
        raise ValueError(f"{algorithm} takes no key")
    if key == "":
        raise ValueError("key is empty; leave it out for a plain hash")
    parts = _file_parts(file_path) if file_path is not None else iter([_bytes("text", text or "")])
    size = 0
    if simple:
        update, value = (zlib.crc32, 0) if algorithm == "crc32" else (zlib.adler32, 1)
        for part in parts:
            value = update(part, value)
            size += len(part)
        digest = value.to_bytes(4, "big")
    else:
        state = hashlib.new(algorithm) if key is None else hmac.new(_bytes("key", key), digestmod=algorithm)
        for part in parts:
            state.update(part)
            size += len(part)
        digest = state.digest()
    return {
        "algorithm": algorithm if key is None else f"hmac-{algorithm}",
        "hex": digest.hex(),
        "base64": base64.b64encode(digest).decode(),
        "size_bytes": size,
    }


def _bytes(name: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name} has a lone surrogate and so no UTF-8 form") from None


def _file_parts(path: str) -> Iterator[bytes]:
    try:
        with open(path, "rb") as file:
            while part := file.read(CHUNK_BYTES):
                yield part
    except OSError as error:
        raise ValueError(f"cannot read the file {path}: {error.strerror}") from None

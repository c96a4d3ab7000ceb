"""Safe names for files from the web."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.message import Message
from pathlib import Path, PurePosixPath
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from agent.errors import StorageError
from agent.user_files import whole_file
from mcp_tools.errors import os_errors_as

_MAX_BYTES = 120
_UNSAFE = re.compile(r"[^\w.()+=@ -]+")


def file_name(url: str, disposition: str = "") -> str:
    """Return a safe name for a download, from the Content-Disposition header or else from its URL.

    Args:
        url: Address of the file.
        disposition: The header, such as `attachment; filename="a.pdf"`.
    """
    message, given = Message(), ""
    message["content-disposition"] = disposition.replace("\n", " ").replace("\r", " ")
    with suppress(ValueError):  # a parameter number with too many digits
        given = message.get_filename() or ""
    with suppress(UnicodeError):  # decoded as Latin-1, but most servers send UTF-8
        given = given.encode("latin-1").decode("utf-8")
    parts = urlsplit(url)
    names = map(safe_name, (given, unquote(PurePosixPath(parts.path).name), parts.hostname or ""))
    return next(filter(None, names), "file")


def safe_name(name: str) -> str:
    """Return a file name without folders, leading dots and unsafe characters, cut to a limit. It may be empty.

    Example:
        >>> safe_name("../../.ssh/my:key.txt")
        'my_key.txt'
    """
    plain = unicodedata.normalize("NFC", name.replace("\\", "/").rpartition("/")[2])
    plain = _UNSAFE.sub("_", plain).strip(" ._")
    suffix = PurePosixPath(plain).suffix
    ending = suffix if len(suffix) <= 12 else ""
    while len(plain.encode()) > _MAX_BYTES:
        plain = plain.removesuffix(ending)[:-1] + ending
    return plain


@contextmanager
def new_file(folder: Path, name: str) -> Iterator[tuple[Path, BinaryIO]]:
    """Open a new file; add a number to the name if it is taken. The file is removed if the block raises.

    Args:
        folder: The folder. It is created if necessary.
        name: A safe name.

    Raises:
        StorageError: The folder cannot be written.
    """
    with os_errors_as(StorageError, f"{folder} cannot be written", "Choose another folder, or make it writable."):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = claimed(folder, name)
    try:
        with whole_file(path) as file:
            yield path, file
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def claimed(folder: Path, name: str) -> Path:
    """Create an empty file that no other task uses. Add a number to the name if it is taken."""
    for number in itertools.count(1):
        path = folder / (name if number == 1 else f"{Path(name).stem}-{number}{Path(name).suffix}")
        with suppress(FileExistsError):
            path.touch(mode=0o600, exist_ok=False)
            return path
    raise AssertionError("unreachable")

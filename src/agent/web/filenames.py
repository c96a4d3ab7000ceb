"""Safe names for files from the web."""

from __future__ import annotations

import contextlib
import itertools
import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from pathlib import Path, PurePosixPath
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from agent.errors import StorageError
from agent.store.user_files import whole_file

_LONGEST = 120
_UNSAFE = re.compile(r"[^\w.()+=@ -]+")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.I)


def file_name(url: str, disposition: str = "") -> str:
    """The name of a file: of the header Content-Disposition, else of its address; never a path, never hidden.

    Args:
        url: Where it was.
        disposition: The header, `attachment; filename="a.pdf"`.
    """
    parts = urlsplit(url)
    for candidate in (_told(disposition), unquote(PurePosixPath(parts.path).name), parts.hostname or ""):
        if name := safe_name(candidate):
            return name
    return "file"


@contextmanager
def new_file(folder: Path, name: str) -> Iterator[tuple[Path, BinaryIO]]:
    """A file of that name, or of one with a number more; whole when the block ends well, else not there.

    Args:
        folder: Made when it is not there.
        name: A safe one.

    Raises:
        StorageError: The folder cannot be written.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = claimed(folder, name)
    except OSError as error:
        raise StorageError(
            f"{folder} cannot be written: {error.strerror}.", remedy="Name another folder, or make it writable."
        ) from error
    try:
        with whole_file(path) as file:
            yield path, file
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def claimed(folder: Path, name: str) -> Path:
    """An empty file of that name, or of one with a number more, that no other task gets."""
    for number in itertools.count(1):
        path = folder / (name if number == 1 else f"{Path(name).stem}-{number}{Path(name).suffix}")
        with contextlib.suppress(FileExistsError):
            path.touch(mode=0o600, exist_ok=False)
            return path
    raise AssertionError("numbers do not end")


def _told(disposition: str) -> str:
    message = Message()
    message["content-disposition"] = disposition.replace("\n", " ").replace("\r", " ")
    name = ""
    with contextlib.suppress(ValueError):  # the number of a continuation with more digits than Python reads
        name = message.get_filename() or ""
    with contextlib.suppress(UnicodeError):  # headers come as Latin-1, in which most who need it send UTF-8
        name = name.encode("latin-1").decode("utf-8")
    return name.replace("\\", "/").rpartition("/")[2]


def safe_name(name: str) -> str:
    """A file's name out of one that others chose: no path, not hidden, not too long; empty where nothing is left."""
    plain = unicodedata.normalize("NFC", name.replace("\\", "/").rpartition("/")[2])
    plain = _UNSAFE.sub("_", plain).strip(" ._")
    if _RESERVED.match(plain):
        plain = f"_{plain}"
    path = PurePosixPath(plain)
    ending = path.suffix if len(path.suffix) <= 12 else ""
    while len(plain.encode()) > _LONGEST:
        plain = plain.removesuffix(ending)[:-1] + ending
    return plain

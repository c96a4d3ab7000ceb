"""Files written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from agent.errors import StorageError


def write_file(path: Path, text: str) -> None:
    """Writes a file that a user named or that only its user may read; a link in its place stays one.

    Raises:
        StorageError: It cannot be written; what stood there before stands there still.
    """
    with whole_file(path) as file:
        file.write(text.encode("utf-8", "surrogatepass"))


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to be written in pieces: in its place when the block ends well, else nowhere.

    Raises:
        StorageError: It cannot be written; what stood there before stands there still.
    """
    target = path.resolve()
    draft = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.tmp")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written: {error.strerror}.", remedy="Name another file, or make its folder writable."
        ) from error
    finally:
        draft.unlink(missing_ok=True)

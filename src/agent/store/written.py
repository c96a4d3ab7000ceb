"""Files written whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from agent.errors import StorageError


def write_file(path: Path, text: str) -> None:
    """Writes a file that a user named or that only its user may read; a link in its place stays one.

    Raises:
        StorageError: It cannot be written; what stood there before stands there still.
    """
    target = path.resolve()
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8", "surrogatepass"))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise StorageError(
            f"{path} cannot be written: {error.strerror}.", remedy="Name another file, or make its folder writable."
        ) from error

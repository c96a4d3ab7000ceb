"""alita's own data files, which several processes share: small JSON files and SQLite databases."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from mcp_tools.atomic import private_folder, write_whole
from mcp_tools.small_files import RECORD, json_of, read_small

if TYPE_CHECKING:
    import sqlite3

LOCK_SECONDS = 30.0

T = TypeVar("T")


class JsonFile(Generic[T]):
    """A JSON file that only its user can read.

    Example:
        >>> file = JsonFile(folder / "allowed.json", dict[str, list[str]], empty={"packages": []})
        >>> with file.changing() as content:
        ...     content["packages"].append("scipy")

    Args:
        path: The file.
        form: Type of the content, which pydantic validates.
        empty: Content to use if the file does not exist, as JSON.
    """

    def __init__(self, path: Path, form: type[T], *, empty: Mapping[str, Any]) -> None:
        from pydantic import TypeAdapter

        self.path = path
        self._form = TypeAdapter(form)
        self._empty = empty

    def read(self) -> T:
        """Return the content.

        Raises:
            OSError: The file cannot be read.
            ValueError: The file is damaged.
        """
        from pydantic import ValidationError

        try:
            return self._form.validate_python(json_of(read_small(self.path, RECORD)))
        except (FileNotFoundError, NotADirectoryError):
            return self._form.validate_python(self._empty)
        except ValidationError as error:
            flaw = error.errors()[0]
            raise ValueError(f"{'.'.join(map(str, flaw['loc'])) or 'the whole file'}: {flaw['msg']}") from None

    def remembered(self) -> T:
        """Return the content, or the empty content if the file is unreadable or damaged."""
        with contextlib.suppress(OSError, ValueError):
            return self.read()
        return self._form.validate_python(self._empty)

    @contextlib.contextmanager
    def changing(self) -> Iterator[T]:
        """Yield the content to modify, and write it back if the block succeeds. A damaged file is first renamed.

        Raises:
            OSError: The file cannot be read or written, or stayed locked for `LOCK_SECONDS` (`filelock.Timeout`).
        """
        from filelock import FileLock

        private_folder(self.path.parent)
        with FileLock(self.path.with_suffix(".lock"), timeout=LOCK_SECONDS, mode=0o600):
            try:
                value = self.read()
            except ValueError:
                label = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
                self.path.rename(self.path.with_name(f"{self.path.stem}.damaged-{label}{self.path.suffix}"))
                value = self.remembered()
            yield value
            write_whole(self.path, json.dumps(self._form.dump_python(value, by_alias=True), indent=2).encode() + b"\n")


def open_database(
    path: Path | None, *, busy: float, journal: Literal["WAL", "TRUNCATE", ""] = "", is_derived: bool = False
) -> sqlite3.Connection:
    """Open a database that only its user can read, creating it if necessary. Without a path, it is in memory.

    Args:
        path: The file. Its folder must not come from someone else, because SQLite also applies journal files in it.
        busy: Seconds to wait for another process.
        journal: `TRUNCATE` keeps all data in the main file between statements. Empty keeps the file's journal mode.
        is_derived: True for data that can be rebuilt. Writes are faster, but a power failure may damage the file.

    Raises:
        OSError: The file cannot be created, or is a link.
        sqlite3.Error: The file cannot be opened, or is damaged.
    """
    if path is not None:
        private_folder(path.parent)
        if not path.exists():  # SQLite creates its other files with the same mode
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    import sqlite3

    target = ":memory:" if path is None else path
    database = sqlite3.connect(target, timeout=busy, isolation_level=None, check_same_thread=False)
    try:
        if journal:
            database.execute(f"PRAGMA journal_mode = {journal}")
        if is_derived:
            database.execute("PRAGMA synchronous = OFF")
    except BaseException:
        database.close()
        raise
    return database

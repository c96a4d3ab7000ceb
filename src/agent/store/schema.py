"""The versions of the store's schema, and the SQL statements that create them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agent.errors import StorageError
from mcp_tools.text import one_line

SCHEMA = "alita"
"""Name of the schema in PostgreSQL. Some hosting providers expose the default schema `public` through a web API."""
REVISIONS: tuple[str, ...] = ("0001",)
"""All schema versions, newest last."""
SCRIPTS = Path(__file__).parent / "migrations"


def script(revision: str, dialect: str) -> list[str]:
    """Return the statements that upgrade the schema to a version from the previous one."""
    parts = [SCRIPTS / f"{revision}.sql", SCRIPTS / f"{revision}_{dialect}.sql"]
    text = "\n".join(part.read_text() for part in parts if part.exists())
    code = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    code = code.replace("BIGINT", "INTEGER") if dialect == "sqlite" else code  # SQLite only accepts INTEGER as a row id
    return [statement.strip() for statement in code.split(";\n") if statement.strip()]


def require_known(place: str, revision: str | None, tables: Sequence[str]) -> bool:
    """Return True if a database has to be created or migrated.

    Raises:
        StorageError: The database belongs to another program, or was written by a newer version of alita.
    """
    if revision is None and tables:
        raise StorageError(
            f"{place} is not alita's store: it contains the {'table' if len(tables) == 1 else 'tables'} "
            f"{one_line(', '.join(tables), 100)}.",
            remedy="Move the database away, or set ALITA_DATABASE_URL to another one.",
        )
    if revision is not None and revision not in REVISIONS:
        raise StorageError(
            f"A newer version of alita created the store {place}: its version is {one_line(revision, 40)}, but "
            "this alita "
            f"knows {REVISIONS[-1]}.",
            remedy="Use the newer version, or set ALITA_DATABASE_URL to another database.",
        )
    return revision != REVISIONS[-1]

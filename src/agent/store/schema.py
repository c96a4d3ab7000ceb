"""Versions of the store's schema, and the statements that make them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agent.errors import StorageError
from mcp_tools.text import one_line

SCHEMA = "alita"
"""The schema in PostgreSQL. The usual one, `public`, is open to the web at some hosts."""
REVISIONS: tuple[str, ...] = ("0001",)
"""Every version that the database has had, the newest last."""
SCRIPTS = Path(__file__).parent / "migrations"


def script(revision: str, dialect: str) -> list[str]:
    """The statements that make a version from the one before it."""
    parts = [SCRIPTS / f"{revision}.sql", SCRIPTS / f"{revision}_{dialect}.sql"]
    text = "\n".join(part.read_text() for part in parts if part.exists())
    code = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    code = code.replace("BIGINT", "INTEGER") if dialect == "sqlite" else code  # which alone can be its number of a row
    return [statement.strip() for statement in code.split(";\n") if statement.strip()]


def require_known(place: str, revision: str | None, tables: Sequence[str]) -> bool:
    """Returns True if a database has to be made or migrated.

    Raises:
        StorageError: It is somebody else's, or a later version of alita made it.
    """
    if revision is None and tables:
        raise StorageError(
            f"{place} is not alita's store: it has the {'table' if len(tables) == 1 else 'tables'} "
            f"{one_line(', '.join(tables), 100)}.",
            remedy="Move it away, or name another database in ALITA_DATABASE_URL.",
        )
    if revision is not None and revision not in REVISIONS:
        raise StorageError(
            f"A later version of alita made the store {place}: its version is {one_line(revision, 40)}, and this alita "
            f"knows {REVISIONS[-1]}.",
            remedy="Use that version, or name another database in ALITA_DATABASE_URL.",
        )
    return revision != REVISIONS[-1]

"""Migrates the store with Alembic, one process at a time."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from agent.store import schema
from agent.store.schema import SCHEMA, require_known

_LOCK = 0x616C697461
"""Key of alita's advisory lock in PostgreSQL."""


def _upgrade(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(schema.SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def migrate_sqlite(path: Path) -> None:
    """Migrate a file. If two processes try, the second one waits and finds the file migrated.

    Raises:
        sqlite3.Error: The file cannot be written and is unchanged.
    """
    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool)

    @event.listens_for(engine, "connect")
    def _plain(connection: object, _: object) -> None:
        connection.isolation_level = None  # type: ignore[attr-defined]  # the driver must not begin transactions itself

    @event.listens_for(engine, "begin")
    def _alone(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    try:
        with engine.begin() as connection:
            _upgrade(connection)
    except DBAPIError as error:
        raise error.orig or error from None


def migrate_postgres(engine: Engine, place: str) -> None:
    """Create or migrate the schema `alita`. If two processes try, the second one waits and finds the schema migrated.

    Raises:
        StorageError: The schema belongs to another program, or is from a newer version of alita.
    """
    with engine.begin() as connection:
        if not _is_old(connection, place):
            return
    with engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        if _is_old(connection, place):
            connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            _upgrade(connection)


def _is_old(connection: Connection, place: str) -> bool:
    tables = inspect(connection).get_table_names(schema=SCHEMA)
    revision = None
    if "alembic_version" in tables:
        revision = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return require_known(f"{place} (schema {SCHEMA})", revision, tables)

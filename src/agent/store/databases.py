"""The store's database: SQLite in the user's data folder, or PostgreSQL at `database_url`.

Statements use SQL that both databases understand, with named parameters. SQLite is used without SQLAlchemy, because
importing SQLAlchemy takes longer than all store accesses of a question.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from agent.errors import SettingsError, StorageError
from agent.store import schema
from agent.store.schema import SCHEMA, require_known, script
from agent.store.signature import Signer
from mcp_tools.data_files import open_database
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

    from agent.configuration.settings import Settings

FILE = "alita.sqlite"
_BUSY_SECONDS = 10.0
_CONNECT_SECONDS = 5
_MIN_FREE_BYTES = 100_000  # the disk is considered full if less than this is free
_OF_FILE = (
    "Make the file and its folder writable, free some space, or move the file away. "
    "Runs are then indexed again from their folders."
)
Values = Mapping[str, object]
Row = Sequence[Any]


class Database(Protocol):
    """An open database with the newest schema. It can be shared between threads."""

    place: str
    """The path of the file, or the database URL without its password; shown in messages."""
    dialect: str

    def rows(self, statement: str, values: Values | Sequence[Values] = ()) -> Sequence[Row]:
        """Execute a statement and return its rows. If `values` is a list, the statement is executed once per item.

        Raises:
            StorageError: The database cannot be used.
        """
        ...

    def change(self) -> AbstractContextManager[None]:
        """Run the statements in the `with` block as one transaction. A nested `change` joins the outer transaction."""
        ...

    def close(self) -> None:
        """Close the database."""
        ...


@contextmanager
def open_store(settings: Settings) -> Iterator[Database]:
    """Open the store, creating or migrating it if necessary.

    Raises:
        SettingsError: `database_url` is not a PostgreSQL URL.
        StorageError: The store is unreachable or damaged, has a newer schema, or belongs to another program.
    """
    if settings.database_url is not None:
        yield _postgres(settings.database_url.get_secret_value())
        return
    with open_file(settings.data_dir / FILE) as database:
        yield database


@contextmanager
def open_file(path: Path) -> Iterator[Database]:
    """Open the store in a file, creating or migrating it if necessary.

    Raises:
        StorageError: The file is damaged, has a newer schema, or belongs to another program.
    """
    with _OPENING:
        held = _HELD.get(path)
    if held is not None and held.pid == os.getpid():
        yield held
        return
    database = Sqlite(path)
    try:
        yield database
    finally:
        database.close()


def hold_store(settings: Settings) -> Callable[[], None]:
    """Keep the store open between uses in this process, because closing it waits for the disk.

    Returns:
        A function that releases the store. The last release closes it.

    Raises:
        StorageError: The store cannot be used.
    """
    path = settings.data_dir / FILE
    with _OPENING:
        held = _HELD.get(path)
        if held is None or held.pid != os.getpid():
            held = _HELD[path] = Sqlite(path)
        held.holders += 1
    return functools.partial(_let_go, held)


def _let_go(held: Sqlite) -> None:
    with _OPENING:
        held.holders -= 1
        if not held.holders and _HELD.get(held.path) is held:
            del _HELD[held.path]
            held.close()


_HELD: dict[Path, Sqlite] = {}
_OPENING = threading.Lock()


def has_store(settings: Settings) -> bool:
    """Return False if nothing has ever been stored."""
    return settings.database_url is not None or (settings.data_dir / FILE).exists()


def signer_of(settings: Settings) -> Signer | None:
    """Return the signer of records; None for a shared database, which is protected by its password."""
    return None if settings.database_url is not None else Signer(settings.data_dir)


def place_of(settings: Settings) -> str:
    """Return the path of the store, or its URL without the password, as printed by `alita runs path`."""
    if settings.database_url is None:
        return str(settings.data_dir / FILE)
    return _shown(address_of(settings.database_url.get_secret_value()))


def _shown(address: URL) -> str:
    return address.set(drivername="postgresql").render_as_string(hide_password=True)


def storable(value: object) -> object:
    """Return a value that every database accepts. In strings, characters that UTF-8 cannot encode are replaced."""
    return value.replace("\0", "").encode("utf-8", "replace").decode() if isinstance(value, str) else value


class Sqlite:
    """The SQLite file in the user's data folder. Several processes can use it at the same time."""

    dialect = "sqlite"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.place = str(path)
        self.pid = os.getpid()
        """Id of the process that opened the connections. A forked process must open its own."""
        self.holders = 0
        self._threads = threading.RLock()
        with self._as_storage_errors():
            self._database = open_database(path, busy=_BUSY_SECONDS)
        try:
            with self._as_storage_errors():
                self._database.execute("PRAGMA synchronous = NORMAL")
                if self._is_old():
                    self._bring_up_to_date()
        except BaseException:
            self._database.close()
            raise

    def _is_old(self) -> bool:
        revision, tables = None, []
        try:
            revision = self._database.execute("SELECT version_num FROM alembic_version").fetchone()
        except sqlite3.OperationalError as error:
            if "no such table" not in str(error):
                raise
            tables = [name for (name,) in self._database.execute("SELECT name FROM sqlite_master")]
        return require_known(self.place, revision and revision[0], tables)

    def _bring_up_to_date(self) -> None:
        """Migrate the file, or create the schema in a new file without Alembic, which is slow to import."""
        self._database.execute("PRAGMA journal_mode = WAL")
        with self.change():
            if not self._is_old():
                return
            if not self._database.execute("SELECT 1 FROM sqlite_master").fetchone():
                for revision in schema.REVISIONS:
                    for statement in script(revision, self.dialect):
                        self._database.execute(statement)
                self._database.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)")
                self._database.execute("INSERT INTO alembic_version VALUES (?)", (schema.REVISIONS[-1],))
                return
        from agent.store.migrating import migrate_sqlite

        migrate_sqlite(self.path)

    @contextmanager
    def _as_storage_errors(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise _unusable(self.place, self._reason(error), _OF_FILE) from None

    def _reason(self, error: Exception) -> str:
        """Return the reason for an error. SQLite reports a full disk as an I/O error if its log index cannot grow."""
        with contextlib.suppress(OSError):
            if "I/O" in str(error) and shutil.disk_usage(self.path.parent).free < _MIN_FREE_BYTES:
                return f"the disk is full ({error})"
        return str(error)

    def rows(self, statement: str, values: Values | Sequence[Values] = ()) -> Sequence[Row]:
        """See `Database`."""
        with self._threads, self._as_storage_errors():
            if isinstance(values, Mapping) or not values:
                return self._database.execute(statement, values).fetchall()
            self._database.executemany(statement, values)
            return []

    @contextmanager
    def change(self) -> Iterator[None]:
        """See `Database`."""
        with self._threads:
            if self._database.in_transaction:
                yield
                return
            self.rows("BEGIN IMMEDIATE")
            try:
                yield
                self.rows("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._database.rollback()
                raise

    def close(self) -> None:
        """See `Database`."""
        self._database.close()


def address_of(url: str) -> URL:
    """Return a PostgreSQL URL with its driver.

    Raises:
        SettingsError: The URL is not for PostgreSQL. The message does not quote the URL, which may contain a password.
    """
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    remedy = "For example: postgresql://USER:PASSWORD@HOST:5432/DATABASE"
    try:
        address = make_url(url)
    except (ArgumentError, ValueError):
        raise SettingsError("ALITA_DATABASE_URL is not a valid database URL.", remedy=remedy) from None
    if address.drivername not in ("postgres", "postgresql", "postgresql+psycopg"):
        name = one_line(address.drivername, 40)
        raise SettingsError(f"ALITA_DATABASE_URL names {name}, but only postgresql is supported.", remedy=remedy)
    return address.set(drivername="postgresql+psycopg")


_CONNECTED: dict[str, Postgres] = {}
_CONNECTING = threading.Lock()


def _postgres(url: str) -> Postgres:
    with _CONNECTING:
        if url not in _CONNECTED:
            _CONNECTED[url] = Postgres(address_of(url))
        return _CONNECTED[url]


@atexit.register
def disconnect() -> None:
    """Close this process's connections to PostgreSQL."""
    while _CONNECTED:
        _CONNECTED.popitem()[1].close()


class Postgres:
    """A PostgreSQL database, shared by several machines. Connections stay open until the process exits."""

    dialect = "postgresql"

    def __init__(self, address: URL) -> None:
        self._address = address
        self.place = _shown(address)
        self._own = threading.local()
        with self._as_storage_errors():
            self._engine = self._connected()
        from agent.store.migrating import migrate_postgres

        try:
            with self._as_storage_errors():
                migrate_postgres(self._engine, self.place)
        except BaseException:
            self.close()
            raise

    def _connected(self) -> Engine:
        from sqlalchemy import create_engine, event

        try:
            import psycopg  # noqa: F401
        except ImportError:
            raise StorageError(
                "The package for PostgreSQL is not installed.", remedy="Install it with pip install 'alita[postgres]'."
            ) from None
        engine = create_engine(
            self._address,
            pool_size=2,
            pool_pre_ping=True,
            # a pooler may use a different connection for each transaction, so nothing is prepared or set
            connect_args={"connect_timeout": _CONNECT_SECONDS, "prepare_threshold": None},
        )

        @event.listens_for(engine, "begin")
        def _choose(connection: Connection) -> None:
            connection.exec_driver_sql(f"SET LOCAL search_path TO {SCHEMA}")

        return engine

    @contextmanager
    def _as_storage_errors(self) -> Iterator[None]:
        from sqlalchemy.exc import SQLAlchemyError

        try:
            yield
        except SQLAlchemyError as error:
            reason = str(getattr(error, "orig", None) or error)
            if password := self._address.password:
                reason = reason.replace(str(password), "***")
            raise _unusable(self.place, reason, "Start the server, or correct ALITA_DATABASE_URL.") from None

    def rows(self, statement: str, values: Values | Sequence[Values] = ()) -> Sequence[Row]:
        """See `Database`."""
        from sqlalchemy import text

        with self.change(), self._as_storage_errors():
            result = self._own.connection.execute(text(statement), values or {})
            return result.fetchall() if result.returns_rows else []

    @contextmanager
    def change(self) -> Iterator[None]:
        """See `Database`."""
        if getattr(self._own, "connection", None) is not None:
            yield
            return
        with self._as_storage_errors(), self._engine.begin() as connection:
            self._own.connection = connection
            try:
                yield
            finally:
                self._own.connection = None

    def close(self) -> None:
        """See `Database`."""
        self._engine.dispose()


def _unusable(place: str, reason: str, remedy: str) -> StorageError:
    return StorageError(f"The store {place} cannot be used: {one_line(reason, 300).rstrip('.')}.", remedy=remedy)

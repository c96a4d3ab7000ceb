"""A store that cannot be used as it is: a clear message each, and nothing is lost."""

from __future__ import annotations

import resource
import shutil
import signal
import sqlite3
import threading
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent.configuration.settings import Settings
from agent.configuration.settings_sources import read_settings
from agent.errors import AlitaError, SettingsError, StorageError
from agent.store import databases as database
from agent.store import schema
from agent.store.databases import FILE, Sqlite, open_store
from agent.store.run_index import Notes, index_run
from agent.store.schema import script
from support.command import Terminal
from support.fibonacci import ANSWER, QUESTION, STORY, write_script
from support.kept_runs import kept, newest
from support.postgres import PASSWORD, PostgresServer


def raw(settings: Settings, *statements: str) -> None:
    """Changes the database without alita."""
    if settings.database_url is None:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        other = sqlite3.connect(settings.data_dir / FILE)
        for statement in statements:
            other.execute(statement.replace("alita.", ""))
        other.commit()
        other.close()
        return
    from sqlalchemy import create_engine

    engine = create_engine(database.address_of(settings.database_url.get_secret_value()))
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    engine.dispose()


def problem_of(settings: Settings) -> AlitaError:
    with pytest.raises(AlitaError) as raised, open_store(settings):
        pass
    assert PASSWORD not in str(raised.value)
    return raised.value


def test_somebody_elses_database_is_left_alone(settings):
    made = () if settings.database_url is None else ("CREATE SCHEMA alita",)
    raw(settings, *made, "CREATE TABLE alita.cookies (host TEXT)")
    problem = problem_of(settings)
    assert "is not alita's store: it contains the table cookies" in problem.message
    assert "ALITA_DATABASE_URL" in problem.remedy
    raw(settings, "INSERT INTO alita.cookies VALUES ('still there')")


def test_a_store_of_a_later_version_is_left_alone(settings):
    with open_store(settings):
        pass
    database.disconnect()
    raw(settings, "UPDATE alita.alembic_version SET version_num = '9999'")
    assert "A newer version of alita created the store" in problem_of(settings).message
    assert "its version is 9999" in problem_of(settings).message


def next_version(folder: Path, statements: str) -> Path:
    """Migration scripts of a newer alita, with one more version of the schema."""
    scripts = folder / "migrations"
    shutil.copytree(schema.SCRIPTS, scripts, ignore=shutil.ignore_patterns("__pycache__"))
    (scripts / "0002.sql").write_text(statements)
    first = (scripts / "versions" / "v0001.py").read_text()
    second = first.replace('"0001"', '"0002"').replace("down_revision = None", 'down_revision = "0001"')
    (scripts / "versions" / "v0002.py").write_text(second)
    return scripts


def test_a_store_of_an_earlier_version_is_migrated_with_what_it_holds(settings, tmp_path, monkeypatch):
    run = kept(settings, "before that", "works")
    assert newest(settings) == [(run.run_id, "answered")]
    database.disconnect()
    scripts = next_version(tmp_path, "CREATE TABLE fresh (number BIGINT NOT NULL PRIMARY KEY);\n")
    monkeypatch.setattr(schema, "SCRIPTS", scripts)
    monkeypatch.setattr(schema, "REVISIONS", ("0001", "0002"))
    with open_store(settings) as store:
        assert store.rows("SELECT * FROM fresh") == []
        assert store.rows("SELECT version_num FROM alembic_version")[0][0] == "0002"
    assert newest(settings) == [(run.run_id, "answered")]
    database.disconnect()
    monkeypatch.undo()
    assert "A newer version of alita created the store" in problem_of(settings).message


def made_by_many(settings: Settings) -> list[Exception]:
    """Open a store six times at once. Returns the errors."""
    address = settings.database_url and database.address_of(settings.database_url.get_secret_value())
    together, failures = threading.Barrier(6), list[Exception]()

    def make() -> None:
        together.wait()
        try:
            (database.Postgres(address) if address else Sqlite(settings.data_dir / FILE)).close()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=make) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


def test_of_many_that_find_an_earlier_version_one_migrates_it(settings, tmp_path, monkeypatch):
    run = kept(settings, "before that", "works")
    assert newest(settings) == [(run.run_id, "answered")]
    database.disconnect()
    scripts = next_version(tmp_path, "CREATE TABLE fresh (number BIGINT NOT NULL PRIMARY KEY);\n")
    monkeypatch.setattr(schema, "SCRIPTS", scripts)
    monkeypatch.setattr(schema, "REVISIONS", ("0001", "0002"))
    assert made_by_many(settings) == []
    assert newest(settings) == [(run.run_id, "answered")]


def test_a_migration_that_fails_leaves_the_store_as_it_was(settings, tmp_path, monkeypatch):
    run = kept(settings, "before that", "works")
    assert newest(settings) == [(run.run_id, "answered")]
    database.disconnect()
    scripts = next_version(tmp_path, "CREATE TABLE fresh (number BIGINT);\nINSERT INTO nowhere VALUES (1);\n")
    with monkeypatch.context() as newer:
        newer.setattr(schema, "SCRIPTS", scripts)
        newer.setattr(schema, "REVISIONS", ("0001", "0002"))
        assert "cannot be used" in problem_of(settings).message
    assert newest(settings) == [(run.run_id, "answered")], "the earlier version still uses it"


def test_a_new_store_is_made_once_by_many(settings):
    assert made_by_many(settings) == []
    run = kept(settings, "after that", "works")
    assert newest(settings) == [(run.run_id, "answered")]


def test_sqlite_is_made_as_alembic_makes_it(settings, tmp_path):
    """Both ways of creating a store give the same schema."""
    if settings.database_url is not None:
        return
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    from agent.store import migrating

    with open_store(settings):
        pass
    by_alembic = tmp_path / "other.sqlite"
    migrating.migrate_sqlite(by_alembic)
    schemas = []
    for path in (settings.data_dir / FILE, by_alembic):
        other = sqlite3.connect(path)
        schemas.append(sorted(other.execute("SELECT name, sql FROM sqlite_master WHERE name != 'alembic_version'")))
        schemas.append(other.execute("SELECT version_num FROM alembic_version").fetchall())
        other.close()
    assert schemas[:2] == schemas[2:]
    folder = Config()
    folder.set_main_option("script_location", str(schema.SCRIPTS))
    known = [one.revision for one in ScriptDirectory.from_config(folder).walk_revisions()]
    assert tuple(reversed(known)) == schema.REVISIONS
    assert all(script(revision, "postgresql") for revision in known)


@contextmanager
def full_disk(settings: Settings):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def damaged(settings: Settings):
    path = settings.data_dir / FILE
    whole = path.read_bytes()
    path.write_bytes(b"this is no database, but it is long enough to be one".ljust(8192, b"."))
    yield
    path.write_bytes(whole)


@contextmanager
def linked(settings: Settings):
    path, elsewhere = settings.data_dir / FILE, settings.data_dir / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(settings.data_dir / "nowhere")
    yield
    path.unlink()
    elsewhere.rename(path)


@contextmanager
def locked(settings: Settings):
    other = sqlite3.connect(settings.data_dir / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield
    other.close()


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        pytest.param(full_disk, "disk", id="full"),
        pytest.param(damaged, "file is not a database", id="damaged"),
        pytest.param(linked, "cannot be used", id="a link to nowhere"),
        pytest.param(locked, "database is locked", id="held by another"),
    ],
)
def test_a_run_that_the_file_does_not_take_is_caught_up_later(
    monkeypatch, trouble: Callable[[Settings], object], message: str
):
    settings = read_settings({})
    first = kept(settings, "before the trouble", "yes")
    index_run(settings)
    second = kept(settings, "in the trouble", "yes", steps=("x" * 9000,))
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.05)
    with trouble(settings):
        with pytest.raises(StorageError, match=message) as raised:
            index_run(settings)
        assert str(settings.data_dir / FILE) in raised.value.message
    assert Notes(settings).all() == [second.run_id]
    assert newest(settings) == [(second.run_id, "answered"), (first.run_id, "answered")]


@pytest.mark.parametrize(
    ("url", "message"),
    [
        pytest.param("mysql://me:pass-word:42@host/db", "names mysql, but only postgresql", id="another kind"),
        pytest.param("pass-word:42", "is not a valid database URL", id="no address"),
        pytest.param("postgresql://me:pass-word:42@host:port/db", "is not a valid database URL", id="no port"),
    ],
)
def test_an_address_that_is_none_is_told_without_its_password(monkeypatch, url, message):
    monkeypatch.setenv("ALITA_DATABASE_URL", url)
    problem = problem_of(read_settings({}))
    assert isinstance(problem, SettingsError)
    assert message in problem.message


@pytest.mark.parametrize(
    ("statement", "user", "database_name", "message"),
    [
        pytest.param("", "alita:wrong-pass-word:42", "", "password authentication failed", id="another password"),
        pytest.param("", f"alita:{PASSWORD}", "nowhere", 'database "nowhere" does not exist', id="no such database"),
        pytest.param("", f"guest:{PASSWORD}", "", "permission denied for database", id="may not make the schema"),
        pytest.param(
            "ALTER DATABASE {name} CONNECTION LIMIT 0",
            f"guest:{PASSWORD}",
            "",
            "too many connections for database",
            id="no connection left",
        ),
    ],
)
def test_a_server_that_refuses_is_named_with_its_reason(
    monkeypatch, postgres: PostgresServer, statement, user, database_name, message
):
    name = postgres.database().rpartition("/")[2]
    postgres.sql(
        "DO $$ BEGIN IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'guest') THEN"
        f" CREATE ROLE guest LOGIN PASSWORD '{PASSWORD}'; END IF; END $$"
    )
    if statement:
        postgres.sql(statement.format(name=name))
    account, _, password = user.partition(":")
    address = f"127.0.0.1:{postgres.port}/{database_name or name}"
    monkeypatch.setenv("ALITA_DATABASE_URL", f"postgresql://{account}:{password.replace(':', '%3A')}@{address}")
    problem = problem_of(read_settings({}))
    assert isinstance(problem, StorageError)
    assert f"postgresql://{account}:***@{address}" in problem.message
    assert message in problem.message
    assert "pass-word" not in problem.message
    assert problem.remedy == "Start the server, or correct ALITA_DATABASE_URL."


def test_a_disk_of_the_server_that_is_full_loses_no_run(settings):
    """The server reports it in the middle of a transaction."""
    if settings.database_url is None:
        return
    run = kept(settings, "before the trouble", "yes")
    assert newest(settings) == [(run.run_id, "answered")]
    full = (
        "CREATE FUNCTION alita.no_space() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION"
        " 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$"
    )
    raw(settings, full, "CREATE TRIGGER no_space BEFORE INSERT ON alita.steps EXECUTE FUNCTION alita.no_space()")
    second = kept(settings, "in the trouble", "yes", steps=("one",))
    with pytest.raises(StorageError, match="No space left on device"):
        index_run(settings)
    assert Notes(settings).all() == [second.run_id]
    raw(settings, "DROP TRIGGER no_space ON alita.steps")
    assert newest(settings) == [(second.run_id, "answered"), (run.run_id, "answered")]


class Shell(Terminal):
    def asks(self, **variables: str):
        script = write_script(self.here / "script.jsonl", STORY)
        return self.call("--model", script, "--no-cache", QUESTION, **variables)


def test_a_question_is_answered_while_the_server_is_down_and_kept_for_later(tmp_path, postgres: PostgresServer):
    shell, address = Shell(tmp_path), postgres.database()
    assert shell.asks(ALITA_DATABASE_URL=address).code == 0
    database.disconnect()
    postgres.stop()
    try:
        ended = shell.asks(ALITA_DATABASE_URL=address)
        assert (ended.code, ended.out.strip()) == (0, ANSWER)
        assert ended.err.count("the store is not available and will index this run later") == 1
        assert "Connection refused" in ended.err or "cannot be used" in ended.err
        listed = shell.call("runs", "list", ALITA_DATABASE_URL=address)
        assert (listed.code, listed.out) == (1, "")
        assert "Start the server, or correct ALITA_DATABASE_URL" in listed.err
        assert PASSWORD not in ended.err + listed.err
        assert "***" in listed.err
    finally:
        postgres.start()
    listed = shell.call("runs", "list", ALITA_DATABASE_URL=address)
    assert (listed.code, len(listed.out.splitlines())) == (0, 2)
    database.disconnect()


def test_nothing_shows_the_password(tmp_path, postgres: PostgresServer):
    shell, address = Shell(tmp_path), postgres.database()
    shown = [shell.call(*words, ALITA_DATABASE_URL=address) for words in (("runs", "path"), ("config", "show"))]
    assert shown[0].out.strip() == address.replace("pass-word%3A42", "***")
    written = write_script(shell.here / "script.jsonl", STORY)
    shown.append(shell.call("--model", written, "-v", f"{QUESTION} {PASSWORD}", ALITA_DATABASE_URL=address))
    database.disconnect()
    assert PASSWORD not in "".join(one.out + one.err for one in shown[:2])
    assert "pass-word%3A42" not in "".join(one.out + one.err for one in shown)
    assert (
        postgres.sql("SELECT count(*) FROM alita.runs WHERE record LIKE '%pass-word:42%'", address.rpartition("/")[2])
        == "0"
    )


@pytest.mark.parametrize("place", ["alita.toml", ".env"])
def test_a_project_cannot_choose_the_store(tmp_path, place):
    shell = Terminal(tmp_path)
    line = 'database_url = "postgresql://x/y"' if place == "alita.toml" else "ALITA_DATABASE_URL=postgresql://x/y"
    (shell.here / place).write_text(line)
    ended = shell.call("runs", "list")
    assert ended.code == 2
    assert "which a project may not do: it would move alita's data" in ended.err


def test_a_read_only_store_can_be_read(tmp_path, postgres: PostgresServer):
    shell, address = Shell(tmp_path), postgres.database()
    name = address.rpartition("/")[2]
    assert shell.asks(ALITA_DATABASE_URL=address).code == 0
    database.disconnect()
    postgres.sql(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    ended = shell.asks(ALITA_DATABASE_URL=address)
    assert (ended.code, ended.out.strip()) == (0, ANSWER)
    assert "read-only transaction" in ended.err
    listed = shell.call("runs", "list", ALITA_DATABASE_URL=address)
    assert (listed.code, len(listed.out.splitlines())) == (0, 1)
    assert "Without the newest runs" in listed.err
    database.disconnect()

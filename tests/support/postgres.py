"""A real PostgreSQL server with its own folder, on a local port, run by an unprivileged user."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self

USER, PASSWORD = "alita", "pass-word:42"
_UNPRIVILEGED = "nobody"


def program(name: str) -> str | None:
    """Return the path of a PostgreSQL program. Debian installs some outside the usual folders."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return shutil.which(name) or next((str(f / name) for f in folders if (f / name).exists()), None)


class PostgresServer:
    """PostgreSQL server that runs inside a `with` block."""

    def __init__(self) -> None:
        assert program("initdb"), "tests of the store start a PostgreSQL server: apt-get install postgresql"
        self.folder = Path(tempfile.mkdtemp(prefix="pg-"))
        self._as_other = {"user": _UNPRIVILEGED, "group": "nogroup"} if os.getuid() == 0 else {}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._server: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        data, secret = self.folder / "data", self.folder / "password"
        secret.write_text(PASSWORD)
        if self._as_other:
            for path in (self.folder, secret):
                shutil.chown(path, _UNPRIVILEGED, "nogroup")
        self._run("initdb", "-D", data, "-U", USER, "-A", "scram-sha-256", "--pwfile", secret, "-N", "-E", "UTF8")
        self.start()
        return self

    def start(self) -> None:
        """Start or restart the server."""
        options = [f"-cport={self.port}", "-clisten_addresses=127.0.0.1", f"-cunix_socket_directories={self.folder}"]
        options += ["-cfsync=off", "-cshared_buffers=16MB", "-cmax_connections=40"]
        log = (self.folder / "log").open("ab")
        command = [str(program("postgres")), "-D", str(self.folder / "data"), *options]
        self._server = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, **self._as_other)
        log.close()
        until = time.monotonic() + 30
        while subprocess.run([str(program("pg_isready")), "-q", "-h127.0.0.1", f"-p{self.port}"]).returncode:
            assert time.monotonic() < until, (self.folder / "log").read_text()
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop the server immediately, which breaks connections."""
        assert self._server is not None
        self._server.send_signal(3)  # SIGQUIT: without waiting for clients
        self._server.wait(20)

    def database(self) -> str:
        """Create an empty database, and return its address."""
        name = f"t{secrets.token_hex(6)}"
        self.sql(f"CREATE DATABASE {name}")
        return self.address(name)

    def address(self, database: str) -> str:
        """Return the address of a database, with user and password."""
        return f"postgresql://{USER}:{PASSWORD.replace(':', '%3A')}@127.0.0.1:{self.port}/{database}"

    def sql(self, statement: str, database: str = "postgres") -> str:
        """Run a statement with psql, and return the rows as text."""
        options = ["-h127.0.0.1", f"-p{self.port}", "-U", USER, "-d", database, "-XAtqc", statement]
        done = subprocess.run(
            [str(program("psql")), *options], env={"PGPASSWORD": PASSWORD}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def __exit__(self, *_: object) -> None:
        if self._server is not None and self._server.poll() is None:
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, name: str, *arguments: object) -> None:
        command = [str(program(name)), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, **self._as_other)
        assert done.returncode == 0, done.stderr

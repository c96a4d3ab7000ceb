"""The environment of a warm interpreter: what its calls can read and import. Each has an interpreter of its own."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mcp_tools.packages import BASE_PACKAGES, FILE_PACKAGES, installed, needed
from mcp_tools.sandbox import interpreter
from mcp_tools.sandbox.protocol import Job

DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")

VARIABLES = {
    "HOME": "/nonexistent",
    "PATH": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MPLBACKEND": "agg",
    # each further arena of the C library takes 64 MiB of address space, which is what the memory limit counts
    "MALLOC_ARENA_MAX": "2",
}
"""All that stands in the environment of tool code, besides TMPDIR. In a call HOME is its scratch folder."""

_KERNEL = ("/proc", "/sys", "/dev")


class GrantError(Exception):
    """A path that cannot be granted; the message names it and says why."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A file or folder that calls may read, as it is now: once it is another one, so is its environment."""

    path: str
    """As the job names it, absolute."""
    real: str
    """Where its links lead."""
    device: int
    inode: int

    @classmethod
    def of(cls, path: str) -> Grant:
        """What stands at a path at this moment.

        Raises:
            GrantError: Nothing, or nothing that can be granted.
        """
        real = os.path.realpath(path)
        try:
            found = Path(real).stat()
        except (OSError, ValueError):
            raise GrantError(f"the granted path {path!r} does not exist") from None
        folder = stat.S_ISDIR(found.st_mode)
        if not (folder or stat.S_ISREG(found.st_mode)):
            raise GrantError(f"the granted path {path!r} is neither a file nor a folder")
        if any(real == place or real.startswith(f"{place}/") for place in _KERNEL):
            raise GrantError(f"{path!r} cannot be granted: what it shows is the machine, not data")
        if f"{tempfile.gettempdir()}/".startswith(real.rstrip("/") + "/") or real in ("/tmp", "/"):  # noqa: S108
            raise GrantError(
                f"{path!r} cannot be granted: the sandbox keeps its own folders there. Grant the files or folders "
                "in it that the tool needs"
            )
        if not os.access(real, os.R_OK | (os.X_OK if folder else 0)):
            raise GrantError(
                f"the granted path {path!r} cannot be read by the user who runs alita: check its permissions"
            )
        return cls(path, real, found.st_dev, found.st_ino)


@dataclass(frozen=True, slots=True)
class Environment:
    """What calls share: granted paths and packages."""

    read: tuple[Grant, ...] = ()
    packages: tuple[str, ...] = ()
    """Packages as the job names them."""
    live: bool = False
    """Whether it is a session's: packages are imported on demand, and what stands in the folders may change."""

    @classmethod
    def of(cls, job: Job) -> Environment:
        """The environment that a job wants.

        Raises:
            GrantError: A path cannot be granted, or a package is not installed.
        """
        packages = needed(job.packages, (job.source, *job.modules.values()))
        wanted = cls(_grants(job.read), packages)
        for name in wanted.found.missing:
            raise GrantError(f"the package {name!r} is not installed here: pip install {name}")
        return wanted

    @classmethod
    def of_session(cls, read: Iterable[Path]) -> Environment:
        """The environment of a session that may read these paths.

        Raises:
            GrantError: A path cannot be granted.
        """
        return cls(_grants(read), installed(tuple(dict.fromkeys((*BASE_PACKAGES, *FILE_PACKAGES)))), live=True)

    @property
    def found(self) -> interpreter.Packages:
        """The files of the packages."""
        return interpreter.find_packages(self.packages)

    @property
    def paths(self) -> tuple[str, ...]:
        """The granted paths."""
        return tuple(grant.path for grant in self.read)

    @property
    def search_path(self) -> tuple[str, ...]:
        """`sys.path` inside, without the folder of the sandbox's own source."""
        return (*interpreter.library_folders(), *self.found.folders)

    @property
    def readable(self) -> tuple[str, ...]:
        """Every path that calls may read."""
        return (*interpreter.system_paths(), interpreter.inside_source(), *self.found.paths, *self.paths)


def _grants(read: Iterable[Path]) -> tuple[Grant, ...]:
    return tuple(map(Grant.of, sorted({str(Path(path).absolute()) for path in read})))

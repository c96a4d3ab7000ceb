"""The environment of a warm interpreter: what its calls can read and import. Each has a separate interpreter."""

from __future__ import annotations

import compileall
import functools
import os
import stat
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_tools.child import executable
from mcp_tools.packages import BASE_PACKAGES, FILE_PACKAGES, import_name, installed, needed, required
from mcp_tools.sandbox.protocol import Job, Writable

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

_ONLY_NAMED = {"pyarrow", "numexpr", "bottleneck"}
"""pandas imports these if they are installed, which takes time and memory, and changes the types of columns."""
_KERNEL = ("/proc", "/sys", "/dev")


class GrantError(Exception):
    """A path that cannot be granted; the message names it and says why."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A file or folder that calls may read, in its present state; after a change, the environment is another one."""

    path: str
    """As the job names it, absolute."""
    real: str
    """Target of its links."""
    device: int
    inode: int

    @classmethod
    def of(cls, path: str) -> Grant:
        """Return the present file at a path.

        Raises:
            GrantError: There is no file that can be granted.
        """
        try:
            real, found = _opened(path)
        except (OSError, ValueError):
            raise GrantError(f"the granted path {path!r} does not exist") from None
        folder = stat.S_ISDIR(found.st_mode)
        if not (folder or stat.S_ISREG(found.st_mode)):
            raise GrantError(f"the granted path {path!r} is neither a file nor a folder")
        if any(real == place or real.startswith(f"{place}/") for place in _KERNEL):
            raise GrantError(f"{path!r} cannot be granted: it shows the machine, not data")
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
    """Granted paths and packages, which calls share."""

    read: tuple[Grant, ...] = ()
    packages: tuple[str, ...] = ()
    """Packages as the job names them."""
    built: str = ""
    """The folder of a locked environment, which takes the place of the host's packages."""
    write: tuple[Grant, ...] = ()
    """Folders that calls may write into; they begin in the first."""
    rooms: tuple[tuple[int, int], ...] = ()
    """The bytes and entries that each of these may hold."""
    live: bool = False
    """True if it is a session's: packages are imported on demand, and what stands in the folders may change."""

    @classmethod
    def of(cls, job: Job, built: str = "") -> Environment:
        """The environment that a job wants; `built` is the folder of its packages if they do not come with alita.

        Raises:
            GrantError: A path cannot be granted.
        """
        write, rooms = _writable([Writable(job.write)] if job.write is not None else [])
        return cls(_grants(job.read), packages_of(job), built, write=write, rooms=rooms)

    @classmethod
    def of_session(cls, read: Iterable[Path], write: Sequence[Writable] = ()) -> Environment:
        """The environment of a session that may read these paths, and write into folders.

        Raises:
            GrantError: A path cannot be granted.
        """
        packages = installed(tuple(dict.fromkeys((*BASE_PACKAGES, *FILE_PACKAGES))))
        grants, rooms = _writable(write)
        return cls(_grants(read), packages, write=grants, rooms=rooms, live=True)

    @property
    def mounted(self) -> tuple[str, ...]:
        """Paths that calls may read besides the granted ones."""
        return (*system_paths(), inside_source(), *self._packages)

    @property
    def paths(self) -> tuple[str, ...]:
        """The granted paths."""
        return tuple(grant.path for grant in (*self.read, *self.write))

    @property
    def search_path(self) -> tuple[str, ...]:
        """`sys.path` of the interpreter, without the folder of the sandbox's own source."""
        return (*library_folders(), *(() if self.built else self._packages))

    @property
    def strangers(self) -> tuple[str, ...]:
        """Paths that are added to `sys.path` after a call is confined: the standard library tries imports that fail."""
        return (self.built,) if self.built else ()

    @property
    def _packages(self) -> tuple[str, ...]:
        return (self.built,) if self.built else package_folders() if self.packages else ()

    @property
    def readable(self) -> tuple[str, ...]:
        """Every path that calls may read."""
        return (*self.mounted, *self.paths)

    @property
    def absent(self) -> tuple[str, ...]:
        """Packages that are installed next to the named ones, but cannot be imported."""
        own = {name for package in self.packages for name in (package, *required(package))}
        return tuple(sorted(_ONLY_NAMED - {import_name(name).lower() for name in own}))


def packages_of(job: Job) -> tuple[str, ...]:
    """The packages that a job needs."""
    return needed(job.packages, (job.source, *job.modules.values()))


def _opened(path: str) -> tuple[str, os.stat_result]:
    """Resolve a path and stat its target through one descriptor, so that a swapped link cannot pass.

    Raises:
        OSError: There is nothing.
    """
    if not hasattr(os, "O_PATH"):
        return os.path.realpath(path), Path(path).stat()
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        return str(Path(f"/proc/self/fd/{descriptor}").readlink()), os.fstat(descriptor)
    finally:
        os.close(descriptor)


def _grants(read: Iterable[Path]) -> tuple[Grant, ...]:
    return tuple(map(Grant.of, sorted({str(Path(path).absolute()) for path in read})))


def _writable(write: Sequence[Writable]) -> tuple[tuple[Grant, ...], tuple[tuple[int, int], ...]]:
    grants = tuple(Grant.of(str(one.folder.absolute())) for one in write)
    return grants, tuple((one.bytes, one.entries) for one in write)


PRELOADED = (
    "re", "math", "datetime", "itertools", "collections", "functools", "random", "string", "decimal", "fractions",
    "typing", "dataclasses", "operator", "heapq", "bisect", "statistics", "csv", "unicodedata", "copy",
)  # fmt: skip
"""Imported before the first call. Rarer modules cost the calls that import them a few milliseconds, and no others."""

_LIBRARIES = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/share/zoneinfo", "/etc/ld.so.cache", "/etc/mime.types")


@functools.cache
def library_folders() -> tuple[str, ...]:
    """The folders of the standard library: what `sys.path` starts with inside."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    folders = [sysconfig.get_path("stdlib"), f"{sys.base_exec_prefix}/{sys.platlibdir}/{version}"]
    folders += [str(Path(folder) / "lib-dynload") for folder in folders]
    return tuple(folder for folder in dict.fromkeys(folders) if Path(folder).is_dir())


@functools.cache
def system_paths() -> tuple[str, ...]:
    """Return paths that the interpreter reads before its first import."""
    prefix = sys.base_prefix
    own = [executable(), *library_folders(), *([f"{prefix}/lib", f"{prefix}/lib64"] if prefix != "/usr" else [])]
    present = dict.fromkeys(path for path in (*_LIBRARIES, *own) if Path(path).exists())
    return tuple(p for p in present if not any(p.startswith(f"{other}/") for other in present))


@functools.cache
def inside_source() -> str:
    """The folder with the source that runs inside, compiled if its place can be written."""
    folder = Path(__file__).with_name("inside")
    compileall.compile_dir(folder, quiet=2)
    return str(folder)


@functools.cache
def package_folders() -> tuple[str, ...]:
    """Return the folders of packages: calls that need one may harmlessly read all."""
    folders = (path for path in sys.path if Path(path).name in ("site-packages", "dist-packages"))
    return tuple(path for path in dict.fromkeys(folders) if Path(path).is_dir())

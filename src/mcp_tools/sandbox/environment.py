"""The environment of a warm interpreter: the paths and packages that its calls may use."""

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
    # each additional malloc arena reserves 64 MiB of address space, which counts towards RLIMIT_AS
    "MALLOC_ARENA_MAX": "2",
}
"""All environment variables of tool code. During a call, HOME and TMPDIR are the call's scratch folder."""

_ONLY_IF_REQUESTED = {"pyarrow", "numexpr", "bottleneck"}
"""Packages that pandas imports if they are installed, which costs time and memory and changes column types."""
_KERNEL_FOLDERS = ("/proc", "/sys", "/dev")


class GrantError(Exception):
    """A path cannot be granted. The message names it and gives the reason."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A file or folder that calls may use, pinned by its inode. Replacing the file gives a different `Environment`."""

    path: str
    """The absolute path as given in the job."""
    real: str
    """The path after symbolic links are resolved."""
    device: int
    inode: int

    @classmethod
    def of(cls, path: str) -> Grant:
        """Pin the file or folder that is now at a path.

        Raises:
            GrantError: The path does not exist or must not be granted.
        """
        try:
            real, found = _resolve(path)
        except (OSError, ValueError):
            raise GrantError(f"the granted path {path!r} does not exist") from None
        folder = stat.S_ISDIR(found.st_mode)
        if not (folder or stat.S_ISREG(found.st_mode)):
            raise GrantError(f"the granted path {path!r} is neither a file nor a folder")
        if any(real == place or real.startswith(f"{place}/") for place in _KERNEL_FOLDERS):
            raise GrantError(f"{path!r} cannot be granted: it contains information about the machine")
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
    """The paths and packages of an interpreter. Calls with equal environments share an interpreter."""

    read: tuple[Grant, ...] = ()
    packages: tuple[str, ...] = ()
    """Package names as given in the job."""
    built: str = ""
    """The folder of a locked environment, used instead of the host's packages."""
    write: tuple[Grant, ...] = ()
    """Folders that calls may write into. The first one is their working directory."""
    rooms: tuple[tuple[int, int], ...] = ()
    """Limits on bytes and entries for each folder in `write`."""
    live: bool = False
    """True for a session, in which packages are imported on demand and the contents of the folders may change."""

    @classmethod
    def of(cls, job: Job, built: str = "") -> Environment:
        """Return the environment of a job. `built` is the folder of its packages if they do not come with alita.

        Raises:
            GrantError: A path cannot be granted.
        """
        write, rooms = _writable([Writable(job.write)] if job.write is not None else [])
        return cls(_grants(job.read), packages_of(job), built, write=write, rooms=rooms)

    @classmethod
    def of_session(cls, read: Iterable[Path], write: Sequence[Writable] = ()) -> Environment:
        """Return the environment of a session with these paths and folders.

        Raises:
            GrantError: A path cannot be granted.
        """
        packages = installed(tuple(dict.fromkeys((*BASE_PACKAGES, *FILE_PACKAGES))))
        grants, rooms = _writable(write)
        return cls(_grants(read), packages, write=grants, rooms=rooms, live=True)

    @property
    def mounted(self) -> tuple[str, ...]:
        """Paths that every call may read, in addition to the granted ones."""
        return (*system_paths(), inside_source(), *self._packages)

    @property
    def paths(self) -> tuple[str, ...]:
        """All granted paths."""
        return tuple(grant.path for grant in (*self.read, *self.write))

    @property
    def search_path(self) -> tuple[str, ...]:
        """`sys.path` of the interpreter."""
        return (*library_folders(), *(() if self.built else self._packages))

    @property
    def untrusted(self) -> tuple[str, ...]:
        """Package folders that are added to `sys.path` only in confined children.

        The standard library tries optional imports, which could otherwise run package code in the warm interpreter.
        """
        return (self.built,) if self.built else ()

    @property
    def _packages(self) -> tuple[str, ...]:
        return (self.built,) if self.built else package_folders() if self.packages else ()

    @property
    def readable(self) -> tuple[str, ...]:
        """All paths that calls may read."""
        return (*self.mounted, *self.paths)

    @property
    def absent(self) -> tuple[str, ...]:
        """Installed packages that are hidden from imports."""
        own = {name for package in self.packages for name in (package, *required(package))}
        return tuple(sorted(_ONLY_IF_REQUESTED - {import_name(name).lower() for name in own}))


def packages_of(job: Job) -> tuple[str, ...]:
    """Return the packages that a job declares or imports."""
    return needed(job.packages, (job.source, *job.modules.values()))


def _resolve(path: str) -> tuple[str, os.stat_result]:
    """Resolve a path and stat its target through one descriptor, so that a link cannot be swapped in between.

    Raises:
        OSError: The path does not exist.
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
"""Modules to load before the first call. Less common modules cost a few milliseconds in each call that imports them."""

_LIBRARIES = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/share/zoneinfo", "/etc/ld.so.cache", "/etc/mime.types")


@functools.cache
def library_folders() -> tuple[str, ...]:
    """Return the folders of the standard library, which come first in `sys.path` inside the sandbox."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    folders = [sysconfig.get_path("stdlib"), f"{sys.base_exec_prefix}/{sys.platlibdir}/{version}"]
    folders += [str(Path(folder) / "lib-dynload") for folder in folders]
    return tuple(folder for folder in dict.fromkeys(folders) if Path(folder).is_dir())


@functools.cache
def system_paths() -> tuple[str, ...]:
    """Return the paths that the interpreter itself needs: its binary, shared libraries and the standard library."""
    prefix = sys.base_prefix
    own = [executable(), *library_folders(), *([f"{prefix}/lib", f"{prefix}/lib64"] if prefix != "/usr" else [])]
    present = dict.fromkeys(path for path in (*_LIBRARIES, *own) if Path(path).exists())
    return tuple(p for p in present if not any(p.startswith(f"{other}/") for other in present))


@functools.cache
def inside_source() -> str:
    """Return the folder of the code that runs inside, compiling it to bytecode if the folder is writable."""
    folder = Path(__file__).with_name("inside")
    compileall.compile_dir(folder, quiet=2)
    return str(folder)


@functools.cache
def package_folders() -> tuple[str, ...]:
    """Return all site-packages folders. A call that needs one package may read all packages, which is harmless."""
    folders = (path for path in sys.path if Path(path).name in ("site-packages", "dist-packages"))
    return tuple(path for path in dict.fromkeys(folders) if Path(path).is_dir())

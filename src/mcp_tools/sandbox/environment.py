"""The environment of a warm interpreter: what its calls can read and import. Each has an interpreter of its own."""

from __future__ import annotations

import compileall
import functools
import importlib.util
import os
import re
import stat
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mcp_tools.child import executable
from mcp_tools.packages import BASE_PACKAGES, FILE_PACKAGES, import_name, installed, needed
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
    def found(self) -> Packages:
        """The files of the packages."""
        return find_packages(self.packages)

    @property
    def paths(self) -> tuple[str, ...]:
        """The granted paths."""
        return tuple(grant.path for grant in self.read)

    @property
    def search_path(self) -> tuple[str, ...]:
        """`sys.path` inside, without the folder of the sandbox's own source."""
        return (*library_folders(), *self.found.folders)

    @property
    def readable(self) -> tuple[str, ...]:
        """Every path that calls may read."""
        return (*system_paths(), inside_source(), *self.found.paths, *self.paths)


def _grants(read: Iterable[Path]) -> tuple[Grant, ...]:
    return tuple(map(Grant.of, sorted({str(Path(path).absolute()) for path in read})))


PRELOADED = (
    "re", "math", "datetime", "itertools", "collections", "functools", "random", "string", "decimal",
    "fractions", "typing", "dataclasses", "operator", "heapq", "bisect", "statistics", "calendar", "textwrap",
    "csv", "io", "hashlib", "unicodedata", "ipaddress", "zoneinfo", "enum", "copy", "cmath", "numbers", "ast",
    "tempfile", "contextlib", "abc", "time", "uuid", "pathlib", "array", "secrets", "base64", "html", "difflib",
)  # fmt: skip
"""Imported while the warm interpreter has nothing else to do."""

_LIBRARIES = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/share/zoneinfo", "/etc/ld.so.cache", "/etc/mime.types")


@dataclass(frozen=True, slots=True)
class Packages:
    """Installed packages with all that they depend on."""

    names: tuple[str, ...]
    """What to import."""
    paths: tuple[str, ...]
    """Files and folders that belong to them."""
    folders: tuple[str, ...]
    """What joins `sys.path`."""
    missing: tuple[str, ...]
    """Wanted, but not installed here."""
    hidden: tuple[str, ...]
    """Modules that stand beside them and are not theirs: an import must not find what it may not read."""


@functools.cache
def library_folders() -> tuple[str, ...]:
    """The folders of the standard library: what `sys.path` starts with inside."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    folders = [sysconfig.get_path("stdlib"), f"{sys.base_exec_prefix}/{sys.platlibdir}/{version}"]
    folders += [str(Path(folder) / "lib-dynload") for folder in folders]
    return tuple(folder for folder in dict.fromkeys(folders) if Path(folder).is_dir())


@functools.cache
def system_paths() -> tuple[str, ...]:
    """What the interpreter needs to read before it has imported anything."""
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


@functools.lru_cache(maxsize=32)
def find_packages(wanted: tuple[str, ...]) -> Packages:
    """The files of installed packages, by import name or distribution name, with their dependencies."""
    names, missing, paths = [], [], set[str]()
    for requirement in wanted:
        name = _name_in(requirement)
        if found := _files(name):
            names.append(import_name(name))
            paths |= found
        else:
            missing.append(name)
    folders = dict.fromkeys(str(Path(path).parent) for path in sorted(paths))
    there = {entry.name.partition(".")[0] for folder in folders for entry in Path(folder).iterdir()}
    beside = there - {Path(path).name.partition(".")[0] for path in paths} - sys.stdlib_module_names
    hidden = tuple(sorted(filter(str.isidentifier, beside)))
    return Packages(tuple(names), tuple(sorted(paths)), tuple(folders), tuple(missing), hidden)


def _name_in(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0]


def _files(name: str) -> set[str]:
    if distributions := _closure(name):
        return {path for distribution in distributions for path in _top_level(distribution)}
    spec = importlib.util.find_spec(name) if re.fullmatch(r"\w+", name) else None
    if spec is None or not spec.has_location or not spec.origin:
        return set()
    return {str(Path(spec.origin).parent if spec.submodule_search_locations else spec.origin)}


def _closure(name: str) -> set[str]:
    """The distribution that provides a name, and what it requires without extras."""
    from importlib import metadata

    try:
        metadata.distribution(name)
        waiting = [name]
    except metadata.PackageNotFoundError:
        waiting = list(metadata.packages_distributions().get(name, []))[:1]
    closed: set[str] = set()
    while waiting:
        current = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if current in closed:
            continue
        try:
            requirements = metadata.distribution(current).requires or []
        except metadata.PackageNotFoundError:
            continue
        closed.add(current)
        waiting += [_name_in(line) for line in requirements if "extra ==" not in line]
    return closed


def _top_level(name: str) -> Iterable[str]:
    from importlib import metadata

    distribution = metadata.distribution(name)
    tops = {file.parts[0] for file in distribution.files or () if not file.is_absolute()}
    for top in tops - {"..", "__pycache__"}:
        path = Path(str(distribution.locate_file(top)))
        if path.exists():
            yield str(path)

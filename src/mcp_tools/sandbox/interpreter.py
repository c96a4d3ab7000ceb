"""Where the interpreter lives, what it needs to start, and the files of the packages it may import."""

from __future__ import annotations

import functools
import importlib.util
import py_compile
import re
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mcp_tools.child import executable

INSIDE = Path(__file__).with_name("inside")
"""The source that runs inside."""

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
    missing: tuple[str, ...] = ()
    """Wanted, but not installed here."""
    hidden: tuple[str, ...] = ()
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
    own = [executable(), *library_folders()]
    if prefix != "/usr":
        own += [f"{prefix}/lib", f"{prefix}/lib64"]
    present = [path for path in (*_LIBRARIES, *own) if Path(path).exists()]
    return tuple(dict.fromkeys(_outermost(present)))


@functools.cache
def inside_source() -> str:
    """The folder with the source that runs inside, compiled if its place can be written."""
    for source in INSIDE.glob("*.py"):
        compiled = Path(importlib.util.cache_from_source(str(source)))
        if not compiled.exists() or compiled.stat().st_mtime < source.stat().st_mtime:
            try:
                py_compile.compile(str(source), doraise=True)
            except OSError:
                break
    return str(INSIDE)


@functools.lru_cache(maxsize=32)
def find_packages(wanted: tuple[str, ...]) -> Packages:
    """The files of installed packages, by import name or distribution name, with their dependencies."""
    if not wanted:
        return Packages((), (), ())
    names, missing, paths = [], [], set()
    for requirement in wanted:
        name = re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0]
        found = _files(name)
        if found:
            names.append(_import_name(name))
            paths |= found
        else:
            missing.append(name)
    folders = dict.fromkeys(str(Path(path).parent) for path in sorted(paths))
    return Packages(tuple(names), tuple(sorted(paths)), tuple(folders), tuple(missing), _beside(paths, folders))


def _beside(paths: Iterable[str], folders: Iterable[str]) -> tuple[str, ...]:
    there = {entry.name.partition(".")[0] for folder in folders for entry in Path(folder).iterdir()}
    granted = {Path(path).name.partition(".")[0] for path in paths}
    return tuple(sorted(name for name in there - granted - sys.stdlib_module_names if name.isidentifier()))


def _files(name: str) -> set[str]:
    distributions = _closure(name)
    if distributions:
        return {path for distribution in distributions for path in _top_level(distribution)}
    spec = importlib.util.find_spec(name) if re.fullmatch(r"\w+", name) else None
    if spec is None or not spec.has_location or not spec.origin:
        return set()
    origin = Path(spec.origin)
    return {str(origin.parent if spec.submodule_search_locations else origin)}


def _import_name(name: str) -> str:
    plain = name.replace("-", "_")
    if importlib.util.find_spec(plain):
        return plain
    modules = {Path(path).name.partition(".")[0] for path in _top_level(name)}
    return min(filter(str.isidentifier, modules), default=plain)


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
        waiting += [_required(line) for line in requirements if "extra ==" not in line]
    return closed


def _required(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0]


def _top_level(name: str) -> Iterable[str]:
    from importlib import metadata

    distribution = metadata.distribution(name)
    tops = {file.parts[0] for file in distribution.files or () if not file.is_absolute()}
    for top in tops - {"..", "__pycache__"}:
        path = Path(str(distribution.locate_file(top)))
        if path.exists():
            yield str(path)


def _outermost(paths: list[str]) -> list[str]:
    """The paths without those that lie below another one."""
    return [p for p in paths if not any(p != other and p.startswith(f"{other}/") for other in paths)]

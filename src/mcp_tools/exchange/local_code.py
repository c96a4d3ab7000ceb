"""Pack the user's own code into a wheel. The code is a file, folder or repository of pure Python.

The code is not imported, run or built, and links are not followed. The wheel's name contains a hash of its content, so
changed code is a different package.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import keyword
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.parser import Parser
from pathlib import Path
from typing import Any

from mcp_tools.environments.known import DISTRIBUTIONS, known_packages
from mcp_tools.environments.lock import PackageError, normalised
from mcp_tools.environments.wrapped import requirement_of, wheel_name
from mcp_tools.errors import UsageError, UserError
from mcp_tools.exchange.members import MAX_FILE_BYTES, Members, misnamed, unzipped, zipped
from mcp_tools.exchange.wheel import record_hash
from mcp_tools.packages import BASE_PACKAGES, FILE_PACKAGES, import_name, imported_modules
from mcp_tools.small_files import read_small, toml_of
from mcp_tools.text import one_line

MAX_CODE_FILES, MAX_CODE_BYTES, MAX_WHEEL_BYTES = 2_000, 16_000_000, 4_000_000
_MAX_VISITED = 50_000
"""Limit on the number of files and folders visited in one package."""
MAX_DEPTH = 12
_LEFT_OUT = frozenset({"__pycache__", "node_modules", "tests", "test", "testing"})
_NO_MODULES = _LEFT_OUT | {"docs", "doc", "examples", "scripts", "build", "dist", "benchmarks", "tools", "venv", "env"}
_MAX_NAMED = 8
_NO_MODULE_FILES = re.compile(r"(?:setup|conftest|noxfile|fabfile|tasks|test_.*|.*_test|_.*)\.py")
_BUILT = (".so", ".pyd", ".dylib", ".dll", ".pyx", ".pxd", ".c", ".cc", ".cpp", ".rs", ".f90")
_NAME = re.compile(r"[A-Za-z_]\w{0,63}", re.ASCII)
_TAKEN = sys.stdlib_module_names | {*map(import_name, (*BASE_PACKAGES, *FILE_PACKAGES))}


@dataclass(frozen=True, slots=True)
class LocalCode:
    """Modules and data files to be packaged."""

    name: str
    version: str
    requires: tuple[str, ...]
    modules: tuple[str, ...]
    """The top-level modules. The main one comes first."""
    files: Mapping[str, bytes]
    """The contents of all files, keyed by paths that begin with a top-level module."""

    @property
    def requirement(self) -> str:
        """The requirement that identifies exactly this code by a hash of its content."""
        digest = hashlib.sha256(json.dumps([self.name, self.version, self.requires, self.modules]).encode())
        for name, content in sorted(self.files.items()):
            digest.update(f"\n{name} {hashlib.sha256(content).hexdigest()}".encode())
        return requirement_of(self.name, self.version, digest.hexdigest()[:32])

    def wheel(self) -> bytes:
        """Build the wheel. Equal code gives equal bytes."""
        version = self.requirement.partition("==")[2]
        about = f"{self.name.replace('-', '_')}-{version}.dist-info"
        needs = "".join(f"Requires-Dist: {one}\n" for one in self.requires)
        made = {
            **dict(sorted(self.files.items())),
            f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {self.name}\nVersion: {version}\n{needs}".encode(),
            f"{about}/WHEEL": b"Wheel-Version: 1.0\nGenerator: alita\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{about}/top_level.txt": "\n".join(self.modules).encode(),
        }
        record = io.StringIO()
        rows = csv.writer(record, lineterminator="\n")
        rows.writerows((name, record_hash(content), len(content)) for name, content in made.items())
        rows.writerow((f"{about}/RECORD", "", ""))
        return zipped({**made, f"{about}/RECORD": record.getvalue().encode()})


def read_code(path: Path) -> LocalCode:
    """Read a module, a package or a repository.

    Raises:
        UsageError: The path does not exist, or the code is not pure Python, is too large, or contains links.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 - `resolve` would follow links
    try:
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode):
            raise _refused(path, "it is a link: give its target instead")
        if stat.S_ISREG(found.st_mode):
            if path.suffix != ".py":
                raise _refused(path, "it is not a Python file")
            return _of_folder(path.parent) if path.name == "__init__.py" else _of(path, path.parent, path.name, {})
        if not stat.S_ISDIR(found.st_mode):
            raise _refused(path, "it is neither a file nor a folder")
        return _of_folder(path)
    except OSError as error:
        where = f" ({one_line(str(error.filename), 200)})" if error.filename not in (None, str(path)) else ""
        raise _refused(path, f"{(error.strerror or str(error))}{where}") from None


def verified_wheel(content: bytes, requirement: str) -> bytes:
    """Check a wheel from another machine, and rebuild it from its files.

    Raises:
        UsageError: The wheel is damaged, or its content does not match the requirement.
    """
    path = Path(wheel_name(requirement))
    members = unzipped(content, path, deepest=MAX_DEPTH)
    about = f"{path.name.removesuffix('-py3-none-any.whl')}.dist-info/"
    files = {name: data for name, data in members.items() if not name.startswith(about)}
    try:
        head = Parser().parsestr(members[f"{about}METADATA"].decode(), headersonly=True)
        modules = tuple(members[f"{about}top_level.txt"].decode().split("\n"))
    except (KeyError, UnicodeDecodeError):
        raise _refused(path, "it is not a wheel that alita made") from None
    requires = tuple(str(one) for one in head.get_all("Requires-Dist", []))
    code = LocalCode(str(head["Name"]), str(head["Version"]).partition("+")[0], requires, modules, files)
    if code.requirement != requirement or any(name.partition("/")[0] not in _names(modules) for name in files):
        raise _refused(path, "its content does not match its name")
    try:
        plain = requires == tuple(map(normalised, requires))
    except PackageError:
        plain = False
    if not plain:
        raise _refused(path, "one of its dependencies is not given by name and version")
    return code.wheel()


def _names(modules: tuple[str, ...]) -> set[str]:
    return {name for module in modules for name in (module, f"{module}.py") if _NAME.fullmatch(module)}


def _of_folder(folder: Path) -> LocalCode:
    if os.path.lexists(folder / "__init__.py"):  # the folder is a package
        root = folder.parent
        return _of(folder, root, folder.name, _project(root.parent if root.name == "src" else root))
    project, root = _project(folder), folder / "src"
    tops = _tops(root)
    if not tops:
        root, tops = folder, _tops(folder)
    if not tops:
        raise _refused(folder, "neither the folder nor its subfolder src contains a Python package or module")
    named = str(project.get("name") or folder.name)
    usual = {re.sub(r"[-.]+", "_", named).lower(), import_name(named).lower()}
    packages = [top for top in tops if not top.endswith(".py")]
    main = next((top for top in tops if top.removesuffix(".py").lower() in usual), "")
    main = main or next((some[0] for some in (tops, packages) if len(some) == 1), "")
    if not main:
        several = ", ".join(tops[:_MAX_NAMED]) + (" …" if len(tops) > _MAX_NAMED else "")
        raise UsageError(
            f"{folder} contains several modules: {several}.",
            remedy=f"Give the path of one module, such as {root / tops[0]}",
        )
    return _of(folder, root, main, project)


def _of(origin: Path, root: Path, main: str, project: Mapping[str, Any]) -> LocalCode:
    """Collect a module or package in a folder, and all modules in that folder that it imports."""
    files: Members = {}
    imported: set[str] = set()
    waiting, seen = [main], {main}
    while waiting:
        top = waiting.pop()
        if (root / top).is_symlink():
            raise _linked(origin, top)
        new = (
            {top: read_small(root / top, MAX_FILE_BYTES, follow=False)}
            if top.endswith(".py")
            else _read(origin, root, top)
        )
        files |= new
        _require_size(origin, files)
        for name, content in new.items():
            imported |= imported_modules(content.decode(errors="replace")) if name.endswith(".py") else set()
        for module in sorted(imported - sys.stdlib_module_names):
            places = {module: f"{module}/__init__.py", f"{module}.py": f"{module}.py"}
            found = next((one for one, file in places.items() if os.path.lexists(root / file)), "")
            if found and found not in seen:
                seen.add(found)
                waiting.append(found)
    return _made(origin, files, main.removesuffix(".py"), project, imported)


def _tops(root: Path) -> list[str]:
    """Return the names of the top-level packages and modules in a folder."""
    found = []
    if root.is_symlink() or not root.is_dir():
        return []
    with os.scandir(root) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            if entry.is_dir(follow_symlinks=False):
                is_package = os.path.lexists(f"{entry.path}/__init__.py") and entry.name not in _NO_MODULES
                found += [entry.name] if is_package and _NAME.fullmatch(entry.name) else []
            elif entry.name.endswith(".py") and not _NO_MODULE_FILES.fullmatch(entry.name):
                if entry.is_symlink():
                    raise _linked(root, entry.name)
                found += [entry.name] if _NAME.fullmatch(entry.name[:-3]) else []
    return found


def _read(origin: Path, root: Path, top: str) -> Members:
    """Return the files of a package, except tests, hidden files and bytecode."""
    found: Members = {}
    seen = size = 0
    for folder, folders, names, descriptor in os.fwalk(root / top, follow_symlinks=False):
        above = f"{os.path.relpath(folder, root)}/"
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT and not name.startswith("."))
        if linked := next((one for one in folders if Path(folder, one).is_symlink()), ""):
            raise _linked(origin, f"{above}{linked}")
        seen += len(names) + len(folders)
        if seen > _MAX_VISITED:
            raise _refused(origin, f"{top} contains more than {_MAX_VISITED:,} files")
        for name in sorted(names):
            if name.startswith(".") or name.endswith((".pyc", ".pyo", ".pth")):
                continue
            found[f"{above}{name}"] = content = _content(
                origin, f"{above}{name}", name, descriptor, MAX_CODE_BYTES - size
            )
            size += len(content)
            if len(found) > MAX_CODE_FILES:
                raise _refused(origin, f"{top} contains more than {MAX_CODE_FILES:,} files")
    return found


def _content(origin: Path, shown: str, name: str, place: int, room: int) -> bytes:
    if wrong := misnamed(shown, MAX_DEPTH):
        raise _refused(origin, f"the name {one_line(shown, 80)!r} {wrong}")
    if name.endswith(_BUILT):
        raise UsageError(
            f"{origin} cannot be wrapped: {shown} has to be built, but only pure Python can be wrapped.",
            remedy="Build a wheel, set UV_FIND_LINKS to its folder, and wrap the package by its name.",
        )
    status = os.stat(name, dir_fd=place, follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        raise _linked(origin, shown)
    if not stat.S_ISREG(status.st_mode):
        raise _refused(origin, f"{shown} is not a regular file")
    if status.st_size > MAX_FILE_BYTES:
        raise _refused(origin, f"{shown} has {status.st_size:,} bytes; the limit for a file is {MAX_FILE_BYTES:,}")
    if status.st_size > room:
        raise _too_large(origin)
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, dir_fd=place), "rb") as file:
        content = file.read(room + 1)
    if len(content) > room:
        raise _too_large(origin)
    return content


def _made(origin: Path, files: Members, main: str, project: Mapping[str, Any], imported: set[str]) -> LocalCode:
    modules = sorted({name.partition("/")[0].removesuffix(".py") for name in files}, key=lambda one: (one != main, one))
    for module in modules:
        if not _NAME.fullmatch(module) or keyword.iskeyword(module):
            raise _refused(origin, f"{one_line(module, 80)!r} is not a valid module name: rename the module")
        if module in _TAKEN:
            raise _refused(origin, f"Python or alita already has a module named {module}: rename yours")
    name = DISTRIBUTIONS.get(main.lower(), re.sub(r"[-_.]+", "-", main.lower()).strip("-"))
    requires = tuple(_requires(origin, project, imported.difference(modules)))
    code = LocalCode(name, _version(project), requires, tuple(modules), files)
    if len(code.wheel()) > MAX_WHEEL_BYTES:
        raise _too_large(origin)
    return code


def _project(folder: Path) -> dict[str, Any]:
    """Return the `project` table of the folder's pyproject.toml, or an empty dictionary."""
    path = folder / "pyproject.toml"
    if not os.path.lexists(path):
        return {}
    try:
        project = toml_of(read_small(path, 256_000, follow=False)).get("project", {})
    except ValueError as error:
        raise _refused(folder, f"its pyproject.toml cannot be read: {one_line(str(error), 200)}") from None
    return project if isinstance(project, dict) else {}


def _version(project: Mapping[str, Any]) -> str:
    from packaging.version import InvalidVersion, Version

    try:
        return Version(str(project.get("version", "0"))).public.rpartition("!")[2]
    except InvalidVersion:
        return "0"


def _requires(origin: Path, project: Mapping[str, Any], imported: set[str]) -> Iterator[str]:
    """Yield the dependencies in pyproject.toml or, if it lists none, the imported packages that alita knows."""
    from packaging.requirements import InvalidRequirement, Requirement

    listed = project.get("dependencies")
    if not isinstance(listed, list):
        others = imported - sys.stdlib_module_names
        names = {DISTRIBUTIONS.get(one.lower(), one.lower().replace("_", "-")) for one in others}
        yield from sorted(names & known_packages())
        return
    for text in listed:
        try:
            wanted = Requirement(str(text))
            if wanted.url:
                raise PackageError("it contains a URL")
            if wanted.marker is None or wanted.marker.evaluate():
                extras = f"[{','.join(sorted(wanted.extras))}]" if wanted.extras else ""
                yield normalised(f"{wanted.name}{extras}{wanted.specifier}")
        except (InvalidRequirement, PackageError, UserError) as error:
            shown = one_line(str(text), 80)
            raise _refused(origin, f"its dependency {shown!r} is not given by name and version: {error}") from None


def _require_size(origin: Path, files: Members) -> None:
    if len(files) > MAX_CODE_FILES:
        raise _refused(origin, f"it contains more than {MAX_CODE_FILES:,} files")
    if sum(map(len, files.values())) > MAX_CODE_BYTES:
        raise _too_large(origin)


def _too_large(origin: Path) -> UsageError:
    limits = f"{MAX_CODE_BYTES // 1_000_000} MB, or {MAX_WHEEL_BYTES // 1_000_000} MB compressed"
    return _refused(origin, f"its modules exceed {limits}: wrap only the folder of the package that you need")


def _linked(origin: Path, name: str) -> UsageError:
    return _refused(origin, f"{one_line(name, 200)} is a link, and links are not followed")


def _refused(origin: Path, why: str) -> UsageError:
    return UsageError(f"{one_line(str(origin), 300)} cannot be wrapped: {why.rstrip('.')}.")

"""The user's package environments: plan, allow and build them, and remove those not used for a long time."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from mcp_tools import child
from mcp_tools.atomic import private_folder, write_whole
from mcp_tools.data_files import JsonFile
from mcp_tools.environments.known import known_packages, near_miss
from mcp_tools.environments.lock import (
    MAX_LOCK_BYTES,
    RESOLVE_SECONDS,
    Lock,
    PackageError,
    PackageIndexError,
    Release,
    normalised,
    resolve,
    run_uv,
)
from mcp_tools.environments.wrapped import FOLDER as WRAPPED_FOLDER
from mcp_tools.environments.wrapped import WrappedCode, is_wrapped, label_of
from mcp_tools.errors import UserError, os_errors_as
from mcp_tools.packages import BASE_PACKAGES, FILE_PACKAGES, NOT_ALLOWED
from mcp_tools.small_files import read_small
from mcp_tools.text import count_of, one_line

FOLDER = "environments"
BUILD_SECONDS = 600.0
MAX_BYTES = 2_000_000_000
"""Limit on the total size of one environment's wheels."""
_MAX_COMPILER_KIB = 2_000_000
"""Memory limit of the process that compiles packages, because their source is untrusted."""
_READY = ".ready"
"""Name of the file that marks a complete environment. Its modification time records the last use."""


_GRANTED: ContextVar[frozenset[str]] = ContextVar("granted", default=frozenset())


@contextmanager
def granting(names: Collection[str]) -> Iterator[None]:
    """Allow packages inside the block, in this task only. Used when the user's policy allows them for one call."""
    token = _GRANTED.set(frozenset(names))
    try:
        yield
    finally:
        _GRANTED.reset(token)


class NotAllowedError(PackageError):
    """The user has not allowed a package. `plan` lists the packages to allow."""

    def __init__(self, plan: Plan) -> None:
        names = {re.split(r"[^\w.-]", one)[0] for one in plan.wanted}
        wanted = [one for one in plan.new if one.name in names] or plan.new
        others = len(plan.new) - len(wanted)
        more = f" and {count_of(others, 'package')} needed for it" if others else ""
        super().__init__(f"{NOT_ALLOWED} {', '.join(map(str, wanted))}{more}")
        self.plan = plan


@dataclass(frozen=True, slots=True)
class Plan:
    """The packages for an environment, before anything is downloaded."""

    wanted: tuple[str, ...]
    lock: Lock
    new: tuple[Release, ...]
    """Packages that the user has not allowed yet."""
    unknown: tuple[str, ...]
    """Names of packages in `new` that are not well known."""

    @property
    def size(self) -> int:
        """Download size in bytes."""
        return sum(release.size for release in self.lock.releases)


@dataclass(frozen=True, slots=True)
class Installed:
    """A built environment."""

    path: Path
    releases: tuple[str, ...]
    size: int
    used: datetime


class Environments:
    """A folder of environments.

    Example:
        >>> environments = Environments(data_dir / FOLDER, print)
        >>> environments.allow(await environments.plan(["scipy>=1.11"]))
        >>> folder = await environments.ready(["scipy>=1.11"])  # add it to sys.path

    Args:
        folder: The folder for locks and environments.
        tell: Called with one line of text about each download.
    """

    def __init__(self, folder: Path, tell: Callable[[str], None]) -> None:
        self.folder, self.built = folder, folder / "built"
        self.wrapped = WrappedCode(folder / WRAPPED_FOLDER)
        self._tell = tell
        self._allowed = JsonFile(folder / "allowed.json", dict[str, list[str]], empty={"packages": []})
        self._building: dict[str, asyncio.Lock] = {}

    def unknown(self, requirements: Iterable[str]) -> tuple[str, ...]:
        """Return the names that are not well known and that the user has not allowed.

        Raises:
            PackageError: A requirement is not a package name.
        """
        names = {_name(one) for one in self.fetched(map(normalised, requirements))}
        for name in names:
            self._require_known(name)
        return tuple(sorted(name for name in names if name not in known_packages() and name not in self._permitted))

    async def plan(self, requirements: Iterable[str]) -> Plan:
        """Resolve packages, or reuse an earlier lock for them.

        Raises:
            PackageError: A requirement is invalid, a name looks like a typo, or the packages conflict.
            UserError: The index cannot be reached, or a file cannot be written.
        """
        wanted = tuple(sorted({normalised(one) for one in requirements}))
        for one in self.fetched(wanted):
            self._require_known(_name(one))
        lock = await self._lock(wanted)
        allowed = {*self._permitted, *map(_normalised_name, (*BASE_PACKAGES, *FILE_PACKAGES))}
        allowed |= {_name(one) for one in wanted if is_wrapped(one)}  # the user's own code
        new = tuple(release for release in lock.releases if release.name not in allowed)
        return Plan(wanted, lock, new, tuple(one.name for one in new if one.name not in known_packages()))

    def allow(self, plan: Plan) -> None:
        """Record that the user has allowed these packages."""
        with (
            os_errors_as(UserError, "The list of allowed packages cannot be saved"),
            self._allowed.changing() as stored,
        ):
            stored["packages"] = sorted({*stored["packages"], *(release.name for release in plan.new)})

    @property
    def allowed(self) -> list[str]:
        """The names of the packages that the user has allowed."""
        return self._allowed.remembered()["packages"]

    @property
    def _permitted(self) -> frozenset[str]:
        return _GRANTED.get().union(self.allowed)

    def forget(self, names: Iterable[str]) -> None:
        """Remove packages from the list of allowed packages."""
        with (
            os_errors_as(UserError, "The list of allowed packages cannot be changed"),
            self._allowed.changing() as stored,
        ):
            stored["packages"] = sorted({*stored["packages"]} - {*names})

    def installed(self) -> list[Installed]:
        """Return the built environments."""
        found = []
        for mark in sorted(self.built.glob(f"*/{_READY}")):
            lock = Lock(read_small(mark.with_name("pylock.toml"), MAX_LOCK_BYTES).decode())
            size = sum(path.lstat().st_size for path in mark.parent.rglob("*"))
            used = datetime.fromtimestamp(mark.stat().st_mtime, UTC)
            found.append(Installed(mark.parent, tuple(map(str, lock.releases)), size, used))
        return found

    async def ready(self, requirements: Iterable[str]) -> Path:
        """Return the folder to import the packages from, building it if necessary.

        Raises:
            NotAllowedError: The user has not allowed a package.
            PackageError: See `plan`. Also raised for a little-known package that the user has not allowed.
            UserError: The index cannot be reached, or a file cannot be written.
        """
        requirements = [*requirements]
        if unknown := self.unknown(requirements):  # fail before contacting the index
            raise PackageError(f"{NOT_ALLOWED} {', '.join(unknown)}")
        plan = await self.plan(requirements)
        if plan.new:
            raise NotAllowedError(plan)
        place = self.built / plan.lock.id
        async with self._building.setdefault(plan.lock.id, asyncio.Lock()):
            if not (place / _READY).exists():
                await self._build(plan, place)
        os.utime(place / _READY)
        return place / "packages"

    def make_built_folder(self) -> Path:
        """Create and return the folder that contains all environments. Sessions may read it."""
        with os_errors_as(UserError, f"{self.built} cannot be written"):
            self.built.mkdir(mode=0o755, parents=True, exist_ok=True)
        return self.built

    async def remove_unused(self, days: float) -> list[Path]:
        """Remove environments that have not been used for `days` days, incomplete builds, and uv's cache."""
        removed = await asyncio.to_thread(self._remove_unused, days)
        if (cache := self.folder / "cache").exists():
            output = await run_uv(["cache", "clean"], cache=cache, seconds=RESOLVE_SECONDS)
            if output is not None:
                raise UserError(
                    f"{cache} cannot be emptied: {one_line(output, 200)}", remedy=f"Delete {cache} yourself."
                )
        return removed

    def _remove_unused(self, days: float) -> list[Path]:
        removed = []
        for place in self.built.glob("*"):
            if place.is_dir() and not place.is_symlink():
                mark = place / _READY
                used = mark.stat().st_mtime if mark.exists() else place.stat().st_mtime
                if time.time() - used > days * 86_400:
                    mark.unlink(missing_ok=True)  # first, so that a half-deleted environment never counts as complete
                    shutil.rmtree(place, ignore_errors=True)
                    removed.append(place)
        return removed

    def _require_known(self, name: str) -> None:
        if (known := near_miss(name)) and name not in self._permitted:
            raise PackageError(f"{name!r} is not a known package: did you mean {known}?")

    def fetched(self, wanted: Iterable[str]) -> Iterator[str]:
        """Yield the packages to get from the index. The user's own code is replaced by its dependencies.

        Raises:
            PackageError: The user's code is not on this machine.
        """
        for one in wanted:
            yield from map(normalised, self.wrapped.requires(one)) if is_wrapped(one) else [one]

    async def _lock(self, wanted: Sequence[str]) -> Lock:
        pinned = _host_versions()
        key = hashlib.sha256("\n".join([*wanted, "", *pinned]).encode()).hexdigest()[:32]
        file = self.folder / "locks" / f"{key}.toml"
        if file.exists():
            lock = Lock(read_small(file, MAX_LOCK_BYTES).decode(errors="replace"))
            if lock.is_valid:
                return lock
        private_folder(file.parent)
        before, cache = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), self.folder / "cache"
        self._tell(f"resolving {', '.join(map(label_of, wanted))}")
        wheels = {one: self.wrapped.wheel(one) for one in wanted if is_wrapped(one)}
        try:
            lock = await resolve(wanted, before=before, pinned=pinned, cache=cache, wheels=wheels)
        except PackageError:
            lock = await resolve(wanted, before=before, cache=cache, wheels=wheels)
        with os_errors_as(UserError, f"{file} cannot be written"):
            write_whole(file, lock.text.encode())
        return lock

    async def _build(self, plan: Plan, place: Path) -> None:
        if plan.size > MAX_BYTES:
            raise PackageError(
                f"{', '.join(plan.wanted)} need {plan.size / 1e9:.1f} GB; the limit is {MAX_BYTES / 1e9:.0f} GB"
            )
        size = f" ({plan.size / 1e6:.0f} MB)" if plan.size else ""
        self._tell(f"fetching {', '.join(map(str, plan.lock.releases))}{size}")
        with os_errors_as(UserError, f"{place} cannot be written"):
            draft = await asyncio.to_thread(self._draft, plan.lock)
            try:
                command = ["pip", "install", "--target", str(draft / "packages"), "--no-deps", "--only-binary", ":all:"]
                command += ["-r", str(draft / "pylock.toml")]
                output = await run_uv(command, cache=self.folder / "cache", seconds=BUILD_SECONDS)
                if output is not None:
                    raise PackageIndexError(f"{', '.join(plan.wanted)} cannot be fetched: {output.strip()[-300:]}")
                await asyncio.to_thread(_finish, draft, place)
                await _compile(place / "packages")
            finally:
                await asyncio.to_thread(shutil.rmtree, draft, ignore_errors=True)

    def _draft(self, lock: Lock) -> Path:
        self.make_built_folder()
        draft = Path(tempfile.mkdtemp(prefix="draft-", dir=self.built))
        draft.chmod(0o755)
        (draft / "pylock.toml").write_text(lock.text, encoding="utf-8")
        return draft


def _finish(draft: Path, place: Path) -> None:
    """Move a finished draft to its final place, unless another process has already done so."""
    (draft / _READY).touch()
    if place.exists() and not (place / _READY).exists():  # left over from a build that was killed
        shutil.rmtree(place, ignore_errors=True)
    try:
        draft.rename(place)
    except OSError:
        if not (place / _READY).exists():
            raise


async def _compile(folder: Path) -> None:
    """Compile packages in a background process that may outlive this one, so that the first call is fast."""
    limits = f"ulimit -v {_MAX_COMPILER_KIB}; ulimit -t {BUILD_SECONDS:.0f}"
    command = ["sh", "-c", f'{limits}; nice "$0" -I -m compileall -q -j 0 "$1" >/dev/null 2>&1 </dev/null &']
    process = await child.start([*command, child.executable(), str(folder)], env=child.environment())
    await process.wait()


def package_name(requirement: str) -> str:
    """Return the normalised name of a package in a requirement such as `SciPy[all]>=1.11`.

    Raises:
        PackageError: The requirement is not a name with versions.
    """
    return _name(normalised(requirement))


def _name(requirement: str) -> str:
    return requirement.partition("[")[0].split("=")[0].split("<")[0].split(">")[0].split("!")[0].split("~")[0]


def _normalised_name(name: str) -> str:
    return name.replace("_", "-").lower()


@functools.cache
def _host_versions() -> tuple[str, ...]:
    """Return the versions of the packages that come with alita, which every environment must be compatible with."""
    found = []
    for name in (*BASE_PACKAGES, *FILE_PACKAGES):
        try:
            found.append(f"{_normalised_name(name)}=={metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return tuple(sorted(set(found)))

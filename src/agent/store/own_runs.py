"""The list of runs made on this machine. It is stored outside the runs folder, so that an unpacked run is not listed.

A run from elsewhere can be listed, shown and replayed. Resuming one would send the user's key and files to the run's
endpoint, and treat decisions recorded in the run as the user's own.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from agent.errors import RunError
from agent.store.jsonl_log import locked_against_writers, read_lines, whole_lines
from agent.store.runs import Run, ids_in, journal_path
from agent.store.signature import Signer
from agent.user_files import write_file, writing
from mcp_tools.atomic import private_folder, write_whole
from mcp_tools.small_files import JOURNAL, read_small
from mcp_tools.text import count_of, one_line

if TYPE_CHECKING:
    from agent.configuration.settings import Settings

_DIGEST = 64


class OwnRuns:
    """The runs in a folder that were made on this machine or are trusted by the user."""

    def __init__(self, settings: Settings) -> None:
        self.runs = settings.runs_dir
        place = hashlib.sha256(os.fsencode(self.runs.resolve())).hexdigest()[:24]
        self._folder = settings.data_dir / "own_runs" / place
        self.signer = Signer(settings.data_dir)

    def has(self, run: Run) -> bool:
        """Return True if a run was made or trusted here and its question, files, settings and calls are unchanged."""
        with contextlib.suppress(OSError):
            return read_small(self._folder / run.run_id, _DIGEST) == _digest(run) and self.wrote_journal(run.run_id)
        return False

    def wrote_journal(self, run_id: str) -> bool:
        """Return True if every line of a run's journal was signed on this machine, or if the journal cannot be read."""
        try:
            lines, _ = whole_lines(read_small(journal_path(self.runs, run_id), JOURNAL, follow=False))
        except OSError:
            return True
        return all(self.signer.holds(run_id, line) for line in lines)

    def trust(self, run: Run) -> None:
        """Trust a run from elsewhere as if it had been made here.

        Raises:
            RunError: The run's folder contains a link, or another process is writing the run's journal.
            StorageError: The folder cannot be written.
        """
        require_no_links(self.runs / run.run_id)
        path = journal_path(self.runs, run.run_id)
        with locked_against_writers(path) as is_free:
            if not is_free:
                raise RunError(f"The run {run.run_id} is running.", remedy="Wait until the run finishes, or stop it.")
            if path.exists():
                signed = [self.signer.signed(run.run_id, line) for line in read_lines(path)]
                text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in signed)
                write_file(path, text)
        self.note(run)

    def note(self, run: Run) -> None:
        """Add a run that was made here to the list.

        Raises:
            StorageError: The folder cannot be written.
        """
        with writing(self._folder):
            private_folder(self._folder)
            write_whole(self._folder / run.run_id, _digest(run))

    def sweep(self) -> None:
        """Remove deleted runs from the list."""
        with contextlib.suppress(OSError):
            for run_id in {*ids_in(self._folder)} - {*ids_in(self.runs)}:
                (self._folder / run_id).unlink()

    def require(self, run: Run) -> None:
        """Check that a run may make calls.

        Raises:
            RunError: The run was not made here and is not trusted by the user, or its folder contains a link.
        """
        require_no_links(self.runs / run.run_id)
        if not self.has(run):
            raise RunError(
                f"The run {run.run_id} was recorded elsewhere or by an older version. {what_it_would_do(run)}",
                remedy=f"To see it: alita traces show {run.run_id}. If you trust it: alita runs trust {run.run_id}",
            )


def what_it_would_do(run: Run) -> str:
    """Describe the consequences of resuming a run from elsewhere on one line."""
    configuration = run.configuration
    others = [
        f"{name} = {configuration[name]}"
        for name in sorted(configuration)
        if name not in ("model", "base_url", "tools_dir")
    ]
    files = (
        f" with {count_of(len(run.files), 'file')} ({', '.join(file.path for file in run.files)})" if run.files else ""
    )
    endpoint = configuration.get("base_url") or "your own endpoint"
    return one_line(
        f"Resuming it asks {run.model} at {endpoint}, with your key, {run.question!r:.300}{files}, uses the tools "
        f"in {configuration.get('tools_dir', 'your library')}, and treats the decisions in its journal as yours"
        + (f" ({', '.join(others)})." if others else "."),
        2000,
    )


def require_no_links(folder: Path) -> None:
    """Check that a run's folder is not a link and contains no links, because writing to a link changes another file.

    Raises:
        RunError: A link was found, or the folder cannot be read.
    """
    places = [folder]
    while places:
        place = places.pop()
        try:
            if place.is_symlink():
                raise RunError(f"{place} is a link, so nothing is written to it.", remedy="Remove the link.")
            if place.is_dir():
                places += place.iterdir()
        except OSError as error:
            raise RunError(f"{place} cannot be read: {error.strerror}.", remedy="Correct the permissions.") from None


def _digest(run: Run) -> bytes:
    made = [run.question, run.model, run.started, [[f.path, f.sha256, f.bytes] for f in run.files], run.configuration]
    content = json.dumps([*made, run.parent], sort_keys=True)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest().encode()

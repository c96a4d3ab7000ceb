"""A run's workspace: files with complete texts and results, which prompts name and programs open.

| name | what it is |
|---|---|
| `page_2.txt`, `page_2.links.json`, `page_2_table_1.csv` | source 2: its text, its links by number, its tables |
| `search_3.json` | the sources that the search of step 3 found, with all quotations |
| `step_3.txt`, `step_3.json` | what step 3 returned: as text, as a value |
| `step_3_picture_1.png` | what its program showed |

Attached files stay in place. `AttachedFile.data` names their extracted contents for programs.
"""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import json
import os
from collections.abc import Sequence
from pathlib import Path

from agent.errors import StorageError
from agent.web.filenames import safe_name
from mcp_tools.atomic import write_whole
from mcp_tools.errors import os_errors_as
from mcp_tools.small_files import read_small
from mcp_tools.tool import Json

FOLDER = "workspace"
"""Name of the folder in a run."""
_REMEDY = "Make the folder writable, or free some space."


class Workspace:
    """The files of a run.

    A number is added to a name that is taken by other content. A resumed run thus has the same paths as before, which
    prompts show.

    Args:
        folder: Folder of the workspace, created with the first file. Its parent is private.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.is_used = False
        """True if this process has kept any files so far. Files of an earlier process do not count."""

    def open(self) -> None:
        """Create the folder, which programs may then read.

        Raises:
            StorageError: The folder cannot be created.
        """
        self.is_used = True
        with os_errors_as(StorageError, f"{self.folder} cannot be written", _REMEDY):
            self.folder.mkdir(mode=0o755, parents=True, exist_ok=True)

    def keep_text(self, name: str, text: str) -> Path:
        """Save a text under a safe form of the name, and return the file's absolute path.

        Raises:
            StorageError: The folder cannot be written.
        """
        return self.keep_bytes(name, text.encode("utf-8", "replace"))

    def keep_json(self, name: str, value: Json) -> Path:
        """Save a value as JSON; see `keep_text`."""
        return self.keep_text(name, json.dumps(value, ensure_ascii=False, indent=1) + "\n")

    def keep_table(self, name: str, rows: Sequence[Sequence[str]]) -> Path:
        """Save rows as CSV, header first; see `keep_text`."""
        out = io.StringIO(newline="")
        csv.writer(out, lineterminator="\n").writerows(rows)
        return self.keep_text(name, out.getvalue())

    def file(self, name: str) -> Path | None:
        """Return the path of a saved file, by its path or name; None if there is no such file."""
        path = self.folder / name
        if path.parent != self.folder or not path.is_file() or path.is_symlink():
            return None
        self.is_used = True  # even in a replay, which only now learns that the run kept files
        return path

    def keep_bytes(self, name: str, content: bytes) -> Path:
        """Save bytes; see `keep_text`."""
        self.is_used = True
        plain = Path(safe_name(name) or "file")
        with os_errors_as(StorageError, f"{self.folder} cannot be written", _REMEDY):
            for number in itertools.count(1):
                path = self.folder / (plain.name if number == 1 else f"{plain.stem}_{number}{plain.suffix}")
                if not os.path.lexists(path):  # a broken link also counts as existing
                    return self._written(path, content)
                if _holds(path, content):
                    return path
        raise AssertionError("unreachable")

    def _written(self, path: Path, content: bytes) -> Path:
        self.folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        if self.folder.is_symlink():
            raise StorageError(f"{self.folder} is a link, so nothing is written there.", remedy="Remove the link.")
        write_whole(path, content)
        path.chmod(0o644)  # readable for the user that programs run as
        return path


def _holds(path: Path, content: bytes) -> bool:
    """Return True if a regular file has this content."""
    with contextlib.suppress(OSError):
        return read_small(path, len(content), follow=False) == content
    return False

"""Finds the file of a question in the user's folders, or downloads it once."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent.configuration.settings import Settings
from agent.errors import AlitaError, DatasetError
from agent.gaia.attempt import Task
from agent.gaia.course import CourseApi, plain_name
from agent.gaia.dataset import REVISION, Hub, NoAccess
from agent.user_files import whole_file
from mcp_tools.small_files import leads_out
from mcp_tools.text import one_line

_USUAL_FOLDER = Path("gaia_files")
_SPLITS = ("2023/validation", "2023/test")
"""Folders that contain the files in the dataset's repository and in complete copies of it."""
_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class Attachment:
    """The file of a question, or the reason why it is missing."""

    path: Path | None
    status: Literal["none", "found", "missing"]
    message: str = ""
    """For a missing file: the places that were searched, and a remedy."""


class Attachments:
    """Looks for files in folders, among earlier downloads, on the hub and on the course's server, in this order.

    Downloads are kept.
    """

    def __init__(
        self, folders: Sequence[Path], cache: Path, *, hub: Hub | None = None, course: CourseApi | None = None
    ) -> None:
        self._folders = tuple(folders)
        self._cache = cache
        self._hub = hub
        self._course = course
        self._no_access: NoAccess | None = None
        """The reason why the hub refuses all files. The hub is only asked once per run."""

    def resolve(self, task: Task) -> Attachment:
        """Find the file of a task, over the network if necessary. This never raises an exception.

        A file name cannot lead out of the folders: with `..`, a drive or a root, the file counts as missing.
        """
        if not task.file_name:
            return Attachment(None, "none")
        name, reasons = _relative(task.file_name), list[str]()
        if name is None:
            reasons.append(f"{one_line(task.file_name)!r} is not a plain file name")
        for path in self._places(task, name, reasons) if name else ():
            if os.access(path, os.R_OK):
                return Attachment(path.absolute(), "found")
            reasons.append(f"{path} cannot be read")
        message = f"The file {one_line(task.file_name)!r} is missing: {'; '.join(reasons)}."
        return Attachment(None, "missing", message=message)

    def _places(self, task: Task, name: Path, reasons: list[str]) -> Iterator[Path]:
        """Yield possible paths of a file, best first. Append to `reasons` why the file is missing in other places."""
        for folder in self._folders:
            for place in (folder, *(folder / split for split in _SPLITS)):
                if not os.path.isfile(place / name):  # noqa: PTH113 - unlike Path.is_file, False for a name that is too long
                    continue
                if any(not leads_out(place / name, root) for root in _roots(folder)):
                    yield place / name
                else:
                    reasons.append(f"{place / name} is a link that leads out of {folder}")
        reasons.append(f"it is not in {' or '.join(map(str, self._folders)) or 'any folder'}")
        kept = self.place_of(task)
        if os.path.isfile(kept):  # noqa: PTH113
            yield kept
        for origin, fetch in (("hub", self._from_hub), ("course", self._from_course)):
            try:
                if fetch(task, kept):
                    yield kept
            except AlitaError as error:
                reasons.append(f"{origin}: {error.message} {error.remedy}".strip().rstrip("."))
            except OSError as error:
                reasons.append(f"{origin}: the file cannot be stored in {kept.parent}: {error.strerror}")

    def _from_hub(self, task: Task, kept: Path) -> bool:
        if self._hub is None:
            return False
        if self._no_access is not None:
            raise self._no_access
        for folder in _SPLITS:
            try:
                found = self._hub.fetch(f"{folder}/{kept.name}")
            except FileNotFoundError:
                continue
            except NoAccess as error:
                self._no_access = error
                raise
            kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with found.open("rb") as source, whole_file(kept) as copy:
                shutil.copyfileobj(source, copy)
            return True
        raise DatasetError(f"the dataset has no file {kept.name!r}")

    def _from_course(self, task: Task, kept: Path) -> bool:
        if self._course is not None:
            self._course.fetch_file(task.task_id, kept)
        return self._course is not None

    def place_of(self, task: Task) -> Path:
        """Return the path at which a task's downloaded file is kept."""
        digest = hashlib.sha256(task.task_id.encode(errors="surrogatepass")).hexdigest()[:32]
        folder = task.task_id if _SAFE_ID.fullmatch(task.task_id) else digest
        return self._cache / folder / (plain_name(task.file_name) or "file")


def usual_attachments(
    settings: Settings,
    *,
    attached: Path | None = None,
    beside: Path | None = None,
    revision: str = REVISION,
    course: CourseApi | None = None,
) -> Attachments:
    """Return the attachments of a benchmark, from `attached`, `gaia_files/` and the questions' folder.

    Raises:
        DatasetError: `attached` is not a folder.
    """
    if attached is not None and not attached.is_dir():
        raise DatasetError(
            f"--attached_files_dir {attached} is not a folder.",
            remedy="Use the folder that contains the files of the questions.",
        )
    folders = [folder for folder in (attached, _USUAL_FOLDER, beside) if folder is not None]
    return Attachments(folders, settings.cache_dir / "gaia" / "files", hub=Hub.of(settings, revision), course=course)


def _roots(folder: Path) -> list[Path]:
    """Return the folders into which links may lead: the folder itself and the shared files of the hub's cache."""
    if folder == _USUAL_FOLDER:  # a project could make this folder a link
        return [Path.cwd()]
    real = Path(os.path.realpath(folder))
    shared = (place.parent / "blobs" for place in real.parents if place.name == "snapshots")
    return [folder, *(place for place in shared if not place.is_symlink())]


def _relative(name: str) -> Path | None:
    """Return a name as a path inside a folder, or None if it is invalid or could lead outside."""
    parts = name.split("/")
    if (
        any(unicodedata.category(sign) in {"Cc", "Cs"} for sign in name)
        or "\\" in name
        or ":" in parts[0]
        or any(part.strip(". ") == "" or len(part.encode()) > 255 for part in parts)
    ):
        return None
    return Path(*parts)

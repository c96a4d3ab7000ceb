"""The folders of runs. `run.json` contains the question, its files and settings, and the outcome."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent.answer import Answer
from agent.errors import RunError, StorageError, UserError
from agent.records import from_plain
from agent.store import journal
from agent.store.jsonl_log import is_locked
from agent.user_files import write_file, writing
from mcp_tools.atomic import private_folder, write_whole
from mcp_tools.errors import os_errors_as
from mcp_tools.small_files import RECORD, json_of, read_small
from mcp_tools.text import did_you_mean, one_line
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from pydantic import TypeAdapter

ID = journal.RUN_ID
_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id(now: float | None = None) -> str:
    """Return a new run id, such as `261121-104055-k3f9`. Ids sort by time, to the millisecond, and are easy to type."""
    now = time.time() if now is None else now
    stamp = time.strftime("%y%m%d-%H%M%S", time.gmtime(now))
    first, second = divmod(int(now % 1 * 1024), 32)
    return f"{stamp}-{_LETTERS[first]}{_LETTERS[second]}{secrets.choice(_LETTERS)}{secrets.choice(_LETTERS)}"


def fitting_id(wanted: str, known: Sequence[str], *, noun: str, error: type[UserError]) -> str:
    """Return the one id that equals, begins with or ends with the given text.

    Args:
        wanted: The text from the user.
        known: All ids, oldest first.
        noun: `run` or `session`, for messages. The command `alita runs` or `alita sessions` lists them.
        error: The exception to raise.

    Raises:
        UserError: No id matches, or several do.
    """
    fitting = [k for k in known if k == wanted] or [
        k for k in known if wanted and (k.startswith(wanted) or k.endswith(wanted))
    ]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise error(f"{wanted!r} matches {len(fitting)} {noun}s.", remedy=f"Did you mean {fitting[-1]}?")
    remedy = f"{did_you_mean(wanted, known)}`alita {noun}s list` shows all {noun}s."
    raise error(f"There is no {noun} {wanted!r}.", remedy=remedy)


SCHEMA = 1
FILE = "run.json"
TRACEBACK = "traceback.txt"


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that came with a question."""

    path: str
    sha256: str
    """Empty if the file could not be read."""
    bytes: int


@dataclass(frozen=True, slots=True)
class Run:
    """One question from start to answer, as stored in `run.json`."""

    run_id: str
    question: str
    model: str
    started: float
    files: tuple[InputFile, ...] = ()
    configuration: dict[str, str] = field(default_factory=dict)
    """Settings that affect the answer: models, endpoint, limits, library and so on."""
    status: str = "running"
    """`running`, `interrupted` (can be resumed), or the status of the answer."""
    answer: Answer | None = None
    parent: str | None = None
    """Id of the run that this one was forked from."""

    def as_json(self) -> dict[str, Json]:
        """Return the content of `run.json`."""
        data = asdict(replace(self, answer=None))
        return {"schema": SCHEMA, **data, "answer": self.answer.as_json() if self.answer else None}


def create_run(
    runs: Path,
    question: str,
    *,
    model: str,
    files: Sequence[Path] = (),
    configuration: dict[str, str] | None = None,
    parent: str | None = None,
    note: Callable[[Run], object] = lambda run: None,
) -> Run:
    """Create the folder of a new run. `note` is called before anything is written to it.

    Raises:
        StorageError: The folder cannot be written.
    """
    inputs = tuple(describe_file(path) for path in files)
    while True:
        run = Run(new_id(), question, model, time.time(), inputs, configuration or {}, parent=parent)
        with writing(runs):
            private_folder(runs)
            try:
                (runs / run.run_id).mkdir(mode=0o700)
            except FileExistsError:
                continue
        note(run)
        save_run(runs, run)
        return run


def save_run(runs: Path, run: Run) -> None:
    """Write `run.json` atomically.

    Raises:
        StorageError: The folder cannot be written.
    """
    target = runs / run.run_id / FILE
    content = json.dumps(run.as_json(), ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass")
    with writing(target):
        write_whole(target, content, draft_in=runs)


def save_traceback(runs: Path, run: Run, text: str) -> None:
    """Write the traceback of a bug into the run's folder. If that fails, the bug itself is still reported."""
    with contextlib.suppress(StorageError):
        write_file(runs / run.run_id / TRACEBACK, text)


def load_run(runs: Path, run_id: str) -> Run:
    """Read a run. If its process died before the answer, its status is `interrupted`.

    Raises:
        RunError: The run's `run.json` is missing or damaged.
    """
    path = runs / run_id / FILE
    try:
        if not ID.fullmatch(run_id):
            raise FileNotFoundError
        run = _checked(run_id, json_of(read_small(path, RECORD, follow=False)))
    except FileNotFoundError:
        raise RunError(f"The run {run_id} has no {FILE}.", remedy="`alita runs list` shows all runs.") from None
    except OSError as error:
        raise RunError(
            f"{path} cannot be read: {error.strerror}.",
            remedy=f"Make the file readable, or delete {path.parent}.",
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        reason = one_line(str(error), 200)
        raise RunError(f"{path} is corrupt: {reason}.", remedy="`alita runs list` shows all runs.") from None
    if run.status == "running" and not is_locked(journal_path(runs, run_id)):
        return replace(run, status="interrupted")
    return run


def _checked(run_id: str, data: Json) -> Run:
    """Check the content of a `run.json`, and return the run. A run's id is the name of its folder."""
    from pydantic import ValidationError

    if not isinstance(data, dict):
        raise TypeError("it is not an object")
    answer = data["answer"]
    own = {name: value for name, value in data.items() if name not in ("schema", "answer")}
    read = replace(from_plain(Run, {**own, "run_id": run_id}), answer=Answer.from_json(answer) if answer else None)
    try:
        run: Run = _form().validate_python(asdict(read))
    except ValidationError as error:
        flaw = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(f"{'.'.join(map(str, flaw['loc']))}: {flaw['msg']}") from None
    time.gmtime(run.started)
    if run.parent is not None and not ID.fullmatch(run.parent):
        raise ValueError("parent is not a run id")
    return run


@functools.cache
def _form() -> TypeAdapter[Run]:
    from pydantic import TypeAdapter

    return TypeAdapter(Run)


def list_runs(runs: Path, *, limit: int | None = None, flaws: list[RunError] | None = None) -> list[Run]:
    """Return runs, newest first. A sentence about each unreadable run is appended to `flaws`."""
    found: list[Run] = []
    for run_id in reversed(ids_in(runs)):
        if limit is not None and len(found) >= limit:
            break
        try:
            found.append(load_run(runs, run_id))
        except RunError as error:
            if flaws is not None:
                flaws.append(error)
    return found


def find_run(runs: Path, run_id: str | None = None) -> str:
    """Return the full id of a run from its beginning or end; by default, the newest readable run.

    Raises:
        RunError: No run matches, or several do.
    """
    known = ids_in(runs)
    if run_id is None:
        newest = list_runs(runs, limit=1)
        if not newest:
            raise RunError("There are no runs yet.", remedy='Ask a question first: alita "…"')
        return newest[0].run_id
    return fitting_id(run_id, known, noun="run", error=RunError)


def find_unfinished(runs: Path, run_id: str | None = None, *, own: Callable[[Run], bool]) -> str:
    """Return the run that `alita resume` continues; by default, the newest unfinished run made here.

    Raises:
        RunError: There is no such run, or the run is finished.
    """
    if run_id is not None:
        found = find_run(runs, run_id)
        if load_run(runs, found).status == "answered":
            raise RunError(f"The run {found} has already finished.", remedy=f"To see it: alita runs show {found}")
        return found
    for run in list_runs(runs, limit=100):
        if run.status in {"interrupted", "failed", "limit"} and own(run):
            return run.run_id
    raise RunError("There is no unfinished run.", remedy="`alita runs list` shows all runs.")


def journal_path(runs: Path, run_id: str) -> Path:
    """Return the path of a run's journal."""
    return runs / run_id / journal.FILE


def describe_file(path: Path) -> InputFile:
    """Return a file's absolute path, hash and size. The hash is empty if the file cannot be read."""
    sha256, size = "", 0
    with contextlib.suppress(OSError):
        if path.is_file():  # reading a pipe could block, and a device may never end
            with path.open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
                size = file.tell()
    return InputFile(str(path.absolute()), sha256, size)


def ids_in(folder: Path, suffix: str = "") -> list[str]:
    """Return the ids in the names of a folder's entries, oldest first."""
    with os_errors_as(StorageError, f"{folder} cannot be read"):
        names = os.listdir(folder) if folder.exists() else []  # noqa: PTH208 - names are all
    ids = (name.removesuffix(suffix) for name in names if name.endswith(suffix))
    return sorted(filter(ID.fullmatch, ids))

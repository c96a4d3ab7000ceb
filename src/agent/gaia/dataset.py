"""Loads questions from a JSONL file, or from GAIA's gated dataset at a pinned revision on the Hugging Face Hub."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.errors import DatasetError
from agent.gaia.attempt import Dataset, Task, dataset_of
from agent.records import json_lines
from mcp_tools.errors import os_errors_as
from mcp_tools.network import network_client
from mcp_tools.small_files import JOURNAL, read_small
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.configuration.settings import Settings


REPOSITORY = "gaia-benchmark/GAIA"
REVISION = "682dd723ee1e1697e00360edccf2366dc8418dd9"
"""Revision of October 2025, which has questions in Parquet."""
_COMMIT = re.compile(r"[0-9a-f]{40}")
_ACCESS = (
    f"Open https://huggingface.co/datasets/{REPOSITORY}, sign in and accept the terms. Then create a token for "
    "the same "
    "account at https://huggingface.co/settings/tokens that may read gated repositories, and export HF_TOKEN."
)
_NETWORK = "Check the network and try again in a few minutes, or use a question file on this machine."


class NoAccess(DatasetError):
    """There is no token, or its account is not allowed to read the dataset. A retry would not help."""


@dataclass(frozen=True, slots=True)
class Hub:
    """The dataset at one revision on the hub, or on another hub named by `HF_ENDPOINT`."""

    cache: Path
    token: str | None = field(default=None, repr=False)
    """Access token; if None, the token stored by `hf auth login` is used."""
    revision: str = REVISION

    @classmethod
    def of(cls, settings: Settings, revision: str = REVISION) -> Hub:
        """Return the dataset, read with the user's token."""
        token = settings.hf_token.get_secret_value() if settings.hf_token else None
        return cls(settings.cache_dir / "gaia" / "hub", token, revision)

    def fetch(self, path: str) -> Path:
        """Return the path of a file of the dataset, downloading it unless it is in the cache.

        Raises:
            NoAccess: There is no token, or the terms have not been accepted.
            DatasetError: There is no network or no such revision.
            FileNotFoundError: The revision does not contain the file.
        """
        try:
            import httpx
            from huggingface_hub import errors
        except ImportError:
            raise DatasetError(
                "The packages that read the hub are not installed.",
                remedy="`alita doctor` shows how to install the extra [gaia].",
            ) from None
        try:
            return self._fetch(path)
        except errors.RemoteEntryNotFoundError:
            raise FileNotFoundError(path) from None
        except (errors.RevisionNotFoundError, errors.HFValidationError):
            raise DatasetError(
                f"{REPOSITORY} has no revision {self.revision!r}.", remedy=f"Remove the revision to use {REVISION}."
            ) from None
        except (errors.HfHubHTTPError, errors.XetError, errors.XetDownloadError, httpx.HTTPError) as error:
            status = error.response.status_code if isinstance(error, errors.HfHubHTTPError) else 0
            reply = f"returned status {status}" if status else f"cannot be reached: {one_line(str(error), 200)}"
            refused = status in (401, 403, 404)
            raise (NoAccess if refused else DatasetError)(
                f"The hub {reply} for {REPOSITORY}.", remedy=_ACCESS if refused else _NETWORK
            ) from None
        except OSError as error:
            raise DatasetError(
                f"{path} could not be downloaded to {self.cache}: {one_line(str(error.__cause__ or error), 200)}.",
                remedy="Free some space, or set ALITA_HOME to a writable folder.",
            ) from None

    def _fetch(self, path: str) -> Path:
        import httpx
        from huggingface_hub import get_token, hf_hub_download, try_to_load_from_cache
        from huggingface_hub.utils import logging
        from huggingface_hub.utils.tqdm import disable_progress_bars

        from agent.models.embedded.weights_files import SourceError
        from agent.models.embedded.weights_sources import require_reachable

        disable_progress_bars()
        logging.set_verbosity_error()  # type: ignore[no-untyped-call]
        if _COMMIT.fullmatch(self.revision):
            kept = try_to_load_from_cache(REPOSITORY, path, self.cache, self.revision, repo_type="dataset")
            if isinstance(kept, str):
                return Path(kept)
        endpoint = (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
        if not os.environ.get("HF_ENDPOINT") and not (self.token or get_token()):
            raise NoAccess(f"{REPOSITORY} is gated, and no token is set.", remedy=_ACCESS)
        try:  # fails within seconds; the hub's library would retry for a minute
            require_reachable(endpoint)
        except SourceError as error:
            raise DatasetError(f"The hub {error}.", remedy=_NETWORK) from None
        network_client(httpx.Client).close()  # makes the hub's library use our proxies and certificates
        return Path(
            hf_hub_download(
                REPOSITORY,
                path,
                repo_type="dataset",
                revision=self.revision,
                cache_dir=self.cache,
                token=self.token,
                endpoint=endpoint,
            )
        )


CONFIG, SPLIT = "2023_all", "validation"
"""Default configuration and split of a local copy."""
_FIELDS = frozenset({"task_id", "question", "level", "final_answer", "file_name"})
_LONGEST_ID = 200
"""Maximum length of an id in characters. Ids are used as folder names and in reports."""
_NO_TRUTH = frozenset({"", "?"})
"""Placeholders for an answer that is not published."""
Row = tuple[str, Mapping[str, Any] | str]
"""A record's position in words, and the record or the reason why it is invalid. The reason never quotes the record,
which may contain a reference answer."""


class _Unusable(ValueError):
    """Raised with the reason why a record is left out."""


def dataset_from(rows: Iterable[Row], origin: str) -> Dataset:
    """Build a dataset from the valid records. The others become problems."""
    tasks: dict[str, Task] = {}
    truths: dict[str, str] = {}
    places: dict[str, str] = {}
    problems: list[str] = []
    for place, record in rows:
        try:
            task, truth, remark = _understood(record)
            if task.task_id in tasks:
                raise _Unusable(f"the task_id {task.task_id!r} is already used in {places[task.task_id]}")
        except _Unusable as reason:
            problems.append(f"{place}: {reason}; this question is skipped")
            continue
        tasks[task.task_id], places[task.task_id] = task, place
        if truth not in _NO_TRUTH:
            truths[task.task_id] = truth
        if remark:
            problems.append(f"{place}: {remark}")
    return dataset_of(tasks.values(), truths, origin, problems)


def _understood(record: Mapping[str, Any] | str) -> tuple[Task, str, str]:
    if isinstance(record, str):
        raise _Unusable(record)
    fields: dict[str, Any] = {}
    for name, value in record.items():
        fields.setdefault(_normalised_name(name), value)
    task_id, question = _text_field(fields, "task_id").strip(), _text_field(fields, "question")
    if not task_id.isprintable() or len(task_id) > _LONGEST_ID:
        raise _Unusable(f"the task_id must be one line of at most {_LONGEST_ID} characters")
    for name, value in (("task_id", task_id), ("question", question)):
        if not value.strip():
            raise _Unusable(f"{name} is missing")
    level = fields.get("level")
    text = str(int(level) if isinstance(level, float) and level.is_integer() else "" if level is None else level)
    is_level = re.fullmatch(r"\s*[0-9]{1,3}\s*", text)
    remark = "" if is_level or not text else "level is not a whole number; treated as unknown"
    task = Task(task_id, question, int(text) if is_level else None, _text_field(fields, "file_name").strip())
    return task, _text_field(fields, "final_answer"), remark


def _normalised_name(name: str) -> str:
    return name.strip().lower().replace(" ", "_")


def _text_field(fields: Mapping[str, Any], name: str) -> str:
    value = "" if fields.get(name) is None else fields[name]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _Unusable(f"{name} is not text")
    text = str(value)
    if any("\ud800" <= sign <= "\udfff" for sign in text):
        raise _Unusable(f"{name} contains a lone surrogate, which is not a valid character")
    return text


_DUMMY = "0-0-0-0-0"
"""A placeholder row in the test split."""
_ON_THE_HUB = re.compile(r"gaia-(validation|test)(?:@(.+))?")
_FORM = 'Each line must be a JSON object such as {"task_id": "1", "Question": "…", "Level": 1, "file_name": ""}.'


def load_questions(source: Path, settings: Settings) -> Dataset:
    """Load questions by the name given on a command line: a file, a folder, or a split on the hub.

    Args:
        source: A JSONL file; a local copy of the dataset as `FOLDER`, `FOLDER:SPLIT` or `FOLDER:CONFIG:SPLIT`; or
            `gaia-validation` or `gaia-test`, optionally followed by `@REVISION`.
        settings: Name the hub's token and the cache.

    Raises:
        DatasetError: The questions cannot be loaded.
    """
    place = str(source.absolute())
    if copy := local_copy(source):
        return replace(load_folder(*copy, settings.cache_dir / "gaia" / "datasets"), source=place)
    named = _ON_THE_HUB.fullmatch(str(source))
    if not named or source.exists():
        return replace(load_jsonl(source), source=place)
    return replace(load_hub(named[1], Hub.of(settings, revision_of(source))), source=str(source))


def local_copy(source: Path) -> tuple[Path, str, str] | None:
    """Return the folder, configuration and split of a local copy of the dataset, or None if `source` names none."""
    if source.exists() and not source.is_dir():
        return None
    for number in range(3):
        folder, *more = str(source).rsplit(":", number)
        if len(more) == number and Path(folder).is_dir():
            return Path(folder), more[0] if number == 2 else CONFIG, more[-1] if more else ""
    return None


def revision_of(source: Path) -> str:
    """Return the hub revision named on a command line. The questions' files come from the same revision."""
    named = _ON_THE_HUB.fullmatch(str(source))
    return named[2] if named and named[2] and not source.exists() else REVISION


def load_jsonl(path: Path) -> Dataset:
    """Read a question file with one JSON object per line. Invalid lines are reported and skipped.

    Raises:
        DatasetError: The file cannot be read, or contains no questions.
    """
    remedy = "Check the path of the JSONL file or dataset folder, or use gaia-validation or gaia-test to download it."
    with os_errors_as(DatasetError, f"The question file {path} cannot be read", remedy):
        rows = [(f"line {number}", record) for number, record in json_lines(read_small(path, JOURNAL))]
    return _not_empty(dataset_from(rows, str(path)), f"question file {path}")


def _not_empty(dataset: Dataset, what: str) -> Dataset:
    if not dataset.tasks:
        first = f" {one_line(dataset.problems[0], 200)}." if dataset.problems else " It is empty."
        raise DatasetError(f"The {what} contains no questions.{first}", remedy=_FORM)
    return dataset


def load_hub(split: str, hub: Hub) -> Dataset:
    """Load a split from the hub: `validation`, which has reference answers, or `test`, which has none.

    We download the table ourselves because `datasets` silently uses any cached revision if it cannot reach the hub.

    Raises:
        DatasetError: There is no network, token or such revision, or the terms have not been accepted.
    """
    path = f"2023/{split}/metadata.parquet"
    try:
        file = hub.fetch(path)
    except FileNotFoundError:
        raise DatasetError(f"{REPOSITORY} has no {path} at {hub.revision!r}.", remedy=f"Use {REVISION}.") from None
    parts = file.parts  # the cache resolves a branch or tag to its commit
    commit = parts[parts.index("snapshots") + 1] if "snapshots" in parts else hub.revision
    rows = _rows(file, CONFIG, split, hub.cache, "Delete the file; it will be downloaded again.")
    return dataset_from(rows, f"{REPOSITORY} {split} at {commit}")


def load_folder(folder: Path, config: str, split: str, cache: Path) -> Dataset:
    """Load a local copy of the dataset: in the hub's layout, from `save_to_disk`, or any that `datasets` reads.

    Args:
        folder: The copy.
        config: Configuration such as `2023_level1`; ignored for a copy written by `save_to_disk`.
        split: Defaults to `validation`, or to the only split of the copy.
        cache: Folder in which `datasets` may write.

    Raises:
        DatasetError: The copy does not exist or contains no questions.
    """
    level = "" if config == CONFIG else f".{config.removeprefix('2023_')}"
    table = folder / "2023" / (split or SPLIT) / f"metadata{level}.parquet"
    remedy = f"Give a split of this dataset, or a configuration and a split: {folder}:SPLIT or {folder}:CONFIG:SPLIT."
    tables = [str(path.relative_to(folder)) for path in sorted(folder.glob("2023/*/metadata*.parquet"))]
    if (
        tables and not table.is_file() and not (folder / "README.md").is_file()
    ):  # a README could define other configurations
        missing = table.relative_to(folder)
        raise DatasetError(f"{folder} has no {missing}. It has: {', '.join(tables)}.", remedy=remedy)
    rows = _rows(table if table.is_file() else folder, config, split, cache, remedy)
    origin = " ".join(filter(None, (str(folder), config, split)))
    return _not_empty(dataset_from(rows, origin), f"dataset {folder}")


def _rows(source: Path, config: str, split: str, cache: Path, remedy: str) -> Iterator[Row]:
    """Yield the rows of a table or folder, without the columns that describe how people solved a question.

    Error messages from `datasets` about a row are hidden, because they may contain a reference answer.
    """
    try:
        import datasets  # type: ignore[import-untyped]
        import pyarrow  # type: ignore[import-untyped]
    except ImportError:
        raise DatasetError(
            "The package `datasets` is not installed.", remedy="`alita doctor` shows how to install the extra [gaia]."
        ) from None
    datasets.disable_progress_bars()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)
    failures = (ValueError, OSError, RuntimeError, pyarrow.ArrowException, datasets.exceptions.DatasetsError)
    how = {"split": split or SPLIT, "streaming": True, "cache_dir": str(cache)}  # streaming avoids a copy in the cache
    try:
        if source.is_file():
            rows = datasets.load_dataset("parquet", data_files={how["split"]: str(source)}, **how)
        elif any((source / name).is_file() for name in ("dataset_info.json", "dataset_dict.json")):
            saved = datasets.load_from_disk(str(source))
            splits = saved if isinstance(saved, datasets.DatasetDict) else {str(saved.split or SPLIT): saved}
            chosen = split or (next(iter(splits)) if len(splits) == 1 else SPLIT)
            if chosen not in splits:
                raise ValueError(f"Bad split: {chosen}. Available splits: {[*splits]}")
            rows = splits[chosen]
        else:
            rows = datasets.load_dataset(str(source), config, **how)
        if rows.column_names:
            rows = rows.select_columns([name for name in rows.column_names if _normalised_name(name) in _FIELDS])
    except failures as error:
        problem = one_line(str(error), 300).rstrip(".")
        raise DatasetError(f"{source} cannot be read as a dataset: {problem}.", remedy=remedy) from None
    try:
        for number, record in enumerate(rows, 1):
            if record.get("task_id") != _DUMMY:
                yield f"row {number}", record
    except failures as error:
        raise DatasetError(f"The rows of {source} cannot be read ({type(error).__name__}).", remedy=remedy) from None

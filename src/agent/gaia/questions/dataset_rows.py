"""One record of a question set, in the dataset's own names or in lower-case ones, as a task and its true answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from agent.gaia.questions.task import Dataset, Task, dataset_of

LONGEST_ID = 200
"""Characters: ids are names of folders and of rows in reports."""
NO_TRUTH = frozenset({"", "?"})
"""What stands in the place of an answer that is not published."""


class Row(NamedTuple):
    """A record as it was found."""

    place: str
    """Where it stands, for people: `line 7`, `row 7`."""
    record: Mapping[str, Any] | None
    problem: str = ""
    """Why there is no record; it holds nothing of the record's text, where a true answer may stand."""


class _Unusable(ValueError):
    """Why a record is left out."""


def dataset_from(rows: Iterable[Row], origin: str) -> Dataset:
    """The tasks of the records that can be used, and what was wrong with the others."""
    tasks: dict[str, Task] = {}
    truths: dict[str, str] = {}
    places: dict[str, str] = {}
    problems: list[str] = []
    for row in rows:
        try:
            task, truth, remark = _understood(row)
            if task.task_id in tasks:
                raise _Unusable(f"the task_id {task.task_id!r} stands on {places[task.task_id]} already")
        except _Unusable as reason:
            problems.append(f"{row.place}: {reason}; left out")
            continue
        tasks[task.task_id], places[task.task_id] = task, row.place
        if truth not in NO_TRUTH:
            truths[task.task_id] = truth
        if remark:
            problems.append(f"{row.place}: {remark}")
    return dataset_of(tasks.values(), truths, origin, problems)


def _understood(row: Row) -> tuple[Task, str, str]:
    if row.record is None:
        raise _Unusable(row.problem)
    fields = _named(row.record)
    task_id, question = _text(fields, "task_id").strip(), _text(fields, "question")
    if not task_id.isprintable() or len(task_id) > LONGEST_ID:
        raise _Unusable(f"a task_id is one line of at most {LONGEST_ID} characters")
    for name, value in (("task_id", task_id), ("question", question)):
        if not value.strip():
            raise _Unusable(f"{name} is missing")
    level, remark = _level(fields.get("level"))
    file_name = _text(fields, "file_name").strip()
    return Task(task_id, question, level, file_name), _text(fields, "final_answer"), remark


def _named(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record's fields under lower-case names: `Final answer` and `final_answer` are one."""
    fields: dict[str, Any] = {}
    for name, value in record.items():
        key = name.strip().lower().replace(" ", "_")
        if fields.get(key) in (None, ""):
            fields[key] = value
    return fields


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _Unusable(f"{name} is no text")
    text = str(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _Unusable(f"{name} holds half a character (a lone surrogate)") from None
    return text


def _level(value: Any) -> tuple[int | None, str]:
    """A level, which is a number or one as text, and what is to be said about it."""
    if value in (None, ""):
        return None, ""
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    text = str(whole).strip()
    if not isinstance(value, bool) and text.isascii() and text.isdigit() and 0 < len(text) < 4:
        return int(text), ""
    return None, "level is no whole number; taken as unknown"

"""Where questions come from: a JSONL file, or the dataset on the hub."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from agent.errors import DatasetError
from agent.gaia.rows import Row, dataset_from
from agent.gaia.task import Dataset
from mcp_tools.text import one_line

LONGEST_LINE = 64 * 2**20
"""Bytes of one line of a question file."""
_BLOCK = 2**20
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_FORM = 'Each line is one JSON object such as {"task_id": "1", "Question": "…", "Level": 1, "file_name": ""}.'


def load_jsonl(path: Path) -> Dataset:
    """Reads a question file, one JSON object a line; a line that cannot be used is told and left out.

    Raises:
        DatasetError: It cannot be read, or holds no question.
    """
    try:
        with path.open("rb") as file:
            dataset = dataset_from(_lines(file, path), str(path))
    except OSError as error:
        raise DatasetError(
            f"The question file {path} cannot be read: {error.strerror}.", remedy="Name a JSONL file that exists."
        ) from None
    if not dataset.tasks:
        first = f" {one_line(dataset.problems[0], 200)}." if dataset.problems else " It is empty."
        raise DatasetError(f"The question file {path} holds no question.{first}", remedy=_FORM)
    return dataset


def _lines(file: IO[bytes], path: Path) -> Iterator[Row]:
    start = file.read(3)
    if start.startswith(_UTF16_MARKS):
        raise DatasetError(f"The question file {path} is UTF-16.", remedy="Save it as UTF-8.")
    if start != _UTF8_MARK:
        file.seek(0)
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            _skip_line(file)
            yield Row(f"line {number}", None, f"it is longer than {LONGEST_LINE // 2**20} MiB")
        elif line.strip():
            yield _row(f"line {number}", line)


def _skip_line(file: IO[bytes]) -> None:
    while (rest := file.readline(_BLOCK)) and not rest.endswith(b"\n"):
        pass


def _row(place: str, line: bytes) -> Row:
    try:
        record = json.loads(line.decode())
    except UnicodeDecodeError as error:
        return Row(place, None, f"it is not UTF-8 (byte {error.start + 1})")
    except json.JSONDecodeError as error:
        return Row(place, None, f"it is not JSON ({error.msg}, character {error.colno})")
    except (ValueError, RecursionError):
        return Row(place, None, "it is JSON that is nested too deep, or holds too long a number")
    return Row(place, record) if isinstance(record, dict) else Row(place, None, "it is no JSON object")

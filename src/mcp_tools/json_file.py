"""Small JSON files in which something is remembered, shared by processes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, TypeVar

from mcp_tools.atomic import private_folder, write_whole
from mcp_tools.small_files import RECORD, json_of, read_small

LOCK_SECONDS = 30.0

T = TypeVar("T")


class JsonFile(Generic[T]):
    """One such file, which its user alone may read.

    Args:
        path: The file.
        form: Type of its contents, for pydantic.
        empty: Contents without a file, in the file's form.
    """

    def __init__(self, path: Path, form: type[T], *, empty: Mapping[str, Any]) -> None:
        from pydantic import TypeAdapter

        self.path = path
        self._form = TypeAdapter(form)
        self._empty = empty

    def read(self) -> T:
        """The contents.

        Raises:
            OSError: It cannot be read.
            ValueError: It is damaged.
        """
        from pydantic import ValidationError

        try:
            return self._form.validate_python(json_of(read_small(self.path, RECORD)))
        except (FileNotFoundError, NotADirectoryError):
            return self._form.validate_python(self._empty)
        except ValidationError as error:
            flaw = error.errors()[0]
            raise ValueError(f"{'.'.join(map(str, flaw['loc'])) or 'all of it'}: {flaw['msg']}") from None

    def remembered(self) -> T:
        """Return the contents; the empty contents if the file is unreadable or damaged."""
        with contextlib.suppress(OSError, ValueError):
            return self.read()
        return self._form.validate_python(self._empty)

    @contextlib.contextmanager
    def changing(self) -> Iterator[T]:
        """Give the contents for a change, which is written if the block succeeds. A damaged file is put aside.

        Raises:
            OSError: It cannot be read or written, or another process held its lock for `LOCK_SECONDS` (a `Timeout`).
        """
        from filelock import FileLock

        private_folder(self.path.parent)
        with FileLock(self.path.with_suffix(".lock"), timeout=LOCK_SECONDS, mode=0o600):
            try:
                value = self.read()
            except ValueError:
                label = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
                self.path.rename(self.path.with_name(f"{self.path.stem}.damaged-{label}{self.path.suffix}"))
                value = self.remembered()
            yield value
            write_whole(self.path, json.dumps(self._form.dump_python(value, by_alias=True), indent=2).encode() + b"\n")

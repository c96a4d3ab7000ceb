"""Signs records that alita writes for this user.

The signing key is in the user's data folder, so files from elsewhere, such as an unpacked archive, have no valid
signature.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import secrets
from functools import cached_property
from pathlib import Path

from agent.user_files import writing
from mcp_tools.atomic import private, private_folder
from mcp_tools.small_files import read_small
from mcp_tools.tool import Json

_FIELD = "mac"
_BYTES = 32


class Signer:
    """Signs and verifies JSON objects with the key in a data folder. The key is created on first use."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / "signing-key"

    def signed(self, name: str, record: dict[str, Json]) -> dict[str, Json]:
        """Return a record with its signature.

        Args:
            name: Id of the run or session, which is signed along with the record.
            record: The record to sign.

        Raises:
            StorageError: The key cannot be written.
        """
        return {**record, _FIELD: self._mac(name, record)}

    def holds(self, name: str, record: dict[str, Json]) -> bool:
        """Return True if the record was signed on this machine under this name and is unchanged."""
        return hmac.compare_digest(str(record.get(_FIELD)).encode(), self._mac(name, record).encode())

    def _mac(self, name: str, record: dict[str, Json]) -> str:
        content = {key: value for key, value in record.items() if key != _FIELD}
        text = json.dumps([name, content], sort_keys=True, separators=(",", ":"))
        return hmac.digest(self._key, text.encode(), "sha256").hex()[:32]

    @cached_property
    def _key(self) -> bytes:
        with writing(self._path):
            private_folder(self._path.parent)
            if not self._path.exists():
                draft = self._path.with_name(f".{self._path.name}-{secrets.token_hex(8)}")
                with open(draft, "xb", opener=private) as file:
                    file.write(secrets.token_bytes(_BYTES))
                    os.fsync(file.fileno())
                with contextlib.suppress(FileExistsError):  # another process created it first
                    os.link(draft, self._path)
                draft.unlink()
            return read_small(self._path, _BYTES, follow=False)

"""Stored API keys: in the system keyring if there is one, else in a private file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agent.errors import SettingsError
from agent.user_files import writing
from mcp_tools.data_files import JsonFile

FILE = "keys.json"
"""File in the config folder. It maps each variable to its key, or to null if the key is in the keyring."""
OF_HOST = "@"
"""Separates the name and the host of a key that tools may send to that host: `WEATHER@api.example.com`."""
_SERVICE = "alita"


class StoredKeys:
    """The stored keys, by the environment variables that they replace.

    Args:
        folder: The config folder.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._file = JsonFile(self.path, dict[str, str | None], empty={})

    def places(self) -> dict[str, str]:
        """Return where each key is stored: `keyring` or `file`.

        Raises:
            SettingsError: The file is damaged.
        """
        return {name: "keyring" if value is None else "file" for name, value in self._read().items()}

    def values(self) -> dict[str, str]:
        """Return the keys. A key that is missing from the keyring is left out.

        Raises:
            SettingsError: The file is damaged, or the keyring cannot be read.
        """
        found = {name: _from_keyring(name) if value is None else value for name, value in self._read().items()}
        return {name: value for name, value in found.items() if value}

    def keep(self, name: str, value: str) -> str:
        """Store a key, and return its location: `keyring` or `file`.

        Raises:
            SettingsError: The file is damaged, or the keyring refuses the key.
            StorageError: The file cannot be written.
        """
        keyring = _keyring()
        with self._changing() as kept:
            if keyring is not None:
                with _keyring_errors(f"could not keep the key {name}"):
                    keyring.set_password(_SERVICE, name, value)
            kept[name] = value if keyring is None else None
        return "file" if keyring is None else "keyring"

    def drop(self, name: str) -> bool:
        """Delete a key. Return False if it was not stored.

        Raises:
            SettingsError: The file is damaged, or the keyring refuses to delete the key.
            StorageError: The file cannot be written.
        """
        if name not in self._read():
            return False
        with self._changing() as kept:
            if kept.pop(name, "") is None and (keyring := _keyring()) is not None and _from_keyring(name):
                with _keyring_errors(f"could not delete the key {name}"):
                    keyring.delete_password(_SERVICE, name)
        return True

    def _read(self) -> dict[str, str | None]:
        try:
            return self._file.read()
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it does not contain named keys"
            raise SettingsError(
                f"{self.path} cannot be read: {why}.",
                remedy="Delete the file and store the keys again with `alita keys set`.",
            ) from None

    @contextmanager
    def _changing(self) -> Iterator[dict[str, str | None]]:
        self._read()  # a damaged file is reported and not moved, because its keys exist nowhere else
        with writing(self.path), self._file.changing() as kept:
            yield kept


def _keyring() -> Any:
    """Return the system's keyring; None if there is none, or the package `keyring` is not installed."""
    if find_spec("keyring") is None:
        return None
    import keyring

    return keyring if keyring.get_keyring().priority > 0 else None


def _from_keyring(name: str) -> str | None:
    if (keyring := _keyring()) is None:
        return None
    with _keyring_errors(f"could not return the key {name}"):
        value: str | None = keyring.get_password(_SERVICE, name)
    return value


@contextmanager
def _keyring_errors(what: str) -> Iterator[None]:
    from keyring import errors

    try:
        yield
    except errors.KeyringError as error:
        raise SettingsError(f"The keyring {what}: {error}.", remedy="Unlock the keyring.") from None

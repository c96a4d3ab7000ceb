"""API keys that alita stores for the user: in the system's keyring if there is one, else in a private file."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agent.errors import SettingsError
from agent.user_files import write_file
from mcp_tools.atomic import private_folder

FILE = "keys.json"
"""In the config folder: each key by its variable, null for one in the keyring."""
_SERVICE = "alita"


class StoredKeys:
    """The kept keys, by the environment variable that each stands for.

    Args:
        folder: The config folder.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE

    def places(self) -> dict[str, str]:
        """Where each key is kept: `keyring` or `file`.

        Raises:
            SettingsError: The file is damaged.
        """
        return {name: "keyring" if value is None else "file" for name, value in self._read().items()}

    def values(self) -> dict[str, str]:
        """The keys. One that the keyring no longer has is left out.

        Raises:
            SettingsError: The file is damaged, or the keyring cannot be asked.
        """
        found = {name: _from_keyring(name) if value is None else value for name, value in self._read().items()}
        return {name: value for name, value in found.items() if value}

    def keep(self, name: str, value: str) -> str:
        """Keeps a key, and gives the place.

        Raises:
            StorageError: It cannot be written.
        """
        kept, keyring = self._read(), _keyring()
        if keyring is not None:
            keyring.set_password(_SERVICE, name, value)
        self._write({**kept, name: value if keyring is None else None})
        return "file" if keyring is None else "keyring"

    def drop(self, name: str) -> bool:
        """Removes a key; false where there is none.

        Raises:
            StorageError: It cannot be written.
        """
        kept = self._read()
        if name not in kept:
            return False
        if kept.pop(name) is None and (keyring := _keyring()) is not None and _from_keyring(name):
            keyring.delete_password(_SERVICE, name)
        self._write(kept)
        return True

    def _read(self) -> dict[str, str | None]:
        try:
            kept = json.loads(self.path.read_bytes())
            if not isinstance(kept, dict) or not all(isinstance(value, str | None) for value in kept.values()):
                raise ValueError("it does not contain named keys")
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError) as error:
            raise SettingsError(
                f"{self.path} cannot be read: {error}.", remedy="Delete it and set the keys again: alita keys set"
            ) from None
        return kept

    def _write(self, kept: dict[str, str | None]) -> None:
        private_folder(self.path.parent)
        write_file(self.path, json.dumps(kept, indent=1) + "\n")


def _keyring() -> Any:
    """The system's keyring; None without one, or without the package that speaks to it."""
    if find_spec("keyring") is None:
        return None
    import keyring

    return keyring if keyring.get_keyring().priority > 0 else None


def _from_keyring(name: str) -> str | None:
    if (keyring := _keyring()) is None:
        return None
    try:
        value: str | None = keyring.get_password(_SERVICE, name)
    except keyring.errors.KeyringError as error:
        raise SettingsError(f"The keyring could not return the key {name}: {error}.", remedy="Unlock it.") from None
    return value

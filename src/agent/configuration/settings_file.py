"""Changes the user's settings file. Each value is checked before it is written, and comments are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from agent.configuration.settings_sources import KEYS, require_known
from agent.errors import SettingsError, UsageError
from agent.user_files import write_file
from mcp_tools.atomic import private_folder
from mcp_tools.small_files import SETTINGS, read_small, toml_of

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


class SettingsFile:
    """A settings file. It may not exist yet."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def set(self, name: str, text: str, check: Callable[[dict[str, Any]], object]) -> None:
        """Write a setting.

        Example:
            >>> SettingsFile(path).set("max_steps", "20", check=read_settings)

        Args:
            name: The setting's name.
            text: The value as in TOML (`12`, `true`, `["a", "b"]`), or plain text.
            check: Reads all settings with the new one, and raises if its value is invalid.

        Raises:
            UsageError: The setting is a key.
            SettingsError: There is no such setting, its value is invalid, or the file cannot be read.
            StorageError: The file cannot be written.
        """
        if name in KEYS:
            raise UsageError(f"{name} is a key and must not be stored in a settings file.", remedy="alita keys set")
        try:
            wanted = toml_of(f"value = {text}".encode("utf-8", "surrogateescape"))["value"]
        except ValueError:  # plain text
            wanted = text
        require_known([name])
        try:
            check({name: wanted})
        except SettingsError as error:
            flag = f" (flag --{name.replace('_', '-')})"
            raise SettingsError(error.message.replace(flag, ""), remedy=error.remedy) from None
        document = self._read()
        document[name] = wanted
        self._write(document)

    def unset(self, name: str) -> None:
        """Remove a setting.

        Raises:
            UsageError: The file does not contain it.
            SettingsError: The file cannot be read.
            StorageError: The file cannot be written.
        """
        document = self._read()
        if name not in document:
            raise UsageError(
                f"{self.path} has no setting {name}.", remedy="`alita config show` lists every setting and its source."
            )
        del document[name]
        self._write(document)

    def _read(self) -> TOMLDocument:
        try:
            return tomlkit.parse(read_small(self.path, SETTINGS).decode())
        except FileNotFoundError:
            return tomlkit.document()
        except (OSError, UnicodeDecodeError, TOMLKitError) as error:
            raise SettingsError(f"{self.path} cannot be read: {error}.", remedy="alita config edit") from None

    def _write(self, document: TOMLDocument) -> None:
        private_folder(self.path.parent)
        write_file(self.path, tomlkit.dumps(document))

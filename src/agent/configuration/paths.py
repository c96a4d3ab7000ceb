"""alita's folders: the platform's usual ones, or one folder for everything if ALITA_HOME is set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from agent.errors import SettingsError

CONFIG_FILE = "config.toml"
PROJECT_FILE = "alita.toml"
TOOLS_FOLDER = "generated_tools"


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders with settings and all of alita's files, except created tools."""

    config: Path
    data: Path
    cache: Path
    runtime: Path
    """Folder for sockets and locks. The system deletes it when the user logs out."""

    @property
    def config_file(self) -> Path:
        """The user's settings file."""
        return self.config / CONFIG_FILE


def find_folders(environment: Mapping[str, str]) -> Folders:
    """Return the folders for this environment.

    Raises:
        SettingsError: The user has no home folder.
    """
    if config := environment.get("ALITA_CONFIG_DIR", "").strip():
        others = find_folders({**environment, "ALITA_CONFIG_DIR": ""})
        return replace(others, config=Path(config).expanduser().absolute())
    if home := environment.get("ALITA_HOME", "").strip():
        root = Path(home).expanduser().absolute()
        return Folders(root / "config", root / "data", root / "cache", root / "runtime")
    import platformdirs

    dirs = platformdirs.PlatformDirs("alita", appauthor=False)
    session = environment.get("XDG_RUNTIME_DIR", "")
    try:
        runtime = Path(session) / "alita" if session and Path(session).is_dir() else dirs.user_cache_path / "runtime"
        return Folders(dirs.user_config_path, dirs.user_data_path, dirs.user_cache_path, runtime)
    except RuntimeError as error:  # in containers that run under an arbitrary user id
        raise SettingsError(
            "this user has no home folder", remedy="Set ALITA_HOME to a folder that this user owns."
        ) from error


def default_tools_folder(data: Path, current: Path) -> Path:
    """Return `generated_tools` in the current folder if it exists, else in the data folder."""
    here = current / TOOLS_FOLDER
    return here if here.is_dir() else data / TOOLS_FOLDER

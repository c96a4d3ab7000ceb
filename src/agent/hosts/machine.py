"""Where programs keep their settings on this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Machine:
    """A platform, a home and an environment."""

    platform: str
    """As `sys.platform` says it: `linux`, `darwin`, `win32`."""
    home: Path
    environment: Mapping[str, str]

    @classmethod
    def this(cls) -> Machine:
        """The one that this process runs on."""
        return cls(sys.platform, Path.home(), os.environ)

    @property
    def programs(self) -> Path:
        """Where desktop programs keep their settings."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return self.folder("APPDATA", self.home / "AppData" / "Roaming")
        return self.folder("XDG_CONFIG_HOME", self.home / ".config")

    def folder(self, variable: str, otherwise: Path) -> Path:
        """The folder that a variable names, if it names an absolute one."""
        named = self.environment.get(variable, "").strip()
        return Path(named) if named and Path(named).is_absolute() else otherwise

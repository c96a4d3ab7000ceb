"""The user's own code as packages: wheels that are identified by a hash of their content."""

from __future__ import annotations

import re
from pathlib import Path

from mcp_tools.atomic import private_folder, write_whole
from mcp_tools.environments.lock import PackageError
from mcp_tools.errors import UserError, os_errors_as

FOLDER = "wrapped"
_FORM = re.compile(r"([a-z0-9]+(?:-[a-z0-9]+)*)==([0-9a-z.]+)\+wrapped([0-9a-f]{32})", re.ASCII)


def requirement_of(name: str, version: str, digest: str) -> str:
    """Return the requirement for a wheel with this content hash. Such a version never exists on an index."""
    return f"{name}=={version}+wrapped{digest}"


def is_wrapped(requirement: str) -> bool:
    """Return True if a requirement stands for the user's own code."""
    return _FORM.fullmatch(requirement) is not None


def label_of(requirement: str) -> str:
    """Return a requirement for display, such as `roman 1.2 / 3f9a…`."""
    found = _FORM.fullmatch(requirement)
    return f"{found[1]} {found[2]} / {found[3]}" if found else requirement


def wheel_name(requirement: str) -> str:
    """Return the file name of the wheel for a requirement."""
    name, _, version = requirement.partition("==")
    return f"{name.replace('-', '_')}-{version}-py3-none-any.whl"


class WrappedCode:
    """Stores the wheels of the user's own code.

    Args:
        folder: The folder with the wheels.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, requirement: str, wheel: bytes) -> None:
        """Store a wheel if it is new.

        Raises:
            UserError: The file cannot be written.
        """
        path = self.folder / wheel_name(requirement)
        with os_errors_as(UserError, f"{path} cannot be written"):
            if not path.exists():
                private_folder(self.folder)
                write_whole(path, wheel)

    def wheel(self, requirement: str) -> Path:
        """Return the path of the wheel for a requirement.

        Raises:
            PackageError: It is not on this machine.
        """
        path = self.folder / wheel_name(requirement)
        if not path.is_file():
            raise PackageError(
                f"the code of {label_of(requirement)} is not on this machine: import an export of the tool, or wrap "
                "the code again with `alita tools wrap`"
            )
        return path

    def requires(self, requirement: str) -> list[str]:
        """Return the packages that the wheel for a requirement depends on.

        Raises:
            PackageError: It is not on this machine.
        """
        import zipfile
        from email.parser import Parser

        path = self.wheel(requirement)
        try:
            with zipfile.ZipFile(path) as archive:
                name = next(one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
                about = Parser().parsestr(archive.read(name).decode(), headersonly=True)
        except (OSError, ValueError, StopIteration, zipfile.BadZipFile):
            raise PackageError(f"{path} is not a valid wheel: delete it and wrap the code again") from None
        return about.get_all("Requires-Dist", [])

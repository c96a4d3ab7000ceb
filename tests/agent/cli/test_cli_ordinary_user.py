"""Tests of safety once more as an ordinary user, where the tests run as root: root passes checks that others meet.

The sandbox has its own matrix of users: `tests/mcp_tools/sandbox/test_hostile_calls.py`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
NOBODY = 65534
FILES = (
    "agent/cli/test_cli_foreign_conversations.py::test_a_foreign_session_is_trusted_only_on_demand",
    "agent/cli/test_cli_foreign_library.py::test_no_command_opens_a_database_of_the_folder[tools search]",
    "agent/gaia/test_gaia_attachments.py::test_no_link_beside_the_questions_leads_out_of_their_folder",
    "agent/store/test_foreign_runs.py::test_nothing_is_written_through_a_link_in_a_run",
    "mcp_tools/test_small_files.py::test_a_draft_of_another_user_is_not_written",
    "mcp_tools/test_written.py",
)


def python_of_all() -> str:
    """An interpreter of this version that every user can reach."""
    wanted = f"python3.{sys.version_info.minor}"
    for program in (sys._base_executable, f"/usr/bin/{wanted}", f"/usr/local/bin/{wanted}"):
        path = Path(program).resolve()
        if path.exists() and all(parent.stat().st_mode & 0o001 for parent in path.parents):
            return program
    pytest.skip(f"no {wanted} that another user can reach")


@pytest.mark.timeout(600)
@pytest.mark.xdist_group("processes of nobody")
@pytest.mark.skipif(os.geteuid() != 0, reason="all tests run as an ordinary user already")
def test_an_ordinary_user_is_as_safe_as_root():
    if not all(parent.stat().st_mode & 0o001 for parent in (ROOT, *ROOT.parents)):
        pytest.skip(f"another user cannot reach {ROOT}")
    python, sites = python_of_all(), sysconfig.get_path("purelib")
    with tempfile.TemporaryDirectory(prefix="alita-test-") as name:
        Path(name).chmod(0o755)
        own = Path(name) / "own"
        own.mkdir()
        os.chown(own, NOBODY, NOBODY)
        options = ["-q", "-n", "0", "-m", "not model", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml")]
        options += ["--basetemp", str(own / "tests")]
        done = subprocess.run(
            [python, "-m", "pytest", *options, *(str(ROOT / "tests" / file) for file in FILES)],
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(own),
                "TMPDIR": str(own),
                "LANG": "C.UTF-8",
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), sites)),
            },
            cwd=own,
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            capture_output=True,
            text=True,
            timeout=590,
        )
        shutil.rmtree(own, ignore_errors=True)
    assert done.returncode == 0, done.stdout[-5_000:] + done.stderr[-2_000:]
    assert " passed" in done.stdout

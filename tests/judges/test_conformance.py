"""The conformance suite of the protocol's own project, on both wires, over fixtures that run in the real sandbox."""

from __future__ import annotations

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from judging import HERE, NODE_FOLDER, Served, over_http

VERSIONS = ("2025-11-25", "2026-07-28")
_ENTRY = re.compile(r"  - (?P<entry>\S+)  # (?P<reason>.+)")


def baseline(version: str) -> Path:
    """What is expected to fail on one wire."""
    return HERE / f"baseline-{version}.yml"


def judged(node: Path, url: str, version: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs all scenarios of one wire."""
    command = [node, NODE_FOLDER / ".bin" / "conformance", "server", "--url", url, "--suite", "all"]
    command += ["--spec-version", version, "--expected-failures", baseline(version), "--output-dir", folder]
    clean = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    return subprocess.run(
        [str(part) for part in command], env=clean, cwd=folder, capture_output=True, text=True, timeout=170, check=False
    )


@pytest.mark.slow
@pytest.mark.node
@pytest.mark.timeout(180)
def test_every_scenario_of_what_is_offered_passes(node: Path, tmp_path: Path) -> None:
    """A failure that the baseline does not name fails the suite, and so does an entry of the baseline that passes."""
    folders = [tmp_path / name for name in ("home", *VERSIONS)]
    for folder in folders:
        folder.mkdir()
    with (
        over_http(Served(folders[0], program=HERE / "serve_conformance.py")) as served,
        ThreadPoolExecutor() as threads,
    ):
        jobs = [threads.submit(judged, node, served.url, version, tmp_path / version) for version in VERSIONS]
    for job in jobs:
        done = job.result()
        assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
        assert "Baseline check passed" in done.stdout


@pytest.mark.parametrize("version", VERSIONS)
def test_every_expected_failure_has_its_reason(version: str) -> None:
    """A line of a baseline is an entry and why."""
    lines = baseline(version).read_text(encoding="utf-8").splitlines()
    entries = [line for line in lines if line.strip() and not line.startswith("#") and line != "server:"]
    assert entries
    assert [line for line in entries if not _ENTRY.fullmatch(line)] == []

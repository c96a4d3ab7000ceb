"""`alita doctor` says which Chromium is used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.cli.verbs.doctor import diagnose
from agent.configuration.settings_sources import read_settings


def test_the_chosen_browser_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "chrome"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("ALITA_CHROME", str(program))
    found = next(one for one in diagnose(read_settings()) if one.name == "browser")
    as_root = ", without its own sandbox while alita runs as root" if os.geteuid() == 0 else ""
    assert (found.ok, found.detail) == (True, f"{program} (the setting chrome){as_root}")
    monkeypatch.setenv("ALITA_CHROME", str(tmp_path / "nothing"))
    found = next(one for one in diagnose(read_settings()) if one.name == "browser")
    assert (found.ok, found.needed, found.remedy) == (False, False, "Correct ALITA_CHROME.")
    assert str(tmp_path / "nothing") in found.detail

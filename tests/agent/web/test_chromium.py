"""Where Chromium is looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.configuration.settings_sources import read_settings
from agent.files.media.speech import Speech
from agent.web import chromium
from agent.web.chromium import find_chromium
from agent.web.engines.search_engines import open_web
from agent.web.page import WebProblem
from support.web_server import WebServer


def _program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without one."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PLAYWRIGHT_BROWSERS_PATH", raising=False)
    monkeypatch.setattr(chromium, "_SYSTEM", ())
    return tmp_path


def test_the_users_choice_comes_first(bare: Path) -> None:
    _program(bare / "bin/chromium")
    own = _program(bare / "own/chrome")
    assert find_chromium(own) == chromium.Chromium(own, "the setting chrome")
    named = _program(bare / "bin/my-chrome")
    assert find_chromium(Path("my-chrome")).path == named


@pytest.mark.parametrize("name", ["nowhere/chrome", "a-folder", "no-program"])
def test_a_choice_that_is_no_program_is_told(bare: Path, name: str) -> None:
    _program(bare / "bin/chromium")
    (bare / "a-folder").mkdir()
    (bare / "no-program").write_text("text")
    with pytest.raises(WebProblem, match=name) as caught:
        find_chromium(bare / name)
    assert (caught.value.reason, caught.value.remedy) == ("browser", "Correct ALITA_CHROME.")


def test_the_path_comes_before_playwrights_cache_and_that_before_the_system(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = _program(bare / "usr/chromium")
    monkeypatch.setattr(chromium, "_SYSTEM", (system,))
    assert find_chromium() == chromium.Chromium(system, "the system")
    _program(bare / ".cache/ms-playwright/chromium-999/chrome-linux/chrome")
    newest = _program(bare / ".cache/ms-playwright/chromium-1194/chrome-linux64/chrome")
    assert find_chromium() == chromium.Chromium(newest, "Playwright's cache")
    in_path = _program(bare / "bin/google-chrome")
    assert find_chromium() == chromium.Chromium(in_path, "PATH")


def test_without_any_the_message_says_how_to_install_one() -> None:
    with pytest.raises(WebProblem) as caught:
        find_chromium()
    assert caught.value.reason == "browser"
    assert "apt-get install chromium" in caught.value.remedy


@pytest.mark.parametrize(("download", "is_tried"), [("terminal", False), ("never", False), ("always", True)])
async def test_without_a_terminal_it_is_downloaded_only_where_the_settings_say_so(
    web: WebServer, bare: Path, monkeypatch: pytest.MonkeyPatch, download: str, is_tried: bool
) -> None:
    tried: list[str] = []

    async def outcome(name: str, command: list[str]) -> str:
        tried.append(name)
        return "no network"

    monkeypatch.setattr(chromium, "_outcome", outcome)
    monkeypatch.setattr(chromium, "_ways", lambda: {"vendor": ["fetch"]})
    monkeypatch.setattr(chromium, "_failed", [])
    monkeypatch.setattr("sys.stdin", None)
    web.page("/app", "<div id=root></div><p>Ferries</p><script>go()</script>")
    settings = read_settings({"download": download, "allow_private": True}, environment={"ALITA_HOME": str(bare)})
    _, reader = open_web(settings, bare / "files", lambda _: None, Speech())
    try:
        page = await reader.read(f"{web.url}/app")
    finally:
        await reader.aclose()
    assert tried == ["vendor"] * is_tried
    assert ("not allowed without a terminal" in " ".join(page.notes)) is not is_tried


async def test_the_note_says_that_chromium_is_installed_with_apt_get(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def outcome(name: str, command: list[str]) -> str:
        if name == "Debian":
            _program(bare / "bin/chromium")
        return f"{name}: no network"

    monkeypatch.setattr(chromium, "_outcome", outcome)
    monkeypatch.setattr(chromium, "_ways", lambda: {"Playwright": ["python"], "Debian": ["apt-get"], "more": ["never"]})
    monkeypatch.setattr(chromium, "_failed", [])
    notes: list[str] = []
    assert (await chromium.ready_chromium(None, notes.append)).found == "PATH"
    assert [note.partition(" to render")[0] for note in notes] == [
        "downloading Chromium",
        "installing chromium with apt-get as root",
    ]

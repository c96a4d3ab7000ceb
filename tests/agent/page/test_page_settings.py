"""Settings and checks as the page shows and changes them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.cli.verbs.doctor import DoctorFinding
from agent.configuration.settings import Settings
from agent.configuration.settings_sources import KEYS, NOT_FOR_PROJECTS, read_settings
from agent.page.html import settings_table
from agent.page.settings_tab import CHANGEABLE, SettingsEditor, checked, described

ATTACK = "<img src=x onerror=alert(1)>"


@pytest.fixture
def file() -> Path:
    """The user's own settings file, with a comment."""
    path = read_settings({}).config_dir / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("# mine\nmax_steps = 7\n")
    return path


@pytest.fixture
def applied() -> list[Settings]:
    return []


@pytest.fixture
def reviewer(applied: list[Settings], file: Path) -> SettingsEditor:
    read: Callable[..., Settings] = lambda **more: read_settings({"max_tokens": 500, **more})  # noqa: E731
    return SettingsEditor(read, applied.append)


def test_settings_are_shown_without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-thekeythatnobodyshows1234567890")
    monkeypatch.setenv("ALITA_MODEL", ATTACK)
    shown = settings_table(read_settings({}))
    assert "thekeythat" not in shown
    assert "<img" not in shown
    assert "<th>model</th><td>&lt;img" in shown


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("max_steps", "9", 9),
        ("approval", "ask", "ask"),
        ("servers", "files, web", "files, web"),
        ("use_cache", "false", False),
        ("model", ATTACK, ATTACK),
    ],
)
def test_a_setting_is_changed_in_the_users_file_and_applies(
    reviewer: SettingsEditor, file: Path, applied: list[Settings], name: str, value: str, kept: object
) -> None:
    shown = reviewer.change(name, value)
    assert (shown, "<img" in shown) == (f'<p class="good">{name} is set.</p>', False)
    text = file.read_text()
    assert (text.startswith("# mine"), tomllib.loads(text)[name]) == (True, kept)
    typed, about = described(applied[-1], name)
    assert (typed, str(file) in about) == (value, True)


def test_a_setting_is_removed_again(reviewer: SettingsEditor, file: Path, applied: list[Settings]) -> None:
    assert "is removed" in reviewer.change("max_steps", None)
    assert (file.read_text(), applied[-1].max_steps) == ("# mine\n", 12)
    assert "has no setting max_steps" in reviewer.change("max_steps", None)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        pytest.param("max_steps", "many", "it is not a whole number", id="no number"),
        pytest.param("max_steps", "0", "max_steps has the invalid value 0", id="too few"),
        pytest.param("approval", ATTACK, "approval has the invalid value", id="another word"),
        pytest.param("engines", "absent", "engines has the invalid value", id="no engine"),
        pytest.param("model_x", "1", "Select a setting", id="no setting"),
        pytest.param(None, "1", "Select a setting", id="none"),
        *(pytest.param(name, "x", "Select a setting", id=name) for name in ("isolation", "chrome", "tools_dir", *KEYS)),
    ],
)
def test_what_cannot_be_set_changes_nothing(
    reviewer: SettingsEditor, file: Path, applied: list[Settings], name: str | None, value: str, told: str
) -> None:
    before, shown = file.read_bytes(), reviewer.change(name, value)
    assert (told in shown, "<img" in shown, file.read_bytes(), applied) == (True, False, before, [])


def test_no_key_folder_or_program_can_be_set_on_the_page() -> None:
    others = {"approval", "packages", "hosts", "download", "keep_runs", "log_days"}
    assert {*CHANGEABLE} <= {*Settings.model_fields}
    assert {*CHANGEABLE} & {*NOT_FOR_PROJECTS} == others


def test_a_flag_that_wins_is_told(reviewer: SettingsEditor, applied: list[Settings]) -> None:
    assert "flag --max-tokens overrides it" in reviewer.change("max_tokens", "900")
    assert applied[-1].max_tokens == 500


def test_checks_are_shown_without_keys_and_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-thekeythatnobodyshows1234567890")
    settings = read_settings({})
    found = [
        DoctorFinding("model", False, f"{ATTACK} sk-thekeythatnobodyshows1234567890", ATTACK),
        DoctorFinding("python", True, ""),
    ]
    shown = checked(settings, lambda _: (found, "Not ready: model."))
    assert "✗ model" in shown
    assert "✓ python" in shown
    assert ("<img" in shown, "thekeythat" in shown) == (False, False)

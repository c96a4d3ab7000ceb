"""`alita doctor` says which private addresses may be opened."""

from __future__ import annotations

import pytest

from agent.cli.verbs.doctor import diagnose
from agent.configuration.settings_sources import read_settings


@pytest.mark.parametrize(
    ("variable", "value", "found"),
    [
        ("ALITA_ALLOW_PRIVATE", "true", [(True, "all of this machine")]),
        (
            "ALITA_ALLOW_ADDRESSES",
            "10.1.0.0/16, localhost:80, nowhere.invalid, http://169.254.169.254",
            [
                *((True, "10.1.0.0/16"), (True, "localhost:80 (")),
                *((False, "There is no host nowhere.invalid"), (False, "never opened")),
            ],
        ),
    ],
)
def test_allowed_addresses_are_shown(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, found: list[tuple[bool, str]]
) -> None:
    monkeypatch.setenv(variable, value)
    shown = [one for one in diagnose(read_settings()) if one.name == "addresses"]
    assert [(one.ok, said in one.detail) for one, (_, said) in zip(shown, found, strict=True)] == [
        (ok, True) for ok, _ in found
    ]

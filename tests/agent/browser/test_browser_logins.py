"""Logins: read from a file of the user's alone, filled in at their host, and never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.browser.logins import Login, hidden, login_for, read_logins
from agent.errors import SettingsError

ANNA = Login("shop.example", "anna", "s3cret-1")
ENTRY = '[[login]]\nhost = "shop.example"\nuser = "anna"\npassword = "s3cret-1"\n'


def write(path, text, mode=0o600):
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_file_gives_its_logins(tmp_path):
    assert read_logins(write(tmp_path / "logins.toml", ENTRY)) == (ANNA,)
    assert "s3cret" not in repr(ANNA)


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        (ENTRY, 0o644, "is readable by other users"),
        ("[[login]]\npassword = s3cret-1", 0o600, "not valid TOML"),
        ('[[login]]\nhost = "shop.example"', 0o600, "host, user and password"),
        (ENTRY.replace("shop.example", "https://shop.example/"), 0o600, "is not a host"),
        ('login = "s3cret-1"', 0o600, "no .* entries"),
    ],
)
def test_a_bad_file_is_refused_without_quoting_it(tmp_path, text, mode, said):
    with pytest.raises(SettingsError, match=said) as refused:
        read_logins(write(tmp_path / "logins.toml", text, mode))
    assert "s3cret" not in str(refused.value)


def test_a_tilde_is_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "logins.toml", ENTRY)
    assert read_logins(Path("~/logins.toml")) == (ANNA,)


def test_a_missing_file_is_named_with_the_settings_that_name_it(tmp_path):
    with pytest.raises(SettingsError, match="cannot be read") as refused:
        read_logins(tmp_path / "nowhere.toml")
    assert refused.value.remedy == "Correct ALITA_LOGINS, or logins in config.toml."


@pytest.mark.parametrize(
    ("url", "known"),
    [
        ("https://shop.example/login", True),
        ("https://SHOP.example:8443/", True),
        ("https://www.shop.example/", False),
        ("https://shop.example.evil.example/", False),
        ("https://shop.example@evil.example/", False),
        ("about:blank", False),
    ],
)
def test_a_login_belongs_to_one_host(url, known):
    assert (login_for(url, [ANNA]) is ANNA) is known


def test_what_is_shown_holds_no_login():
    assert hidden("Hello anna, s3cret-1! Joanna xs3cret-1x", [ANNA]) == "Hello <user>, <password>! Joanna x<password>x"


def test_a_login_is_hidden_as_addresses_write_it():
    odd = Login("shop.example", "a n&a@b", "p/w d?1é")
    address = "https://shop.example/?u=a%20n%26a%40b&v=a+n%26a%40b&p=p%2Fw+d%3F1%C3%A9"
    assert hidden(address, (odd,)) == "https://shop.example/?u=<user>&v=<user>&p=<password>"

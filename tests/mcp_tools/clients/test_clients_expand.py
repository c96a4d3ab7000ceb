"""Variables in entries: their values reach the server, are named when they are missing, and are secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_tools.clients.config_files import HIDDEN, expand
from mcp_tools.clients.config_parser import ServerEntry
from mcp_tools.errors import ServersFileError

HERE = Path("/work/place")
ENTRY = ServerEntry(name="x", command="run", path=Path("/f/mcp.json"))
VARIABLES = {"KEY": "correct-horse", "EMPTY": "", "HOME": "/home/me", "THE_KEY": "battery-staple", "SHORT": "ab"}


def changed(**fields: object) -> ServerEntry:
    return ENTRY.model_copy(update=fields)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${KEY}", "correct-horse"),
        ("a${env:KEY}b", "acorrect-horseb"),
        ("${NONE:-there}", "there"),
        ("${EMPTY:-full}", "full"),
        ("${workspaceFolder}/x", "/work/place/x"),
        ("${userHome}${/}x", "/home/me/x"),
        ("${input:the-key}", "battery-staple"),
        ("$KEY {KEY} $${KEY", "$KEY {KEY} $${KEY"),
    ],
)
def test_what_stands_for_what(text: str, value: str) -> None:
    entry = changed(arguments=(text,))
    assert expand(entry, VARIABLES, HERE).arguments == (value,)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("${NONE}", "needs the variable NONE, which is not set"),
        ("${input:api-key}", "needs the variable API_KEY, which is not set"),
        ("${config:python}", "uses ${config:python}, which is not supported"),
        ("${}", "uses ${}, which is not supported"),
    ],
)
@pytest.mark.parametrize("field", ["command", "url", "folder", "arguments", "environment", "headers"])
def test_what_is_missing_is_named_wherever_it_stands(text: str, said: str, field: str) -> None:
    value = {"arguments": (text,), "environment": {"A": text}, "headers": {"A": text}}.get(field, text)
    with pytest.raises(ServersFileError) as told:
        expand(changed(**{field: value}), VARIABLES, HERE)
    assert said in told.value.message
    assert told.value.remedy


def test_values_of_variables_and_of_secret_names_are_hidden() -> None:
    entry = changed(
        arguments=("--key=${KEY}", "${HOME}", "${SHORT}", "${REGION}", "${DSN}"),
        environment={"API_TOKEN": "literal-token", "MODE": "production"},
        headers={"Authorization": "Bearer abcdefgh"},
    )
    expanded = expand(entry, {**VARIABLES, "REGION": "eu-west-1", "DSN": "pg://u:p4ss@db/x"}, HERE)
    text = "correct-horse literal-token production /home/me ab eu-west-1 pg://u:p4ss@db/x abcdefgh"
    assert expanded.hide(text) == f"{HIDDEN} {HIDDEN} production /home/me ab eu-west-1 {HIDDEN} {HIDDEN}"


def test_a_value_is_not_expanded_again() -> None:
    entry = changed(arguments=("${TRICK}",))
    assert expand(entry, {"TRICK": "${KEY}", "KEY": "no"}, HERE).arguments == ("${KEY}",)


@pytest.mark.parametrize("value", ["a\nb", "ключ-к-двери"])
def test_a_header_that_no_request_can_carry_is_told_without_its_value(value: str) -> None:
    with pytest.raises(ServersFileError, match="that requests cannot contain") as told:
        expand(changed(headers={"X": "${V}"}), {"V": value}, HERE)
    assert value not in str(told.value)


def test_a_server_of_the_user_runs_at_home_and_one_of_a_project_in_it() -> None:
    assert expand(ENTRY, VARIABLES, HERE).folder == Path("/home/me")
    assert expand(ENTRY, {}, HERE).folder == Path("/")
    assert expand(changed(folder="sub"), VARIABLES, HERE).folder == HERE / "sub"
    assert expand(changed(scope="project"), VARIABLES, HERE).folder == HERE

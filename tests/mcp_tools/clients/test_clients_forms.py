"""Settings files of every client that alita reads, and whatever else may stand in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_tools.clients.config_parser import ServerEntry, as_form, parse, parse_document

PATH = Path("/somewhere/mcp.json")


def read(text: str) -> list[ServerEntry]:
    parsed = parse(text, PATH, "user")
    assert not parsed.problems
    return list(parsed.entries)


def wrong(form: Any) -> str:
    parsed = parse_document({"mcpServers": {"x": form, "good": {"command": "ok"}}}, PATH, "user")
    assert [entry.name for entry in parsed.entries] == ["good"], "one bad entry must not hide the others"
    (problem,) = parsed.problems
    assert problem.where == f"{PATH}: x"
    return problem.message


@pytest.mark.parametrize("key", ["url", "serverUrl", "httpUrl"])
@pytest.mark.parametrize("kind", [{}, {"type": "http"}, {"type": "streamable-http"}, {"type": "streamableHttp"}])
def test_the_forms_of_remote_servers(key: str, kind: dict[str, str]) -> None:
    form = {**kind, key: "https://example.org/mcp", "headers": {"Authorization": "Bearer ${T}"}}
    (entry,) = read(json.dumps({"mcpServers": {"web": form}}))
    assert (entry.url, entry.headers) == ("https://example.org/mcp", {"Authorization": "Bearer ${T}"})


def test_the_form_of_vs_code_with_comments_and_inputs() -> None:
    text = """{
      // keys are asked for
      "inputs": [{"type": "promptString", "id": "the-key", "password": true}],
      "servers": {
        "web": {"type": "http", "url": "https://example.org/a//b", /* not a comment: // */
                "headers": {"X-Key": "${input:the-key}"},},
      },
    }"""
    (entry,) = read(text)
    assert entry.url == "https://example.org/a//b"
    assert entry.headers == {"X-Key": "${input:the-key}"}


WRONG = {
    "no object": (["npx"], "not a JSON object"),
    "neither": ({}, "neither `command` nor `url`"),
    "both": ({"command": "a", "url": "https://b"}, "both"),
    "old transport": ({"type": "sse", "url": "https://b"}, "SSE transport from 2024"),
    "no address": ({"url": "file:///etc/passwd"}, "not a valid address"),
    "null in command": ({"command": "a\0b"}, "`command`: "),
    "args": ({"command": "a", "args": "-y"}, "`args`: "),
    "env value": ({"command": "a", "env": {"A": ["x"]}}, "`env.A`: Input should be a valid string"),
    "env name": ({"command": "a", "env": {"A=B": "x"}}, "'A=B' contains ="),
    "header with a line": (
        {"url": "https://a", "headers": {"A": "x\r\nB: y"}},
        "`headers`: the entry 'A' is empty or contains unprintable characters",
    ),
    "limit": ({"command": "a", "alita": {"callSeconds": 0}}, "`alita.callSeconds`: Input should be greater than 0"),
    "unknown limit": ({"command": "a", "alita": {"cals": 1}}, "`alita.cals`: Extra inputs are not permitted"),
}


@pytest.mark.parametrize(("form", "message"), WRONG.values(), ids=WRONG.keys())
def test_what_an_entry_cannot_say_is_a_problem_of_that_entry(form: Any, message: str) -> None:
    assert message in wrong(form)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "neither an object `mcpServers` nor an object `servers`"),
        ('{"mcpServers": []}', "neither an object `mcpServers` nor an object `servers`"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_settings_file_is_one_problem(text: str, message: str) -> None:
    (problem,) = parse(text, PATH, "user").problems
    assert message in problem.message


@pytest.mark.parametrize("name", ["", " ", "a\nb", "\x1b[31m", "x" * 101])
def test_a_name_is_printable(name: str) -> None:
    parsed = parse_document({"mcpServers": {name: {"command": "a"}}}, PATH, "user")
    assert "printable characters" in parsed.problems[0].message


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)
KEYS = ("type", "command", "args", "env", "cwd", "url", "headers", "disabled", "alita", "transport", "x")
FORMS = st.dictionaries(st.sampled_from(KEYS), VALUES | st.text(max_size=5) | st.lists(st.text(max_size=5)))
FILES = VALUES | st.fixed_dictionaries({"mcpServers": st.dictionaries(st.text(max_size=8), FORMS | VALUES)})


def test_a_decision_of_trust_holds_for_the_same_entry_in_every_version() -> None:
    """The digests are in files that users have."""
    local = {"command": " npx ", "args": ["-y", " x "], "env": {"K": 1, "B": True, "N": None}, "cwd": " /tmp "}
    remote = {"serverUrl": "https://example.org/mcp", "headers": {"A": "b"}, "arguments": ["not ours"]}
    entries = parse_document({"mcpServers": {"a": local, "b": remote}}, PATH, "project").entries
    assert [entry.digest[:12] for entry in entries] == ["39cae55bbb30", "4f28547a2b34"]


@given(FILES)
def test_no_file_raises_and_what_is_read_is_read_again_the_same(document: Any) -> None:
    parsed = parse_document(document, PATH, "project")
    for entry in parsed.entries:
        (again,) = parse_document({"mcpServers": {entry.name: as_form(entry)}}, PATH, "project").entries
        assert again == entry
        assert again.digest == entry.digest
        assert entry.shown


def test_the_digest_changes_with_all_that_decides_what_runs() -> None:
    base = {"command": "a", "args": ["b"], "env": {"C": "d"}, "cwd": "e"}
    others = [{"command": "x"}, {"args": []}, {"env": {"C": "e"}}, {"cwd": "f"}]
    forms = [base, *({**base, **other} for other in others)]
    entries = [parse_document({"mcpServers": {"n": form}}, PATH, "project").entries[0] for form in forms]
    assert len({entry.digest for entry in entries}) == len(forms)


STEERING = """
PATH LD_PRELOAD DYLD_INSERT_LIBRARIES PYTHONPATH NODE_OPTIONS BASH_ENV IFS GIT_SSH_COMMAND npm_config_registry
UV_INDEX_URL PIP_INDEX_URL HOME https_proxy JAVA_TOOL_OPTIONS PERL5LIB LUA_INIT LUA_INIT_5_4 MAVEN_OPTS PHPRC
PHP_INI_SCAN_DIR ERL_FLAGS ERL_AFLAGS GIT_TOKEN SSH_KEY
"""


@pytest.mark.parametrize("variable", STEERING.split())
def test_a_project_sets_no_variable_that_changes_which_code_runs(variable: str, tmp_path: Path) -> None:
    text = json.dumps({"mcpServers": {"evil": {"command": "npx", "env": {variable: "x"}}, "good": {"command": "npx"}}})
    parsed = parse(text, tmp_path / ".mcp.json", "project")
    assert [entry.name for entry in parsed.entries] == ["good"]
    assert f"its variable {variable} would change which code runs" in parsed.problems[0].message
    assert len(parse(text, tmp_path / "mcp.json", "user").entries) == 2


@pytest.mark.parametrize(
    "variable",
    [
        "FUTURE_LOADER",
        "TOKENIZER_MODEL",
        "AUTH_HOOK",
        "SESSION_MANAGER",
        "KEYMAP",
        "token",
        "SECRET_SCRIPT",
        "REGISTRY",
    ],
)
def test_a_variable_of_no_harmless_form_is_shown_with_its_value_and_a_mark(variable: str, tmp_path: Path) -> None:
    text = json.dumps({"mcpServers": {"one": {"command": "npx", "env": {"LOG": "1", variable: "evil.so"}}}})
    (entry,) = parse(text, tmp_path / ".mcp.json", "project").entries
    assert entry.given == f"variables LOG=1, {variable}=evil.so (may change which code runs)"
    (own,) = parse(text, tmp_path / "mcp.json", "user").entries
    assert "may change" not in own.given


@pytest.mark.parametrize(
    "variable", ["NODE_ENV", "PYTHONUNBUFFERED", "GITHUB_TOKEN", "GOOGLE_API_KEY", "NPM_TOKEN", "LOG"]
)
def test_other_variables_of_a_project_are_shown_with_their_values(variable: str, tmp_path: Path) -> None:
    text = json.dumps({"mcpServers": {"good": {"command": "npx", "env": {variable: "full-value"}}}})
    (entry,) = parse(text, tmp_path / ".mcp.json", "project").entries
    assert variable in entry.given
    assert ("full-value" in entry.given) is not any(word in variable for word in ("TOKEN", "KEY"))

"""What users of other programs expect of a command line."""

from __future__ import annotations

import json
import os
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from support.command import Terminal
from support.fibonacci import decide
from support.openai_server import OpenAIServer

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 8}, "people": {"type": "integer"}},
    "required": ["city", "people"],
}
PARIS = {"city": "Paris", "people": 2_100_000}


def says(text: str, **more: object) -> dict:
    return decide("answer", answer=text) | more


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("version", "alita --version"),
        ("key list", "alita keys list"),
        ("list tools", "alita runs list"),
    ],
)
def test_words_that_look_like_commands_reach_no_model(terminal: Terminal, words: str, meant: str) -> None:
    got = terminal.call(*words.split())
    assert got.code == 2
    assert f"Did you mean: {meant}\n" in got.err
    assert f'alita ask "{words.split()[0]} …"' in got.err
    assert terminal.runs == []


def test_a_follow_up_goes_on_with_the_last_question_and_then_with_its_session(terminal: Terminal) -> None:
    model = terminal.script(
        says("Madrid", when="And of Spain?"),
        says("Rome", when="And of Italy?"),
        says("Paris", when="capital of France"),
    )
    assert terminal.call("-m", model, "Which is the capital of France?").out == "Paris\n"
    assert terminal.call("-m", model, "-c", "And of Italy?").out == "Rome\n"
    assert terminal.call("-m", model, "-c", "And of Spain?").out == "Madrid\n"
    sessions = json.loads(terminal.call("sessions", "list", "--json").out)
    assert [session["turns"] for session in sessions] == [3]


def test_what_is_no_text_is_not_asked(terminal: Terminal) -> None:
    (terminal.here / "bytes").write_bytes(os.urandom(2000) + b"\xff\xfe\x00")
    with (terminal.here / "bytes").open("rb") as data:
        before = lambda: os.dup2(data.fileno(), 0)  # noqa: E731 - in the child
        got = terminal.run("-m", terminal.script(says("x")), "What is it?", before=before)
    assert got.code == 2
    assert "not UTF-8 text" in got.err
    assert terminal.runs == []


def test_the_answer_goes_into_a_file(terminal: Terminal) -> None:
    got = terminal.call("-m", terminal.script(says("Paris")), "-o", "answer.txt", "Which one?")
    assert (got.code, got.out) == (0, "")
    assert (terminal.here / "answer.txt").read_text() == "Paris\n"
    os.umask(mask := os.umask(0))
    assert (terminal.here / "answer.txt").stat().st_mode & 0o777 == 0o666 & ~mask
    (terminal.here / "answer.txt").chmod(0o644)
    assert terminal.call("-m", terminal.script(says("Rome")), "-o", "answer.txt", "And that one?").code == 0
    assert (terminal.here / "answer.txt").stat().st_mode & 0o777 == 0o644
    assert terminal.call("-m", terminal.script(says("Oslo")), "-o", "-", "Which town?").out == "Oslo\n"
    assert not (terminal.here / "-").exists()
    got = terminal.call("-m", terminal.script(says("Paris")), "-o", "answer.json", "--json", "Which one is it?")
    assert json.loads((terminal.here / "answer.json").read_text())["answer"] == "Paris"


def test_a_pipe_or_a_device_in_place_of_a_file_is_written_to_and_never_replaced(terminal: Terminal) -> None:
    pipe = terminal.here / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    model = terminal.script(says("Paris", repeat=True))
    assert terminal.call("-m", model, "-o", "pipe", "Which one?").code == 0
    assert (os.read(reader, 100), pipe.is_fifo()) == (b"Paris\n", True)
    os.close(reader)
    assert terminal.run("-m", model, "-o", "/dev/stdout", "Which one?").out == "Paris\n"


@pytest.mark.parametrize("name", ["no/such/folder.txt", "long" * 100], ids=["folder", "long"])
def test_a_file_that_cannot_be_written_is_told_before_anything_is_asked(terminal: Terminal, name: str) -> None:
    got = terminal.call("-m", terminal.script(says("x")), "-o", name, "Which one?")
    assert (got.code, "Traceback" in got.err) == (2, False)
    assert terminal.runs == []


@pytest.mark.parametrize(
    ("lines", "calls"),
    [
        ([says(json.dumps(PARIS))], 1),
        ([says("It is Paris, with 2.1 million people."), {"role": "coordinator", "json": PARIS}], 2),
        (
            [
                says("Paris"),
                {"role": "coordinator", "json": {"city": "Paris in France", "people": 1}},
                {"role": "coordinator", "json": PARIS, "when": "does not fit"},
            ],
            3,
        ),
    ],
)
def test_an_answer_fits_the_schema(terminal: Terminal, lines: list[dict], calls: int) -> None:
    (terminal.here / "schema.json").write_text(json.dumps(SCHEMA))
    got = terminal.call("--json", "-m", terminal.script(*lines), "--schema", "schema.json", "Which town, how large?")
    told = json.loads(got.out)
    assert json.loads(told["answer"]) == PARIS
    assert (told["status"], told["usage"]["calls"]) == ("answered", calls)


def test_an_answer_that_never_fits_is_none(terminal: Terminal) -> None:
    (terminal.here / "schema.json").write_text(json.dumps(SCHEMA))
    wrong = {"role": "coordinator", "json": {"city": "a name that is too long", "people": 1}, "repeat": True}
    got = terminal.call("-m", terminal.script(says("Paris"), wrong), "--schema", "schema.json", "Which town is it?")
    assert (got.code, got.out) == (3, "")
    assert "fits the schema" in got.err


@pytest.mark.parametrize("text", ["[1]", '{"properties": {"a": {"$ref": "#/$defs/a"}}}'])
def test_a_bad_schema_is_told(terminal: Terminal, text: str) -> None:
    (terminal.here / "schema.json").write_text(text)
    got = terminal.call("-m", terminal.script(says("x")), "--schema", "schema.json", "Which?")
    assert got.code == 2
    assert got.err.startswith(("alita: schema.json is not a", "alita: schema.json has no definition"))


@pytest.mark.parametrize("pair", [("--json", "--json-stream"), ("-q", "-v")])
def test_options_that_exclude_each_other_are_refused(terminal: Terminal, pair: tuple[str, str]) -> None:
    got = terminal.call(*pair, "What?")
    assert got.code == 2
    assert "cannot be used together" in got.err


@pytest.mark.parametrize("arguments", [("config", "path", "--json")])
def test_a_full_disk_below_stdout_is_told(terminal: Terminal, arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        got = terminal.run(*arguments, before=lambda: os.dup2(full.fileno(), 1))
    assert got.code == 1
    assert "alita: The disk is full." in got.err


def test_an_answer_is_printed_though_standard_error_is_closed(terminal: Terminal) -> None:
    model = terminal.script(says("Paris"))
    got = terminal.run("-m", model, "Which one?", leading=("sh", "-c", '"$@" 2>&-', "sh"))
    assert (got.code, got.out) == (0, "Paris\n")


def test_a_closed_standard_input_counts_as_empty(terminal: Terminal) -> None:
    got = terminal.run("gaps", "import", "-", leading=("sh", "-c", '"$@" <&-', "sh"))
    assert got.code in {0, 2}
    assert "Traceback" not in got.err


def test_a_reader_that_went_away_ends_the_command_quietly(terminal: Terminal) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    got = terminal.run("--help", before=lambda: os.dup2(writing, 1))
    os.close(writing)
    assert (got.code, got.err) == (1, "")


def test_settings_are_set_and_taken_out_and_comments_stay(terminal: Terminal) -> None:
    file = terminal.home / "config" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("# mine\nmax_steps = 9  # few\n")
    assert terminal.call("config", "set", "approval", "auto").code == 0
    assert terminal.call("config", "set", "max_steps", "7").code == 0
    assert file.read_text() == '# mine\nmax_steps = 7  # few\napproval = "auto"\n'
    assert terminal.call("config", "unset", "approval").code == 0
    assert file.read_text() == "# mine\nmax_steps = 7  # few\n"
    for wrong in (("max_steps", "many"), ("max_stepz", "7"), ("api_key", "sk-1")):
        got = terminal.call("config", "set", *wrong)
        assert got.code == 2, wrong
    assert file.read_text() == "# mine\nmax_steps = 7  # few\n"
    assert "not a whole number" in terminal.call("config", "set", "max_steps", "many").err
    assert "alita: There is no setting max_step.\n" in terminal.call("config", "set", "max_step", "7").err
    for verb in (("set", "max_step", "7"), ("show", "max_step")):
        assert "Did you mean max_steps?" in terminal.call("config", *verb).err
    shown = terminal.call("config", "show", "--json").json
    assert (shown["max_steps"]["value"], shown["max_seconds"]["value"], shown["agent"]["value"]) == ("7", None, None)


def test_a_variable_that_is_no_setting_is_named_and_ignored(terminal: Terminal) -> None:
    got = terminal.call("config", "show", "seed", ALITA_COLOUR="never", ALITA_MODEL="", ALITA_SERVE_TOKEN="t")
    assert got.code == 0
    assert got.err == (
        "Warning: the variable ALITA_COLOUR is ignored, because there is no such setting.\n"
        "  It is not a setting but an option: --color never (or set NO_COLOR=1)\n"
    )


@pytest.mark.parametrize(
    ("line", "message", "remedy"),
    [
        ("--colour never hello", "No such option: --colour.", "Did you mean --color? For help, run: alita --help"),
        ("tools list --jsn", "No such option: --jsn.", "Did you mean --json? For help, run: alita tools list --help"),
        ("tools lst", "No such command 'lst'. Did you mean 'list'?", "For help, run: alita tools --help"),
        ("tools show", "Missing argument 'NAME'.", "For help, run: alita tools show --help"),
    ],
)
def test_bad_usage_names_the_help(terminal: Terminal, line: str, message: str, remedy: str) -> None:
    assert terminal.call(*line.split()).err == f"alita: {message}\n       {remedy}\n"


def test_a_key_is_kept_used_and_never_shown(terminal: Terminal) -> None:
    key = "sk-kept-0123456789abcdef"
    with OpenAIServer().answer("Paris") as server:
        assert terminal.call("keys", "set", stdin=key).code == 0
        kept = terminal.home / "config" / "keys.json"
        assert kept.stat().st_mode & 0o777 == 0o600
        got = terminal.call("-m", "some-model", "--base-url", server.url, "Which town is it?")
        assert got.out == "Paris\n"
        assert server.headers[-1]["authorization"] == f"Bearer {key}"
    shown = terminal.call("keys", "list").out + terminal.call("config", "show").out
    assert "OPENAI_API_KEY" in shown
    assert key not in shown
    assert terminal.call("keys", "delete", "OPENAI_API_KEY").code == 0
    assert terminal.call("keys", "delete", "OPENAI_API_KEY").code == 2
    assert terminal.call("keys", "set", "NOBODYS_KEY", stdin=key).code == 2


def test_a_keyring_is_used_where_there_is_one(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    store: dict[str, str] = {}
    keyring: Any = ModuleType("keyring")
    keyring.__spec__ = ModuleSpec("keyring", None)
    keyring.errors = SimpleNamespace(KeyringError=type("KeyringError", (Exception,), {}))
    keyring.get_keyring = lambda: SimpleNamespace(priority=5)
    keyring.get_password = lambda service, name: store.get(name)
    keyring.set_password = lambda service, name, value: store.update({name: value})
    keyring.delete_password = lambda service, name: store.pop(name)
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    monkeypatch.setitem(sys.modules, "keyring.errors", keyring.errors)
    assert "keyring" in terminal.call("keys", "set", stdin="sk-ring-0123456789").err
    assert store == {"OPENAI_API_KEY": "sk-ring-0123456789"}
    assert "sk-ring" not in (terminal.home / "config" / "keys.json").read_text()
    assert "alita keys, OPENAI_API_KEY" in terminal.call("config", "show").out
    assert terminal.call("keys", "delete", "OPENAI_API_KEY").code == 0
    assert store == {}


def test_an_endpoint_tells_its_models_and_doctor_gives_a_verdict(terminal: Terminal) -> None:
    with OpenAIServer() as server:
        listed = terminal.call("model", "list", "--base-url", server.url).out
        assert "offers: gpt-test, tiny-1, tiny-2" in listed
        seen = terminal.call("doctor", "--base-url", server.url, "-m", "tiny-1").out
        unlisted = terminal.call("doctor", "--base-url", server.url, "-m", "tiny-9").out
        server.models = []
        empty = terminal.call("doctor", "--base-url", server.url).out
    assert seen.rstrip().splitlines()[-1].startswith(("Ready: questions go to tiny-1", "Not ready"))
    assert unlisted.rstrip().endswith(
        ("Ready: questions go to tiny-9, which its endpoint does not list.", "isolation.")
    )
    assert f"✗ model        {server.url} does not list its models" in empty


def test_the_settings_are_edited_and_looked_at_afterwards(terminal: Terminal) -> None:
    editor = terminal.here / "editor"
    editor.write_text('#!/bin/sh\necho "max_steps = \'x\'" >> "$1"\n')
    editor.chmod(0o700)
    got = terminal.run("config", "edit", EDITOR=str(editor))
    assert got.code == 2
    assert "max_steps has the invalid value 'x'" in got.err


def test_runs_are_found_by_words_of_question_and_answer(terminal: Terminal) -> None:
    model = terminal.script(says("Paris", when="France"), says("Rome", when="Italy"))
    terminal.call("-m", model, "Which is the capital of France?")
    terminal.call("-m", model, "Which is the capital of Italy?")
    found = json.loads(terminal.call("runs", "search", "CAPITAL", "paris", "--json").out)
    assert [run["question"] for run in found] == ["Which is the capital of France?"]
    nothing = terminal.call("runs", "search", "zebra")
    assert nothing.out == ""
    assert "No run matches all these words" in nothing.err

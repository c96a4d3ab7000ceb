"""The first question without a key: what is fetched is said before, and something else can be chosen."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.cli import confirmations
from support.command import Terminal, Tty
from support.openai_server import OpenAIServer

PORTS = "from agent.cli import confirmations; confirmations.LOCAL_SERVERS = (('Ollama', {}),)"


def at_a_terminal(folder: Path, typed: str, port: int) -> tuple[int, str, str]:
    """Exit code, what the terminal shows, and stdout, which is a file."""
    tty = Tty(folder, folder / "home", "Which town is it?", out=folder / "out.txt", first=PORTS.format(port))
    tty.wait_for("[y]")
    tty.type(f"{typed}\n")
    code, out = tty.ended()
    return code, tty.seen, out


def test_who_says_no_fetches_nothing(tmp_path: Path) -> None:
    code, seen, out = at_a_terminal(tmp_path, "n", 9)
    assert (code, out) == (4, "")
    assert "1.1 GB" in seen
    assert "alita keys set" in seen
    assert max(map(len, seen.splitlines())) <= 80
    assert not (tmp_path / "home" / "data" / "models").exists()


def test_a_server_of_this_machine_is_found_and_can_answer(tmp_path: Path) -> None:
    with OpenAIServer().answer("Paris") as server:
        code, seen, out = at_a_terminal(tmp_path, "1", int(server.url.split(":")[2].split("/")[0]))
        assert server.requests[-1]["model"] == "gpt-test"
    assert (code, out) == (0, "Paris\n")
    assert f"1: Ollama at {server.url}" in seen
    assert "alita config set base_url" in seen


def test_a_model_that_only_embeds_is_not_the_one_that_answers(tmp_path: Path) -> None:
    with OpenAIServer().answer("Paris") as server:
        server.models = ["all-minilm:22m", "nomic-embed-text", "qwen3:8b"]
        at_a_terminal(tmp_path, "1", int(server.url.split(":")[2].split("/")[0]))
        assert server.requests[-1]["model"] == "qwen3:8b"


def test_without_a_terminal_nothing_is_downloaded_unless_it_is_allowed(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    got = terminal.call("-q", "--model", terminal.script({"role": "coordinator", "text": "Paris"}), "Which town?")
    assert "1.1 GB" not in got.err
    before = terminal.runs
    monkeypatch.setattr(confirmations, "LOCAL_SERVERS", (("Ollama", 9),))
    got = terminal.call("Which town?", ALITA_MODELS_DIR=os.devnull)
    assert got.code == 2
    assert "--yes" in got.err
    assert terminal.runs == before
    assert confirmations.ask_before_fetching({"download": "always"})


def test_nobody_is_asked_where_nothing_is_fetched() -> None:
    assert confirmations.ask_before_fetching({"model": "some-model", "base_url": "http://127.0.0.1:9/v1"})

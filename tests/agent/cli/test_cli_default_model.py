"""Which model answers when an endpoint is given and no model."""

from __future__ import annotations

import json
import time

import pytest

from support.command import Ended, Terminal
from support.openai_server import OpenAIServer, Step


def asked(terminal: Terminal, server: OpenAIServer, *options: str, **variables: str) -> Ended:
    server.default = lambda _: Step(text="Paris")
    return terminal.call("--base-url", server.url, *options, "What is the capital of France?", **variables)


def test_the_only_model_answers_under_its_own_name(terminal: Terminal, openai_server: OpenAIServer) -> None:
    key = {"OPENAI_API_KEY": "sk-exported-0123456789"}
    openai_server.models = ["nomic-embed-text", "qwen3:8b"]
    ended = asked(terminal, openai_server, "--json", **key)
    assert (ended.code, ended.json["model"]) == (0, "qwen3:8b")
    assert {request["model"] for request in openai_server.requests} == {"qwen3:8b"}
    assert len(openai_server.listings) == 1
    run = terminal.runs[0]
    assert json.loads((run / "run.json").read_text())["model"] == "qwen3:8b"
    assert 'model": "auto"' not in "".join(file.read_text() for file in run.glob("*.json*"))
    again = asked(terminal, openai_server, **key)
    assert (again.code, again.out) == (0, "Paris\n")
    assert "auto" not in again.err


def test_several_models_are_listed_and_none_is_asked(terminal: Terminal, openai_server: OpenAIServer) -> None:
    openai_server.models = ["b", "a"]
    ended = asked(terminal, openai_server)
    assert ended.code == 2
    assert f"{openai_server.url} offers several models: b, a. Choose one with -m NAME" in " ".join(ended.err.split())
    assert openai_server.requests == []
    ended = asked(terminal, openai_server, "--model", "auto", "--json")
    assert ended.json["model"] == "b", "the first, where the user asks for it"


@pytest.mark.parametrize("way", ["option", "variable", "settings"])
def test_a_named_model_costs_no_request_for_the_list(terminal: Terminal, openai_server: OpenAIServer, way: str) -> None:
    if way == "settings":
        file = terminal.home / "config" / "config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text('model = "mine"\n')
    variables = {"ALITA_MODEL": "mine"} if way == "variable" else {}
    ended = asked(terminal, openai_server, *(["-m", "mine"] if way == "option" else []), "--json", **variables)
    assert (ended.code, ended.json["model"], openai_server.listings) == (0, "mine", [])


@pytest.mark.parametrize(
    ("status", "models", "says", "code"),
    [
        (404, [], "does not list its models Choose a model with --model NAME", 2),
        (200, [], "does not list its models Choose a model with --model NAME", 2),
        (401, [], "requires a key (401): no list today Set OPENAI_API_KEY", 2),
        (500, [], "returned a server error (500): no list today", 1),
    ],
    ids=["no-list", "empty", "key", "broken"],
)
def test_an_unavailable_list(
    terminal: Terminal, openai_server: OpenAIServer, status: int, models: list[str], says: str, code: int
) -> None:
    openai_server.listing_status, openai_server.models = status, models
    ended = asked(terminal, openai_server)
    assert ended.code == code
    assert says in " ".join(ended.err.split())
    assert openai_server.requests == []
    assert terminal.runs == []


@pytest.mark.parametrize("form", ["{0}", "{0}/v1/chat/completions"])
def test_forms_of_the_base_url(terminal: Terminal, openai_server: OpenAIServer, form: str) -> None:
    openai_server.models = ["only"]
    openai_server.default = lambda _: Step(text="Paris")
    url = form.format(openai_server.url.removesuffix("/v1"))
    ended = terminal.call("--base-url", url, "--json", "What is the capital of France?")
    assert (ended.code, ended.json["answer"], ended.json["model"]) == (0, "Paris", "only")


def test_what_an_endpoint_refused_is_listed_and_forgotten(terminal: Terminal, openai_server: OpenAIServer) -> None:
    openai_server.models = ["only"]
    traits = terminal.home / "cache" / "endpoints.json"
    traits.parent.mkdir(parents=True, exist_ok=True)
    known = {"without": ["temperature"], "most_output": 8192, "is_blind": True, "tools": "schema", "at": time.time()}
    traits.write_text(json.dumps({f"{openai_server.url} only": known}))
    listed = ("model", "list", "--base-url", openai_server.url)
    shown = "only: without temperature; at most 8,192 tokens of output; no pictures; no native functions"
    assert f"remembered about {openai_server.url} {shown}" in terminal.call(*listed).out
    assert "remembered about" not in terminal.call(*listed, "--forget").out
    assert "remembered about" not in terminal.call(*listed).out

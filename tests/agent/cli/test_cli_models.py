"""`alita model list` and `alita model test`, as processes against servers that speak the protocol."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.command import Ended, Terminal
from support.openai_server import OpenAIServer, Step

Run = Callable[..., Ended]
KEY = "key-of-the-big-one-0123456789"


@pytest.fixture
def alita(terminal: Terminal) -> Run:
    """Runs the command in an empty folder, with the given settings of the user's."""
    (terminal.home / "config").mkdir(parents=True)

    def run(*arguments: str, user: str = "", **environment: str) -> Ended:
        (terminal.home / "config" / "config.toml").write_text(user)
        return terminal.call("model", *arguments, **environment)

    return run


def big(server: OpenAIServer, more: str = "") -> str:
    return f'[models.big]\nmodel = "tiny-1"\nbase_url = "{server.url}"\nkey = "BIG_KEY"\n{more}'


def test_the_list_says_who_is_asked_where_and_with_which_key(alita: Run, openai_server: OpenAIServer) -> None:
    user = 'model = "gpt-x"\nwriter = ["big", "embedded"]\n' + big(openai_server, 'dialect = "responses"\nsees = true')
    ended = alita("list", "--json", user=user, BIG_KEY=KEY, OPENAI_API_KEY="sk-common-0123456789")
    models = {model.pop("name"): model for model in ended.json["models"]}
    assert models["big"] == {
        "model": "tiny-1", "endpoint": openai_server.url, "dialect": "responses", "strategy": "standard",
        "sees": True, "watches": False, "hears": False, "key": "variable BIG_KEY", "key_is_set": True,
        "used_as": ["writer"],
    }  # fmt: skip
    assert models["gpt-x"]["endpoint"] == "https://api.openai.com/v1"
    assert (models["gpt-x"]["key"], models["gpt-x"]["used_as"]) == ("variable OPENAI_API_KEY", ["model"])
    assert (models["embedded"]["strategy"], models["embedded"]["key"]) == ("small", None)
    plain = alita(
        "list", user=user.replace('dialect = "responses"', "watches = true"), OPENAI_API_KEY="sk-common-0123456789"
    )
    assert "key: variable BIG_KEY (not set)" in plain.out
    assert "sees watches" in plain.out
    assert not any(key in ended.out + plain.out for key in (KEY, "sk-common-0123456789"))
    assert openai_server.requests == [], "nobody was asked"


def test_a_model_is_tried(alita: Run, openai_server: OpenAIServer) -> None:
    openai_server.answer(tool=("add", {"a": 17, "b": 25})).answer({"city": "Paris", "in_europe": True})
    openai_server.steps.append(Step(text="ready", delay=0.2, pace=0.1))
    ended = alita("test", "big", "--json", user=big(openai_server, "price = { input = 1, output = 2 }"), BIG_KEY=KEY)
    report = ended.json
    assert (ended.code, report["ok"], report["functions"], report["structured"]) == (0, True, "native", "schema")
    assert report["usage"] == {"input_tokens": 30, "output_tokens": 15, "calls": 3, "cost": 0.00006}
    assert 0.2 <= report["first_token_seconds"] < report["seconds"]
    assert openai_server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_a_project_s_model_is_not_tried_before_it_is_allowed(
    alita: Run, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    entry = f'[models.big]\nmodel = "tiny-1"\nbase_url = "{openai_server.url}"\n'
    (tmp_path / "here" / "alita.toml").write_text(entry)
    ended = alita("test", "big")
    assert ended.code == 2
    assert "alita config trust" in ended.err
    assert openai_server.requests == []

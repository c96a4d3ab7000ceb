"""`alita web` where it does not begin to serve."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.command import Terminal


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        pytest.param(["--http", "0.0.0.0:0"], "a token is required", id="open to others, no token"),
        pytest.param(["--http", "0.0.0.0:0", "--no-token"], "a token is required", id="open to others, none wanted"),
        pytest.param(["--http", "nonsense"], "'nonsense' is not a valid address", id="no address"),
        pytest.param(["--token-file", "absent"], "The token file absent cannot be read", id="no token file"),
        pytest.param(["--http", "127.0.0.1:0"], 'Install it with pip install "alita[web-page]".', id="no Gradio"),
    ],
)
def test_a_page_that_cannot_be_served_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str], told: str
) -> None:
    monkeypatch.setitem(sys.modules, "gradio", None)
    terminal = Terminal(tmp_path)
    left = terminal.home / "cache" / "page-999999999-x"
    left.mkdir(parents=True)
    ended = terminal.call("web", *flags)
    assert (ended.code, told in ended.err) == (2, True), ended.err
    if "Gradio" in ended.err:
        assert list(left.parent.glob("page-*")) == []

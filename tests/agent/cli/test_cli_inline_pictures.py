"""Pictures in terminals that can show them; elsewhere their paths."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path

import pytest

from agent.cli.screen import Screen
from agent.events import PictureShown

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (40).to_bytes(4, "big") + (20).to_bytes(4, "big") + bytes(range(256)) * 20
WIDE = PNG[:16] + (4000).to_bytes(4, "big") + PNG[20:]
JPEG = b"\xff\xd8\xff" + bytes(100)
KITTY = {"TERM": "xterm-kitty"}
ITERM = {"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def show(data: bytes, environment: dict[str, str], stream: io.StringIO | None = None) -> str:
        for name in ("TMUX", "TERM_PROGRAM", "KITTY_WINDOW_ID", "NO_COLOR"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("COLUMNS", "80")
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        path = tmp_path / "copy"
        path.write_bytes(data)
        stream = stream or Tty()
        screen = Screen(stream)
        screen.begin_work(lambda _: "working")
        screen.event(PictureShown("/runs/step_1_picture_1.png", str(path)))
        screen.end_work()
        return stream.getvalue()

    return show


@pytest.mark.parametrize(
    ("data", "environment", "options"),
    [
        (PNG, KITTY, "a=T,f=100,q=2,m=1"),
        (PNG, {"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, "a=T,f=100,q=2,m=1"),
        (PNG, {"TERM": "xterm-ghostty"}, "a=T,f=100,q=2,m=1"),
        (WIDE, KITTY, "a=T,f=100,q=2,c=80,m=1"),
    ],
    ids=["kitty", "window id", "ghostty", "wide"],
)
def test_kitty_gets_the_picture_in_pieces(shown, data, environment, options) -> None:
    pieces = re.findall(r"\x1b_G([^;]*);([^\x1b]*)\x1b\\", shown(data, environment))
    assert [piece[0] for piece in pieces] == [options, "m=0"]
    assert max(len(piece[1]) for piece in pieces) <= 4096
    assert base64.b64decode("".join(piece[1] for piece in pieces)) == data


@pytest.mark.parametrize("data", [PNG, JPEG], ids=["png", "jpeg"])
@pytest.mark.parametrize("program", ["iTerm.app", "WezTerm"])
def test_iterm_gets_the_picture_whole(shown, data, program) -> None:
    found = re.search(
        r"\x1b\]1337;File=inline=1;size=(\d+);preserveAspectRatio=1:([^\x07]*)\x07",
        shown(data, ITERM | {"TERM_PROGRAM": program}),
    )
    assert found is not None
    assert (int(found[1]), base64.b64decode(found[2])) == (len(data), data)


@pytest.mark.parametrize(
    ("data", "environment", "stream"),
    [
        (PNG, {"TERM": "xterm-256color"}, None),
        (PNG, KITTY | {"TMUX": "/tmp/tmux"}, None),
        (PNG, {"TERM": "screen-256color", "KITTY_WINDOW_ID": "1"}, None),
        (PNG, {"TERM": "dumb", "KITTY_WINDOW_ID": "1"}, None),
        (JPEG, KITTY, None),
        (b"\x1b]0;title\x07", ITERM, None),
        (PNG, KITTY, io.StringIO()),
    ],
    ids=["other", "tmux", "tmux by TERM", "dumb", "jpeg in kitty", "no picture", "no terminal"],
)
def test_elsewhere_the_path_is_printed(shown, data, environment, stream) -> None:
    text = shown(data, environment, stream)
    assert "picture /runs/step_1_picture_1.png" in text
    assert "_G" not in text
    assert "1337" not in text
